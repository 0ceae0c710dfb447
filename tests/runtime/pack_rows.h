/* Rows for tests of packs, drawn from a seed: kernels, and operations of steps with regions.
 * Include cmocka's headers through this one. */
#ifndef WS_TESTS_PACK_ROWS_H
#define WS_TESTS_PACK_ROWS_H

#include "runtime/abi/sha256.h"
#include "runtime/pack/write.h"
#include "tests/random.h"
#include "tests/scratch.h"

/* Rows and what they point to. */
struct test_rows {
    struct ws_pack_row *of;
    size_t count;
    struct ws_pack_blob *blobs;
    void **texts; /* all that was allocated for them */
    size_t text_count;
    uint64_t random;
};

static inline void *keep(struct test_rows *rows, void *memory)
{
    assert_non_null(memory);
    rows->texts[rows->text_count++] = memory;
    return memory;
}

__attribute__((format(printf, 2, 3))) static inline const char *make_text(struct test_rows *rows,
                                                                          const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    assert_true(vasprintf(&text, format, arguments) >= 0);
    va_end(arguments);
    return keep(rows, text);
}

static inline const char *make_hash(struct test_rows *rows, const char *of, size_t index)
{
    char text[64], *hash = malloc(WS_PACK_HASH_SIZE);
    assert_non_null(hash);
    snprintf(text, sizeof text, "%s %zu %llu", of, index, (unsigned long long)rows->random);
    ws_sha256(text, strlen(text), hash);
    return keep(rows, hash);
}

static inline int32_t draw(struct test_rows *rows, int32_t count)
{
    return (int32_t)(next_random(&rows->random) % (uint64_t)count);
}

/* Bytes of a code object, as far as a pack knows: much the same for all, but for every 50th or so.
 */
static inline void make_blob(struct test_rows *rows, size_t index, size_t bytes)
{
    struct ws_error error = {0};
    uint64_t common = 42;
    uint8_t *image = malloc(bytes);
    assert_non_null(image);
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t shared = (uint8_t)next_random(&common);
        const uint64_t own = next_random(&rows->random);
        image[i] = own % 50 == 0 ? (uint8_t)(own >> 8) : shared;
    }
    assert_ok(ws_pack_blob_make(&rows->blobs[index], image, bytes, &error), &error);
    free(image);
}

static inline const char *make_levers(struct test_rows *rows, int set)
{
    return make_text(rows, "v_mode=%s\nbm_tiles=%d\nunroll=1\naddr=buffer\nblock_n=32\nstages=%d\n",
                     set % 2 == 0 ? "rows" : "gather", 1 + set % 3, set / 3);
}

