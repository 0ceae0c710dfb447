/* Kernels with a deliberate defect (gen/mutants.def) fail at every shape that the defect affects,
 * and the sound kernel passes at the same shapes. Built with a generator that has the mutants. */
#include <math.h>

#include "tests/verify/tally.h"
#include "tools/wavesmith/inputs.h"

/* Mutants of any kernel, and of one that exchanges P. */
#define NO_EXCHANGE "last_key rescale_skipped kv_head tail_unmasked"
#define GENERAL NO_EXCHANGE " exchange_omitted"

enum { ANY_MASK = 7, NO_MASK = 1, TOP_LEFT = 2, BOTTOM_RIGHT = 4 }; /* bits: rows of mask_rows */

static const struct {
    const char *preset;
    int head_dim, masks;
    const char *settings, *mutants; /* words */
} kernels[] = {
    {"swap", 64, ANY_MASK, "", GENERAL " mask_off_by_one"},
    {"swap", 72, ANY_MASK, "", GENERAL " mask_off_by_one padding"},
    {"swap", 128, ANY_MASK, "", GENERAL " mask_off_by_one"},
    {"swap_d64", 64, ANY_MASK, "", GENERAL " mask_off_by_one"},
    {"swap_d128", 128, ANY_MASK, "", GENERAL " mask_off_by_one"},
    {"goal_d64", 64, ANY_MASK, "", GENERAL " mask_off_by_one fence"},
    {"goal_d128", 128, ANY_MASK, "", GENERAL " mask_off_by_one fence"},
    {"goal_d64", 64, NO_MASK, "head_dim=72 addr=global bm_tiles=1", GENERAL " padding"},
    {"swap", 64, TOP_LEFT | BOTTOM_RIGHT, "mask=window",
     "last_key mask_off_by_one window_off_by_one tail_unmasked"},
    {"swap_d128", 128, BOTTOM_RIGHT, "mask=window window=17,-1",
     "last_key window_off_by_one tail_unmasked"},
    {"swap", 80, ANY_MASK, "varlen=1",
     "last_key kv_head exchange_omitted tail_unmasked mask_off_by_one sequence used_ignored"},
    {"swap_d64", 64, BOTTOM_RIGHT, "varlen=1 dtype=bf16", "sequence used_ignored"},
    {"swap", 64, NO_MASK | BOTTOM_RIGHT, "v_layout=transposed v_mode=gather", GENERAL},
    {"swap", 120, NO_MASK, "v_layout=transposed v_mode=gather", "last_key tail_unmasked padding"},
    {"swap", 64, ANY_MASK, "softcap=1", "last_key mask_off_by_one softcap_skipped"},
    {"swap_d64", 64, NO_MASK, "softcap=1 dtype=bf16", "softcap_skipped"},
    {"swap", 64, ANY_MASK, "alibi=1", "alibi_head"},
    {"swap_d128", 128, BOTTOM_RIGHT, "alibi=1 dtype=bf16", "alibi_head"},
    {"swap", 64, ANY_MASK, "bias=1", "bias_row"},
    {"swap", 128, BOTTOM_RIGHT, "bias=1 dtype=bf16", "bias_row"},
    {"swap", 64, ANY_MASK, "sink=1", "sink_lse"},
    {"swap_d128", 128, NO_MASK, "sink=1 dtype=bf16", "sink_lse"},
    {"singlewave", 64, ANY_MASK, "", GENERAL " mask_off_by_one"},
    {"singlewave", 72, BOTTOM_RIGHT, "p_mode=bpermute", GENERAL " padding"},
    {"pipelined", 64, ANY_MASK, "", GENERAL " mask_off_by_one"},
    {"pipelined", 128, TOP_LEFT, "p_mode=bpermute dtype=bf16", GENERAL},
    {"pipelined", 64, BOTTOM_RIGHT, "mask=window p_mode=swap", "last_key window_off_by_one"},
    {"blockn", 64, BOTTOM_RIGHT, "bias=1 alibi=1", GENERAL " bias_row alibi_head"},
    {"multiwave", 64, BOTTOM_RIGHT, "softcap=1", GENERAL " softcap_skipped"},
    {"regblocked", 64, TOP_LEFT, "sink=1", GENERAL " sink_lse"},
    {"goal_gfx942_d64", 64, NO_MASK | BOTTOM_RIGHT, "", NO_EXCHANGE " mask_off_by_one fence"},
    {"goal_gfx950_d128", 128, TOP_LEFT, "", NO_EXCHANGE " mask_off_by_one"},
    {"goal_gfx950_d128", 128, NO_MASK, "v_mode=tr_load", NO_EXCHANGE " fence"},
    {"goal_gfx1201_d64", 64, NO_MASK | BOTTOM_RIGHT, "", NO_EXCHANGE " mask_off_by_one fence"},
    {"swap", 72, BOTTOM_RIGHT, "arch=gfx90a dtype=bf16", NO_EXCHANGE " mask_off_by_one padding"},
    {"swap", 80, BOTTOM_RIGHT, "arch=gfx942 atom=32x32 block_n=32 mask=window",
     "last_key window_off_by_one"},
    {"swap", 72, NO_MASK, "arch=gfx1201", NO_EXCHANGE " padding"},
};

