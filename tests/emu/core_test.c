/* Whole kernels, compiled from C (kernels.c), against the same computation on the host: global and
 * buffer memory, LDS, barriers, flow, arguments, and what the launch reports. */
#include "tests/emu/device.h"

enum { WAVE = 32 };

static void *kernels;

static void fill(void *at, size_t size)
{
    uint8_t *bytes = at;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)random64();
}

static void adds_with_a_tail(void **state)
{
    (void)state;
    enum { N = 1000 };
    float a[N], b[N], c[N + 8], scale = 3;
    int n = N;
    for (int i = 0; i < N; i++) {
        a[i] = (float)random_below(1000);
        b[i] = (float)random_below(1000);
    }
    void *da = device_copy(a, sizeof a), *db = device_copy(b, sizeof b);
    void *dc = device_alloc(sizeof c);
    succeeds(hipMemset(dc, 0xee, sizeof c));
    launch(kernels, "scale_add", 16, 64, (void *[]){ARG(dc), ARG(da), ARG(db), ARG(scale), ARG(n)});
    succeeds(hipMemcpy(c, dc, sizeof c, TO_HOST));
    for (int i = 0; i < N; i++)
        assert_true(c[i] == a[i] * scale + b[i]);
    const uint8_t *rest = (const uint8_t *)&c[N];
    for (size_t i = 0; i < sizeof c - sizeof(float) * N; i++)
        assert_int_equal(rest[i], 0xee);
    succeeds(hipFree(da));
    succeeds(hipFree(db));
    succeeds(hipFree(dc));
}

/* The form that passes one buffer. */
static void takes_a_parameter_buffer(void **state)
{
    (void)state;
    uint32_t values[WAVE], out[WAVE];
    fill(values, sizeof values);
    void *function, *dout = device_alloc(sizeof out);
    struct {
        void *out;
        uint32_t values[32];
    } block = {.out = dout};
    memcpy(block.values, values, sizeof values);
    size_t size = sizeof block;
    void *extra[] = {(void *)1, &block, (void *)2, &size, (void *)3};
    succeeds(hipModuleGetFunction(&function, kernels, "arguments"));
    succeeds(hipModuleLaunchKernel(function, 1, 1, 1, WAVE, 1, 1, 0, NULL, NULL, extra));
    succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
    uint32_t sum = 0;
    for (int i = 0; i < WAVE; i++)
        sum = sum * 3 + values[i];
    for (int i = 0; i < WAVE; i++)
        assert_int_equal(out[i], sum);
    size = 4096; /* more than the kernel takes */
    assert_int_equal(hipModuleLaunchKernel(function, 1, 1, 1, WAVE, 1, 1, 0, NULL, NULL, extra),
                     hipErrorInvalidValue);
    succeeds(hipFree(dout));
}

static void knows_every_place(void **state)
{
    (void)state;
    enum { BX = 5, BY = 7, BZ = 3, GX = 3, GY = 2, GZ = 4, ITEMS = BX * BY * BZ };
    enum { TOTAL = ITEMS * GX * GY * GZ };
    uint32_t (*out)[4] = malloc(sizeof(uint32_t[TOTAL][4]));
    uint32_t bx = BX, by = BY, gx = GX, gy = GY, items = ITEMS;
    void *function, *dout = device_alloc(sizeof(uint32_t[TOTAL][4]));
    assert_non_null(out);
    succeeds(hipModuleGetFunction(&function, kernels, "places"));
    succeeds(hipModuleLaunchKernel(
        function, GX, GY, GZ, BX, BY, BZ, 0, NULL,
        (void *[]){ARG(dout), ARG(bx), ARG(by), ARG(gx), ARG(gy), ARG(items)}, NULL));
    succeeds(hipMemcpy(out, dout, sizeof(uint32_t[TOTAL][4]), TO_HOST));
    for (uint32_t i = 0; i < TOTAL; i++) {
        uint32_t item = i % ITEMS, group = i / ITEMS;
        assert_int_equal(out[i][0], item % BX | item / BX % BY << 8 | item / BX / BY << 16);
        assert_int_equal(out[i][1], group % GX);
        assert_int_equal(out[i][2], group / GX % GY);
        assert_int_equal(out[i][3], group / GX / GY);
    }
    free(out);
    succeeds(hipFree(dout));
}

