/* wavesmith verify: the points of a config against the reference. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/wavesmith/command.h"
#include "tools/wavesmith/kind.h"
#include "tools/wavesmith/launch.h"
#include "tools/wavesmith/points.h"
#include "tools/wavesmith/reproduce.h"
#include "tools/wavesmith/result.h"
#include "tools/wavesmith/trial.h"

/* A kernel that was compiled in this run. */
struct built {
    struct ws_compiled compiled;
    struct ws_loaded loaded;
};

/* Masks that random problems draw. */
static const struct {
    const char *mask, *align;
} masks[] = {
    {"mask=none", NULL},
    {"mask=causal", "align=bottom_right"},
    {"mask=causal", "align=top_left"},
    {"mask=window", "align=bottom_right"},
    {"mask=window", "align=top_left"},
};

enum { MASKS = sizeof masks / sizeof *masks };

struct verification {
    const struct ws_arguments *arguments;
    struct ws_points points;
    struct ws_tool_device device;
    struct ws_trial_options options;
    struct ws_results results;
    enum ws_layout layout;
    uint64_t seed;
    bool draws_mask;                /* random problems vary the mask too */
    struct ws_points masked[MASKS]; /* the points with each mask; loaded when it is drawn */
    struct built *built;
    size_t built_count;
};

static enum ws_status parse_layout(enum ws_layout *layout, const char *text, struct ws_error *error)
{
    *layout = text && strcmp(text, "bhsd") == 0 ? WS_BHSD : WS_BSHD;
    if (!text || *layout == WS_BHSD || strcmp(text, "bshd") == 0)
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT, "--layout is bshd or bhsd, not '%s'", text);
}

static enum ws_status check_random(const struct verification *v, struct ws_error *error)
{
    const struct ws_arguments *arguments = v->arguments;
    const struct ws_sizes *sizes = &v->points.sizes;
    bool sizes_given = sizes->batch >= 0 || sizes->heads_q >= 0 || sizes->heads_k >= 0 ||
                       sizes->seqlen_q >= 0 || sizes->seqlen_k >= 0 || sizes->m >= 0 ||
                       sizes->n >= 0 || sizes->k >= 0;
    bool given = sizes_given || arguments->layout || arguments->stride.count > 0 ||
                 arguments->far.count > 0 || arguments->given[WS_OPTION_score_scale] ||
                 arguments->window || arguments->given[WS_OPTION_softcap] || arguments->lengths_q ||
                 arguments->lengths_k || arguments->used_k;
    if (given)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--random draws sizes (but D and Dv), layout, strides, score scale and what "
                       "features take; leave them out");
    return WS_OK;
}

/* Options about attention mean nothing to other kinds. */
static enum ws_status check_options(const struct verification *v, struct ws_error *error)
{
    static const struct {
        enum ws_option option;
        const char *name;
    } of_attention[] = {
        {WS_OPTION_causal, "--causal"},       {WS_OPTION_layout, "--layout"},
        {WS_OPTION_window, "--window"},       {WS_OPTION_score_scale, "--score-scale"},
        {WS_OPTION_softcap, "--softcap"},     {WS_OPTION_lengths_q, "--lengths-q"},
        {WS_OPTION_lengths_k, "--lengths-k"}, {WS_OPTION_used_k, "--used-k"},
    };
    for (size_t i = v->points.first; i < v->points.end; ++i) {
        const struct ws_config_point *point = &v->points.config.points[i];
        for (size_t o = 0; o < sizeof of_attention / sizeof of_attention[0]; ++o)
            if (!ws_problem_kind(point->spec.kind)->is_attention &&
                v->arguments->given[of_attention[o].option])
                return ws_fail(error, WS_ERROR_ARGUMENT,
                               "%s is about attention, and %s is of kernel %s; leave it out",
                               of_attention[o].name, point->name,
                               ws_arg_table(point->spec.kind)->kind_name);
    }
    return WS_OK;
}

/* A config without a mask says nothing of masks, so its random problems have all of them. */
static bool says_nothing_of_masks(const struct ws_points *points)
{
    for (size_t i = points->first; i < points->end; ++i) {
        const struct ws_spec *spec = &points->config.points[i].spec;
        if (!ws_problem_kind(spec->kind)->is_attention || spec->mask != WS_MASK_NONE ||
            spec->align != points->config.points[points->first].spec.align)
            return false;
    }
    return true;
}

