/* Lane maps (ir/atom.h) as code: where a lane's elements lie.
 *
 * Every map is linear in the bits of the lane and of the element: its row and its column are sums
 * of what each bit contributes. So element e of a lane lies at what the lane says (of element 0)
 * plus what the element says (of lane 0), and that sum is taken at run time and here. */
#ifndef WS_IR_LAYOUT_H
#define WS_IR_LAYOUT_H

#include "ir/builder.h"

/* Row and column of element 0 of a lane, an i32 below the wave size. */
struct ws_value *ws_layout_row(struct ws_builder *b, ws_lane_map *map, struct ws_value *lane);
struct ws_value *ws_layout_column(struct ws_builder *b, ws_lane_map *map, struct ws_value *lane);

#endif
