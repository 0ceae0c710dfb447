/* Operations of the lanes of a wave, compiled from C, against loops on the host. */
#include "tests/emu/arithmetic.h"
#include "tests/emu/device.h"

enum { LANES = 32, UNWRITTEN = 0x55555555 };

static void scan(u32 *out, const u32 *in, u32 active)
{
    (void)active;
    for (int i = 0; i < LANES; i++)
        out[i] = in[i] + (i ? out[i - 1] : 0);
}

static void butterfly(u32 *out, const u32 *in, u32 active)
{
    u32 most = 0;
    (void)active;
    for (int i = 0; i < LANES; i++)
        most = in[i] > most ? in[i] : most;
    for (int i = 0; i < LANES; i++)
        out[i] = most;
}

static void compaction(u32 *out, const u32 *in, u32 active)
{
    u32 odd = 0, count = 0;
    for (int i = 0; i < LANES; i++) {
        if (!(active >> i & in[i] & 1))
            continue;
        odd |= 1u << i;
        out[count++] = in[i];
    }
    if (active >> 31)
        out[31] = odd;
}

static void waterfall(u32 *out, const u32 *in, u32 active)
{
    u32 left = active, rounds = 0;
    memset(out, 0, LANES * sizeof *out);
    while (left) {
        u32 key = in[__builtin_ctz(left)] % 4, same = 0;
        rounds++;
        for (int i = 0; i < LANES; i++)
            same |= (u32)((left >> i & 1) && in[i] % 4 == key) << i;
        for (int i = 0; i < LANES; i++)
            out[i] = same >> i & 1 ? same ^ rounds << 28 : out[i];
        left &= ~same;
    }
}

static void gather(u32 *out, const u32 *in, u32 active)
{
    for (int i = 0; i < LANES; i++)
        out[i] = in[in[i] % 32] + 3 * in[active % 32] + 5 * in[i ^ 7];
}

static void reductions(u32 *out, const u32 *in, u32 active)
{
    u32 most = 0, least = UINT32_MAX, sum = 0, parity = 0;
    for (int i = 0; i < LANES; i++) {
        if (!(active >> i & 1))
            continue;
        most = in[i] > most ? in[i] : most;
        least = in[i] < least ? in[i] : least;
        sum += in[i];
        parity ^= in[i];
    }
    for (int i = 0; i < LANES; i++)
        out[i] = active >> i & 1 ? most + 3 * least + 5 * sum + 7 * parity : 0;
}

static const struct {
    const char *name;
    void (*host)(u32 *out, const u32 *in, u32 active);
} operations[] = {
#define X(name) {#name, name}
    X(scan), X(butterfly), X(compaction), X(waterfall), X(gather), X(reductions),
#undef X
};

static void computes_as_the_host(void **state)
{
    void *module = *state;
    u32 in[LANES], out[LANES], expected[LANES];
    for (int round = 0; round < 20; round++) {
        u32 active = round ? (u32)random64() : UINT32_MAX;
        for (int i = 0; i < LANES; i++)
            in[i] = (u32)random64();
        void *din = device_copy(in, sizeof in);
        configure(true, random64(), 100000);
        for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++) {
            for (int i = 0; i < LANES; i++)
                expected[i] = UNWRITTEN;
            void *dout = device_copy(expected, sizeof expected);
            launch(module, operations[k].name, 1, LANES,
                   (void *[]){ARG(dout), ARG(din), ARG(active)});
            succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
            succeeds(hipFree(dout));
            operations[k].host(expected, in, active);
            for (int i = 0; i < LANES; i++)
                if (out[i] != expected[i])
                    fail_msg("%s of 0x%x: lane %d: 0x%x, not 0x%x", operations[k].name, active, i,
                             out[i], expected[i]);
        }
        succeeds(hipFree(din));
    }
}

static int set_up(void **state)
{
    *state = load_module("subgroup");
    return 0;
}

static int tear_down(void **state)
{
    succeeds(hipModuleUnload(*state));
    return 0;
}

int main(int argc, char **argv)
{
    take_target(argc, argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(computes_as_the_host)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
