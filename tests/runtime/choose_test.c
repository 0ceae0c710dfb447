/* Which variant of a pack is selected, and why: against a search through all variants that is
 * written from the manual alone, over random packs and requests. */
#include <math.h>

#include "tests/random.h"
#include "tests/runtime/kernel_pack.h"

#define OBJECT TEST_FOLDER "pack_kernels_gfx1151.hsaco"

enum { PACKS = 12, VARIANTS = 150, REQUESTS = 600 };

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    return next_random(&seed) % below;
}

static int32_t pick(const int32_t *values, size_t count)
{
    return values[draw(count)];
}
#define PICK(...) pick((const int32_t[]){__VA_ARGS__}, sizeof(int32_t[]){__VA_ARGS__} / 4)

/* What both have, drawn from so little that much of it is alike. */
#define DRAW_PROBLEM(p)                                                                            \
    do {                                                                                           \
        (p)->kind =                                                                                \
            PICK(WS_KERNEL_FMHA_FWD, WS_KERNEL_FMHA_FWD, WS_KERNEL_FMHA_FWD, WS_KERNEL_GEMM);      \
        (p)->dtype = PICK(WS_F16, WS_F16, WS_BF16);                                                \
        (p)->out = (p)->kind == WS_KERNEL_GEMM ? PICK(WS_OUT_SAME, WS_OUT_F32) : WS_OUT_SAME;      \
        (p)->head_dim_qk = PICK(64, 64, 128);                                                      \
        (p)->head_dim_v = (p)->head_dim_qk;                                                        \
        (p)->mask = PICK(WS_MASK_NONE, WS_MASK_CAUSAL, WS_MASK_WINDOW);                            \
        (p)->align = PICK(WS_ALIGN_BOTTOM_RIGHT, WS_ALIGN_BOTTOM_RIGHT, WS_ALIGN_TOP_LEFT);        \
        (p)->window_left = PICK(-1, 64);                                                           \
        (p)->window_right = PICK(0, 0, -1);                                                        \
        (p)->lse = PICK(0, 1, 1, 1);                                                               \
        (p)->alibi = PICK(0, 0, 0, 1);                                                             \
        (p)->alignment = PICK(2, 4, 8, 16);                                                        \
        if ((p)->kind == WS_KERNEL_GEMM)                                                           \
            (p)->head_dim_qk = (p)->head_dim_v = 0, (p)->lse = (p)->alibi = false,                 \
            (p)->mask = WS_MASK_NONE;                                                              \
    } while (0)

static void draw_variant(struct kernel_pack *made, uint64_t id)
{
    static const char *const targets[][2] = {
        {"gfx1151", "amdgcn-amd-amdhsa--gfx1151"},
        {"gfx1151", "amdgcn-amd-amdhsa--gfx1151"},
        {"gfx942", "amdgcn-amd-amdhsa--gfx942"},
        {"gfx942", "amdgcn-amd-amdhsa--gfx942:xnack+"},
        {"gfx942", "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"},
    };
    struct ws_variant *v = kernel_pack_kernel(made, "gemm_plain", WS_KERNEL_GEMM, id, "v1 B");
    const size_t target = draw(5);
    DRAW_PROBLEM(v);
    v->abi_version = (int32_t)ws_arg_table(v->kind)->abi_version + (draw(20) == 0);
    v->arch = targets[target][0];
    v->target = targets[target][1];
    v->selectable = draw(10) > 0;
    if (v->mask == WS_MASK_WINDOW && draw(2) == 0)
        v->window_left = v->window_right = WS_WINDOW_AT_LAUNCH;
    if (v->kind != WS_KERNEL_GEMM) {
        v->seqlen_q_min = PICK(-1, -1, 0, 1, 65);
        v->seqlen_q_max = PICK(-1, -1, 64, 300);
        v->seqlen_k_min = PICK(-1, -1, 1, 129);
        v->seqlen_k_max = PICK(-1, -1, 128);
    }
    v->tile_q = PICK(16, 32, 64, 128);
    v->score = PICK(0, 10, 10, 20, 30);
}

static void draw_request(struct ws_request *r)
{
    static const char *const targets[] = {"gfx1151", "gfx942", "gfx942:sramecc+:xnack-",
                                          "gfx942:sramecc-:xnack+", "gfx1100"};
    *r = (struct ws_request){.target = targets[draw(9) < 4 ? 0 : draw(5)]};
    DRAW_PROBLEM(r);
    r->sizes[WS_SIZE_B] = 2;
    r->sizes[WS_SIZE_Sq] = PICK(0, 1, 64, 65, 100, 300, 301, 1000);
    r->sizes[WS_SIZE_Sk] = PICK(0, 1, 128, 129, 500);
    r->sizes[WS_SIZE_M] = PICK(1, 50, 64, 200);
}

