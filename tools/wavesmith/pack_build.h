/* Building a pack: the points of configs become tasks, workers compile them, their answers become
 * rows. */
#ifndef WS_TOOL_PACK_BUILD_H
#define WS_TOOL_PACK_BUILD_H

#include "tools/wavesmith/cache.h"
#include "tools/wavesmith/fingerprint.h"
#include "tools/wavesmith/pack.h"
#include "tools/wavesmith/points.h"

enum ws_pack_outcome { WS_PACK_BUILT, WS_PACK_SKIPPED, WS_PACK_FAILED };

/* A kernel that a worker made. */
struct ws_pack_kernel {
    char build_id[WS_ID_SIZE];
    char backend[16], backend_version[64];
    struct ws_kernel_shape shape; /* its argument table is static, so it is the parent's too */
    double score;
    char sha256[WS_PACK_HASH_SIZE];
    size_t object_bytes, zstd_bytes;
};

/* What a worker answers: this, and behind it the text of the verification and the compressed
 * objects, in order. */
struct ws_pack_answer {
    enum ws_pack_outcome outcome;
    char reason[WS_ERROR_MESSAGE_SIZE]; /* unless it was built */
    char trouble[256];                  /* with the cache; "" for none */
    size_t point;                       /* of the config: the alternative that was picked */
    size_t verification_bytes;
    size_t kernel_count; /* as ws_launches_of */
    struct ws_pack_kernel kernels[WS_FMHA_BWD_STEPS_MAX];
};

/* A point, or the first of alternatives. */
struct ws_pack_task {
    size_t config, point;
    bool is_done;
    enum ws_pack_outcome outcome;
    char *reason; /* NULL where it was built */
    size_t row;   /* of a built one; of an operation of steps, whose rows are those before it */
};

/* Rows and what they point to. */
struct ws_pack_rows {
    struct ws_pack_row *rows;
    struct ws_pack_product **products; /* one a row */
    size_t count, room;
};

struct ws_pack_build {
    const struct ws_arguments *arguments;
    struct ws_points *configs; /* one an operand */
    size_t config_count;
    struct ws_pack_task *tasks;
    size_t task_count;
    struct ws_pack_rows rows;
    struct ws_cache cache;
    char fingerprint[WS_FINGERPRINT_SIZE];
    uint64_t seed;
    char trouble[256]; /* with the cache */
};

/* Loads the configs and lists the tasks of the shard; points that cannot be generated are skipped
 * already. Zero the struct first; free it in either case. */
enum ws_status ws_pack_build_create(struct ws_pack_build *build,
                                    const struct ws_arguments *arguments, struct ws_error *error);
void ws_pack_build_free(struct ws_pack_build *build);

/* Where compiled code is kept unless --cache says another place; "" if there is none. */
void ws_pack_cache_folder(char folder[PATH_MAX]);

/* Serves tasks in a worker. */
void ws_pack_work(const struct ws_pack_build *build, int socket);

/* Adds the row of an answer, and before it, of an operation of steps, those of the steps: the
 * answer, then its parts. WS_ERROR_MEMORY, or WS_ERROR_PACK if an object cannot be read; then none
 * is added. */
enum ws_status ws_pack_rows_add(struct ws_pack_rows *rows, const struct ws_config_point *point,
                                const struct ws_pack_answer *answer, const char *parts,
                                struct ws_error *error);

/* Copies a row, after those of its steps, to the end of the `count` rows at `to`. */
void ws_pack_rows_copy(struct ws_pack_rows *rows, size_t row, struct ws_pack_row *to,
                       size_t *count);
void ws_pack_rows_free(struct ws_pack_rows *rows);

#endif
