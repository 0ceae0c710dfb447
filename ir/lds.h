/* Local memory (LDS) of a workgroup, the order of its accesses, and hints to the scheduler.
 *
 * LDS addresses are i32 of each lane. A sum of an address and a constant folds into the instruction
 * if the address does not come from a constant itself. */
#ifndef WS_IR_LDS_H
#define WS_IR_LDS_H

#include "ir/builder.h"

/* An array of the kernel: the address of its first byte, a multiple of `alignment`. In the module
 * it is named after the kernel. */
enum { WS_LDS_ALIGNMENT = 16 }; /* of any access */
struct ws_value *ws_lds_array(struct ws_builder *b, const char *name, int bytes, int alignment);

/* Loads `dwords` i32 (at most 4, a power of two; or 8 as two loads, the second `second_half` bytes
 * behind the first) from address + constant. */
struct ws_value *ws_lds_load(struct ws_builder *b, struct ws_value *address, int constant,
                             int dwords, int alignment);
struct ws_value *ws_lds_load_split(struct ws_builder *b, struct ws_value *address, int constant,
                                   int second_half, int dwords, int alignment);

/* 4 elements of a column of the 4 x 16 block that 16 lanes address, 8 bytes each: lane l the
 * elements from 4 (l % 4) on of row l / 4. On targets with WS_TRANSPOSE_LDS. */
struct ws_value *ws_lds_load_transposed(struct ws_builder *b, struct ws_value *address,
                                        int constant);

/* Loads one 16-bit element into the low or the high half of an i32 whose other half it keeps. */
struct ws_value *ws_lds_load_half(struct ws_builder *b, struct ws_value *address, int constant,
                                  struct ws_value *pair, bool high);

/* Loads that write to LDS themselves. Before the first access of LDS: says that there will be some,
 * and that what they write is not read before ws_lds_await and a barrier. Then: each lane loads 16
 * bytes from lane_offset + scalar_offset (or NULL) of a buffer view, and lane l's go to address +
 * 16 l; the address is the same in all lanes. Last: waits for them. */
struct ws_view;
void ws_lds_use_dma(struct ws_builder *b);
void ws_lds_dma(struct ws_builder *b, const struct ws_view *view, struct ws_value *lane_offset,
                struct ws_value *scalar_offset, struct ws_value *address);
void ws_lds_await(struct ws_builder *b);

/* Stores a packed vector; or the low or high half of an i32. */
void ws_lds_store(struct ws_builder *b, struct ws_value *address, int constant,
                  struct ws_value *value, int alignment);
void ws_lds_store_half(struct ws_builder *b, struct ws_value *address, int constant,
                       struct ws_value *pair, bool high);

/* All waves of the workgroup meet here, and what any stored to LDS before, all see after. Every
 * wave must come. Memory other than LDS is not ordered. */
void ws_workgroup_barrier(struct ws_builder *b);

/* Waits for the wave's own accesses of LDS. A barrier implies it where they stand in the same
 * block; where some stand in a branch before, the compiler may leave the wait out. */
void ws_lds_settle(struct ws_builder *b);

/* The meeting alone: nothing is ordered. */
void ws_workgroup_meet(struct ws_builder *b);

/* What a lane stored to LDS before, the other lanes of its wave see after. */
void ws_wave_fence(struct ws_builder *b);

/* Kinds of instructions for ws_schedule_group. */
enum ws_schedule_kind {
    WS_SCHEDULE_VALU = 0x002,
    WS_SCHEDULE_MATRIX = 0x008,
    WS_SCHEDULE_LDS_LOAD = 0x100,
};

/* The scheduler puts `count` instructions of a kind next. Calls of one `pipeline` make a sequence
 * of such groups, over what stands before them in the block. */
void ws_schedule_group(struct ws_builder *b, enum ws_schedule_kind kind, int count, int pipeline);

/* Priority of the wave among those of its SIMD, 0 to 3. */
void ws_set_priority(struct ws_builder *b, int priority);

#endif
