/* Packs on the emulator: numbers of launches, of an operation with a workspace, of many threads. */
#include <math.h>
#include <pthread.h>

#include "tests/random.h"
#include "tests/runtime/kernel_pack.h"

#define OBJECT TEST_FOLDER "pack_kernels_gfx1151.hsaco"

static uint64_t seed;

struct setting {
    struct ws_driver *driver;
    struct ws_device *device;
    struct kernel_pack *made;
    struct ws_pack *pack;
};

/* Two variants of a gemm: tile of rows, and cost of a row. */
enum { PLAIN_TILE = 16, PLAIN_SCORE = 3, PLUS_ONE_TILE = 64, PLUS_ONE_SCORE = 2 };

static void add_rows(struct kernel_pack *made)
{
    static const char *const parts[] = {"bwd_delta", "bwd_main", "bwd_cast"};
    static const uint32_t steps[] = {2, 3, 4};
    static struct ws_region regions[2], packed_regions[2];
    struct ws_error error;
    struct ws_variant *plain =
        kernel_pack_kernel(made, "gemm_plain", WS_KERNEL_GEMM, 1, "v1 ceil(M*N*B/64)");
    struct ws_variant *plus =
        kernel_pack_kernel(made, "gemm_plus_one", WS_KERNEL_GEMM, 2, "v1 ceil(M*N*B/64)");
    plain->out = plus->out = WS_OUT_F32;
    plain->tile_q = PLAIN_TILE;
    plain->score = PLAIN_SCORE;
    plus->tile_q = PLUS_ONE_TILE;
    plus->score = PLUS_ONE_SCORE;
    for (uint64_t i = 0; i < 3; i++)
        kernel_pack_kernel(made, parts[i], WS_KERNEL_FMHA_BWD, 10 + i, "v1 ceil(Sq*Hq*B/64)")
            ->selectable = false;
    regions[0] = packed_regions[0] = (struct ws_region){.argument = "delta"};
    regions[1] = packed_regions[1] = (struct ws_region){.argument = "dq_acc", .zero = true};
    assert_ok(ws_rule_parse(&regions[0].bytes, "v1 4*B*Hq*Sq", &error), &error);
    assert_ok(ws_rule_parse(&regions[1].bytes, "v1 4*B*Hq*Sq*Dqk", &error), &error);
    assert_ok(ws_rule_parse(&packed_regions[0].bytes, "v1 4*Tq*Hq", &error), &error);
    assert_ok(ws_rule_parse(&packed_regions[1].bytes, "v1 4*Tq*Hq*Dqk", &error), &error);
    for (uint64_t i = 0; i < 2; i++) {
        struct ws_variant *backward = kernel_pack_add(made, WS_KERNEL_FMHA_BWD, 20 + i);
        backward->steps = steps;
        backward->step_count = 3;
        backward->regions = i == 0 ? regions : packed_regions;
        backward->region_count = 2;
        backward->head_dim_qk = backward->head_dim_v = 2;
        backward->varlen = i == 1;
    }
}

static struct setting set_up(void)
{
    struct ws_error error;
    struct setting setting = {.made = kernel_pack_begin(OBJECT)};
    add_rows(setting.made);
    setting.pack = kernel_pack_open(setting.made);
    assert_ok(ws_driver_open(&setting.driver, EMULATOR, &error), &error);
    assert_ok(ws_device_open(&setting.device, setting.driver, "gfx1151", &error), &error);
    return setting;
}

static void tear_down(struct setting *setting)
{
    ws_device_close(setting->device);
    ws_driver_close(setting->driver);
    ws_pack_close(setting->pack);
    kernel_pack_end(setting->made);
}

/* A gemm of whole numbers, whose result is exact; `lane` sets its inputs apart from others'. */
struct product {
    int32_t m, n, k;
    int lane;
};

static float a_element(const struct product *p, int32_t row, int32_t column)
{
    return (float)((row * 3 + column + p->lane) % 7 - 3);
}

static float b_element(const struct product *p, int32_t row, int32_t column)
{
    return (float)((row + column * 2 + p->lane) % 5 - 2);
}

/* f16 of a whole number of -3 to 3. */
static uint16_t half(float value)
{
    static const uint16_t bits[] = {0, 0x3c00, 0x4000, 0x4200};
    int magnitude = (int)(value < 0 ? -value : value);
    return (uint16_t)(bits[magnitude] | (value < 0 ? 0x8000 : 0));
}

/* The number of an f16 that is 0 or normal. */
static float single(uint16_t bits)
{
    float magnitude = ldexpf((float)(1024 + (bits & 1023)), (bits >> 10 & 31) - 25);
    if ((bits & 0x7fff) == 0)
        return 0;
    return bits >> 15 ? -magnitude : magnitude;
}

