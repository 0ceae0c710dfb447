/* train PACK ARCH [DRIVER]: fits a layer of attention by gradient descent, with a forward and a
 * backward of a pack, and holds its loss at each step against training in double precision: within
 * 1%. Training with a wrong gradient does not pass. DRIVER is a HIP library, the emulator for
 * instance. */
#include <math.h>
#include <runtime/wavesmith_rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"

static void expect_ok(enum ws_status status, const char *what, const struct ws_error *error)
{
    if (status == WS_OK)
        return;
    fprintf(stderr, "train: %s: %s: %s\n", what, ws_status_name(status), error->message);
    exit(1);
}

/* Both operations, and what they compute with. */
struct trainer {
    struct ws_device *device;
    struct ws_plan plans[2]; /* forward, backward */
    struct ws_prepared *operations[2];
    struct ws_fmha_fwd_args forward;
    struct ws_fmha_bwd_args backward;
    uint64_t layer, gradient, o, dout, lse, workspace; /* on the device; tensors as in layer.h */
};

static struct ws_request describe(const struct ws_device *device, enum ws_kernel_kind kind)
{
    struct ws_request request = {
        .kind = kind,
        .target = ws_device_target(device),
        .dtype = WS_F16,
        .head_dim_qk = DIM,
        .head_dim_v = DIM,
        .mask = WS_MASK_CAUSAL,
        .align = WS_ALIGN_BOTTOM_RIGHT,
        .lse = true,
        .alignment = 16,
    };
    request.sizes[WS_SIZE_B] = 1;
    request.sizes[WS_SIZE_Hq] = request.sizes[WS_SIZE_Hk] = HEADS;
    request.sizes[WS_SIZE_Sq] = request.sizes[WS_SIZE_Sk] = TOKENS;
    return request;
}

static void prepare(struct trainer *trainer, const struct ws_pack *pack)
{
    static const enum ws_kernel_kind kinds[] = {WS_KERNEL_FMHA_FWD, WS_KERNEL_FMHA_BWD};
    struct ws_error error;
    for (int i = 0; i < 2; i++) {
        const struct ws_request request = describe(trainer->device, kinds[i]);
        expect_ok(ws_pack_select(pack, &request, &trainer->plans[i], &error), "select", &error);
        expect_ok(
            ws_prepare(&trainer->operations[i], pack, trainer->device, &trainer->plans[i], &error),
            "prepare", &error);
    }
}

static uint64_t allocate(const struct trainer *trainer, size_t bytes)
{
    struct ws_error error;
    uint64_t address = 0;
    expect_ok(ws_device_alloc(trainer->device, bytes, &address, &error), "memory", &error);
    /* Whatever was there before. */
    expect_ok(ws_device_fill(trainer->device, address, 0x7f, bytes, &error), "memory", &error);
    return address;
}

static void allocate_all(struct trainer *trainer)
{
    const size_t layer = sizeof(struct layer) / 4, rows = sizeof(struct rows) / 4; /* f16 */
    trainer->layer = allocate(trainer, layer);
    trainer->gradient = allocate(trainer, layer);
    trainer->o = allocate(trainer, rows);
    trainer->dout = allocate(trainer, rows);
    trainer->lse = allocate(trainer, sizeof(float) * HEADS * TOKENS);
    trainer->workspace = allocate(trainer, trainer->plans[1].workspace_bytes);
}

/* Where a part lies in a tensor of the layer's form, and its strides; and of rows. */
#define PART(name, base, part)                                                                     \
    .name = (base) + sizeof(uint16_t) * (part) * HEADS * DIM,                                      \
    .name##_token_stride = PARTS * HEADS * DIM, .name##_head_stride = DIM
#define ROWS(name, base)                                                                           \
    .name = (base), .name##_token_stride = HEADS * DIM, .name##_head_stride = DIM
#define COMMON                                                                                     \
    PART(q, trainer->layer, Q), PART(k, trainer->layer, K), PART(v, trainer->layer, V),            \
        ROWS(o, trainer->o), .lse = trainer->lse, .lse_token_stride = 1,                           \
        .lse_head_stride = TOKENS, .scale = (float)layer_scale, .batch = 1, .heads_q = HEADS,      \
        .heads_k = HEADS, .seqlen_q = TOKENS, .seqlen_k = TOKENS

static void fill_arguments(struct trainer *trainer)
{
    trainer->forward = (struct ws_fmha_fwd_args){COMMON};
    trainer->backward = (struct ws_fmha_bwd_args){
        COMMON,
        ROWS(dout, trainer->dout),
        PART(dq, trainer->gradient, Q),
        PART(dk, trainer->gradient, K),
        PART(dv, trainer->gradient, V),
    };
}

static void upload(const struct trainer *trainer, uint64_t to, const double *from, size_t count)
{
    static _Float16 rounded[sizeof(struct layer) / sizeof(double)];
    struct ws_error error;
    for (size_t i = 0; i < count; i++)
        rounded[i] = (_Float16)from[i];
    expect_ok(ws_device_write(trainer->device, to, rounded, count * sizeof *rounded, &error),
              "write", &error);
}

