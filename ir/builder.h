/* A kernel under construction: a thin layer over LLVM's builder.
 *
 * Every function appends to the current block of `b` and returns the new value. Values are owned by
 * the module. Operands of arithmetic have equal types; a scalar may stand where a vector of its
 * type is the other operand, and is splatted. Integers are unsigned unless a name says otherwise.
 * C leaves the order of a call's arguments open: where two would append, one has a name and comes
 * before, or the next compiler makes other code of the same config (.clang-tidy holds to it).
 * Nothing here is thread-safe for one LLVM context, and nothing is global. */
#ifndef WS_IR_BUILDER_H
#define WS_IR_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/atom.h"
#include "ir/target.h"
#include "runtime/abi/args.h"

struct LLVMOpaqueBuilder;
struct LLVMOpaqueContext;
struct LLVMOpaqueModule;
struct LLVMOpaqueType;
struct LLVMOpaqueValue;

struct ws_value; /* an SSA value */

struct ws_builder {
    const struct ws_target *target;
    struct LLVMOpaqueContext *context;
    struct LLVMOpaqueModule *module;
    struct LLVMOpaqueBuilder *llvm;
    struct LLVMOpaqueValue *function;
    const struct ws_arg_table *args;
    bool is_late;                /* ws_kernel_args_late */
    bool uses_dma;               /* ws_lds_use_dma */
    struct LLVMOpaqueValue *one; /* f32, but the optimiser cannot know that */
    struct LLVMOpaqueType *i1, *i16, *i32, *i64, *f16, *bf16, *f32, *global_pointer;
};

struct ws_kernel_attributes {
    const struct ws_target *target;
    int work_items;   /* of a workgroup, exactly */
    int waves_per_eu; /* occupancy that the register allocator aims at; 0: LLVM decides */
};

/* An empty module in the context. */
struct LLVMOpaqueModule *ws_module_create(struct LLVMOpaqueContext *context, const char *name);
void ws_module_dispose(struct LLVMOpaqueModule *module);

/* Makes a module ready for the kernel `symbol`: sets triple, data layout and code object version
 * where it has none. Where one of them is another, or the symbol or another target's code is there,
 * or the LLVM is not ours (ws_check_llvm), that is an error, WS_ERROR_ARGUMENT or
 * WS_ERROR_ENVIRONMENT, and the module is as it was. */
enum ws_status ws_module_prepare(struct LLVMOpaqueModule *module, const struct ws_target *target,
                                 const char *symbol, struct ws_error *error);

/* The module as text, or as bitcode, malloc'ed; NULL without memory. */
char *ws_module_text(struct LLVMOpaqueModule *module);
uint8_t *ws_module_bitcode(struct LLVMOpaqueModule *module, size_t *size);

/* A context of one's own, for a module that nobody else sees. */
struct LLVMOpaqueContext *ws_context_create(void);
void ws_context_dispose(struct LLVMOpaqueContext *context);

/* Starts a kernel that takes the argument block of `args`. End it with ws_kernel_end. */
void ws_kernel_begin(struct ws_builder *b, struct LLVMOpaqueModule *module, const char *symbol,
                     const struct ws_arg_table *args,
                     const struct ws_kernel_attributes *attributes);

/* Returns from the kernel and frees the builder. */
void ws_kernel_end(struct ws_builder *b);

/* The argument at a place of the block; pointers are global. Arguments are loaded when the kernel
 * begins, unless ws_kernel_args_late was called before: then where they are asked for, so that
 * until then they take no registers. */
struct ws_value *ws_kernel_arg(struct ws_builder *b, int index);
void ws_kernel_args_late(struct ws_builder *b);

/* Constants. */
struct ws_value *ws_i32(struct ws_builder *b, uint32_t value);
struct ws_value *ws_i64(struct ws_builder *b, uint64_t value);
struct ws_value *ws_f32(struct ws_builder *b, double value);
struct ws_value *ws_undefined_i32s(struct ws_builder *b, int count);

