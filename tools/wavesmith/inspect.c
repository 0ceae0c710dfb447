/* wavesmith inspect: registers, memory and instruction counts of the kernels of a code object. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/wavesmith.h"
#include "ir/target.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/isa/isa.h"
#include "tools/wavesmith/output.h"
#include "tools/wavesmith/points.h"

/* What counts are related to: the head dims of the attention that a kernel computes. */
struct head_dims {
    int qk, v; /* 0: unknown */
};

/* A code object to inspect. */
struct subject {
    uint8_t *image;
    size_t size;
    struct head_dims dims; /* of all its kernels, if known beforehand */
};

/* Matrix products of one 16 x 16 score tile: Q.K over qk and P.V over v. */
static double tile_flops(struct head_dims dims)
{
    return 2.0 * 16 * 16 * (dims.qk + dims.v);
}

static bool parse_dims(struct head_dims *dims, const char *text, char separator)
{
    char *end = NULL;
    long qk = strtol(text, &end, 10);
    long v = qk;
    if (end != text && *end == separator) {
        const char *second = end + 1;
        v = strtol(second, &end, 10);
        if (end == second)
            return false;
    }
    if (end == text || (*end != '\0' && *end != '_') || qk < 1 || v < 1 || qk > 1024 || v > 1024)
        return false;
    *dims = (struct head_dims){(int)qk, (int)v};
    return true;
}

/* A generated kernel's symbol says its head dims: "..._d128_..." or "..._d192x128_...". */
static struct head_dims dims_of_symbol(const char *symbol)
{
    struct head_dims dims = {0};
    for (const char *at = symbol; (at = strstr(at, "_d")) != NULL; ++at)
        if (parse_dims(&dims, at + 2, 'x'))
            return dims;
    return (struct head_dims){0};
}

/* Waves that a SIMD holds: bounded by VGPRs, and by LDS through the workgroups that a work-group
 * processor (four SIMDs, two LDS of the largest workgroup) holds. 0 for an unknown target. */
static int waves_per_simd(const struct ws_object_kernel *kernel, const char *arch)
{
    const struct ws_target *target = ws_target_find(arch);
    if (!target)
        return 0;
    enum { SIMDS = 4, LDS_OF_TWO = 2 };
    int waves = ws_target_occupancy(target, (int)kernel->vgpr_count);
    if (kernel->lds_bytes == 0 || kernel->wave_size == 0)
        return waves;
    int group = (int)((kernel->max_workgroup_size + kernel->wave_size - 1) / kernel->wave_size);
    int groups = LDS_OF_TWO * target->lds_bytes / (int)kernel->lds_bytes;
    int by_lds = groups * group / SIMDS;
    by_lds = by_lds > 0 ? by_lds : 1;
    return by_lds < waves ? by_lds : waves;
}

static json_t *counts_json(const struct ws_isa_counts *counts)
{
    json_t *object = json_object();
    for (int c = 0; c < WS_ISA_CLASS_COUNT; ++c)
        json_object_set_new(object, ws_isa_class_name((enum ws_isa_class)c),
                            json_integer(counts->by_class[c]));
    return object;
}

static json_t *distance_json(const struct ws_isa_distance *distance)
{
    if (distance->loads == 0)
        return json_pack("{s:n, s:n}", "median", "p10");
    return json_pack("{s:f, s:f}", "median", distance->median, "p10", distance->p10);
}

static json_t *loop_json(const struct ws_isa_loop *loop, struct head_dims dims)
{
    double tiles = dims.qk > 0 ? loop->mma_flops / tile_flops(dims) : 0;
    json_t *per_tile = tiles > 0 ? json_real(loop->hot.total / tiles) : json_null();
    return json_pack("{s:i, s:i, s:f, s:o, s:f, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:i, s:i, s:b}",
                     "instructions", (int)loop->hot.total, "mma",
                     (int)loop->hot.by_class[WS_ISA_MMA], "tiles", tiles, "instr_per_tile",
                     per_tile, "a_serial", loop->a_serial, "classes", counts_json(&loop->hot),
                     "lds_distance", distance_json(&loop->lds), "global_distance",
                     distance_json(&loop->global), "waits_to_zero", (int)loop->waits_to_zero,
                     "accvgpr_moves", (int)loop->hot.by_class[WS_ISA_ACCVGPR], "cold_instructions",
                     (int)loop->cold.total, "cold_classes", counts_json(&loop->cold), "offset",
                     (int)loop->offset, "blocks", (int)loop->blocks, "innermost", loop->innermost);
}

