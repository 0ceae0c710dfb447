/* emit EMULATOR: a compiler that has a module with a kernel of its own, has wavesmith add an
 * attention kernel, runs its own passes and its own code generator, links, and runs both kernels on
 * the emulator. */
#include <gen/wavesmith.h>
#include <runtime/wavesmith_rt.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "../attention.h"
#include "own_kernel.h"

#define ARCH "gfx1151"
#define OBJECT "emit.o"
#define CODE_OBJECT "emit.hsaco"

extern char **environ;

static void expect(int good, const char *what, const char *why)
{
    if (good)
        return;
    fprintf(stderr, "emit: %s: %s\n", what, why);
    exit(1);
}

static void expect_ok(enum ws_status status, const char *what, const struct ws_error *error)
{
    expect(status == WS_OK, what, error->message);
}

static LLVMTargetMachineRef create_machine(void)
{
    LLVMTargetRef target;
    char *message = NULL;
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser(); /* the kernel has inline assembly */
    LLVMInitializeAMDGPUAsmPrinter();
    expect(!LLVMGetTargetFromTriple("amdgcn-amd-amdhsa", &target, &message), "target", message);
    return LLVMCreateTargetMachine(target, "amdgcn-amd-amdhsa", ARCH, "", LLVMCodeGenLevelDefault,
                                   LLVMRelocPIC, LLVMCodeModelDefault);
}

static struct ws_spec choose(void)
{
    static const char *const settings[][2] = {
        {"arch", ARCH},   {"dtype", "bf16"},  {"head_dim", "64"}, {"mask", "causal"},
        {"lse", "false"}, {"v_mode", "rows"}, {"addr", "buffer"}};
    struct ws_error error;
    struct ws_spec spec;
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        expect_ok(ws_spec_set(&spec, settings[i][0], settings[i][1], &error), settings[i][0],
                  &error);
    return spec;
}

/* The compiler's module gets its own kernel and wavesmith's. */
static struct ws_kernel_shape build(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                    const struct ws_spec *spec)
{
    struct ws_error error;
    struct ws_kernel_shape shape;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetTarget(module, "amdgcn-amd-amdhsa");
    LLVMSetModuleDataLayout(module, layout);
    LLVMDisposeTargetData(layout);
    own_kernel_emit(module);

    expect_ok(ws_emit_into(spec, module, &shape, &error), "ws_emit_into", &error);
    return shape;
}

static void generate(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    char *message = NULL;
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetVerifyEach(options, 1);
    LLVMErrorRef failure = LLVMRunPasses(module, "default<O2>", machine, options);
    expect(!failure, "passes", failure ? LLVMGetErrorMessage(failure) : "");
    LLVMDisposePassBuilderOptions(options);
    expect(!LLVMTargetMachineEmitToFile(machine, module, OBJECT, LLVMObjectFile, &message),
           "code generation", message);
}

static void link_object(void)
{
    char linker[] = LD_LLD;
    char *argv[] = {linker, "-shared", "--no-undefined", OBJECT, "-o", CODE_OBJECT, NULL};
    pid_t pid;
    int status = 0;
    expect(!posix_spawn(&pid, linker, NULL, NULL, argv, environ), linker, "does not start");
    expect(waitpid(pid, &status, 0) == pid && status == 0, linker, "failed");
}

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    expect(file && !fseek(file, 0, SEEK_END), path, "cannot be read");
    *size = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*size);
    expect(bytes && fread(bytes, 1, *size, file) == *size, path, "cannot be read");
    fclose(file);
    return bytes;
}

/* Attention, checked, and then the compiler's kernel on its result, checked again. */
static void run(struct ws_device *device, struct ws_module *module,
                const struct ws_kernel_shape *shape)
{
    static struct attention attention;
    const float factor = -0.5F;
    uint64_t workgroups;
    struct ws_error error;
    struct ws_kernel *forward, *own;
    struct ws_launch launch = {.block = {shape->block[0], shape->block[1], shape->block[2]}};
    expect_ok(ws_module_kernel(&forward, module, shape->symbol, shape->args, &error), "kernel",
              &error);
    expect_ok(ws_module_kernel(&own, module, OWN_KERNEL, NULL, &error), "own kernel", &error);
    expect_ok(attention_create(&attention, device, 1, &error), "tensors", &error);

    expect_ok(ws_rule_value(&shape->grid, attention_sizes, &workgroups, &error), "grid", &error);
    launch.grid[0] = (uint32_t)workgroups;
    launch.grid[1] = launch.grid[2] = 1;
    launch.args = &attention.args;
    launch.args_size = sizeof attention.args;
    expect_ok(ws_kernel_launch(forward, &launch, &error), "launch", &error);
    expect_ok(attention_check(&attention, device, 1, &error), "attention", &error);

    const struct own_kernel_args args = {attention.args.o, Q_COUNT, factor};
    launch = (struct ws_launch){.grid = {(Q_COUNT + OWN_BLOCK - 1) / OWN_BLOCK, 1, 1},
                                .block = {OWN_BLOCK, 1, 1},
                                .args = &args,
                                .args_size = sizeof args};
    expect_ok(ws_kernel_launch(own, &launch, &error), "own launch", &error);
    expect_ok(attention_check(&attention, device, (double)factor, &error), "own kernel", &error);
    attention_destroy(&attention, device);
}

int main(int argc, char **argv)
{
    struct ws_error error;
    struct ws_driver *driver;
    struct ws_device *device;
    struct ws_module *loaded;
    expect(argc == 2, "usage", "emit EMULATOR");
    expect_ok(WS_CHECK_VERSION(&error), "version", &error);
    expect_ok(WS_RT_CHECK_VERSION(&error), "version", &error);
    expect_ok(ws_check_llvm(LLVMGetVersion, &error), "LLVM", &error);

    const struct ws_spec spec = choose();
    LLVMTargetMachineRef machine = create_machine();
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("compiler", context);
    const struct ws_kernel_shape shape = build(module, machine, &spec);
    generate(module, machine);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    LLVMDisposeTargetMachine(machine);
    link_object();

    size_t size;
    void *image = read_file(CODE_OBJECT, &size);
    expect_ok(ws_driver_open(&driver, argv[1], &error), argv[1], &error);
    expect_ok(ws_device_open(&device, driver, ARCH, &error), ARCH, &error);
    expect_ok(ws_module_load(&loaded, device, image, size, &error), CODE_OBJECT, &error);
    free(image);
    run(device, loaded, &shape);
    ws_module_unload(loaded);
    ws_device_close(device);
    ws_driver_close(driver);
    printf("emit: %s and %s are right\n", shape.symbol, OWN_KERNEL);
    return 0;
}
