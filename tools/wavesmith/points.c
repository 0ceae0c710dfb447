#include "tools/wavesmith/points.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/setting.h"

static const struct {
    const char *name, *mask, *align;
} causal_values[] = {
    {"top_left", "mask=causal", "align=top_left"},
    {"bottom_right", "mask=causal", "align=bottom_right"},
    {"none", "mask=none", NULL},
};

static enum ws_status add_causal(const char *causal, const char **list, size_t *count,
                                 struct ws_error *error)
{
    for (size_t i = 0; i < sizeof causal_values / sizeof causal_values[0]; ++i) {
        if (strcmp(causal, causal_values[i].name) != 0)
            continue;
        list[(*count)++] = causal_values[i].mask;
        if (causal_values[i].align)
            list[(*count)++] = causal_values[i].align;
        return WS_OK;
    }
    return ws_fail(error, WS_ERROR_ARGUMENT, "--causal is top_left, bottom_right or none, not '%s'",
                   causal);
}

static enum ws_status load_config(struct ws_points *points, const char *path,
                                  const struct ws_arguments *arguments, struct ws_error *error)
{
    char arch[64];
    size_t count = 0;
    const char **list = (const char **)calloc(arguments->set.count + 4, sizeof *list);
    if (!list)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    enum ws_status status = WS_OK;
    for (size_t i = 0; i < arguments->set.count; ++i)
        list[count++] = arguments->set.items[i];
    if (arguments->arch) {
        snprintf(arch, sizeof arch, "arch=%s", arguments->arch);
        list[count++] = arch;
    }
    if (arguments->causal)
        status = add_causal(arguments->causal, list, &count, error);
    if (status == WS_OK)
        status = ws_config_load(&points->config, path, list, error);
    free((void *)list);
    return status;
}

/* A head dim that the config leaves open comes from --shape; one that it fixes must agree. */
static enum ws_status take_head_dim(int *field, int64_t given, const char *key, const char *size,
                                    struct ws_error *error)
{
    if (given < 0 || *field == given)
        return WS_OK;
    if (*field != 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--shape has %s=%" PRId64 ", but the config fixes %s to %d; leave %s out",
                       size, given, key, *field, size);
    *field = (int)given;
    return WS_OK;
}

static enum ws_status take_head_dims(struct ws_points *points, struct ws_error *error)
{
    const struct ws_sizes *sizes = &points->sizes;
    for (size_t i = points->first; i < points->end; ++i) {
        struct ws_config_point *point = &points->config.points[i];
        struct ws_spec *spec = &point->spec;
        bool refused = point->reason[0] != '\0';
        bool open = ws_spec_is_open(spec) && !refused;
        points->open_dims = points->open_dims || open;
        if (!ws_setting_is_of(WS_FIELD_head_dim, spec->kind))
            continue; /* the problem refuses them */
        enum ws_status status =
            take_head_dim(&spec->head_dim_qk, sizes->head_dim_qk, "head_dim_qk", "D", error);
        if (status == WS_OK)
            status = take_head_dim(&spec->head_dim_v, sizes->head_dim_v, "head_dim_v", "Dv", error);
        if (status != WS_OK)
            return status;
        if (ws_spec_is_open(spec) && !refused)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "%s leaves the head dim open; give it, as in --shape D=128",
                           point->name);
        struct ws_error reason;
        if (open && ws_spec_check(spec, &reason) != WS_OK)
            memcpy(point->reason, reason.message, sizeof point->reason);
    }
    return WS_OK;
}

/* Says what was chosen among alternatives, and why. */
static void print_pick(const struct ws_config_point *point, bool is_compiled)
{
    if (!point->is_picked || point->reason[0])
        return;
    struct ws_spec defaults;
    ws_spec_init(&defaults, point->spec.kind);
    fprintf(stderr, "wavesmith: %s was picked", point->name);
    if (ws_setting_is_of(WS_FIELD_head_dim, point->spec.kind))
        fprintf(stderr, " for head dims %d and %d", point->spec.head_dim_qk,
                point->spec.head_dim_v);
    fputc(':', stderr);
    for (int i = 0; i < WS_LEVER_COUNT; ++i) {
        char value[64];
        ws_lever_text(&point->spec, (enum ws_lever)i, value, sizeof value);
        if (point->spec.lever[i] != defaults.lever[i])
            fprintf(stderr, " %s=%s", ws_lever_info((enum ws_lever)i)->name, value);
    }
    fprintf(stderr, "%s%s%s\n", point->why[0] ? "; " : "; it comes first", point->why,
            is_compiled ? ""
                        : "; nothing was compiled, so this went by estimated registers, and what "
                          "compiles it may pass it over because it spills");
}

