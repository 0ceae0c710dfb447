#include "tests/verify/tally.h"

const char *mutant_name(int mutant)
{
    static const char *const names[WS_MUTANT_COUNT] = {
#define MUTANT(name, kinds, text) [WS_MUTANT_##name] = #name,
#include "gen/mutants.def"
#undef MUTANT
    };
    return names[mutant];
}

void tally_check(struct tally *tally, int mutant, const struct ws_compiled *compiled,
                 const struct ws_spec *spec, const struct ws_problem *problem, const char *kernel,
                 const char *shape)
{
    char reason[256];
    const bool sound = mutant == WS_MUTANT_NONE;
    tally->affected[mutant]++;
    bool pass = passes(&tally->device, compiled, spec, problem, reason);
    if (pass == sound)
        return;
    tally->survived++;
    print_error("%s %s at %s: %s\n", kernel, sound ? "without a defect" : mutant_name(mutant),
                shape, pass ? "not noticed" : reason);
}

void tally_finish(const struct tally *tally)
{
    for (int mutant = 0; mutant < WS_MUTANT_COUNT; ++mutant) {
        if (!tally->expected[mutant])
            continue;
        print_message("%-18s affects %d problems\n", mutant_name(mutant), tally->affected[mutant]);
        assert_true(tally->affected[mutant] > 0);
    }
    assert_int_equal(tally->survived, 0);
}
