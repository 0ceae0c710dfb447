/* Atomic instructions, each against its definition in C, and under contention. */
#include "tests/emu/atomics.h"
#include "tests/emu/device.h"

enum { N = ATOMIC_ITEMS, GROUPS = 40, TOTAL = 64 * GROUPS };

#define TYPE_INTEGER(bits) u##bits
#define TYPE_FLOAT(bits) f##bits
#define TYPE_PAIR(bits) u##bits

static u32 half_of(f16 x)
{
    u16 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static f16 as_half(u32 x)
{
    const u16 bits = (u16)x;
    f16 y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static u32 add_f16(u32 m, u32 s)
{
    return half_of(as_half(m) + as_half(s)) | half_of(as_half(m >> 16) + as_half(s >> 16)) << 16;
}

/* The sum is exact in f64; to nearest even by adding half of a unit of the last place kept. */
static u32 add_one_bf16(u32 m, u32 s)
{
    const u32 wide_m = m << 16, wide_s = s << 16;
    f32 x, y;
    memcpy(&x, &wide_m, sizeof x);
    memcpy(&y, &wide_s, sizeof y);
    const f32 sum = (f32)((f64)x + (f64)y);
    u32 bits;
    memcpy(&bits, &sum, sizeof bits);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static u32 add_bf16(u32 m, u32 s)
{
    return add_one_bf16(m & 0xffff, s & 0xffff) | add_one_bf16(m >> 16, s >> 16) << 16;
}

/* Memory, operand and compared value of an item to memory's new value. */
typedef void apply(void *memory, const void *operand, const void *compared);
#define HOST(name, type, bits, kind, result)                                                       \
    static void name##_##type(void *memory, const void *operand, const void *compared)             \
    {                                                                                              \
        TYPE_##kind(bits) m, s, c;                                                                 \
        memcpy(&m, memory, sizeof m);                                                              \
        memcpy(&s, operand, sizeof s);                                                             \
        memcpy(&c, compared, sizeof c);                                                            \
        (void)m, (void)c;                                                                          \
        m = (TYPE_##kind(bits))(result);                                                           \
        memcpy(memory, &m, sizeof m);                                                              \
    }
COMMON(HOST)
FLOAT_SUMS(HOST)
FLOAT_BOUNDS(HOST)
DOUBLES(HOST)
HALF_SUMS(HOST)
BF16_SUMS(HOST)
SWAPS(HOST)
LDS_SWAPS(HOST)
REVERSED(HOST)
MEMORY_COMPARES(HOST)
MEMORY_FLOAT_COMPARES(HOST)
LDS_COMPARES(HOST)
LDS_FLOAT_COMPARES(HOST)
SUBTRACTIONS(HOST)
CONDITIONAL(HOST)
CLAMPED(HOST)

enum kind { INTEGER, FLOAT, PAIR };

struct atomic {
    const char *form, *name;
    apply *apply;
    size_t size;
    enum kind kind;
    bool returns;
};

#define FORM(form, name, type, bits, kind, returns)                                                \
    {#form, #name "_" #type, name##_##type, bits / 8, kind, returns},
#define GLOBAL_RETURN(name, type, bits, kind, result) FORM(global, name, type, bits, kind, true)
#define GLOBAL(name, type, bits, kind, result)                                                     \
    GLOBAL_RETURN(name, type, bits, kind, result)                                                  \
    FORM(global_plain, name, type, bits, kind, false)
#define FLAT(name, type, bits, kind, result)                                                       \
    FORM(flat, name, type, bits, kind, true)                                                       \
    FORM(flat_lds, name, type, bits, kind, true)
#define MEMORY(name, type, bits, kind, result)                                                     \
    GLOBAL(name, type, bits, kind, result)                                                         \
    FLAT(name, type, bits, kind, result)
#define MEMORY_PAIR MEMORY
#define BUFFER(name, type, bits, kind, result) FORM(buffer, name, type, bits, kind, true)
#define LDS_RETURN(name, type, bits, kind, result) FORM(ds, name, type, bits, kind, true)
#define LDS(name, type, bits, kind, result)                                                        \
    LDS_RETURN(name, type, bits, kind, result)                                                     \
    FORM(ds_plain, name, type, bits, kind, false)
#define LDS_PAIR LDS

#define SET(forms, list, ...) static const struct atomic forms##_##list[] = {list(forms)};
ATOMIC_SETS(SET)
#undef SET

/* The columns of the table. */
static const char *const families[] = {"gfx90a", "gfx942", "gfx950", "gfx11", "gfx12"};
enum { FAMILIES = sizeof families / sizeof families[0] };

static const struct set {
    const struct atomic *atomics;
    size_t count;
    bool exists[FAMILIES];
} sets[] = {
#define SET(forms, list, ...)                                                                      \
    {forms##_##list, sizeof forms##_##list / sizeof forms##_##list[0], {__VA_ARGS__}},
    ATOMIC_SETS(SET)
#undef SET
};

static void *module;

/* Small values, so that some are equal, or any bits. */
static void random_operand(u8 *at, const struct atomic *a)
{
    u64 bits = random64() & 1 ? random64() : random_below(5) - 1;
    f32 x = (f32)((int)random_below(99) - 49) / 4;
    f64 y = (f64)x * 1.1;
    if (a->kind == PAIR)
        bits = (bits & 0x83ff83ff) | 0x3c003800; /* finite in both formats */
    if (a->kind != FLOAT)
        memcpy(at, &bits, a->size);
    else if (a->size == sizeof x)
        memcpy(at, &x, sizeof x);
    else
        memcpy(at, &y, sizeof y);
}

static void run_single(const struct atomic *a)
{
    u8 m[N * 8], s[N * 8], c[N * 8], after[N * 8], back[N * 8];
    size_t size = a->size;
    for (size_t i = 0; i < N; i++) {
        random_operand(m + i * size, a);
        random_operand(s + i * size, a);
        random_operand(c + i * size, a);
        if (i % 2)
            memcpy(c + i * size, m + i * size, size);
    }
    void *dm = device_copy(m, N * size), *ds = device_copy(s, N * size);
    void *dc = device_copy(c, N * size), *dback = device_alloc(N * size);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s_%s", a->form, a->name);
    launch(module, kernel, 1, N, (void *[]){ARG(dm), ARG(ds), ARG(dc), ARG(dback)});
    succeeds(hipMemcpy(after, dm, N * size, TO_HOST));
    succeeds(hipMemcpy(back, dback, N * size, TO_HOST));
    for (size_t i = 0; i < N; i++) {
        if (a->returns && memcmp(back + i * size, m + i * size, size) != 0)
            fail_msg("%s: item %zu: not what memory held", kernel, i);
        a->apply(m + i * size, s + i * size, c + i * size);
        if (memcmp(after + i * size, m + i * size, size) != 0)
            fail_msg("%s: item %zu: wrong result", kernel, i);
    }
    succeeds(hipFree(dm));
    succeeds(hipFree(ds));
    succeeds(hipFree(dc));
    succeeds(hipFree(dback));
}

static int column(void)
{
    int f = 0;
    while (f < FAMILIES && strncmp(test_target, families[f], strlen(families[f])) != 0)
        f++;
    assert_int_not_equal(f, FAMILIES);
    return f;
}

static void are_what_they_say(void **state)
{
    (void)state;
    const int family = column();
    configure(true, random64(), 100000);
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++)
        for (size_t k = 0; sets[s].exists[family] && k < sets[s].count; k++)
            run_single(&sets[s].atomics[k]);
}

static void configure_threads(u64 seed, unsigned threads)
{
    const struct ws_emu_config config = {.strict = true, .seed = seed, .threads = threads};
    ws_emu_configure(&config);
}

/* Nothing is lost between items, waves, workgroups and threads. */
static void hold_under_contention(void **state)
{
    (void)state;
    u32 in[TOTAL], ticket[TOTAL], shared[6] = {0}, expected[6] = {TOTAL};
    u64 wide[1] = {0}, expected_wide = 0;
    static u8 taken[TOTAL];
    for (int i = 0; i < TOTAL; i++) {
        in[i] = (u32)random64();
        expected[1] = in[i] > expected[1] ? in[i] : expected[1];
        expected[2] = (i32)in[i] < (i32)expected[2] ? in[i] : expected[2];
        expected[3] ^= in[i];
        expected[4] |= 1u << (in[i] & 31);
        expected[5] += in[i] + 1;
        expected_wide += (u64)in[i] << 20;
    }
    void *din = device_copy(in, sizeof in), *dticket = device_alloc(sizeof ticket);
    void *dshared = device_copy(shared, sizeof shared), *dwide = device_copy(wide, sizeof wide);
    configure_threads(random64(), 4);
    launch(module, "contend", GROUPS, 64,
           (void *[]){ARG(dshared), ARG(dwide), ARG(dticket), ARG(din)});
    succeeds(hipMemcpy(shared, dshared, sizeof shared, TO_HOST));
    succeeds(hipMemcpy(wide, dwide, sizeof wide, TO_HOST));
    succeeds(hipMemcpy(ticket, dticket, sizeof ticket, TO_HOST));
    assert_memory_equal(shared, expected, sizeof shared);
    assert_true(wide[0] == expected_wide);
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < TOTAL; i++) {
        assert_true(ticket[i] < TOTAL && !taken[ticket[i]]);
        taken[ticket[i]] = 1;
    }
    succeeds(hipFree(din));
    succeeds(hipFree(dticket));
    succeeds(hipFree(dshared));
    succeeds(hipFree(dwide));
}

/* In LDS (0), in LDS by a flat pointer (1), in global memory by a flat pointer (2). */
static void count_in_every_memory(void **state)
{
    (void)state;
    u32 in[TOTAL], count[16], expected[16] = {0};
    for (int i = 0; i < TOTAL; i++) {
        in[i] = (u32)random64();
        expected[in[i] % 16]++;
    }
    void *din = device_copy(in, sizeof in), *dcount = device_alloc(sizeof count);
    for (u32 flat = 0; flat < 3; flat++) {
        configure_threads(random64(), 4);
        succeeds(hipMemset(dcount, 0, sizeof count));
        launch(module, "histogram", GROUPS, 64, (void *[]){ARG(dcount), ARG(din), ARG(flat)});
        succeeds(hipMemcpy(count, dcount, sizeof count, TO_HOST));
        assert_memory_equal(count, expected, sizeof count);
    }
    succeeds(hipFree(din));
    succeeds(hipFree(dcount));
}

static f32 float_sum(u64 seed, const f32 *in)
{
    enum { ITEMS = 64 };
    f32 sum[1 + ITEMS] = {0};
    void *din = device_copy(in, ITEMS * sizeof *in), *dsum = device_copy(sum, sizeof sum);
    configure_threads(seed, 1);
    launch(module, "float_sum", 1, ITEMS, (void *[]){ARG(dsum), ARG(din)});
    succeeds(hipMemcpy(sum, dsum, sizeof sum, TO_HOST));
    succeeds(hipFree(din));
    succeeds(hipFree(dsum));
    return sum[0];
}

/* Sums of floats depend on the order, and the order on the seed alone. */
static void take_an_order_from_the_seed(void **state)
{
    (void)state;
    f32 in[64], first;
    int different = 0;
    for (int i = 0; i < 64; i++)
        in[i] = (f32)(int)(random64() & 0xffffff) * (i % 2 ? 1 : 0x1p-14f);
    u64 seed = random64();
    first = float_sum(seed, in);
    for (u64 k = 1; k < 10; k++)
        different += float_sum(seed + k, in) != first;
    assert_true(different > 0);
    assert_true(float_sum(seed, in) == first);
}

static int set_up(void **state)
{
    (void)state;
    module = load_module("atomics");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    succeeds(hipModuleUnload(module));
    return 0;
}

int main(int argc, char **argv)
{
    take_target(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_what_they_say),
        cmocka_unit_test(hold_under_contention),
        cmocka_unit_test(count_in_every_memory),
        cmocka_unit_test(take_an_order_from_the_seed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
