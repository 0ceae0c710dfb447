#include "gen/spec.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/kernel.h"
#include "gen/setting.h"
#include "gen/words.h"
#include "ir/target.h"

void ws_spec_init(struct ws_spec *spec, enum ws_kernel_kind kind)
{
    *spec = (struct ws_spec){.kind = kind,
                             .arch = "gfx1151",
                             .window_left = WS_WINDOW_AT_LAUNCH,
                             .window_right = WS_WINDOW_AT_LAUNCH,
                             .lse = true,
                             .alignment = 16};
    for (enum ws_lever i = 0; i < WS_LEVER_COUNT; i++) {
        const struct ws_lever_info *info = ws_lever_info(i);
        bool is_enum = info->type == WS_LEVER_ENUM;
        spec->lever[i] = is_enum ? ws_word_index(info->values, info->default_text)
                                 : (int)strtol(info->default_text, NULL, 10);
    }
}

/* Reading and writing one setting as a number: an index for a choice, else the value itself. */

#define FEATURES(flag) flag(lse) flag(varlen) flag(softcap) flag(sink) flag(alibi) flag(bias)

static int get_number(const struct ws_spec *spec, int index)
{
    switch (index) {
    case WS_FIELD_kernel:
        return (int)spec->kind;
    case WS_FIELD_dtype:
        return (int)spec->dtype;
    case WS_FIELD_out:
        return (int)spec->out;
    case WS_FIELD_head_dim:
    case WS_FIELD_head_dim_qk:
        return spec->head_dim_qk;
    case WS_FIELD_head_dim_v:
        return spec->head_dim_v;
    case WS_FIELD_mask:
        return (int)spec->mask;
    case WS_FIELD_align:
        return (int)spec->align;
    case WS_FIELD_alignment:
        return spec->alignment;
    case WS_FIELD_v_layout:
        return (int)spec->v_layout;
    case WS_FIELD_part:
        return (int)spec->part;
#define FLAG(name)                                                                                 \
    case WS_FIELD_##name:                                                                          \
        return spec->name;
        FEATURES(FLAG)
#undef FLAG
    default:
        return index >= WS_FIELD_COUNT ? spec->lever[index - WS_FIELD_COUNT] : 0;
    }
}

static void set_number(struct ws_spec *spec, int index, int value)
{
    switch (index) {
    case WS_FIELD_kernel:
        spec->kind = (enum ws_kernel_kind)value;
        break;
    case WS_FIELD_dtype:
        spec->dtype = (enum ws_dtype)value;
        break;
    case WS_FIELD_out:
        spec->out = (enum ws_out)value;
        break;
    case WS_FIELD_head_dim:
        spec->head_dim_qk = spec->head_dim_v = value;
        break;
    case WS_FIELD_head_dim_qk:
        spec->head_dim_qk = value;
        break;
    case WS_FIELD_head_dim_v:
        spec->head_dim_v = value;
        break;
    case WS_FIELD_mask:
        spec->mask = (enum ws_mask)value;
        break;
    case WS_FIELD_align:
        spec->align = (enum ws_align)value;
        break;
    case WS_FIELD_alignment:
        spec->alignment = value;
        break;
    case WS_FIELD_v_layout:
        spec->v_layout = (enum ws_v_layout)value;
        break;
    case WS_FIELD_part:
        spec->part = (enum ws_part)value;
        break;
#define FLAG(name)                                                                                 \
    case WS_FIELD_##name:                                                                          \
        spec->name = value != 0;                                                                   \
        break;
        FEATURES(FLAG)
#undef FLAG
    default:
        if (index >= WS_FIELD_COUNT)
            spec->lever[index - WS_FIELD_COUNT] = value;
    }
}

/* Each type of setting: text to spec. */

static const char *noun(const struct ws_setting *setting)
{
    return setting->section == WS_SECTION_LEVERS     ? "lever "
           : setting->section == WS_SECTION_FEATURES ? "feature "
                                                     : "";
}

/* A value list as it reads in a message: "gather, rows". */
static void spell_values(const struct ws_setting *setting, char *text, size_t size)
{
    const char *values = setting->type == WS_SETTING_FLAG ? "false true" : setting->values;
    text[0] = '\0';
    for (int i = 0; i < ws_word_count(values); i++) {
        char word[64];
        ws_word_copy(values, i, word, sizeof word);
        ws_append(text, size, "%s%s", i == 0 ? "" : ", ", word);
    }
}

