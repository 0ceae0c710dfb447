/* The figures of a compiled kernel: what its notes declare and what its main loop counts to. */
#ifndef WS_TOOL_FIGURES_H
#define WS_TOOL_FIGURES_H

#include <jansson.h>

#include "gen/wavesmith.h"
#include "runtime/abi/object.h"
#include "tools/wavesmith/isa/isa.h"

/* The head dims of the attention that a kernel computes; 0: unknown. A gemm kernel computes a part
 * of it, score tiles with a head dim of 16 that nothing is multiplied by: {16, 0}. Of a backward
 * the jobs that its loops do say more; without them nothing is known. */
struct ws_head_dims {
    int qk, v;
    int job_count;
    struct ws_fmha_bwd_job jobs[WS_FMHA_BWD_JOBS_MAX];
};
struct ws_head_dims ws_head_dims_of(const struct ws_spec *spec);

/* "128" or, with 'x' as the separator, "192x128"; an underscore may follow. */
bool ws_head_dims_parse(struct ws_head_dims *dims, const char *text, char separator);

struct ws_figures {
    const struct ws_object_kernel *kernel;
    char name[4 * sizeof((struct ws_object_kernel){0}.name) + 5]; /* the kernel's, printable */
    const char *arch;
    struct ws_head_dims dims;
    struct ws_isa isa;
    int waves_per_simd; /* 0: unknown target */
};

/* Reads a kernel of an object, which must outlive the figures, as must the object's image only
 * during the call. Head dims that are not given are taken from a generated kernel's symbol. Free it
 * with ws_figures_free in either case. */
enum ws_status ws_figures_read(struct ws_figures *figures, const void *image,
                               const struct ws_object *object,
                               const struct ws_object_kernel *kernel, struct ws_head_dims dims,
                               struct ws_error *error);
void ws_figures_free(struct ws_figures *figures);

/* The figures of what was compiled of a spec, and its object. Free both in either case, the figures
 * first. */
enum ws_status ws_figures_of_compiled(struct ws_figures *figures, struct ws_object *object,
                                      const struct ws_compiled *compiled,
                                      const struct ws_spec *spec, struct ws_error *error);

/* The main loop: the innermost one with the most matrix products, of those the one with the fewest
 * instructions; NULL if none has any products. */
const struct ws_isa_loop *ws_figures_main_loop(const struct ws_figures *figures);

/* 16 x 16 score tiles of one round of a loop, of gemm 16x16x16 products; 0 if the head dims are
 * unknown. */
double ws_figures_tiles(const struct ws_figures *figures, const struct ws_isa_loop *loop);

/* Instructions a score tile of the main loop; of a backward the sum over its jobs, as of a score. 0
 * if unknown. */
double ws_figures_instructions(const struct ws_figures *figures);

/* Cycles a score tile of the main loop if nothing overlaps: matrix products at their rate, every
 * other instruction at its issue cost. Of a backward the sum over its jobs, of the shortest loop
 * of each. 0 if unknown. The lower, the better. */
double ws_figures_score(const struct ws_figures *figures);

/* The job that a loop of a backward does: the one with as many matrix products; NULL if none has.
 */
const struct ws_fmha_bwd_job *ws_figures_job(const struct ws_figures *figures,
                                             const struct ws_isa_loop *loop);

/* Instructions, and cycles as of a score, for a score tile: of the shortest loop of each job,
 * summed up; 0 if some job has none. */
double ws_figures_all_jobs(const struct ws_figures *figures);
double ws_figures_all_jobs_cycles(const struct ws_figures *figures);

/* Holds the loops of a backward against its geometry: each innermost loop with matrix products has
 * exactly as many of them, and barriers, as a job has in an iteration, and each job has a loop.
 * WS_ERROR_COMPILE says what differs. Other kernels pass. */
enum ws_status ws_figures_check(const struct ws_figures *figures, struct ws_error *error);

/* The geometry of the jobs, as text lines and as JSON. */
void ws_figures_print_jobs(const struct ws_figures *figures);
json_t *ws_figures_jobs_json(const struct ws_figures *figures);

json_t *ws_figures_json(const struct ws_figures *figures);
void ws_figures_print(const struct ws_figures *figures);

/* Two kernels side by side, a line each figure, with the change from the first to the second. */
void ws_figures_compare(const struct ws_figures *a, const struct ws_figures *b);

#endif
