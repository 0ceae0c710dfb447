#include "gen/setting.h"

#include <stdio.h>
#include <string.h>

#include "gen/kinds.h"
#include "gen/words.h"

#define TOP WS_SECTION_TOP
#define FEATURES WS_SECTION_FEATURES

static const struct ws_setting fields[WS_FIELD_COUNT] = {
#define VALUE(constant, word) " " #word
#define CHOICE(name, kinds, values, help)                                                          \
    {#name, TOP, WS_SETTING_CHOICE, kinds, &(values)[1], "", help},
#define FIELD(name, kinds, section, type, values, planned, help)                                   \
    {#name, section, WS_SETTING_##type, kinds, values, planned, help},
#include "gen/fields.def"
#undef VALUE
#undef CHOICE
#undef FIELD
};

static const char *const section_names[] = {"", "features", "levers"};

struct ws_setting ws_setting_at(int index)
{
    static const enum ws_setting_type types[] = {
        [WS_LEVER_ENUM] = WS_SETTING_CHOICE,
        [WS_LEVER_INTEGER] = WS_SETTING_INTEGER,
        [WS_LEVER_FLAG] = WS_SETTING_FLAG,
    };
    if (index < WS_FIELD_COUNT)
        return fields[index];
    const struct ws_lever_info *lever = ws_lever_info((enum ws_lever)(index - WS_FIELD_COUNT));
    return (struct ws_setting){lever->name,  WS_SECTION_LEVERS, types[lever->type],
                               lever->kinds, lever->values,     "",
                               lever->help};
}

bool ws_setting_is_of(int index, enum ws_kernel_kind kind)
{
    return (ws_setting_at(index).kinds >> kind & 1U) != 0;
}

const char *ws_section_name(enum ws_section section)
{
    return section < WS_SECTION_ANY ? section_names[section] : "";
}

static bool in_section(int index, enum ws_section section)
{
    return section == WS_SECTION_ANY || ws_setting_at(index).section == section;
}

int ws_setting_find(enum ws_section section, const char *name)
{
    for (int i = 0; i < WS_SETTING_COUNT; i++) {
        if (in_section(i, section) && strcmp(ws_setting_at(i).name, name) == 0)
            return i;
    }
    return -1;
}

enum { NAMES_MAX = WS_SETTING_COUNT + 16, NAME_SIZE = 48 };

static int collect_names(char names[NAMES_MAX][NAME_SIZE], enum ws_section section,
                         const char *more)
{
    int count = 0;
    for (int i = 0; i < WS_SETTING_COUNT; i++) {
        if (in_section(i, section))
            snprintf(names[count++], NAME_SIZE, "%s", ws_setting_at(i).name);
    }
    for (int i = 0; i < ws_word_count(more) && count < NAMES_MAX; i++)
        ws_word_copy(more, i, names[count++], NAME_SIZE);
    return count;
}

enum ws_status ws_setting_unknown(enum ws_section section, const char *more, const char *name,
                                  struct ws_error *error)
{
    static const char *const nouns[] = {"key", "feature", "lever", "lever or key"};
    char quoted[WS_QUOTED_SIZE], all[WS_ERROR_MESSAGE_SIZE] = "", names[NAMES_MAX][NAME_SIZE];
    struct ws_nearest nearest = {.word = name};
    int count = collect_names(names, section, more);
    ws_quoted(quoted, name);
    for (int i = 0; i < count; i++) {
        ws_nearest_offer(&nearest, names[i]);
        ws_append(all, sizeof all, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    if (nearest.best == NULL)
        return ws_fail(error, WS_ERROR_SPEC, "unknown %s `%s`; there are: %s", nouns[section],
                       quoted, all);
    if (section == WS_SECTION_ANY)
        section = ws_setting_at(ws_setting_find(section, nearest.best)).section;
    return ws_fail(error, WS_ERROR_SPEC, "unknown %s `%s`; did you mean `%s`?", nouns[section],
                   quoted, nearest.best);
}

enum ws_status ws_setting_named(int *index, const char *name, struct ws_error *error)
{
    enum ws_section section = WS_SECTION_ANY;
    for (enum ws_section s = WS_SECTION_FEATURES; s <= WS_SECTION_LEVERS; s++) {
        size_t length = strlen(section_names[s]);
        if (strncmp(name, section_names[s], length) == 0 && name[length] == '.') {
            section = s;
            name += length + 1;
            break;
        }
    }
    *index = ws_setting_find(section, name);
    return *index < 0 ? ws_setting_unknown(section, "", name, error) : WS_OK;
}
