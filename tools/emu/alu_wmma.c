/* WMMA of gfx11 and gfx12, wave32: D = A * B + C of 16x16 matrices.
 *
 * The ISA document leaves the order of the sums open. Here the accumulator starts with C and the
 * products are added for k ascending, each sum rounded to nearest even in f32, without a rounding
 * of the product. A 16-bit D is rounded once, at the end. Subnormals are kept; EXEC and the float
 * modes have no influence on the hardware's result. */
#include "tools/emu/alu.h"
#include "tools/emu/wmma_layout.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

enum { K = EMU_WMMA_SIZE, ROWS = EMU_WMMA_ROWS, HALF = EMU_LANES / 2 };

/* Eight columns of a row: what the compilers keep in registers over the sums. */
typedef float emu_columns __attribute__((vector_size(32), aligned(4), may_alias));
enum { COLUMNS = 8, TILE = 4 };

static inline emu_columns *eight(float *first)
{
    return (emu_columns *)first;
}

#define EACH_COLUMN _Pragma("omp simd") for (unsigned i = 0; i < HALF; i++)

/* f16 products are exact in f32, so that a CPU without fused multiply-add can do without it; bf16
 * products may leave f32's range before the sum is made. */
#ifdef __FMA__
#define FMA_F16(a, b, c) fmaf(a, b, c)
#else
#define FMA_F16(a, b, c) ((a) * (b) + (c))
#endif
#define FMA_BF16(a, b, c) fmaf(a, b, c)

/* gfx11 and gfx12 have the same names for it: how many elements a lane holds says which it is. */
static const struct emu_wmma_layout *layout_of(const struct emu_op *op)
{
    unsigned held = op->src[0].dwords * 32U / op->desc->arg;
    return held == emu_wmma_gfx12.held ? &emu_wmma_gfx12 : &emu_wmma_gfx11;
}

/* The register of an element of C or D, and where in it the element begins. */
struct place {
    unsigned reg, shift;
};

static struct place place_of(const struct emu_op *op, unsigned element)
{
    if (!emu_is_packed(op->dst[0].type))
        return (struct place){element, 0};
    if (layout_of(op)->packed)
        return (struct place){element / 2, 16 * (element % 2)};
    return (struct place){element, op->src[2].sel ? 16 : 0};
}

static const uint32_t *lanes(const struct emu_wave *w, const struct emu_operand *s)
{
    return w->space[s->kind] + s->at;
}

static uint64_t poison_of(const struct emu_wave *w, const struct emu_operand *s, unsigned reg)
{
    return s->kind == EMU_VGPR ? w->poison[EMU_VGPR][s->reg + reg] : 0;
}

/* Lanes of A or B with poison, the two halves of the wave taken together. */
static uint32_t operand_poison(const struct emu_wave *w, const struct emu_operand *s)
{
    uint64_t poison = 0;
    for (unsigned reg = 0; reg < s->dwords; reg++)
        poison |= poison_of(w, s, reg);
    return (emu_any(poison) | emu_any(poison) >> HALF) & 0xffff;
}

/* A and B must be the same in both halves of the wave: what the hardware computes from others is
 * not documented. False, and a finding, if they are not. Poison has its own way to be found. */
static bool replicated(struct emu_wave *w, const struct emu_op *op, unsigned k)
{
    const struct emu_operand *s = &op->src[k];
    const uint32_t *v = lanes(w, s);
    uint32_t differ[HALF] = {0}, any = 0;
    for (unsigned reg = 0; reg < s->dwords; reg++, v += EMU_LANES)
        EACH_COLUMN
        {
            differ[i] |= v[i] ^ v[HALF + i];
        }
    for (unsigned i = 0; i < HALF; i++)
        any |= differ[i];
    if (!any)
        return true;
    uint32_t poison = operand_poison(w, s);
    int lane = 0;
    while (lane < HALF && (!differ[lane] || poison >> lane & 1))
        lane++;
    if (lane == HALF)
        return true;
    emu_fault(w, op, "wmma-operand", lane, "%c differs between lane %d and lane %d by bits 0x%08x",
              "AB"[k], lane, lane + HALF, differ[lane]);
    return false;
}

/* False, and a finding, where the document does not say what the hardware computes. */
static bool defined(struct emu_wave *w, const struct emu_op *op)
{
    if (w->lanes != EMU_LANES) {
        emu_fault(w, op, "unknown-instruction", -1, "WMMA of a wave64 is not emulated");
        return false;
    }
    if (w->s[EMU_EXEC_LO] != UINT32_MAX) {
        emu_fault(w, op, "wmma-exec", -1,
                  "EXEC is 0x%08x: a matrix product needs the whole wave's operands",
                  w->s[EMU_EXEC_LO]);
        return false;
    }
    return layout_of(op)->held < K || (replicated(w, op, 0) && replicated(w, op, 1));
}