static enum ws_status fail_value(const struct ws_setting *setting, const char *value,
                                 struct ws_error *error)
{
    char quoted[WS_QUOTED_SIZE], values[512];
    ws_quoted(quoted, value);
    spell_values(setting, values, sizeof values);
    return ws_fail(error, WS_ERROR_SPEC, "%s`%s` does not take `%s`; it takes: %s", noun(setting),
                   setting->name, quoted, values);
}

static enum ws_status fail_planned(const struct ws_setting *setting, const char *value,
                                   struct ws_error *error)
{
    char there[512] = "";
    if (setting->section != WS_SECTION_FEATURES) {
        spell_values(setting, there, sizeof there);
        return ws_fail(error, WS_ERROR_SPEC, "%s`%s: %s` is not available yet; there is: %s",
                       noun(setting), setting->name, value, there);
    }
    for (int i = 0; i < WS_FIELD_COUNT; i++) {
        struct ws_setting other = ws_setting_at(i);
        if (other.section == WS_SECTION_FEATURES && other.planned[0] == '\0')
            ws_append(there, sizeof there, "%s%s", there[0] == '\0' ? "" : ", ", other.name);
    }
    return ws_fail(error, WS_ERROR_SPEC, "feature `%s` is not available yet; there is: %s",
                   setting->name, there);
}

static enum ws_status apply_word(struct ws_spec *spec, int index, const char *value,
                                 struct ws_error *error)
{
    struct ws_setting setting = ws_setting_at(index);
    const char *word = value;
    if (setting.type == WS_SETTING_FLAG)
        word = strcmp(value, "true") == 0 ? "1" : strcmp(value, "false") == 0 ? "0" : value;
    int place = ws_word_index(setting.values, word);
    if (place < 0 && ws_word_index(setting.planned, word) >= 0)
        return fail_planned(&setting, value, error);
    if (place < 0)
        return fail_value(&setting, value, error);
    bool is_choice = setting.type == WS_SETTING_CHOICE;
    set_number(spec, index, is_choice ? place : (int)strtol(word, NULL, 10));
    return WS_OK;
}

static enum ws_status apply_target(struct ws_spec *spec, const char *value, struct ws_error *error)
{
    const struct ws_target *target = ws_target_find(value);
    if (target != NULL) {
        snprintf(spec->arch, sizeof spec->arch, "%s", target->name);
        return WS_OK;
    }
    char quoted[WS_QUOTED_SIZE], all[512] = "";
    for (size_t i = 0; ws_target_at(i) != NULL; i++)
        ws_append(all, sizeof all, "%s%s", i == 0 ? "" : ", ", ws_target_at(i)->name);
    return ws_fail(error, WS_ERROR_SPEC, "unknown arch `%s`; there are: %s",
                   ws_quoted(quoted, value), all);
}

static bool is_head_dim(int value)
{
    return value >= WS_HEAD_DIM_MIN && value <= WS_HEAD_DIM_MAX && value % WS_HEAD_DIM_STEP == 0;
}

static enum ws_status fail_dim(const char *name, const char *value, struct ws_error *error)
{
    return ws_fail(error, WS_ERROR_SPEC,
                   "`%s` does not take `%s`; it takes a multiple of %d from %d to %d", name, value,
                   WS_HEAD_DIM_STEP, WS_HEAD_DIM_MIN, WS_HEAD_DIM_MAX);
}

static enum ws_status apply_dim(struct ws_spec *spec, int index, const char *value,
                                struct ws_error *error)
{
    char quoted[WS_QUOTED_SIZE];
    size_t digits = strspn(value, "0123456789");
    int number = digits > 0 && digits < 6 ? (int)strtol(value, NULL, 10) : -1;
    if (value[digits] != '\0' || value[0] == '0' || !is_head_dim(number))
        return fail_dim(ws_setting_at(index).name, ws_quoted(quoted, value), error);
    set_number(spec, index, number);
    return WS_OK;
}

static bool is_window(int side)
{
    return side >= WS_WINDOW_OPEN;
}

