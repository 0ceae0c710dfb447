/* launch CODE_OBJECT ROWS DRIVER: loads a kernel of causal bf16 attention, whose workgroups own
 * ROWS query rows, launches it, and holds the result against the host's. DRIVER is a HIP library,
 * the emulator for instance; without it the runtime looks for HIP itself. */
#include <runtime/wavesmith_rt.h>
#include <stdio.h>
#include <stdlib.h>

#include "../attention.h"

static void expect_ok(enum ws_status status, const char *what, const struct ws_error *error)
{
    if (status == WS_OK)
        return;
    fprintf(stderr, "launch: %s: %s: %s\n", what, ws_status_name(status), error->message);
    exit(1);
}

static struct ws_module *load(struct ws_device *device, const char *path)
{
    static unsigned char image[1 << 20];
    struct ws_error error;
    struct ws_module *module;
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(image, 1, sizeof image, file) : 0;
    if (file)
        fclose(file);
    expect_ok(ws_module_load(&module, device, image, size, &error), path, &error);
    return module;
}

static void run(struct ws_device *device, struct ws_module *module, uint32_t rows)
{
    static struct attention attention;
    struct ws_error error;
    struct ws_kernel *kernel;
    const struct ws_arg_table *table = ws_arg_table(WS_KERNEL_FMHA_FWD);
    expect_ok(ws_module_kernel(&kernel, module, NULL, table, &error), "kernel", &error);
    expect_ok(attention_create(&attention, device, 2, &error), "tensors", &error);
    const struct ws_object_kernel *info = ws_kernel_info(kernel);
    const struct ws_launch launch = {
        .grid = {(QUERIES + rows - 1) / rows * HEADS_Q * BATCH, 1, 1},
        .block = {info->max_workgroup_size, 1, 1},
        .args = &attention.args,
        .args_size = table->size,
    };
    expect_ok(ws_kernel_launch(kernel, &launch, &error), "launch", &error);
    expect_ok(ws_device_wait(device, NULL, -1, &error), "wait", &error);
    expect_ok(attention_check(&attention, device, 1, &error), "attention", &error);
    printf("launch: %s is right\n", info->name);
    attention_destroy(&attention, device);
}

int main(int argc, char **argv)
{
    struct ws_error error;
    struct ws_driver *driver;
    struct ws_device *device;
    if (argc < 3) {
        fprintf(stderr, "usage: launch CODE_OBJECT ROWS [DRIVER]\n");
        return 2;
    }
    expect_ok(WS_RT_CHECK_VERSION(&error), "version", &error);
    expect_ok(ws_driver_open(&driver, argc > 3 ? argv[3] : NULL, &error), "driver", &error);
    expect_ok(ws_device_open(&device, driver, "gfx1151", &error), "device", &error);
    struct ws_module *module = load(device, argv[1]);
    run(device, module, (uint32_t)strtoul(argv[2], NULL, 10));
    ws_module_unload(module);
    ws_device_close(device);
    ws_driver_close(driver);
    return 0;
}
