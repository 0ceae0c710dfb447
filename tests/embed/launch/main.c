/* launch PACK [DRIVER]: opens a pack, selects a kernel for causal bf16 attention, prepares it,
 * launches it, and holds the result against the host's. DRIVER is a HIP library, the emulator for
 * instance; without it the runtime looks for HIP itself. */
#include <runtime/wavesmith_rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../attention.h"

static void expect_ok(enum ws_status status, const char *what, const struct ws_error *error)
{
    if (status == WS_OK)
        return;
    fprintf(stderr, "launch: %s: %s: %s\n", what, ws_status_name(status), error->message);
    exit(1);
}

/* The problem of attention.h. */
static struct ws_request describe(const struct ws_device *device)
{
    struct ws_request request = {
        .kind = WS_KERNEL_FMHA_FWD,
        .target = ws_device_target(device),
        .dtype = WS_BF16,
        .head_dim_qk = HEAD_DIM,
        .head_dim_v = HEAD_DIM,
        .mask = WS_MASK_CAUSAL,
        .align = WS_ALIGN_BOTTOM_RIGHT,
        .alignment = 16,
    };
    memcpy(request.sizes, attention_sizes, sizeof request.sizes);
    return request;
}

static void run(const struct ws_pack *pack, struct ws_device *device)
{
    static struct attention attention;
    const struct ws_request request = describe(device);
    struct ws_error error;
    struct ws_plan plan;
    struct ws_prepared *prepared;
    uint64_t workspace;
    expect_ok(ws_pack_select(pack, &request, &plan, &error), "select", &error);
    expect_ok(ws_prepare(&prepared, pack, device, &plan, &error), "prepare", &error);
    expect_ok(ws_device_alloc(device, plan.workspace_bytes, &workspace, &error), "memory", &error);
    for (unsigned seed = 1; seed <= 2; seed++) {
        expect_ok(attention_create(&attention, device, seed, &error), "tensors", &error);
        expect_ok(ws_prepared_launch(prepared, &attention.args, sizeof attention.args, workspace,
                                     NULL, &error),
                  "launch", &error);
        expect_ok(ws_device_wait(device, NULL, -1, &error), "wait", &error);
        expect_ok(attention_check(&attention, device, 1, &error), "attention", &error);
        attention_destroy(&attention, device);
    }
    printf("launch: %s is right\n", ws_pack_variant(pack, plan.variant)->symbol);
    ws_device_free(device, workspace, NULL);
    ws_prepared_free(prepared);
}

int main(int argc, char **argv)
{
    struct ws_error error;
    struct ws_pack *pack;
    struct ws_driver *driver;
    struct ws_device *device;
    if (argc < 2) {
        fprintf(stderr, "usage: launch PACK [DRIVER]\n");
        return 2;
    }
    expect_ok(WS_RT_CHECK_VERSION(&error), "version", &error);
    expect_ok(ws_pack_open(&pack, argv[1], NULL, &error), argv[1], &error);
    expect_ok(ws_driver_open(&driver, argc > 2 ? argv[2] : NULL, &error), "driver", &error);
    expect_ok(ws_device_open(&device, driver, "gfx1151", &error), "device", &error);
    run(pack, device);
    ws_device_close(device);
    ws_driver_close(driver);
    ws_pack_close(pack);
    return 0;
}
