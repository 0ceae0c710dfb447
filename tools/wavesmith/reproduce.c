#include "tools/wavesmith/reproduce.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gen/words.h"

/* A word as the shell reads it: plain, or in quotes that a ' ends and starts again. */
static void append_word(char *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=,:+@%";
    bool is_plain = word[strspn(word, plain)] == '\0' && *word;
    if (is_plain) {
        ws_append(text, WS_COMMAND_SIZE, " %s", word);
        return;
    }
    ws_append(text, WS_COMMAND_SIZE, " '");
    for (const char *c = word; *c; ++c)
        ws_append(text, WS_COMMAND_SIZE, "%s%c", *c == '\'' ? "'\\'" : "", *c);
    ws_append(text, WS_COMMAND_SIZE, "'");
}

static void append_option(char *text, const char *option, const char *value)
{
    if (value)
        ws_append(text, WS_COMMAND_SIZE, " %s %s", option, value);
}

void ws_mask_text(const struct ws_problem *problem, char text[WS_MASK_TEXT_SIZE])
{
    const char *align = problem->align == WS_ALIGN_TOP_LEFT ? "top_left" : "bottom_right";
    if (problem->mask == WS_MASK_WINDOW)
        snprintf(text, WS_MASK_TEXT_SIZE, "--set mask=window --set align=%s", align);
    else
        snprintf(text, WS_MASK_TEXT_SIZE, "--causal %s",
                 problem->mask == WS_MASK_NONE ? "none" : align);
}

void ws_reproduction(char text[WS_COMMAND_SIZE], const struct ws_arguments *arguments,
                     const struct ws_points *points, size_t point, const struct ws_problem *problem,
                     bool says_mask)
{
    char problem_text[WS_PROBLEM_TEXT_SIZE];
    char mask[WS_MASK_TEXT_SIZE];
    ws_mask_text(problem, mask);
    ws_problem_text(problem, problem_text);
    snprintf(text, WS_COMMAND_SIZE, "wavesmith verify");
    append_word(text, arguments->operand);
    if (points->config.count > 1 || points->config.points[point].is_picked)
        ws_append(text, WS_COMMAND_SIZE, " --point %zu", points->config.points[point].number);
    append_option(text, "--arch", arguments->arch);
    for (size_t i = 0; i < arguments->set.count; ++i) {
        ws_append(text, WS_COMMAND_SIZE, " --set");
        append_word(text, arguments->set.items[i]);
    }
    if (says_mask)
        ws_append(text, WS_COMMAND_SIZE, " %s", mask);
    else
        append_option(text, "--causal", arguments->causal);
    ws_append(text, WS_COMMAND_SIZE, " %s", problem_text);
    append_option(text, "--sample", arguments->sample);
    append_option(text, "--device", arguments->device);
    append_option(text, "--backend", arguments->backend);
    if (arguments->given[WS_OPTION_max_spills])
        ws_append(text, WS_COMMAND_SIZE, " --max-spills %" PRIu64, arguments->max_spills);
    if (arguments->no_strict)
        ws_append(text, WS_COMMAND_SIZE, " --no-strict");
    if (strlen(text) == WS_COMMAND_SIZE - 1)
        snprintf(text, WS_COMMAND_SIZE, "(its command line is longer than %d characters)",
                 WS_COMMAND_SIZE - 1);
}
