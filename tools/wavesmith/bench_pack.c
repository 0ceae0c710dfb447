/* wavesmith bench pack: what the runtime costs beside the GPU. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/wavesmith/allocations.h"
#include "tools/wavesmith/bench.h"
#include "tools/wavesmith/device.h"
#include "tools/wavesmith/output.h"

enum { OPENINGS = 21, SELECTIONS = 100000, QUERIES = 2000, SAMPLES = 201, LAUNCHES = 1000 };

/* Medians. */
struct costs {
    uint32_t variants;
    double open_ms, select_ns, query_ns, launch_ns, bare_launch_ns;
    uint64_t allocations;   /* by LAUNCHES launches */
    uint32_t asked, agreed; /* requests, and those that the query answers alike */
};

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static enum ws_status time_opening(const char *path, struct costs *costs, struct ws_error *error)
{
    double times[OPENINGS];
    for (int i = 0; i < OPENINGS; i++) {
        struct ws_pack *pack = NULL;
        double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
        enum ws_status status = ws_pack_open(&pack, path, NULL, error);
        times[i] = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
        if (status != WS_OK)
            return status;
        costs->variants = ws_pack_count(pack);
        ws_pack_close(pack);
    }
    costs->open_ms = 1e-6 * median(times, OPENINGS);
    return WS_OK;
}

/* A request for each variant that can be selected. */
struct requests {
    struct ws_request *list;
    uint32_t count;
};

static enum ws_status make_requests(struct requests *requests, const struct ws_pack *pack,
                                    struct ws_error *error)
{
    requests->list = calloc((size_t)ws_pack_count(pack) + 1, sizeof *requests->list);
    if (!requests->list)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    for (uint32_t i = 0; i < ws_pack_count(pack); i++) {
        if (ws_pack_variant(pack, i)->selectable)
            requests->list[requests->count++] = ws_bench_request(ws_pack_variant(pack, i));
    }
    if (requests->count == 0)
        return ws_fail(error, WS_ERROR_ARGUMENT, "%s has no variants", ws_pack_path(pack));
    return WS_OK;
}

/* A stride through the requests that meets all of them, out of order. */
static const struct ws_request *request_at(const struct requests *requests, uint32_t i)
{
    const uint64_t prime = 2654435761U;
    return &requests->list[(uint64_t)i * prime % requests->count];
}

/* Each selection alone; the clock's own time, some 30 ns, is in it. */
static enum ws_status time_selection(const struct ws_pack *pack, const struct requests *requests,
                                     struct costs *costs, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    double *times = malloc(SELECTIONS * sizeof *times);
    if (!times)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    for (uint32_t i = 0; i < SELECTIONS && status == WS_OK; i++) {
        struct ws_plan plan;
        const struct ws_request *request = request_at(requests, i);
        double start = now_ns(CLOCK_MONOTONIC);
        status = ws_pack_select(pack, request, &plan, error);
        times[i] = now_ns(CLOCK_MONOTONIC) - start;
    }
    costs->select_ns = median(times, SELECTIONS);
    free(times);
    return status;
}

static enum ws_status time_query(const struct ws_pack *pack, const struct requests *requests,
                                 struct costs *costs, struct ws_error *error)
{
    double times[QUERIES];
    struct ws_bench_query *query = NULL;
    enum ws_status status = ws_bench_query_open(&query, ws_pack_path(pack), error);
    costs->asked = requests->count < QUERIES ? requests->count : QUERIES;
    for (uint32_t i = 0; i < QUERIES && status == WS_OK; i++) {
        struct ws_plan plan;
        char spec_id[WS_PACK_HASH_SIZE];
        const struct ws_request *request = request_at(requests, i);
        double start = now_ns(CLOCK_MONOTONIC);
        status = ws_bench_query_select(query, request, spec_id, error);
        times[i] = now_ns(CLOCK_MONOTONIC) - start;
        if (status == WS_OK)
            status = ws_pack_select(pack, request, &plan, error);
        if (status == WS_OK && i < costs->asked)
            costs->agreed += strcmp(ws_pack_variant(pack, plan.variant)->spec_id, spec_id) == 0;
    }
    ws_bench_query_close(query);
    if (status == WS_OK)
        costs->query_ns = median(times, QUERIES);
    return status;
}

/* A driver that returns at once, a prepared operation on it, and arguments that it takes. */
struct stub {
    struct ws_driver *driver;
    struct ws_device *device;
    struct ws_prepared *prepared;
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    struct ws_plan plan;
    uint64_t args[128];
    size_t args_size;
};

