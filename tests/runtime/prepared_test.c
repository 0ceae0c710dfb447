/* Plans made ready and launched on a stand-in for the HIP driver: what reaches it, and what must
 * not. */
#include <math.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "tests/runtime/fake_driver.h"
#include "tests/runtime/kernel_pack.h"
#include "tools/wavesmith/allocations.h"

#define OBJECT TEST_FOLDER "pack_kernels_gfx1151.hsaco"

/* Device addresses that are never reached. */
enum { A = 0x1000, B = 0x2000, C = 0x3000, WORKSPACE = 0x4000 };

struct setting {
    struct fake_hip *fake;
    struct ws_driver *driver;
    struct ws_device *device;
    struct kernel_pack *made;
    struct ws_request gemm, bwd;
    struct ws_gemm_args gemm_args;
    struct ws_fmha_bwd_args bwd_args;
};

static void open_device(struct setting *setting)
{
    struct ws_error error;
    setting->fake = fake_reset(FAKE_HIP);
    assert_ok(ws_driver_open(&setting->driver, FAKE_HIP, &error), &error);
    assert_ok(ws_device_open(&setting->device, setting->driver, NULL, &error), &error);
    setting->fake->calls[0] = '\0';
}

/* Rows 0 to 2: parts of a backward; 3: the backward; 4: a gemm; 5: a backward of packed sequences.
 */
static void add_rows(struct kernel_pack *made)
{
    static const char *const parts[] = {"bwd_delta", "bwd_main", "bwd_cast"};
    static const uint32_t steps[] = {0, 1, 2};
    static struct ws_region regions[2], packed_regions[2];
    struct ws_error error;
    for (uint64_t i = 0; i < 3; i++)
        kernel_pack_kernel(made, parts[i], WS_KERNEL_FMHA_BWD, 10 + i,
                           i == 1 ? "v1 ceil(2*Sq*Hq/128)*B" : "v1 ceil(Sq*Hq*B/64)")
            ->selectable = false;
    regions[0] = (struct ws_region){.argument = "dq_acc", .zero = true};
    regions[1] = (struct ws_region){.argument = "delta"};
    assert_ok(ws_rule_parse(&regions[0].bytes, "v1 4*B*Hq*Sq*Dqk", &error), &error);
    assert_ok(ws_rule_parse(&regions[1].bytes, "v1 4*B*Hq*Sq", &error), &error);
    struct ws_variant *backward = kernel_pack_add(made, WS_KERNEL_FMHA_BWD, 20);
    backward->steps = steps;
    backward->step_count = 3;
    backward->regions = regions;
    backward->region_count = 2;
    backward->head_dim_qk = backward->head_dim_v = 2;
    struct ws_variant *gemm =
        kernel_pack_kernel(made, "gemm_plain", WS_KERNEL_GEMM, 30, "v1 ceil(M*N*B/64)");
    gemm->alignment = 8;
    gemm->out = WS_OUT_F32;
    packed_regions[0] = regions[0];
    packed_regions[1] = regions[1];
    assert_ok(ws_rule_parse(&packed_regions[0].bytes, "v1 4*Tq*Hq*Dqk", &error), &error);
    assert_ok(ws_rule_parse(&packed_regions[1].bytes, "v1 4*Tq*Hq", &error), &error);
    struct ws_variant *packed = kernel_pack_add(made, WS_KERNEL_FMHA_BWD, 40);
    const char *spec_id = packed->spec_id;
    *packed = *backward;
    packed->spec_id = spec_id;
    packed->regions = packed_regions;
    packed->varlen = true;
}

static const struct ws_request gemm_request = {
    .kind = WS_KERNEL_GEMM,
    .target = "gfx1151",
    .out = WS_OUT_F32,
    .alignment = 8,
    .sizes = {[WS_SIZE_B] = 2, [WS_SIZE_M] = 3, [WS_SIZE_N] = 50, [WS_SIZE_K] = 7}};

