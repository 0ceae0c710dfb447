#include "ir/atom.h"

#include <stddef.h>

#include "ir/target.h"

/* gfx11 WMMA, wave32: lanes 16..31 repeat the A and B of lanes 0..15; C interleaves its rows. */
static struct ws_coordinate gfx11_a(int lane, int element)
{
    return (struct ws_coordinate){.row = lane % 16, .column = element};
}

static struct ws_coordinate gfx11_b(int lane, int element)
{
    return (struct ws_coordinate){.row = element, .column = lane % 16};
}

static struct ws_coordinate gfx11_c(int lane, int element)
{
    return (struct ws_coordinate){.row = 2 * element + lane / 16, .column = lane % 16};
}

#define GFX11_WMMA                                                                                 \
    .m = 16, .n = 16, .k = 16, .a_elements = 16, .b_elements = 16, .c_elements = 8, .a = gfx11_a,  \
    .b = gfx11_b, .c = gfx11_c

static const struct ws_atom gfx11_f16 = {.name = "wmma_f32_16x16x16_f16",
                                         .element = WS_ELEMENT_F16,
                                         .intrinsic = "llvm.amdgcn.wmma.f32.16x16x16.f16",
                                         GFX11_WMMA};

static const struct ws_atom gfx11_bf16 = {.name = "wmma_f32_16x16x16_bf16",
                                          .element = WS_ELEMENT_BF16,
                                          .intrinsic = "llvm.amdgcn.wmma.f32.16x16x16.bf16",
                                          GFX11_WMMA};

const struct ws_atom *const ws_atoms_gfx11[] = {&gfx11_f16, &gfx11_bf16, NULL};

const struct ws_atom *ws_atom_find(const struct ws_target *target, enum ws_element element, int m,
                                   int n)
{
    for (const struct ws_atom *const *atom = target->atoms; *atom; atom++) {
        if ((*atom)->element == element && (*atom)->m == m && (*atom)->n == n)
            return *atom;
    }
    return NULL;
}