static enum ws_status apply_window(struct ws_spec *spec, const char *value, struct ws_error *error)
{
    char quoted[WS_QUOTED_SIZE];
    long side[2] = {WS_WINDOW_AT_LAUNCH, WS_WINDOW_AT_LAUNCH};
    bool is_good = strcmp(value, "launch") == 0;
    if (!is_good && value[strspn(value, "[]-0123456789, ")] == '\0') {
        const bool is_list = *value == '[';
        char *end = NULL;
        side[0] = strtol(value + is_list, &end, 10);
        const char *rest = end + (*end == ',');
        side[1] = strtol(rest, &end, 10);
        is_good = end != rest && strcmp(end, is_list ? "]" : "") == 0;
    }
    for (int i = 0; i < 2; i++)
        is_good = is_good && side[i] >= WS_WINDOW_AT_LAUNCH && side[i] <= INT_MAX;
    if (!is_good || is_window((int)side[0]) != is_window((int)side[1]))
        return ws_fail(error, WS_ERROR_SPEC,
                       "`window` does not take `%s`; it takes two numbers >= -1, [left, right], or "
                       "launch",
                       ws_quoted(quoted, value));
    spec->window_left = (int)side[0];
    spec->window_right = (int)side[1];
    return WS_OK;
}

static enum ws_status check_option(const char *option, struct ws_error *error)
{
    char quoted[WS_QUOTED_SIZE];
    size_t length = strlen(option);
    bool is_printable = true;
    for (size_t i = 0; i < length; i++)
        is_printable = is_printable && option[i] > ' ' && option[i] < 0x7F;
    const bool is_named = option[0] == '-' && option[1 + (option[1] == '-')] != '\0';
    if (is_named && is_printable && length < WS_OPTION_SIZE)
        return WS_OK;
    return ws_fail(error, WS_ERROR_SPEC,
                   "backend option `%s` should begin with `-` and a name, and have at most %d "
                   "printable ASCII characters",
                   ws_quoted(quoted, option), WS_OPTION_SIZE - 1);
}

static enum ws_status apply_options(struct ws_spec *spec, const char *value, struct ws_error *error)
{
    char options[WS_OPTIONS_MAX][WS_OPTION_SIZE] = {{0}};
    int count = 0;
    for (const char *p = value + strspn(value, " "); *p != '\0'; count++) {
        size_t length = strcspn(p, " ");
        char option[WS_OPTION_SIZE + 1]; /* one more than fits, so that too long is seen */
        snprintf(option, sizeof option, "%.*s", (int)length, p);
        enum ws_status status = check_option(option, error);
        if (status != WS_OK)
            return status;
        if (count == WS_OPTIONS_MAX)
            return ws_fail(error, WS_ERROR_SPEC, "more than %d backend options; give at most %d",
                           WS_OPTIONS_MAX, WS_OPTIONS_MAX);
        memcpy(options[count], option, length);
        p += length;
        p += strspn(p, " ");
    }
    memcpy(spec->options, options, sizeof options);
    return WS_OK;
}

enum ws_status ws_setting_apply(struct ws_spec *spec, int index, const char *value,
                                struct ws_error *error)
{
    switch (ws_setting_at(index).type) {
    case WS_SETTING_TARGET:
        return apply_target(spec, value, error);
    case WS_SETTING_DIM:
        return apply_dim(spec, index, value, error);
    case WS_SETTING_WINDOW:
        return apply_window(spec, value, error);
    case WS_SETTING_OPTIONS:
        return apply_options(spec, value, error);
    default:
        return apply_word(spec, index, value, error);
    }
}

enum ws_status ws_spec_set(struct ws_spec *spec, const char *name, const char *value,
                           struct ws_error *error)
{
    int index;
    enum ws_status status = ws_setting_named(&index, name, error);
    return status != WS_OK ? status : ws_setting_apply(spec, index, value, error);
}

void ws_setting_text(const struct ws_spec *spec, int index, char text[WS_SETTING_TEXT_SIZE])
{
    struct ws_setting setting = ws_setting_at(index);
    int number = get_number(spec, index);
    text[0] = '\0';
    if (setting.type == WS_SETTING_TARGET)
        snprintf(text, WS_SETTING_TEXT_SIZE, "%s", spec->arch);
    else if (setting.type == WS_SETTING_WINDOW && spec->window_left == WS_WINDOW_AT_LAUNCH &&
             spec->window_right == WS_WINDOW_AT_LAUNCH)
        snprintf(text, WS_SETTING_TEXT_SIZE, "launch");
    else if (setting.type == WS_SETTING_WINDOW)
        snprintf(text, WS_SETTING_TEXT_SIZE, "%d,%d", spec->window_left, spec->window_right);
    else if (setting.type == WS_SETTING_CHOICE && number < ws_word_count(setting.values))
        ws_word_copy(setting.values, number < 0 ? 0 : number, text, WS_SETTING_TEXT_SIZE);
    else if (setting.type != WS_SETTING_OPTIONS)
        snprintf(text, WS_SETTING_TEXT_SIZE, "%d", number);
    else
        for (int i = 0; i < WS_OPTIONS_MAX && spec->options[i][0] != '\0'; i++)
            ws_append(text, WS_SETTING_TEXT_SIZE, "%s%s", i == 0 ? "" : " ", spec->options[i]);
}