static const struct ws_gemm_args gemm_args = {.a = A,
                                              .b = B,
                                              .c = C,
                                              .batch = 2,
                                              .m = 3,
                                              .n = 50,
                                              .k = 7,
                                              .a_batch_stride = 24,
                                              .a_row_stride = 8,
                                              .b_batch_stride = 400,
                                              .b_row_stride = 8,
                                              .c_batch_stride = 150,
                                              .c_row_stride = 50};

static const struct ws_request bwd_request = {
    .kind = WS_KERNEL_FMHA_BWD,
    .target = "gfx1151",
    .head_dim_qk = 2,
    .head_dim_v = 2,
    .alignment = 2,
    .sizes = {
        [WS_SIZE_B] = 2, [WS_SIZE_Hq] = 4, [WS_SIZE_Hk] = 2, [WS_SIZE_Sq] = 30, [WS_SIZE_Sk] = 40}};

#define STRIDES(name) .name##_batch_stride = 320, .name##_head_stride = 80, .name##_token_stride = 2
static const struct ws_fmha_bwd_args bwd_args = {.q = A,
                                                 .k = A,
                                                 .v = A,
                                                 .o = A,
                                                 .dout = A,
                                                 .lse = A,
                                                 .dq = B,
                                                 .dk = B,
                                                 .dv = B,
                                                 .scale = 0.5F,
                                                 .batch = 2,
                                                 .heads_q = 4,
                                                 .heads_k = 2,
                                                 .seqlen_q = 30,
                                                 .seqlen_k = 40,
                                                 STRIDES(q),
                                                 STRIDES(k),
                                                 STRIDES(v),
                                                 STRIDES(o),
                                                 STRIDES(dout),
                                                 STRIDES(lse),
                                                 STRIDES(dq),
                                                 STRIDES(dk),
                                                 STRIDES(dv)};
#undef STRIDES

static struct setting set_up(void)
{
    struct setting setting = {.made = kernel_pack_begin(OBJECT),
                              .gemm = gemm_request,
                              .bwd = bwd_request,
                              .gemm_args = gemm_args,
                              .bwd_args = bwd_args};
    open_device(&setting);
    add_rows(setting.made);
    return setting;
}

static void tear_down(struct setting *setting)
{
    ws_device_close(setting->device);
    assert_int_equal(setting->fake->live_modules, 0);
    ws_driver_close(setting->driver);
    kernel_pack_end(setting->made);
}

/* Selects and prepares; the pack is closed again. */
static enum ws_status prepare(const struct setting *setting, const struct ws_request *request,
                              struct ws_prepared **prepared, struct ws_error *error)
{
    struct ws_plan plan;
    struct ws_pack *pack = kernel_pack_open(setting->made);
    enum ws_status status = ws_pack_select(pack, request, &plan, error);
    if (status == WS_OK)
        status = ws_prepare(prepared, pack, setting->device, &plan, error);
    ws_pack_close(pack);
    return status;
}

static struct ws_prepared *prepared_of(const struct setting *setting,
                                       const struct ws_request *request)
{
    struct ws_error error;
    struct ws_prepared *prepared = NULL;
    assert_ok(prepare(setting, request, &prepared, &error), &error);
    return prepared;
}

static enum ws_status launch_gemm(const struct setting *setting, const struct ws_prepared *prepared,
                                  struct ws_error *error)
{
    return ws_prepared_launch(prepared, &setting->gemm_args, sizeof setting->gemm_args, 0, NULL,
                              error);
}

