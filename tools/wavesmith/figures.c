#include "tools/wavesmith/figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/words.h"
#include "ir/target.h"

bool ws_head_dims_parse(struct ws_head_dims *dims, const char *text, char separator)
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
    *dims = (struct ws_head_dims){.qk = (int)qk, .v = (int)v};
    return true;
}

static const struct ws_head_dims gemm_dims = {.qk = 16};

struct ws_head_dims ws_head_dims_of(const struct ws_spec *spec)
{
    struct ws_head_dims dims = {.qk = spec->head_dim_qk, .v = spec->head_dim_v};
    if (spec->kind == WS_KERNEL_GEMM)
        return gemm_dims;
    if (spec->kind == WS_KERNEL_FMHA_BWD)
        dims.job_count = ws_fmha_bwd_jobs(spec, dims.jobs);
    return dims;
}

/* A generated kernel's symbol says its head dims, "..._d128_..." or "..._d192x128_...", or that it
 * is a gemm. */
static struct ws_head_dims dims_of_symbol(const char *symbol)
{
    struct ws_head_dims dims = {.qk = 0};
    if (strncmp(symbol, "gemm_gfx", 8) == 0)
        return gemm_dims;
    if (strncmp(symbol, "fmha_bwd_gfx", 12) == 0)
        return dims; /* its levers are not in it */
    for (const char *at = symbol; (at = strstr(at, "_d")) != NULL; ++at)
        if (ws_head_dims_parse(&dims, at + 2, 'x'))
            return dims;
    return (struct ws_head_dims){.qk = 0};
}

/* Waves that a SIMD holds: bounded by VGPRs, and by LDS through the workgroups that four SIMDs
 * hold. 0 for an unknown target. */
static int waves_per_simd(const struct ws_object_kernel *kernel, const char *arch)
{
    enum { SIMDS = 4 };
    const struct ws_target *target = ws_target_find(arch);
    if (!target)
        return 0;
    /* A wave of twice the target's size takes two rows of the file for each register. */
    int rows = kernel->wave_size > (uint32_t)target->wave_size ? 2 : 1;
    int waves = ws_target_occupancy(target, rows * (int)kernel->vgpr_count);
    if (kernel->lds_bytes == 0 || kernel->wave_size == 0)
        return waves;
    int group = (int)((kernel->max_workgroup_size + kernel->wave_size - 1) / kernel->wave_size);
    int by_lds = target->lds_file / (int)kernel->lds_bytes * group / SIMDS;
    by_lds = by_lds > 0 ? by_lds : 1;
    return by_lds < waves ? by_lds : waves;
}

enum ws_status ws_figures_read(struct ws_figures *figures, const void *image,
                               const struct ws_object *object,
                               const struct ws_object_kernel *kernel, struct ws_head_dims dims,
                               struct ws_error *error)
{
    *figures = (struct ws_figures){
        .kernel = kernel,
        .arch = object->arch,
        .dims = dims.qk > 0 ? dims : dims_of_symbol(kernel->name),
        .waves_per_simd = waves_per_simd(kernel, object->arch),
    };
    ws_printable(figures->name, sizeof figures->name, kernel->name);
    return ws_isa_read(&figures->isa, image, object, kernel, error);
}

enum ws_status ws_figures_of_compiled(struct ws_figures *figures, struct ws_object *object,
                                      const struct ws_compiled *compiled,
                                      const struct ws_spec *spec, struct ws_error *error)
{
    const struct ws_code *code = &compiled->code;
    const struct ws_object_kernel *kernel = NULL;
    *figures = (struct ws_figures){0};
    *object = (struct ws_object){0};
    enum ws_status status = ws_object_read(object, code->bytes, code->size, error);
    if (status == WS_OK)
        status = ws_object_choose(object, compiled->shape.symbol, &kernel, error);
    if (status == WS_OK)
        status =
            ws_figures_read(figures, code->bytes, object, kernel, ws_head_dims_of(spec), error);
    return status;
}