static void loads_and_stores_narrow_values(void **state)
{
    (void)state;
    uint8_t bytes[512];
    uint16_t halves[512];
    uint32_t out[8 * WAVE];
    fill(bytes, sizeof bytes);
    fill(halves, sizeof halves);
    void *db = device_copy(bytes, sizeof bytes), *dh = device_copy(halves, sizeof halves);
    void *dout = device_alloc(sizeof out);
    launch(kernels, "narrow", 1, WAVE, (void *[]){ARG(dout), ARG(db), ARG(dh)});
    succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
    for (uint32_t i = 0; i < WAVE; i++) {
        uint32_t word;
        memcpy(&word, bytes + i, 4);
        assert_int_equal(out[8 * i], bytes[i]);
        assert_int_equal(out[8 * i + 1], (uint32_t)(int8_t)bytes[i + 1]);
        assert_int_equal(out[8 * i + 2], halves[i]);
        assert_int_equal(out[8 * i + 3], (uint32_t)(int16_t)halves[i + 1]);
        assert_int_equal(out[8 * i + 4], (uint32_t)halves[i] << 16 | halves[i + 2]);
        assert_int_equal(out[8 * i + 5], bytes[i + 3] * 257U);
        assert_int_equal(out[8 * i + 6], word);
        assert_int_equal(out[8 * i + 7], (uint8_t)(i * 7) | (uint32_t)(uint16_t)(i * 1001) << 16);
    }
    succeeds(hipFree(db));
    succeeds(hipFree(dh));
    succeeds(hipFree(dout));
}

enum { BUFFER = 4096, SOFFSET = 512 };

struct buffer_case {
    unsigned bytes; /* of the access */
    uint32_t records, soffset;
    uint32_t at[WAVE];
    uint8_t memory[BUFFER];
    uint8_t values[WAVE][16];
};

static void draw_buffer_case(struct buffer_case *c)
{
    c->records = random_below(BUFFER - SOFFSET);
    c->soffset = random_below(2) ? random_below(SOFFSET / 4) * 4 : 0;
    for (int i = 0; i < WAVE; i++) {
        unsigned near_end = c->records > 20 ? c->records - 20 + random_below(40) : 0;
        c->at[i] = random_below(3) ? near_end : random_below(BUFFER);
        if (random_below(8) == 0)
            c->at[i] = UINT32_MAX - random_below(64); /* must not wrap */
        c->at[i] &= c->bytes >= 4 ? ~3U : ~(c->bytes - 1);
    }
    fill(c->memory, sizeof c->memory);
    fill(c->values, sizeof c->values);
}

/* Bytes of dword d of an access that may be touched; 0 if out of range. gfx9 counts soffset. */
static unsigned bytes_in_range(const struct buffer_case *c, int lane, unsigned d)
{
    unsigned size = c->bytes < 4 ? c->bytes : 4;
    uint64_t end = (uint64_t)c->at[lane] + 4 * d + size;
    if (strncmp(test_target, "gfx9", 4) == 0)
        end += c->soffset;
    return end <= c->records ? size : 0;
}

static void check_buffer_load(struct buffer_case *c, const char *name)
{
    uint8_t out[WAVE][16];
    void *memory = device_copy(c->memory, BUFFER), *at = device_copy(c->at, sizeof c->at);
    void *dout = device_alloc(sizeof out);
    launch(kernels, name, 1, WAVE,
           (void *[]){ARG(dout), ARG(memory), ARG(c->records), ARG(at), ARG(c->soffset)});
    succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
    for (int i = 0; i < WAVE; i++) {
        uint8_t expected[16] = {0};
        for (unsigned d = 0; d < (c->bytes + 3) / 4; d++)
            memcpy(expected + 4 * d, c->memory + (c->at[i] + 4 * d + c->soffset) % BUFFER,
                   bytes_in_range(c, i, d));
        assert_memory_equal(out[i], expected, 16);
    }
    succeeds(hipFree(memory));
    succeeds(hipFree(at));
    succeeds(hipFree(dout));
}