/* Whether each feature that `code` names is among those of `device`. */
static bool has_features(const char *code, const char *device)
{
    char features[256];
    const char *at = strchr(code, ':');
    snprintf(features, sizeof features, "%s:", strchr(device, ':') ? strchr(device, ':') : "");
    while (at != NULL) {
        char feature[64];
        const char *end = strchr(at + 1, ':');
        snprintf(feature, sizeof feature,
                 "%.*s:", (int)(end != NULL ? end - at : (ptrdiff_t)strlen(at)), at);
        if (strstr(features, feature) == NULL)
            return false;
        at = end;
    }
    return true;
}

static bool is_window_right(const struct ws_variant *v, const struct ws_request *r)
{
    if (r->mask != WS_MASK_WINDOW || v->window_left == WS_WINDOW_AT_LAUNCH)
        return true;
    return v->window_left == r->window_left && v->window_right == r->window_right;
}

/* A verdict short of a comparison with other variants: COST if it fits. */
static enum ws_pack_verdict judge(const struct ws_variant *v, const struct ws_request *r)
{
    const int64_t sq = r->sizes[WS_SIZE_Sq], sk = r->sizes[WS_SIZE_Sk];
    const size_t arch = strcspn(r->target, ":");
    bool is_anchored = r->mask != WS_MASK_NONE || r->alibi;
    if (!v->selectable)
        return WS_VERDICT_STEP;
    if (v->kind != r->kind)
        return WS_VERDICT_KIND;
    if (v->abi_version != (int32_t)ws_arg_table(v->kind)->abi_version)
        return WS_VERDICT_ABI;
    if (strlen(v->arch) != arch || memcmp(v->arch, r->target, arch) != 0 ||
        !has_features(v->target, r->target))
        return WS_VERDICT_TARGET;
    if (v->dtype != r->dtype || v->out != r->out || v->head_dim_qk != r->head_dim_qk ||
        v->head_dim_v != r->head_dim_v || v->mask != r->mask ||
        (is_anchored && v->align != r->align) || !is_window_right(v, r) || v->lse != r->lse ||
        v->alibi != r->alibi)
        return WS_VERDICT_PROBLEM;
    if (v->alignment > r->alignment)
        return WS_VERDICT_ALIGNMENT;
    if ((v->seqlen_q_min != -1 && sq < v->seqlen_q_min) ||
        (v->seqlen_q_max != -1 && sq > v->seqlen_q_max) ||
        (v->seqlen_k_min != -1 && sk < v->seqlen_k_min) ||
        (v->seqlen_k_max != -1 && sk > v->seqlen_k_max))
        return WS_VERDICT_CONSTRAINT;
    return WS_VERDICT_COST;
}

static double cost(const struct ws_variant *v, const struct ws_request *r)
{
    double rows = (double)r->sizes[r->kind == WS_KERNEL_GEMM ? WS_SIZE_M : WS_SIZE_Sq];
    return v->score == 0 ? (double)INFINITY : v->score * ceil(rows / v->tile_q) * v->tile_q;
}

struct expected {
    const struct ws_pack *pack;
    const struct ws_request *request;
    uint32_t best; /* UINT32_MAX: none */
    uint32_t seen;
    int count[WS_VERDICT_SELECTED + 1];
};

static struct expected search(const struct ws_pack *pack, const struct ws_request *request)
{
    struct expected expected = {.pack = pack, .request = request, .best = UINT32_MAX};
    for (uint32_t i = 0; i < ws_pack_count(pack); i++) {
        const struct ws_variant *v = ws_pack_variant(pack, i);
        if (judge(v, request) != WS_VERDICT_COST)
            continue;
        const struct ws_variant *best = ws_pack_variant(pack, expected.best);
        if (best == NULL || cost(v, request) < cost(best, request) ||
            (cost(v, request) == cost(best, request) && strcmp(v->spec_id, best->spec_id) < 0))
            expected.best = i;
    }
    return expected;
}