static void one_kernel_arrives_whole(void **state)
{
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    struct ws_prepared *prepared = prepared_of(&setting, &setting.gemm);
    struct fake_hip *fake = setting.fake;
    assert_ok(ws_prepared_launch(prepared, &setting.gemm_args, sizeof setting.gemm_args, 0, &error,
                                 &error),
              &error);
    assert_string_equal(fake->launched, "gemm_plain ");
    assert_int_equal(fake->grid[0], 5); /* 300 elements by 64 */
    assert_int_equal(fake->grid[1] * fake->grid[2], 1);
    assert_int_equal(fake->block[0], 64);
    assert_int_equal(fake->block[1] * fake->block[2], 1);
    assert_ptr_equal(fake->stream, &error);
    assert_int_equal(fake->args_size, sizeof setting.gemm_args);
    assert_memory_equal(fake->args, &setting.gemm_args, sizeof setting.gemm_args);
    assert_int_equal(fake->fills, 0);
    ws_prepared_free(prepared);
    ws_prepared_free(NULL);
    tear_down(&setting);
}

static void an_operation_arrives_whole(void **state)
{
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    struct ws_prepared *prepared = prepared_of(&setting, &setting.bwd);
    struct fake_hip *fake = setting.fake;
    struct ws_fmha_bwd_args got, want = setting.bwd_args;
    assert_ok(ws_prepared_launch(prepared, &setting.bwd_args, sizeof setting.bwd_args, WORKSPACE,
                                 &error, &error),
              &error);
    assert_string_equal(fake->launched, "bwd_delta bwd_main bwd_cast ");
    assert_int_equal(fake->fills, 1);
    assert_int_equal(fake->filled[0][0], WORKSPACE);
    assert_int_equal(fake->filled[0][1], 4 * 2 * 4 * 30 * 2);
    assert_true(strstr(fake->calls, "hipMemsetAsync") <
                strstr(fake->calls, "hipModuleLaunchKernel"));
    memcpy(&got, fake->args, sizeof got);
    want.dq_acc = WORKSPACE;
    want.delta = WORKSPACE + 2048; /* behind 1920 bytes, at a multiple of 256 */
    want.dq_acc_token_stride = 2;
    want.dq_acc_head_stride = 60;
    want.dq_acc_batch_stride = 240;
    want.dq_acc_group_stride = 480;
    want.delta_token_stride = 1;
    want.delta_head_stride = 30;
    want.delta_batch_stride = 120;
    assert_memory_equal(&got, &want, sizeof want);
    ws_prepared_free(prepared);
    tear_down(&setting);
}

static void a_plan_states_the_workspace(void **state)
{
    (void)state;
    struct ws_plan plan;
    struct ws_error error;
    struct setting setting = set_up();
    struct ws_pack *pack = kernel_pack_open(setting.made);
    assert_ok(ws_pack_select(pack, &setting.bwd, &plan, &error), &error);
    assert_int_equal(plan.launch_count, 3);
    assert_int_equal(plan.launches[0].grid, 4);
    assert_int_equal(plan.launches[1].grid, 2 * 2);
    assert_int_equal(plan.region_count, 2);
    assert_int_equal(plan.regions[0].offset, 0);
    assert_int_equal(plan.regions[0].bytes, 1920);
    assert_true(plan.regions[0].zero);
    assert_int_equal(plan.regions[0].argument, offsetof(struct ws_fmha_bwd_args, dq_acc));
    assert_int_equal(plan.regions[1].offset, 2048);
    assert_int_equal(plan.regions[1].bytes, 960);
    assert_false(plan.regions[1].zero);
    assert_int_equal(plan.workspace_bytes, 2048 + 1024);
    ws_pack_close(pack);
    tear_down(&setting);
}

