#include "ir/atom.h"

#include <stddef.h>

#include "ir/target.h"

/* The lane maps, checked against tests/data/layouts. */

static struct ws_coordinate transposed(struct ws_coordinate place)
{
    return (struct ws_coordinate){.row = place.column, .column = place.row};
}

/* gfx11 WMMA, wave32: lanes 16..31 repeat the A and B of lanes 0..15; C interleaves its rows. */
static struct ws_coordinate gfx11_a(int lane, int element)
{
    return (struct ws_coordinate){.row = lane % 16, .column = element};
}

static struct ws_coordinate gfx11_b(int lane, int element)
{
    return transposed(gfx11_a(lane, element));
}

static struct ws_coordinate gfx11_c(int lane, int element)
{
    return (struct ws_coordinate){.row = 2 * element + lane / 16, .column = lane % 16};
}

/* Else groups of as many lanes as A has rows hold runs of neighbouring k, and B is alike. */
#define RUNS(side, run)                                                                            \
    static struct ws_coordinate a_##side##_of_##run(int lane, int element)                         \
    {                                                                                              \
        return (struct ws_coordinate){.row = lane % (side),                                        \
                                      .column = (run) * (lane / (side)) + element};                \
    }                                                                                              \
    static struct ws_coordinate b_##side##_of_##run(int lane, int element)                         \
    {                                                                                              \
        return transposed(a_##side##_of_##run(lane, element));                                     \
    }
RUNS(16, 8)
RUNS(16, 4)
RUNS(32, 8)
RUNS(32, 4)
#undef RUNS

/* MFMA 32 x 32: runs of 4 rows, dealt to the two groups of lanes in turn. */
static struct ws_coordinate mfma_c_32(int lane, int element)
{
    return (struct ws_coordinate){.row = 8 * (element / 4) + 4 * (lane / 32) + element % 4,
                                  .column = lane % 32};
}

#define GFX11_WMMA                                                                                 \
    .form = WS_ATOM_WMMA, .m = 16, .n = 16, .k = 16, .a_elements = 16, .b_elements = 16,           \
    .c_elements = 8, .a = gfx11_a, .b = gfx11_b, .c = gfx11_c
/* The rows of C are dealt as the k of B are. */
#define GFX12_WMMA                                                                                 \
    .form = WS_ATOM_WMMA, .m = 16, .n = 16, .k = 16, .a_elements = 8, .b_elements = 8,             \
    .c_elements = 8, .a = a_16_of_8, .b = b_16_of_8, .c = b_16_of_8
#define MFMA_16                                                                                    \
    .form = WS_ATOM_MFMA, .m = 16, .n = 16, .k = 16, .a_elements = 4, .b_elements = 4,             \
    .c_elements = 4, .a = a_16_of_4, .b = b_16_of_4, .c = b_16_of_4
#define MFMA_16_K32                                                                                \
    .form = WS_ATOM_MFMA, .m = 16, .n = 16, .k = 32, .a_elements = 8, .b_elements = 8,             \
    .c_elements = 4, .a = a_16_of_8, .b = b_16_of_8, .c = b_16_of_4
#define MFMA_32                                                                                    \
    .form = WS_ATOM_MFMA, .m = 32, .n = 32, .k = 8, .a_elements = 4, .b_elements = 4,              \
    .c_elements = 16, .a = a_32_of_4, .b = b_32_of_4, .c = mfma_c_32
#define MFMA_32_K16                                                                                \
    .form = WS_ATOM_MFMA, .m = 32, .n = 32, .k = 16, .a_elements = 8, .b_elements = 8,             \
    .c_elements = 16, .a = a_32_of_8, .b = b_32_of_8, .c = mfma_c_32

/* Identifier, name, intrinsic after "llvm.amdgcn.", element type, operand type, the rest. */
#define ATOM(id, title, call, type, argument, ...)                                                 \
    static const struct ws_atom id = {.name = (title),                                             \
                                      .intrinsic = "llvm.amdgcn." call,                            \
                                      .element = WS_ELEMENT_##type,                                \
                                      .operand = WS_OPERAND_##argument,                            \
                                      __VA_ARGS__};
ATOM(gfx11_f16, "wmma_f32_16x16x16_f16", "wmma.f32.16x16x16.f16", F16, F16, GFX11_WMMA)
ATOM(gfx11_bf16, "wmma_f32_16x16x16_bf16", "wmma.f32.16x16x16.bf16", BF16, I16, GFX11_WMMA)
ATOM(gfx12_f16, "wmma_f32_16x16x16_f16", "wmma.f32.16x16x16.f16", F16, F16, GFX12_WMMA)
ATOM(gfx12_bf16, "wmma_f32_16x16x16_bf16", "wmma.f32.16x16x16.bf16", BF16, I16, GFX12_WMMA)
ATOM(mfma_16_f16, "mfma_f32_16x16x16_f16", "mfma.f32.16x16x16f16", F16, F16, MFMA_16)
ATOM(mfma_16_bf16, "mfma_f32_16x16x16_bf16", "mfma.f32.16x16x16bf16.1k", BF16, I16, MFMA_16)
ATOM(mfma_32_f16, "mfma_f32_32x32x8_f16", "mfma.f32.32x32x8f16", F16, F16, MFMA_32)
ATOM(mfma_32_bf16, "mfma_f32_32x32x8_bf16", "mfma.f32.32x32x8bf16.1k", BF16, I16, MFMA_32)
ATOM(wide_16_f16, "mfma_f32_16x16x32_f16", "mfma.f32.16x16x32.f16", F16, F16, MFMA_16_K32)
ATOM(wide_16_bf16, "mfma_f32_16x16x32_bf16", "mfma.f32.16x16x32.bf16", BF16, BF16, MFMA_16_K32)
ATOM(wide_32_f16, "mfma_f32_32x32x16_f16", "mfma.f32.32x32x16.f16", F16, F16, MFMA_32_K16)
ATOM(wide_32_bf16, "mfma_f32_32x32x16_bf16", "mfma.f32.32x32x16.bf16", BF16, BF16, MFMA_32_K16)
#undef ATOM

const struct ws_atom *const ws_atoms_gfx11[] = {&gfx11_f16, &gfx11_bf16, NULL};
const struct ws_atom *const ws_atoms_gfx12[] = {&gfx12_f16, &gfx12_bf16, NULL};
const struct ws_atom *const ws_atoms_cdna[] = {&mfma_16_f16, &mfma_16_bf16, &mfma_32_f16,
                                               &mfma_32_bf16, NULL};
const struct ws_atom *const ws_atoms_cdna4[] = {&wide_16_f16,  &wide_16_bf16, &wide_32_f16,
                                                &wide_32_bf16, &mfma_16_f16,  &mfma_16_bf16,
                                                &mfma_32_f16,  &mfma_32_bf16, NULL};

const struct ws_atom *ws_atom_find(const struct ws_target *target, enum ws_element element, int m,
                                   int n, int elements)
{
    for (const struct ws_atom *const *atom = target->atoms; *atom; atom++) {
        if ((*atom)->element == element && (*atom)->m == m && (*atom)->n == n &&
            (*atom)->a_elements <= elements)
            return *atom;
    }
    return NULL;
}