static void check_candidate(void *context, const struct ws_candidate *candidate)
{
    struct expected *expected = context;
    const struct ws_variant *v = ws_pack_variant(expected->pack, candidate->variant);
    enum ws_pack_verdict want = judge(v, expected->request);
    assert_int_equal(candidate->variant, expected->seen++);
    if (want == WS_VERDICT_COST) {
        double best = cost(ws_pack_variant(expected->pack, expected->best), expected->request);
        assert_true(candidate->cost == cost(v, expected->request));
        if (candidate->variant == expected->best)
            want = WS_VERDICT_SELECTED;
        else if (candidate->cost == best)
            want = WS_VERDICT_TIE;
    }
    if (candidate->verdict != want)
        fail_msg("variant %u: %s (%s), not %s", candidate->variant,
                 ws_verdict_name(candidate->verdict), candidate->reason, ws_verdict_name(want));
    assert_true(strlen(candidate->reason) > 0);
    expected->count[candidate->verdict]++;
}

static void selection_is_a_search_through_all(void **state)
{
    (void)state;
    struct ws_error error;
    int count[WS_VERDICT_SELECTED + 1] = {0}, none = 0;
    for (int i = 0; i < PACKS; i++) {
        struct kernel_pack *made = kernel_pack_begin(OBJECT);
        for (uint64_t j = 0; j < VARIANTS; j++)
            draw_variant(made, draw(UINT64_MAX));
        struct ws_pack *pack = kernel_pack_open(made);
        for (int j = 0; j < REQUESTS; j++) {
            struct ws_request request;
            struct ws_plan plan;
            draw_request(&request);
            struct expected expected = search(pack, &request);
            enum ws_status status = ws_pack_select(pack, &request, &plan, &error);
            if (expected.best == UINT32_MAX) {
                assert_int_equal(status, WS_ERROR_NO_VARIANT);
                none++;
            } else {
                assert_ok(status, &error);
                assert_int_equal(plan.variant, expected.best);
            }
            assert_ok(ws_pack_explain(pack, &request, check_candidate, &expected, &error), &error);
            assert_int_equal(expected.seen, ws_pack_count(pack));
            for (int k = 0; k <= WS_VERDICT_SELECTED; k++)
                count[k] += expected.count[k];
        }
        ws_pack_close(pack);
        kernel_pack_end(made);
    }
    /* The draw reaches everything. */
    for (int k = 0; k <= WS_VERDICT_SELECTED; k++)
        assert_true(count[k] > 20);
    assert_true(none > 20);
}

/* One variant that is a plain causal forward, and a request that it fits. */
struct pair {
    struct kernel_pack *made;
    struct ws_variant *variant;
    struct ws_request request;
};

static struct pair make_pair(void)
{
    struct pair pair = {.made = kernel_pack_begin(OBJECT)};
    struct ws_variant *v =
        kernel_pack_kernel(pair.made, "gemm_plain", WS_KERNEL_FMHA_FWD, 1, "v1 ceil(Sq/64)*Hq*B");
    v->head_dim_qk = v->head_dim_v = 128;
    v->mask = WS_MASK_CAUSAL;
    v->lse = true;
    v->alignment = 16;
    v->tile_q = 64;
    v->score = 10;
    pair.variant = v;
    pair.request = (struct ws_request){
        .kind = WS_KERNEL_FMHA_FWD,
        .target = "gfx1151",
        .head_dim_qk = 128,
        .head_dim_v = 128,
        .mask = WS_MASK_CAUSAL,
        .lse = true,
        .alignment = 16,
        .sizes = {[WS_SIZE_B] = 2, [WS_SIZE_Hq] = 4, [WS_SIZE_Hk] = 2, [WS_SIZE_Sq] = 130},
    };
    return pair;
}

/* Selects from the pack of the pair; the request is as it is now. */
static enum ws_status select_from(const struct pair *pair, struct ws_plan *plan,
                                  struct ws_error *error)
{
    struct ws_pack *pack = kernel_pack_open(pair->made);
    enum ws_status status = ws_pack_select(pack, &pair->request, plan, error);
    ws_pack_close(pack);
    return status;
}

