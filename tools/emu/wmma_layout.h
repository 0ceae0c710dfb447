/* Where gfx11's WMMA 16x16x16 keeps matrix elements (wave32): D = A * B + C. */
#ifndef WS_EMU_WMMA_LAYOUT_H
#define WS_EMU_WMMA_LAYOUT_H

enum { EMU_WMMA_SIZE = 16, EMU_WMMA_ROWS = 8 /* registers of C and D, of every type */ };

/* A holds row l & 15 of A in lane l, B column l & 15 of B, their elements ascending by k in the
 * registers: lanes 16 to 31 repeat lanes 0 to 15, which are the ones that are read. */

/* C and D: the element in a register and lane. 16-bit elements take one half of each register. */
static inline unsigned emu_wmma_d_row(unsigned lane, unsigned reg)
{
    return 2 * reg + (lane >> 4);
}

static inline unsigned emu_wmma_d_column(unsigned lane)
{
    return lane & 15;
}

#endif