static enum ws_status upload(struct ws_device *device, const struct product *p,
                             struct ws_gemm_args *args, struct ws_error *error)
{
    const size_t a_bytes = 2 * (size_t)p->m * (size_t)p->k,
                 b_bytes = 2 * (size_t)p->n * (size_t)p->k;
    uint16_t *a = malloc(a_bytes), *b = malloc(b_bytes);
    for (int32_t i = 0; i < p->m * p->k; i++)
        a[i] = half(a_element(p, i / p->k, i % p->k));
    for (int32_t i = 0; i < p->n * p->k; i++)
        b[i] = half(b_element(p, i / p->k, i % p->k));
    *args = (struct ws_gemm_args){.batch = 1,
                                  .m = p->m,
                                  .n = p->n,
                                  .k = p->k,
                                  .a_row_stride = p->k,
                                  .b_row_stride = p->k,
                                  .c_row_stride = p->n};
    enum ws_status status = ws_device_alloc(device, a_bytes, &args->a, error);
    if (status == WS_OK)
        status = ws_device_alloc(device, b_bytes, &args->b, error);
    if (status == WS_OK)
        status = ws_device_alloc(device, 4 * (size_t)p->m * (size_t)p->n, &args->c, error);
    if (status == WS_OK)
        status = ws_device_write(device, args->a, a, a_bytes, error);
    if (status == WS_OK)
        status = ws_device_write(device, args->b, b, b_bytes, error);
    free(a);
    free(b);
    return status;
}

/* Which of the two costs less. */
static bool is_plus_one(const struct product *p)
{
    int32_t plain = (p->m + PLAIN_TILE - 1) / PLAIN_TILE * PLAIN_TILE * PLAIN_SCORE;
    int32_t plus = (p->m + PLUS_ONE_TILE - 1) / PLUS_ONE_TILE * PLUS_ONE_TILE * PLUS_ONE_SCORE;
    return plus < plain;
}

/* WS_ERROR_DEVICE, also for a wrong number. */
static enum ws_status check(struct ws_device *device, const struct product *p,
                            const struct ws_gemm_args *args, struct ws_error *error)
{
    const size_t bytes = 4 * (size_t)p->m * (size_t)p->n;
    float *c = malloc(bytes);
    enum ws_status status = ws_device_read(device, c, args->c, bytes, error);
    for (int32_t i = 0; i < p->m * p->n && status == WS_OK; i++) {
        float want = is_plus_one(p) ? 1 : 0;
        for (int32_t j = 0; j < p->k; j++)
            want += a_element(p, i / p->n, j) * b_element(p, i % p->n, j);
        if (c[i] != want)
            status = ws_fail(error, WS_ERROR_DEVICE, "m %d, n %d: C[%d] is %g, not %g", p->m, p->n,
                             i, (double)c[i], (double)want);
    }
    free(c);
    return status;
}

/* All of it: select, prepare, launch, wait, check. */
static enum ws_status run_product(const struct setting *setting, const struct product *p,
                                  struct ws_error *error)
{
    const struct ws_request request = {
        .kind = WS_KERNEL_GEMM,
        .target = ws_device_target(setting->device),
        .out = WS_OUT_F32,
        .alignment = 2,
        .sizes = {[WS_SIZE_B] = 1, [WS_SIZE_M] = p->m, [WS_SIZE_N] = p->n, [WS_SIZE_K] = p->k}};
    struct ws_plan plan;
    struct ws_prepared *prepared = NULL;
    struct ws_gemm_args args = {0};
    enum ws_status status = upload(setting->device, p, &args, error);
    if (status == WS_OK)
        status = ws_pack_select(setting->pack, &request, &plan, error);
    if (status == WS_OK)
        status = ws_prepare(&prepared, setting->pack, setting->device, &plan, error);
    if (status == WS_OK)
        status = ws_prepared_launch(prepared, &args, sizeof args, 0, NULL, error);
    if (status == WS_OK)
        status = ws_device_wait(setting->device, NULL, 60, error);
    if (status == WS_OK)
        status = check(setting->device, p, &args, error);
    ws_prepared_free(prepared);
    ws_device_free(setting->device, args.a, NULL);
    ws_device_free(setting->device, args.b, NULL);
    ws_device_free(setting->device, args.c, NULL);
    return status;
}

static struct product draw_product(int lane)
{
    return (struct product){.m = (int32_t)(next_random(&seed) % 100) + 1,
                            .n = (int32_t)(next_random(&seed) % 20) + 1,
                            .k = (int32_t)(next_random(&seed) % 20) + 1,
                            .lane = lane};
}

