/* wavesmith run: any kernel of any code object, its buffers from files. */
#include "tools/wavesmith/run.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/words.h"
#include "ir/target.h"
#include "tools/wavesmith/device.h"
#include "tools/wavesmith/output.h"

/* What an unwritten byte of an output reads as: NaN in every float type. */
enum { UNWRITTEN = 0xff };

/* The forms of --arg. */
struct ws_run_kind {
    const char *name;
    const char *form;
    bool is_buffer, reads, writes, sized;
    uint32_t value_bytes;
    long long least, most; /* of a whole number; both 0: a float */
};

static const struct ws_run_kind kinds[] = {
    {"in", "in:FILE", .is_buffer = true, .reads = true},
    {"out", "out:FILE:BYTES", .is_buffer = true, .writes = true, .sized = true},
    {"inout", "inout:FILE", .is_buffer = true, .reads = true, .writes = true},
    {"zero", "zero:BYTES", .is_buffer = true, .sized = true},
    {"i32", "i32:VALUE", .value_bytes = 4, .least = INT32_MIN, .most = INT32_MAX},
    {"u32", "u32:VALUE", .value_bytes = 4, .least = 0, .most = UINT32_MAX},
    {"i64", "i64:VALUE", .value_bytes = 8, .least = INT64_MIN, .most = INT64_MAX},
    {"f32", "f32:VALUE", .value_bytes = 4},
};

enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static enum ws_status wrong_form(const char *spec, struct ws_error *error)
{
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "--arg %s: expected in:FILE, out:FILE:BYTES, inout:FILE, zero:BYTES, i32:V, "
                   "u32:V, i64:V or f32:V",
                   spec);
}

static enum ws_status wrong_value(const char *spec, const char *want, struct ws_error *error)
{
    return ws_fail(error, WS_ERROR_ARGUMENT, "--arg %s: expected %s", spec, want);
}

/* The text behind the colon of a kind that `spec` begins with, NULL where it has no such form. */
static const char *match_kind(const char *spec, const struct ws_run_kind **kind)
{
    for (int i = 0; i < KIND_COUNT; i++) {
        size_t length = strlen(kinds[i].name);
        if (strncmp(spec, kinds[i].name, length) == 0 && spec[length] == ':') {
            *kind = &kinds[i];
            return spec + length + 1;
        }
    }
    return NULL;
}

static bool parse_bytes(const char *text, size_t *bytes)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    *bytes = value;
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && value <= PTRDIFF_MAX;
}

static enum ws_status parse_buffer(struct ws_run_arg *arg, const char *text, struct ws_error *error)
{
    const char *sizes = text;
    if (arg->kind->reads || arg->kind->writes) {
        size_t length = strlen(text);
        if (arg->kind->sized) {
            const char *colon = strrchr(text, ':');
            if (colon == NULL)
                return wrong_value(arg->spec, arg->kind->form, error);
            length = (size_t)(colon - text);
            sizes = colon + 1;
        }
        if (length == 0)
            return wrong_value(arg->spec, arg->kind->form, error);
        arg->path = strndup(text, length);
        if (arg->path == NULL)
            return ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    }
    if (arg->kind->sized && !parse_bytes(sizes, &arg->size))
        return wrong_value(arg->spec, arg->kind->form, error);
    return WS_OK;
}

static enum ws_status parse_value(struct ws_run_arg *arg, const char *text, struct ws_error *error)
{
    const struct ws_run_kind *kind = arg->kind;
    char *end = NULL;
    errno = 0;
    if (kind->least == 0 && kind->most == 0) {
        float value = strtof(text, &end);
        if (end == text || *end != '\0' || (errno == ERANGE && isinf(value)))
            return wrong_value(arg->spec, "a number that a float can hold", error);
        memcpy(&arg->value, &value, sizeof value);
        return WS_OK;
    }
    long long value = strtoll(text, &end, 0);
    if (end == text || *end != '\0' || errno != 0 || value < kind->least || value > kind->most)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--arg %s: expected a whole number of %lld to %lld", arg->spec, kind->least,
                       kind->most);
    arg->value = (uint64_t)value;
    return WS_OK;
}