/* Fields may have been written directly, so a check asks of each what ws_spec_set would have. */
static enum ws_status check_value(const struct ws_spec *spec, int index, struct ws_error *error)
{
    struct ws_setting setting = ws_setting_at(index);
    struct ws_spec scratch = *spec;
    int number = get_number(spec, index);
    char text[WS_SETTING_TEXT_SIZE];
    if (setting.type == WS_SETTING_DIM && number == 0)
        return WS_OK; /* open */
    if (setting.type == WS_SETTING_CHOICE &&
        (number < 0 || number >= ws_word_count(setting.values)))
        snprintf(text, sizeof text, "%d", number);
    else
        ws_setting_text(spec, index, text);
    return ws_setting_apply(&scratch, index, text, error);
}

/* What the kind does not have is as it was at first. */
static enum ws_status check_foreign(const struct ws_spec *spec, int index, struct ws_error *error)
{
    const struct ws_setting setting = ws_setting_at(index);
    char value[WS_SETTING_TEXT_SIZE], usual[WS_SETTING_TEXT_SIZE], kind[64];
    struct ws_spec fresh;
    ws_spec_init(&fresh, spec->kind);
    ws_setting_text(spec, index, value);
    ws_setting_text(&fresh, index, usual);
    if (strcmp(value, usual) == 0)
        return WS_OK;
    ws_word_copy(ws_setting_at(WS_FIELD_kernel).values, (int)spec->kind, kind, sizeof kind);
    return ws_fail(error, WS_ERROR_SPEC,
                   "%s`%s: %.80s` with kernel %s, which has no `%s`; leave it out", noun(&setting),
                   setting.name, value, kind, setting.name);
}

enum ws_status ws_spec_check_values(const struct ws_spec *spec, struct ws_error *error)
{
    if (memchr(spec->arch, '\0', sizeof spec->arch) == NULL)
        return ws_fail(error, WS_ERROR_SPEC, "arch has no end; it should be a name with a NUL");
    for (int i = 0; i < WS_OPTIONS_MAX; i++) {
        if (memchr(spec->options[i], '\0', WS_OPTION_SIZE) == NULL)
            return ws_fail(error, WS_ERROR_SPEC, "option %d has no end; it should have a NUL", i);
    }
    for (int i = 0; i < WS_SETTING_COUNT; i++) {
        if (i == WS_FIELD_head_dim)
            continue; /* another name of the next two */
        enum ws_status status = check_value(spec, i, error);
        if (status == WS_OK && !ws_setting_is_of(i, spec->kind))
            status = check_foreign(spec, i, error);
        if (status != WS_OK)
            return status;
    }
    const struct ws_target *target = ws_target_find(spec->arch);
    if (target->missing)
        return ws_fail(error, WS_ERROR_SPEC, "arch %s: %s", target->name, target->missing);
    return WS_OK;
}

bool ws_spec_is_open(const struct ws_spec *spec)
{
    return ws_setting_is_of(WS_FIELD_head_dim, spec->kind) &&
           (spec->head_dim_qk == 0 || spec->head_dim_v == 0);
}

enum ws_status ws_spec_check(const struct ws_spec *spec, struct ws_error *error)
{
    enum ws_status status = ws_spec_check_values(spec, error);
    if (status != WS_OK)
        return status;
    if (ws_spec_is_open(spec))
        return ws_fail(error, WS_ERROR_SPEC, "%s is open; give it in the config or with the shape",
                       spec->head_dim_qk == spec->head_dim_v ? "head_dim"
                       : spec->head_dim_qk == 0              ? "head_dim_qk"
                                                             : "head_dim_v");
    return ws_kernel_definition(spec->kind)->check(spec, error);
}
