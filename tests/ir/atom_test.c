/* The lane maps of the atoms against the vendor's layouts (tests/data/layouts). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/atom.h"
#include "ir/target.h"

enum { LINES_MAX = 4096 };

/* One line of a layout file. */
struct entry {
    char matrix; /* A, B, or C for the accumulator */
    int lane, element;
    struct ws_coordinate place;
};

static struct entry entries[LINES_MAX];
static int entry_count;

/* The next number of a line; there must be one. */
static int next_number(char **rest)
{
    char *end;
    long number = strtol(*rest, &end, 10);
    assert_ptr_not_equal(end, *rest);
    *rest = end;
    return (int)number;
}

static int read_layout(void **state)
{
    (void)state;
    FILE *file = fopen(WS_TEST_LAYOUTS "/gfx11_wmma_16x16x16.txt", "re");
    char line[256];
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file)) {
        struct entry *e = &entries[entry_count];
        char *rest = strchr(line, ' ');
        if (line[0] == '#')
            continue;
        assert_non_null(rest);
        e->matrix = line[0];
        e->lane = next_number(&rest);
        e->element = next_number(&rest);
        e->place.row = next_number(&rest);
        e->place.column = next_number(&rest);
        assert_in_range(++entry_count, 1, LINES_MAX - 1);
    }
    return fclose(file);
}

static ws_lane_map *map_of(const struct ws_atom *atom, char matrix)
{
    return matrix == 'A' ? atom->a : matrix == 'B' ? atom->b : atom->c;
}

static int elements_of(const struct ws_atom *atom, char matrix)
{
    return matrix == 'A' ? atom->a_elements : matrix == 'B' ? atom->b_elements : atom->c_elements;
}

/* How many lines of the file a map contradicts. */
static int contradictions(ws_lane_map *map, char matrix)
{
    int wrong = 0;
    for (int i = 0; i < entry_count; i++) {
        const struct entry *e = &entries[i];
        if (e->matrix != matrix)
            continue;
        struct ws_coordinate place = map(e->lane, e->element);
        wrong += place.row != e->place.row || place.column != e->place.column;
    }
    return wrong;
}

static int lines_of(char matrix)
{
    int count = 0;
    for (int i = 0; i < entry_count; i++)
        count += entries[i].matrix == matrix;
    return count;
}

static void maps_agree_with_the_vendor(void **state)
{
    (void)state;
    const struct ws_target *target = ws_target_find("gfx1151");
    int atoms = 0;
    for (const struct ws_atom *const *atom = target->atoms; *atom; atom++, atoms++) {
        for (const char *matrix = "ABC"; *matrix; matrix++) {
            assert_int_equal(lines_of(*matrix), target->wave_size * elements_of(*atom, *matrix));
            assert_int_equal(contradictions(map_of(*atom, *matrix), *matrix), 0);
        }
    }
    assert_int_equal(atoms, 2);
}

/* The maps that gfx12 would have, and a transposed one: the comparison must see the difference. */
static struct ws_coordinate halves_apart(int lane, int element)
{
    return (struct ws_coordinate){.row = 8 * (lane / 16) + element, .column = lane % 16};
}

static struct ws_coordinate transposed(int lane, int element)
{
    return (struct ws_coordinate){.row = element, .column = lane % 16};
}

static void wrong_maps_are_seen(void **state)
{
    (void)state;
    assert_int_not_equal(contradictions(halves_apart, 'C'), 0);
    assert_int_not_equal(contradictions(transposed, 'A'), 0);
}

static void atoms_are_found_by_element_and_shape(void **state)
{
    (void)state;
    for (size_t i = 0; ws_target_at(i); i++) {
        const struct ws_target *target = ws_target_at(i);
        assert_string_equal(ws_atom_find(target, WS_ELEMENT_F16, 16, 16)->name,
                            "wmma_f32_16x16x16_f16");
        assert_string_equal(ws_atom_find(target, WS_ELEMENT_BF16, 16, 16)->name,
                            "wmma_f32_16x16x16_bf16");
        assert_null(ws_atom_find(target, WS_ELEMENT_F16, 32, 32));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_agree_with_the_vendor),
        cmocka_unit_test(wrong_maps_are_seen),
        cmocka_unit_test(atoms_are_found_by_element_and_shape),
    };
    return cmocka_run_group_tests(tests, read_layout, NULL);
}