enum ws_status ws_run_parse_arg(struct ws_run_arg *arg, const char *spec, struct ws_error *error)
{
    *arg = (struct ws_run_arg){.spec = spec};
    const char *text = match_kind(spec, &arg->kind);
    if (text == NULL)
        return wrong_form(spec, error);
    return arg->kind->is_buffer ? parse_buffer(arg, text, error) : parse_value(arg, text, error);
}

enum ws_status ws_run_parse_extent(uint32_t extent[3], const char *option, const char *text,
                                   struct ws_error *error)
{
    const char *at = text;
    for (int i = 0; i < 3; i++)
        extent[i] = 1;
    for (int i = 0; i < 3; i++) {
        char *end = NULL;
        errno = 0;
        unsigned long value = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || errno != 0 || value > UINT32_MAX ||
            (*end != '\0' && *end != ','))
            break;
        extent[i] = (uint32_t)value;
        if (*end == '\0')
            return WS_OK;
        at = end + 1;
    }
    return ws_fail(error, WS_ERROR_ARGUMENT, "%s takes X, X,Y or X,Y,Z, whole numbers, not '%s'",
                   option, text);
}

/* The explicit argument `index` of a kernel, NULL past the last. */
static const struct ws_object_arg *explicit_arg(const struct ws_object_kernel *kernel, size_t index)
{
    for (size_t i = 0; i < kernel->arg_count; i++) {
        if (!kernel->args[i].is_hidden && index-- == 0)
            return &kernel->args[i];
    }
    return NULL;
}

enum ws_status ws_run_check_args(const struct ws_object_kernel *kernel,
                                 const struct ws_run_arg *args, size_t count,
                                 struct ws_error *error)
{
    size_t wanted = 0;
    while (explicit_arg(kernel, wanted) != NULL)
        wanted++;
    if (count != wanted)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "kernel %s takes %zu arguments, --arg is given %zu "
                       "times",
                       kernel->name, wanted, count);
    for (size_t i = 0; i < count; i++) {
        const struct ws_object_arg *want = explicit_arg(kernel, i);
        const struct ws_run_kind *kind = args[i].kind;
        if (kind->is_buffer != want->is_pointer)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "--arg %s: argument %zu of kernel %s is a %s; give it as %s",
                           args[i].spec, i, kernel->name, want->is_pointer ? "pointer" : "value",
                           want->is_pointer ? "in, out, inout or zero" : "i32, u32, i64 or f32");
        if (!kind->is_buffer && kind->value_bytes != want->size)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "--arg %s: argument %zu of kernel %s has %u bytes, %s gives %u",
                           args[i].spec, i, kernel->name, want->size, kind->name,
                           kind->value_bytes);
    }
    return WS_OK;
}

/* Everything that one run holds. */
struct run {
    const struct ws_arguments *arguments;
    uint8_t *file;
    size_t file_size;
    struct ws_object object;
    const struct ws_object_kernel *info;
    struct ws_run_arg *args;
    size_t arg_count;
    uint8_t *block; /* the kernel's argument block */
    struct ws_launch launch;
    struct ws_tool_device device;
    struct ws_module *module;
    struct ws_kernel *kernel;
};

