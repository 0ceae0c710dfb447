/* The numbers of a problem: its input tensors as exact values of the problem's type. */
#ifndef WS_TOOL_INPUTS_H
#define WS_TOOL_INPUTS_H

#include "tools/wavesmith/memory.h"
#include "tools/wavesmith/problem.h"

/* normal: N(0,1) throughout.
 * boundary: every key's score lies about 8 below 0, where a key that reads as zeros would stand,
 * and every row sees one kind of boundary key far above the rest: the first key, the last one, the
 * edges of 16-key tiles, the keys on both sides of the mask's diagonal, or of a window's left end.
 * V has mean 1, so that a wrong row sum shows in O. Of a backward, dO of the first and the last
 * query and of those at the edges of 16-query tiles is four times as large. Of gemm: the first k,
 * the last one and some between gain, so that each is a good part of every sum however many there
 * are. In both the bias is N(0,1) with entries, runs and rows of -inf, a sink lies about where a
 * row's log-sum-exp does, and ALiBi slopes range from 2^-8 to 1/2. */
enum ws_input_kind { WS_INPUT_NORMAL, WS_INPUT_BOUNDARY, WS_INPUT_KIND_COUNT };

/* Rows of one input by batch, head and token, whatever its layout in memory; an axis that
 * broadcasts has extent 1. */
struct ws_values {
    int64_t extent[WS_AXIS_COUNT];
    int64_t length; /* of a row */
    float *data;
};

struct ws_inputs {
    struct ws_values tensor[WS_TENSOR_COUNT]; /* by enum ws_tensor_id; outputs are empty */
    float *sink, *slopes;                     /* of every query head */
    struct ws_reference_bwd *reference;       /* of a backward: what is right; owned */
};

/* Draws the inputs from problem->seed, but for those that follow from others (the backward's O and
 * LSE): they come from ws_inputs_derive, when the others are stored. Zero the struct first; free it
 * in either case. */
enum ws_status ws_inputs_create(struct ws_inputs *inputs, const struct ws_problem *problem,
                                enum ws_input_kind kind, struct ws_error *error);
enum ws_status ws_inputs_derive(struct ws_inputs *inputs, const struct ws_problem *problem,
                                struct ws_error *error);
bool ws_input_is_derived(enum ws_tensor_id tensor);
void ws_inputs_free(struct ws_inputs *inputs);

/* How many rows there are, data's in their order; and one of them. */
int64_t ws_values_rows(const struct ws_values *values);
const float *ws_values_row(const struct ws_values *values, int64_t batch, int64_t head,
                           int64_t token);

/* The row of a sequence's token: ws_values_row behind ws_tensor_place. */
const float *ws_inputs_row(const struct ws_inputs *inputs, const struct ws_problem *problem,
                           enum ws_tensor_id tensor, int64_t batch, int64_t head, int64_t token);

/* Writes one tensor's rows into the images of its memory, in the tensor's type. Where rows
 * overlap, the values become what was written last. */
void ws_inputs_store(struct ws_inputs *inputs, const struct ws_problem *problem,
                     enum ws_tensor_id tensor, const struct ws_memory *memory);

const char *ws_input_kind_name(enum ws_input_kind kind);

#endif
