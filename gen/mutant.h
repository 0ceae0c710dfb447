/* Deliberate defects of generated kernels, for tests that must see them fail. A build without
 * WS_MUTANTS has only WS_MUTANT_NONE, and the generator's questions fold to false. */
#ifndef WS_GEN_MUTANT_H
#define WS_GEN_MUTANT_H

#include <stdbool.h>

enum ws_mutant {
    WS_MUTANT_NONE,
#ifdef WS_MUTANTS
#define MUTANT(name, kinds, text) WS_MUTANT_##name,
#include "gen/mutants.def"
#undef MUTANT
#endif
    WS_MUTANT_COUNT
};

#ifdef WS_MUTANTS
#define ws_is_mutant(mutant, name) ((mutant) == WS_MUTANT_##name)
#else
#define ws_is_mutant(mutant, name) ((void)(mutant), false)
#endif

#endif