static enum ws_status parse_options(struct run *run, struct ws_error *error)
{
    const struct ws_arguments *arguments = run->arguments;
    if (arguments->grid == NULL || arguments->block == NULL)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--grid X[,Y,Z] (workgroups) and --block X[,Y,Z] "
                       "(work-items of one) are needed");
    enum ws_status status = ws_run_parse_extent(run->launch.grid, "--grid", arguments->grid, error);
    if (status == WS_OK)
        status = ws_run_parse_extent(run->launch.block, "--block", arguments->block, error);
    if (status == WS_OK && arguments->lds > UINT32_MAX)
        status = ws_fail(error, WS_ERROR_ARGUMENT, "--lds takes a number below 2^32");
    run->launch.dynamic_lds = (uint32_t)arguments->lds;
    run->args = calloc(arguments->arg.count + 1, sizeof *run->args);
    if (status == WS_OK && run->args == NULL)
        status = ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < arguments->arg.count && status == WS_OK; i++)
        status = ws_run_parse_arg(&run->args[run->arg_count++], arguments->arg.items[i], error);
    return status;
}

/* Reads the code object and holds the arguments against the kernel. */
static enum ws_status read_kernel(struct run *run, struct ws_error *error)
{
    const char *path = run->arguments->operand;
    struct ws_error detail;
    enum ws_status status = ws_read_file(path, &run->file, &run->file_size, error);
    if (status != WS_OK)
        return status;
    status = ws_object_read(&run->object, run->file, run->file_size, &detail);
    if (status == WS_OK)
        status = ws_object_choose(&run->object, run->arguments->kernel, &run->info, &detail);
    if (status != WS_OK)
        return ws_fail_at(error, status, path, 0, 0, "%s", detail.message);
    const struct ws_target *target = ws_target_find(run->object.arch);
    uint64_t lds = (uint64_t)run->info->lds_bytes + run->launch.dynamic_lds;
    if (target && lds > (uint64_t)target->lds_bytes)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--lds %u: with the kernel's own %u bytes that is more than the %d that a "
                       "workgroup has on %s",
                       run->launch.dynamic_lds, run->info->lds_bytes, target->lds_bytes,
                       run->object.arch);
    return ws_run_check_args(run->info, run->args, run->arg_count, error);
}

/* Brings the host image of a buffer into being. */
static enum ws_status fill_image(struct ws_run_arg *arg, struct ws_error *error)
{
    if (arg->kind->reads)
        return ws_read_file(arg->path, &arg->image, &arg->size, error);
    arg->image = malloc(arg->size + 1);
    if (arg->image == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "--arg %s: out of memory", arg->spec);
    memset(arg->image, arg->kind->writes ? UNWRITTEN : 0, arg->size);
    return WS_OK;
}

static enum ws_status read_images(struct run *run, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    for (size_t i = 0; i < run->arg_count && status == WS_OK; i++) {
        if (run->args[i].kind->is_buffer)
            status = fill_image(&run->args[i], error);
    }
    return status;
}

static enum ws_status open_device(struct run *run, struct ws_error *error)
{
    const struct ws_arguments *arguments = run->arguments;
    const char *arch = run->object.arch;
    enum ws_status status = ws_tool_device_open(&run->device, arguments->device, arch, error);
    if (status == WS_OK)
        status = ws_tool_device_target(&run->device, arch, error);
    if (status == WS_OK && run->device.is_emulator) {
        const struct ws_emu_config config = {.strict = !arguments->no_strict,
                                             .threads = (unsigned)arguments->jobs,
                                             .seed = arguments->seed};
        run->device.emulator.configure(&config);
    }
    if (status != WS_OK)
        return status;
    struct ws_error detail;
    status = ws_module_load(&run->module, run->device.device, run->file, run->file_size, &detail);
    if (status != WS_OK)
        return ws_fail_at(error, status, arguments->operand, 0, 0, "%s", detail.message);
    return ws_module_kernel(&run->kernel, run->module, run->info->name, NULL, error);
}

