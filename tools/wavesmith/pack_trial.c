#include "tools/wavesmith/pack_trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* Rounded errors: the last digits depend on the host's libm. */
enum { RECORD_DIGITS = 3 };

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static char *make_record(const struct ws_pack_subject *subject, const struct ws_trial *trial,
                         bool is_emulator)
{
    char problem[WS_PROBLEM_TEXT_SIZE];
    const struct ws_verdict *verdict = &trial->verdict;
    ws_problem_text(subject->problem, problem);
    json_t *object =
        json_pack("{s:s, s:I, s:s, s:o, s:o, s:o, s:o, s:I, s:I}", "problem", problem, "seed",
                  (json_int_t)subject->problem->seed, "device", is_emulator ? "emu" : "hip",
                  "max_abs", number(verdict->max_abs), "norm_err", number(verdict->max_normalised),
                  "rms", number(verdict->rms), "lse_max_abs", number(verdict->lse_max_abs),
                  "workgroups_checked", (json_int_t)trial->workgroups_checked, "workgroups_total",
                  (json_int_t)trial->workgroups_total);
    char *text =
        json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(RECORD_DIGITS));
    json_decref(object);
    return text;
}

static enum ws_status run(struct ws_pack_trial *trial, const struct ws_pack_subject *subject,
                          char **record, char reason[WS_ERROR_MESSAGE_SIZE], struct ws_error *error)
{
    const struct ws_trial_options options = {.strict = true, .jobs = 1};
    struct ws_loaded loaded = {0};
    struct ws_trial result = {0};
    enum ws_status status =
        ws_trial_load_all(&loaded, &trial->device, subject->spec, subject->compiled, error);
    if (status == WS_OK)
        status = ws_trial_run(&result, &loaded, subject->spec, subject->problem, &options, error);
    if (status == WS_OK && result.verdict.pass)
        *record = make_record(subject, &result, trial->device.is_emulator);
    else if (status == WS_OK)
        snprintf(reason, WS_ERROR_MESSAGE_SIZE, "%s", result.verdict.reason);
    if (status == WS_OK && result.verdict.pass && !*record)
        status = ws_fail(error, WS_ERROR_MEMORY, "out of memory for a verification record");
    ws_trial_free(&result);
    ws_trial_unload(&loaded);
    return status;
}

enum ws_status ws_pack_try(struct ws_pack_trial *trial, const struct ws_pack_subject *subject,
                           char **record, char reason[WS_ERROR_MESSAGE_SIZE],
                           struct ws_error *error)
{
    const char *arch = subject->spec->arch;
    enum ws_status status = WS_OK;
    *record = NULL;
    reason[0] = '\0';
    if (!trial->device.driver)
        status = ws_tool_device_open(&trial->device, trial->choice, arch, error);
    if (status == WS_OK)
        status = ws_tool_device_target(&trial->device, arch, error);
    return status == WS_OK ? run(trial, subject, record, reason, error) : status;
}

void ws_pack_trial_close(struct ws_pack_trial *trial)
{
    ws_tool_device_close(&trial->device);
}
