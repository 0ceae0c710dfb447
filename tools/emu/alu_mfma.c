/* MFMA of CDNA, wave64: D = A * B + C.
 *
 * As with WMMA the accumulator starts with C and exact products are added for k ascending, each sum
 * rounded to nearest even in f32. gfx90a takes subnormal f16 and bf16 inputs as 0 and gives no
 * subnormal results. EXEC has no influence ("AMD Instinct MI300 Instruction Set Architecture",
 * matrix arithmetic instructions). */
#include "tools/emu/alu.h"
#include "tools/emu/group.h"
#include "tools/emu/mfma_layout.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

/* The largest shapes. */
enum { MAX_ELEMENTS = 512, MAX_ROWS = 32, MAX_BLOCKS = 16, LANES = EMU_MFMA_LANES };

struct shape {
    unsigned m, k, blocks, per_lane, rows;
};

#define SHAPE(m, k, blocks)                                                                        \
    {m, k, blocks, EMU_MFMA_PER_LANE(m, k, blocks), EMU_MFMA_ROWS(m, blocks)}

/* Element e of lane l of A or B, at [e + per_lane * (l / m)] [l % m]: by block, then k, then row or
 * column. */
struct operands {
    _Alignas(64) float a[MAX_ELEMENTS], b[MAX_ELEMENTS];
    _Alignas(64) float d[MAX_ROWS][LANES];
};

/* Eight columns of a row: what the compilers keep in registers over the sums. */
typedef float emu_columns __attribute__((vector_size(32), aligned(4), may_alias));
enum { COLUMNS = 8, TILE = 4 };

#ifdef __FMA__
#define FMA_f16(a, b, c) fmaf(a, b, c)
#else
#define FMA_f16(a, b, c) ((a) * (b) + (c)) /* f16 products are exact in f32 */
#endif
#define FMA_bf16(a, b, c) fmaf(a, b, c)
#define FMA_f32(a, b, c) fmaf(a, b, c)

static const uint32_t *lanes(const struct emu_wave *w, unsigned block, const struct emu_operand *s)
{
    return s->kind == EMU_VGPR ? w->block[block].v + s->at : w->space[s->kind] + s->at;
}

static void convert_f16(float *to, const uint32_t *v, unsigned shift)
{
#ifdef __F16C__
    for (unsigned i = 0; i < EMU_LANES; i += 8) {
        __m256i words = _mm256_loadu_si256((const __m256i *)(v + i));
        words = _mm256_and_si256(_mm256_srli_epi32(words, (int)shift), _mm256_set1_epi32(0xffff));
        __m256i pairs = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0x08);
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm256_castsi256_si128(pairs)));
    }
#else
    EMU_EACH_LANE
    {
        to[i] = emu_from_f16(v[i] >> shift & 0xffff);
    }
#endif
}

static void convert_bf16(float *to, const uint32_t *v, unsigned shift)
{
    EMU_EACH_LANE
    {
        to[i] = emu_from_bf16(v[i] >> shift & 0xffff);
    }
}

static void convert_f32(float *to, const uint32_t *v, unsigned shift)
{
    (void)shift;
    memcpy(to, v, EMU_LANES * sizeof *to);
}

/* Subnormals of a type become zeros of their sign. */
static void flush(float *x, float least)
{
    EMU_EACH_LANE
    {
        uint32_t bits = emu_bits(x[i]);
        x[i] = fabsf(x[i]) < least ? emu_float(bits & 0x80000000) : x[i];
    }
}

#define LEAST_f16 0x1p-14f
#define LEAST_bf16 0x1p-126f
#define LEAST_f32 0.0f /* keeps them */
#define BITS_f16 16
#define BITS_bf16 16
#define BITS_f32 32

typedef void convert(float *to, const uint32_t *v, unsigned shift);

/* Both blocks of A or B. A lane's place among those of its group does not change, so that 32 lanes
 * of an element are 32 / m pieces of m values. */
EMU_ALWAYS_INLINE void unpack(float *to, const struct emu_wave *w, const struct emu_operand *s,
                              const struct shape *shape, unsigned bits, convert *conversion,
                              float least)
{
    for (unsigned block = 0; block < 2; block++) {
        const uint32_t *v = lanes(w, block, s);
        for (unsigned e = 0; e < shape->per_lane; e++) {
            float x[EMU_LANES];
            conversion(x, v + e * bits / 32 * EMU_LANES, e * bits % 32);
            if (least > 0)
                flush(x, least);
            for (unsigned l = 0; l < EMU_LANES; l += shape->m) {
                unsigned group = (block * EMU_LANES + l) / shape->m;
                memcpy(to + (group * shape->per_lane + e) * shape->m, x + l, shape->m * sizeof *to);
            }
        }
    }
}

