/* What would help a spec that cannot be generated, or spills: changes of it that pass the check. */
#include "gen/fmha_bwd/advice.h"

#include <stdio.h>

#include "gen/fmha_bwd/bwd.h"
#include "gen/setting.h"
#include "gen/words.h"

enum { HALF = -1, TWICE = -2 };

static const struct change {
    enum ws_lever lever;
    int value; /* or HALF or TWICE of what it is, as often as it takes */
    unsigned against;
} changes[] = {
    {WS_LEVER_keep_offsets, 0, WS_BWD_SPILLS},
    {WS_LEVER_own_v, WS_OWN_V_LDS, WS_BWD_REGISTERS | WS_BWD_SPILLS},
    {WS_LEVER_dq_k, WS_DQ_K_LDS, WS_BWD_REGISTERS | WS_BWD_SPILLS},
    {WS_LEVER_sums, WS_SUMS_DEALT, WS_BWD_REGISTERS | WS_BWD_SPILLS | WS_BWD_WAVES},
    {WS_LEVER_lds_batch, HALF, WS_BWD_SPILLS},
    {WS_LEVER_pipeline, 0, WS_BWD_REGISTERS | WS_BWD_SPILLS},
    {WS_LEVER_num_waves, HALF, WS_BWD_WAVES | WS_BWD_SHARES},
    {WS_LEVER_block_m, HALF, WS_BWD_REGISTERS | WS_BWD_SPILLS},
    {WS_LEVER_block_m, TWICE, WS_BWD_SHARES},
    {WS_LEVER_block_n, HALF, WS_BWD_REGISTERS},
    {WS_LEVER_block_n, TWICE, WS_BWD_WAVES | WS_BWD_SHARES},
    {WS_LEVER_num_waves, TWICE, WS_BWD_REGISTERS},
};

enum { CHANGES = sizeof changes / sizeof changes[0] };

static bool is_value(enum ws_lever lever, int number)
{
    char word[16];
    snprintf(word, sizeof word, "%d", number);
    return ws_word_index(ws_lever_info(lever)->values, word) >= 0;
}

/* False: the lever has no further value, or the spec no use for it. */
static bool apply(struct ws_spec *spec, const struct change *change)
{
    int *value = &spec->lever[change->lever];
    const int before = *value;
    if (change->lever == WS_LEVER_own_v && !ws_bwd_has_job(spec, WS_BWD_KEYS))
        return false;
    *value = change->value == HALF    ? before / 2
             : change->value == TWICE ? before * 2
                                      : change->value;
    return *value != before && (change->value >= 0 || is_value(change->lever, *value));
}

/* Lists sets of changes with which the spec passes, so many at the most. */
struct list {
    enum ws_bwd_trouble trouble;
    const char *separator;
    char *text;
    size_t size;
    int left;
};

/* "own_v: lds", after "dq_k: lds with ". */
static void add_name(char *text, size_t size, const struct ws_spec *spec,
                     const struct change *change)
{
    const int setting = WS_FIELD_COUNT + (int)change->lever;
    char value[WS_SETTING_TEXT_SIZE];
    ws_setting_text(spec, setting, value);
    ws_append(text, size, "%s%s: %s", text[0] != '\0' ? " with " : "", ws_setting_at(setting).name,
              value);
}

/* Adds the sets of `more` changes from row `first` on, to those that are made and named. */
static void add_sets(struct list *list, const struct ws_spec *made, const char *named, int first,
                     int more)
{
    for (int i = first; i < CHANGES && list->left > 0; i++) {
        const int left = list->left;
        struct ws_spec spec = *made;
        if ((changes[i].against & list->trouble) == 0)
            continue;
        while (list->left == left && apply(&spec, &changes[i])) {
            char names[WS_BWD_ADVICE_SIZE] = "";
            ws_append(names, sizeof names, "%s", named);
            add_name(names, sizeof names, &spec, &changes[i]);
            if (more > 1)
                add_sets(list, &spec, names, i + 1, more - 1);
            else if (ws_fmha_bwd_check(&spec, NULL) == WS_OK) {
                ws_append(list->text, list->size, "%s%s",
                          list->text[0] != '\0' ? list->separator : "", names);
                list->left--;
            }
        }
    }
}

void ws_bwd_advise(const struct ws_spec *spec, enum ws_bwd_trouble trouble, const char *otherwise,
                   char text[WS_BWD_ADVICE_SIZE], const struct ws_error *error)
{
    const int together_max = 3, sets_max = 3;
    char sets[WS_BWD_ADVICE_SIZE] = "";
    struct list list = {trouble, ", or ", sets, sizeof sets, CHANGES};
    text[0] = '\0';
    for (int together = 1; error != NULL && together <= together_max && sets[0] == '\0';
         together++) {
        add_sets(&list, spec, "", 0, together);
        list.left = sets_max;
    }
    if (sets[0] == '\0')
        ws_append(text, WS_BWD_ADVICE_SIZE, "%s", otherwise);
    else
        ws_append(text, WS_BWD_ADVICE_SIZE, "set %s", sets);
}

void ws_fmha_bwd_savings(const struct ws_spec *spec, char text[WS_SAVINGS_TEXT_SIZE])
{
    struct list list = {WS_BWD_SPILLS, ", ", text, WS_SAVINGS_TEXT_SIZE, CHANGES};
    text[0] = '\0';
    if (!ws_bwd_is_of_rows(spec))
        add_sets(&list, spec, "", 0, 1);
    if (text[0] != '\0')
        ws_append(text, WS_SAVINGS_TEXT_SIZE, ", ");
}