/* A variant of an attention kernel. */
static inline void make_kernel(struct test_rows *rows, size_t index, size_t object_bytes)
{
    static const char *const archs[] = {"gfx1151", "gfx942", "gfx950", "gfx1201"};
    struct ws_pack_row *row = &rows->of[index];
    struct ws_variant *v = &row->variant;
    make_blob(rows, index, object_bytes);
    row->blob = &rows->blobs[index];
    row->levers = make_levers(rows, draw(rows, 8));
    row->arguments = index % 7 == 0 ? "0 8 pointer q\n8 4 value scale\n" : "0 8 pointer q\n";
    v->spec_id = make_hash(rows, "spec", index);
    v->build_id = make_hash(rows, "build", index);
    v->symbol =
        make_text(rows, "fmha_fwd_gfx942_f16_d128_causal_bottom_right_lse_%.16s", v->spec_id);
    v->selectable = true;
    v->kind = WS_KERNEL_FMHA_FWD;
    v->abi_version = WS_FMHA_FWD_ABI_VERSION;
    v->arch = archs[draw(rows, 4)];
    v->target = make_text(rows, "amdgcn-amd-amdhsa--%s", v->arch);
    v->dtype = (enum ws_dtype)draw(rows, 2);
    v->head_dim_qk = v->head_dim_v = 64 * (1 + draw(rows, 4));
    v->mask = (enum ws_mask)draw(rows, 3);
    v->align = (enum ws_align)draw(rows, 2);
    v->window_left = v->window_right = WS_WINDOW_AT_LAUNCH;
    v->alignment = 16;
    v->lse = draw(rows, 2) == 0;
    v->varlen = draw(rows, 2) == 0;
    v->seqlen_q_min = v->seqlen_k_min = v->seqlen_q_max = v->seqlen_k_max = -1;
    assert_int_equal(ws_rule_parse(&v->grid, "v1 ceil(Sq/128)*Hq*B", NULL), WS_OK);
    v->block = 256;
    v->kernarg_bytes = 272;
    v->lds_bytes = draw(rows, 65536);
    v->wave_size = 64;
    v->vgpr = 238;
    v->sgpr = 100;
    v->code_object_version = 5;
    v->compiler = "LLVM 22.1.0";
    v->options = "";
    v->tile_q = 128;
    v->score = 20 + draw(rows, 1000) / 8.0;
    v->verification = make_text(rows,
                                "{\"seed\": 7, \"problem\": \"B=2,Hq=4,Hk=2,Sq=200,Sk=333,D=128\", "
                                "\"norm_err\": %d.5e-4}",
                                draw(rows, 10));
}

/* An operation: its variant is `index`, its steps are kernels before it. */
static inline void make_operation(struct test_rows *rows, size_t index, uint32_t first_step)
{
    static const char *const bytes[] = {"v1 4*B*Hq*Sq", "v1 4*B*Hq*Sq*Dqk"};
    struct ws_pack_row *row = &rows->of[index];
    struct ws_variant *v = &row->variant;
    const struct ws_variant *step = &rows->of[first_step].variant;
    uint32_t *steps = keep(rows, calloc(2, sizeof *steps));
    struct ws_region *regions = keep(rows, calloc(2, sizeof *regions));
    rows->of[first_step + 1].variant.arch = step->arch;
    for (uint32_t i = 0; i < 2; i++) {
        steps[i] = first_step + i;
        rows->of[steps[i]].variant.selectable = false;
        regions[i] = (struct ws_region){.argument = i == 0 ? "lse" : "bias", .zero = i == 1};
        assert_int_equal(ws_rule_parse(&regions[i].bytes, bytes[i], NULL), WS_OK);
    }
    *row = (struct ws_pack_row){.variant = *step, .levers = make_levers(rows, 1)};
    v->spec_id = make_hash(rows, "operation", index);
    v->build_id = v->symbol = v->target = NULL;
    v->grid = (struct ws_rule){0};
    v->selectable = true;
    v->steps = steps;
    v->step_count = 2;
    v->regions = regions;
    v->region_count = 2;
}

/* `kernels` kernels, and then an operation for each three of them, of two. */
static inline struct test_rows make_rows(uint64_t seed, size_t kernels, size_t object_bytes)
{
    struct test_rows rows = {.random = seed, .count = kernels + kernels / 3};
    rows.of = calloc(rows.count, sizeof *rows.of);
    rows.blobs = calloc(rows.count, sizeof *rows.blobs);
    rows.texts = (void **)calloc(rows.count, 8 * sizeof *rows.texts);
    assert_true(rows.of && rows.blobs && rows.texts);
    for (size_t i = 0; i < kernels; i++)
        make_kernel(&rows, i, object_bytes);
    for (size_t i = kernels; i < rows.count; i++)
        make_operation(&rows, i, (uint32_t)(3 * (i - kernels)));
    return rows;
}

static inline void free_rows(struct test_rows *rows)
{
    for (size_t i = 0; i < rows->text_count; i++)
        free(rows->texts[i]);
    for (size_t i = 0; i < rows->count; i++)
        ws_pack_blob_free(&rows->blobs[i]);
    free((void *)rows->texts);
    free(rows->blobs);
    free(rows->of);
}

#endif