static json_t *kernel_json(const struct ws_object_kernel *kernel, const char *arch,
                           const struct ws_isa *isa, struct head_dims dims)
{
    json_t *loops = json_array();
    for (int i = 0; i < isa->loop_count; ++i)
        json_array_append_new(loops, loop_json(&isa->loops[i], dims));
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:i, s:i, s:o, s:o}",
                     "symbol", kernel->name, "arch", arch, "vgpr", (int)kernel->vgpr_count, "agpr",
                     (int)kernel->agpr_count, "sgpr", (int)kernel->sgpr_count, "vgpr_spills",
                     (int)kernel->vgpr_spills, "sgpr_spills", (int)kernel->sgpr_spills,
                     "scratch_bytes", (int)kernel->scratch_bytes, "lds_bytes",
                     (int)kernel->lds_bytes, "waves_per_simd", waves_per_simd(kernel, arch),
                     "code_bytes", (json_int_t)kernel->code_bytes, "kernarg_bytes",
                     (int)kernel->kernarg_bytes, "instructions", (int)isa->all.total, "classes",
                     counts_json(&isa->all), "loops", loops);
}

static void print_counts(const struct ws_isa_counts *counts)
{
    for (int c = 0; c < WS_ISA_CLASS_COUNT; ++c)
        if (counts->by_class[c] > 0)
            printf("  %s %u", ws_isa_class_name((enum ws_isa_class)c), counts->by_class[c]);
    putchar('\n');
}

static void print_distance(const char *name, const struct ws_isa_distance *distance)
{
    if (distance->loads > 0)
        printf("; %s load to wait: median %.0f, p10 %.0f cycles", name, distance->median,
               distance->p10);
}

static void print_loop(const struct ws_isa_loop *loop, struct head_dims dims, bool is_main)
{
    printf("  %s at 0x%x: %u instructions", is_main ? "main loop" : "loop", loop->offset,
           loop->hot.total);
    if (dims.qk > 0 && loop->mma_flops > 0) {
        double tiles = loop->mma_flops / tile_flops(dims);
        printf(", %g score tiles, %.1f instructions a tile", tiles, loop->hot.total / tiles);
    }
    if (loop->mma_flops > 0)
        printf(", matrix share %.3f", loop->a_serial);
    if (!loop->innermost)
        printf(", holds other loops");
    fputs("\n    hot  ", stdout);
    print_counts(&loop->hot);
    if (loop->cold.total > 0) {
        printf("    cold   %u:", loop->cold.total);
        print_counts(&loop->cold);
    }
    printf("    waits to zero %u", loop->waits_to_zero);
    print_distance("LDS", &loop->lds);
    print_distance("global", &loop->global);
    putchar('\n');
}

static void print_kernel(const struct ws_object_kernel *kernel, const char *arch,
                         const struct ws_isa *isa, struct head_dims dims)
{
    printf("%s\n", kernel->name);
    printf("  %s: VGPRs %u, SGPRs %u, spills %u + %u, scratch %u bytes, LDS %u bytes, waves a SIMD "
           "%d\n",
           arch, kernel->vgpr_count, kernel->sgpr_count, kernel->vgpr_spills, kernel->sgpr_spills,
           kernel->scratch_bytes, kernel->lds_bytes, waves_per_simd(kernel, arch));
    printf("  code %llu bytes, kernarg %u bytes, %u instructions:",
           (unsigned long long)kernel->code_bytes, kernel->kernarg_bytes, isa->all.total);
    print_counts(&isa->all);
    for (int i = 0; i < isa->loop_count; ++i) {
        bool is_main = i == 0 && isa->loops[0].hot.by_class[WS_ISA_MMA] > 0;
        print_loop(&isa->loops[i], dims, is_main);
    }
    if (isa->loop_count == 0)
        puts("  no loops");
}

