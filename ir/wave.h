/* Operations across the lanes of a wave, and the special functions of its lanes. */
#ifndef WS_IR_WAVE_H
#define WS_IR_WAVE_H

#include "ir/builder.h"

struct ws_value *ws_workgroup(struct ws_builder *b); /* index in the flat grid, the same in all */
struct ws_value *ws_work_item(struct ws_builder *b); /* index in the flat workgroup */

/* The lane's number in its wave, found anew where it is called: nothing is kept for it. */
struct ws_value *ws_fresh_lane(struct ws_builder *b);

/* The value of the first active lane, the same in all lanes. */
struct ws_value *ws_first_lane(struct ws_builder *b, struct ws_value *x);

/* i32 values that are the same in all lanes, at most 32, wait in one vector register, each in a
 * lane of its own; and the index-th of them. */
struct ws_value *ws_park(struct ws_builder *b, struct ws_value *const *values, int count);
struct ws_value *ws_parked(struct ws_builder *b, struct ws_value *parked, int index);

/* x / y of scalars, the same in all lanes. There is no scalar division: a plain one leaves its
 * result in vector registers, and what is computed from it too, descriptors included. */
struct ws_value *ws_divide_scalars(struct ws_builder *b, struct ws_value *x, struct ws_value *y);

/* The value (i32 or f32) of lane ^ mask; mask is a power of two. All lanes must be active. */
struct ws_value *ws_exchange_lanes(struct ws_builder *b, struct ws_value *x, int mask);

/* The value (i32) of a lane that each lane chooses. All lanes must be active. */
struct ws_value *ws_lane_value(struct ws_builder *b, struct ws_value *x, struct ws_value *lane);

/* Whether the condition holds in any active lane, the same in all lanes. */
struct ws_value *ws_any(struct ws_builder *b, struct ws_value *condition);

/* Largest element of f32 vectors, smallest one, in the lane; no element is NaN. */
struct ws_value *ws_max_elements(struct ws_builder *b, struct ws_value *const *vectors, int count);
struct ws_value *ws_min_elements(struct ws_builder *b, struct ws_value *vector);

/* 2^x, log2 x, 1/x of an f32, as the hardware approximates them (1 ulp, no denormals). */
struct ws_value *ws_exp2(struct ws_builder *b, struct ws_value *x);
struct ws_value *ws_log2(struct ws_builder *b, struct ws_value *x);
struct ws_value *ws_reciprocal(struct ws_builder *b, struct ws_value *x);

/* Two f32 >= 0, finite in the narrow type, packed. nearest: f16 up or down, to even on a tie; bf16
 * up on a tie, or to even; else towards zero, in fewer instructions. */
struct ws_value *ws_pack_pair(struct ws_builder *b, enum ws_element element, bool nearest,
                              struct ws_value *low, struct ws_value *high);

/* sum + x.low * y.low + x.high * y.high of packed pairs. */
struct ws_value *ws_dot2(struct ws_builder *b, enum ws_element element, struct ws_value *x,
                         struct ws_value *y, struct ws_value *sum);

/* sum + the four f16 in the lane's packed pairs, in each element of the result. `ones` are four of
 * 1 in registers: ws_quad_of_ones, outside of loops. On targets with quad_sum. */
struct ws_value *ws_sum_quad(struct ws_builder *b, struct ws_value *ones, struct ws_value *pairs,
                             struct ws_value *sum);
struct ws_value *ws_quad_of_ones(struct ws_builder *b);

struct ws_value *ws_pair_of_ones(struct ws_builder *b, enum ws_element element);
/* 1 in one half of a pair, 0 in the other. */
struct ws_value *ws_one_of_pair(struct ws_builder *b, enum ws_element element, bool high);

/* Nothing is scheduled across this place; or no memory access and no matrix product. */
void ws_schedule_barrier(struct ws_builder *b);
void ws_schedule_barrier_memory(struct ws_builder *b);

/* The low halves of x and y as one pair, x below; and the high halves. */
struct ws_value *ws_low_halves(struct ws_builder *b, struct ws_value *x, struct ws_value *y);
struct ws_value *ws_high_halves(struct ws_builder *b, struct ws_value *x, struct ws_value *y);

#endif
