/* What the tests of mutants share: a defect has to be noticed at every problem that it affects, and
 * every defect has to affect some. */
#ifndef VERIFY_TEST_TALLY_H
#define VERIFY_TEST_TALLY_H

#include "tests/verify/kernels.h"

struct tally {
    struct ws_tool_device device;
    uint64_t seed;
    bool expected[WS_MUTANT_COUNT]; /* a defect of this test's kernels */
    int affected[WS_MUTANT_COUNT];
    int survived;
};

/* The name of a mutant in gen/mutants.def. */
const char *mutant_name(int mutant);

/* Runs a kernel with a mutant at a problem that it affects, or the sound one (WS_MUTANT_NONE), and
 * says where the verdict is not what it should be. */
void tally_check(struct tally *tally, int mutant, const struct ws_compiled *compiled,
                 const struct ws_spec *spec, const struct ws_problem *problem, const char *kernel,
                 const char *shape);

/* The program of such a test. `check` says which mutants are expected and runs the kernels; then it
 * is asserted that every expected mutant affected something and that none survived. */
int tally_main(void (*check)(struct tally *tally));

#endif