static void products_are_right(void **state)
{
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    int plus_one = 0;
    for (int i = 0; i < 12; i++) {
        struct product p = draw_product(i);
        if (i < 2)
            p.m = i == 0 ? 20 : 90; /* one of each */
        plus_one += is_plus_one(&p);
        assert_ok(run_product(&setting, &p, &error), &error);
    }
    assert_true(plus_one > 0 && plus_one < 12);
    tear_down(&setting);
}

enum { THREADS = 16, ROUNDS = 6 };

struct worker {
    const struct setting *setting;
    struct product products[ROUNDS];
    struct ws_error error;
};

static void *work(void *context)
{
    struct worker *worker = context;
    for (int i = 0; i < ROUNDS; i++) {
        if (run_product(worker->setting, &worker->products[i], &worker->error) != WS_OK)
            return worker;
    }
    return NULL;
}

/* No module is loaded before they start. */
static void threads_launch_from_one_pack(void **state)
{
    (void)state;
    struct setting setting = set_up();
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.setting = &setting};
        for (int j = 0; j < ROUNDS; j++)
            workers[i].products[j] = draw_product(i);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        if (failed != NULL)
            fail_msg("thread %d: %s", i, workers[i].error.message);
    }
    tear_down(&setting);
}

/* A backward of made-up kernels: dQ[.][0] = scale * sum of O's row, dQ[.][1] twice that. */
enum { SEQUENCES = 2, HEADS = 3, QUERIES = 45, ROWS = SEQUENCES * HEADS * QUERIES };

struct backward {
    struct ws_fmha_bwd_args args;
    struct ws_plan plan;
    struct ws_prepared *prepared;
    uint64_t memory, workspace; /* O, then dQ */
    uint16_t o[ROWS][2];
    int sums[ROWS];
};

static void begin_backward(struct backward *b, const struct setting *setting)
{
    struct ws_error error;
    const struct ws_request request = {.kind = WS_KERNEL_FMHA_BWD,
                                       .target = ws_device_target(setting->device),
                                       .head_dim_qk = 2,
                                       .head_dim_v = 2,
                                       .alignment = 2,
                                       .sizes = {[WS_SIZE_B] = SEQUENCES,
                                                 [WS_SIZE_Hq] = HEADS,
                                                 [WS_SIZE_Hk] = 1,
                                                 [WS_SIZE_Sq] = QUERIES,
                                                 [WS_SIZE_Sk] = 1}};
    *b = (struct backward){0};
    assert_ok(ws_pack_select(setting->pack, &request, &b->plan, &error), &error);
    assert_ok(ws_prepare(&b->prepared, setting->pack, setting->device, &b->plan, &error), &error);
    assert_ok(ws_device_alloc(setting->device, 2 * sizeof b->o, &b->memory, &error), &error);
    assert_ok(ws_device_alloc(setting->device, b->plan.workspace_bytes, &b->workspace, &error),
              &error);
    for (int i = 0; i < ROWS; i++) {
        int x = (int)(next_random(&seed) % 7) - 3, y = (int)(next_random(&seed) % 7) - 3;
        b->o[i][0] = half((float)x);
        b->o[i][1] = half((float)y);
        b->sums[i] = x + y;
    }
    assert_ok(ws_device_write(setting->device, b->memory, b->o, sizeof b->o, &error), &error);
    const uint64_t unread = b->memory;
    b->args = (struct ws_fmha_bwd_args){.q = unread,
                                        .k = unread,
                                        .v = unread,
                                        .o = b->memory,
                                        .dout = unread,
                                        .lse = unread,
                                        .dq = b->memory + sizeof b->o,
                                        .dk = unread,
                                        .dv = unread,
                                        .scale = 0.5F,
                                        .batch = SEQUENCES,
                                        .heads_q = HEADS,
                                        .heads_k = 1,
                                        .seqlen_q = QUERIES,
                                        .seqlen_k = 1,
                                        .o_batch_stride = (int64_t)HEADS * QUERIES * 2,
                                        .o_head_stride = (int64_t)QUERIES * 2,
                                        .o_token_stride = 2,
                                        .dq_batch_stride = (int64_t)HEADS * QUERIES * 2,
                                        .dq_head_stride = (int64_t)QUERIES * 2,
                                        .dq_token_stride = 2,
                                        .dk_batch_stride = 2,
                                        .dv_batch_stride = 2};
}