static void download(const struct trainer *trainer, double *to, uint64_t from, size_t count)
{
    static _Float16 rounded[sizeof(struct layer) / sizeof(double)];
    struct ws_error error;
    expect_ok(ws_device_wait(trainer->device, NULL, 60, &error), "wait", &error);
    expect_ok(ws_device_read(trainer->device, rounded, from, count * sizeof *rounded, &error),
              "read", &error);
    for (size_t i = 0; i < count; i++)
        to[i] = (double)rounded[i];
}

static void launch(const struct trainer *trainer, int which, const void *args, size_t size)
{
    struct ws_error error;
    expect_ok(ws_prepared_launch(trainer->operations[which], args, size, trainer->workspace, NULL,
                                 &error),
              "launch", &error);
}

#define COUNT(tensor) (sizeof(tensor) / sizeof(double))

/* As layer_train, with the gradient of one part times `factor`. */
static void train(const struct trainer *trainer, struct layer layer, const struct rows *target,
                  enum part part, double factor, double losses[STEPS + 1])
{
    static struct rows o, dout;
    static struct layer gradient;
    for (int step = 0; step <= STEPS; step++) {
        upload(trainer, trainer->layer, &layer.of[0][0][0][0], COUNT(layer));
        launch(trainer, 0, &trainer->forward, sizeof trainer->forward);
        download(trainer, &o.of[0][0][0], trainer->o, COUNT(o));
        losses[step] = layer_loss(&o, target, &dout);
        upload(trainer, trainer->dout, &dout.of[0][0][0], COUNT(dout));
        launch(trainer, 1, &trainer->backward, sizeof trainer->backward);
        download(trainer, &gradient.of[0][0][0][0], trainer->gradient, COUNT(gradient));
        for (int t = 0; t < TOKENS; t++)
            for (int i = 0; i < HEADS * DIM; i++)
                (&gradient.of[t][part][0][0])[i] *= factor;
        layer_descend(&layer, &gradient);
    }
}

/* The largest difference, as a part of what it should be; infinite if one is not finite. */
static double compare(const double losses[STEPS + 1], const double expected[STEPS + 1])
{
    double worst = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double difference = fabs(losses[i] - expected[i]) / expected[i];
        if (!(difference <= worst))
            worst = isfinite(difference) ? difference : INFINITY;
    }
    return worst;
}

static int check(const struct trainer *trainer, unsigned seed)
{
    enum { FALL = 2 }; /* at the least, that of the exact training */
    const double tolerance = 0.01;
    static const struct {
        const char *what;
        double factor;
        enum part part;
        bool is_right;
    } runs[] = {{"training", 1, Q, true},
                {"without dQ", 0, Q, false},
                {"without dK", 0, K, false},
                {"0.9 dV", 0.9, V, false}};
    static struct layer layer;
    static struct rows target;
    double expected[STEPS + 1], losses[STEPS + 1];
    int failures = 0;
    layer_draw(&layer, &target, seed);
    layer_train(layer, &target, expected);
    failures += !(expected[STEPS] * FALL <= expected[0]);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        train(trainer, layer, &target, runs[i].part, runs[i].factor, losses);
        const double worst = compare(losses, expected);
        const bool is_right = worst <= tolerance;
        printf("seed %u, %s: loss %g to %g; in double precision %g to %g; off by %.3g%% at most\n",
               seed, runs[i].what, losses[0], losses[STEPS], expected[0], expected[STEPS],
               100 * worst);
        failures += is_right != runs[i].is_right;
    }
    return failures;
}

int main(int argc, char **argv)
{
    const unsigned seed = 1;
    struct ws_error error;
    struct ws_pack *pack;
    struct ws_driver *driver;
    struct trainer trainer = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: train PACK ARCH [DRIVER]\n");
        return 2;
    }
    expect_ok(WS_RT_CHECK_VERSION(&error), "version", &error);
    expect_ok(ws_pack_open(&pack, argv[1], NULL, &error), argv[1], &error);
    expect_ok(ws_driver_open(&driver, argc > 3 ? argv[3] : NULL, &error), "driver", &error);
    expect_ok(ws_device_open(&trainer.device, driver, argv[2], &error), "device", &error);
    prepare(&trainer, pack);
    allocate_all(&trainer);
    fill_arguments(&trainer);
    printf("%s: %u launches backward, workspace of %llu bytes\n", argv[2],
           trainer.plans[1].launch_count, (unsigned long long)trainer.plans[1].workspace_bytes);
    const int failures = check(&trainer, seed);
    const uint64_t memory[] = {trainer.layer, trainer.gradient, trainer.o,
                               trainer.dout,  trainer.lse,      trainer.workspace};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        ws_device_free(trainer.device, memory[i], NULL);
    for (int i = 0; i < 2; i++)
        ws_prepared_free(trainer.operations[i]);
    ws_device_close(trainer.device);
    ws_driver_close(driver);
    ws_pack_close(pack);
    return failures > 0;
}
