#include "runtime/pack/delta.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* How many objects before one are tried as its base, at which level, and the level of what is kept.
 */
enum { WINDOW = 16, LEVEL_TRIED = 1, LEVEL_KEPT = 19, THREADS_MAX = 16 };

struct work {
    struct ws_delta *deltas;
    uint32_t count;
    uint32_t (*sizes)[WINDOW + 1]; /* of each object alone, and with each of those before it */
    bool (*step)(struct work *work, ZSTD_CCtx *context, uint32_t index);
    atomic_uint_fast32_t next;
    atomic_bool failed;
};

/* The window of a frame reaches over the base and the object. */
static int window_log(size_t bytes)
{
    int log = 10;
    while ((size_t)1 << log < bytes)
        log++;
    return log;
}

/* Returns the frame's bytes, 0 without memory. */
static size_t compress(ZSTD_CCtx *context, int level, const struct ws_delta *object,
                       const struct ws_delta *base, void *frame, size_t room)
{
    ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    if (base) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log(base->bytes + object->bytes));
        ZSTD_CCtx_refPrefix(context, base->image, base->bytes);
    }
    const size_t length = ZSTD_compress2(context, frame, room, object->image, object->bytes);
    return ZSTD_isError(length) ? 0 : length;
}

static bool try_bases(struct work *work, ZSTD_CCtx *context, uint32_t index)
{
    const struct ws_delta *object = &work->deltas[index];
    const size_t room = ZSTD_compressBound(object->bytes);
    void *frame = malloc(room);
    bool is_done = frame != NULL;
    for (uint32_t i = 0; is_done && i <= WINDOW && i <= index; i++) {
        const size_t size =
            compress(context, LEVEL_TRIED, object, i > 0 ? object - i : NULL, frame, room);
        work->sizes[index][i] = (uint32_t)size;
        is_done = size > 0;
    }
    free(frame);
    return is_done;
}

static bool keep(struct work *work, ZSTD_CCtx *context, uint32_t index)
{
    struct ws_delta *object = &work->deltas[index];
    const struct ws_delta *base =
        object->base == WS_DELTA_NONE ? NULL : &work->deltas[object->base];
    const size_t room = ZSTD_compressBound(object->bytes);
    object->zstd = malloc(room);
    object->zstd_bytes =
        object->zstd ? compress(context, LEVEL_KEPT, object, base, object->zstd, room) : 0;
    void *fitting = object->zstd_bytes > 0 ? realloc(object->zstd, object->zstd_bytes) : NULL;
    object->zstd = fitting ? fitting : object->zstd;
    return object->zstd_bytes > 0;
}

static void *run(void *context)
{
    struct work *work = context;
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    for (uint_fast32_t i; !work->failed && (i = work->next++) < work->count;) {
        if (!compressor || !work->step(work, compressor, (uint32_t)i))
            work->failed = true;
    }
    ZSTD_freeCCtx(compressor);
    return NULL;
}

/* Calls a step for every object. */
static bool for_all(struct work *work,
                    bool (*step)(struct work *work, ZSTD_CCtx *context, uint32_t index))
{
    pthread_t threads[THREADS_MAX];
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int count = 0;
    work->step = step;
    work->next = 0;
    while (count < THREADS_MAX - 1 && count < cores - 1 && (uint32_t)count + 1 < work->count &&
           pthread_create(&threads[count], NULL, run, work) == 0)
        count++;
    run(work);
    while (count > 0)
        pthread_join(threads[--count], NULL);
    return !work->failed;
}

/* The best base of each object, in order, as far down as bases may go. */
static bool choose_bases(struct work *work)
{
    uint8_t *depths = calloc(work->count, 1);
    for (uint32_t i = 0; depths && i < work->count; i++) {
        uint32_t best = 0;
        for (uint32_t j = 1; j <= WINDOW && j <= i; j++) {
            if (work->sizes[i][j] < work->sizes[i][best] && depths[i - j] < WS_DELTA_DEPTH_MAX)
                best = j;
        }
        work->deltas[i].base = best > 0 ? (int64_t)i - best : WS_DELTA_NONE;
        depths[i] = best > 0 ? (uint8_t)(depths[i - best] + 1) : 0;
    }
    free(depths);
    return depths != NULL;
}

enum ws_status ws_deltas_make(struct ws_delta *deltas, uint32_t count, struct ws_error *error)
{
    struct work work = {.deltas = deltas, .count = count};
    if (count == 0)
        return WS_OK;
    work.sizes = calloc(count, sizeof *work.sizes);
    const bool is_done =
        work.sizes && for_all(&work, try_bases) && choose_bases(&work) && for_all(&work, keep);
    free(work.sizes);
    return is_done ? WS_OK
                   : ws_fail(error, WS_ERROR_MEMORY,
                             "out of memory to compress %" PRIu32 " objects", count);
}

void ws_deltas_free(struct ws_delta *deltas, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(deltas[i].zstd);
}