void ws_figures_free(struct ws_figures *figures)
{
    ws_isa_free(&figures->isa);
}

const struct ws_isa_loop *ws_figures_main_loop(const struct ws_figures *figures)
{
    const struct ws_isa *isa = &figures->isa;
    return isa->loop_count > 0 && isa->loops[0].mma_flops > 0 ? &isa->loops[0] : NULL;
}

static int round_up(int value, int step)
{
    return (value + step - 1) / step * step;
}

/* Head dims are padded: Q.K's to one or two times the depth of a product, P.V's to one or two times
 * its width. The least padding counts with which the loop makes whole tiles; if none does, none. */
double ws_figures_tiles(const struct ws_figures *figures, const struct ws_isa_loop *loop)
{
    const double plane = 2.0 * 16 * 16; /* operations of one head dim of a tile */
    const struct ws_head_dims *dims = &figures->dims;
    double planes = loop->mma_flops / plane;
    if (dims->qk == 0 || loop->mma_flops == 0)
        return 0;
    if (dims->job_count > 0) {
        const struct ws_fmha_bwd_job *job = ws_figures_job(figures, loop);
        return job ? job->score_tiles : 0;
    }
    if (dims->v == 0) /* a gemm */
        return planes / dims->qk;
    for (int twice = 0; twice < 4; ++twice) {
        int qk = round_up(dims->qk, loop->mma_k << (twice & 1));
        int v = round_up(dims->v, loop->mma_m << (twice >> 1));
        double tiles = planes / (qk + v);
        if (tiles >= 1 && tiles == floor(tiles))
            return tiles;
    }
    return planes / (dims->qk + dims->v);
}

double ws_figures_instructions(const struct ws_figures *figures)
{
    const struct ws_isa_loop *loop = ws_figures_main_loop(figures);
    double tiles = loop ? ws_figures_tiles(figures, loop) : 0;
    if (figures->dims.job_count > 0)
        return ws_figures_all_jobs(figures);
    return tiles > 0 ? loop->hot.total / tiles : 0;
}

double ws_figures_score(const struct ws_figures *figures)
{
    const struct ws_isa_loop *loop = ws_figures_main_loop(figures);
    double tiles = loop ? ws_figures_tiles(figures, loop) : 0;
    if (figures->dims.job_count > 0)
        return ws_figures_all_jobs_cycles(figures);
    return tiles > 0 ? loop->cycles / tiles : 0;
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
        return json_pack("{s:n, s:n, s:i}", "median", "p10", "loads", 0);
    return json_pack("{s:f, s:f, s:i}", "median", distance->median, "p10", distance->p10, "loads",
                     distance->loads);
}