/* What is packed has the rows of all sequences, which the request says. */
static void packed_workspace_is_of_all_tokens(void **state)
{
    enum { TOKENS = 37 };
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    struct ws_prepared *prepared = NULL;
    struct ws_fmha_bwd_args got, want = setting.bwd_args;
    setting.bwd.varlen = true;
    static const int64_t wrong[] = {0, 29, -1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setting.bwd.sizes[WS_SIZE_Tq] = wrong[i];
        assert_int_equal(prepare(&setting, &setting.bwd, &prepared, &error), WS_ERROR_ARGUMENT);
        assert_says(&error, "size Tq is");
        assert_null(prepared);
    }
    setting.bwd.sizes[WS_SIZE_Tq] = TOKENS;
    setting.bwd_args.cu_seqlens_q = setting.bwd_args.cu_seqlens_k = A;
    prepared = prepared_of(&setting, &setting.bwd);
    assert_ok(ws_prepared_launch(prepared, &setting.bwd_args, sizeof setting.bwd_args, WORKSPACE,
                                 NULL, &error),
              &error);
    assert_int_equal(setting.fake->filled[0][1], 4 * TOKENS * 4 * 2);
    memcpy(&got, setting.fake->args, sizeof got);
    want.cu_seqlens_q = want.cu_seqlens_k = A;
    want.dq_acc = WORKSPACE;
    want.delta = WORKSPACE + 1280; /* behind 1184 bytes */
    want.dq_acc_token_stride = 2;
    want.dq_acc_head_stride = (int64_t)2 * TOKENS;
    want.dq_acc_batch_stride = (int64_t)2 * TOKENS * 4;
    want.dq_acc_group_stride = (int64_t)2 * TOKENS * 4;
    want.delta_token_stride = 1;
    want.delta_head_stride = TOKENS;
    want.delta_batch_stride = (int64_t)TOKENS * 4;
    assert_memory_equal(&got, &want, sizeof want);
    ws_prepared_free(prepared);
    tear_down(&setting);
}

static void modules_are_loaded_once(void **state)
{
    (void)state;
    struct setting setting = set_up();
    struct ws_prepared *first = prepared_of(&setting, &setting.bwd);
    struct ws_prepared *second = prepared_of(&setting, &setting.gemm);
    struct ws_prepared *third = prepared_of(&setting, &setting.bwd);
    assert_int_equal(setting.fake->live_modules, 1); /* one object holds all kernels */
    ws_prepared_free(first);
    ws_prepared_free(second);
    ws_prepared_free(third);
    assert_int_equal(setting.fake->live_modules, 1);
    tear_down(&setting);
}

static void a_launch_allocates_nothing(void **state)
{
    (void)state;
    if (ws_allocations() == WS_ALLOCATIONS_UNKNOWN)
        skip();
    struct ws_error error;
    struct setting setting = set_up();
    struct ws_prepared *gemm = prepared_of(&setting, &setting.gemm);
    struct ws_prepared *bwd = prepared_of(&setting, &setting.bwd);
    uint64_t before = ws_allocations();
    void *volatile memory = malloc(1);
    free(memory);
    assert_int_equal(ws_allocations(), before + 1); /* it counts */
    before = ws_allocations();
    enum ws_status first = launch_gemm(&setting, gemm, &error);
    enum ws_status second = ws_prepared_launch(bwd, &setting.bwd_args, sizeof setting.bwd_args,
                                               WORKSPACE, NULL, &error);
    assert_int_equal(ws_allocations(), before);
    assert_ok(first, &error);
    assert_ok(second, &error);
    assert_int_equal(setting.fake->launches, 4);
    ws_prepared_free(gemm);
    ws_prepared_free(bwd);
    tear_down(&setting);
}

static void selection_allocates_nothing(void **state)
{
    (void)state;
    if (ws_allocations() == WS_ALLOCATIONS_UNKNOWN)
        skip();
    struct ws_plan plan;
    struct ws_error error;
    struct setting setting = set_up();
    struct ws_pack *pack = kernel_pack_open(setting.made);
    uint64_t before = ws_allocations();
    enum ws_status status = ws_pack_select(pack, &setting.bwd, &plan, &error);
    assert_int_equal(ws_allocations(), before);
    assert_ok(status, &error);
    ws_pack_close(pack);
    tear_down(&setting);
}

static void assert_refused(const struct setting *setting, const struct ws_prepared *prepared,
                           const struct ws_gemm_args *args, const char *says)
{
    struct ws_error error;
    setting->fake->calls[0] = '\0';
    assert_int_equal(ws_prepared_launch(prepared, args, sizeof *args, 0, NULL, &error),
                     WS_ERROR_ARGUMENT);
    assert_says(&error, says);
    assert_string_equal(setting->fake->calls, "");
}