/* Allocates and fills the buffers, and packs the argument block by the notes' offsets. */
static enum ws_status upload(struct run *run, struct ws_error *error)
{
    struct ws_device *device = run->device.device;
    run->launch.args_size = run->info->kernarg_bytes;
    run->launch.args = run->block = calloc(1, run->info->kernarg_bytes + 1);
    if (run->block == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < run->arg_count; i++) {
        struct ws_run_arg *arg = &run->args[i];
        const struct ws_object_arg *place = explicit_arg(run->info, i);
        enum ws_status status = WS_OK;
        if (arg->kind->is_buffer) {
            status = ws_device_alloc(device, arg->size, &arg->value, error);
            if (status == WS_OK)
                status = ws_device_write(device, arg->value, arg->image, arg->size, error);
        }
        if (status != WS_OK)
            return status;
        memcpy(run->block + place->offset, &arg->value, place->size);
    }
    return WS_OK;
}

static enum ws_status launch(struct run *run, struct ws_error *error)
{
    enum ws_status status = ws_kernel_launch(run->kernel, &run->launch, error);
    if (status == WS_OK)
        status = ws_tool_device_wait(&run->device, run->arguments->timeout, error);
    if (status == WS_ERROR_DEVICE && run->device.is_emulator) {
        size_t count = run->device.emulator.finding_count();
        for (size_t i = 0; i < count; i++)
            fprintf(stderr, "%s\n", run->device.emulator.finding(i)->text);
    }
    return status;
}

/* Reads every output back before it writes the first file. */
static enum ws_status download(struct run *run, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    for (size_t i = 0; i < run->arg_count && status == WS_OK; i++) {
        struct ws_run_arg *arg = &run->args[i];
        if (arg->kind->writes)
            status = ws_device_read(run->device.device, arg->image, arg->value, arg->size, error);
    }
    for (size_t i = 0; i < run->arg_count && status == WS_OK; i++) {
        struct ws_run_arg *arg = &run->args[i];
        if (arg->kind->writes)
            status = ws_write_file(arg->path, arg->image, arg->size, error);
    }
    return status;
}

static void print_summary(const struct run *run)
{
    const uint32_t *grid = run->launch.grid;
    const uint32_t *block = run->launch.block;
    char name[4 * sizeof run->info->name + 5];
    ws_printable(name, sizeof name, run->info->name);
    printf("%s: %u x %u x %u workgroups of %u x %u x %u on %s", name, grid[0], grid[1], grid[2],
           block[0], block[1], block[2], ws_device_arch(run->device.device));
    if (run->device.is_emulator) {
        struct ws_emu_report report = {0};
        run->device.emulator.last_report(&report);
        printf(", emulated: %llu wave-instructions in %.3g s",
               (unsigned long long)report.wave_instructions, report.seconds);
    }
    putchar('\n');
}

static void tear_down(struct run *run)
{
    for (size_t i = 0; i < run->arg_count; i++) {
        struct ws_run_arg *arg = &run->args[i];
        if (run->device.device != NULL && arg->kind != NULL && arg->kind->is_buffer)
            ws_device_free(run->device.device, arg->value, NULL);
        free(arg->image);
        free(arg->path);
    }
    free(run->args);
    free(run->block);
    ws_module_unload(run->module);
    ws_tool_device_close(&run->device);
    ws_object_free(&run->object);
    free(run->file);
}

int ws_command_run(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct run run = {.arguments = arguments};
    /* What can be wrong about the command line and the files comes before the device. */
    enum ws_status status = parse_options(&run, &error);
    if (status == WS_OK)
        status = read_kernel(&run, &error);
    if (status == WS_OK)
        status = read_images(&run, &error);
    if (status == WS_OK)
        status = open_device(&run, &error);
    if (status == WS_OK)
        status = upload(&run, &error);
    if (status == WS_OK)
        status = launch(&run, &error);
    if (status == WS_OK)
        status = download(&run, &error);
    if (status == WS_OK)
        print_summary(&run);
    int code = status == WS_OK ? WS_EXIT_OK : ws_report_error(&error);
    ws_tool_device_abandon(&run.device, code);
    tear_down(&run);
    return code;
}
