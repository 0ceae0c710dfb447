/* What differs from one kernel kind to the next where problems are checked: sizes, tensors, inputs,
 * what a workgroup owns, what is right. One const table a kind; the frame (problem, inputs, grid,
 * judge, trial) looks functions up here and knows no kind itself. */
#ifndef WS_TOOL_KIND_H
#define WS_TOOL_KIND_H

#include "tools/wavesmith/arrays.h"
#include "tools/wavesmith/grid.h"
#include "tools/wavesmith/inputs.h"
#include "tools/wavesmith/judge.h"
#include "tools/wavesmith/problem.h"

/* How an input is drawn: normally distributed, then marked row by row or not. */
struct ws_draw {
    float mean, deviation;
    bool is_marked;
};

/* The argument block of a launch. */
union ws_problem_args {
    struct ws_fmha_fwd_args fmha_fwd;
    struct ws_fmha_bwd_args fmha_bwd;
    struct ws_gemm_args gemm;
};

struct ws_problem_kind {
    const char *shape;               /* what --shape takes, by example */
    const char *bench_shape;         /* a problem that takes the emulator a moment */
    const char *unit;                /* of work: what instructions are counted for */
    const char *axes[WS_AXIS_COUNT]; /* names of --stride; NULL: the kind has no such axis */

    bool is_attention; /* it has masks, scores, head dims */
    bool is_whole;     /* workgroups are not told apart: all are run, all of the output is judged */

    /* Completes a problem that has its sizes from the spec; strides come later. */
    enum ws_status (*init)(struct ws_problem *problem, const struct ws_spec *spec,
                           const struct ws_sizes *given, struct ws_error *error);
    /* Draws all but batch and strides. */
    void (*draw)(struct ws_problem *problem, struct ws_random *random);
    /* Appends the options that state the problem, but for strides and seed. */
    void (*text)(const struct ws_problem *problem, char text[WS_PROBLEM_TEXT_SIZE]);

    /* Of a tensor of the kind, see problem.h; and which option sets an extent. */
    int64_t (*extent)(const struct ws_problem *problem, enum ws_tensor_id tensor,
                      enum ws_axis axis);
    const char *(*extent_name)(const struct ws_problem *problem, enum ws_tensor_id tensor,
                               enum ws_axis axis);
    int64_t (*row_length)(const struct ws_problem *problem, enum ws_tensor_id tensor);

    /* Boundary inputs. */
    struct ws_draw (*boundary)(const struct ws_problem *problem, enum ws_tensor_id tensor);
    void (*mark)(const struct ws_problem *problem, enum ws_tensor_id tensor, float *row,
                 int64_t token);
    /* Draws the inputs beside the tensors, and changes what is special in those; NULL: nothing. */
    enum ws_status (*finish_inputs)(struct ws_inputs *inputs, const struct ws_problem *problem,
                                    struct ws_error *error);
    /* Computes the inputs that follow from others, once those are what memory can hold; NULL:
     * there are none. */
    enum ws_status (*derive)(struct ws_inputs *inputs, const struct ws_problem *problem,
                             struct ws_error *error);

    /* Rows that a wave addresses together, for --far; and the argument block of a launch. */
    struct ws_tile (*tile)(const struct ws_spec *spec, struct ws_block block);
    void (*arguments)(union ws_problem_args *args, const struct ws_problem *problem,
                      const struct ws_memory memory[WS_TENSOR_COUNT],
                      const struct ws_arrays *arrays);

    /* The flat grid, what a workgroup owns, and at most WS_GRID_CORNERS workgroups where something
     * changes; returns how many. */
    struct ws_grid (*grid)(const struct ws_spec *spec, const struct ws_problem *problem,
                           struct ws_block block);
    struct ws_rows (*rows)(const struct ws_grid *grid, int64_t workgroup);
    int (*corners)(const struct ws_grid *grid, struct ws_random *random,
                   int64_t workgroups[WS_GRID_CORNERS]);
    /* Units of work for these rows that no kernel can avoid. */
    int64_t (*units)(const struct ws_problem *problem, const struct ws_rows *rows);
    /* The cost of emulating all of it, in scores of attention. */
    double (*cost)(const struct ws_grid *grid);
    /* More instructions than any sound kernel spends on one workgroup's work. */
    uint64_t (*instructions)(const struct ws_grid *grid);

    /* Judges what the workgroups wrote. */
    enum ws_status (*judge)(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                            const struct ws_memory memory[WS_TENSOR_COUNT],
                            const struct ws_rows *rows, size_t count, struct ws_error *error);
};

/* The table of a kind. */
const struct ws_problem_kind *ws_problem_kind(enum ws_kernel_kind kind);

/* The tables, and their parts that have files of their own. */
extern const struct ws_problem_kind ws_kind_fmha_fwd, ws_kind_fmha_bwd, ws_kind_gemm;
enum ws_status ws_judge_fmha_fwd(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                                 const struct ws_memory memory[WS_TENSOR_COUNT],
                                 const struct ws_rows *rows, size_t count, struct ws_error *error);
enum ws_status ws_judge_fmha_bwd(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                                 const struct ws_memory memory[WS_TENSOR_COUNT],
                                 const struct ws_rows *rows, size_t count, struct ws_error *error);
enum ws_status ws_judge_gemm(struct ws_judgement *judgement, const struct ws_inputs *inputs,
                             const struct ws_memory memory[WS_TENSOR_COUNT],
                             const struct ws_rows *rows, size_t count, struct ws_error *error);

#endif
