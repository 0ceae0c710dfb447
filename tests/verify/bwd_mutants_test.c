/* Backwards with a deliberate defect (gen/mutants.def) fail at every shape that the defect affects,
 * and the sound one passes at the same shapes. Built with a generator that has the mutants. */
#include "tests/verify/tally.h"

enum { NO_MASK = 1, TOP_LEFT = 2, BOTTOM_RIGHT = 4 }; /* bits: rows of mask_rows */

static const struct {
    int masks;
    const char *settings; /* words, on top of the preset bwd */
} kernels[] = {
    {NO_MASK, "block_n=64 num_waves=4"},
    {TOP_LEFT, "block_n=64 num_waves=4 dq_mode=atomic dtype=f16"},
    {BOTTOM_RIGHT, "block_n=64 num_waves=4 dq_mode=split mask=window window=9,3"},
    {NO_MASK, "block_n=32 num_waves=2 varlen=1 head_dim=32"},
    {BOTTOM_RIGHT, "block_n=64 num_waves=4 arch=gfx950"},
    {TOP_LEFT, "block_m=16 block_n=32 num_waves=2 arch=gfx1151 dtype=f16"},
    {BOTTOM_RIGHT, "block_m=16 block_n=32 num_waves=2 arch=gfx1201 dq_mode=atomic"},
};

static const char *const shapes[] = {
    "B=2,Hq=4,Hk=2,Sq=40,Sk=77", "B=1,Hq=2,Hk=2,Sq=64,Sk=64", "B=1,Hq=2,Hk=1,Sq=70,Sk=33",
    "B=1,Hq=1,Hk=1,Sq=1,Sk=50",  "B=1,Hq=2,Hk=1,Sq=37,Sk=5",  "B=2,Hq=2,Hk=1,Sq=130,Sk=96",
};

/* What a mutant does to one query, which sees `visible`, and has `block` keys in a block. */
struct place {
    const struct ws_problem *problem;
    const struct ws_spec *spec;
    struct ws_visible visible;
    int64_t batch, query, queries, keys, stored, block;
    bool bounds_right, bounds_left; /* by the mask */
};

static bool has_scores(const struct place *at)
{
    return at->visible.end - at->visible.begin > 1; /* with one key dS is 0 */
}

/* Row 3 q of D goes where row q belongs, modulo the queries. */
static bool bwd_delta_transposed_affects(const struct place *at)
{
    return 3 * at->query % at->queries != at->query && has_scores(at);
}

/* The key behind the last one that the mask shows. */
static bool bwd_mask_off_by_one_affects(const struct place *at)
{
    return at->bounds_right && at->visible.end > 0 && at->visible.end < at->keys;
}

/* A hidden key is in the block of a visible one. */
static bool bwd_p_unmasked_affects(const struct place *at)
{
    const struct ws_visible *keys = &at->visible;
    bool right = keys->end > 0 && keys->end < at->keys && keys->end % at->block != 0;
    bool left = keys->begin > 0 && keys->begin % at->block != 0;
    return (at->bounds_right && right) || (at->bounds_left && left);
}

static bool bwd_alignment_affects(const struct place *at)
{
    struct ws_problem other = *at->problem;
    other.align = other.align == WS_ALIGN_TOP_LEFT ? WS_ALIGN_BOTTOM_RIGHT : WS_ALIGN_TOP_LEFT;
    struct ws_visible keys = ws_visible_keys(&other, at->batch, at->query);
    return keys.begin != at->visible.begin || keys.end != at->visible.end;
}

/* A key that is not in use lies in the block of one that is, and the mask shows it. */
static bool bwd_tail_unmasked_affects(const struct place *at)
{
    return at->visible.end == at->keys && at->keys > 0 && at->keys < at->stored &&
           at->keys % at->block != 0 && !at->bounds_right;
}

static bool bwd_atomic_lost_affects(const struct place *at)
{
    return at->spec->lever[WS_LEVER_dq_mode] == WS_DQ_MODE_ATOMIC && at->query % 16 == 0 &&
           has_scores(at);
}

/* Whether the rows are written does not depend on the queries. */
static bool bwd_dk_dropped_affects(const struct place *at)
{
    return at->stored > 0;
}