/* Lanes store to places of their own, so that no order matters. */
static void check_buffer_store(struct buffer_case *c, const char *name)
{
    uint8_t out[BUFFER], expected[BUFFER];
    memcpy(expected, c->memory, BUFFER);
    uint32_t first = c->records > 300 ? c->records - 300 : 0;
    for (uint32_t i = 0; i < WAVE; i++) {
        c->at[i] = (first & ~15U) + 16 * i;
        for (unsigned d = 0; d < (c->bytes + 3) / 4; d++)
            if (bytes_in_range(c, (int)i, d))
                memcpy(expected + c->at[i] + 4 * d + c->soffset, c->values[i] + 4 * d,
                       bytes_in_range(c, (int)i, d));
    }
    void *memory = device_copy(c->memory, BUFFER), *at = device_copy(c->at, sizeof c->at);
    void *in = device_copy(c->values, sizeof c->values);
    launch(kernels, name, 1, WAVE,
           (void *[]){ARG(in), ARG(memory), ARG(c->records), ARG(at), ARG(c->soffset)});
    succeeds(hipMemcpy(out, memory, BUFFER, TO_HOST));
    assert_memory_equal(out, expected, BUFFER);
    succeeds(hipFree(memory));
    succeeds(hipFree(at));
    succeeds(hipFree(in));
}

/* Out of range loads give 0 and stores do nothing, dword by dword. */
static void clamps_buffers(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 2, 4, 8, 12, 16};
    struct buffer_case *c = malloc(sizeof *c);
    assert_non_null(c);
    for (int round = 0; round < 10; round++)
        for (int s = 0; s < 6; s++) {
            char name[32];
            c->bytes = sizes[s];
            draw_buffer_case(c);
            snprintf(name, sizeof name, "buffer_load_b%u", 8 * sizes[s]);
            check_buffer_load(c, name);
            snprintf(name, sizeof name, "buffer_store_b%u", 8 * sizes[s]);
            check_buffer_store(c, name);
        }
    free(c);
}

/* In the descriptor's range, but out of the allocation. */
static void faults_where_a_descriptor_says_too_much(void **state)
{
    (void)state;
    struct buffer_case c = {.bytes = 4, .records = BUFFER + 4, .soffset = 0};
    void *memory = device_copy(c.memory, BUFFER), *dout = device_alloc(16 * WAVE);
    for (uint32_t i = 0; i < WAVE; i++)
        c.at[i] = i == 9 ? BUFFER : 4 * i;
    void *at = device_copy(c.at, sizeof c.at);
    assert_int_equal(
        try_launch(kernels, "buffer_load_b32", 1, WAVE,
                   (void *[]){ARG(dout), ARG(memory), ARG(c.records), ARG(at), ARG(c.soffset)}),
        hipErrorLaunchFailure);
    assert_string_equal(ws_emu_finding(0)->rule, "out-of-bounds");
    assert_int_equal(ws_emu_finding(0)->lane, 9);
    succeeds(hipFree(memory));
    succeeds(hipFree(at));
    succeeds(hipFree(dout));
}

static void passes_values_through_lds(void **state)
{
    (void)state;
    enum { GROUPS = 3 };
    for (uint32_t items = WAVE; items <= 1024; items *= 2) {
        uint32_t rounds = 1 + random_below(4), count = GROUPS * items;
        uint32_t *in = malloc(count * 4), *out = malloc(count * 4);
        assert_true(in && out);
        fill(in, count * 4);
        void *din = device_copy(in, count * 4), *dout = device_alloc(count * 4);
        launch(kernels, "reverse", GROUPS, items,
               (void *[]){ARG(dout), ARG(din), ARG(items), ARG(rounds)});
        succeeds(hipMemcpy(out, dout, count * 4, TO_HOST));
        for (uint32_t i = 0; i < count; i++) {
            uint32_t item = i % items, from = rounds % 2 ? items - 1 - item : item;
            assert_int_equal(out[i], in[i - item + from] + rounds);
        }
        free(in);
        free(out);
        succeeds(hipFree(din));
        succeeds(hipFree(dout));
    }
}

