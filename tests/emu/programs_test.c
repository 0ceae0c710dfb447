/* Programs compiled for the device in several ways, on the emulator, against the same programs on
 * the host. */
#include "tests/emu/device.h"
#include "tests/emu/programs.h"

static const struct program {
    const char *name;
    u32 (*host)(u32 i, const u32 *in);
} programs[] = {
#define X(name) {#name, name},
    PROGRAMS(X)
#undef X
};

static void run_program(void *module, const char *build, const struct program *p, const u32 *in,
                        void *device_in)
{
    char kernel[64];
    u32 out[PROGRAM_ITEMS];
    void *device_out = device_alloc(sizeof out);
    succeeds(hipMemset(device_out, 0xee, sizeof out));
    snprintf(kernel, sizeof kernel, "run_%s", p->name);
    launch(module, kernel, PROGRAM_ITEMS / 64, 64, (void *[]){ARG(device_out), ARG(device_in)});
    succeeds(hipMemcpy(out, device_out, sizeof out, TO_HOST));
    succeeds(hipFree(device_out));
    for (u32 i = 0; i < PROGRAM_ITEMS; i++) {
        u32 expected = p->host(i, in);
        if (out[i] != expected)
            fail_msg("%s (%s): item %u: 0x%x, not 0x%x", p->name, build, i, out[i], expected);
    }
}

/* LLVM 22 takes the stack pointer of the wave for an address of the lane's there. */
static bool is_miscompiled(const struct program *p)
{
    return strcmp(test_target, "gfx90a") == 0 && strcmp(p->name, "stack_grows") == 0;
}

static void computes_as_the_host(void **state)
{
    const char *build = *state;
    void *module = load_module(build);
    u32 in[PROGRAM_WORDS];
    for (u32 k = 0; k < PROGRAM_WORDS; k++)
        in[k] = (u32)random64();
    void *device_in = device_copy(in, sizeof in);
    configure(true, random64(), 10000000);
    for (size_t k = 0; k < sizeof programs / sizeof programs[0]; k++)
        if (!is_miscompiled(&programs[k]))
            run_program(module, build, &programs[k], in, device_in);
    succeeds(hipFree(device_in));
    succeeds(hipModuleUnload(module));
}

int main(int argc, char **argv)
{
    static char builds[][16] = {"programs_O0", "programs_O1", "programs_O2", "programs_Os",
                                "programs_few"};
    enum { BUILDS = sizeof builds / sizeof builds[0] };
    struct CMUnitTest tests[BUILDS];
    take_target(argc, argv);
    for (int b = 0; b < BUILDS; b++)
        tests[b] = (struct CMUnitTest){
            .name = builds[b], .test_func = computes_as_the_host, .initial_state = builds[b]};
    return _cmocka_run_group_tests("programs", tests, BUILDS, NULL, NULL);
}
