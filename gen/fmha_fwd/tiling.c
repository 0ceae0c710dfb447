/* The sizes of tiles and operands. */
#include "gen/fmha_fwd/fwd.h"
#include "ir/target.h"

int ws_fwd_count(int head_dim, int size)
{
    return (head_dim + size - 1) / size;
}

int ws_fwd_log2(int power)
{
    int bits = 0;
    while (1 << bits < power)
        bits++;
    return bits;
}

struct ws_fwd_tiling ws_fwd_tiling(const struct ws_spec *spec)
{
    const int wide = 8; /* elements that a lane loads at once: 16 bytes */
    const struct ws_target *target = ws_target_find(spec->arch);
    const enum ws_element element = spec->dtype == WS_F16 ? WS_ELEMENT_F16 : WS_ELEMENT_BF16;
    const int side = spec->lever[WS_LEVER_atom] == WS_ATOM_32X32 ? 32 : 16;
    struct ws_fwd_tiling t = {.target = target, .side = side, .groups = target->wave_size / side};
    t.atom = ws_atom_find(target, element, side, side, WS_FWD_SLOTS_MAX);
    if (!t.atom)
        return t;
    if (t.atom->a(side, 0).column == 0) { /* all groups hold the same */
        t.chunk = t.chunk_run = t.slice = t.slice_run = t.atom->k;
        t.own = t.slice / t.groups;
        return t;
    }
    /* A block may have no more keys than narrow operands hold. */
    const int share = spec->lever[WS_LEVER_block_n] / t.groups;
    t.chunk_run = t.chunk_step = wide;
    t.slice_run = t.slice_step = t.own = share < wide ? share : wide;
    t.chunk = t.groups * t.chunk_run;
    t.slice = t.groups * t.slice_run;
    t.atom = ws_atom_find(target, element, side, side, t.slice_run);
    return t;
}
