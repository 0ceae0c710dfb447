/* What is done to an argument block at a launch: found out once, from the variant and the plan, and
 * gone through for every launch. */
#ifndef WS_CHECK_H
#define WS_CHECK_H

#include "runtime/layout.h"

enum ws_check_kind {
    WS_CHECK_EQUAL,   /* an i32 that has this value */
    WS_CHECK_BITS,    /* a pointer or stride that has none of these bits */
    WS_CHECK_NONZERO, /* the same, and it is not 0 */
    WS_CHECK_POSITIVE /* an f32 that is finite and above 0 */
};

struct ws_check {
    enum ws_check_kind kind;
    uint32_t offset; /* in the block */
    uint64_t value;  /* the value or the bits */
};

/* A 64-bit number that the runtime writes. */
struct ws_fill {
    uint32_t offset;
    bool is_region; /* the value is a place in the workspace */
    uint64_t value;
};

enum { WS_FILLS_MAX = WS_PACK_REGIONS_MAX * (1 + WS_LAYOUT_AXES) };

struct ws_block_rules {
    const struct ws_arg_table *table;
    uint32_t check_count, fill_count;
    struct ws_check checks[WS_LAYOUT_CHECKS_MAX];
    struct ws_fill fills[WS_FILLS_MAX];
};

/* Tensors that are regions of the plan get their strides too: those of one without gaps.
 * WS_ERROR_ARGUMENT: a size is too large for the block, or the argument of a region is no pointer
 * of it. */
enum ws_status ws_block_rules_make(struct ws_block_rules *rules, const struct ws_variant *variant,
                                   const struct ws_plan *plan, struct ws_error *error);

/* WS_ERROR_ARGUMENT names the first argument that is wrong. */
enum ws_status ws_block_check(const struct ws_block_rules *rules, const unsigned char *args,
                              struct ws_error *error);

/* Writes what the runtime writes. */
void ws_block_fill(const struct ws_block_rules *rules, unsigned char *args, uint64_t workspace);

#endif
