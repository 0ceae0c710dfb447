/* A problem: sizes, where each row lies and, of attention, mask, features and scale. Says nothing
 * of how a kernel computes it. What differs from kind to kind is in the kind's table
 * (tools/wavesmith/kind.h). */
#ifndef WS_TOOL_PROBLEM_H
#define WS_TOOL_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen/spec.h"
#include "tools/wavesmith/number.h"

/* The tensors of all kinds. A matrix has one head, its tokens are its rows. DELTA is the backward's
 * D = rowsum(dO * O); DQ_SUMS are what it adds up before dQ, in problem.dq_groups copies, each of
 * all sequences; the gradient of a sink has one token a head. */
enum ws_tensor_id {
    WS_Q,
    WS_K,
    WS_V,
    WS_BIAS,
    WS_A,
    WS_B,
    WS_O,
    WS_LSE,
    WS_C,
    WS_DO,
    WS_DELTA,
    WS_DQ,
    WS_DK,
    WS_DV,
    WS_DBIAS,
    WS_DSINK,
    WS_DQ_SUMS,
    WS_TENSOR_COUNT
};
enum ws_axis { WS_BATCH, WS_HEAD, WS_TOKEN, WS_AXIS_COUNT };
enum ws_layout { WS_BSHD, WS_BHSD };

/* --shape: what was given; -1 where it was not. batch is of all kinds, m, n and k are of gemm, the
 * others of attention. */
struct ws_sizes {
    int64_t batch, heads_q, heads_k, seqlen_q, seqlen_k, head_dim_qk, head_dim_v;
    int64_t m, n, k;
};

/* Lengths of the sequences of a packed batch; used: how many of its keys count. */
enum ws_length_kind { WS_LENGTH_Q, WS_LENGTH_K, WS_LENGTH_USED_K, WS_LENGTH_KINDS };
enum { WS_SEQUENCES_MAX = 32 };

struct ws_problem {
    enum ws_kernel_kind kind;
    struct ws_sizes size; /* all of the kind's given, others -1; varlen: the longest lengths */
    enum ws_dtype dtype;
    enum ws_out out;
    enum ws_mask mask;
    enum ws_align align;
    enum ws_v_layout v_layout;
    bool lse, varlen, sink, alibi, bias;
    int dq_groups;     /* of a backward: copies of the sums of dQ; 0: none are kept */
    bool q_rounded;    /* Q is scaled and rounded to its own type, which is less accurate */
    bool p_truncated;  /* P is rounded towards zero, and summed as it is then */
    double softcap;    /* 0: none */
    int64_t window[2]; /* of mask window: keys left and right of the diagonal, -1 for all */
    bool window_fixed; /* by the spec */
    bool uses_part;    /* varlen: not all keys count */
    int64_t length[WS_LENGTH_KINDS][WS_SEQUENCES_MAX];
    float lost_below;   /* the target's matrix products take smaller inputs as 0; 0: none */
    int alignment;      /* bytes; no pointer is aligned better, every stride is a multiple */
    double score_scale; /* scale = score_scale / sqrt(head_dim_qk) */
    enum ws_layout layout;
    int64_t stride[WS_TENSOR_COUNT][WS_AXIS_COUNT]; /* elements */
    uint64_t seed;                                  /* of the inputs */
};

/* "B=2,Hq=4,Hk=2,Sq=200,Sk=333,D=128[,Dv=64]" or "B=1,M=200,N=100,K=333", in any order, each at
 * most once. */
enum ws_status ws_sizes_parse(struct ws_sizes *sizes, const char *text, struct ws_error *error);

/* Whether a size is given that problems of a kind have not. */
bool ws_sizes_are_foreign(const struct ws_sizes *sizes, enum ws_kernel_kind kind);

/* Takes the head dims, dtype and mask from a spec whose head dims are not open, sizes that were not
 * given from B=1, Hq=2, Hk=1, Sq=100, Sk=133, M=100, N=70, K=133, and packs every tensor in the
 * given layout. Sizes of another kind are WS_ERROR_ARGUMENT. */
enum ws_status ws_problem_init(struct ws_problem *problem, const struct ws_spec *spec,
                               const struct ws_sizes *sizes, enum ws_layout layout,
                               struct ws_error *error);

/* Refuses sizes of which some tensor has more than 2^30 elements: its rows are all drawn and kept
 * in memory, whichever of them are checked. */
enum ws_status ws_problem_check_sizes(const struct ws_problem *problem, struct ws_error *error);

/* Lays every tensor out packed in problem->layout. */
void ws_problem_pack(struct ws_problem *problem);

/* "q:batch=123" sets a stride, "q:batch" (of --far) one that reaches beyond 2^32 elements. The
 * tokens of one tile, of Q and of K, or rows and columns of C (0: one), may span less than 2^32
 * bytes; where they would not, and where the axis is too short, the error names the size that would
 * do. */