static void what_keeps_the_nearest_is_said(void **state)
{
    (void)state;
    struct ws_error error;
    struct ws_plan plan;
    struct pair pair = make_pair();
    assert_ok(select_from(&pair, &plan, &error), &error);
    pair.request.head_dim_qk = pair.request.head_dim_v = 96;
    assert_int_equal(select_from(&pair, &plan, &error), WS_ERROR_NO_VARIANT);
    assert_says(&error, "head_dim_qk is 128, not 96");
    pair.request.head_dim_qk = pair.request.head_dim_v = 128;
    pair.request.mask = WS_MASK_NONE;
    assert_int_equal(select_from(&pair, &plan, &error), WS_ERROR_NO_VARIANT);
    assert_says(&error, "mask is causal, not none");
    pair.request.mask = WS_MASK_CAUSAL;
    pair.request.alignment = 8;
    assert_int_equal(select_from(&pair, &plan, &error), WS_ERROR_NO_VARIANT);
    assert_says(&error, "16 bytes, not 8");
    pair.request.alignment = 48;
    pair.variant->seqlen_q_min = 1;
    pair.variant->seqlen_q_max = 129;
    assert_int_equal(select_from(&pair, &plan, &error), WS_ERROR_NO_VARIANT);
    assert_says(&error, "from 1 to 129 queries");
    assert_says(&error, "not 130");
    pair.request.target = "gfx942";
    assert_int_equal(select_from(&pair, &plan, &error), WS_ERROR_NO_VARIANT);
    assert_says(&error, "for gfx1151, not gfx942");
    pair.made->count = 0;
    assert_int_equal(select_from(&pair, &plan, &error), WS_ERROR_NO_VARIANT);
    assert_says(&error, "no variants");
    assert_int_equal(select_from(&pair, &plan, NULL), WS_ERROR_NO_VARIANT);
    kernel_pack_end(pair.made);
}

static void a_malformed_request_is_an_error(void **state)
{
    (void)state;
    struct ws_error error;
    struct ws_plan plan;
    struct pair pair = make_pair();
    pair.request.alignment = 0;
    assert_int_equal(select_from(&pair, &plan, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "alignment is 0");
    pair.request.alignment = 16;
    pair.request.sizes[WS_SIZE_Hk] = -1;
    assert_int_equal(select_from(&pair, &plan, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "size Hk is -1");
    pair.request.sizes[WS_SIZE_Hk] = 2;
    pair.request.target = NULL;
    assert_int_equal(select_from(&pair, &plan, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "target is NULL");
    kernel_pack_end(pair.made);
}

static void a_plan_has_the_grid_of_the_rule(void **state)
{
    (void)state;
    struct ws_error error;
    struct ws_plan plan;
    struct pair pair = make_pair();
    assert_ok(select_from(&pair, &plan, &error), &error);
    assert_int_equal(plan.launch_count, 1);
    assert_int_equal(plan.launches[0].variant, plan.variant);
    assert_int_equal(plan.launches[0].grid, 3 * 4 * 2);
    assert_int_equal(plan.launches[0].block, 64);
    assert_int_equal(plan.region_count, 0);
    assert_int_equal(plan.workspace_bytes, 0);
    assert_int_equal(plan.sizes[WS_SIZE_Sq], 130);
    assert_int_equal(plan.sizes[WS_SIZE_Dqk], 128);
    pair.request.sizes[WS_SIZE_Sq] = 0;
    assert_ok(select_from(&pair, &plan, &error), &error);
    assert_int_equal(plan.launches[0].grid, 0);
    /* 2^32 work-items are one too many; a workgroup less is fine. */
    pair.request.sizes[WS_SIZE_B] = pair.request.sizes[WS_SIZE_Hq] = 1;
    pair.request.sizes[WS_SIZE_Sq] = INT64_C(1) << 32;
    assert_int_equal(select_from(&pair, &plan, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "2^32 work-items");
    pair.request.sizes[WS_SIZE_Sq] -= 64;
    assert_ok(select_from(&pair, &plan, &error), &error);
    assert_int_equal(plan.launches[0].grid, (1 << 26) - 1);
    pair.request.sizes[WS_SIZE_B] = INT64_MAX;
    assert_int_equal(select_from(&pair, &plan, &error), WS_ERROR_ARGUMENT);
    kernel_pack_end(pair.made);
}

static void verdicts_have_names(void **state)
{
    (void)state;
    for (int i = 0; i <= WS_VERDICT_SELECTED; i++)
        assert_non_null(ws_verdict_name((enum ws_pack_verdict)i));
    assert_null(ws_verdict_name((enum ws_pack_verdict)(WS_VERDICT_SELECTED + 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selection_is_a_search_through_all),
        cmocka_unit_test(what_keeps_the_nearest_is_said),
        cmocka_unit_test(a_malformed_request_is_an_error),
        cmocka_unit_test(a_plan_has_the_grid_of_the_rule),
        cmocka_unit_test(verdicts_have_names),
    };
    seed = test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