static enum ws_status open_stub(struct stub *stub, const char *target, struct ws_error *error)
{
    char path[PATH_MAX];
    enum ws_status status = ws_tool_find_library(path, "libwavesmith_stub_hip.so", error);
    if (status == WS_OK)
        status = ws_driver_open(&stub->driver, path, error);
    if (status != WS_OK)
        return status;
    snprintf(ws_driver_symbol(stub->driver, "ws_stub_hip_target"), 64, "%s", target);
    void *launch = ws_driver_symbol(stub->driver, "hipModuleLaunchKernel");
    memcpy((void *)&stub->launch, (void *)&launch, sizeof launch);
    return ws_device_open(&stub->device, stub->driver, NULL, error);
}

/* Fills the block with what passes: aligned addresses and strides, the sizes of the plan. */
static void make_args(struct stub *stub, const struct ws_variant *variant)
{
    static const struct {
        const char *name;
        enum ws_size size;
    } sizes[] = {{"batch", WS_SIZE_B},     {"heads_q", WS_SIZE_Hq},  {"heads_k", WS_SIZE_Hk},
                 {"seqlen_q", WS_SIZE_Sq}, {"seqlen_k", WS_SIZE_Sk}, {"m", WS_SIZE_M},
                 {"n", WS_SIZE_N},         {"k", WS_SIZE_K}};
    const struct ws_arg_table *table = ws_arg_table(variant->kind);
    const float one = 1;
    const uint64_t aligned = 1 << 16;
    unsigned char *block = (unsigned char *)stub->args;
    stub->args_size = table->size;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct ws_arg *arg = &table->args[i];
        int32_t value = strcmp(arg->name, "window_left") == 0    ? variant->window_left
                        : strcmp(arg->name, "window_right") == 0 ? variant->window_right
                                                                 : 0;
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            if (arg->type == WS_ARG_I32 && strcmp(arg->name, sizes[j].name) == 0)
                value = (int32_t)stub->plan.sizes[sizes[j].size];
        }
        const void *from = arg->type == WS_ARG_F32   ? (const void *)&one
                           : arg->type == WS_ARG_I32 ? (const void *)&value
                                                     : (const void *)&aligned;
        memcpy(block + arg->offset, from, arg->size);
    }
}

/* The first variant that can be selected and is what its object says: a made-up one may not be. */
static enum ws_status prepare_stub(struct stub *stub, const struct ws_pack *pack,
                                   const struct requests *requests, struct ws_error *error)
{
    enum ws_status status = WS_OK;
    for (uint32_t i = 0; i < requests->count; i++) {
        status = ws_pack_select(pack, &requests->list[i], &stub->plan, error);
        if (status == WS_OK)
            status = open_stub(stub, requests->list[i].target, error);
        if (status == WS_OK)
            status = ws_prepare(&stub->prepared, pack, stub->device, &stub->plan, error);
        if (status != WS_ERROR_OBJECT)
            break;
        ws_device_close(stub->device);
        ws_driver_close(stub->driver);
        stub->device = NULL;
        stub->driver = NULL;
    }
    if (status == WS_OK)
        make_args(stub, ws_pack_variant(pack, stub->plan.variant));
    return status;
}

static void close_stub(struct stub *stub)
{
    ws_prepared_free(stub->prepared);
    ws_device_close(stub->device);
    ws_driver_close(stub->driver);
}

static enum ws_status launch(const struct stub *stub, struct ws_error *error)
{
    return ws_prepared_launch(stub->prepared, stub->args, stub->args_size,
                              stub->plan.workspace_bytes > 0 ? 1 << 20 : 0, NULL, error);
}

/* What a caller without a runtime would call for the same operation. */
static void launch_bare(const struct stub *stub, void *function)
{
    size_t size = stub->args_size;
    void *extra[] = {(void *)1, (void *)(uintptr_t)stub->args, (void *)2, &size, (void *)3};
    for (uint32_t i = 0; i < stub->plan.launch_count; i++)
        stub->launch(function, stub->plan.launches[i].grid, 1, 1, stub->plan.launches[i].block, 1,
                     1, 0, NULL, NULL, extra);
}