/* The workspace is full of other numbers before. */
static void dirty_backward(const struct backward *b, const struct setting *setting)
{
    struct ws_error error;
    assert_ok(ws_device_fill(setting->device, b->workspace, 0x41, b->plan.workspace_bytes, &error),
              &error);
    assert_ok(ws_device_fill(setting->device, b->args.dq, 0xff, sizeof b->o, &error), &error);
}

static void check_backward(const struct backward *b, const struct setting *setting)
{
    struct ws_error error;
    uint16_t dq[ROWS][2];
    assert_ok(ws_device_wait(setting->device, NULL, 60, &error), &error);
    assert_ok(ws_device_read(setting->device, dq, b->args.dq, sizeof dq, &error), &error);
    for (int i = 0; i < ROWS; i++) {
        assert_true(single(dq[i][0]) == 0.5F * (float)b->sums[i]);
        assert_true(single(dq[i][1]) == (float)b->sums[i]);
    }
}

static void end_backward(struct backward *b, const struct setting *setting)
{
    ws_prepared_free(b->prepared);
    ws_device_free(setting->device, b->memory, NULL);
    ws_device_free(setting->device, b->workspace, NULL);
}

static void an_operation_of_three_steps(void **state)
{
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    struct backward b;
    begin_backward(&b, &setting);
    for (int i = 0; i < 2; i++) {
        dirty_backward(&b, &setting);
        assert_ok(ws_prepared_launch(b.prepared, &b.args, sizeof b.args, b.workspace, NULL, &error),
                  &error);
        check_backward(&b, &setting);
    }
    end_backward(&b, &setting);
    tear_down(&setting);
}

/* Sequences behind one another, the heads of a token together; one of them is empty, the longest
 * has QUERIES. */
enum { PACKED = 4, TOKENS = QUERIES + 7 + 20 };
static const int32_t starts[PACKED + 1] = {0, 7, 7, 7 + QUERIES, TOKENS};

struct packed_backward {
    struct ws_fmha_bwd_args args;
    uint64_t memory, workspace; /* O, dQ, starts */
    uint16_t o[TOKENS][HEADS][2];
};

/* The workspace is as large as the plan says and full of other numbers. */
static void begin_packed(struct packed_backward *b, const struct setting *setting,
                         uint64_t workspace_bytes)
{
    struct ws_error error;
    struct ws_device *device = setting->device;
    assert_ok(ws_device_alloc(device, 2 * sizeof b->o + sizeof starts, &b->memory, &error), &error);
    assert_ok(ws_device_alloc(device, workspace_bytes, &b->workspace, &error), &error);
    assert_ok(ws_device_fill(device, b->workspace, 0x41, workspace_bytes, &error), &error);
    for (int i = 0; i < TOKENS * HEADS * 2; i++)
        b->o[i / 2 / HEADS][i / 2 % HEADS][i % 2] = half((float)(next_random(&seed) % 7) - 3);
    const uint64_t unread = b->memory, lengths = b->memory + 2 * sizeof b->o;
    assert_ok(ws_device_write(device, b->memory, b->o, sizeof b->o, &error), &error);
    assert_ok(ws_device_write(device, lengths, starts, sizeof starts, &error), &error);
    b->args = (struct ws_fmha_bwd_args){.q = unread,
                                        .k = unread,
                                        .v = unread,
                                        .o = b->memory,
                                        .dout = unread,
                                        .lse = unread,
                                        .dq = b->memory + sizeof b->o,
                                        .dk = unread,
                                        .dv = unread,
                                        .cu_seqlens_q = lengths,
                                        .cu_seqlens_k = lengths,
                                        .scale = 0.5F,
                                        .batch = PACKED,
                                        .heads_q = HEADS,
                                        .heads_k = 1,
                                        .seqlen_q = QUERIES,
                                        .seqlen_k = 1,
                                        .o_head_stride = 2,
                                        .o_token_stride = (int64_t)HEADS * 2,
                                        .dq_head_stride = 2,
                                        .dq_token_stride = (int64_t)HEADS * 2};
}

static void check_packed(const struct packed_backward *b, const struct setting *setting)
{
    struct ws_error error;
    uint16_t dq[TOKENS][HEADS][2];
    assert_ok(ws_device_wait(setting->device, NULL, 60, &error), &error);
    assert_ok(ws_device_read(setting->device, dq, b->args.dq, sizeof dq, &error), &error);
    for (int i = 0; i < TOKENS * HEADS; i++) {
        const uint16_t *o = b->o[i / HEADS][i % HEADS], *got = dq[i / HEADS][i % HEADS];
        const float sum = single(o[0]) + single(o[1]);
        assert_true(single(got[0]) == 0.5F * sum);
        assert_true(single(got[1]) == sum);
    }
}

