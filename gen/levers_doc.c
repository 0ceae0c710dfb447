#include <stdio.h>
#include <stdlib.h>

#include "gen/setting.h"
#include "gen/words.h"

/* A value list as a table cell: "`gather` `rows`". */
static void print_values(FILE *out, const struct ws_setting *setting)
{
    const char *values = setting->type == WS_SETTING_FLAG ? "false true" : setting->values;
    if (setting->type == WS_SETTING_TARGET)
        fprintf(out, "a name of `wavesmith targets`");
    else if (setting->type == WS_SETTING_DIM)
        fprintf(out, "a multiple of %d from %d to %d", WS_HEAD_DIM_STEP, WS_HEAD_DIM_MIN,
                WS_HEAD_DIM_MAX);
    else if (setting->type == WS_SETTING_WINDOW)
        fprintf(out, "`[left, right]` `launch`");
    else if (setting->type == WS_SETTING_OPTIONS)
        fprintf(out, "a list of at most %d strings", WS_OPTIONS_MAX);
    for (int i = 0; i < ws_word_count(values); i++) {
        char word[64];
        ws_word_copy(values, i, word, sizeof word);
        fprintf(out, "%s`%s`", i == 0 ? "" : " ", word);
    }
}

static void print_default(FILE *out, const struct ws_spec *spec, int index)
{
    struct ws_setting setting = ws_setting_at(index);
    char text[WS_SETTING_TEXT_SIZE];
    ws_setting_text(spec, index, text);
    if (setting.type == WS_SETTING_FLAG)
        fprintf(out, "`%s`", text[0] == '1' ? "true" : "false");
    else if (setting.type == WS_SETTING_DIM)
        fprintf(out, "open");
    else
        fprintf(out, text[0] == '\0' ? "none" : "`%s`", text);
}

/* The kernel kinds that have a setting. */
static void print_kinds(FILE *out, int index)
{
    const char *separator = "";
    for (int kind = 0; kind < WS_KERNEL_KIND_COUNT; kind++) {
        if (!ws_setting_is_of(index, (enum ws_kernel_kind)kind))
            continue;
        fprintf(out, "%s`%s`", separator, ws_arg_table((enum ws_kernel_kind)kind)->kind_name);
        separator = " ";
    }
}

static void print_table(FILE *out, enum ws_section section)
{
    struct ws_spec spec;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    fprintf(out, "\n| key | values | default | kernels | meaning |\n|---|---|---|---|---|\n");
    for (int i = 0; i < WS_SETTING_COUNT; i++) {
        struct ws_setting setting = ws_setting_at(i);
        if (setting.section != section)
            continue;
        fprintf(out, "| `%s` | ", setting.name);
        print_values(out, &setting);
        fprintf(out, " | ");
        print_default(out, &spec, i);
        fprintf(out, " | ");
        print_kinds(out, i);
        fprintf(out, " | %s", setting.help);
        if (setting.planned[0] != '\0' && setting.type == WS_SETTING_FLAG)
            fprintf(out, " (`true` is not available yet)");
        else if (setting.planned[0] != '\0')
            fprintf(out, " (not available yet: %s)", setting.planned);
        fprintf(out, " |\n");
    }
}

char *ws_levers_markdown(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    fprintf(
        out,
        "# Levers\n\n"
        "Written by `wavesmith levers --markdown` from gen/levers.def and gen/fields.def; "
        "edit those.\n\n"
        "A lever chooses how a kernel computes, never what. Levers stand under `levers:` "
        "in a config, or after `--set`. In a config any value may be a list, which makes a sweep. "
        "Combinations that do not fit together are refused with the reason.\n");
    print_table(out, WS_SECTION_LEVERS);
    fprintf(out, "\n## The problem\n\nThese stand at the top of a config block.\n");
    print_table(out, WS_SECTION_TOP);
    fprintf(out, "\n## Features\n\nThese stand under `features:`.\n");
    print_table(out, WS_SECTION_FEATURES);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
