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
    const struct ws_code *code = &compiled->code;
    struct ws_object object = {0};
    struct ws_figures figures = {0};
    const struct ws_object_kernel *kernel = NULL;
    enum ws_status status = ws_object_read(&object, code->bytes, code->size, error);
    if (status == WS_OK)
        status = ws_object_choose(&object, compiled->shape.symbol, &kernel, error);
    if (status == WS_OK)
        status =
            ws_figures_read(&figures, code->bytes, &object, kernel, ws_head_dims_of(spec), error);
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

/* The record of a kernel that passed, from the cache if it is there; NULL and a reason if it did
 * not pass. */
static enum ws_status find_verification(struct worker *worker, char **record,
                                        char reason[WS_ERROR_MESSAGE_SIZE],
                                        const struct ws_compiled *compiled,
                                        const struct ws_config_point *point, struct ws_error *error)
{
    char key[WS_CACHE_KEY_SIZE];
    char text[WS_PROBLEM_TEXT_SIZE];
    struct ws_problem problem;
    size_t size = 0;
    const char *device = worker->build->arguments->device;
    enum ws_status status = make_problem(point, worker->build->seed, &problem, error);
    if (status != WS_OK)
        return status;
    ws_problem_text(&problem, text);
    ws_cache_key(key, "verification 1", compiled->code.build_id, worker->build->fingerprint, text,
                 device ? device : "", NULL);
    if (ws_cache_find(&worker->cache, key, (uint8_t **)record, &size))
        return WS_OK;
    const struct ws_pack_subject subject = {&point->spec, compiled, &problem};
    status = ws_pack_try(&worker->trial, &subject, record, reason, error);
    if (status == WS_OK && *record)
        ws_cache_keep(&worker->cache, key, *record, strlen(*record));
    return status;
}

static bool send(int socket, struct ws_pack_answer *answer, const char *verification,
                 const struct ws_pack_blob *blob)
{
    answer->verification_bytes = verification ? strlen(verification) : 0;
    answer->zstd_bytes = blob ? blob->zstd_bytes : 0;
    size_t size = sizeof *answer + answer->verification_bytes + answer->zstd_bytes;
    char *message = malloc(size);
    if (!message)
        return false;
    memcpy(message, answer, sizeof *answer);
    if (verification)
        memcpy(message + sizeof *answer, verification, answer->verification_bytes);
    if (blob)
        memcpy(message + size - blob->zstd_bytes, blob->zstd, blob->zstd_bytes);
    bool sent = ws_worker_answer(socket, message, size);
    free(message);
    return sent;
}

static void describe(struct ws_pack_answer *answer, const struct ws_compiled *compiled,
                     const struct ws_config_point *point, const struct ws_pack_blob *blob)
{
    const struct ws_code *code = &compiled->code;
    answer->point = point->number - 1;
    answer->shape = compiled->shape;
    answer->object_bytes = blob->bytes;
    memcpy(answer->build_id, code->build_id, sizeof answer->build_id);
    memcpy(answer->backend, code->backend, sizeof answer->backend);
    memcpy(answer->backend_version, code->backend_version, sizeof answer->backend_version);
    memcpy(answer->sha256, blob->sha256, sizeof answer->sha256);
}

/* Everything about one kernel. A failure is of this kernel alone. */
static enum ws_status make(struct worker *worker, struct ws_pack_answer *answer,
                           const struct ws_compiled *compiled, const struct ws_config_point *point,
                           char **verification, struct ws_error *error)
{
    struct ws_pack_blob *blob = &worker->code_cache.latest;
    enum ws_status status = WS_OK;
    if (!blob->zstd)
        status = ws_pack_blob_make(blob, compiled->code.bytes, compiled->code.size, error);
    if (status == WS_OK)
        status = find_score(worker, &answer->score, compiled, &point->spec, error);
    if (status == WS_OK && worker->build->arguments->verify)
        status = find_verification(worker, verification, answer->reason, compiled, point, error);
    if (status == WS_OK && answer->reason[0])
        answer->outcome = WS_PACK_FAILED;
    else if (status == WS_OK)
        describe(answer, compiled, point, blob);
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

static bool concerns_all(enum ws_status status)
{
    return status == WS_ERROR_ENVIRONMENT || status == WS_ERROR_MEMORY;
}

static bool serve(struct worker *worker, const struct ws_pack_task *task, int socket)
{
    const struct ws_pack_build *build = worker->build;
    struct ws_codegen_options options;
    struct ws_config_point picked;
    struct ws_compiled compiled = {0};
    struct ws_pack_answer answer = {.outcome = WS_PACK_BUILT};
    struct ws_error error = {0};
    char *verification = NULL;
    enum ws_status status = codegen_options(&options, build->arguments, &error);
    options.pool = worker->pool;
    options.store = &worker->code_cache.store;
    if (status == WS_OK)
        status = ws_config_choose(&build->configs[task->config].config, task->point, &options,
                                  &picked, &compiled, &error);
    if (status == WS_OK && !picked.reason[0])
        status = make(worker, &answer, &compiled, &picked, &verification, &error);
    if (status == WS_OK && picked.reason[0]) {
        answer.outcome = WS_PACK_FAILED;
        memcpy(answer.reason, picked.reason, sizeof answer.reason);
    } else if (status != WS_OK) {
        answer.outcome = WS_PACK_FAILED;
        memcpy(answer.reason, error.message, sizeof answer.reason);
    }
    memcpy(answer.trouble, worker->cache.trouble, sizeof answer.trouble);
    bool is_built = answer.outcome == WS_PACK_BUILT;
    bool sent = concerns_all(status) ? ws_worker_fail(socket, &error)
                                     : send(socket, &answer, verification,
                                            is_built ? &worker->code_cache.latest : NULL);
    free(verification);
    ws_compiled_free(&compiled);
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