/* Lanes whose element of D is poisoned: by its row of A, its column of B, or C. */
static uint32_t result_poison(const struct emu_wave *w, const struct emu_op *op, unsigned element,
                              uint32_t rows, uint32_t columns)
{
    uint32_t bad = columns | columns << HALF;
    for (unsigned l = 0; l < EMU_LANES; l += HALF)
        bad |= rows >> emu_wmma_d_row(layout_of(op), l, element) & 1 ? 0xffffu << l : 0;
    const struct emu_operand *c = &op->src[2];
    struct place place = place_of(op, element);
    uint64_t of_c = poison_of(w, c, c->kind == EMU_VGPR ? place.reg : 0);
    if (!emu_is_packed(op->dst[0].type))
        return bad | emu_any(of_c);
    return bad | (uint32_t)(of_c >> 2 * place.shift);
}

/* D's poison; before D's lanes are written, which may be those of an operand. */
static void set_poison(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t rows = operand_poison(w, &op->src[0]), columns = operand_poison(w, &op->src[1]);
    uint64_t *p = w->poison[EMU_VGPR] + op->dst[0].reg, any = rows | columns;
    for (unsigned reg = 0; reg < op->dst[0].dwords; reg++)
        any |= p[reg] | poison_of(w, &op->src[2], op->src[2].kind == EMU_VGPR ? reg : 0);
    if (!any)
        return;
    uint32_t result[ROWS];
    for (unsigned e = 0; e < ROWS; e++)
        result[e] = result_poison(w, op, e, rows, columns);
    for (unsigned e = 0; e < ROWS; e++) {
        struct place place = place_of(op, e);
        bool packed = emu_is_packed(op->dst[0].type);
        uint64_t mine = packed ? (uint64_t)UINT32_MAX << 2 * place.shift : UINT64_MAX;
        uint64_t *to = &p[place.reg], poison = emu_both(result[e]) & mine;
        *to = (*to & ~mine) | poison;
        emu_poisons(w, op, 0, op->dst[0].reg + place.reg, poison);
    }
}

/* f16 to f32, of HALF values. */
static void convert_f16(float *to, const uint16_t *from)
{
#ifdef __F16C__
    for (unsigned i = 0; i < HALF; i += 8) {
        __m128i halves = _mm_loadu_si128((const __m128i *)(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
    }
#else
    EACH_COLUMN
    {
        to[i] = emu_from_f16(from[i]);
    }
#endif
}

static void convert_bf16(float *to, const uint16_t *from)
{
    EACH_COLUMN
    {
        to[i] = emu_from_bf16(from[i]);
    }
}

/* The register of A or B that has element k of each row or column, in 16 lanes from there. */
static const uint32_t *elements(const struct emu_wmma_layout *layout, const uint32_t *v,
                                unsigned bits, unsigned k)
{
    return v + k % layout->held * bits / 32 * EMU_LANES + k / layout->held * HALF;
}

/* A or B. neg: bit 0 negates the elements of even k, bit 1 the others. */
#define UNPACK(t)                                                                                  \
    static void unpack_##t(float m[K][HALF], const struct emu_wmma_layout *layout,                 \
                           const uint32_t *v, unsigned neg)                                        \
    {                                                                                              \
        uint32_t flip = (neg & 1 ? 0x8000u : 0) | (neg & 2 ? 0x80000000u : 0);                     \
        for (unsigned k = 0; k < K; k += 2) {                                                      \
            const uint32_t *from = elements(layout, v, 16, k);                                     \
            uint16_t low[HALF], high[HALF];                                                        \
            EACH_COLUMN                                                                            \
            {                                                                                      \
                low[i] = (uint16_t)(from[i] ^ flip);                                               \
                high[i] = (uint16_t)((from[i] ^ flip) >> 16);                                      \
            }                                                                                      \
            convert_##t(m[k], low);                                                                \
            convert_##t(m[k + 1], high);                                                           \
        }                                                                                          \
    }
UNPACK(f16)
UNPACK(bf16)

/* C as f32: neg bit 0 negates, bit 1 takes the magnitude first. Constants are one register. */
#define LOAD_C(t, type_)                                                                           \
    static void load_##t(float m[ROWS][EMU_LANES], const struct emu_wave *w,                       \
                         const struct emu_op *op)                                                  \
    {                                                                                              \
        const struct emu_operand *c = &op->src[2];                                                 \
        uint32_t keep = c->neg & 2 ? 0x7fffffff : UINT32_MAX, flip = (c->neg & 1u) << 31;          \
        for (unsigned e = 0; e < ROWS; e++) {                                                      \
            struct place place = {0, 0};                                                           \
            if (c->kind == EMU_VGPR)                                                               \
                place = place_of(op, e);                                                           \
            const uint32_t *v = lanes(w, c) + place.reg * EMU_LANES;                               \
            EMU_EACH_LANE                                                                          \
            {                                                                                      \
                m[e][i] = emu_float((emu_bits(type_(v[i] >> place.shift)) & keep) ^ flip);         \
            }                                                                                      \
        }                                                                                          \
    }
