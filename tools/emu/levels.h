/* The op tables of the best x86-64 level that this CPU has. */
#ifndef WS_EMU_LEVELS_H
#define WS_EMU_LEVELS_H

#include "tools/emu/op.h"

#include <stddef.h>

/* The row of a mnemonic without encoding suffix, by its own name or one of ops_alias.def, or NULL.
 * Thread-safe. */
const struct emu_desc *emu_find_desc(const char *name);

/* Names of rows and their other names in alphabetical order; NULL past the last. */
const char *emu_name_at(size_t index, const struct emu_desc **desc);

/* The run function of VOPD instructions. */
emu_run *emu_vopd_run(void);

/* The level in use: "x86-64-v4", "x86-64-v3" or "base". */
const char *emu_level_name(void);

#endif
