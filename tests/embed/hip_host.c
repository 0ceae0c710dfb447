/* hip_host OBJECT SYMBOL BLOCK ROWS: a host program as any other, in C, built with AMD's headers
 * and linked with AMD's library. Runs an attention kernel on device 0 and holds it against sums in
 * double precision: a launch on a stream between events, and the same captured into a graph. The
 * kernel has head dim 64, f16, no mask; a workgroup of BLOCK lanes does ROWS queries. */
#include <hip/hip_runtime_api.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/abi/args.h"

enum { HEADS = 2, QUERIES = 33, KEYS = 47, DIM = 64 };
enum { Q_COUNT = HEADS * QUERIES * DIM, K_COUNT = HEADS * KEYS * DIM };

__extension__ typedef _Float16 half;

/* Ends the program where HIP fails. */
#define HIP(call) succeed((call), #call, __LINE__)

static void succeed(hipError_t code, const char *call, int line)
{
    if (code == hipSuccess)
        return;
    fprintf(stderr, "hip_host:%d: %s: %s (%s)\n", line, call, hipGetErrorName(code),
            hipGetErrorString(code));
    exit(1);
}

static void require(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "hip_host: %s\n", what);
    exit(1);
}

struct tensors {
    half q[Q_COUNT], k[K_COUNT], v[K_COUNT], o[Q_COUNT];
};

static void fill(half *to, int count, uint64_t *state)
{
    for (int i = 0; i < count; i++) {
        *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
        to[i] = (half)((double)(*state >> 40) / (1 << 23) - 1.0);
    }
}

/* Row `d` of O for one query: softmax(scale q.k) v. */
static void reference(const struct tensors *t, int head, int query, double *o)
{
    double weight[KEYS], sum = 0;
    const half *q = t->q + (head * QUERIES + query) * DIM;
    for (int key = 0; key < KEYS; key++) {
        double s = 0;
        for (int d = 0; d < DIM; d++)
            s += (double)q[d] * (double)t->k[(head * KEYS + key) * DIM + d];
        weight[key] = exp(s / 8);
        sum += weight[key];
    }
    for (int d = 0; d < DIM; d++) {
        o[d] = 0;
        for (int key = 0; key < KEYS; key++)
            o[d] += weight[key] / sum * (double)t->v[(head * KEYS + key) * DIM + d];
    }
}

static void check(const struct tensors *t, const char *what)
{
    double worst = 0, o[DIM];
    for (int row = 0; row < HEADS * QUERIES; row++) {
        reference(t, row / QUERIES, row % QUERIES, o);
        for (int d = 0; d < DIM; d++) {
            double error = fabs((double)t->o[row * DIM + d] - o[d]);
            require(error == error, "O is not a number");
            worst = error > worst ? error : worst;
        }
    }
    printf("%s: the largest error is %g\n", what, worst);
    require(worst < 1e-3, "O is wrong");
}

static void describe_device(void)
{
    hipDeviceProp_t properties;
    int count = 0, major = 0, warp = 0, version = 0;
    HIP(hipInit(0));
    HIP(hipGetDeviceCount(&count));
    HIP(hipGetDeviceProperties(&properties, 0));
    HIP(hipDeviceGetAttribute(&major, hipDeviceAttributeComputeCapabilityMajor, 0));
    HIP(hipDeviceGetAttribute(&warp, hipDeviceAttributeWarpSize, 0));
    HIP(hipRuntimeGetVersion(&version));
    printf("%d devices of HIP %d; the first is %s (%s), warps of %d, %zu bytes of LDS\n", count,
           version, properties.gcnArchName, properties.name, properties.warpSize,
           properties.sharedMemPerBlock);
    require(properties.major == major && properties.warpSize == warp, "attributes differ");
    require(properties.maxThreadsPerBlock == 1024 && properties.multiProcessorCount > 0 &&
                properties.totalGlobalMem > 0 && properties.maxThreadsPerMultiProcessor >= 1024,
            "properties are not where the header says");
}

static void *copy_in(const void *from, size_t bytes)
{
    void *to;
    HIP(hipMalloc(&to, bytes));
    HIP(hipMemcpy(to, from, bytes, hipMemcpyHostToDevice));
    return to;
}