static bool bwd_lse_scale_affects(const struct place *at)
{
    return has_scores(at);
}

/* Of the first block the waves wait for K and V as well, and that orders their stores. */
static bool fence_affects(const struct place *at)
{
    return has_scores(at) && at->queries > at->spec->lever[WS_LEVER_block_m];
}

/* NULL for a mutant of another kernel. */
static bool (*const affects[WS_MUTANT_COUNT])(const struct place *at) = {
#define ROW_BWD(name) [WS_MUTANT_##name] = name##_affects,
#define ROW_ALL(name) ROW_BWD(name)
#define ROW_FWD(name)
#define ROW_GEMM(name)
#define MUTANT(name, kinds, text) ROW_##kinds(name)
#include "gen/mutants.def"
#undef MUTANT
};

static bool affects_problem(int mutant, const struct ws_problem *problem,
                            const struct ws_spec *spec)
{
    struct place at = {.problem = problem, .spec = spec};
    const bool is_window = problem->mask == WS_MASK_WINDOW;
    at.block = spec->lever[WS_LEVER_block_n];
    at.bounds_right = problem->mask == WS_MASK_CAUSAL || (is_window && problem->window[1] >= 0);
    at.bounds_left = is_window && problem->window[0] >= 0;
    for (at.batch = 0; at.batch < problem->size.batch; ++at.batch) {
        at.queries = ws_sequence_queries(problem, at.batch);
        at.keys = ws_sequence_keys(problem, at.batch);
        at.stored =
            problem->varlen ? problem->length[WS_LENGTH_K][at.batch] : problem->size.seqlen_k;
        for (at.query = 0; at.query < at.queries; ++at.query) {
            at.visible = ws_visible_keys(problem, at.batch, at.query);
            if (affects[mutant](&at))
                return true;
        }
    }
    return false;
}

static void check_shape(struct tally *tally, int mutant, const struct ws_compiled *compiled,
                        const struct ws_spec *part, const struct ws_spec *spec, const char *kernel,
                        const char *shape)
{
    struct ws_problem problem = make_problem(spec, shape, tally->seed);
    use_part(&problem);
    if (mutant == WS_MUTANT_NONE || affects_problem(mutant, &problem, spec))
        tally_check(tally, mutant, compiled, part, &problem, kernel, shape);
}

/* The part that a mutant is in: another one than main only if there is no atomic, for the parts of
 * rows know no levers. */
static struct ws_spec part_of(const struct ws_spec *spec, int mutant)
{
    struct ws_spec steps[WS_FMHA_BWD_STEPS_MAX];
    ws_fmha_bwd_steps(spec, steps);
    return mutant == WS_MUTANT_bwd_delta_transposed ? steps[0] : *spec;
}

static void check_kernel(struct tally *tally, size_t kernel, const struct mask_row *mask)
{
    struct ws_spec spec = backward_spec(mask);
    char name[160];
    set_spec(&spec, kernels[kernel].settings);
    snprintf(name, sizeof name, "bwd %s %s", mask->name, kernels[kernel].settings);
    for (int mutant = 0; mutant < WS_MUTANT_COUNT; ++mutant) {
        struct ws_compiled compiled = {0};
        struct ws_error error;
        if (mutant != WS_MUTANT_NONE && !affects[mutant])
            continue;
        struct ws_spec part = part_of(&spec, mutant);
        assert_ok(ws_compile_mutant(&part, (enum ws_mutant)mutant, NULL, &compiled, &error),
                  &error);
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
            check_shape(tally, mutant, &compiled, &part, &spec, name, shapes[i]);
        ws_compiled_free(&compiled);
    }
}

static void check_kernels(struct tally *tally)
{
    for (int mutant = 0; mutant < WS_MUTANT_COUNT; ++mutant)
        tally->expected[mutant] = affects[mutant] != NULL;
    for (size_t kernel = 0; kernel < sizeof kernels / sizeof kernels[0]; ++kernel)
        for (int mask = 0; mask < MASK_ROWS; ++mask)
            if (kernels[kernel].masks >> mask & 1)
                check_kernel(tally, kernel, &mask_rows[mask]);
}

int main(void)
{
    return tally_main(check_kernels);
}
