/* wavesmith inspect: registers, memory and instruction counts of the kernels of a code object. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/wavesmith.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/figures.h"
#include "tools/wavesmith/output.h"
#include "tools/wavesmith/points.h"

/* A code object to inspect. */
struct subject {
    uint8_t *image;
    size_t size;
    struct ws_object object;
    struct ws_head_dims dims; /* of all its kernels, if known beforehand */
};

static void close_subject(struct subject *subject)
{
    ws_object_free(&subject->object);
    free(subject->image);
    *subject = (struct subject){0};
}

/* Reads subject->image. */
static enum ws_status read_object(struct subject *subject, const char *arch, struct ws_error *error)
{
    struct ws_object *object = &subject->object;
    enum ws_status status = ws_object_read(object, subject->image, subject->size, error);
    if (status != WS_OK)
        return status;
    if (arch && strcmp(arch, object->arch) != 0)
        return ws_fail(error, WS_ERROR_OBJECT,
                       "the code object is for %s, not for %s as --arch says", object->arch, arch);
    if (object->kernel_count == 0)
        return ws_fail(error, WS_ERROR_OBJECT, "the code object holds no kernel");
    return WS_OK;
}

static bool is_elf(const char *path)
{
    uint8_t magic[4] = {0};
    FILE *file = fopen(path, "rbe");
    if (!file)
        return false;
    size_t size = fread(magic, 1, sizeof magic, file);
    fclose(file);
    return size == 4 && memcmp(magic, "\177ELF", 4) == 0;
}

static bool is_code_object(const char *path)
{
    const char *dot = strrchr(path, '.');
    return is_elf(path) || (dot && (strcmp(dot, ".hsaco") == 0 || strcmp(dot, ".co") == 0));
}

/* Kernels of others have larger head dims than ours; none has one that is no multiple of 8. */
static enum ws_status parse_head_dims(struct ws_head_dims *dims, const char *text,
                                      struct ws_error *error)
{
    if (ws_head_dims_parse(dims, text, ',') && dims->qk >= WS_HEAD_DIM_MIN &&
        dims->v >= WS_HEAD_DIM_MIN && (dims->qk | dims->v) % WS_HEAD_DIM_STEP == 0)
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "--head-dim is D or D,DV, multiples of %d from %d to 1024, not '%s'",
                   WS_HEAD_DIM_STEP, WS_HEAD_DIM_MIN, text);
}

static enum ws_status open_file(struct subject *subject, const struct ws_arguments *arguments,
                                struct ws_error *error)
{
    enum ws_status status =
        ws_read_file(arguments->operand, &subject->image, &subject->size, error);
    if (status == WS_OK && arguments->head_dim)
        status = parse_head_dims(&subject->dims, arguments->head_dim, error);
    if (status == WS_OK)
        status = read_object(subject, arguments->arch, error);
    if (status == WS_ERROR_OBJECT && error)
        snprintf(error->file, sizeof error->file, "%s", arguments->operand);
    return status;
}

static enum ws_status open_point(struct subject *subject, const struct ws_config_point *point,
                                 const struct ws_arguments *arguments, struct ws_error *error)
{
    struct ws_codegen_options options;
    struct ws_compiled compiled = {0};
    enum ws_status status = ws_codegen_from(&options, arguments, error);
    if (status == WS_OK)
        status = ws_compile(&point->spec, &options, &compiled, error);
    if (status != WS_OK)
        return status;
    subject->image = compiled.code.bytes;
    subject->size = compiled.code.size;
    compiled.code = (struct ws_code){0}; /* the image is the subject's now */
    ws_compiled_free(&compiled);
    subject->dims = ws_head_dims_of(&point->spec);
    return read_object(subject, NULL, error);
}

static enum ws_status inspect_subject(const struct subject *subject, const char *kernel_name,
                                      json_t *list, struct ws_error *error)
{
    const struct ws_object *object = &subject->object;
    const struct ws_object_kernel *only = NULL;
    enum ws_status status = WS_OK;
    if (kernel_name)
        status = ws_object_choose(object, kernel_name, &only, error);
    for (size_t i = 0; i < object->kernel_count && status == WS_OK; ++i) {
        struct ws_figures figures = {0};
        const struct ws_object_kernel *kernel = &object->kernels[i];
        if (only && kernel != only)
            continue;
        status = ws_figures_read(&figures, subject->image, object, kernel, subject->dims, error);
        if (status == WS_OK && list)
            json_array_append_new(list, ws_figures_json(&figures));
        else if (status == WS_OK)
            ws_figures_print(&figures);
        ws_figures_free(&figures);
    }
    return status;
}

