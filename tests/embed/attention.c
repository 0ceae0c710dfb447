#include "attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const int64_t attention_sizes[WS_SIZE_COUNT] = {
    [WS_SIZE_B] = BATCH, [WS_SIZE_Hq] = HEADS_Q,   [WS_SIZE_Hk] = HEADS_K,  [WS_SIZE_Sq] = QUERIES,
    [WS_SIZE_Sk] = KEYS, [WS_SIZE_Dqk] = HEAD_DIM, [WS_SIZE_Dv] = HEAD_DIM,
};

static uint16_t to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double from_bf16(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void draw(uint16_t *to, int count, unsigned *state)
{
    for (int i = 0; i < count; i++) {
        *state = *state * 1664525u + 1013904223u;
        to[i] = to_bf16((float)(*state >> 8) / (float)(1 << 23) - 1);
    }
}

static enum ws_status upload(struct ws_device *device, const uint16_t *from, size_t bytes,
                             uint64_t *address, struct ws_error *error)
{
    enum ws_status status = ws_device_alloc(device, bytes, address, error);
    return status != WS_OK || !from ? status
                                    : ws_device_write(device, *address, from, bytes, error);
}

enum ws_status attention_create(struct attention *a, struct ws_device *device, unsigned seed,
                                struct ws_error *error)
{
    a->args = (struct ws_fmha_fwd_args){
        .scale = 0.125F,
        .batch = BATCH,
        .heads_q = HEADS_Q,
        .heads_k = HEADS_K,
        .seqlen_q = QUERIES,
        .seqlen_k = KEYS,
        .window_left = -1,
        .window_right = -1,
        .q_batch_stride = (int64_t)HEADS_Q * QUERIES * HEAD_DIM,
        .q_head_stride = (int64_t)QUERIES * HEAD_DIM,
        .q_token_stride = HEAD_DIM,
        .k_batch_stride = (int64_t)HEADS_K * KEYS * HEAD_DIM,
        .k_head_stride = (int64_t)KEYS * HEAD_DIM,
        .k_token_stride = HEAD_DIM,
    };
    a->args.v_batch_stride = a->args.k_batch_stride;
    a->args.v_head_stride = a->args.k_head_stride;
    a->args.v_token_stride = a->args.k_token_stride;
    a->args.o_batch_stride = a->args.q_batch_stride;
    a->args.o_head_stride = a->args.q_head_stride;
    a->args.o_token_stride = a->args.q_token_stride;
    draw(a->q, Q_COUNT, &seed);
    draw(a->k, K_COUNT, &seed);
    draw(a->v, K_COUNT, &seed);
    enum ws_status status = upload(device, a->q, sizeof a->q, &a->args.q, error);
    if (status == WS_OK)
        status = upload(device, a->k, sizeof a->k, &a->args.k, error);
    if (status == WS_OK)
        status = upload(device, a->v, sizeof a->v, &a->args.v, error);
    if (status == WS_OK)
        status = upload(device, NULL, sizeof a->q, &a->args.o, error);
    return status;
}

void attention_destroy(struct attention *a, struct ws_device *device)
{
    const uint64_t addresses[] = {a->args.q, a->args.k, a->args.v, a->args.o};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++)
        ws_device_free(device, addresses[i], NULL);
}

/* One row of O: query i of a head sees the keys up to the one below it, the last query the last. */
static void attend(const struct attention *a, const uint16_t *q, size_t key_base, int i, double *o)
{
    double p[KEYS], sum = 0;
    const int seen = KEYS - QUERIES + i + 1;
    memset(o, 0, HEAD_DIM * sizeof *o);
    for (int j = 0; j < seen; j++) {
        double s = 0;
        for (int d = 0; d < HEAD_DIM; d++)
            s += from_bf16(q[d]) * from_bf16(a->k[key_base + (size_t)j * HEAD_DIM + (size_t)d]);
        p[j] = exp(s * (double)a->args.scale);
        sum += p[j];
    }
    for (int j = 0; j < seen; j++)
        for (int d = 0; d < HEAD_DIM; d++)
            o[d] += p[j] / sum * from_bf16(a->v[key_base + (size_t)j * HEAD_DIM + (size_t)d]);
}

static enum ws_status compare(const struct attention *a, const uint16_t *o, double factor,
                              struct ws_error *error)
{
    const double tolerance = 1e-2;
    double worst = 0;
    for (size_t row = 0; row < Q_COUNT / HEAD_DIM; row++) {
        double expected[HEAD_DIM];
        const size_t head = row / QUERIES % HEADS_Q, batch = row / QUERIES / HEADS_Q;
        const size_t key_head = batch * HEADS_K + head / (HEADS_Q / HEADS_K);
        attend(a, a->q + row * HEAD_DIM, key_head * KEYS * HEAD_DIM, (int)(row % QUERIES),
               expected);
        for (int d = 0; d < HEAD_DIM; d++) {
            const double got = from_bf16(o[row * HEAD_DIM + (size_t)d]) / factor;
            worst = fabs(got - expected[d]) > worst ? fabs(got - expected[d]) : worst;
            if (!(fabs(got - expected[d]) <= tolerance))
                return ws_fail(error, WS_ERROR_DEVICE, "O[%zu][%d] is %g and should be %g", row, d,
                               got, expected[d]);
        }
    }
    return worst > 0 ? WS_OK : ws_fail(error, WS_ERROR_DEVICE, "not one rounding error in bf16?");
}

enum ws_status attention_check(const struct attention *a, struct ws_device *device, double factor,
                               struct ws_error *error)
{
    uint16_t *o = malloc(sizeof a->q);
    if (!o)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for O");
    enum ws_status status = ws_device_read(device, o, a->args.o, sizeof a->q, error);
    if (status == WS_OK)
        status = compare(a, o, factor, error);
    free(o);
    return status;
}
