/* What the runtime checks of an argument block: all of the block, and no more and no less than the
 * generator, which checks the same from the spec. */
#include <math.h>

#include "gen/wavesmith.h"
#include "runtime/check.h"
#include "tests/random.h"

enum { PROBLEMS = 12000 };

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)(next_random(&seed) % below);
}

/* How often the layout of a kind speaks of the argument at an offset. */
static int count_mentions(const struct ws_layout *layout, uint32_t offset)
{
    int count = 0;
    for (int i = 0; i < layout->tensor_count; i++) {
        count += layout->tensors[i].pointer == offset;
        for (int axis = 0; axis < WS_LAYOUT_AXES; axis++)
            count += layout->tensors[i].stride[axis] == offset &&
                     layout->tensors[i].stride[axis] != WS_NO_AXIS;
    }
    for (int i = 0; i < layout->array_count; i++)
        count += layout->arrays[i].pointer == offset;
    for (int i = 0; i < layout->size_count; i++)
        count += layout->sizes[i].argument == offset;
    for (int i = 0; i < layout->factor_count; i++)
        count += layout->factors[i].argument == offset;
    return count + (offset != 0 && layout->window_left == offset) +
           (offset != 0 && layout->window_right == offset);
}

static void every_argument_has_one_meaning(void **state)
{
    (void)state;
    for (int kind = 0; kind < WS_KERNEL_KIND_COUNT; kind++) {
        const struct ws_arg_table *table = ws_arg_table((enum ws_kernel_kind)kind);
        for (uint32_t i = 0; i < table->count; i++) {
            int mentions =
                count_mentions(ws_layout((enum ws_kernel_kind)kind), table->args[i].offset);
            if (mentions != 1)
                fail_msg("%s of %s is in the layout %d times", table->args[i].name,
                         table->kind_name, mentions);
        }
    }
}

struct problem {
    struct ws_spec spec;
    struct ws_variant variant;
    struct ws_plan plan;
    union {
        struct ws_fmha_fwd_args fmha_fwd;
        struct ws_fmha_bwd_args fmha_bwd;
        struct ws_gemm_args gemm;
        unsigned char bytes[1024];
    } args;
    size_t size;
};

static void draw_spec(struct ws_spec *spec)
{
    static const int alignments[] = {2, 4, 8, 16};
    static const int dq_modes[] = {WS_DQ_MODE_DETERMINISTIC, WS_DQ_MODE_ATOMIC, WS_DQ_MODE_SPLIT};
    ws_spec_init(spec, (enum ws_kernel_kind)draw(WS_KERNEL_KIND_COUNT));
    spec->alignment = alignments[draw(4)];
    if (spec->kind == WS_KERNEL_GEMM) {
        spec->out = draw(2) ? WS_OUT_F32 : WS_OUT_SAME;
        return;
    }
    spec->head_dim_qk = spec->head_dim_v = 64;
    spec->mask = (enum ws_mask)draw(3);
    spec->window_left = spec->window_right = spec->mask == WS_MASK_WINDOW ? 5 : WS_WINDOW_OPEN;
    if (spec->kind == WS_KERNEL_FMHA_FWD) {
        spec->v_layout = (enum ws_v_layout)draw(2);
        spec->lse = draw(2);
    } else {
        spec->lever[WS_LEVER_dq_mode] = dq_modes[draw(3)];
    }
    spec->varlen = draw(2);
    spec->softcap = draw(2);
    spec->sink = draw(2);
    spec->alibi = draw(2);
    spec->bias = draw(2);
}

static void take_spec(struct ws_variant *variant, const struct ws_spec *spec)
{
    *variant = (struct ws_variant){.kind = spec->kind,
#define CHOICE(name, meaning) .name = spec->name,
#define INTEGER(name, meaning) .name = spec->name,
#define FLAG(name, meaning) .name = spec->name,
#include "runtime/pack/problem.def"
#undef CHOICE
#undef INTEGER
#undef FLAG
                                   .alignment = spec->alignment};
}

