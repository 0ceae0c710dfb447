/* Results of verify: collected, printed as they come, and as JSON at the end. */
#ifndef WS_TOOL_RESULT_H
#define WS_TOOL_RESULT_H

#include <jansson.h>

#include "tools/wavesmith/trial.h"

enum ws_result_status { WS_RESULT_PASS, WS_RESULT_FAIL, WS_RESULT_SKIP };

struct ws_result {
    enum ws_result_status status;
    const char *reason; /* of a fail or skip, else "" */
    const char *name;   /* of the config's point */
    const struct ws_spec *spec;
    const struct ws_problem *problem;
    bool says_mask;        /* the problem's mask is not the config's */
    const char *device;    /* "hip", "emu" */
    const char *reproduce; /* the command line that checks the same again */
    struct ws_trial *trial;
    const struct ws_compiled *compiled; /* NULL: nothing is said of the kernel */
};

struct ws_results {
    bool as_json;
    json_t *list;      /* NULL unless as_json */
    unsigned count[3]; /* by status */
};

/* Adds settings of a spec that its kind has, first .. end - 1, by name: each a number or a word. */
void ws_settings_add(json_t *object, const struct ws_spec *spec, int first, int end);

json_t *ws_result_json(const struct ws_result *result);

void ws_results_begin(struct ws_results *results, bool as_json);
void ws_results_add(struct ws_results *results, const struct ws_result *result);

/* Prints the end and returns the exit code: WS_EXIT_FAILED if something failed or nothing was
 * checked. */
int ws_results_end(struct ws_results *results);

#endif