static void accesses_lds_by_every_width(void **state)
{
    (void)state;
    enum { ITEMS = 256 };
    uint32_t in[ITEMS][4], out[ITEMS][4];
    fill(in, sizeof in);
    void *din = device_copy(in, sizeof in), *dout = device_alloc(sizeof out);
    launch(kernels, "lds_widths", 1, ITEMS, (void *[]){ARG(dout), ARG(din)});
    succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
    for (uint32_t i = 0; i < ITEMS; i++) {
        const uint32_t *x = in[i ^ 33];
        uint32_t two = x[0] << 16 | x[1] >> 16;
        assert_int_equal(out[i][0], x[0] ^ two);
        assert_int_equal(out[i][1], x[1] + (x[1] >> 8 & 0xff));
        assert_int_equal(out[i][2], x[2] + (uint32_t)(int16_t)(x[1] >> 16));
        assert_int_equal(out[i][3], x[3] ^ x[1] ^ x[2]);
    }
    succeeds(hipFree(din));
    succeeds(hipFree(dout));
}

static void lets_waves_end_before_a_barrier(void **state)
{
    (void)state;
    uint32_t out[64];
    void *dout = device_alloc(sizeof out);
    launch(kernels, "early_exit", 1, 192, (void *[]){ARG(dout)});
    succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], (i ^ 32) * 3);
    succeeds(hipFree(dout));
}

static void runs_divergent_loops_and_calls(void **state)
{
    (void)state;
    enum { N = 512 };
    uint32_t out[N];
    void *dout = device_alloc(sizeof out);
    launch(kernels, "steps", N / 64, 64, (void *[]){ARG(dout)});
    succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
    for (uint32_t i = 0; i < N; i++) {
        uint32_t count = 0;
        for (uint32_t x = i + 1; x != 1; x = x % 2 ? 3 * x + 1 : x / 2)
            count++;
        assert_int_equal(out[i], count);
    }
    succeeds(hipFree(dout));
}

/* 40 GiB, of which a few pages are touched: element indices beyond 2^31 and offsets beyond 4 GiB.
 */
static void reaches_far_into_sparse_memory(void **state)
{
    (void)state;
    const uint64_t elements = UINT64_C(10) << 30;
    uint64_t index[WAVE];
    uint32_t out[WAVE], value = (uint32_t)random64();
    for (uint32_t i = 0; i < WAVE; i++)
        index[i] = i * (elements / WAVE) + random_below(1000);
    index[31] = elements - 1;
    char *memory = device_alloc(elements * 4);
    for (uint32_t i = 0; i < WAVE; i++)
        succeeds(hipMemcpy(memory + 4 * index[i], &i, 4, TO_DEVICE));
    void *dindex = device_copy(index, sizeof index), *dout = device_alloc(sizeof out);
    launch(kernels, "far", 1, WAVE, (void *[]){ARG(dout), ARG(memory), ARG(dindex), ARG(value)});
    succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
    for (uint32_t i = 0; i < WAVE; i++) {
        uint32_t stored;
        assert_int_equal(out[i], i);
        succeeds(hipMemcpy(&stored, memory + 4 * index[i], 4, TO_HOST));
        assert_int_equal(stored, value + i);
    }
    index[7] = elements; /* one past the end */
    succeeds(hipMemcpy(dindex, index, sizeof index, TO_DEVICE));
    assert_int_equal(try_launch(kernels, "far", 1, WAVE,
                                (void *[]){ARG(dout), ARG(memory), ARG(dindex), ARG(value)}),
                     hipErrorLaunchFailure);
    assert_int_equal(ws_emu_finding(0)->lane, 7);
    succeeds(hipFree(memory));
    succeeds(hipFree(dindex));
    succeeds(hipFree(dout));
}

static void exchanges_between_lanes(void **state)
{
    (void)state;
    uint32_t to[WAVE], out[WAVE][4], permuted[WAVE];
    for (uint32_t i = 0; i < WAVE; i++)
        to[i] = (i * 5 + 3) % WAVE; /* a permutation */
    for (uint32_t i = 0; i < WAVE; i++)
        permuted[to[i]] = i;
    void *dto = device_copy(to, sizeof to), *dout = device_alloc(sizeof out);
    launch(kernels, "exchange", 1, WAVE, (void *[]){ARG(dout), ARG(dto)});
    succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
    for (uint32_t i = 0; i < WAVE; i++) {
        assert_int_equal(out[i][0], to[i] * 11);
        assert_int_equal(out[i][1], permuted[i] * 11);
        assert_int_equal(out[i][2], (i ^ 16) * 11);
        assert_int_equal(out[i][3], (i ^ 3) * 11);
    }
    succeeds(hipFree(dto));
    succeeds(hipFree(dout));
}

