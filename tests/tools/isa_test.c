/* The instruction reader on kernels whose loops are known (loops.s, targets.S). */
#include <math.h>

#include "tests/tools/support.h"
#include "tools/wavesmith/isa/isa.h"
#include "tools/wavesmith/output.h"

struct opened {
    uint8_t *image;
    size_t size;
    struct ws_object object;
};

static int open_object(void **state)
{
    static struct opened opened;
    struct ws_error error;
    assert_ok(ws_read_file(LOOPS_HSACO, &opened.image, &opened.size, &error), &error);
    assert_ok(ws_object_read(&opened.object, opened.image, opened.size, &error), &error);
    *state = &opened;
    return 0;
}

static int close_object(void **state)
{
    struct opened *opened = *state;
    ws_object_free(&opened->object);
    free(opened->image);
    return 0;
}

static void read_kernel(struct ws_isa *isa, const struct opened *opened, const char *name)
{
    struct ws_error error;
    const struct ws_object_kernel *kernel = ws_object_find(&opened->object, name);
    assert_non_null(kernel);
    *isa = (struct ws_isa){0};
    assert_ok(ws_isa_read(isa, opened->image, &opened->object, kernel, &error), &error);
}

static void cold_blocks_are_apart(void **state)
{
    struct ws_isa isa;
    read_kernel(&isa, *state, "cold");
    assert_int_equal(isa.all.total, 20);
    assert_int_equal(isa.loop_count, 1);
    const struct ws_isa_loop *loop = &isa.loops[0];
    assert_true(loop->innermost);
    assert_int_equal(loop->offset, 4);
    assert_int_equal(loop->hot.total, 15);
    assert_int_equal(loop->cold.total, 3);
    assert_int_equal(loop->hot.by_class[WS_ISA_MMA], 1);
    assert_int_equal(loop->cold.by_class[WS_ISA_MMA], 1);
    /* What execz skips is hot. */
    assert_int_equal(loop->hot.by_class[WS_ISA_TRANS], 1);
    assert_int_equal(loop->hot.by_class[WS_ISA_VMEM], 1);
    assert_true(loop->mma_flops == 2 * 16 * 16 * 16);
    assert_true(fabs(loop->a_serial - 32.0 / (32 + 14)) < 1e-12);
    ws_isa_free(&isa);
}

static void loads_have_distances(void **state)
{
    struct ws_isa isa;
    read_kernel(&isa, *state, "cold");
    const struct ws_isa_loop *loop = &isa.loops[0];
    assert_int_equal(loop->waits_to_zero, 2);
    assert_int_equal(loop->lds.loads, 1);
    assert_true(loop->lds.median == 1);
    assert_int_equal(loop->global.loads, 1);
    assert_true(loop->global.median == 2);
    ws_isa_free(&isa);
}

static void loads_wait_for_later_rounds(void **state)
{
    static const struct {
        const char *kernel;
        double distance;
    } cases[] = {
        /* The rest of the round, and the next one's three instructions up to the wait. */
        {"carried", 9 + 32 + 2 + 32},
        /* A whole round more. */
        {"carried_far", 9 + 32 + 2 + 32 + 42},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct ws_isa isa;
        read_kernel(&isa, *state, cases[i].kernel);
        const struct ws_isa_loop *loop = &isa.loops[0];
        assert_int_equal(loop->hot.total, 11);
        assert_true(loop->cycles == 10 + 32);
        assert_true(fabs(loop->a_serial - 32.0 / 42) < 1e-12);
        assert_int_equal(loop->moves, 2);
        assert_int_equal(loop->waits_to_zero, 1);
        assert_int_equal(loop->global.loads, 1);
        assert_true(loop->global.median == cases[i].distance);
        assert_true(loop->global.p10 == cases[i].distance);
        assert_int_equal(loop->lds.loads, 1);
        assert_true(loop->lds.median == 32 + 5);
        ws_isa_free(&isa);
    }
}

static void distances_have_a_spread(void **state)
{
    struct ws_isa isa;
    read_kernel(&isa, *state, "spread");
    const struct ws_isa_loop *loop = &isa.loops[0];
    /* 4, 5, 6 and 7: the store counts as an operation in flight, but is no load. */
    assert_int_equal(loop->lds.loads, 4);
    assert_true(loop->lds.p10 == 4);
    assert_true(loop->lds.median == 6);
    assert_int_equal(loop->waits_to_zero, 0);
    assert_int_equal(loop->global.loads, 0);
    assert_int_equal(loop->moves, 0);
    assert_true(loop->a_serial == 0);
    ws_isa_free(&isa);
}

