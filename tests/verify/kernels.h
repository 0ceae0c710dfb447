/* What the tests of whole kernels share: presets, problems by text, runs on the emulator. Include
 * cmocka's headers through this one. */
#ifndef VERIFY_TEST_KERNELS_H
#define VERIFY_TEST_KERNELS_H

#include "gen/kernel.h"
#include "tests/settings.h"
#include "tests/tools/support.h"
#include "tools/wavesmith/figures.h"
#include "tools/wavesmith/trial.h"

struct mask_row {
    const char *name;
    enum ws_mask mask;
    enum ws_align align;
};
enum { MASK_ROWS = 3 };
extern const struct mask_row mask_rows[MASK_ROWS];

/* The spec of a preset's only point, with a mask, and a head dim where the preset leaves it open.
 */
struct ws_spec load_preset(const char *preset, int head_dim, const struct mask_row *mask);

/* A backward at head dims of 64 in the shape that was measured first: 8 waves, blocks of 128 keys,
 * 32 queries an iteration. */
struct ws_spec backward_spec(const struct mask_row *mask);

/* A problem for a spec from the text of --shape. */
struct ws_problem make_problem(const struct ws_spec *spec, const char *shape, uint64_t seed);

/* Of packed sequences not all keys are in use, and of each a smaller part than of the one before.
 */
void use_part(struct ws_problem *problem);

/* Opens the emulator for gfx1151. */
void open_emulator(struct ws_tool_device *device);

/* Score tiles (gemm: 16x16x16 products) of one round of a loop; head dims without padding. */
double count_tiles(const struct ws_isa_loop *loop, const struct ws_spec *spec);

/* Executed wave-instructions a score tile of a kernel that passes, strict. */
double count_executed(struct ws_tool_device *device, const struct ws_compiled *compiled,
                      const struct ws_spec *spec, const struct ws_problem *problem);

/* Runs a kernel on a problem, strict, every workgroup; true if it passes. What was wrong goes to
 * `reason` (256 bytes) unless that is NULL. */
bool passes(struct ws_tool_device *device, const struct ws_compiled *compiled,
            const struct ws_spec *spec, const struct ws_problem *problem, char *reason);

#endif