static void tells_kernels_their_shape(void **state)
{
    (void)state;
    uint32_t out[6][4];
    void *function, *dout = device_alloc(sizeof out);
    succeeds(hipModuleGetFunction(&function, kernels, "launch_shape"));
    succeeds(
        hipModuleLaunchKernel(function, 6, 1, 1, 48, 2, 1, 0, NULL, (void *[]){ARG(dout)}, NULL));
    succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
    for (int i = 0; i < 6; i++) {
        assert_int_equal(out[i][0], 6);
        assert_int_equal(out[i][1], 48);
        assert_int_equal(out[i][2], 2);
        assert_int_equal(out[i][3], 48);
    }
    succeeds(hipFree(dout));
}

static void runs_selected_workgroups_only(void **state)
{
    (void)state;
    const uint64_t ids[] = {1, 5};
    uint32_t out[512], mark = 0xdeadbeef;
    struct ws_emu_report report;
    void *dout = device_alloc(sizeof out);
    succeeds(hipMemsetD32(dout, (int)mark, 512));
    ws_emu_select_workgroups(ids, 2);
    launch(kernels, "steps", 8, 64, (void *[]){ARG(dout)});
    ws_emu_last_report(&report);
    ws_emu_select_workgroups(NULL, 0);
    assert_int_equal(report.workgroups_run, 2);
    assert_int_equal(report.workgroups_total, 8);
    succeeds(hipMemcpy(out, dout, sizeof out, TO_HOST));
    for (uint32_t i = 0; i < 512; i++)
        assert_int_equal(out[i] == mark, i / 64 != 1 && i / 64 != 5);
    succeeds(hipFree(dout));
}

/* Counts and results do not depend on threads, seed or strictness. */
static void counts_the_same_however_it_runs(void **state)
{
    (void)state;
    enum { N = 512 };
    struct ws_emu_report first = {0}, report;
    void *dout = device_alloc(N * 4);
    for (unsigned way = 0; way < 6; way++) {
        const struct ws_emu_config config = {
            .strict = way % 2, .threads = 1 + way / 2, .seed = random64()};
        ws_emu_configure(&config);
        launch(kernels, "steps", N / 64, 64, (void *[]){ARG(dout)});
        ws_emu_last_report(&report);
        if (way == 0)
            first = report;
        assert_int_equal(report.wave_instructions, first.wave_instructions);
        uint64_t sum = 0;
        for (int c = 0; ws_emu_class_name(c); c++) {
            assert_int_equal(report.by_class[c], first.by_class[c]);
            sum += report.by_class[c];
        }
        assert_int_equal(sum, report.wave_instructions);
    }
    configure(true, 0, 0);
    succeeds(hipFree(dout));
}

static int set_up(void **state)
{
    (void)state;
    kernels = load_module("kernels");
    configure(true, random64(), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return hipModuleUnload(kernels);
}

int main(int argc, char **argv)
{
    take_target(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_with_a_tail),
        cmocka_unit_test(takes_a_parameter_buffer),
        cmocka_unit_test(knows_every_place),
        cmocka_unit_test(loads_and_stores_narrow_values),
        cmocka_unit_test(clamps_buffers),
        cmocka_unit_test(faults_where_a_descriptor_says_too_much),
        cmocka_unit_test(passes_values_through_lds),
        cmocka_unit_test(accesses_lds_by_every_width),
        cmocka_unit_test(lets_waves_end_before_a_barrier),
        cmocka_unit_test(runs_divergent_loops_and_calls),
        cmocka_unit_test(reaches_far_into_sparse_memory),
        cmocka_unit_test(exchanges_between_lanes),
        cmocka_unit_test(tells_kernels_their_shape),
        cmocka_unit_test(runs_selected_workgroups_only),
        cmocka_unit_test(counts_the_same_however_it_runs),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
