/* Rows in LDS: that pieces stay in their row, and that a wave's accesses meet no bank twice. */
#include "gen/lds_row.h"
#include "tests/gen/support.h"
#include "tests/settings.h"

enum { BANKS_BYTES = 128, SIDE = 8, ROWS = 32, PIECES_MAX = 64 };

/* Where a piece of a row lies. */
static int place_of(const struct ws_spec *spec, int row_bytes, int row, int piece)
{
    return row * row_bytes + (piece * WS_LDS_PIECE ^ ws_lds_row_turn(spec, row_bytes, row));
}

/* The most rows of 8, from `first` on, of which the same piece lies in the same banks. */
static int most_in_banks(const struct ws_spec *spec, int row_bytes, int first, int piece)
{
    int count[BANKS_BYTES / WS_LDS_PIECE] = {0}, most = 0;
    for (int row = first; row < first + SIDE; row++) {
        const int bank = place_of(spec, row_bytes, row, piece) % BANKS_BYTES / WS_LDS_PIECE;
        count[bank]++;
        most = count[bank] > most ? count[bank] : most;
    }
    return most;
}

static void swizzled_rows_meet_no_bank_twice(void **state)
{
    struct ws_spec spec = spec_with(WS_KERNEL_FMHA_BWD, "lds_layout=swizzled");
    (void)state;
    for (int pieces = 1; pieces <= PIECES_MAX; pieces++)
        for (int first = 0; first < ROWS; first += SIDE)
            for (int piece = 0; piece < pieces; piece++)
                assert_int_equal(most_in_banks(&spec, pieces * WS_LDS_PIECE, first, piece), 1);
}

/* The control: unswizzled rows of a power of two meet as often as they can. */
static void plain_rows_do(void **state)
{
    struct ws_spec spec = spec_with(WS_KERNEL_FMHA_BWD, "lds_layout=plain");
    (void)state;
    assert_int_equal(most_in_banks(&spec, BANKS_BYTES, 0, 0), SIDE);
    assert_int_equal(most_in_banks(&spec, BANKS_BYTES / 2, 0, 0), SIDE / 2);
    assert_int_equal(most_in_banks(&spec, BANKS_BYTES + WS_LDS_PIECE, 0, 0), 1);
}

static void pieces_are_permuted_in_their_row(void **state)
{
    struct ws_spec spec = spec_with(WS_KERNEL_FMHA_BWD, "lds_layout=swizzled");
    (void)state;
    for (int pieces = 1; pieces <= PIECES_MAX; pieces++)
        for (int row = 0; row < ROWS; row++) {
            bool is_taken[PIECES_MAX] = {false};
            for (int piece = 0; piece < pieces; piece++) {
                const int row_bytes = pieces * WS_LDS_PIECE;
                const int in_row = place_of(&spec, row_bytes, row, piece) - row * row_bytes;
                assert_in_range(in_row, 0, row_bytes - 1);
                assert_false(is_taken[in_row / WS_LDS_PIECE]);
                is_taken[in_row / WS_LDS_PIECE] = true;
            }
        }
}

/* What makes a step from row to row a constant: rows that share no bit turn independently. */
static void turns_add_up(void **state)
{
    struct ws_spec spec = spec_with(WS_KERNEL_FMHA_BWD, "lds_layout=swizzled");
    (void)state;
    for (int pieces = 1; pieces <= PIECES_MAX; pieces++)
        for (int row = 0; row < ROWS; row++)
            for (int more = 0; more < ROWS; more++) {
                const int bytes = pieces * WS_LDS_PIECE;
                if (row & more)
                    continue;
                assert_int_equal(ws_lds_row_turn(&spec, bytes, row + more),
                                 ws_lds_row_turn(&spec, bytes, row) ^
                                     ws_lds_row_turn(&spec, bytes, more));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swizzled_rows_meet_no_bank_twice),
        cmocka_unit_test(plain_rows_do),
        cmocka_unit_test(pieces_are_permuted_in_their_row),
        cmocka_unit_test(turns_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