static const char *const shapes[] = {
    "B=2,Hq=4,Hk=2,Sq=40,Sk=77", "B=1,Hq=2,Hk=2,Sq=64,Sk=64",  "B=1,Hq=2,Hk=1,Sq=70,Sk=33",
    "B=1,Hq=1,Hk=1,Sq=1,Sk=50",  "B=1,Hq=2,Hk=1,Sq=17,Sk=5",   "B=1,Hq=3,Hk=3,Sq=33,Sk=128",
    "B=2,Hq=2,Hk=1,Sq=16,Sk=16", "B=1,Hq=4,Hk=2,Sq=50,Sk=145",
};

/* What a mutant does to one query of a head, which sees `visible` and has `block` keys in a block.
 */
struct place {
    const struct ws_problem *problem;
    struct ws_visible visible;
    int64_t batch, query, keys, block;
    int64_t shown;   /* visible keys that the bias does not hide */
    bool shows_last; /* the last visible key is one */
    int64_t past;  /* the first key that the mask hides on the right, were there keys without end */
    int64_t first; /* the first one that it shows on the left, likewise */
};

static bool sees_any(const struct place *at)
{
    return at->shown > 0;
}

static bool last_key_affects(const struct place *at)
{
    return at->shows_last && at->visible.end == at->keys;
}

static bool mask_off_by_one_affects(const struct place *at)
{
    return at->past >= 0 && at->past < at->keys;
}

static bool window_off_by_one_affects(const struct place *at)
{
    return at->first > 0 && at->first <= at->keys;
}

/* Of the boundary inputs, every fourth query (from 1) has a last key that moves the maximum; it
 * matters if something was summed up before. */
static bool rescale_skipped_affects(const struct place *at)
{
    return at->query % 4 == 1 && at->keys > at->block && at->visible.end == at->keys &&
           at->shows_last;
}

static bool kv_head_affects(const struct place *at)
{
    return at->problem->size.heads_k > 1 && sees_any(at);
}

static bool exchange_omitted_affects(const struct place *at)
{
    return at->shown > 1;
}

/* The last block reaches past the keys, and no diagonal hides that. */
static bool tail_unmasked_affects(const struct place *at)
{
    return at->keys > 0 && at->keys % at->block != 0 && at->past > at->keys &&
           at->first <= at->keys;
}

/* Scores and with them LSE, and what lies behind the last row of O. */
static bool padding_affects(const struct place *at)
{
    bool in_scores = at->problem->size.head_dim_qk % 16 != 0 && sees_any(at);
    return in_scores || at->problem->size.head_dim_v % 16 != 0;
}

static bool sequence_affects(const struct place *at)
{
    return at->problem->size.batch > 1 && sees_any(at);
}

static bool used_ignored_affects(const struct place *at)
{
    struct ws_problem all = *at->problem;
    all.uses_part = false;
    struct ws_visible visible = ws_visible_keys(&all, at->batch, at->query);
    return visible.begin != at->visible.begin || visible.end != at->visible.end;
}

static bool softcap_skipped_affects(const struct place *at)
{
    return sees_any(at);
}

static bool alibi_head_affects(const struct place *at)
{
    return at->problem->size.heads_q > 1 && at->shown > 1;
}

static bool bias_row_affects(const struct place *at)
{
    return at->query + 1 < at->problem->size.seqlen_q && at->shown > 1;
}

static bool sink_lse_affects(const struct place *at)
{
    return sees_any(at);
}

