/* Staging: all threads of a workgroup copy the K and V of a block into LDS, where every wave reads
 * them as operands. A part of struct ws_fwd; functions in gen/fmha_fwd/fwd.h. */
#ifndef WS_GEN_FMHA_FWD_STAGE_H
#define WS_GEN_FMHA_FWD_STAGE_H

#include <stdbool.h>

struct ws_value;

enum {
    WS_FWD_COPIES_MAX = 6, /* K, and V in at most 5 groups: 8 + 4 + 1 + 1 + 1 tiles */
    WS_FWD_ROUNDS_MAX = 32,
    WS_FWD_UNIT_KEYS_MAX = 8,
    WS_FWD_SPREAD_MAX = 8,
    WS_FWD_BLOCK_KEYS = 4, /* of a block that a load from LDS transposes */
    WS_FWD_BLOCK_DIMS = 16,
};

/* Copies neighbouring head dims of all keys of a block. A unit is a run of head dims of some
 * neighbouring keys; a thread copies one unit a round. */
struct ws_fwd_copy {
    bool is_value;
    int first;     /* head dim of the first run */
    int run, runs; /* head dims of a run; runs of a key */
    int columns;   /* runs that a key has room for */
    int keys;      /* of a unit */
    int spread;    /* units of so many keys, of one run, are neighbours; 1: runs are */
    int units, rounds;
    int step;  /* keys from one round to the next, where nothing else differs; 0: rounds differ */
    int tiles; /* of V's groups */
    bool is_transposing; /* by loads between lanes: V's operands as they stand */
    struct ws_value *source[WS_FWD_ROUNDS_MAX]; /* bytes in the block, of the thread */
    struct ws_value *target[WS_FWD_ROUNDS_MAX]; /* LDS address in the first buffer */
    struct ws_value *loaded[WS_FWD_ROUNDS_MAX][WS_FWD_UNIT_KEYS_MAX];
};

struct ws_fwd_stage {
    int threads;
    int key_row_bytes, value_row_bytes; /* in LDS, of a row where rows are staged */
    int value_start, buffer_bytes;      /* V follows K in a buffer */
    struct ws_fwd_copy copy[WS_FWD_COPIES_MAX];
    int copies;
    struct ws_value *array;      /* LDS address of the first buffer */
    struct ws_value *item;       /* of the workgroup */
    struct ws_value *wave_start; /* staging dma: LDS address of the wave's first unit of K */
    struct ws_value *phase;      /* start of the buffer that is read; NULL: there is one only */
    /* LDS addresses of the lane's row of an operand: in the first buffer, carried opaquely; of Q;
     * and in the buffer that is read. */
    struct ws_value *key_read, *value_read, *query_read;
    struct ws_value *key_place, *value_place;
};

#endif
