/* What a worker of a build does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/code_cache.h"
#include "tools/wavesmith/figures.h"
#include "tools/wavesmith/pack_build.h"
#include "tools/wavesmith/pack_trial.h"
#include "tools/wavesmith/workers.h"

struct worker {
    const struct ws_pack_build *build;
    struct ws_worker_pool *pool; /* for points with backend options */
    struct ws_cache cache;
    struct ws_code_cache code_cache;
    struct ws_pack_trial trial;
};

static enum ws_status measure(double *score, const struct ws_compiled *compiled,
                              const struct ws_spec *spec, struct ws_error *error)
{
    struct ws_object object;
    struct ws_figures figures;
    enum ws_status status = ws_figures_of_compiled(&figures, &object, compiled, spec, error);
    if (status == WS_OK)
        *score = ws_figures_score(&figures);
    ws_figures_free(&figures);
    ws_object_free(&object);
    return status;
}

/* The score, from the cache if it is there. */
static enum ws_status find_score(struct worker *worker, double *score,
                                 const struct ws_compiled *compiled, const struct ws_spec *spec,
                                 struct ws_error *error)
{
    char key[WS_CACHE_KEY_SIZE];
    uint8_t *text = NULL;
    size_t size = 0;
    ws_cache_key(key, "score 1", compiled->code.build_id, worker->build->fingerprint, NULL);
    if (ws_cache_find(&worker->cache, key, &text, &size)) {
        *score = strtod((const char *)text, NULL);
        free(text);
        return WS_OK;
    }
    char buffer[32];
    enum ws_status status = measure(score, compiled, spec, error);
    int length = snprintf(buffer, sizeof buffer, "%.17g", *score);
    if (status == WS_OK)
        ws_cache_keep(&worker->cache, key, buffer, (size_t)length);
    return status;
}

/* The problem of --verify for a point. */
static enum ws_status make_problem(const struct ws_config_point *point, uint64_t seed,
                                   struct ws_problem *problem, struct ws_error *error)
{
    const struct ws_variant variant = {
        .kind = point->spec.kind,
        .seqlen_q_min = (int32_t)point->when.seqlen_q.min,
        .seqlen_q_max = (int32_t)point->when.seqlen_q.max,
        .seqlen_k_min = (int32_t)point->when.seqlen_k.min,
        .seqlen_k_max = (int32_t)point->when.seqlen_k.max,
    };
    return ws_variant_problem(&variant, &point->spec, seed, problem, error);
}

/* The kernels of a point, in the order of their launches. */
struct product {
    struct ws_compiled compiled[WS_FMHA_BWD_STEPS_MAX];
    struct ws_pack_blob blobs[WS_FMHA_BWD_STEPS_MAX];
    char *verification; /* NULL for none */
};

static void free_product(struct product *product)
{
    for (int i = 0; i < WS_FMHA_BWD_STEPS_MAX; ++i) {
        ws_compiled_free(&product->compiled[i]);
        ws_pack_blob_free(&product->blobs[i]);
    }
    free(product->verification);
}

static bool send(int socket, struct ws_pack_answer *answer, const struct product *product)
{
    answer->verification_bytes = product->verification ? strlen(product->verification) : 0;
    size_t size = sizeof *answer + answer->verification_bytes;
    for (size_t i = 0; i < answer->kernel_count; ++i)
        size += answer->kernels[i].zstd_bytes;
    char *message = malloc(size);
    if (!message)
        return false;
    char *at = mempcpy(message, answer, sizeof *answer);
    if (product->verification)
        at = mempcpy(at, product->verification, answer->verification_bytes);
    for (size_t i = 0; i < answer->kernel_count; ++i)
        at = mempcpy(at, product->blobs[i].zstd, answer->kernels[i].zstd_bytes);
    bool sent = ws_worker_answer(socket, message, size);
    free(message);
    return sent;
}

static void describe(struct ws_pack_kernel *kernel, const struct ws_compiled *compiled,
                     const struct ws_pack_blob *blob)
{
    const struct ws_code *code = &compiled->code;
    kernel->shape = compiled->shape;
    kernel->object_bytes = blob->bytes;
    kernel->zstd_bytes = blob->zstd_bytes;
    memcpy(kernel->build_id, code->build_id, sizeof kernel->build_id);
    memcpy(kernel->backend, code->backend, sizeof kernel->backend);
    memcpy(kernel->backend_version, code->backend_version, sizeof kernel->backend_version);
    memcpy(kernel->sha256, blob->sha256, sizeof kernel->sha256);
}

/* Score and compressed object of the kernel that was compiled last. */
static enum ws_status finish_kernel(struct worker *worker, struct ws_pack_kernel *kernel,
                                    const struct ws_spec *spec, const struct ws_compiled *compiled,
                                    struct ws_pack_blob *blob, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    *blob = worker->code_cache.latest;
    worker->code_cache.latest = (struct ws_pack_blob){0};
    if (!blob->zstd)
        status = ws_pack_blob_make(blob, compiled->code.bytes, compiled->code.size, error);
    if (status == WS_OK)
        status = find_score(worker, &kernel->score, compiled, spec, error);
    if (status == WS_OK)
        describe(kernel, compiled, blob);
    return status;
}

/* A step beside the main part. */
static enum ws_status compile_step(struct ws_compiled *compiled, const struct ws_spec *spec,
                                   const struct ws_codegen_options *options, int max_spills,
                                   struct ws_error *error)
{
    enum ws_status status = ws_compile(spec, options, compiled, error);
    return status == WS_OK ? ws_spills_check(spec, compiled, max_spills, error) : status;
}

