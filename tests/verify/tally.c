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

static void finish(const struct tally *tally)
{
    for (int mutant = 0; mutant < WS_MUTANT_COUNT; ++mutant) {
        if (!tally->expected[mutant])
            continue;
        print_message("%-18s affects %d problems\n", mutant_name(mutant), tally->affected[mutant]);
        assert_true(tally->affected[mutant] > 0);
    }
    assert_int_equal(tally->survived, 0);
}

static void (*checked)(struct tally *tally);

static void every_mutant_is_noticed(void **state)
{
    struct tally tally = {.seed = *(uint64_t *)*state};
    open_emulator(&tally.device);
    checked(&tally);
    ws_tool_device_close(&tally.device);
    finish(&tally);
}

int tally_main(void (*check)(struct tally *tally))
{
    static uint64_t seed;
    seed = test_seed();
    checked = check;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_mutant_is_noticed, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
