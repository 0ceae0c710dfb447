#include "tools/wavesmith/result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/setting.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/kind.h"
#include "tools/wavesmith/output.h"
#include "tools/wavesmith/reproduce.h"

static const char *const status_names[] = {"pass", "fail", "skip"};

void ws_results_begin(struct ws_results *results, bool as_json)
{
    *results = (struct ws_results){.as_json = as_json, .list = as_json ? json_array() : NULL};
}

/* JSON has no infinities and no NaN. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static double instructions_per_tile(const struct ws_trial *trial)
{
    return trial->score_tiles > 0 ? (double)trial->wave_instructions / (double)trial->score_tiles
                                  : 0;
}

static json_t *findings_json(const struct ws_trial *trial)
{
    json_t *list = json_array();
    const char *at = trial->findings ? trial->findings : "";
    while (*at) {
        size_t length = strcspn(at, "\n");
        json_array_append_new(list, json_stringn_nocheck(at, length));
        at += length + (at[length] == '\n');
    }
    return list;
}

static json_t *closeness_json(const struct ws_closeness *close)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "cosine", number(close->cosine), "max_error",
                     number(close->max_error), "rms", number(close->rms), "rms_limit",
                     number(close->rms_limit), "norm_ratio", number(close->norm_ratio));
}

/* By inputs, then by gradient. */
static json_t *gradients_json(const struct ws_trial *trial)
{
    json_t *object = json_object();
    for (int kind = 0; kind < WS_INPUT_KIND_COUNT; ++kind) {
        json_t *of_kind = json_object();
        for (int i = 0; i < WS_GRADIENT_COUNT; ++i)
            if (trial->gradient[kind][i].is_judged)
                json_object_set_new(of_kind,
                                    ws_tensor_name(ws_gradient_tensor((enum ws_gradient_id)i)),
                                    closeness_json(&trial->gradient[kind][i]));
        json_object_set_new(object, ws_input_kind_name((enum ws_input_kind)kind), of_kind);
    }
    return object;
}

void ws_settings_add(json_t *object, const struct ws_spec *spec, int first, int end)
{
    for (int i = first; i < end; ++i) {
        char text[WS_SETTING_TEXT_SIZE];
        char *rest = NULL;
        if (!ws_setting_is_of(i, spec->kind))
            continue;
        ws_setting_text(spec, i, text);
        long number = strtol(text, &rest, 10);
        bool is_number = rest != text && *rest == '\0';
        json_object_set_new(object, ws_setting_at(i).name,
                            is_number ? json_integer(number) : json_string(text));
    }
}

json_t *ws_result_json(const struct ws_result *result)
{
    const struct ws_trial *trial = result->trial;
    const struct ws_verdict *verdict = &trial->verdict;
    char digest[32];
    snprintf(digest, sizeof digest, "%016" PRIx64, verdict->digest);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "status",
        status_names[result->status], "reason", result->reason, "name", result->name, "arch",
        result->spec->arch, "device", result->device, "seed", (json_int_t)result->problem->seed,
        "max_abs", number(verdict->max_abs), "norm_err", number(verdict->max_normalised), "rms",
        number(verdict->rms), "rms_limit", number(verdict->rms_limit), "lse_max_abs",
        number(verdict->lse_max_abs), "wave_instructions", (json_int_t)trial->wave_instructions,
        "score_tiles", (json_int_t)trial->score_tiles);
    if (ws_problem_has_gradients(result->problem))
        json_object_set_new(object, "gradients", gradients_json(trial));
    json_object_set_new(object, "instr_per_tile", number(instructions_per_tile(trial)));
    json_object_set_new(object, "workgroups_checked",
                        json_integer((json_int_t)trial->workgroups_checked));
    json_object_set_new(object, "workgroups_total",
                        json_integer((json_int_t)trial->workgroups_total));
    json_object_set_new(object, "seconds", number(trial->seconds));
    json_object_set_new(object, "digest", json_string(digest));
    json_object_set_new(object, "findings", findings_json(trial));
    if (result->compiled) {
        json_object_set_new(object, "vgpr_spills",
                            json_integer((json_int_t)result->compiled->vgpr_spills));
        json_object_set_new(object, "sgpr_spills",
                            json_integer((json_int_t)result->compiled->sgpr_spills));
    }
    json_t *levers = json_object();
    ws_settings_add(levers, result->spec, WS_FIELD_COUNT, WS_SETTING_COUNT);
    json_object_set_new(object, "levers", levers);
    json_object_set_new(object, "reproduce", json_string(result->reproduce));
    return object;
}