static void an_operation_of_packed_sequences(void **state)
{
    (void)state;
    struct ws_error error;
    struct ws_plan plan;
    struct ws_prepared *prepared = NULL;
    struct packed_backward b;
    struct setting setting = set_up();
    const struct ws_request request = {.kind = WS_KERNEL_FMHA_BWD,
                                       .target = ws_device_target(setting.device),
                                       .head_dim_qk = 2,
                                       .head_dim_v = 2,
                                       .varlen = true,
                                       .alignment = 2,
                                       .sizes = {[WS_SIZE_B] = PACKED,
                                                 [WS_SIZE_Hq] = HEADS,
                                                 [WS_SIZE_Hk] = 1,
                                                 [WS_SIZE_Sq] = QUERIES,
                                                 [WS_SIZE_Sk] = 1,
                                                 [WS_SIZE_Tq] = TOKENS}};
    assert_ok(ws_pack_select(setting.pack, &request, &plan, &error), &error);
    assert_ok(ws_prepare(&prepared, setting.pack, setting.device, &plan, &error), &error);
    begin_packed(&b, &setting, plan.workspace_bytes);
    assert_ok(ws_prepared_launch(prepared, &b.args, sizeof b.args, b.workspace, NULL, &error),
              &error);
    check_packed(&b, &setting);
    ws_prepared_free(prepared);
    ws_device_free(setting.device, b.memory, NULL);
    ws_device_free(setting.device, b.workspace, NULL);
    tear_down(&setting);
}

/* The driver's functions for streams and captures, which the runtime leaves to its caller. */
#define CAPTURE_FUNCTIONS(X)                                                                       \
    X(hipStreamCreate, (void **stream))                                                            \
    X(hipStreamDestroy, (void *stream))                                                            \
    X(hipStreamBeginCapture, (void *stream, int mode))                                             \
    X(hipStreamEndCapture, (void *stream, void **graph))                                           \
    X(hipGraphInstantiate, (void **exec, void *graph, void **node, char *log, size_t size))        \
    X(hipGraphLaunch, (void *exec, void *stream))                                                  \
    X(hipGraphExecDestroy, (void *exec))                                                           \
    X(hipGraphDestroy, (void *graph))

struct capture {
#define MEMBER(name, parameters) int(*name) parameters;
    CAPTURE_FUNCTIONS(MEMBER)
#undef MEMBER
};

static struct capture find_functions(const struct ws_driver *driver)
{
    struct capture capture;
    void *address = NULL;
#define FIND(name, parameters)                                                                     \
    address = ws_driver_symbol(driver, #name);                                                     \
    assert_non_null(address);                                                                      \
    memcpy((void *)&capture.name, (void *)&address, sizeof address);
    CAPTURE_FUNCTIONS(FIND)
#undef FIND
    return capture;
}

/* Captured, nothing runs; of the graph it runs each time, zero-fill and all. */
static void an_operation_is_captured(void **state)
{
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    struct backward b;
    const struct capture hip = find_functions(setting.driver);
    void *stream = NULL, *graph = NULL, *exec = NULL;
    uint32_t untouched = 0;
    begin_backward(&b, &setting);
    dirty_backward(&b, &setting);
    assert_int_equal(hip.hipStreamCreate(&stream), 0);
    assert_int_equal(hip.hipStreamBeginCapture(stream, 0), 0);
    assert_ok(ws_prepared_launch(b.prepared, &b.args, sizeof b.args, b.workspace, stream, &error),
              &error);
    assert_int_equal(hip.hipStreamEndCapture(stream, &graph), 0);
    assert_int_equal(hip.hipGraphInstantiate(&exec, graph, NULL, NULL, 0), 0);
    assert_ok(ws_device_read(setting.device, &untouched, b.args.dq, sizeof untouched, &error),
              &error);
    assert_int_equal(untouched, 0xffffffff);
    for (int i = 0; i < 2; i++) {
        dirty_backward(&b, &setting);
        assert_int_equal(hip.hipGraphLaunch(exec, stream), 0);
        assert_ok(ws_device_wait(setting.device, stream, 60, &error), &error);
        check_backward(&b, &setting);
    }
    assert_int_equal(hip.hipGraphExecDestroy(exec), 0);
    assert_int_equal(hip.hipGraphDestroy(graph), 0);
    assert_int_equal(hip.hipStreamDestroy(stream), 0);
    end_backward(&b, &setting);
    tear_down(&setting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(threads_launch_from_one_pack),
        cmocka_unit_test(an_operation_of_three_steps),
        cmocka_unit_test(an_operation_of_packed_sequences),
        cmocka_unit_test(an_operation_is_captured),
    };
    seed = test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
