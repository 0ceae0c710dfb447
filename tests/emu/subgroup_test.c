/* Operations of the lanes of a wave, compiled from C, against loops on the host. */
#include "tests/emu/arithmetic.h"
#include "tests/emu/device.h"

enum { MOST_LANES = 64, UNWRITTEN = 0x55555555 };

static int lanes = 32; /* of a wave */

static u32 fold(u64 mask)
{
    return lanes == 64 ? (u32)mask ^ (u32)(mask >> 32) : (u32)mask;
}

static void scan(u32 *out, const u32 *in, u64 active)
{
    (void)active;
    for (int i = 0; i < lanes; i++)
        out[i] = in[i] + (i ? out[i - 1] : 0);
}

static void butterfly(u32 *out, const u32 *in, u64 active)
{
    u32 most = 0;
    (void)active;
    for (int i = 0; i < lanes; i++)
        most = in[i] > most ? in[i] : most;
    for (int i = 0; i < lanes; i++)
        out[i] = most;
}

static void compaction(u32 *out, const u32 *in, u64 active)
{
    u64 odd = 0;
    u32 count = 0;
    for (int i = 0; i < lanes; i++) {
        if (!(active >> i & 1 && in[i] & 1))
            continue;
        odd |= (u64)1 << i;
        out[count++] = in[i];
    }
    const int last = lanes == 64 ? 63 : 31;
    if (active >> last & 1)
        out[last] = fold(odd);
}

static void waterfall(u32 *out, const u32 *in, u64 active)
{
    u64 left = active;
    u32 rounds = 0;
    memset(out, 0, (size_t)lanes * sizeof *out);
    while (left) {
        u32 key = in[__builtin_ctzll(left)] % 4;
        u64 same = 0;
        rounds++;
        for (int i = 0; i < lanes; i++)
            same |= (u64)((left >> i & 1) && in[i] % 4 == key) << i;
        for (int i = 0; i < lanes; i++)
            out[i] = same >> i & 1 ? fold(same) ^ rounds << 28 : out[i];
        left &= ~same;
    }
}

static void gather(u32 *out, const u32 *in, u64 active)
{
    for (int i = 0; i < lanes; i++)
        out[i] = in[in[i] % (u32)lanes] + 3 * in[active % (u64)lanes] + 5 * in[i ^ 7];
}

static void reductions(u32 *out, const u32 *in, u64 active)
{
    u32 most = 0, least = UINT32_MAX, sum = 0, parity = 0;
    for (int i = 0; i < lanes; i++) {
        if (!(active >> i & 1))
            continue;
        most = in[i] > most ? in[i] : most;
        least = in[i] < least ? in[i] : least;
        sum += in[i];
        parity ^= in[i];
    }
    for (int i = 0; i < lanes; i++)
        out[i] = active >> i & 1 ? most + 3 * least + 5 * sum + 7 * parity : 0;
}

static const struct {
    const char *name;
    void (*host)(u32 *out, const u32 *in, u64 active);
} operations[] = {
#define X(name) {#name, name}
    X(scan), X(butterfly), X(compaction), X(waterfall), X(gather), X(reductions),
#undef X
};

static void computes_as_the_host(void **state)
{
    void *module = *state;
    u32 in[MOST_LANES], out[MOST_LANES], expected[MOST_LANES];
    for (int round = 0; round < 20; round++) {
        u64 all = lanes == 64 ? UINT64_MAX : UINT32_MAX, active = round ? random64() & all : all;
        for (int i = 0; i < lanes; i++)
            in[i] = (u32)random64();
        void *din = device_copy(in, sizeof in);
        configure(true, random64(), 100000);
        for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++) {
            for (int i = 0; i < lanes; i++)
                expected[i] = UNWRITTEN;
            void *dout = device_copy(expected, sizeof expected);
            launch(module, operations[k].name, 1, (unsigned)lanes,
                   (void *[]){ARG(dout), ARG(din), ARG(active)});
            succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
            succeeds(hipFree(dout));
            operations[k].host(expected, in, active);
            for (int i = 0; i < lanes; i++)
                if (out[i] != expected[i])
                    fail_msg("%s of 0x%lx: lane %d: 0x%x, not 0x%x", operations[k].name, active, i,
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
    if (strncmp(test_target, "gfx9", 4) == 0)
        lanes = 64;
    const struct CMUnitTest tests[] = {cmocka_unit_test(computes_as_the_host)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
