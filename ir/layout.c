#include "ir/layout.h"

enum { BITS_MAX = 6 };

/* The sum of the weights of the bits that are set. Neighbouring bits whose weights double are taken
 * together. */
static struct ws_value *sum_of_bits(struct ws_builder *b, struct ws_value *lane,
                                    const int weight[BITS_MAX], int bits)
{
    struct ws_value *sum = ws_i32(b, 0);
    for (int i = 0; i < bits; i++) {
        int last = i;
        while (last + 1 < bits && weight[last + 1] == 2 * weight[last])
            last++;
        if (weight[i] != 0) {
            const uint32_t mask = (1U << (last - i + 1)) - 1;
            struct ws_value *part = ws_and(b, ws_shift_right(b, lane, i), ws_i32(b, mask));
            sum = ws_add(b, sum, ws_mul(b, part, ws_i32(b, (uint32_t)weight[i])));
        }
        i = last;
    }
    return sum;
}

static struct ws_value *coordinate(struct ws_builder *b, ws_lane_map *map, struct ws_value *lane,
                                   bool is_row)
{
    int weight[BITS_MAX], bits = 0;
    for (; 1 << bits < b->target->wave_size; bits++) {
        const struct ws_coordinate place = map(1 << bits, 0);
        weight[bits] = is_row ? place.row : place.column;
    }
    return sum_of_bits(b, lane, weight, bits);
}

struct ws_value *ws_layout_row(struct ws_builder *b, ws_lane_map *map, struct ws_value *lane)
{
    return coordinate(b, map, lane, true);
}

struct ws_value *ws_layout_column(struct ws_builder *b, ws_lane_map *map, struct ws_value *lane)
{
    return coordinate(b, map, lane, false);
}