/* Sizes, some of them 0 or 1, of which the others matter nothing. */
static void draw_sizes(struct problem *p)
{
    int64_t *sizes = p->plan.sizes;
    const bool is_gemm = p->spec.kind == WS_KERNEL_GEMM;
    sizes[WS_SIZE_B] = is_gemm ? 1 + draw(3) : draw(4);
    sizes[WS_SIZE_Hk] = 1 + draw(2);
    sizes[WS_SIZE_Hq] = sizes[WS_SIZE_Hk] * (1 + draw(2));
    sizes[WS_SIZE_Sq] = draw(4) ? 1 + draw(100) : draw(2);
    sizes[WS_SIZE_Sk] = draw(4) ? 1 + draw(100) : draw(2);
    sizes[WS_SIZE_Tq] = sizes[WS_SIZE_Sq] * 2;
    sizes[WS_SIZE_Dqk] = sizes[WS_SIZE_Dv] = 64;
    sizes[WS_SIZE_M] = 1 + draw(3);
    sizes[WS_SIZE_N] = 1 + draw(3);
    sizes[WS_SIZE_K] = 1 + draw(40);
}

/* The workspace of a backward. */
static void plan_regions(struct problem *p)
{
    struct ws_error error = {0};
    struct ws_fmha_bwd_region regions[WS_FMHA_BWD_REGIONS_MAX];
    const struct ws_arg_table *table = ws_arg_table(p->spec.kind);
    if (p->spec.kind != WS_KERNEL_FMHA_BWD)
        return;
    p->plan.region_count = (uint32_t)ws_fmha_bwd_regions(&p->spec, regions);
    for (uint32_t i = 0; i < p->plan.region_count; i++) {
        struct ws_plan_region *region = &p->plan.regions[i];
        region->offset = p->plan.workspace_bytes;
        assert_ok(ws_rule_value(&regions[i].bytes, p->plan.sizes, &region->bytes, &error), &error);
        p->plan.workspace_bytes += (region->bytes + WS_WORKSPACE_ALIGNMENT - 1) /
                                   WS_WORKSPACE_ALIGNMENT * WS_WORKSPACE_ALIGNMENT;
        for (uint32_t arg = 0; arg < table->count; arg++) {
            if (strcmp(table->args[arg].name, regions[i].argument) == 0)
                region->argument = table->args[arg].offset;
        }
    }
}

/* Everything aligned, more than is asked for. */
static void fill_args(struct problem *p)
{
    const struct ws_arg_table *table = ws_arg_table(p->spec.kind);
    const struct ws_layout *layout = ws_layout(p->spec.kind);
    const uint64_t address = UINT64_C(1) << 40, stride = 1024;
    const float one = 1;
    p->size = table->size;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct ws_arg *arg = &table->args[i];
        unsigned char *at = p->args.bytes + arg->offset;
        if (arg->type == WS_ARG_F32)
            memcpy(at, &one, sizeof one);
        else if (arg->type == WS_ARG_PTR)
            memcpy(at, &address, sizeof address);
        else if (arg->type == WS_ARG_I64)
            memcpy(at, &stride, sizeof stride);
    }
    for (int i = 0; i < layout->size_count; i++) {
        int32_t size = (int32_t)p->plan.sizes[layout->sizes[i].size];
        memcpy(p->args.bytes + layout->sizes[i].argument, &size, sizeof size);
    }
    if (p->spec.kind == WS_KERNEL_FMHA_FWD) {
        p->args.fmha_fwd.window_left = p->spec.window_left;
        p->args.fmha_fwd.window_right = p->spec.window_right;
    } else if (p->spec.kind == WS_KERNEL_FMHA_BWD) {
        p->args.fmha_bwd.window_left = p->spec.window_left;
        p->args.fmha_bwd.window_right = p->spec.window_right;
    }
}

/* Changes an argument that is no size; returns it. */
static const struct ws_arg *spoil(struct problem *p)
{
    static const uint64_t pointers[] = {0, 1, 2, 4, 8, 16, 0x1002, 0x1004, 0x1008, 0x1010};
    static const int64_t strides[] = {0, 1, 2, 3, 4, 6, 8, 12, -1, -8, -1024, INT64_MIN};
    static const float factors[] = {0, -0.0F, -1, 1e-40F, 3e38F, INFINITY, NAN};
    const struct ws_arg_table *table = ws_arg_table(p->spec.kind);
    const struct ws_arg *arg = &table->args[draw(table->count)];
    unsigned char *at = p->args.bytes + arg->offset;
    if (arg->type == WS_ARG_PTR)
        memcpy(at, &pointers[draw(sizeof pointers / sizeof *pointers)], sizeof *pointers);
    else if (arg->type == WS_ARG_I64)
        memcpy(at, &strides[draw(sizeof strides / sizeof *strides)], sizeof *strides);
    else if (arg->type == WS_ARG_F32)
        memcpy(at, &factors[draw(sizeof factors / sizeof *factors)], sizeof *factors);
    return arg;
}