static enum ws_status inspect_file(const struct ws_arguments *arguments, json_t *list,
                                   struct ws_error *error)
{
    struct subject subject = {0};
    enum ws_status status = open_file(&subject, arguments, error);
    if (status == WS_OK)
        status = inspect_subject(&subject, arguments->kernel, list, error);
    close_subject(&subject);
    return status;
}

static enum ws_status inspect_config(const struct ws_arguments *arguments, json_t *list,
                                     struct ws_error *error)
{
    struct ws_points points = {0};
    enum ws_status status = ws_points_load(&points, arguments, error);
    for (size_t i = points.first; i < points.end && status == WS_OK; ++i) {
        const struct ws_config_point *point = &points.config.points[i];
        struct subject subject = {0};
        if (point->reason[0]) {
            fprintf(stderr, "skip  %s: %s\n", point->name, point->reason);
            continue;
        }
        status = open_point(&subject, point, arguments, error);
        if (status == WS_OK)
            status = inspect_subject(&subject, NULL, list, error);
        close_subject(&subject);
    }
    ws_points_free(&points);
    return status;
}

/* One side of a comparison: a code object, or a config with one point. */
static enum ws_status open_side(struct subject *subject, const struct ws_arguments *arguments,
                                const char *path, struct ws_error *error)
{
    struct ws_arguments side = *arguments;
    struct ws_points points = {0};
    const struct ws_config_point *point = NULL;
    side.operand = path;
    if (is_code_object(path))
        return open_file(subject, &side, error);
    enum ws_status status = ws_points_load(&points, &side, error);
    if (status == WS_OK)
        status = ws_points_only(&points, &point, error);
    if (status == WS_OK)
        status = open_point(subject, point, &side, error);
    ws_points_free(&points);
    return status;
}

/* The kernel of a side: the only one, or the one that --kernel names. */
static enum ws_status read_side(struct ws_figures *figures, const struct subject *subject,
                                const char *kernel_name, struct ws_error *error)
{
    const struct ws_object *object = &subject->object;
    const struct ws_object_kernel *kernel = NULL;
    const char *name = object->kernel_count > 1 ? kernel_name : NULL;
    enum ws_status status = ws_object_choose(object, name, &kernel, error);
    if (status != WS_OK)
        return status;
    return ws_figures_read(figures, subject->image, object, kernel, subject->dims, error);
}

static enum ws_status compare(const struct ws_arguments *arguments, json_t *list,
                              struct ws_error *error)
{
    const char *paths[2] = {arguments->compare, arguments->operand};
    struct subject subjects[2] = {{0}, {0}};
    struct ws_figures figures[2] = {{0}, {0}};
    enum ws_status status = WS_OK;
    for (int i = 0; i < 2 && status == WS_OK; ++i) {
        status = open_side(&subjects[i], arguments, paths[i], error);
        if (status == WS_OK)
            status = read_side(&figures[i], &subjects[i], arguments->kernel, error);
        if (status == WS_OK && list)
            json_array_append_new(list, ws_figures_json(&figures[i]));
    }
    if (status == WS_OK && !list)
        ws_figures_compare(&figures[0], &figures[1]);
    for (int i = 0; i < 2; ++i) {
        ws_figures_free(&figures[i]);
        close_subject(&subjects[i]);
    }
    return status;
}

/* What says how to make a kernel means nothing where all are made. */
static enum ws_status check_options(const struct ws_arguments *arguments, struct ws_error *error)
{
    static const struct {
        enum ws_option option;
        const char *name;
    } making[] = {
        {WS_OPTION_set, "--set"},         {WS_OPTION_shape, "--shape"},
        {WS_OPTION_causal, "--causal"},   {WS_OPTION_point, "--point"},
        {WS_OPTION_backend, "--backend"},
    };
    if (!is_code_object(arguments->operand) ||
        (arguments->compare && !is_code_object(arguments->compare)))
        return WS_OK;
    for (size_t i = 0; i < sizeof making / sizeof making[0]; ++i)
        if (arguments->given[making[i].option])
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "%s is for configs, and %s is a code object; leave it out",
                           making[i].name, arguments->operand);
    return WS_OK;
}

int ws_command_inspect(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    if (check_options(arguments, &error) != WS_OK)
        return ws_report_error(&error);
    json_t *list = arguments->json ? json_array() : NULL;
    enum ws_status status = arguments->compare ? compare(arguments, list, &error)
                            : is_code_object(arguments->operand)
                                ? inspect_file(arguments, list, &error)
                                : inspect_config(arguments, list, &error);
    if (status == WS_OK && list)
        return ws_print_json(json_pack("{s:o}", "kernels", list));
    json_decref(list);
    return status == WS_OK ? WS_EXIT_OK : ws_report_error(&error);
}
