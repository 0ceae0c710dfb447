/* What may be in flight where in a kernel: loads whose registers nobody may touch yet, and accesses
 * of LDS that a barrier must not meet. Found in the code, over all ways through it, without running
 * it: what no way needs is not needed, but a way may be one that no wave takes. */
#ifndef VERIFY_TEST_FLIGHT_H
#define VERIFY_TEST_FLIGHT_H

#include "tools/wavesmith/isa/isa.h"

struct flight;

/* Of a kernel for a target; `isa` must outlive it. NULL without memory. */
struct flight *flight_create(const struct ws_isa *isa, const char *arch);
void flight_free(struct flight *flight);

/* Whether an instruction is one of those that wait for memory. */
bool flight_is_wait(const struct ws_instruction *instruction);

enum { FLIGHT_NOTHING = -1 };

/* An instruction that touches a register which an operation in flight is going to write, or that is
 * a barrier with accesses of LDS in flight, on some way through the code; FLIGHT_NOTHING if there
 * is none. `removed`: an instruction that counts as absent, or FLIGHT_NOTHING. */
int flight_find(struct flight *flight, int removed);

/* A way from an operation to an instruction that flight_find has found, on which it stays in
 * flight: which successor of each block is next; FLIGHT_NOTHING where the way does not come by.
 * `number`: of the ways, the one to give; false if there are not so many, or not among those that
 * are tried. */
bool flight_way(const struct flight *flight, int removed, int found, int number, signed char *next);

#endif
