/* Where CDNA's MFMA keeps matrix elements (wave64): D = A * B + C of m x m matrices, m = 4, 16 or
 * 32, `blocks` of them at once. */
#ifndef WS_EMU_MFMA_LAYOUT_H
#define WS_EMU_MFMA_LAYOUT_H

enum { EMU_MFMA_LANES = 64 };

/* A lane has row l % m of A, column l % m of B, and as many elements of consecutive k as all lanes
 * together need: groups of m lanes ascend by k, then by block. */
#define EMU_MFMA_PER_LANE(m, k, blocks) ((m) * (k) * (blocks) / EMU_MFMA_LANES)

/* Registers of C and D. */
#define EMU_MFMA_ROWS(m, blocks) ((m) * (m) * (blocks) / EMU_MFMA_LANES)

/* C and D: the element in a register and lane. Four registers are consecutive rows. */
static inline unsigned emu_mfma_d_row(unsigned m, unsigned lane, unsigned reg)
{
    if (m == 32)
        return 8 * (reg % 16 / 4) + 4 * (lane / 32) + reg % 4;
    return m == 16 ? 4 * (lane / 16) + reg % 4 : reg;
}

static inline unsigned emu_mfma_d_column(unsigned m, unsigned lane)
{
    return lane % m;
}

static inline unsigned emu_mfma_d_block(unsigned m, unsigned lane, unsigned reg)
{
    return m == 32 ? reg / 16 : m == 16 ? reg / 4 : lane / 4;
}

#endif