static enum ws_status time_launches(struct stub *stub, struct costs *costs, struct ws_error *error)
{
    double ours[SAMPLES], bare[SAMPLES];
    enum ws_status status = launch(stub, error);
    uint64_t before = ws_allocations();
    for (int i = 0; i < SAMPLES && status == WS_OK; i++) {
        double start = now_ns(CLOCK_MONOTONIC);
        for (int j = 0; j < LAUNCHES && status == WS_OK; j++)
            status = launch(stub, error);
        double between = now_ns(CLOCK_MONOTONIC);
        for (int j = 0; j < LAUNCHES; j++)
            launch_bare(stub, stub);
        bare[i] = (now_ns(CLOCK_MONOTONIC) - between) / LAUNCHES;
        ours[i] = (between - start) / LAUNCHES;
    }
    costs->allocations = ws_allocations();
    if (costs->allocations != WS_ALLOCATIONS_UNKNOWN)
        costs->allocations -= before;
    if (status == WS_OK) {
        costs->launch_ns = median(ours, SAMPLES);
        costs->bare_launch_ns = median(bare, SAMPLES);
    }
    return status;
}

static enum ws_status measure(const char *path, struct costs *costs, struct ws_error *error)
{
    struct ws_pack *pack = NULL;
    struct requests requests = {0};
    struct stub stub = {0};
    enum ws_status status = time_opening(path, costs, error);
    if (status == WS_OK)
        status = ws_pack_open(&pack, path, NULL, error);
    if (status == WS_OK)
        status = make_requests(&requests, pack, error);
    if (status == WS_OK)
        status = time_selection(pack, &requests, costs, error);
    if (status == WS_OK)
        status = time_query(pack, &requests, costs, error);
    if (status == WS_OK)
        status = prepare_stub(&stub, pack, &requests, error);
    if (status == WS_OK)
        status = time_launches(&stub, costs, error);
    close_stub(&stub);
    free(requests.list);
    ws_pack_close(pack);
    return status;
}

static int print(const struct costs *costs, bool as_json)
{
    char cpu[WS_CPU_NAME_SIZE];
    double overhead = costs->launch_ns - costs->bare_launch_ns;
    bool is_counted = costs->allocations != WS_ALLOCATIONS_UNKNOWN;
    ws_cpu_name(cpu);
    if (as_json)
        return ws_print_json(json_pack(
            "{s:s, s:I, s:f, s:f, s:f, s:I, s:I, s:f, s:f, s:f, s:o}", "cpu", cpu, "variants",
            (json_int_t)costs->variants, "open_ms", costs->open_ms, "select_ns", costs->select_ns,
            "sqlite_select_ns", costs->query_ns, "requests", (json_int_t)costs->asked,
            "sqlite_agrees", (json_int_t)costs->agreed, "launch_ns", costs->launch_ns,
            "bare_launch_ns", costs->bare_launch_ns, "launch_overhead_ns", overhead, "allocations",
            is_counted ? json_integer((json_int_t)costs->allocations) : json_null()));
    printf("%s, one core, medians, a pack of %" PRIu32 " variants\n", cpu, costs->variants);
    printf("  open              %10.3f ms of CPU time\n", costs->open_ms);
    printf("  select            %10.0f ns; by an SQLite query %.0f ns, which agrees in %" PRIu32
           " of %" PRIu32 " requests\n",
           costs->select_ns, costs->query_ns, costs->agreed, costs->asked);
    printf("  launch            %10.0f ns on a driver that returns at once; its own call %.0f ns: "
           "%.0f ns are ours\n",
           costs->launch_ns, costs->bare_launch_ns, overhead);
    if (is_counted)
        printf("  allocations       %10" PRIu64 " in %d launches\n", costs->allocations,
               SAMPLES * LAUNCHES);
    else
        printf("  allocations       not counted: a build with a sanitizer\n");
    return WS_EXIT_OK;
}

int ws_bench_pack(const struct ws_arguments *arguments)
{
    char made[PATH_MAX];
    struct ws_error error;
    struct costs costs = {0};
    const char *folder = getenv("TMPDIR");
    const char *path = arguments->operands.count > 1 ? arguments->operands.items[1] : made;
    enum ws_status status = WS_OK;
    if (arguments->operands.count > 2)
        status = ws_fail(&error, WS_ERROR_ARGUMENT,
                         "`wavesmith bench pack` takes one pack, '%s' is too much",
                         arguments->operands.items[2]);
    snprintf(made, sizeof made, "%s/wavesmith_bench_%d.pack", folder && folder[0] ? folder : "/tmp",
             (int)getpid());
    if (status == WS_OK && path == made)
        status = ws_bench_make_pack(made, &error);
    if (status == WS_OK)
        status = measure(path, &costs, &error);
    if (path == made)
        unlink(made);
    return status == WS_OK ? print(&costs, arguments->json) : ws_report_error(&error);
}