static void wrong_arguments_stop_before_the_driver(void **state)
{
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    struct ws_prepared *prepared = prepared_of(&setting, &setting.gemm);
    struct ws_gemm_args args;
#define REFUSED(field, value, says)                                                                \
    do {                                                                                           \
        args = setting.gemm_args;                                                                  \
        args.field = (value);                                                                      \
        assert_refused(&setting, prepared, &args, says);                                           \
    } while (0)
    REFUSED(a, A + 4, "a is 0x1004; it should be a multiple of 8, not 0");
    REFUSED(b, 0, "b is 0x0");
    REFUSED(c, C + 4, "c is 0x3004; it should be a multiple of 8");
    REFUSED(a_row_stride, 10, "a_row_stride is 10; it should be a multiple of 4 elements");
    REFUSED(b_batch_stride, 2, "b_batch_stride is 2");
    REFUSED(a_batch_stride, -24, "a_batch_stride is -24");
    REFUSED(c_row_stride, 51, "c_row_stride is 51; it should be a multiple of 2 elements");
    REFUSED(c_row_stride, 0, "c_row_stride is 0");
    REFUSED(m, 4, "m is 4; the operation was prepared for 3");
    REFUSED(batch, 1, "batch is 1");
    REFUSED(n, 49, "n is 49");
    REFUSED(k, 8, "k is 8");
#undef REFUSED
    setting.gemm_args.b_batch_stride = 0; /* broadcast */
    assert_ok(launch_gemm(&setting, prepared, &error), &error);
    setting.fake->calls[0] = '\0';
    assert_int_equal(ws_prepared_launch(prepared, &args, sizeof args - 1, 0, NULL, &error),
                     WS_ERROR_ARGUMENT);
    assert_says(&error, "args_size is 87; it should be 88");
    assert_int_equal(ws_prepared_launch(prepared, NULL, sizeof args, 0, NULL, &error),
                     WS_ERROR_ARGUMENT);
    assert_string_equal(setting.fake->calls, "");
    ws_prepared_free(prepared);
    tear_down(&setting);
}

static void wrong_factors_and_workspaces_stop_before_the_driver(void **state)
{
    static const float wrong[] = {0, -1, -0.0F, INFINITY, NAN};
    (void)state;
    struct ws_error error;
    struct setting setting = set_up();
    struct ws_prepared *prepared = prepared_of(&setting, &setting.bwd);
    struct ws_fmha_bwd_args args = setting.bwd_args;
    setting.fake->calls[0] = '\0';
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        args.scale = wrong[i];
        assert_int_equal(ws_prepared_launch(prepared, &args, sizeof args, WORKSPACE, NULL, &error),
                         WS_ERROR_ARGUMENT);
        assert_says(&error, "scale is");
    }
    args.scale = 1;
    assert_int_equal(ws_prepared_launch(prepared, &args, sizeof args, 0, NULL, &error),
                     WS_ERROR_ARGUMENT);
    assert_says(&error, "should be 3072 bytes at a multiple of 256");
    assert_int_equal(
        ws_prepared_launch(prepared, &args, sizeof args, WORKSPACE + 128, NULL, &error),
        WS_ERROR_ARGUMENT);
    assert_string_equal(setting.fake->calls, "");
    assert_ok(ws_prepared_launch(prepared, &args, sizeof args, WORKSPACE, NULL, &error), &error);
    ws_prepared_free(prepared);
    tear_down(&setting);
}

