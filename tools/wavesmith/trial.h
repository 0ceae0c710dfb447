/* One problem on one compiled kernel: inputs, launch, judgement. */
#ifndef WS_TOOL_TRIAL_H
#define WS_TOOL_TRIAL_H

#include "gen/wavesmith.h"
#include "tools/wavesmith/arrays.h"
#include "tools/wavesmith/device.h"
#include "tools/wavesmith/judge.h"

struct ws_trial_options {
    bool strict;     /* emulator: late landing, poison, races */
    unsigned jobs;   /* CPU threads of the emulator, 0 for all cores */
    uint64_t order;  /* varies the order in which the emulator runs workgroups and waves */
    bool sample_all; /* every workgroup */
    bool sample_given;
    double timeout_seconds; /* of one launch on a GPU; 0 for ever */
    uint64_t sample; /* random workgroups, if given and not all; else it depends on the cost */
};

/* --sample: a whole number or "all"; NULL leaves the choice to the cost. */
enum ws_status ws_trial_set_sample(struct ws_trial_options *options, const char *text,
                                   struct ws_error *error);

/* One launch of an operation: a code object on a device, and the spec that it was made from. */
struct ws_step {
    struct ws_spec spec;
    struct ws_module *module;
    struct ws_kernel *kernel;
    uint32_t block[3];
};

/* An operation on a device: one launch, or a backward's, in their order. */
struct ws_loaded {
    struct ws_tool_device *device;
    struct ws_step step[WS_FMHA_BWD_STEPS_MAX];
    int steps;
};

/* The specs of what an operation launches, in order: the spec itself, or a backward's steps.
 * Returns how many there are. */
int ws_launches_of(const struct ws_spec *spec, struct ws_spec launches[WS_FMHA_BWD_STEPS_MAX]);

/* Loads the kernel of a spec, compiled by the caller, and beside it compiles and loads what else
 * the spec's operation launches. `options` are for that, NULL for the defaults. */
enum ws_status ws_trial_load(struct ws_loaded *loaded, struct ws_tool_device *device,
                             const struct ws_spec *spec, const struct ws_compiled *compiled,
                             const struct ws_codegen_options *options, struct ws_error *error);

/* The same where all kernels of the operation are compiled, in the order of their launches. */
enum ws_status ws_trial_load_all(struct ws_loaded *loaded, struct ws_tool_device *device,
                                 const struct ws_spec *spec, const struct ws_compiled *compiled,
                                 struct ws_error *error);
void ws_trial_unload(struct ws_loaded *loaded);

/* Of both runs together: the worst errors, the sum of the counts. */
struct ws_trial {
    struct ws_verdict verdict;
    struct ws_closeness gradient[WS_INPUT_KIND_COUNT][WS_GRADIENT_COUNT]; /* of each run */
    char *findings; /* the emulator's, a line each; NULL for none; freed by ws_trial_free */
    enum ws_input_kind findings_of; /* the run that they are of */
    uint64_t wave_instructions;
    uint64_t score_tiles; /* or other units of work (struct ws_problem_kind), unavoidable ones */
    uint64_t workgroups_checked, workgroups_total;
    double emulation_seconds, seconds;
};

/* Runs the problem with every kind of inputs and stops at the first that fails. A kernel that
 * computes the wrong thing or breaks a rule of the emulator is no error but a verdict.
 * WS_ERROR_ARGUMENT: the problem does not fit the spec. */
enum ws_status ws_trial_run(struct ws_trial *trial, const struct ws_loaded *loaded,
                            const struct ws_spec *spec, const struct ws_problem *problem,
                            const struct ws_trial_options *options, struct ws_error *error);
void ws_trial_free(struct ws_trial *trial);

/* Runs some workgroups of a backward's launch, one at a time, on the emulator, and counts the
 * instructions of each; nothing is judged, and O and LSE are 0. */
enum ws_status ws_trial_count(const struct ws_loaded *loaded, int step,
                              const struct ws_problem *problem,
                              const struct ws_trial_options *options, const uint64_t *workgroups,
                              size_t count, uint64_t *instructions, struct ws_error *error);

double ws_wall_seconds(void);

#endif