struct ws_tile {
    int64_t queries, keys;
};
enum ws_status ws_problem_set_stride(struct ws_problem *problem, const char *text,
                                     struct ws_error *error);
enum ws_status ws_problem_set_far(struct ws_problem *problem, const char *text,
                                  const struct ws_tile *tile, struct ws_error *error);

/* Draws sizes, layout and strides; head dims, dtype, mask and alignment stay. Sizes lie around what
 * 16-key tiles make special, 0 included; padding, broadcasts and grouped heads occur. */
void ws_problem_randomize(struct ws_problem *problem, struct ws_random *random);

/* The command-line options that state the problem again but for its mask,
 * "--shape ... --layout ... --seed ...". */
enum { WS_PROBLEM_TEXT_SIZE = 2048 };
void ws_problem_text(const struct ws_problem *problem, char text[WS_PROBLEM_TEXT_SIZE]);

/* For the kinds: a length around tile edges, and more text at the end. */
int64_t ws_draw_length(struct ws_random *random);
void ws_problem_append(char text[WS_PROBLEM_TEXT_SIZE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Features: taken from a spec with values of their own, drawn, set by the options --lengths-q,
 * --lengths-k, --used-k and --window, and as text behind a problem's. */
enum ws_status ws_problem_take_features(struct ws_problem *problem, const struct ws_spec *spec,
                                        struct ws_error *error);
void ws_problem_draw_features(struct ws_problem *problem, struct ws_random *random);
enum ws_status ws_problem_set_lengths(struct ws_problem *problem, enum ws_length_kind kind,
                                      const char *text, struct ws_error *error);
enum ws_status ws_problem_set_window(struct ws_problem *problem, const char *text,
                                     struct ws_error *error);
/* All of those that a command line gives, and --softcap. */
struct ws_arguments;
enum ws_status ws_problem_set_features(struct ws_problem *problem,
                                       const struct ws_arguments *arguments,
                                       struct ws_error *error);
void ws_features_text(const struct ws_problem *problem, char text[WS_PROBLEM_TEXT_SIZE]);

/* Number of indices along an axis in memory, and elements of one row there (head dim; keys of the
 * bias and of a transposed V, whose tokens are head dims; 1 for LSE). Packed sequences are one
 * batch. A tensor that the problem does not have is empty. */
int64_t ws_tensor_extent(const struct ws_problem *problem, enum ws_tensor_id tensor,
                         enum ws_axis axis);
int64_t ws_tensor_row_length(const struct ws_problem *problem, enum ws_tensor_id tensor);
int ws_tensor_element_bytes(const struct ws_problem *problem, enum ws_tensor_id tensor);

/* Whether problems of a kind have the tensor at all, for its kernels to read or to write. Whether
 * its tokens are keys; whether it has one element for each score; whether the sequences of this
 * problem follow each other in it. */
bool ws_tensor_is_of(enum ws_tensor_id tensor, enum ws_kernel_kind kind);
bool ws_tensor_is_input(enum ws_tensor_id tensor, enum ws_kernel_kind kind);
bool ws_tensor_is_output(enum ws_tensor_id tensor, enum ws_kernel_kind kind);
bool ws_tensor_is_summed(enum ws_tensor_id tensor); /* kernels add to it: it is 0 before */
bool ws_tensor_is_of_keys(enum ws_tensor_id tensor);
bool ws_tensor_is_of_scores(enum ws_tensor_id tensor);
bool ws_tensor_is_packed(const struct ws_problem *problem, enum ws_tensor_id tensor);
bool ws_problem_has_gradients(const struct ws_problem *problem); /* it is of a backward */
const char *ws_tensor_name(enum ws_tensor_id tensor);

/* Offset of a row in elements, by its indices in memory. */
int64_t ws_tensor_offset(const struct ws_problem *problem, enum ws_tensor_id tensor, int64_t batch,
                         int64_t head, int64_t token);

/* Turns a sequence and a token of it into indices in memory: packed sequences follow each other. */
void ws_tensor_place(const struct ws_problem *problem, enum ws_tensor_id tensor, int64_t *batch,
                     int64_t *token);

/* A sequence: how many queries and keys (that count), where it starts in the packed tokens, and
 * which key, from its query's index, is on the diagonal of a mask. */
int64_t ws_sequence_queries(const struct ws_problem *problem, int64_t batch);
int64_t ws_sequence_keys(const struct ws_problem *problem, int64_t batch);
int64_t ws_sequence_start(const struct ws_problem *problem, enum ws_length_kind kind,
                          int64_t batch);
int64_t ws_sequence_shift(const struct ws_problem *problem, int64_t batch);

/* The keys that the mask shows to a query: begin up to but without end; equal where there are none.
 */
struct ws_visible {
    int64_t begin, end;
};
struct ws_visible ws_visible_keys(const struct ws_problem *problem, int64_t batch, int64_t query);

float ws_problem_scale(const struct ws_problem *problem);

#endif
