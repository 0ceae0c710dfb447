/* What can be launched. */
#include <inttypes.h>
#include <stdio.h>

#include "gen/gemm/gemm.h"
#include "gen/tensor_check.h"

/* One matrix of a launch, and what is addressed of it. */
struct matrix {
    struct ws_tensor_check check;
    int64_t batch_stride, row_stride;
    int32_t rows, columns;
    int block; /* rows that a workgroup addresses with 32-bit offsets */
};

static enum ws_status check_matrix(const struct matrix *x, int32_t batch, struct ws_error *error)
{
    const int32_t rows = x->rows < x->block ? x->rows : x->block;
    const int64_t row_bytes = (int64_t)x->columns * x->check.element_bytes;
    enum ws_status status = ws_check_pointer(&x->check, error);
    if (status == WS_OK)
        status = ws_check_stride(&x->check, "batch", x->batch_stride, batch, error);
    if (status == WS_OK)
        status = ws_check_stride(&x->check, "row", x->row_stride, x->rows, error);
    return status != WS_OK
               ? status
               : ws_check_span(&x->check, "row", x->row_stride, rows, row_bytes, 32, error);
}

static enum ws_status check_sizes(const struct ws_gemm_args *a, struct ws_error *error)
{
    const int32_t most = 1 << 30; /* so that no sum with a block's rows and no row's bytes wrap */
    const struct {
        const char *name;
        int32_t value;
    } sizes[] = {{"batch", a->batch}, {"m", a->m}, {"n", a->n}, {"k", a->k}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].value < 0 || sizes[i].value > most)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "%s is %" PRId32 "; it should be 0 to %" PRId32, sizes[i].name,
                           sizes[i].value, most);
    }
    return WS_OK;
}

static enum ws_status check_matrices(const struct ws_spec *spec,
                                     const struct ws_gemm_tiling *tiling,
                                     const struct ws_gemm_args *a, struct ws_error *error)
{
    const int out_bytes = ws_gemm_out_bytes(spec);
    const struct matrix matrices[] = {
        {.check.name = "a",
         .check.pointer = a->a,
         .batch_stride = a->a_batch_stride,
         .row_stride = a->a_row_stride,
         .rows = a->m,
         .columns = a->k,
         .block = tiling->rows[WS_GEMM_A],
         .check.element_bytes = WS_GEMM_ELEMENT_BYTES,
         .check.alignment = spec->alignment},
        {.check.name = "b",
         .check.pointer = a->b,
         .batch_stride = a->b_batch_stride,
         .row_stride = a->b_row_stride,
         .rows = a->n,
         .columns = a->k,
         .block = tiling->rows[WS_GEMM_B],
         .check.element_bytes = WS_GEMM_ELEMENT_BYTES,
         .check.alignment = spec->alignment},
        {.check.name = "c",
         .check.pointer = a->c,
         .batch_stride = a->c_batch_stride,
         .row_stride = a->c_row_stride,
         .rows = a->m,
         .columns = a->n,
         .block = tiling->rows[WS_GEMM_A],
         .check.element_bytes = out_bytes,
         .check.alignment = spec->alignment > out_bytes ? spec->alignment : out_bytes,
         .check.is_written = true},
    };
    enum ws_status status = WS_OK;
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0] && status == WS_OK; i++) {
        const bool is_read = a->k > 0 || matrices[i].check.is_written;
        if (is_read)
            status = check_matrix(&matrices[i], a->batch, error);
    }
    return status;
}

enum ws_status ws_gemm_grid(const struct ws_spec *spec, const void *block, uint32_t *workgroups,
                            struct ws_error *error)
{
    const struct ws_gemm_args *args = block;
    const struct ws_gemm_tiling tiling = ws_gemm_tiling(spec);
    const int32_t size[] = {args->m, args->n};
    uint64_t blocks = 1;
    enum ws_status status = check_sizes(args, error);
    const bool is_empty = args->batch == 0 || args->m == 0 || args->n == 0;
    if (status == WS_OK && !is_empty)
        status = check_matrices(spec, &tiling, args, error);
    if (status != WS_OK)
        return status;
    for (int s = 0; s < WS_GEMM_SIDES; s++)
        blocks *= ((uint64_t)size[s] + (uint64_t)tiling.rows[s] - 1) / (uint64_t)tiling.rows[s];
    if (!is_empty && blocks > UINT32_MAX / (uint64_t)tiling.threads / (uint64_t)args->batch)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%" PRIu64 " blocks of %" PRId32
                       " products; the grid should have less than 2^32 work-items",
                       blocks, args->batch);
    *workgroups = (uint32_t)(blocks * (uint64_t)args->batch);
    return WS_OK;
}

struct ws_launch_block ws_gemm_block(const struct ws_spec *spec)
{
    const struct ws_gemm_tiling tiling = ws_gemm_tiling(spec);
    return (struct ws_launch_block){tiling.rows[WS_GEMM_A], tiling.rows[WS_GEMM_B]};
}

void ws_gemm_rule(const struct ws_spec *spec, char text[WS_RULE_TEXT_SIZE])
{
    const struct ws_launch_block block = ws_gemm_block(spec);
    snprintf(text, WS_RULE_TEXT_SIZE, "v1 ceil(M/%d)*ceil(N/%d)*B", block.rows, block.columns);
}