static void load_c(struct operands *o, const struct emu_wave *w, const struct emu_operand *c,
                   unsigned rows)
{
    for (unsigned reg = 0; reg < rows; reg++)
        for (unsigned block = 0; block < 2; block++)
            memcpy(o->d[reg] + block * EMU_LANES,
                   lanes(w, block, c) + (c->kind == EMU_VGPR ? reg * EMU_LANES : 0),
                   EMU_LANES * sizeof(float));
}

static inline emu_columns *eight(float *first)
{
    return (emu_columns *)first;
}

/* TILE registers of D, eight lanes from `l` on. */
#define MULTIPLY(t)                                                                                \
    static inline void add_##t(emu_columns *sum, float a, const emu_columns *b)                    \
    {                                                                                              \
        for (unsigned i = 0; i < COLUMNS; i++)                                                     \
            (*sum)[i] = FMA_##t(a, (*b)[i], (*sum)[i]);                                            \
    }                                                                                              \
    EMU_ALWAYS_INLINE void multiply_tile_##t(struct operands *o, const struct shape *s,            \
                                             unsigned reg, unsigned l)                             \
    {                                                                                              \
        unsigned first = emu_mfma_d_block(s->m, l, reg) * s->k * s->m;                             \
        const float *a = o->a + first + emu_mfma_d_row(s->m, l, reg);                              \
        float *b = o->b + first + emu_mfma_d_column(s->m, l);                                      \
        emu_columns *d0 = eight(o->d[reg] + l), *d1 = eight(o->d[reg + 1] + l);                    \
        emu_columns *d2 = eight(o->d[reg + 2] + l), *d3 = eight(o->d[reg + 3] + l);                \
        emu_columns sum0 = *d0, sum1 = *d1, sum2 = *d2, sum3 = *d3;                                \
        for (unsigned k = 0; k < s->k; k++, a += s->m, b += s->m) {                                \
            emu_columns column = *eight(b);                                                        \
            add_##t(&sum0, a[0], &column);                                                         \
            add_##t(&sum1, a[1], &column);                                                         \
            add_##t(&sum2, a[2], &column);                                                         \
            add_##t(&sum3, a[3], &column);                                                         \
        }                                                                                          \
        *d0 = sum0, *d1 = sum1, *d2 = sum2, *d3 = sum3;                                            \
    }                                                                                              \
    /* 4 x 4 matrices: one element at a time. */                                                   \
    static void multiply_small_##t(struct operands *o, const struct shape *s)                      \
    {                                                                                              \
        for (unsigned reg = 0; reg < s->rows; reg++)                                               \
            for (unsigned l = 0; l < LANES; l++) {                                                 \
                unsigned first = emu_mfma_d_block(s->m, l, reg) * s->k * s->m;                     \
                const float *a = o->a + first + emu_mfma_d_row(s->m, l, reg);                      \
                const float *b = o->b + first + emu_mfma_d_column(s->m, l);                        \
                for (unsigned k = 0; k < s->k; k++)                                                \
                    o->d[reg][l] = FMA_##t(a[k * s->m], b[k * s->m], o->d[reg][l]);                \
            }                                                                                      \
    }                                                                                              \
    EMU_ALWAYS_INLINE void multiply_##t(struct operands *o, const struct shape *s)                 \
    {                                                                                              \
        if (s->m < COLUMNS) {                                                                      \
            multiply_small_##t(o, s);                                                              \
            return;                                                                                \
        }                                                                                          \
        for (unsigned reg = 0; reg < s->rows; reg += TILE)                                         \
            for (unsigned l = 0; l < LANES; l += COLUMNS)                                          \
                multiply_tile_##t(o, s, reg, l);                                                   \
    }
MULTIPLY(f16)
MULTIPLY(bf16)
MULTIPLY(f32)

static uint64_t poison_of(const struct emu_wave *w, unsigned block, const struct emu_operand *s,
                          unsigned reg)
{
    return s->kind == EMU_VGPR ? w->block[block].poison[s->reg + reg] : 0;
}