/* Prepares the gemm's row after a change that the pack's digest knows of. */
static void assert_row_refused(struct setting *setting, const char *says)
{
    struct ws_plan plan = {.launch_count = 1};
    struct ws_error error;
    struct ws_prepared *prepared = (void *)1;
    struct ws_pack *pack = kernel_pack_open(setting->made);
    while (ws_pack_variant(pack, plan.variant)->kind != WS_KERNEL_GEMM)
        plan.variant++;
    plan.launches[0] = (struct ws_plan_launch){.variant = plan.variant, .grid = 1, .block = 64};
    setting->fake->launches = 0;
    assert_int_equal(ws_prepare(&prepared, pack, setting->device, &plan, &error), WS_ERROR_OBJECT);
    assert_null(prepared);
    assert_says(&error, says);
    ws_pack_close(pack);
}

static void a_row_that_its_notes_do_not_bear_out_is_refused(void **state)
{
    (void)state;
    struct setting setting = set_up();
    struct ws_variant *gemm = &setting.made->rows[4].variant;
    const struct ws_variant good = *gemm;
    gemm->wave_size = 64;
    assert_row_refused(&setting, "wave size is 32 in its notes and 64 in the pack");
    *gemm = good;
    gemm->lds_bytes = 1024;
    assert_row_refused(&setting, "LDS is 0 in its notes");
    *gemm = good;
    gemm->kernarg_bytes += 8;
    assert_row_refused(&setting, "the argument block is");
    *gemm = good;
    gemm->abi_version++;
    assert_row_refused(&setting, "version 2 of the argument block of gemm");
    *gemm = good;
    gemm->symbol = "gemm_but_last";
    assert_row_refused(&setting, "takes 12 arguments, where gemm (ABI version 1) has 13");
    tear_down(&setting);
}

static void another_device_is_refused(void **state)
{
    (void)state;
    struct setting setting = set_up();
    ws_device_close(setting.device);
    struct ws_error error;
    setting.fake->targets[0] = "gfx1100";
    assert_ok(ws_device_open(&setting.device, setting.driver, NULL, &error), &error);
    assert_string_equal(ws_device_target(setting.device), "gfx1100");
    assert_row_refused(&setting, "for gfx1151, where the device is a gfx1100");
    assert_null(strstr(setting.fake->calls, "hipModuleLoadData"));
    tear_down(&setting);
}

static void a_foreign_plan_is_refused(void **state)
{
    (void)state;
    struct ws_error error;
    struct ws_plan plan, wrong;
    struct ws_prepared *prepared = NULL;
    struct setting setting = set_up();
    struct ws_pack *pack = kernel_pack_open(setting.made);
    assert_ok(ws_pack_select(pack, &setting.bwd, &plan, &error), &error);
#define REFUSED(field, value)                                                                      \
    do {                                                                                           \
        wrong = plan;                                                                              \
        wrong.field = (value);                                                                     \
        assert_int_equal(ws_prepare(&prepared, pack, setting.device, &wrong, &error),              \
                         WS_ERROR_ARGUMENT);                                                       \
        assert_null(prepared);                                                                     \
    } while (0)
    REFUSED(variant, ws_pack_count(pack));
    REFUSED(launch_count, 0);
    REFUSED(launch_count, WS_PACK_STEPS_MAX + 1);
    REFUSED(region_count, WS_PACK_REGIONS_MAX + 1);
    REFUSED(launches[2].variant, ws_pack_count(pack));
    REFUSED(sizes[WS_SIZE_Sk], (INT64_C(1) << 32) + 40);
    REFUSED(sizes[WS_SIZE_Sk], -1);
    REFUSED(launches[1].block, 65);
    REFUSED(launches[1].grid, UINT32_MAX);
    REFUSED(regions[1].bytes, UINT64_MAX);
    REFUSED(regions[1].offset, UINT64_MAX);
    REFUSED(regions[1].argument, 4);
    REFUSED(regions[1].argument, offsetof(struct ws_fmha_bwd_args, scale));
#undef REFUSED
    ws_pack_close(pack);
    tear_down(&setting);
}

