/* Where WMMA 16x16x16 keeps matrix elements (wave32): D = A * B + C.
 *
 * Lane l holds elements of row l & 15 of A, of column l & 15 of B, of column l & 15 of C and D. */
#ifndef WS_EMU_WMMA_LAYOUT_H
#define WS_EMU_WMMA_LAYOUT_H

#include <stdbool.h>

enum { EMU_WMMA_SIZE = 16, EMU_WMMA_ROWS = 8 /* elements of C and D in a lane */ };

struct emu_wmma_layout {
    unsigned held; /* elements of A and of B in a lane, ascending by k; 16: lanes 16 to 31 repeat
                      lanes 0 to 15, which are the ones that are read */
    unsigned row_step; /* rows of C and D from one element of a lane to the next */
    unsigned row_half; /* and from lane l to lane l + 16 */
    bool packed;       /* 16-bit elements of C and D fill registers; else each has half of one */
};

static const struct emu_wmma_layout emu_wmma_gfx11 = {.held = 16, .row_step = 2, .row_half = 1};
static const struct emu_wmma_layout emu_wmma_gfx12 = {
    .held = 8, .row_step = 1, .row_half = 8, .packed = true};

/* k of an element of A or B. */
static inline unsigned emu_wmma_k(const struct emu_wmma_layout *layout, unsigned lane,
                                  unsigned element)
{
    return element + (EMU_WMMA_SIZE - layout->held) * (lane >> 4);
}

static inline unsigned emu_wmma_d_row(const struct emu_wmma_layout *layout, unsigned lane,
                                      unsigned element)
{
    return layout->row_step * element + layout->row_half * (lane >> 4);
}

/* The row of A as well, and the column of B. */
static inline unsigned emu_wmma_column(unsigned lane)
{
    return lane & 15;
}

#endif
