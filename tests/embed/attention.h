/* What both programs launch: causal attention of random bf16 tensors, [batch, head, token, dim],
 * and what it must give, computed on the host in double. */
#ifndef EMBED_ATTENTION_H
#define EMBED_ATTENTION_H

#include <runtime/abi/rule.h>
#include <runtime/wavesmith_rt.h>

enum { BATCH = 2, HEADS_Q = 4, HEADS_K = 2, QUERIES = 37, KEYS = 75, HEAD_DIM = 64 };
enum {
    Q_COUNT = BATCH * HEADS_Q * QUERIES * HEAD_DIM,
    K_COUNT = BATCH * HEADS_K * KEYS * HEAD_DIM
};

/* The sizes as rules of grids speak of them. */
extern const int64_t attention_sizes[WS_SIZE_COUNT];

struct attention {
    uint16_t q[Q_COUNT], k[K_COUNT], v[K_COUNT];
    struct ws_fmha_fwd_args args; /* with the addresses of the tensors on the device */
};

/* Draws the tensors, copies them to the device, fills the arguments. */
enum ws_status attention_create(struct attention *attention, struct ws_device *device,
                                unsigned seed, struct ws_error *error);
void attention_destroy(struct attention *attention, struct ws_device *device);

/* Holds O on the device, times 1 / `factor`, against the host's. WS_ERROR_DEVICE: it is wrong. */
enum ws_status attention_check(const struct attention *attention, struct ws_device *device,
                               double factor, struct ws_error *error);

#endif