/* Rows of A or columns of B with poison, a word a block of the product; whether there are any. */
static bool operand_poison(const struct emu_wave *w, const struct emu_operand *s,
                           const struct shape *shape, uint32_t *bad)
{
    unsigned groups = LANES / shape->m / shape->blocks; /* of one block */
    bool any = false;
    for (unsigned block = 0; block < 2; block++) {
        uint64_t poison = 0;
        for (unsigned reg = 0; reg < s->dwords; reg++)
            poison |= poison_of(w, block, s, reg);
        any |= poison != 0;
        for (uint32_t left = emu_any(poison); left; left &= left - 1) {
            unsigned lane = (unsigned)__builtin_ctz(left) + block * EMU_LANES;
            bad[lane / shape->m / groups] |= 1U << lane % shape->m;
        }
    }
    return any;
}

/* D's poison: of its rows of A, its columns of B, and of C. */
static void set_poison(struct emu_wave *w, const struct emu_op *op, const struct shape *shape)
{
    uint32_t rows[MAX_BLOCKS] = {0}, columns[MAX_BLOCKS] = {0};
    bool any = operand_poison(w, &op->src[0], shape, rows);
    any |= operand_poison(w, &op->src[1], shape, columns);
    uint64_t result[MAX_ROWS][2];
    for (unsigned reg = 0; reg < shape->rows; reg++)
        for (unsigned block = 0; block < 2; block++) {
            uint32_t bad = emu_any(poison_of(w, block, &op->src[2], reg));
            for (unsigned i = 0; any && i < EMU_LANES; i++) {
                unsigned lane = block * EMU_LANES + i, m = shape->m;
                unsigned product = emu_mfma_d_block(m, lane, reg);
                bad |= (rows[product] >> emu_mfma_d_row(m, lane, reg) & 1) << i;
                bad |= (columns[product] >> emu_mfma_d_column(m, lane) & 1) << i;
            }
            result[reg][block] = emu_both(bad);
        }
    for (unsigned reg = 0; reg < shape->rows; reg++)
        for (unsigned block = 0; block < 2; block++) {
            unsigned to = op->dst[0].reg + reg;
            w->block[block].poison[to] = result[reg][block];
            emu_poisons(w, op, block, to, result[reg][block]);
        }
}

static void store(struct emu_wave *w, const struct emu_operand *d, struct operands *o,
                  unsigned rows, bool flushes)
{
    for (unsigned reg = 0; reg < rows; reg++)
        for (unsigned block = 0; block < 2; block++) {
            float *from = o->d[reg] + block * EMU_LANES;
            if (flushes)
                flush(from, 0x1p-126f);
            memcpy(w->block[block].v + d->at + reg * EMU_LANES, from, EMU_LANES * sizeof *from);
        }
}

#define MFMA(name, m, k, blocks, t)                                                                \
    static void name##_run(struct emu_wave *w, const struct emu_op *op)                            \
    {                                                                                              \
        static const struct shape shape = SHAPE(m, k, blocks);                                     \
        bool flushes = w->group->launch->target->flushes_matrices && BITS_##t == 16;               \
        struct operands o;                                                                         \
        unpack(o.a, w, &op->src[0], &shape, BITS_##t, convert_##t, flushes ? LEAST_##t : 0);       \
        unpack(o.b, w, &op->src[1], &shape, BITS_##t, convert_##t, flushes ? LEAST_##t : 0);       \
        load_c(&o, w, &op->src[2], shape.rows);                                                    \
        multiply_##t(&o, &shape);                                                                  \
        set_poison(w, op, &shape);                                                                 \
        store(w, &op->dst[0], &o, shape.rows, flushes);                                            \
    }
#include "tools/emu/ops_mfma.def"
#undef MFMA

#define MFMA(nm, m, k, blocks, t)                                                                  \
    {.name = #nm,                                                                                  \
     .run = nm##_run,                                                                              \
     .cls = EMU_CLASS_MMA,                                                                         \
     .rule = EMU_POISON_OWN,                                                                       \
     .flags = EMU_CROSS,                                                                           \
     .dst = {EMU_TYPE_x},                                                                          \
     .src = {EMU_TYPE_x, EMU_TYPE_x, EMU_TYPE_f32}},

const struct emu_desc EMU_LEVELED(emu_ops_mfma)[] = {
#include "tools/emu/ops_mfma.def"
    {.name = NULL}};
