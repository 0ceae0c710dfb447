/* C functions compiled for the device, on the emulator, against the same functions on the host. */
#include "tests/emu/arithmetic.h"
#include "tests/emu/device.h"

enum { ITEMS = 512, BLOCK = 64 };

/* How results compare: bit by bit, or NaNs alike. */
enum compare { EXACT, NAN_f16, NAN_f32, NAN_f64 };
#define COMPARE_i8 EXACT
#define COMPARE_u8 EXACT
#define COMPARE_i16 EXACT
#define COMPARE_u16 EXACT
#define COMPARE_i32 EXACT
#define COMPARE_u32 EXACT
#define COMPARE_i64 EXACT
#define COMPARE_u64 EXACT
#define COMPARE_f16 NAN_f16
#define COMPARE_f32 NAN_f32
#define COMPARE_f64 NAN_f64

#define FN(name, result, operand, ...)                                                             \
    static void host_##name(void *out, const void *x, const void *y, const void *z, size_t i)      \
    {                                                                                              \
        const operand a = ((const operand *)x)[i], b = ((const operand *)y)[i],                    \
                      c = ((const operand *)z)[i];                                                 \
        (void)b, (void)c;                                                                          \
        ((result *)out)[i] = (result)(__VA_ARGS__);                                                \
    }
#include "tests/emu/arithmetic.def"
#undef FN

static const struct function {
    const char *name;
    void (*host)(void *out, const void *x, const void *y, const void *z, size_t i);
    size_t result, operand; /* bytes */
    enum compare compare;
} functions[] = {
#define FN(name, r, operand, ...) {#name, host_##name, sizeof(r), sizeof(operand), COMPARE_##r},
#include "tests/emu/arithmetic.def"
#undef FN
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static void *module;

/* Random bits, or a value that is special in some type. */
static u64 random_value(size_t size)
{
    static const u64 f16s[] = {0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7e00, 0x7bff, 1, 0x83ff};
    static const u64 f32s[] = {0,          0x80000000, 0x3f800000, 0x7f800000, 0xff800000,
                               0x7fc00000, 0x7f7fffff, 1,          0x807fffff, 0x00800000};
    static const u64 f64s[] = {0,
                               1ul << 63,
                               0x3ff0ul << 48,
                               0x7ff0ul << 48,
                               0xfff0ul << 48,
                               0x7ff8ul << 48,
                               0x7feful << 48,
                               1,
                               0x000ffffful << 32,
                               1ul << 52};
    u64 r = random64(), pick = r >> 8 & 0xffff;
    switch (r & 7) {
    case 0:
        return size == 2 ? f16s[pick % 9] : size == 4 ? f32s[pick % 10] : f64s[pick % 10];
    case 1:
        return pick % 40;
    case 2:
        return -(pick % 40);
    case 3:
    case 4: { /* floats of moderate size */
        u64 bits = random64();
        if (size == 2)
            return (bits & 0x83ff) | (10 + pick % 12) << 10;
        if (size == 4)
            return (bits & 0x807fffff) | (110 + pick % 36) << 23;
        return (bits & ~(0x7fful << 52)) | (1000 + pick % 46) << 52;
    }
    default:
        return random64();
    }
}

static void *random_operands(size_t size)
{
    u8 *values = malloc(ITEMS * size);
    assert_non_null(values);
    for (size_t i = 0; i < ITEMS; i++) {
        u64 value = random_value(size);
        memcpy(values + i * size, &value, size);
    }
    return values;
}

static u64 value_at(const void *values, size_t size, size_t i)
{
    u64 value = 0;
    memcpy(&value, (const u8 *)values + i * size, size);
    return value;
}

static bool alike(enum compare compare, u64 x, u64 y)
{
    if (x == y)
        return true;
    switch (compare) {
    case NAN_f16:
        return (x & 0x7fff) > 0x7c00 && (y & 0x7fff) > 0x7c00;
    case NAN_f32:
        return (x & 0x7fffffff) > 0x7f800000 && (y & 0x7fffffff) > 0x7f800000;
    case NAN_f64:
        return x << 1 > 0xffe0ul << 48 && y << 1 > 0xffe0ul << 48;
    default:
        return false;
    }
}

/* Runs function k on the device and g on the host; the first item where they differ, or ITEMS. */
static size_t difference(const struct function *k, const struct function *g, char what[static 256])
{
    void *host[3], *device[3], *out = device_alloc(ITEMS * k->result);
    for (int j = 0; j < 3; j++) {
        host[j] = random_operands(k->operand);
        device[j] = device_copy(host[j], ITEMS * k->operand);
    }
    launch(module, k->name, ITEMS / BLOCK, BLOCK,
           (void *[]){(void *)&out, (void *)&device[0], (void *)&device[1], (void *)&device[2]});
    u64 got[ITEMS], want[ITEMS];
    succeeds(hipMemcpy(got, out, ITEMS * k->result, TO_HOST));
    size_t i = 0;
    for (; i < ITEMS; i++) {
        g->host(want, host[0], host[1], host[2], i);
        u64 x = value_at(got, k->result, i), y = value_at(want, k->result, i);
        if (alike(k->compare, x, y))
            continue;
        snprintf(what, 256, "%s of %lx, %lx, %lx: %lx, expected %lx", k->name,
                 value_at(host[0], k->operand, i), value_at(host[1], k->operand, i),
                 value_at(host[2], k->operand, i), x, y);
        break;
    }
    succeeds(hipFree(out));
    for (int j = 0; j < 3; j++) {
        succeeds(hipFree(device[j]));
        free(host[j]);
    }
    return i;
}

static void device_and_host_agree(void **state)
{
    (void)state;
    char what[256];
    for (int strict = 0; strict < 2; strict++) {
        configure(strict, random64(), 0);
        for (int k = 0; k < FUNCTIONS; k++)
            if (difference(&functions[k], &functions[k], what) < ITEMS)
                fail_msg("%s", what);
    }
}

/* The comparison itself: each function's results are wrong for some other one of its sizes. */
static void other_functions_do_not_agree(void **state)
{
    (void)state;
    char what[256];
    configure(false, random64(), 0);
    for (int k = 0; k < FUNCTIONS; k++) {
        const struct function *f = &functions[k];
        int g = 0;
        for (; g < FUNCTIONS; g++)
            if (g != k && f->result == functions[g].result && f->operand == functions[g].operand &&
                difference(f, &functions[g], what) < ITEMS)
                break;
        if (g == FUNCTIONS)
            fail_msg("%s passes for all others", f->name);
    }
}

static int setup(void **state)
{
    (void)state;
    module = load_module("arithmetic");
    return 0;
}

int main(int argc, char **argv)
{
    take_target(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_and_host_agree),
        cmocka_unit_test(other_functions_do_not_agree),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
