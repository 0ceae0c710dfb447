#include <stdio.h>
#include <string.h>

#include "gen/kinds.h"
#include "gen/spec.h"
#include "gen/words.h"

static const struct ws_lever_info levers[WS_LEVER_COUNT] = {
#define VALUE(constant, word) " " #word
#define ENUM(name, kinds, init, values, help)                                                      \
    {#name, WS_LEVER_ENUM, kinds, #init, &(values)[1], help},
#define INTEGER(name, kinds, init, values, help)                                                   \
    {#name, WS_LEVER_INTEGER, kinds, #init, values, help},
#define FLAG(name, kinds, init, help) {#name, WS_LEVER_FLAG, kinds, #init, "0 1", help},
#include "gen/levers.def"
#undef VALUE
#undef ENUM
#undef INTEGER
#undef FLAG
};

const struct ws_lever_info *ws_lever_info(enum ws_lever lever)
{
    return &levers[lever];
}

enum ws_lever ws_lever_find(const char *name)
{
    enum ws_lever lever = 0;
    while (lever < WS_LEVER_COUNT && strcmp(levers[lever].name, name) != 0)
        lever++;
    return lever;
}

void ws_lever_text(const struct ws_spec *spec, enum ws_lever lever, char *buffer, size_t size)
{
    int value = spec->lever[lever];
    if (levers[lever].type == WS_LEVER_ENUM && value >= 0 &&
        value < ws_word_count(levers[lever].values))
        ws_word_copy(levers[lever].values, value, buffer, size);
    else
        snprintf(buffer, size, "%d", value);
}
