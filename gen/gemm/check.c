/* What can be generated. */
#include <stdio.h>

#include "gen/gemm/gemm.h"
#include "gen/target_check.h"
#include "gen/words.h"

static const char *layout_name(const struct ws_spec *spec)
{
    return spec->lever[WS_LEVER_lds_layout] == WS_LDS_LAYOUT_PADDED ? "padded" : "swizzled";
}

static enum ws_status check_atom(const struct ws_spec *spec, const struct ws_gemm_tiling *tiling,
                                 struct ws_error *error)
{
    const int *lever = spec->lever;
    enum ws_status status = ws_check_atom(spec, tiling->atom, error);
    if (status != WS_OK)
        return status;
    if (tiling->block_k % tiling->step != 0)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "block_k %d with atom %s on arch %s: the wave multiplies %d elements of k at "
            "a time; set block_k: %d or more",
            tiling->block_k, lever[WS_LEVER_atom] == WS_ATOM_32X32 ? "32x32" : "16x16", spec->arch,
            tiling->step, tiling->step);
    if (lever[WS_LEVER_waves_n] > lever[WS_LEVER_num_waves])
        return ws_fail(error, WS_ERROR_SPEC,
                       "waves_n %d with num_waves %d: so many waves cannot stand side by side; set "
                       "waves_n: %d or fewer",
                       lever[WS_LEVER_waves_n], lever[WS_LEVER_num_waves],
                       lever[WS_LEVER_num_waves]);
    return WS_OK;
}

static enum ws_status check_unstaged(const struct ws_spec *spec, struct ws_error *error)
{
    if (spec->lever[WS_LEVER_stages] > 1)
        return ws_fail(
            error, WS_ERROR_SPEC,
            "stages %d with ab_mode global: there is nothing to buffer; set ab_mode: lds "
            "or stages: 1",
            spec->lever[WS_LEVER_stages]);
    if (spec->lever[WS_LEVER_lds_layout] != WS_LDS_LAYOUT_PLAIN)
        return ws_fail(error, WS_ERROR_SPEC,
                       "lds_layout %s with ab_mode global: there are no rows in LDS; set ab_mode: "
                       "lds or lds_layout: plain",
                       layout_name(spec));
    return WS_OK;
}

/* The share of each thread: pieces of 16 bytes of a block. */
static enum ws_status check_share(const struct ws_gemm_tiling *tiling, enum ws_gemm_side side,
                                  struct ws_error *error)
{
    const int piece = WS_LDS_PIECE / WS_GEMM_ELEMENT_BYTES;
    const int pieces = tiling->rows[side] * tiling->block_k / piece;
    if (pieces % tiling->threads != 0)
        return ws_fail(error, WS_ERROR_SPEC,
                       "%s has %d rows of block_k %d in a workgroup, %d pieces of 16 bytes for %d "
                       "threads to copy, which is no whole number each; raise block_k or %s, or "
                       "lower num_waves",
                       side == WS_GEMM_A ? "A" : "B", tiling->rows[side], tiling->block_k, pieces,
                       tiling->threads, side == WS_GEMM_A ? "bm_tiles" : "bn_tiles or waves_n");
    if (pieces / tiling->threads > WS_GEMM_ROUNDS_MAX)
        return ws_fail(error, WS_ERROR_SPEC,
                       "%s has %d rows of block_k %d in a workgroup: each of %d threads would copy "
                       "%d pieces of 16 bytes, and at most %d are kept in registers; lower block_k "
                       "or raise num_waves",
                       side == WS_GEMM_A ? "A" : "B", tiling->rows[side], tiling->block_k,
                       tiling->threads, pieces / tiling->threads, WS_GEMM_ROUNDS_MAX);
    return WS_OK;
}

static enum ws_status check_staged(const struct ws_spec *spec, const struct ws_gemm_tiling *tiling,
                                   struct ws_error *error)
{
    for (int s = 0; s < WS_GEMM_SIDES; s++) {
        enum ws_status status = check_share(tiling, (enum ws_gemm_side)s, error);
        if (status != WS_OK)
            return status;
    }
    if (tiling->lds_bytes <= tiling->target->lds_bytes)
        return WS_OK;
    return ws_fail(error, WS_ERROR_SPEC,
                   "block_k %d and %d stages of %d + %d rows take %d bytes of LDS, and a workgroup "
                   "of %s has %d; lower block_k, stages or num_waves",
                   tiling->block_k, spec->lever[WS_LEVER_stages], tiling->rows[WS_GEMM_A],
                   tiling->rows[WS_GEMM_B], tiling->lds_bytes, tiling->target->name,
                   tiling->target->lds_bytes);
}

/* About how many registers are live at once: the sums, the operands of A and one of B, what is
 * copied, and where from and to. */
static int live_registers(const struct ws_gemm_tiling *tiling)
{
    const int dwords = 4, addresses = 16;
    int registers = addresses + (tiling->tiles[WS_GEMM_A] + 1) * tiling->run / 2;
    for (int s = 0; s < WS_GEMM_SIDES; s++) {
        const int piece = WS_LDS_PIECE / WS_GEMM_ELEMENT_BYTES;
        const int rounds = tiling->rows[s] * tiling->block_k / piece / tiling->threads;
        registers += tiling->tiles[s];
        if (tiling->buffer_bytes > 0)
            registers += rounds * (dwords + 2);
    }
    return registers +
           tiling->tiles[WS_GEMM_A] * tiling->tiles[WS_GEMM_B] * tiling->atom->c_elements;
}

void ws_gemm_savings(const struct ws_spec *spec, char text[WS_SAVINGS_TEXT_SIZE])
{
    const int *lever = spec->lever;
    const size_t size = WS_SAVINGS_TEXT_SIZE;
    text[0] = '\0';
    if (lever[WS_LEVER_bm_tiles] > 1)
        ws_append(text, size, "a smaller bm_tiles, ");
    if (lever[WS_LEVER_bn_tiles] > 1)
        ws_append(text, size, "a smaller bn_tiles, ");
    if (lever[WS_LEVER_ab_mode] == WS_AB_MODE_LDS)
        ws_append(text, size, "a smaller block_k, a larger num_waves, ");
}

static enum ws_status check_registers(const struct ws_spec *spec,
                                      const struct ws_gemm_tiling *tiling, struct ws_error *error)
{
    char settings[64], savings[WS_SAVINGS_TEXT_SIZE];
    snprintf(settings, sizeof settings, "bm_tiles %d and bn_tiles %d", tiling->tiles[WS_GEMM_A],
             tiling->tiles[WS_GEMM_B]);
    ws_gemm_savings(spec, savings);
    return ws_check_registers(spec, live_registers(tiling), settings, savings, error);
}

enum ws_status ws_gemm_check(const struct ws_spec *spec, struct ws_error *error)
{
    const struct ws_gemm_tiling tiling = ws_gemm_tiling(spec);
    enum ws_status status = check_atom(spec, &tiling, error);
    if (status == WS_OK)
        status = tiling.buffer_bytes > 0 ? check_staged(spec, &tiling, error)
                                         : check_unstaged(spec, error);
    return status == WS_OK ? check_registers(spec, &tiling, error) : status;
}
