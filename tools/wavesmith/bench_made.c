/* A made-up pack: many variants, as for a framework, around one kernel. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/bench.h"
#include "tools/wavesmith/pack.h"

enum { VARIANTS = 1000 };

/* What the rows share, and what each of them has for itself. */
struct maker {
    struct ws_spec spec;
    struct ws_compiled compiled;
    struct ws_object object;
    struct ws_pack_blob blob;
    char *arguments, *levers;
    char (*ids)[WS_PACK_HASH_SIZE];
    struct ws_pack_row *rows;
};

/* The kernel that all rows are of. */
static enum ws_status make_kernel(struct maker *maker, struct ws_error *error)
{
    ws_spec_init(&maker->spec, WS_KERNEL_FMHA_FWD);
    enum ws_status status = ws_spec_set(&maker->spec, "head_dim", "64", error);
    if (status == WS_OK)
        status = ws_compile(&maker->spec, NULL, &maker->compiled, error);
    const struct ws_code *code = &maker->compiled.code;
    if (status == WS_OK)
        status = ws_object_read(&maker->object, code->bytes, code->size, error);
    if (status == WS_OK)
        status = ws_pack_blob_make(&maker->blob, code->bytes, code->size, error);
    if (status != WS_OK)
        return status;
    maker->arguments = ws_pack_arguments_text(&maker->object.kernels[0]);
    maker->levers = ws_spec_levers(&maker->spec);
    return maker->arguments && maker->levers ? WS_OK
                                             : ws_fail(error, WS_ERROR_MEMORY, "out of memory");
}

/* The lowest digit of *number in a system of `base`, which is taken off. */
static uint32_t take(uint32_t *number, uint32_t base)
{
    uint32_t digit = *number % base;
    *number /= base;
    return digit;
}

/* The problems that a framework has, and four or five kernels of each. */
static void make_row(struct maker *maker, uint32_t index)
{
    static const char *const archs[][2] = {{"gfx1151", "amdgcn-amd-amdhsa--gfx1151"},
                                           {"gfx942", "amdgcn-amd-amdhsa--gfx942"},
                                           {"gfx950", "amdgcn-amd-amdhsa--gfx950"},
                                           {"gfx1201", "amdgcn-amd-amdhsa--gfx1201"}};
    static const int32_t head_dims[] = {64, 96, 128, 192, 256};
    struct ws_pack_row *row = &maker->rows[index];
    struct ws_variant *v = &row->variant;
    uint32_t rest = index;
    uint32_t arch = take(&rest, 4);
    snprintf(maker->ids[index], WS_PACK_HASH_SIZE, "%064" PRIx32, index * UINT32_C(2654435761));
    *row = (struct ws_pack_row){
        .levers = maker->levers, .arguments = maker->arguments, .blob = &maker->blob};
    ws_pack_take_notes(v, &maker->object, &maker->object.kernels[0]);
    v->spec_id = v->build_id = maker->ids[index];
    v->selectable = true;
    v->kind = WS_KERNEL_FMHA_FWD;
    v->abi_version = WS_FMHA_FWD_ABI_VERSION;
    v->arch = archs[arch][0];
    v->target = archs[arch][1];
    v->dtype = take(&rest, 2) ? WS_BF16 : WS_F16;
    v->head_dim_qk = v->head_dim_v = head_dims[take(&rest, 5)];
    v->mask = (enum ws_mask)take(&rest, 3);
    v->varlen = take(&rest, 2);
    v->window_left = v->window_right = WS_WINDOW_AT_LAUNCH;
    v->lse = true;
    v->alignment = 16;
    v->tile_q = 256 >> rest;
    v->score = 20 + 3 * rest;
    v->seqlen_q_min = v->seqlen_q_max = v->seqlen_k_min = v->seqlen_k_max = -1;
    v->grid = maker->compiled.shape.grid;
    v->block = (int32_t)maker->compiled.shape.block[0];
    v->compiler = "";
    v->options = "";
}

static enum ws_status make_rows(struct maker *maker, struct ws_error *error)
{
    maker->rows = calloc(VARIANTS, sizeof *maker->rows);
    maker->ids = calloc(VARIANTS, sizeof *maker->ids);
    if (!maker->rows || !maker->ids)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    for (uint32_t i = 0; i < VARIANTS; i++)
        make_row(maker, i);
    return WS_OK;
}

enum ws_status ws_bench_make_pack(const char *path, struct ws_error *error)
{
    struct maker maker = {0};
    enum ws_status status = make_kernel(&maker, error);
    if (status == WS_OK)
        status = make_rows(&maker, error);
    if (status == WS_OK)
        status = ws_pack_write(path, maker.rows, VARIANTS, NULL, error);
    free(maker.rows);
    free(maker.ids);
    free(maker.arguments);
    free(maker.levers);
    ws_pack_blob_free(&maker.blob);
    ws_object_free(&maker.object);
    ws_compiled_free(&maker.compiled);
    return status;
}

static int64_t within(int64_t size, int32_t least, int32_t most)
{
    if (most >= 0 && size > most)
        size = most;
    return size < least ? least : size;
}

struct ws_request ws_bench_request(const struct ws_variant *variant)
{
    const char *arch = strstr(variant->target, variant->arch);
    struct ws_request request = {
        .kind = variant->kind,
        .target = arch ? arch : variant->arch,
#define CHOICE(name, meaning) .name = variant->name,
#define INTEGER(name, meaning) .name = variant->name,
#define FLAG(name, meaning) .name = variant->name,
#include "runtime/pack/problem.def"
#undef CHOICE
#undef INTEGER
#undef FLAG
        .alignment = variant->alignment,
        .sizes = {[WS_SIZE_B] = 2,
                  [WS_SIZE_Hq] = 8,
                  [WS_SIZE_Hk] = 8,
                  [WS_SIZE_M] = 500,
                  [WS_SIZE_N] = 500,
                  [WS_SIZE_K] = 500},
    };
    int64_t *sizes = request.sizes;
    sizes[WS_SIZE_Sq] = within(500, variant->seqlen_q_min, variant->seqlen_q_max);
    sizes[WS_SIZE_Sk] = within(1000, variant->seqlen_k_min, variant->seqlen_k_max);
    sizes[WS_SIZE_Tq] = sizes[WS_SIZE_B] * sizes[WS_SIZE_Sq];
    sizes[WS_SIZE_Tk] = sizes[WS_SIZE_B] * sizes[WS_SIZE_Sk];
    return request;
}