static enum ws_status prepare(struct verification *v, struct ws_error *error)
{
    const struct ws_arguments *arguments = v->arguments;
    v->seed = arguments->given[WS_OPTION_seed] ? arguments->seed : ws_fresh_seed();
    v->options.strict = !arguments->no_strict;
    v->options.jobs = (unsigned)arguments->jobs;
    v->options.timeout_seconds = arguments->timeout;
    enum ws_status status = ws_trial_set_sample(&v->options, arguments->sample, error);
    if (status == WS_OK)
        status = parse_layout(&v->layout, arguments->layout, error);
    if (status == WS_OK && arguments->score_scale <= 0)
        status = ws_fail(error, WS_ERROR_ARGUMENT, "--score-scale should be above 0, not %g",
                         arguments->score_scale);
    if (status == WS_OK)
        status = ws_points_load(&v->points, arguments, error);
    if (status == WS_OK)
        status = check_options(v, error);
    if (status == WS_OK && arguments->given[WS_OPTION_random])
        status = check_random(v, error);
    if (status != WS_OK)
        return status;
    v->draws_mask = arguments->given[WS_OPTION_random] && !arguments->causal &&
                    says_nothing_of_masks(&v->points);
    const char *arch = v->points.config.points[v->points.first].spec.arch;
    return ws_tool_device_open(&v->device, arguments->device, arch, error);
}

static void forget_built(struct verification *v)
{
    for (size_t i = 0; i < v->built_count; ++i) {
        ws_trial_unload(&v->built[i].loaded);
        ws_compiled_free(&v->built[i].compiled);
    }
    v->built_count = 0;
}

static enum ws_status compile_and_load(struct verification *v, const struct ws_spec *spec,
                                       struct built *built, struct ws_error *error)
{
    struct ws_codegen_options options;
    struct ws_compiled *compiled = &built->compiled;
    *built = (struct built){0};
    enum ws_status status = ws_codegen_from(&options, v->arguments, error);
    if (status == WS_OK)
        status = ws_compile(spec, &options, compiled, error);
    if (status == WS_OK)
        status = ws_spills_check(spec, compiled, v->points.config.max_spills, error);
    if (status == WS_OK)
        status = ws_trial_load(&built->loaded, &v->device, spec, compiled, &options, error);
    if (status != WS_OK)
        ws_compiled_free(compiled);
    return status;
}

/* The kernel of a spec, compiled once a run. */
static enum ws_status find_built(struct verification *v, const struct ws_spec *spec,
                                 const struct built **found, struct ws_error *error)
{
    char id[WS_ID_SIZE];
    ws_spec_id(spec, id);
    struct ws_device *before = v->device.device;
    if (before && strcmp(ws_device_arch(before), spec->arch) != 0)
        forget_built(v);
    enum ws_status status = ws_tool_device_target(&v->device, spec->arch, error);
    for (size_t i = 0; i < v->built_count && status == WS_OK; ++i)
        if (strcmp(v->built[i].compiled.spec_id, id) == 0) {
            *found = &v->built[i];
            return WS_OK;
        }
    if (status != WS_OK)
        return status;
    struct built *grown = realloc(v->built, (v->built_count + 1) * sizeof *grown);
    if (!grown)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    v->built = grown;
    struct built *built = &grown[v->built_count];
    status = compile_and_load(v, spec, built, error);
    if (status != WS_OK)
        return status;
    v->built_count++;
    *found = built;
    return WS_OK;
}

/* Checks one problem on one point. What the spec or the problem rules out is a skip, unless it is
 * all that was asked for. */