/* Picks among alternatives, now that head dims are known. */
static enum ws_status pick_points(struct ws_points *points, const struct ws_arguments *arguments,
                                  struct ws_error *error)
{
    struct ws_codegen_options options;
    bool compiles = (arguments->command->takes & WS_TAKES(backend)) != 0;
    enum ws_status status = ws_codegen_from(&options, arguments, error);
    if (status == WS_OK)
        status = ws_config_pick(&points->config, compiles ? &options : NULL, error);
    points->end = points->config.count;
    for (size_t i = points->first; i < points->end && status == WS_OK; ++i)
        print_pick(&points->config.points[i], compiles);
    return status;
}

/* An error if no point can be generated. */
static enum ws_status check_points(const struct ws_points *points, struct ws_error *error)
{
    for (size_t i = points->first; i < points->end; ++i)
        if (!points->config.points[i].reason[0])
            return WS_OK;
    enum ws_status status =
        points->open_dims ? WS_OK : ws_config_point_error(&points->config, points->first, error);
    if (status != WS_OK)
        return status;
    if (points->open_dims)
        return ws_fail(error, WS_ERROR_SPEC, "--shape D=%d: %s",
                       points->config.points[points->first].spec.head_dim_qk,
                       points->config.points[points->first].reason);
    return ws_fail(error, WS_ERROR_SPEC, "%s", points->config.points[points->first].reason);
}

enum ws_status ws_points_open(struct ws_points *points, const char *path,
                              const struct ws_arguments *arguments, struct ws_error *error)
{
    enum ws_status status = ws_sizes_parse(&points->sizes, arguments->shape, error);
    if (status == WS_OK)
        status = load_config(points, path, arguments, error);
    if (status != WS_OK)
        return status;
    size_t count = points->config.count;
    points->end = count;
    if (arguments->given[WS_OPTION_max_spills])
        points->config.max_spills =
            arguments->max_spills < WS_SPILLS_ANY ? (int)arguments->max_spills : WS_SPILLS_ANY;
    if (arguments->given[WS_OPTION_point]) {
        if (arguments->point < 1 || arguments->point > count)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "--point is from 1 to %zu, the points of the config, not %" PRIu64,
                           count, arguments->point);
        points->first = (size_t)arguments->point - 1;
        points->end = points->first + 1;
    }
    if (points->first == points->end)
        return ws_fail(error, WS_ERROR_CONFIG, "%s has no points", path);
    return take_head_dims(points, error);
}

enum ws_status ws_points_load(struct ws_points *points, const struct ws_arguments *arguments,
                              struct ws_error *error)
{
    enum ws_status status = ws_points_open(points, arguments->operand, arguments, error);
    if (status == WS_OK && !arguments->given[WS_OPTION_point])
        status = pick_points(points, arguments, error);
    return status == WS_OK ? check_points(points, error) : status;
}

void ws_points_free(struct ws_points *points)
{
    ws_config_free(&points->config);
}

enum ws_status ws_points_only(const struct ws_points *points, const struct ws_config_point **point,
                              struct ws_error *error)
{
    if (points->end - points->first != 1)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "the config has %zu points and this command takes one; choose with --point",
                       points->end - points->first);
    *point = &points->config.points[points->first];
    return WS_OK;
}

enum ws_status ws_codegen_from(struct ws_codegen_options *options,
                               const struct ws_arguments *arguments, struct ws_error *error)
{
    static const char *const names[] = {"auto", "llvm", "comgr"};
    const char *backend = arguments->backend ? arguments->backend : names[0];
    *options = (struct ws_codegen_options){.pool = arguments->pool};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(backend, names[i]) == 0) {
            options->backend = (enum ws_backend)i;
            /* A comgr stays outside, whatever LLVM it holds; auto may open one. */
            if (options->backend != WS_BACKEND_LLVM)
                options->isolation = WS_ISOLATION_WORKER;
            return WS_OK;
        }
    return ws_fail(error, WS_ERROR_ARGUMENT, "--backend is llvm, comgr or auto, not '%s'", backend);
}
