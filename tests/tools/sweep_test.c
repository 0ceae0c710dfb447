/* The parts of a sweep that run no kernel: shapes, tasks, and the configs that come with it. */
#include "tests/tools/support.h"
#include "tools/wavesmith/sweep.h"

static void load(struct ws_sweep *sweep, struct ws_arguments *arguments, const char *name)
{
    static const struct ws_command command = {.name = "sweep", .operand = "CONFIG"};
    struct ws_error error;
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", CONFIGS, name);
    char *argv[] = {"wavesmith", "sweep", path, NULL};
    assert_ok(ws_arguments_parse(arguments, &command, 3, argv, &error), &error);
    arguments->verify = true;
    *sweep = (struct ws_sweep){0};
    assert_ok(ws_sweep_create(sweep, arguments, &error), &error);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Points of which none is invalid, all different; how many have head dims of at least 128. */
static size_t count_large(const struct ws_config *config)
{
    size_t large = 0;
    char (*ids)[WS_ID_SIZE] = calloc(config->count, sizeof *ids);
    assert_non_null(ids);
    for (size_t i = 0; i < config->count; ++i) {
        const struct ws_config_point *point = &config->points[i];
        assert_string_equal(point->reason, "");
        ws_spec_id(&point->spec, ids[i]);
        large += point->spec.head_dim_qk >= 128;
    }
    qsort(ids, config->count, sizeof *ids, compare_ids);
    for (size_t i = 1; i < config->count; ++i)
        assert_string_not_equal(ids[i - 1], ids[i]);
    free(ids);
    return large;
}

static void the_bench_has_500_kernels(void **state)
{
    (void)state;
    struct ws_arguments arguments;
    struct ws_sweep sweep;
    load(&sweep, &arguments, "bench_500.yaml");
    assert_int_equal(sweep.points.config.count, 500);
    assert_true(count_large(&sweep.points.config) >= 250);
    assert_int_equal(sweep.task_count, 500);
    assert_int_equal(sweep.points.config.max_spills, WS_SPILLS_ANY);
    ws_sweep_free(&sweep);
    ws_arguments_free(&arguments);
}

static void shapes_are_read_from_the_survey(void **state)
{
    (void)state;
    const char *const files[] = {CONFIGS "/survey_shapes.csv", "Sq=1,Sk=7,D=64"};
    const struct ws_config config = {.shapes = files, .shape_count = 2};
    struct ws_sweep_shapes shapes = {0};
    struct ws_error error;
    assert_ok(ws_sweep_shapes_read(&shapes, &config, &error), &error);
    assert_int_equal(shapes.count, 26);
    const struct ws_sweep_shape *grouped = &shapes.list[17];
    assert_string_equal(grouped->name, "d128_b2h32k8s2048");
    assert_int_equal(grouped->sizes.batch, 2);
    assert_int_equal(grouped->sizes.heads_q, 32);
    assert_int_equal(grouped->sizes.heads_k, 8);
    assert_int_equal(grouped->sizes.seqlen_q, 2048);
    assert_int_equal(grouped->sizes.seqlen_k, 2048);
    assert_int_equal(grouped->sizes.head_dim_qk, 128);
    assert_int_equal(grouped->causal, 0);
    assert_int_equal(shapes.list[25].sizes.seqlen_k, 7);
    assert_int_equal(shapes.list[25].sizes.batch, -1);
    assert_int_equal(shapes.list[25].causal, -1);
    ws_sweep_shapes_free(&shapes);
}

static void shapes_fit_by_head_dims_and_mask(void **state)
{
    (void)state;
    struct ws_spec spec;
    struct ws_sweep_shape shape = {.causal = -1};
    assert_ok(ws_sizes_parse(&shape.sizes, "D=64", NULL), NULL);
    ws_spec_init(&spec, WS_KERNEL_FMHA_FWD);
    spec.head_dim_qk = spec.head_dim_v = 64;
    assert_true(ws_sweep_shape_fits(&shape, &spec));
    spec.head_dim_v = 128;
    assert_false(ws_sweep_shape_fits(&shape, &spec));
    shape.sizes.head_dim_v = 128;
    assert_true(ws_sweep_shape_fits(&shape, &spec));
    shape.causal = 1;
    assert_false(ws_sweep_shape_fits(&shape, &spec));
    spec.mask = WS_MASK_CAUSAL;
    assert_true(ws_sweep_shape_fits(&shape, &spec));
    shape.causal = 0;
    assert_false(ws_sweep_shape_fits(&shape, &spec));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bench_has_500_kernels),
        cmocka_unit_test(shapes_are_read_from_the_survey),
        cmocka_unit_test(shapes_fit_by_head_dims_and_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
