/* Gemm kernels with a deliberate defect (gen/mutants.def) fail at every shape that the defect
 * affects, and the sound kernel passes at the same shapes. Built with a generator that has the
 * mutants. */
#include "tests/verify/tally.h"

/* What a kernel's workgroup does at a time. */
struct place {
    const struct ws_problem *problem;
    int rows, columns; /* of C */
    int waves_m;
    bool is_staged;
    int block_k;
};

static bool last_k_affects(const struct place *at)
{
    return at->problem->size.k > 0;
}

/* The last k is taken more than once. */
static bool k_tail_unmasked_affects(const struct place *at)
{
    enum { STEP = 16 };
    return at->problem->size.k % STEP != 0;
}

static bool row_stride_affects(const struct place *at)
{
    return at->problem->size.n > 1 && at->problem->size.k > 0;
}

static bool wave_rows_affects(const struct place *at)
{
    return at->waves_m > 1 && at->problem->size.m > at->rows / at->waves_m;
}

static bool columns_unmasked_affects(const struct place *at)
{
    return at->problem->size.n % at->columns != 0;
}

static bool fence_affects(const struct place *at)
{
    return at->is_staged && at->problem->size.k >= at->block_k;
}

/* NULL for a mutant of another kernel. */
static bool (*const affects[WS_MUTANT_COUNT])(const struct place *at) = {
#define ROW_GEMM(name) [WS_MUTANT_##name] = name##_affects,
#define ROW_ALL(name) ROW_GEMM(name)
#define ROW_FWD(name)
#define ROW_BWD(name)
#define MUTANT(name, kinds, text) ROW_##kinds(name)
#include "gen/mutants.def"
#undef MUTANT
};

static const struct {
    const char *preset, *settings;
} kernels[] = {
    {"gemm", ""},
    {"gemm", "lds_layout=swizzled stages=1 dtype=bf16 addr=global"},
    {"gemm", "bm_tiles=1 bn_tiles=2 num_waves=2 waves_n=1 out=f32"},
    {"gemm_naive", ""},
    {"gemm_naive", "num_waves=4 waves_n=2 bm_tiles=2 dtype=bf16 alignment=2"},
};

static const char *const shapes[] = {
    "M=40,N=50,K=70", "M=1,N=1,K=1",         "M=128,N=128,K=64", "M=130,N=20,K=33",
    "M=16,N=16,K=16", "B=2,M=17,N=65,K=131", "M=64,N=64,K=96",   "M=33,N=7,K=1000",
};

static void check_shape(struct tally *tally, int mutant, const struct ws_compiled *compiled,
                        const struct ws_spec *spec, const char *kernel, const char *shape)
{
    struct ws_error error;
    struct ws_problem problem = make_problem(spec, shape, tally->seed);
    struct place at = {.problem = &problem,
                       .waves_m = spec->lever[WS_LEVER_num_waves] / spec->lever[WS_LEVER_waves_n],
                       .is_staged = spec->lever[WS_LEVER_ab_mode] == WS_AB_MODE_LDS,
                       .block_k = spec->lever[WS_LEVER_block_k]};
    bool sound = mutant == WS_MUTANT_NONE;
    at.rows = ws_launch_block(spec).rows;
    at.columns = ws_launch_block(spec).columns;
    assert_ok(ws_problem_set_stride(&problem, "a:row=1048", &error), &error);
    problem.stride[WS_A][WS_BATCH] = 1048 * problem.size.m;
    if (!sound && !affects[mutant](&at))
        return;
    tally_check(tally, mutant, compiled, spec, &problem, kernel, shape);
}

static void check_kernel(struct tally *tally, size_t kernel)
{
    struct ws_spec spec = load_preset(kernels[kernel].preset, 0, &mask_rows[0]);
    char name[128];
    set_spec(&spec, kernels[kernel].settings);
    snprintf(name, sizeof name, "%s %s", kernels[kernel].preset, kernels[kernel].settings);
    for (int mutant = 0; mutant < WS_MUTANT_COUNT; ++mutant) {
        struct ws_compiled compiled = {0};
        struct ws_error error;
        if (mutant != WS_MUTANT_NONE && !affects[mutant])
            continue;
        assert_ok(ws_compile_mutant(&spec, (enum ws_mutant)mutant, NULL, &compiled, &error),
                  &error);
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
            check_shape(tally, mutant, &compiled, &spec, name, shapes[i]);
        ws_compiled_free(&compiled);
    }
}

static void check_kernels(struct tally *tally)
{
    for (int mutant = 0; mutant < WS_MUTANT_COUNT; ++mutant)
        tally->expected[mutant] = affects[mutant] != NULL;
    for (size_t kernel = 0; kernel < sizeof kernels / sizeof kernels[0]; ++kernel)
        check_kernel(tally, kernel);
}

int main(void)
{
    return tally_main(check_kernels);
}
