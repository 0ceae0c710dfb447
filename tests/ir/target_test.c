/* The target rows, and the occupancy that follows from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/target.h"

static void names_are_found(void **state)
{
    (void)state;
    size_t count = 0;
    for (; ws_target_at(count); count++)
        assert_ptr_equal(ws_target_find(ws_target_at(count)->name), ws_target_at(count));
    assert_int_equal(count, 14);
    assert_null(ws_target_find("gfx1036"));
    assert_null(ws_target_find(""));
}

/* Waves a SIMD as LLVM 22 prints them ("Occupancy") for kernels with that many VGPRs. */
static void occupancy_is_llvms(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        int vgprs, waves;
    } rows[] = {
        {"gfx1151", 1, 16},   {"gfx1151", 96, 16}, {"gfx1151", 97, 12}, {"gfx1151", 128, 10},
        {"gfx1151", 144, 10}, {"gfx1151", 192, 8}, {"gfx1151", 240, 6}, {"gfx1151", 241, 5},
        {"gfx1151", 256, 5},  {"gfx1100", 240, 6}, {"gfx1102", 64, 16}, {"gfx1102", 65, 12},
        {"gfx1102", 128, 8},  {"gfx1150", 256, 4}, {"gfx1103", 240, 4}, {"gfx1153", 144, 7},
        {"gfx1152", 0, 16},   {"gfx1201", 240, 6}, {"gfx1200", 256, 5}, {"gfx942", 128, 4},
        {"gfx942", 129, 3},   {"gfx90a", 256, 2},  {"gfx950", 512, 1},  {"gfx950", 24, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(ws_target_occupancy(ws_target_find(rows[i].arch), rows[i].vgprs),
                         rows[i].waves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(occupancy_is_llvms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