/* The kernels of a point. That of its own spec is compiled, and comes first; it is taken over. */
static enum ws_status make_kernels(struct worker *worker, struct ws_pack_answer *answer,
                                   struct product *product, const struct ws_config_point *point,
                                   struct ws_compiled *own,
                                   const struct ws_codegen_options *options, int max_spills,
                                   struct ws_error *error)
{
    struct ws_spec launches[WS_FMHA_BWD_STEPS_MAX];
    const int count = ws_launches_of(&point->spec, launches);
    int at = 0;
    while (at < WS_FMHA_BWD_STEPS_MAX - 1 && launches[at].part != point->spec.part)
        ++at;
    product->compiled[at] = *own;
    *own = (struct ws_compiled){0};
    enum ws_status status = finish_kernel(worker, &answer->kernels[at], &point->spec,
                                          &product->compiled[at], &product->blobs[at], error);
    for (int i = 0; i < count && i < WS_FMHA_BWD_STEPS_MAX && status == WS_OK; ++i) {
        if (i == at)
            continue;
        status = compile_step(&product->compiled[i], &launches[i], options, max_spills, error);
        if (status == WS_OK)
            status = finish_kernel(worker, &answer->kernels[i], &launches[i], &product->compiled[i],
                                   &product->blobs[i], error);
    }
    answer->kernel_count = (size_t)count;
    return status;
}

/* The record of an operation that passed, from the cache if it is there; none and a reason if it
 * did not pass. */
static enum ws_status find_verification(struct worker *worker, struct product *product,
                                        char reason[WS_ERROR_MESSAGE_SIZE],
                                        const struct ws_config_point *point, struct ws_error *error)
{
    char key[WS_CACHE_KEY_SIZE];
    char text[WS_PROBLEM_TEXT_SIZE];
    struct ws_problem problem;
    const struct ws_compiled *of = product->compiled; /* build_id is empty where there is none */
    size_t size = 0;
    char **record = &product->verification;
    const char *device = worker->build->arguments->device;
    enum ws_status status = make_problem(point, worker->build->seed, &problem, error);
    if (status != WS_OK)
        return status;
    ws_problem_text(&problem, text);
    ws_cache_key(key, "verification 2", of[0].code.build_id, of[1].code.build_id,
                 of[2].code.build_id, worker->build->fingerprint, text, device ? device : "", NULL);
    if (ws_cache_find(&worker->cache, key, (uint8_t **)record, &size))
        return WS_OK;
    const struct ws_pack_subject subject = {&point->spec, product->compiled, &problem};
    status = ws_pack_try(&worker->trial, &subject, record, reason, error);
    if (status == WS_OK && *record)
        ws_cache_keep(&worker->cache, key, *record, strlen(*record));
    return status;
}

/* LLVM unless --backend says another, so that a pack does not depend on what else is installed; in
 * this process, which is isolated already. */
static enum ws_status codegen_options(struct ws_codegen_options *options,
                                      const struct ws_arguments *arguments, struct ws_error *error)
{
    *options = (struct ws_codegen_options){.backend = WS_BACKEND_LLVM};
    return arguments->backend ? ws_codegen_from(options, arguments, error) : WS_OK;
}

/* Everything about one point. A failure is of this point alone. */
static enum ws_status make(struct worker *worker, const struct ws_pack_task *task,
                           struct ws_pack_answer *answer, struct product *product,
                           struct ws_error *error)
{
    const struct ws_pack_build *build = worker->build;
    const struct ws_config *config = &build->configs[task->config].config;
    struct ws_codegen_options options;
    struct ws_config_point picked;
    struct ws_compiled own = {0};
    enum ws_status status = codegen_options(&options, build->arguments, error);
    options.pool = worker->pool;
    options.store = &worker->code_cache.store;
    if (status == WS_OK)
        status = ws_config_choose(config, task->point, &options, &picked, &own, error);
    if (status == WS_OK && picked.reason[0]) {
        memcpy(answer->reason, picked.reason, sizeof answer->reason);
        return WS_OK;
    }
    if (status == WS_OK)
        status = make_kernels(worker, answer, product, &picked, &own, &options, config->max_spills,
                              error);
    if (status == WS_OK && build->arguments->verify)
        status = find_verification(worker, product, answer->reason, &picked, error);
    if (status == WS_OK)
        answer->point = picked.number - 1;
    ws_compiled_free(&own);
    return status;
}

static bool serve(struct worker *worker, const struct ws_pack_task *task, int socket)
{
    struct ws_pack_answer answer = {.outcome = WS_PACK_BUILT};
    struct product product = {0};
    struct ws_error error = {0};
    enum ws_status status = make(worker, task, &answer, &product, &error);
    if (status != WS_OK)
        memcpy(answer.reason, error.message, sizeof answer.reason);
    if (answer.reason[0]) {
        answer.outcome = WS_PACK_FAILED;
        answer.kernel_count = 0;
    }
    memcpy(answer.trouble, worker->cache.trouble, sizeof answer.trouble);
    bool sent =
        ws_is_of_run(status) ? ws_worker_fail(socket, &error) : send(socket, &answer, &product);
    free_product(&product);
    return sent;
}

void ws_pack_work(const struct ws_pack_build *build, int socket)
{
    struct worker worker = {
        .build = build, .cache = build->cache, .trial.choice = build->arguments->device};
    size_t task;
    ws_worker_pool_create(&worker.pool, NULL);
    ws_code_cache_begin(&worker.code_cache, &worker.cache);
    while (ws_worker_next(socket, &task) && serve(&worker, &build->tasks[task], socket))
        ;
    ws_code_cache_end(&worker.code_cache);
    ws_pack_trial_close(&worker.trial);
    ws_worker_pool_free(worker.pool);
}