#define HALF_F16(x) emu_from_f16((x) & 0xffff)
#define HALF_BF16(x) emu_from_bf16((x) & 0xffff)
LOAD_C(f32, emu_float)
LOAD_C(f16, HALF_F16)
LOAD_C(bf16, HALF_BF16)

/* Adds the products to TILE registers of D, eight lanes from `l` on. Named sums, since compilers
 * keep an array of them in memory. */
#define MULTIPLY(t, FMA)                                                                           \
    static inline void add_##t(emu_columns *sum, float a, const emu_columns *b)                    \
    {                                                                                              \
        for (unsigned i = 0; i < COLUMNS; i++)                                                     \
            (*sum)[i] = FMA(a, (*b)[i], (*sum)[i]);                                                \
    }                                                                                              \
    static void multiply_tile_##t(float d[TILE][EMU_LANES], float a[K][HALF], float b[K][HALF],    \
                                  const unsigned row[TILE], unsigned l)                            \
    {                                                                                              \
        emu_columns *d0 = eight(d[0] + l), *d1 = eight(d[1] + l);                                  \
        emu_columns *d2 = eight(d[2] + l), *d3 = eight(d[3] + l);                                  \
        emu_columns sum0 = *d0, sum1 = *d1, sum2 = *d2, sum3 = *d3;                                \
        for (unsigned k = 0; k < K; k++) {                                                         \
            emu_columns column = *eight(b[k] + emu_wmma_column(l));                                \
            add_##t(&sum0, a[k][row[0]], &column);                                                 \
            add_##t(&sum1, a[k][row[1]], &column);                                                 \
            add_##t(&sum2, a[k][row[2]], &column);                                                 \
            add_##t(&sum3, a[k][row[3]], &column);                                                 \
        }                                                                                          \
        *d0 = sum0, *d1 = sum1, *d2 = sum2, *d3 = sum3;                                            \
    }                                                                                              \
    static void multiply_##t(const struct emu_wmma_layout *layout, float d[ROWS][EMU_LANES],       \
                             float a[K][HALF], float b[K][HALF])                                   \
    {                                                                                              \
        for (unsigned e = 0; e < ROWS; e += TILE)                                                  \
            for (unsigned l = 0; l < EMU_LANES; l += COLUMNS) {                                    \
                unsigned row[TILE];                                                                \
                for (unsigned j = 0; j < TILE; j++)                                                \
                    row[j] = emu_wmma_d_row(layout, l, e + j);                                     \
                multiply_tile_##t(d + e, a, b, row, l);                                            \
            }                                                                                      \
    }
MULTIPLY(f16, FMA_F16)
MULTIPLY(bf16, FMA_BF16)

static void store_f32(struct emu_wave *w, const struct emu_op *op, float d[ROWS][EMU_LANES])
{
    memcpy(w->space[EMU_VGPR] + op->dst[0].at, d, ROWS * EMU_LANES * sizeof(uint32_t));
}

/* The other half of each register stays. */
#define STORE(t)                                                                                   \
    static void store_##t(struct emu_wave *w, const struct emu_op *op, float d[ROWS][EMU_LANES])   \
    {                                                                                              \
        for (unsigned e = 0; e < ROWS; e++) {                                                      \
            struct place place = place_of(op, e);                                                  \
            uint32_t *to = w->space[EMU_VGPR] + op->dst[0].at + place.reg * EMU_LANES;             \
            uint32_t keep = ~(0xffffu << place.shift);                                             \
            EMU_EACH_LANE                                                                          \
            {                                                                                      \
                to[i] = (to[i] & keep) | emu_to_##t(d[e][i]) << place.shift;                       \
            }                                                                                      \
        }                                                                                          \
    }
STORE(f16)
STORE(bf16)