static enum ws_status inspect_kernel(const struct subject *subject, const struct ws_object *object,
                                     const struct ws_object_kernel *kernel, json_t *list,
                                     struct ws_error *error)
{
    struct ws_isa isa = {0};
    struct head_dims dims = subject->dims.qk > 0 ? subject->dims : dims_of_symbol(kernel->name);
    enum ws_status status = ws_isa_read(&isa, subject->image, object, kernel, error);
    if (status == WS_OK && list)
        json_array_append_new(list, kernel_json(kernel, object->arch, &isa, dims));
    else if (status == WS_OK)
        print_kernel(kernel, object->arch, &isa, dims);
    ws_isa_free(&isa);
    return status;
}

static enum ws_status inspect_object(const struct subject *subject, const char *arch, json_t *list,
                                     struct ws_error *error)
{
    struct ws_object object;
    enum ws_status status = ws_object_read(&object, subject->image, subject->size, error);
    if (status != WS_OK)
        return status;
    if (arch && strcmp(arch, object.arch) != 0)
        status = ws_fail(error, WS_ERROR_OBJECT,
                         "the code object is for %s, not for %s as --arch says", object.arch, arch);
    if (status == WS_OK && object.kernel_count == 0)
        status = ws_fail(error, WS_ERROR_OBJECT, "the code object holds no kernel");
    for (size_t i = 0; i < object.kernel_count && status == WS_OK; ++i)
        status = inspect_kernel(subject, &object, &object.kernels[i], list, error);
    ws_object_free(&object);
    return status;
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

static bool is_hsaco_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".hsaco") == 0 || strcmp(dot, ".co") == 0);
}

static enum ws_status inspect_file(const struct ws_arguments *arguments, json_t *list,
                                   struct ws_error *error)
{
    struct subject subject = {0};
    enum ws_status status = ws_read_file(arguments->operand, &subject.image, &subject.size, error);
    if (status == WS_OK && arguments->head_dim &&
        !parse_dims(&subject.dims, arguments->head_dim, ','))
        status = ws_fail(error, WS_ERROR_ARGUMENT,
                         "--head-dim is D or D,DV from 1 to 1024, not '%s'", arguments->head_dim);
    if (status == WS_OK)
        status = inspect_object(&subject, arguments->arch, list, error);
    if (status == WS_ERROR_OBJECT && error)
        snprintf(error->file, sizeof error->file, "%s", arguments->operand);
    free(subject.image);
    return status;
}

static enum ws_status inspect_point(const struct ws_config_point *point, const char *backend,
                                    json_t *list, struct ws_error *error)
{
    const char *options_list[WS_OPTIONS_MAX + 1];
    struct ws_codegen_options options;
    struct ws_compiled compiled = {0};
    enum ws_status status = ws_codegen_from(&options, backend, &point->spec, options_list, error);
    if (status == WS_OK)
        status = ws_compile(&point->spec, &options, &compiled, error);
    if (status == WS_OK) {
        struct subject subject = {
            .image = compiled.code.bytes,
            .size = compiled.code.size,
            .dims = {point->spec.head_dim_qk, point->spec.head_dim_v},
        };
        status = inspect_object(&subject, NULL, list, error);
    }
    ws_compiled_free(&compiled);
    return status;
}

static enum ws_status inspect_config(const struct ws_arguments *arguments, json_t *list,
                                     struct ws_error *error)
{
    struct ws_points points = {0};
    enum ws_status status = ws_points_load(&points, arguments, error);
    for (size_t i = points.first; i < points.end && status == WS_OK; ++i) {
        const struct ws_config_point *point = &points.config.points[i];
        if (point->reason[0])
            fprintf(stderr, "skip  %s: %s\n", point->name, point->reason);
        else
            status = inspect_point(point, arguments->backend, list, error);
    }
    ws_points_free(&points);
    return status;
}

int ws_command_inspect(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    json_t *list = arguments->json ? json_array() : NULL;
    bool is_file = is_elf(arguments->operand) || is_hsaco_name(arguments->operand);
    enum ws_status status =
        is_file ? inspect_file(arguments, list, &error) : inspect_config(arguments, list, &error);
    if (status == WS_OK && list)
        return ws_print_json(json_pack("{s:o}", "kernels", list));
    json_decref(list);
    return status == WS_OK ? WS_EXIT_OK : ws_report_error(&error);
}