static void the_loop_with_most_products_is_first(void **state)
{
    struct ws_isa isa;
    read_kernel(&isa, *state, "nested");
    assert_int_equal(isa.loop_count, 3);
    assert_int_equal(isa.loops[0].hot.by_class[WS_ISA_MMA], 2);
    assert_int_equal(isa.loops[0].hot.total, 7);
    assert_int_equal(isa.loops[0].hot.by_class[WS_ISA_VOPD], 1);
    assert_int_equal(isa.loops[1].hot.total, 3);
    assert_true(isa.loops[0].innermost && isa.loops[1].innermost);
    assert_false(isa.loops[2].innermost);
    ws_isa_free(&isa);
}

static void of_equal_products_the_unmasked_is_first(void **state)
{
    struct ws_isa isa;
    read_kernel(&isa, *state, "masked");
    assert_int_equal(isa.loop_count, 3);
    for (int i = 0; i < 3; ++i)
        assert_int_equal(isa.loops[i].hot.by_class[WS_ISA_MMA], 1);
    assert_int_equal(isa.loops[0].hot.total, 3);
    assert_int_equal(isa.loops[1].hot.total, 4);
    assert_int_equal(isa.loops[2].hot.total, 4);
    assert_true(isa.loops[1].offset < isa.loops[0].offset);
    assert_true(isa.loops[0].offset < isa.loops[2].offset);
    ws_isa_free(&isa);
}

static void a_kernel_without_loops(void **state)
{
    struct ws_isa isa;
    read_kernel(&isa, *state, "straight");
    assert_int_equal(isa.loop_count, 0);
    assert_int_equal(isa.block_count, 1);
    ws_isa_free(&isa);
}

static void open_target(struct opened *opened, const char *name)
{
    char path[512];
    struct ws_error error;
    snprintf(path, sizeof path, OBJECTS "/%s.hsaco", name);
    *opened = (struct opened){0};
    assert_ok(ws_read_file(path, &opened->image, &opened->size, &error), &error);
    assert_ok(ws_object_read(&opened->object, opened->image, opened->size, &error), &error);
}

static void close_target(struct opened *opened)
{
    ws_object_free(&opened->object);
    free(opened->image);
}

/* The same loop on each target: four cycles an instruction on CDNA, whose stores are in flight with
 * the loads; on gfx12 every kind of operation is counted by itself. */