static enum ws_status check_problem(struct verification *v, const struct ws_points *points,
                                    size_t index, const struct ws_problem *problem,
                                    struct ws_error *error)
{
    char command[WS_COMMAND_SIZE];
    const struct ws_config_point *point = &points->config.points[index];
    const struct built *built = NULL;
    struct ws_trial trial = {0};
    struct ws_error reason = {0};
    ws_reproduction(command, v->arguments, points, index, problem, v->draws_mask);
    enum ws_status status = find_built(v, &point->spec, &built, &reason);
    if (status == WS_OK)
        status = ws_trial_run(&trial, &built->loaded, &point->spec, problem, &v->options, &reason);
    struct ws_result result = {
        .status = WS_RESULT_FAIL,
        .reason = status == WS_OK ? trial.verdict.reason : reason.message,
        .name = point->name,
        .spec = &point->spec,
        .problem = problem,
        .says_mask = v->draws_mask,
        .device = v->device.is_emulator ? "emu" : "hip",
        .reproduce = command,
        .trial = &trial,
        .compiled = built ? &built->compiled : NULL,
    };
    bool ruled_out = status == WS_ERROR_SPEC || status == WS_ERROR_ARGUMENT;
    if (status == WS_OK && trial.verdict.pass)
        result.status = WS_RESULT_PASS;
    else if (ruled_out)
        result.status = WS_RESULT_SKIP;
    bool only = v->points.end - v->points.first == 1 && !v->arguments->given[WS_OPTION_random];
    bool fatal = status != WS_OK && status != WS_ERROR_COMPILE && (only || !ruled_out);
    if (!fatal)
        ws_results_add(&v->results, &result);
    else if (error)
        *error = reason;
    ws_trial_free(&trial);
    return fatal ? status : WS_OK;
}

static void skip_point(struct verification *v, const struct ws_config_point *point)
{
    struct ws_trial trial = {0};
    struct ws_problem problem = {0};
    const struct ws_result result = {
        .status = WS_RESULT_SKIP,
        .reason = point->reason,
        .name = point->name,
        .spec = &point->spec,
        .problem = &problem,
        .device = v->device.is_emulator ? "emu" : "hip",
        .reproduce = "",
        .trial = &trial,
    };
    ws_results_add(&v->results, &result);
}

/* --stride and --far, in the order of the command line's lists. */
static enum ws_status set_strides(struct ws_problem *problem, const struct ws_spec *spec,
                                  const struct ws_arguments *arguments, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    const struct ws_tile tile = ws_problem_kind(spec->kind)->tile(spec, ws_problem_block(spec));
    for (size_t i = 0; i < arguments->stride.count && status == WS_OK; ++i)
        status = ws_problem_set_stride(problem, arguments->stride.items[i], error);
    for (size_t i = 0; i < arguments->far.count && status == WS_OK; ++i)
        status = ws_problem_set_far(problem, arguments->far.items[i], &tile, error);
    return status;
}

/* Scores of any head dim stay within f32, and the boundary inputs, which grow as scores shrink,
 * within f16. */
static enum ws_status check_scale(const struct ws_problem *problem, struct ws_error *error)
{
    const float largest = 0x1p14F; /* q.k of N(0,1) inputs, and the factor log2(e) */
    const double smallest = 1e-7;
    if (problem->score_scale >= smallest && isfinite(ws_problem_scale(problem) * largest))
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "--score-scale %g: inputs or scores would leave the range of their types; %g to "
                   "1e30 is fine",
                   problem->score_scale, smallest);
}

static enum ws_status check_shape(struct verification *v, size_t index, struct ws_error *error)
{
    const struct ws_spec *spec = &v->points.config.points[index].spec;
    struct ws_problem problem;
    enum ws_status status = ws_problem_init(&problem, spec, &v->points.sizes, v->layout, error);
    problem.seed = v->seed;
    problem.score_scale = v->arguments->score_scale;
    if (status == WS_OK)
        status = ws_problem_set_features(&problem, v->arguments, error);
    if (status == WS_OK && ws_problem_kind(spec->kind)->is_attention)
        status = check_scale(&problem, error);
    if (status == WS_OK)
        status = ws_problem_check_sizes(&problem, error);
    if (status == WS_OK) {
        ws_problem_pack(&problem); /* lengths change it */
        status = set_strides(&problem, spec, v->arguments, error);
    }
    return status == WS_OK ? check_problem(v, &v->points, index, &problem, error) : status;
}

/* The points with a mask of `masks`: alternatives may be settled otherwise with it. */
static enum ws_status load_masked(struct verification *v, int64_t mask,
                                  const struct ws_points **points, struct ws_error *error)
{
    struct ws_points *masked = &v->masked[mask];
    struct ws_arguments arguments = *v->arguments;
    struct ws_list *set = &arguments.set;
    *points = masked;
    if (masked->end > 0)
        return WS_OK;
    set->items = (const char **)calloc(set->count + 2, sizeof *set->items);
    if (!set->items)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < v->arguments->set.count; ++i)
        set->items[i] = v->arguments->set.items[i];
    set->items[set->count++] = masks[mask].mask;
    if (masks[mask].align)
        set->items[set->count++] = masks[mask].align;
    enum ws_status status = ws_points_load(masked, &arguments, error);
    free((void *)set->items);
    /* The config itself is fine: no point takes this mask. */
    bool none_fits = status == WS_ERROR_CONFIG || status == WS_ERROR_SPEC;
    return none_fits && masked->end > 0 ? WS_OK : status;
}

