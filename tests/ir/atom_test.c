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

/* The entries of one file. */
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

static void read_layout(const char *name)
{
    char path[512], line[256];
    snprintf(path, sizeof path, "%s/%s.txt", WS_TEST_LAYOUTS, name);
    FILE *file = fopen(path, "re");
    entry_count = 0;
    if (!file) {
        fail_msg("cannot read %s", path);
        return;
    }
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
    fclose(file);
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

/* The file of each atom of a target. */
static const struct {
    const char *arch, *atom, *file;
} layouts[] = {
    {"gfx1151", "wmma_f32_16x16x16_f16", "gfx11_wmma_16x16x16"},
    {"gfx1151", "wmma_f32_16x16x16_bf16", "gfx11_wmma_16x16x16"},
    {"gfx1201", "wmma_f32_16x16x16_f16", "gfx12_wmma_16x16x16"},
    {"gfx1201", "wmma_f32_16x16x16_bf16", "gfx12_wmma_16x16x16"},
    {"gfx942", "mfma_f32_16x16x16_f16", "cdna_mfma_16x16x16"},
    {"gfx942", "mfma_f32_16x16x16_bf16", "cdna_mfma_16x16x16"},
    {"gfx942", "mfma_f32_32x32x8_f16", "cdna_mfma_32x32x8"},
    {"gfx942", "mfma_f32_32x32x8_bf16", "cdna_mfma_32x32x8"},
    {"gfx950", "mfma_f32_16x16x32_f16", "gfx950_mfma_16x16x32"},
    {"gfx950", "mfma_f32_16x16x32_bf16", "gfx950_mfma_16x16x32"},
    {"gfx950", "mfma_f32_32x32x16_f16", "gfx950_mfma_32x32x16"},
    {"gfx950", "mfma_f32_32x32x16_bf16", "gfx950_mfma_32x32x16"},
};

enum { LAYOUT_COUNT = sizeof layouts / sizeof layouts[0] };

static const struct ws_atom *atom_named(const struct ws_target *target, const char *name)
{
    for (const struct ws_atom *const *atom = target->atoms; *atom; atom++) {
        if (strcmp((*atom)->name, name) == 0)
            return *atom;
    }
    return NULL;
}

static bool has_layout(const struct ws_atom *atom)
{
    for (size_t i = 0; i < LAYOUT_COUNT; i++) {
        if (atom_named(ws_target_find(layouts[i].arch), layouts[i].atom) == atom)
            return true;
    }
    return false;
}

static void maps_agree_with_the_vendor(void **state)
{
    (void)state;
    for (size_t i = 0; i < LAYOUT_COUNT; i++) {
        const struct ws_target *target = ws_target_find(layouts[i].arch);
        const struct ws_atom *atom = atom_named(target, layouts[i].atom);
        assert_non_null(atom);
        read_layout(layouts[i].file);
        for (const char *matrix = "ABC"; *matrix; matrix++) {
            assert_int_equal(lines_of(*matrix), target->wave_size * elements_of(atom, *matrix));
            assert_int_equal(contradictions(map_of(atom, *matrix), *matrix), 0);
        }
    }
}

static void every_atom_has_a_layout(void **state)
{
    (void)state;
    for (size_t i = 0; ws_target_at(i); i++) {
        const struct ws_target *target = ws_target_at(i);
        assert_true((target->atoms[0] == NULL) == (target->missing != NULL));
        for (const struct ws_atom *const *atom = target->atoms; *atom; atom++)
            assert_true(has_layout(*atom));
    }
}

static struct ws_coordinate halves_apart(int lane, int element)
{
    return (struct ws_coordinate){.row = 8 * (lane / 16) + element, .column = lane % 16};
}

static struct ws_coordinate transposed(int lane, int element)
{
    return (struct ws_coordinate){.row = element, .column = lane % 16};
}

/* The maps of other families: the comparison must see the difference. */
static void wrong_maps_are_seen(void **state)
{
    (void)state;
    read_layout("gfx11_wmma_16x16x16");
    assert_int_not_equal(contradictions(halves_apart, 'C'), 0);
    assert_int_not_equal(contradictions(transposed, 'A'), 0);
    read_layout("cdna_mfma_16x16x16");
    assert_int_not_equal(contradictions(halves_apart, 'C'), 0);
    read_layout("gfx950_mfma_32x32x16");
    const struct ws_target *target = ws_target_find("gfx942");
    const struct ws_atom *atom = ws_atom_find(target, WS_ELEMENT_F16, 32, 32, 4);
    assert_int_not_equal(contradictions(atom->a, 'A'), 0);
    assert_int_equal(contradictions(atom->c, 'C'), 0);
}

static void atoms_are_found_by_element_and_shape(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        enum ws_element element;
        int m, elements;
        const char *name;
    } rows[] = {
        {"gfx1151", WS_ELEMENT_F16, 16, 16, "wmma_f32_16x16x16_f16"},
        {"gfx1151", WS_ELEMENT_BF16, 16, 16, "wmma_f32_16x16x16_bf16"},
        {"gfx1151", WS_ELEMENT_F16, 16, 8, NULL},
        {"gfx1151", WS_ELEMENT_F16, 32, 16, NULL},
        {"gfx1200", WS_ELEMENT_BF16, 16, 8, "wmma_f32_16x16x16_bf16"},
        {"gfx90a", WS_ELEMENT_F16, 32, 8, "mfma_f32_32x32x8_f16"},
        {"gfx950", WS_ELEMENT_F16, 32, 8, "mfma_f32_32x32x16_f16"},
        {"gfx950", WS_ELEMENT_BF16, 16, 4, "mfma_f32_16x16x16_bf16"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ws_atom *atom = ws_atom_find(ws_target_find(rows[i].arch), rows[i].element,
                                                  rows[i].m, rows[i].m, rows[i].elements);
        if (rows[i].name == NULL)
            assert_null(atom);
        else
            assert_string_equal(atom->name, rows[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_agree_with_the_vendor),
        cmocka_unit_test(every_atom_has_a_layout),
        cmocka_unit_test(wrong_maps_are_seen),
        cmocka_unit_test(atoms_are_found_by_element_and_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