static void targets_have_their_cycles_and_counters(void **state)
{
    static const struct {
        const char *name;
        unsigned instructions, waits_to_zero, moves, accvgpr;
        double product, others, lds, global;
    } cases[] = {
        {"gfx90a", 11, 1, 3, 1, 64, 4, 84, 80},      {"gfx942", 11, 1, 3, 1, 32, 4, 52, 48},
        {"gfx950", 11, 1, 3, 1, 32, 4, 52, 48},      {"gfx1201", 11, 3, 1, 0, 16, 1, 17, 20},
        {"gfx1151_wave64", 3, 0, 0, 0, 32, 1, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct opened opened;
        struct ws_isa isa;
        open_target(&opened, cases[i].name);
        read_kernel(&isa, &opened, "loop");
        const struct ws_isa_loop *loop = &isa.loops[0];
        double all = cases[i].product + (cases[i].instructions - 1) * cases[i].others;
        assert_int_equal(isa.loop_count, 1);
        assert_int_equal(loop->hot.total, cases[i].instructions);
        assert_int_equal(loop->hot.by_class[WS_ISA_MMA], 1);
        assert_int_equal(loop->hot.by_class[WS_ISA_ACCVGPR], cases[i].accvgpr);
        assert_int_equal(loop->waits_to_zero, cases[i].waits_to_zero);
        assert_int_equal(loop->moves, cases[i].moves);
        assert_true(loop->cycles == all);
        assert_true(fabs(loop->a_serial - cases[i].product / all) < 1e-12);
        assert_int_equal(loop->lds.loads, cases[i].lds > 0);
        assert_true(loop->lds.median == cases[i].lds);
        assert_int_equal(loop->global.loads, cases[i].global > 0);
        assert_true(loop->global.median == cases[i].global);
        ws_isa_free(&isa);
        close_target(&opened);
    }
}

/* Blocks and passes of 4 cycles: LLVM 22's scheduling models, as llvm-mca prints them. */
static void products_have_shapes_and_cycles(void **state)
{
    static const struct {
        const char *name;
        struct {
            int m, k, blocks;
            double cycles; /* 0: unknown */
        } products[10];
    } cases[] = {
        {"gfx90a",
         {{4, 4, 16, 8},
          {16, 4, 4, 32},
          {32, 4, 2, 64},
          {16, 16, 1, 32},
          {32, 8, 1, 64},
          {16, 4, 1, 0}}},
        {"gfx942",
         {{4, 4, 16, 8},
          {32, 4, 2, 64},
          {16, 16, 1, 16},
          {32, 8, 1, 32},
          {16, 4, 1, 32},
          {16, 4, 1, 0}}},
        {"gfx950",
         {{4, 4, 16, 8},
          {32, 4, 2, 64},
          {16, 16, 1, 16},
          {32, 8, 1, 32},
          {16, 4, 1, 32},
          {16, 4, 1, 0},
          {16, 32, 1, 16},
          {32, 16, 1, 32},
          {16, 128, 1, 0}}},
        {"gfx1201", {{16, 16, 1, 16}, {16, 16, 1, 0}}},
        {"gfx1151_wave64", {{16, 16, 1, 32}}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct opened opened;
        struct ws_isa isa;
        size_t count = 0;
        open_target(&opened, cases[i].name);
        read_kernel(&isa, &opened, "products");
        for (; cases[i].products[count].m > 0; ++count) {
            const struct ws_instruction *instruction = &isa.instructions[count];
            assert_int_equal(instruction->class, WS_ISA_MMA);
            assert_int_equal(instruction->mma_m, cases[i].products[count].m);
            assert_int_equal(instruction->mma_k, cases[i].products[count].k);
            assert_int_equal(instruction->mma_blocks, cases[i].products[count].blocks);
            assert_true(ws_isa_cycles(instruction, opened.object.arch) ==
                        cases[i].products[count].cycles);
        }
        assert_int_equal(isa.count, count + 1);
        ws_isa_free(&isa);
        close_target(&opened);
    }
}

static void wave64_has_its_own_operands(void **state)
{
    (void)state;
    struct opened opened;
    struct ws_isa isa;
    open_target(&opened, "gfx1151_wave64");
    read_kernel(&isa, &opened, "products");
    assert_non_null(strstr(isa.instructions[0].text, " v[24:27], v[0:7], v[8:15], v[24:27]"));
    ws_isa_free(&isa);
    close_target(&opened);
}

/* AGPRs of a unified file: behind the VGPRs, and counted with them. */
static void accumulation_registers_are_found(void **state)
{
    static const struct {
        const char *name;
        unsigned agprs, offset;
    } cases[] = {{"gfx90a", 32, 32}, {"gfx942", 32, 32}, {"gfx950", 32, 32}, {"gfx1201", 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct opened opened;
        open_target(&opened, cases[i].name);
        assert_int_equal(opened.object.kernels[0].vgpr_count, 64);
        assert_int_equal(opened.object.kernels[0].agpr_count, cases[i].agprs);
        assert_int_equal(opened.object.kernels[0].accum_offset, cases[i].offset);
        close_target(&opened);
    }
}

static enum ws_status read_code(const uint32_t *code, size_t words, struct ws_error *error)
{
    struct ws_isa isa = {0};
    enum ws_status status =
        ws_isa_decode(&isa, "gfx1151", 32, (const uint8_t *)code, 4 * words, error);
    if (status == WS_OK)
        status = ws_isa_find_blocks(&isa, error);
    ws_isa_free(&isa);
    return status;
}

static void bad_code_is_refused(void **state)
{
    (void)state;
    struct ws_error error;
    const uint32_t unknown[] = {0xbf800000, 0xffffffff};
    assert_int_equal(read_code(unknown, 2, &error), WS_ERROR_OBJECT);
    assert_says(&error, "0x4");
    const uint32_t inside[] = {0xbfa00001, 0xbe8000ff, 0x12345678}; /* s_branch into a literal */
    assert_int_equal(read_code(inside, 3, &error), WS_ERROR_OBJECT);
    assert_says(&error, "no instruction begins");
    const uint32_t outside[] = {0xbfa07fff, 0xbfb00000};
    assert_int_equal(read_code(outside, 2, &error), WS_ERROR_OBJECT);
    assert_int_equal(read_code(outside, 0, &error), WS_ERROR_OBJECT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cold_blocks_are_apart),
        cmocka_unit_test(loads_have_distances),
        cmocka_unit_test(loads_wait_for_later_rounds),
        cmocka_unit_test(distances_have_a_spread),
        cmocka_unit_test(the_loop_with_most_products_is_first),
        cmocka_unit_test(of_equal_products_the_unmasked_is_first),
        cmocka_unit_test(a_kernel_without_loops),
        cmocka_unit_test(targets_have_their_cycles_and_counters),
        cmocka_unit_test(products_have_shapes_and_cycles),
        cmocka_unit_test(wave64_has_its_own_operands),
        cmocka_unit_test(accumulation_registers_are_found),
        cmocka_unit_test(bad_code_is_refused),
    };
    return cmocka_run_group_tests(tests, open_object, close_object);
}
