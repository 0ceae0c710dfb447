/* The loops of a backward beside what its geometry makes of them. */
#include <stdio.h>
#include <string.h>

#include "tools/wavesmith/figures.h"

static int products(const struct ws_isa_loop *loop)
{
    return (int)loop->hot.by_class[WS_ISA_MMA];
}

const struct ws_fmha_bwd_job *ws_figures_job(const struct ws_figures *figures,
                                             const struct ws_isa_loop *loop)
{
    for (int j = 0; j < figures->dims.job_count; ++j)
        if (figures->dims.jobs[j].matrix_products == products(loop))
            return &figures->dims.jobs[j];
    return NULL;
}

/* The shortest innermost loop of a job; NULL if there is none. */
static const struct ws_isa_loop *shortest_loop(const struct ws_figures *figures,
                                               const struct ws_fmha_bwd_job *job)
{
    const struct ws_isa_loop *shortest = NULL;
    for (int i = 0; i < figures->isa.loop_count; ++i) {
        const struct ws_isa_loop *loop = &figures->isa.loops[i];
        if (loop->innermost && products(loop) == job->matrix_products &&
            (!shortest || loop->hot.total < shortest->hot.total))
            shortest = loop;
    }
    return shortest;
}

/* Of the shortest loop of every job, a score tile each; 0 where one has no loop. */
static double sum_of_jobs(const struct ws_figures *figures,
                          double (*of)(const struct ws_isa_loop *loop))
{
    double sum = 0;
    for (int j = 0; j < figures->dims.job_count; ++j) {
        const struct ws_fmha_bwd_job *job = &figures->dims.jobs[j];
        const struct ws_isa_loop *loop = shortest_loop(figures, job);
        if (!loop)
            return 0;
        sum += of(loop) / job->score_tiles;
    }
    return sum;
}

static double instructions_of(const struct ws_isa_loop *loop)
{
    return (double)loop->hot.total;
}

static double cycles_of(const struct ws_isa_loop *loop)
{
    return loop->cycles;
}

double ws_figures_all_jobs(const struct ws_figures *figures)
{
    return sum_of_jobs(figures, instructions_of);
}

double ws_figures_all_jobs_cycles(const struct ws_figures *figures)
{
    return sum_of_jobs(figures, cycles_of);
}

/* gfx12 signals and waits, each an instruction. */
static int barriers(const struct ws_figures *figures, const struct ws_isa_loop *loop)
{
    const int halves = strncmp(figures->arch, "gfx12", 5) == 0 ? 2 : 1;
    return (int)loop->hot.by_class[WS_ISA_BARRIER] / halves;
}

static enum ws_status check_loop(const struct ws_figures *figures, const struct ws_isa_loop *loop,
                                 struct ws_error *error)
{
    const struct ws_fmha_bwd_job *jobs = figures->dims.jobs;
    const struct ws_fmha_bwd_job *job = ws_figures_job(figures, loop);
    if (!job && figures->dims.job_count > 1)
        return ws_fail(error, WS_ERROR_COMPILE,
                       "the loop at 0x%x has %d matrix products; by the geometry an iteration of "
                       "%s has %d, of %s %d",
                       loop->offset, products(loop), jobs[0].name, jobs[0].matrix_products,
                       jobs[1].name, jobs[1].matrix_products);
    if (!job)
        return ws_fail(error, WS_ERROR_COMPILE,
                       "the loop at 0x%x has %d matrix products; by the geometry an iteration of "
                       "%s has %d",
                       loop->offset, products(loop), jobs[0].name, jobs[0].matrix_products);
    if (barriers(figures, loop) == job->barriers)
        return WS_OK;
    return ws_fail(error, WS_ERROR_COMPILE,
                   "the loop at 0x%x has %d barriers; an iteration of %s has %d", loop->offset,
                   barriers(figures, loop), job->name, job->barriers);
}

enum ws_status ws_figures_check(const struct ws_figures *figures, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    const bool has_jobs = figures->dims.job_count > 0;
    for (int i = 0; i < figures->isa.loop_count && has_jobs && status == WS_OK; ++i) {
        const struct ws_isa_loop *loop = &figures->isa.loops[i];
        if (loop->innermost && products(loop) > 0)
            status = check_loop(figures, loop, error);
    }
    for (int j = 0; j < figures->dims.job_count && status == WS_OK; ++j)
        if (!shortest_loop(figures, &figures->dims.jobs[j]))
            status = ws_fail(error, WS_ERROR_COMPILE,
                             "no loop has the %d matrix products of an iteration of %s",
                             figures->dims.jobs[j].matrix_products, figures->dims.jobs[j].name);
    return status;
}

void ws_figures_print_jobs(const struct ws_figures *figures)
{
    struct ws_error error;
    for (int j = 0; j < figures->dims.job_count; ++j) {
        const struct ws_fmha_bwd_job *job = &figures->dims.jobs[j];
        printf("  job %s: %d waves, %d rows, %d an iteration; of a wave in an iteration: score "
               "tiles %d, matrix products %d, tiles added to dQ %d, barriers %d\n    LDS:",
               job->name, job->waves, job->outer_rows, job->inner_rows, job->score_tiles,
               job->matrix_products, job->dq_tiles, job->barriers);
        for (int i = 0; i < job->lds_count; ++i)
            printf("%s %s %d bytes at %d", i ? "," : "", job->lds[i].name, job->lds[i].bytes,
                   job->lds[i].offset);
        putchar('\n');
    }
    if (figures->dims.job_count == 0)
        return;
    if (ws_figures_check(figures, &error) != WS_OK)
        printf("  NOT its geometry: %s\n", error.message);
    else
        printf("  as the geometry says; instructions a score tile, all jobs: %.1f\n",
               ws_figures_all_jobs(figures));
}

static json_t *job_json(const struct ws_fmha_bwd_job *job)
{
    json_t *tiles = json_array();
    for (int i = 0; i < job->lds_count; ++i)
        json_array_append_new(tiles,
                              json_pack("{s:s, s:i, s:i}", "name", job->lds[i].name, "offset",
                                        job->lds[i].offset, "bytes", job->lds[i].bytes));
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o}", "name", job->name, "waves",
                     job->waves, "outer_rows", job->outer_rows, "inner_rows", job->inner_rows,
                     "score_tiles", job->score_tiles, "matrix_products", job->matrix_products,
                     "dq_tiles", job->dq_tiles, "barriers", job->barriers, "lds", tiles);
}

json_t *ws_figures_jobs_json(const struct ws_figures *figures)
{
    struct ws_error error;
    json_t *jobs = json_array();
    for (int j = 0; j < figures->dims.job_count; ++j)
        json_array_append_new(jobs, job_json(&figures->dims.jobs[j]));
    bool holds = ws_figures_check(figures, &error) == WS_OK;
    return json_pack("{s:o, s:b, s:f}", "list", jobs, "as_geometry", holds, "instr_per_tile",
                     ws_figures_all_jobs(figures));
}