static json_t *positive(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *loop_json(const struct ws_figures *figures, const struct ws_isa_loop *loop)
{
    double tiles = ws_figures_tiles(figures, loop);
    return json_pack("{s:i, s:i, s:f, s:o, s:f, s:f, s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:o, s:i, "
                     "s:i, s:b}",
                     "instructions", (int)loop->hot.total, "mma",
                     (int)loop->hot.by_class[WS_ISA_MMA], "tiles", tiles, "instr_per_tile",
                     positive(tiles > 0 ? loop->hot.total / tiles : 0), "cycles", loop->cycles,
                     "a_serial", loop->a_serial, "classes", counts_json(&loop->hot), "lds_distance",
                     distance_json(&loop->lds), "global_distance", distance_json(&loop->global),
                     "waits_to_zero", (int)loop->waits_to_zero, "moves", (int)loop->moves,
                     "accvgpr_moves", (int)loop->hot.by_class[WS_ISA_ACCVGPR], "cold_instructions",
                     (int)loop->cold.total, "cold_classes", counts_json(&loop->cold), "offset",
                     (int)loop->offset, "blocks", (int)loop->blocks, "innermost", loop->innermost);
}

json_t *ws_figures_json(const struct ws_figures *figures)
{
    const struct ws_object_kernel *kernel = figures->kernel;
    const struct ws_isa *isa = &figures->isa;
    json_t *loops = json_array();
    for (int i = 0; i < isa->loop_count; ++i)
        json_array_append_new(loops, loop_json(figures, &isa->loops[i]));
    json_t *object = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:I, s:i, s:i, s:o, s:o, s:o, "
        "s:o}",
        "symbol", figures->name, "arch", figures->arch, "vgpr", (int)kernel->vgpr_count, "agpr",
        (int)kernel->agpr_count, "accum_offset", (int)kernel->accum_offset, "sgpr",
        (int)kernel->sgpr_count, "vgpr_spills", (int)kernel->vgpr_spills, "sgpr_spills",
        (int)kernel->sgpr_spills, "scratch_bytes", (int)kernel->scratch_bytes, "lds_bytes",
        (int)kernel->lds_bytes, "waves_per_simd",
        figures->waves_per_simd > 0 ? json_integer(figures->waves_per_simd) : json_null(),
        "code_bytes", (json_int_t)kernel->code_bytes, "kernarg_bytes", (int)kernel->kernarg_bytes,
        "instructions", (int)isa->all.total, "instr_per_tile",
        positive(ws_figures_instructions(figures)), "score", positive(ws_figures_score(figures)),
        "classes", counts_json(&isa->all), "loops", loops);
    if (figures->dims.job_count > 0)
        json_object_set_new(object, "jobs", ws_figures_jobs_json(figures));
    return object;
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

static void print_loop(const struct ws_figures *figures, const struct ws_isa_loop *loop)
{
    double tiles = ws_figures_tiles(figures, loop);
    bool is_main = loop == ws_figures_main_loop(figures);
    printf("  %s at 0x%x: %u instructions", is_main ? "main loop" : "loop", loop->offset,
           loop->hot.total);
    if (tiles > 0)
        printf(figures->dims.v > 0 ? ", %g score tiles, %.1f instructions a tile"
                                   : ", %g 16x16x16 products, %.2f instructions a product",
               tiles, loop->hot.total / tiles);
    if (loop->a_serial > 0)
        printf(", matrix share %.3f", loop->a_serial);
    if (!loop->innermost)
        printf(", holds other loops");
    fputs("\n    hot  ", stdout);
    print_counts(&loop->hot);
    if (loop->cold.total > 0) {
        printf("    cold   %u:", loop->cold.total);
        print_counts(&loop->cold);
    }
    printf("    waits to zero %u, register moves %u", loop->waits_to_zero, loop->moves);
    print_distance("LDS", &loop->lds);
    print_distance("global", &loop->global);
    putchar('\n');
}

void ws_figures_print(const struct ws_figures *figures)
{
    const struct ws_object_kernel *kernel = figures->kernel;
    const struct ws_isa *isa = &figures->isa;
    char waves[16] = "unknown";
    if (figures->waves_per_simd > 0)
        snprintf(waves, sizeof waves, "%d", figures->waves_per_simd);
    printf("%s\n", figures->name);
    printf("  %s: VGPRs %u", figures->arch, kernel->vgpr_count);
    if (kernel->agpr_count > 0 && kernel->accum_offset > 0)
        printf(" (AGPRs %u of them, from %u)", kernel->agpr_count, kernel->accum_offset);
    else if (kernel->agpr_count > 0)
        printf(", AGPRs %u", kernel->agpr_count);
    printf(", SGPRs %u, spills %u + %u, scratch %u bytes, LDS %u bytes, waves a SIMD %s\n",
           kernel->sgpr_count, kernel->vgpr_spills, kernel->sgpr_spills, kernel->scratch_bytes,
           kernel->lds_bytes, waves);
    printf("  code %llu bytes, kernarg %u bytes, %u instructions:",
           (unsigned long long)kernel->code_bytes, kernel->kernarg_bytes, isa->all.total);
    print_counts(&isa->all);
    for (int i = 0; i < isa->loop_count; ++i)
        print_loop(figures, &isa->loops[i]);
    if (isa->loop_count == 0)
        puts("  no loops");
    ws_figures_print_jobs(figures);
}