/* Of the first block the wave waits for Q as well, and that orders its stores. */
static bool fence_affects(const struct place *at)
{
    return sees_any(at) && at->visible.end > at->block;
}

/* NULL for a mutant of another kernel. */
static bool (*const affects[WS_MUTANT_COUNT])(const struct place *at) = {
#define ROW_FWD(name) [WS_MUTANT_##name] = name##_affects,
#define ROW_ALL(name) ROW_FWD(name)
#define ROW_GEMM(name)
#define ROW_BWD(name)
#define MUTANT(name, kinds, text) ROW_##kinds(name)
#include "gen/mutants.def"
#undef MUTANT
};

static struct place place_of(const struct ws_problem *problem, int64_t batch, int64_t query,
                             const float *bias, int64_t block)
{
    int64_t diagonal = query + ws_sequence_shift(problem, batch);
    struct place at = {
        .problem = problem,
        .visible = ws_visible_keys(problem, batch, query),
        .batch = batch,
        .query = query,
        .keys = ws_sequence_keys(problem, batch),
        .block = block,
        .past = INT64_MAX,
    };
    for (int64_t key = at.visible.begin; key < at.visible.end; ++key) {
        at.shows_last = !bias || bias[key] > -INFINITY;
        at.shown += at.shows_last;
    }
    if (problem->mask == WS_MASK_CAUSAL)
        at.past = diagonal + 1;
    if (problem->mask == WS_MASK_WINDOW && problem->window[1] >= 0)
        at.past = diagonal + problem->window[1] + 1;
    if (problem->mask == WS_MASK_WINDOW && problem->window[0] >= 0)
        at.first = diagonal - problem->window[0];
    return at;
}

static bool affects_problem(int mutant, const struct ws_problem *problem, int64_t block)
{
    struct ws_inputs inputs = {0};
    struct ws_error error;
    bool any = false;
    assert_ok(ws_inputs_create(&inputs, problem, WS_INPUT_NORMAL, &error), &error);
    for (int64_t batch = 0; batch < problem->size.batch; ++batch)
        for (int64_t head = 0; head < problem->size.heads_q; ++head)
            for (int64_t query = 0; query < ws_sequence_queries(problem, batch); ++query) {
                const float *bias =
                    problem->bias ? ws_inputs_row(&inputs, problem, WS_BIAS, batch, head, query)
                                  : NULL;
                struct place at = place_of(problem, batch, query, bias, block);
                any = any || affects[mutant](&at);
            }
    ws_inputs_free(&inputs);
    return any;
}

static void check_shape(struct tally *tally, int mutant, const struct ws_compiled *compiled,
                        const struct ws_spec *spec, const char *kernel, const char *shape)
{
    struct ws_problem problem = make_problem(spec, shape, tally->seed);
    bool sound = mutant == WS_MUTANT_NONE;
    problem.uses_part = problem.varlen;
    for (int64_t b = 0; b < problem.size.batch && problem.varlen; ++b)
        problem.length[WS_LENGTH_USED_K][b] = problem.length[WS_LENGTH_K][b] * (3 - b) / 4;
    if (!sound && !affects_problem(mutant, &problem, spec->lever[WS_LEVER_block_n]))
        return;
    tally_check(tally, mutant, compiled, spec, &problem, kernel, shape);
}

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

static void check_kernel(struct tally *tally, size_t kernel, const struct mask_row *mask)
{
    struct ws_spec spec = load_preset(kernels[kernel].preset, kernels[kernel].head_dim, mask);
    char name[128];
    set_spec(&spec, kernels[kernel].settings);
    snprintf(name, sizeof name, "%s d%d %s %s", kernels[kernel].preset, kernels[kernel].head_dim,
             mask->name, kernels[kernel].settings);
    for (int mutant = 0; mutant < WS_MUTANT_COUNT; ++mutant) {
        struct ws_compiled compiled = {0};
        struct ws_error error;
        bool is_masked = spec.mask != WS_MASK_NONE;
        if (mutant != WS_MUTANT_NONE &&
            (!affects[mutant] || !has_word(kernels[kernel].mutants, mutant_name(mutant))))
            continue;
        if (mutant == WS_MUTANT_mask_off_by_one && !is_masked)
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
        for (int mask = 0; mask < MASK_ROWS; ++mask)
            if (kernels[kernel].masks >> mask & 1)
                check_kernel(tally, kernel, &mask_rows[mask]);
}

int main(void)
{
    return tally_main(check_kernels);
}