static struct ws_fmha_fwd_args arguments(const struct tensors *t)
{
    void *o;
    HIP(hipMalloc(&o, sizeof t->o));
    return (struct ws_fmha_fwd_args){
        .q = (uintptr_t)copy_in(t->q, sizeof t->q),
        .k = (uintptr_t)copy_in(t->k, sizeof t->k),
        .v = (uintptr_t)copy_in(t->v, sizeof t->v),
        .o = (uintptr_t)o,
        .scale = 1.0F / 8,
        .batch = 1,
        .heads_q = HEADS,
        .heads_k = HEADS,
        .seqlen_q = QUERIES,
        .seqlen_k = KEYS,
        .window_left = -1,
        .window_right = -1,
        .q_batch_stride = Q_COUNT,
        .q_head_stride = QUERIES * DIM,
        .q_token_stride = DIM,
        .k_batch_stride = K_COUNT,
        .k_head_stride = KEYS * DIM,
        .k_token_stride = DIM,
        .v_batch_stride = K_COUNT,
        .v_head_stride = KEYS * DIM,
        .v_token_stride = DIM,
        .o_batch_stride = Q_COUNT,
        .o_head_stride = QUERIES * DIM,
        .o_token_stride = DIM,
    };
}

struct program {
    hipFunction_t function;
    unsigned block, rows;
    struct ws_fmha_fwd_args args;
    struct tensors *host;
};

/* Poisons O, computes it, copies it to the host: all on the stream. */
static void submit(struct program *p, hipStream_t stream)
{
    size_t size = sizeof p->args;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &p->args, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    void *o = (void *)(uintptr_t)p->args.o; /* NOLINT(performance-no-int-to-ptr) */
    unsigned blocks = HEADS * ((QUERIES + p->rows - 1) / p->rows);
    HIP(hipMemsetAsync(o, 0xff, sizeof p->host->o, stream));
    HIP(hipModuleLaunchKernel(p->function, blocks, 1, 1, p->block, 1, 1, 0, stream, NULL, extra));
    HIP(hipMemcpyAsync(p->host->o, o, sizeof p->host->o, hipMemcpyDeviceToHost, stream));
}

static void run_on_a_stream(struct program *p)
{
    hipStream_t stream;
    hipEvent_t start, stop;
    float milliseconds = -1;
    HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    HIP(hipEventCreate(&start));
    HIP(hipEventCreate(&stop));
    HIP(hipEventRecord(start, stream));
    submit(p, stream);
    HIP(hipEventRecord(stop, stream));
    HIP(hipEventSynchronize(stop));
    HIP(hipEventElapsedTime(&milliseconds, start, stop));
    require(milliseconds >= 0, "time runs backwards");
    HIP(hipStreamSynchronize(stream));
    HIP(hipEventDestroy(start));
    HIP(hipEventDestroy(stop));
    HIP(hipStreamDestroy(stream));
    check(p->host, "stream");
}

static void run_as_a_graph(struct program *p)
{
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t exec;
    size_t nodes = 0;
    HIP(hipStreamCreate(&stream));
    memset(p->host->o, 0, sizeof p->host->o);
    HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    submit(p, stream);
    HIP(hipStreamEndCapture(stream, &graph));
    require(p->host->o[0] == 0, "captured work ran");
    HIP(hipGraphGetNodes(graph, NULL, &nodes));
    require(nodes == 3, "three works are not three nodes");
    HIP(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    HIP(hipGraphDestroy(graph));
    HIP(hipGraphLaunch(exec, stream));
    HIP(hipStreamSynchronize(stream));
    HIP(hipGraphExecDestroy(exec));
    HIP(hipStreamDestroy(stream));
    check(p->host, "graph");
}

int main(int argc, char **argv)
{
    struct program p;
    hipModule_t module;
    uint64_t random = 0x5eed;
    require(argc == 5, "usage: hip_host OBJECT SYMBOL BLOCK ROWS");
    memset(&p, 0, sizeof p);
    p.block = (unsigned)strtoul(argv[3], NULL, 10);
    p.rows = (unsigned)strtoul(argv[4], NULL, 10);
    require(p.block && p.rows, "BLOCK and ROWS are numbers above 0");
    describe_device();
    HIP(hipSetDevice(0));
    HIP(hipModuleLoad(&module, argv[1]));
    HIP(hipModuleGetFunction(&p.function, module, argv[2]));
    require(hipModuleGetFunction(&p.function, module, "absent") == hipErrorNotFound &&
                strcmp(hipGetErrorString(hipErrorNotFound), "named symbol not found") == 0 &&
                hipGetLastError() == hipErrorNotFound,
            "there is a kernel `absent`");
    HIP(hipModuleGetFunction(&p.function, module, argv[2]));
    HIP(hipHostMalloc((void **)&p.host, sizeof *p.host, hipHostMallocDefault));
    fill(p.host->q, Q_COUNT, &random);
    fill(p.host->k, K_COUNT, &random);
    fill(p.host->v, K_COUNT, &random);
    p.args = arguments(p.host);
    run_on_a_stream(&p);
    run_as_a_graph(&p);
    HIP(hipHostFree(p.host));
    HIP(hipModuleUnload(module));
    HIP(hipDeviceReset());
    return 0;
}