/* Every object becomes zeros, behind the back of the pack that is open. */
static void damage_objects(const char *path)
{
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(database, "UPDATE object SET zstd = zeroblob(length(zstd))", NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void a_damaged_object_is_refused(void **state)
{
    (void)state;
    struct ws_error error;
    struct ws_plan plan;
    struct ws_prepared *prepared = NULL;
    struct setting setting = set_up();
    struct ws_pack *pack = kernel_pack_open(setting.made);
    assert_ok(ws_pack_select(pack, &setting.gemm, &plan, &error), &error);
    damage_objects(setting.made->path);
    assert_int_equal(ws_prepare(&prepared, pack, setting.device, &plan, &error), WS_ERROR_PACK);
    assert_null(prepared);
    assert_null(strstr(setting.fake->calls, "hipModuleLoadData"));
    unlink(setting.made->path);
    assert_int_equal(ws_prepare(&prepared, pack, setting.device, &plan, &error), WS_ERROR_IO);
    ws_pack_close(pack);
    tear_down(&setting);
}

static void a_failing_driver_is_named(void **state)
{
    static const struct {
        const char *function;
        bool in_prepare;
    } cases[] = {{"hipModuleLoadData", true},
                 {"hipModuleGetFunction", true},
                 {"hipMemsetAsync", false},
                 {"hipModuleLaunchKernel", false},
                 {"hipSetDevice", true}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_error error;
        struct ws_prepared *prepared = NULL;
        struct setting setting = set_up();
        setting.fake->fail_function = cases[i].function;
        setting.fake->fail_code = 719;
        enum ws_status status = prepare(&setting, &setting.bwd, &prepared, &error);
        assert_int_equal(status, cases[i].in_prepare ? WS_ERROR_DEVICE : WS_OK);
        if (status == WS_OK)
            assert_int_equal(ws_prepared_launch(prepared, &setting.bwd_args,
                                                sizeof setting.bwd_args, WORKSPACE, NULL, &error),
                             WS_ERROR_DEVICE);
        assert_says(&error, cases[i].function);
        setting.fake->fail_function = NULL;
        ws_prepared_free(prepared);
        tear_down(&setting);
    }
}

static void a_child_is_refused(void **state)
{
    (void)state;
    int status = -1;
    struct setting setting = set_up();
    struct ws_prepared *prepared = prepared_of(&setting, &setting.gemm);
    setting.fake->calls[0] = '\0';
    pid_t child = fork();
    if (child == 0) {
        struct ws_error error = {0};
        struct ws_plan plan;
        struct ws_pack *pack = kernel_pack_open(setting.made);
        struct ws_prepared *another = NULL;
        bool is_refused =
            launch_gemm(&setting, prepared, &error) == WS_ERROR_ENVIRONMENT &&
            strstr(error.message, "fork") != NULL &&
            ws_pack_select(pack, &setting.gemm, &plan, &error) == WS_OK &&
            ws_prepare(&another, pack, setting.device, &plan, &error) == WS_ERROR_ENVIRONMENT;
        ws_prepared_free(prepared);
        ws_device_close(setting.device);
        ws_driver_close(setting.driver);
        _exit(!is_refused || setting.fake->calls[0] != '\0');
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    ws_prepared_free(prepared);
    tear_down(&setting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_kernel_arrives_whole),
        cmocka_unit_test(an_operation_arrives_whole),
        cmocka_unit_test(a_plan_states_the_workspace),
        cmocka_unit_test(packed_workspace_is_of_all_tokens),
        cmocka_unit_test(modules_are_loaded_once),
        cmocka_unit_test(a_launch_allocates_nothing),
        cmocka_unit_test(selection_allocates_nothing),
        cmocka_unit_test(wrong_arguments_stop_before_the_driver),
        cmocka_unit_test(wrong_factors_and_workspaces_stop_before_the_driver),
        cmocka_unit_test(a_row_that_its_notes_do_not_bear_out_is_refused),
        cmocka_unit_test(another_device_is_refused),
        cmocka_unit_test(a_foreign_plan_is_refused),
        cmocka_unit_test(a_damaged_object_is_refused),
        cmocka_unit_test(a_failing_driver_is_named),
        cmocka_unit_test(a_child_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