/* Integers. */
struct ws_value *ws_add(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_sub(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_mul(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_divide(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_remainder(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_and(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_or(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_xor(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_shift_left(struct ws_builder *b, struct ws_value *x, int bits);
struct ws_value *ws_shift_right(struct ws_builder *b, struct ws_value *x, int bits);
struct ws_value *ws_smin(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_smax(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_not_negative(struct ws_builder *b, struct ws_value *x);
/* i32, to a multiple of a power of two. */
struct ws_value *ws_round_down(struct ws_builder *b, struct ws_value *x, uint32_t power);
struct ws_value *ws_round_up(struct ws_builder *b, struct ws_value *x, uint32_t power);
struct ws_value *ws_to_i32(struct ws_builder *b, struct ws_value *x); /* low half */
struct ws_value *ws_to_i64(struct ws_builder *b, struct ws_value *x); /* zero-extended */
/* Whether a pointer is NULL. */
struct ws_value *ws_is_null(struct ws_builder *b, struct ws_value *pointer);

/* f32, scalars and vectors. */
struct ws_value *ws_fadd(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_fsub(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_fmul(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_fneg(struct ws_builder *b, struct ws_value *x);
struct ws_value *ws_fabs(struct ws_builder *b, struct ws_value *x);
struct ws_value *ws_to_f32(struct ws_builder *b, struct ws_value *x); /* of a signed integer */
struct ws_value *ws_fma(struct ws_builder *b, struct ws_value *x, struct ws_value *y,
                        struct ws_value *z);
/* The larger one; operands are not NaN. */
struct ws_value *ws_fmax(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_fmin(struct ws_builder *b, struct ws_value *x, struct ws_value *y);

/* Comparisons and choice. Float comparisons are ordered: false of NaN, except not_below. */
enum ws_comparison { WS_EQUAL, WS_BELOW, WS_SIGNED_LESS, WS_SIGNED_LESS_EQUAL };
struct ws_value *ws_compare(struct ws_builder *b, enum ws_comparison how, struct ws_value *x,
                            struct ws_value *y);
struct ws_value *ws_fgreater(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
/* x >= y, or one of them is NaN. */
struct ws_value *ws_fnot_below(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_select(struct ws_builder *b, struct ws_value *condition, struct ws_value *x,
                           struct ws_value *y);

/* Vectors. A scalar counts as a vector of one element. */
struct ws_value *ws_splat(struct ws_builder *b, struct ws_value *x, int count);
struct ws_value *ws_element(struct ws_builder *b, struct ws_value *vector, int index);
struct ws_value *ws_set_element(struct ws_builder *b, struct ws_value *vector, int index,
                                struct ws_value *x);
struct ws_value *ws_concatenate(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
/* Elements first to first + count - 1. */
struct ws_value *ws_slice(struct ws_builder *b, struct ws_value *vector, int first, int count);

/* 16-bit data travels packed in i32 vectors. */
struct ws_value *ws_as_f32(struct ws_builder *b, struct ws_value *x); /* the bits of i32 */
struct ws_value *ws_as_i32(struct ws_builder *b, struct ws_value *x); /* the bits of an f32 */
/* f32 vector of even length, each element rounded to nearest, packed. */
struct ws_value *ws_pack(struct ws_builder *b, enum ws_element element, struct ws_value *x);
/* The low or the high half of an i32 as f32. */
struct ws_value *ws_unpack(struct ws_builder *b, enum ws_element element, struct ws_value *pair,
                           bool high);
/* The pair with its low or high half replaced by an i16. */
struct ws_value *ws_set_half(struct ws_builder *b, struct ws_value *pair, struct ws_value *half,
                             bool high);
/* Each 16-bit element of a packed vector times an f32. */
struct ws_value *ws_packed_scale(struct ws_builder *b, enum ws_element element,
                                 struct ws_value *packed, struct ws_value *factor);

/* A B + C of packed operands that hold the elements of one matrix atom or of several, whose
 * products are summed. */
struct ws_value *ws_multiply(struct ws_builder *b, const struct ws_atom *atom, struct ws_value *a,
                             struct ws_value *bb, struct ws_value *c);

/* The same i32 of each lane, but the optimiser cannot know that. No instruction, if x is not used
 * any more. A loop that carries a value through this computes what depends on it in the loop:
 * address constants then fold into the instructions instead of living in registers. */
struct ws_value *ws_opaque(struct ws_builder *b, struct ws_value *x);

/* The same, but not before `y` (of each lane, 32 bits) is known: what is loaded from an address x
 * is not loaded earlier. */
struct ws_value *ws_after(struct ws_builder *b, struct ws_value *x, struct ws_value *y);

/* The same of at least 1 and at most WS_OPAQUE_MAX values of any type, all at one place: all of
 * them must be there. */
enum { WS_OPAQUE_MAX = 64 };
void ws_opaque_together(struct ws_builder *b, struct ws_value **const *values, int count);

/* The same, at a place that the compiler does not move: what the values come from stays before it,
 * where a block behind a branch would do for them. */
void ws_settle_together(struct ws_builder *b, struct ws_value **const *values, int count);

/* Calls an intrinsic by name. overloads are the types it is overloaded on, in LLVM's order. */
struct ws_value *ws_intrinsic(struct ws_builder *b, const char *name,
                              struct LLVMOpaqueType *const *overloads, int overload_count,
                              struct ws_value *const *operands, int operand_count);

/* A loop that carries values. `carried` points to the variables; inside the loop they hold the
 * values of the current turn, after it the last ones. The body runs for index = begin,
 * begin + step, ... while index < end (signed), perhaps never. */
enum { WS_CARRIED_MAX = 320 };
struct ws_loop {
    struct LLVMOpaqueValue *begin, *end, *index;
    struct LLVMOpaqueBasicBlock *before, *body, *after;
    struct ws_value **carried[WS_CARRIED_MAX];
    struct LLVMOpaqueValue *initial[WS_CARRIED_MAX], *phi[WS_CARRIED_MAX];
    int count;
    uint32_t step;
};
/* Returns the index. */
struct ws_value *ws_loop_begin(struct ws_builder *b, struct ws_loop *loop, struct ws_value *begin,
                               struct ws_value *end, uint32_t step,
                               struct ws_value **const *carried, int count);
void ws_loop_end(struct ws_builder *b, struct ws_loop *loop);

/* A block that runs where `condition` holds; after it the carried variables hold its values, or
 * those from before where it did not run. A rare one is placed out of line. */
struct ws_branch {
    struct LLVMOpaqueBasicBlock *before, *after;
    struct ws_value **carried[WS_CARRIED_MAX];
    struct ws_value *initial[WS_CARRIED_MAX];
    int count;
};
void ws_branch_begin(struct ws_builder *b, struct ws_branch *branch, struct ws_value *condition,
                     bool rare, struct ws_value **const *carried, int count);
void ws_branch_end(struct ws_builder *b, struct ws_branch *branch);

/* Returns from the kernel where the condition holds. */
void ws_return_if(struct ws_builder *b, struct ws_value *condition);

#endif