/* The points of a random problem: those of the config, or with a mask that point `index` takes (it
 * takes none, for one). */
static enum ws_status draw_points(struct verification *v, struct ws_random *random, size_t index,
                                  const struct ws_points **points, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    *points = &v->points;
    if (!v->draws_mask)
        return WS_OK;
    do
        status = load_masked(v, ws_random_range(random, 0, MASKS - 1), points, error);
    while (status == WS_OK && (*points)->config.points[index].reason[0]);
    return status;
}

static enum ws_status check_random_problem(struct verification *v, size_t index, uint64_t number,
                                           struct ws_error *error)
{
    struct ws_random random;
    struct ws_problem problem;
    const struct ws_points *points = NULL;
    ws_random_seed(&random, v->seed + number);
    enum ws_status status = draw_points(v, &random, index, &points, error);
    if (status != WS_OK)
        return status;
    const struct ws_spec *spec = &points->config.points[index].spec;
    status = ws_problem_init(&problem, spec, &v->points.sizes, v->layout, error);
    if (status != WS_OK)
        return status;
    ws_problem_randomize(&problem, &random);
    return check_problem(v, points, index, &problem, error);
}

static void show_progress(uint64_t done, uint64_t total)
{
    if (total > 1 && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%llu of %llu%s", (unsigned long long)done, (unsigned long long)total,
                done == total ? "\r               \r" : "");
}

static bool is_refused(const struct verification *v, size_t index)
{
    return v->points.config.points[index].reason[0];
}

/* Nothing more can be run on a device that is stuck. */
static bool goes_on(const struct verification *v, enum ws_status status)
{
    return status == WS_OK && !v->device.is_stuck;
}

static enum ws_status check_points(struct verification *v, struct ws_error *error)
{
    const uint64_t total = v->points.end - v->points.first;
    enum ws_status status = WS_OK;
    for (size_t i = v->points.first; i < v->points.end && goes_on(v, status); ++i) {
        if (is_refused(v, i))
            skip_point(v, &v->points.config.points[i]);
        else
            status = check_shape(v, i, error);
        show_progress(i - v->points.first + 1, total);
    }
    return status;
}

/* Problems go round the points that are not refused, so that as many are checked as were asked
 * for; the others are skipped once. */
static enum ws_status check_randomly(struct verification *v, struct ws_error *error)
{
    const uint64_t total = v->arguments->random;
    enum ws_status status = WS_OK;
    uint64_t refused = 0;
    for (size_t i = v->points.first; i < v->points.end; ++i)
        if (is_refused(v, i)) {
            skip_point(v, &v->points.config.points[i]);
            refused++;
        }
    if (refused == v->points.end - v->points.first)
        return WS_OK;
    size_t index = v->points.first;
    for (uint64_t done = 0; done < total && goes_on(v, status); index++) {
        if (index == v->points.end)
            index = v->points.first;
        if (is_refused(v, index))
            continue;
        status = check_random_problem(v, index, done++, error);
        show_progress(done, total);
    }
    return status;
}

int ws_command_verify(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct verification v = {.arguments = arguments};
    int code = WS_EXIT_OK;
    enum ws_status status = prepare(&v, &error);
    if (status == WS_OK) {
        ws_results_begin(&v.results, arguments->json);
        if (!arguments->given[WS_OPTION_seed])
            fprintf(stderr, "wavesmith: seed %llu\n", (unsigned long long)v.seed);
        status = arguments->given[WS_OPTION_random] ? check_randomly(&v, &error)
                                                    : check_points(&v, &error);
        if (status == WS_OK)
            code = ws_results_end(&v.results);
        else
            json_decref(v.results.list);
    }
    if (status != WS_OK)
        code = ws_report_error(&error);
    ws_tool_device_abandon(&v.device, code);
    forget_built(&v);
    free(v.built);
    ws_tool_device_close(&v.device);
    for (int i = 0; i < MASKS; ++i)
        ws_points_free(&v.masked[i]);
    ws_points_free(&v.points);
    return code;
}
