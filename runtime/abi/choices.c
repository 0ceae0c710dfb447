#include "runtime/abi/choices.h"

#include <string.h>

enum { WORDS_MAX = 4 };

#define WORD(constant, word) [constant] = #word,
#define CHOICE(name, values) [WS_CHOICE_##name] = {values(WORD)},
static const char *const words[WS_CHOICE_COUNT][WORDS_MAX] = {WS_CHOICES(CHOICE)};
#undef CHOICE
#undef WORD

const char *ws_choice_word(enum ws_choice choice, int value)
{
    return value >= 0 && value < WORDS_MAX ? words[choice][value] : NULL;
}

int ws_choice_value(enum ws_choice choice, const char *word)
{
    for (int i = 0; i < WORDS_MAX && words[choice][i]; i++) {
        if (strcmp(words[choice][i], word) == 0)
            return i;
    }
    return -1;
}