#define WMMA(name, to, from)                                                                       \
    static void name##_run(struct emu_wave *w, const struct emu_op *op)                            \
    {                                                                                              \
        _Alignas(64) float a[K][HALF], b[K][HALF], d[ROWS][EMU_LANES];                             \
        const struct emu_wmma_layout *layout = layout_of(op);                                      \
        if (!defined(w, op))                                                                       \
            return;                                                                                \
        unpack_##from(a, layout, lanes(w, &op->src[0]), op->src[0].neg);                           \
        unpack_##from(b, layout, lanes(w, &op->src[1]), op->src[1].neg);                           \
        load_##to(d, w, op);                                                                       \
        multiply_##from(layout, d, a, b);                                                          \
        set_poison(w, op);                                                                         \
        store_##to(w, op, d);                                                                      \
    }
WMMA(v_wmma_f32_16x16x16_f16, f32, f16)
WMMA(v_wmma_f32_16x16x16_bf16, f32, bf16)
WMMA(v_wmma_f16_16x16x16_f16, f16, f16)
WMMA(v_wmma_bf16_16x16x16_bf16, bf16, bf16)

/* Integer elements of `bits` bits; neg_lo says that they are signed. */
static void unpack_integers(int32_t m[K][HALF], const struct emu_wmma_layout *layout,
                            const uint32_t *v, unsigned bits, bool sign)
{
    unsigned per = 32 / bits;
    uint32_t mask = (1u << bits) - 1, top = sign ? 1u << (bits - 1) : 0;
    for (unsigned k = 0; k < K; k++) {
        const uint32_t *from = elements(layout, v, bits, k);
        EACH_COLUMN
        {
            uint32_t x = from[i] >> k % per * bits & mask;
            m[k][i] = (int32_t)((x ^ top) - top);
        }
    }
}

/* desc->arg: bits of an element. With clamp the sum saturates, else it wraps. */
static void run_integers(struct emu_wave *w, const struct emu_op *op)
{
    int32_t a[K][HALF], b[K][HALF];
    uint32_t d[ROWS][EMU_LANES];
    const struct emu_operand *c = &op->src[2];
    const struct emu_wmma_layout *layout = layout_of(op);
    if (!defined(w, op))
        return;
    unpack_integers(a, layout, lanes(w, &op->src[0]), op->desc->arg, op->src[0].neg & 1);
    unpack_integers(b, layout, lanes(w, &op->src[1]), op->desc->arg, op->src[1].neg & 1);
    for (unsigned reg = 0; reg < ROWS; reg++) {
        const uint32_t *old = lanes(w, c) + (c->kind == EMU_VGPR ? reg * EMU_LANES : 0);
        for (unsigned l = 0; l < EMU_LANES; l += HALF) {
            int32_t product[HALF] = {0};
            for (unsigned k = 0; k < K; k++)
                EACH_COLUMN
                {
                    product[i] += a[k][emu_wmma_d_row(layout, l, reg)] * b[k][i];
                }
            EACH_COLUMN
            {
                int64_t sum = (int64_t)(int32_t)old[l + i] + product[i];
                int64_t inside = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
                d[reg][l + i] = (uint32_t)(op->clamp ? inside : sum);
            }
        }
    }
    set_poison(w, op);
    memcpy(w->space[EMU_VGPR] + op->dst[0].at, d, sizeof d);
}

#define ROW(nm, fn, bits, dt)                                                                      \
    {.name = #nm,                                                                                  \
     .run = fn,                                                                                    \
     .cls = EMU_CLASS_MMA,                                                                         \
     .rule = EMU_POISON_OWN,                                                                       \
     .flags = EMU_CROSS,                                                                           \
     .arg = bits,                                                                                  \
     .dst = {EMU_TYPE_##dt},                                                                       \
     .src = {EMU_TYPE_x, EMU_TYPE_x, EMU_TYPE_##dt}},

const struct emu_desc EMU_LEVELED(emu_ops_wmma)[] = {
    ROW(v_wmma_f32_16x16x16_f16, v_wmma_f32_16x16x16_f16_run, 16, f32)
        ROW(v_wmma_f32_16x16x16_bf16, v_wmma_f32_16x16x16_bf16_run, 16, f32)
            ROW(v_wmma_f16_16x16x16_f16, v_wmma_f16_16x16x16_f16_run, 16, pf16)
                ROW(v_wmma_bf16_16x16x16_bf16, v_wmma_bf16_16x16x16_bf16_run, 16, pbf16)
                    ROW(v_wmma_i32_16x16x16_iu8, run_integers, 8, i32)
                        ROW(v_wmma_i32_16x16x16_iu4, run_integers, 4, i32){.name = NULL}};