/* Of every launch of the problem, with the workspace in place. */
static enum ws_status generator_check(struct problem *p, const struct ws_block_rules *rules,
                                      struct ws_error *error)
{
    struct ws_spec launches[WS_FMHA_BWD_STEPS_MAX] = {p->spec};
    const int count =
        p->spec.kind == WS_KERNEL_FMHA_BWD ? ws_fmha_bwd_steps(&p->spec, launches) : 1;
    enum ws_status status = WS_OK;
    uint32_t workgroups = 0;
    ws_block_fill(rules, p->args.bytes, UINT64_C(1) << 41);
    for (int i = 0; i < count && status == WS_OK; i++)
        status = ws_launch_grid(&launches[i], &p->args, p->size, &workgroups, error);
    return status;
}

static void the_generator_checks_the_same(void **state)
{
    (void)state;
    int accepted[WS_KERNEL_KIND_COUNT] = {0}, refused[WS_KERNEL_KIND_COUNT] = {0};
    for (int i = 0; i < PROBLEMS; i++) {
        struct problem p = {0};
        struct ws_block_rules rules;
        struct ws_error error = {0}, theirs = {0};
        draw_spec(&p.spec);
        if (ws_spec_check(&p.spec, &error) != WS_OK)
            continue;
        take_spec(&p.variant, &p.spec);
        draw_sizes(&p);
        plan_regions(&p);
        fill_args(&p);
        const struct ws_arg *arg = spoil(&p);
        assert_ok(ws_block_rules_make(&rules, &p.variant, &p.plan, &error), &error);
        assert_true(rules.check_count <= WS_LAYOUT_CHECKS_MAX);
        bool ours_ok = ws_block_check(&rules, p.args.bytes, &error) == WS_OK;
        bool theirs_ok = generator_check(&p, &rules, &theirs) == WS_OK;
        if (ours_ok != theirs_ok)
            fail_msg("%s of %s: %s, here; %s, there", arg->name, rules.table->kind_name,
                     ours_ok ? "fine" : error.message, theirs_ok ? "fine" : theirs.message);
        accepted[p.spec.kind] += ours_ok;
        refused[p.spec.kind] += !ours_ok;
    }
    for (int kind = 0; kind < WS_KERNEL_KIND_COUNT; kind++)
        assert_true(accepted[kind] > PROBLEMS / 100 && refused[kind] > PROBLEMS / 100);
}

static bool is_asked_for(const struct ws_block_rules *rules, size_t offset)
{
    for (uint32_t i = 0; i < rules->check_count; i++)
        if (rules->checks[i].offset == offset && rules->checks[i].kind == WS_CHECK_NONZERO)
            return true;
    return false;
}

/* Without queries a forward launches nothing; a backward writes the gradients of the keys. */
static void a_backward_without_queries_reads_its_arrays(void **state)
{
    static const struct {
        enum ws_kernel_kind kind;
        size_t array;
        bool is_read;
    } cases[] = {
        {WS_KERNEL_FMHA_FWD, offsetof(struct ws_fmha_fwd_args, cu_seqlens_k), false},
        {WS_KERNEL_FMHA_BWD, offsetof(struct ws_fmha_bwd_args, cu_seqlens_k), true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_block_rules rules;
        struct ws_error error;
        const struct ws_variant variant = {.kind = cases[i].kind, .varlen = true, .alignment = 2};
        const struct ws_plan plan = {.sizes = {[WS_SIZE_B] = 1,
                                               [WS_SIZE_Hq] = 1,
                                               [WS_SIZE_Hk] = 1,
                                               [WS_SIZE_Sk] = 4,
                                               [WS_SIZE_Dqk] = 2,
                                               [WS_SIZE_Dv] = 2}};
        assert_ok(ws_block_rules_make(&rules, &variant, &plan, &error), &error);
        assert_int_equal(is_asked_for(&rules, cases[i].array), cases[i].is_read);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_argument_has_one_meaning),
        cmocka_unit_test(the_generator_checks_the_same),
        cmocka_unit_test(a_backward_without_queries_reads_its_arrays),
    };
    seed = test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