static void print_closeness(enum ws_gradient_id gradient, enum ws_input_kind kind,
                            const struct ws_closeness *close)
{
    if (close->is_judged)
        printf(
            "      %-5s %-8s cosine %.7f, max / scale %.2g, rms / scale %.2g of %.2g, norm ratio "
            "%.5f\n",
            ws_tensor_name(ws_gradient_tensor(gradient)), ws_input_kind_name(kind), close->cosine,
            close->max_error, close->rms, close->rms_limit, close->norm_ratio);
}

static void print_errors(const struct ws_problem *problem, const struct ws_trial *trial)
{
    const struct ws_verdict *verdict = &trial->verdict;
    if (!ws_problem_has_gradients(problem)) {
        printf("      normalised error %.2g, rms %.2g of %.2g, lse %.2g; ", verdict->max_normalised,
               verdict->rms, verdict->rms_limit, verdict->lse_max_abs);
        return;
    }
    for (int i = 0; i < WS_GRADIENT_COUNT; ++i)
        for (int kind = 0; kind < WS_INPUT_KIND_COUNT; ++kind)
            print_closeness((enum ws_gradient_id)i, (enum ws_input_kind)kind,
                            &trial->gradient[kind][i]);
    printf("      ");
}

static void print_figures(const struct ws_result *result)
{
    const struct ws_trial *trial = result->trial;
    print_errors(result->problem, trial);
    printf("workgroups %" PRIu64 " of %" PRIu64, trial->workgroups_checked,
           trial->workgroups_total);
    if (trial->wave_instructions > 0)
        printf("; executed instructions a %s %.1f", ws_problem_kind(result->problem->kind)->unit,
               instructions_per_tile(trial));
    printf("; %.2f s\n", trial->seconds);
}

static void print_result(const struct ws_result *result)
{
    const struct ws_trial *trial = result->trial;
    char text[WS_PROBLEM_TEXT_SIZE];
    ws_problem_text(result->problem, text);
    if (result->status == WS_RESULT_SKIP) {
        printf("skip  %s: %s\n", result->name, result->reason);
        return;
    }
    char mask[WS_MASK_TEXT_SIZE] = "";
    if (result->says_mask)
        ws_mask_text(result->problem, mask);
    printf("%s  %s  %s on %s  %s%s%s\n", status_names[result->status], result->name,
           result->spec->arch, result->device, mask, mask[0] ? " " : "", text);
    if (trial->workgroups_total > 0)
        print_figures(result);
    if (result->status == WS_RESULT_PASS)
        return;
    if (trial->findings) /* the reason is the first of them */
        printf("      %s inputs, findings of the emulator:\n%s",
               ws_input_kind_name(trial->findings_of), trial->findings);
    else
        printf("      %s\n", result->reason);
    printf("      again: %s\n", result->reproduce);
}

void ws_results_add(struct ws_results *results, const struct ws_result *result)
{
    results->count[result->status]++;
    if (results->list)
        json_array_append_new(results->list, ws_result_json(result));
    else
        print_result(result);
    fflush(stdout);
}

int ws_results_end(struct ws_results *results)
{
    const unsigned *count = results->count;
    bool checked = count[WS_RESULT_PASS] + count[WS_RESULT_FAIL] > 0;
    int code = checked && count[WS_RESULT_FAIL] == 0 ? WS_EXIT_OK : WS_EXIT_FAILED;
    if (results->as_json) {
        int printed = ws_print_json(json_pack(
            "{s:o, s:i, s:i, s:i}", "results", results->list, "passed", (int)count[WS_RESULT_PASS],
            "failed", (int)count[WS_RESULT_FAIL], "skipped", (int)count[WS_RESULT_SKIP]));
        code = printed != WS_EXIT_OK ? printed : code;
    } else {
        printf("%u passed, %u failed, %u skipped\n", count[WS_RESULT_PASS], count[WS_RESULT_FAIL],
               count[WS_RESULT_SKIP]);
    }
    if (!checked)
        fputs("wavesmith: error: nothing was checked\n", stderr);
    return code;
}
