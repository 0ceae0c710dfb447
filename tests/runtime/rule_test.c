/* Rules: one text each, values beside a second calculation, refusals; the words of choices. */
#include "runtime/abi/choices.h"
#include "runtime/abi/rule.h"
#include "tests/random.h"

static const int64_t sizes[WS_SIZE_COUNT] = {
    [WS_SIZE_B] = 2,    [WS_SIZE_Hq] = 8,    [WS_SIZE_Hk] = 3,   [WS_SIZE_Sq] = 300,
    [WS_SIZE_Sk] = 500, [WS_SIZE_Dqk] = 128, [WS_SIZE_Dv] = 64,  [WS_SIZE_M] = 7,
    [WS_SIZE_N] = 11,   [WS_SIZE_K] = 13,    [WS_SIZE_Tq] = 600, [WS_SIZE_Tk] = 1000,
};

static void known_rules_have_known_values(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {
        {"v1 1", 1},
        {"v1 4294967295", 4294967295},
        {"v1 ceil(Sq/128)*Hq*B", 3 * 8 * 2},
        {"v1 ceil(Sk/128)*Hk*B + ceil(Sq/64)*Hq*B", 4 * 3 * 2 + 5 * 8 * 2},
        {"v1 4*B*Hq*Sq", 4 * 2 * 8 * 300},
        {"v1 256*Hq*ceil(3*Sq*Hk/1000)", 256 * 8 * 3},
        {"v1 ceil(Sq/1) + ceil(Sq/300) + ceil(Sq/299) + ceil(Sq/301)", 300 + 1 + 2 + 1},
        {"v1 M*N*K + Tq + 2*Tk + Dqk*Dv", 7 * 11 * 13 + 600 + 2000 + 128 * 64},
        {"v1 ceil(M*N*K*B/4294967295)", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_rule rule;
        struct ws_error error;
        char text[WS_RULE_TEXT_SIZE];
        uint64_t value = 0;
        assert_ok(ws_rule_parse(&rule, cases[i].text, &error), &error);
        ws_rule_text(&rule, text);
        assert_string_equal(text, cases[i].text);
        assert_ok(ws_rule_value(&rule, sizes, &value, &error), &error);
        assert_int_equal(value, cases[i].value);
    }
}

__extension__ typedef unsigned __int128 wide;

/* A rule drawn at random: its text, and its value computed on the way. */
struct drawn {
    char text[1024];
    wide value;
};

static void add(struct drawn *drawn, const char *text)
{
    snprintf(drawn->text + strlen(drawn->text), sizeof drawn->text - strlen(drawn->text), "%s",
             text);
}

static uint32_t add_number(struct drawn *drawn, uint64_t *random, uint32_t least)
{
    const uint32_t mask = UINT32_MAX >> next_random(random) % 32;
    uint32_t number = (uint32_t)next_random(random) & mask;
    char text[16];
    number = number < least ? least : number;
    snprintf(text, sizeof text, "%u", number);
    add(drawn, text);
    return number;
}

static uint64_t add_size(struct drawn *drawn, uint64_t *random)
{
    const enum ws_size size = (enum ws_size)(next_random(random) % WS_SIZE_COUNT);
    add(drawn, ws_size_name(size));
    return (uint64_t)sizes[size];
}

static wide add_quotient(struct drawn *drawn, uint64_t *random)
{
    wide product = 1;
    const uint64_t count = 1 + next_random(random) % 3;
    add(drawn, "ceil(");
    if (next_random(random) % 2 == 0) {
        product = add_number(drawn, random, 2);
        add(drawn, "*");
    }
    for (uint64_t i = 0; i < count; i++) {
        add(drawn, i > 0 ? "*" : "");
        product *= add_size(drawn, random);
    }
    add(drawn, "/");
    const uint32_t divisor = add_number(drawn, random, 1);
    add(drawn, ")");
    return (product + divisor - 1) / divisor;
}

static void draw_rule(struct drawn *drawn, uint64_t *random)
{
    const uint64_t terms = 1 + next_random(random) % 3;
    *drawn = (struct drawn){.text = "v1 "};
    for (uint64_t t = 0; t < terms; t++) {
        wide product = 1;
        const uint64_t factors = 1 + next_random(random) % 3;
        add(drawn, t > 0 ? " + " : "");
        for (uint64_t f = 0; f < factors; f++) {
            const uint64_t kind = next_random(random) % 3;
            add(drawn, f > 0 ? "*" : "");
            product *= kind == 0 && f == 0 ? add_number(drawn, random, factors > 1 ? 2 : 1)
                       : kind == 1         ? add_quotient(drawn, random)
                                           : add_size(drawn, random);
        }
        drawn->value += product;
    }
}

static void random_rules_have_their_values(void **state)
{
    enum { ROUNDS = 20000 };
    uint64_t random = test_seed();
    size_t too_large = 0, too_long = 0;
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct drawn drawn;
        struct ws_rule rule;
        struct ws_error error = {0};
        char text[WS_RULE_TEXT_SIZE];
        uint64_t value = 0;
        draw_rule(&drawn, &random);
        if (strlen(drawn.text) >= WS_RULE_TEXT_SIZE) {
            assert_int_equal(ws_rule_parse(&rule, drawn.text, &error), WS_ERROR_ARGUMENT);
            too_long++;
            continue;
        }
        assert_ok(ws_rule_parse(&rule, drawn.text, &error), &error);
        ws_rule_text(&rule, text);
        assert_string_equal(text, drawn.text);
        if (ws_rule_value(&rule, sizes, &value, &error) != WS_OK) {
            assert_says(&error, "2^64 or more");
            too_large++;
        } else if (value != drawn.value) {
            fail_msg("%s is %llu", drawn.text, (unsigned long long)value);
        }
        /* No size is 0, so that a partial product is never above the whole. */
        assert_int_equal(drawn.value > UINT64_MAX, error.code == WS_ERROR_ARGUMENT);
    }
    print_message("%zu rules too large, %zu too long, of %d\n", too_large, too_long, ROUNDS);
    assert_true(too_large > 0 && too_large < ROUNDS / 2);
}

static const char *const no_rules[] = {
    "",
    "v1",
    "v1 ",
    "v2 Sq",
    "V1 Sq",
    " v1 Sq",
    "v1  Sq",
    "v1 Sq ",
    "v1 Sq\n",
    "Sq",
    "v1 sq",
    "v1 S",
    "v1 Sqq",
    "v1 Sq Hq",
    "v1 Sq*",
    "v1 *Sq",
    "v1 Sq * Hq",
    "v1 Sq+Hq",
    "v1 Sq +  Hq",
    "v1 Sq + ",
    "v1 Sq - Hq",
    "v1 0",
    "v1 01",
    "v1 007*Sq",
    "v1 1*Sq",
    "v1 -1",
    "v1 +1",
    "v1 1.5",
    "v1 0x10",
    "v1 4294967296",
    "v1 99999999999999999999999*Sq",
    "v1 Sq*2",
    "v1 2*3",
    "v1 2*3*Sq",
    "v1 ceil(Sq)",
    "v1 ceil(Sq/0)",
    "v1 ceil(Sq/064)",
    "v1 ceil(/64)",
    "v1 ceil(Sq/Hq)",
    "v1 ceil(1*Sq/64)",
    "v1 ceil(Sq*2/64)",
    "v1 ceil(2/64)",
    "v1 ceil(2*3*Sq/64)",
    "v1 ceil(Sq/64",
    "v1 ceil(Sq/64))",
    "v1 ceil (Sq/64)",
    "v1 Sq/64",
    "v1 ceil(ceil(Sq/2)/64)",
    "v1 (Sq)",
    "v1 floor(Sq/64)",
    "v1 ceil(B*Hq*Hk*Sq*Sk/2)",
    "v1 B*B*B*B*B*B*B",
    "v1 B + B + B + B + B",
    "v1 Sq\xff",
    "v1 Sq;",
};

static void other_texts_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof no_rules / sizeof *no_rules; i++) {
        struct ws_rule rule;
        struct ws_error error = {0};
        if (ws_rule_parse(&rule, no_rules[i], &error) == WS_OK)
            fail_msg("takes '%s'", no_rules[i]);
        assert_int_equal(error.code, WS_ERROR_ARGUMENT);
        assert_int_equal(rule.term_count, 0);
        assert_says(&error, "there should be ");
    }
    struct ws_rule rule;
    struct ws_error error;
    ws_rule_parse(&rule, "v1 ceil(Sq/0)*Hq", &error);
    assert_says(&error, "goes wrong at character 12, '0)*Hq'; there should be a number from 1 on");
}

static void what_has_no_value_says_why(void **state)
{
    int64_t changed[WS_SIZE_COUNT];
    struct ws_rule rule;
    struct ws_error error;
    uint64_t value = 42;
    (void)state;
    memcpy(changed, sizes, sizeof changed);
    changed[WS_SIZE_Sq] = -1;
    assert_ok(ws_rule_parse(&rule, "v1 Sk + Sq*Hq", &error), &error);
    assert_int_equal(ws_rule_value(&rule, changed, &value, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "Sq is -1 in the rule 'v1 Sk + Sq*Hq'");
    assert_int_equal(value, 42);
    changed[WS_SIZE_Sq] = 0;
    assert_ok(ws_rule_value(&rule, changed, &value, &error), &error);
    assert_int_equal(value, 500);

    /* Up to 2^64 - 1 and no further, by sums and by products. */
    changed[WS_SIZE_Sq] = INT64_MAX;
    changed[WS_SIZE_Sk] = 2;
    changed[WS_SIZE_B] = 1;
    assert_ok(ws_rule_parse(&rule, "v1 Sq*Sk + B", &error), &error);
    assert_ok(ws_rule_value(&rule, changed, &value, &error), &error);
    assert_true(value == UINT64_MAX);
    changed[WS_SIZE_B] = 2;
    assert_int_equal(ws_rule_value(&rule, changed, &value, &error), WS_ERROR_ARGUMENT);
    changed[WS_SIZE_Sk] = 3;
    assert_int_equal(ws_rule_value(&rule, changed, &value, &error), WS_ERROR_ARGUMENT);
    assert_says(&error, "2^64 or more");
}

static void no_rule_is_no_text(void **state)
{
    const struct ws_rule none = {0};
    char text[WS_RULE_TEXT_SIZE] = "x";
    uint64_t value = 42;
    (void)state;
    ws_rule_text(&none, text);
    assert_string_equal(text, "");
    assert_int_equal(ws_rule_value(&none, sizes, &value, NULL), WS_OK);
    assert_int_equal(value, 0);
    assert_null(ws_size_name(WS_SIZE_COUNT));
}

static void choices_have_words(void **state)
{
    (void)state;
    for (int choice = 0; choice < WS_CHOICE_COUNT; choice++) {
        int count = 0;
        while (ws_choice_word((enum ws_choice)choice, count)) {
            const char *word = ws_choice_word((enum ws_choice)choice, count);
            assert_int_equal(ws_choice_value((enum ws_choice)choice, word), count);
            count++;
        }
        assert_true(count >= 2);
        assert_null(ws_choice_word((enum ws_choice)choice, -1));
        assert_null(ws_choice_word((enum ws_choice)choice, 1000));
        assert_int_equal(ws_choice_value((enum ws_choice)choice, "none of these"), -1);
        assert_int_equal(ws_choice_value((enum ws_choice)choice, ""), -1);
    }
    assert_string_equal(ws_choice_word(WS_CHOICE_align, WS_ALIGN_TOP_LEFT), "top_left");
    assert_int_equal(ws_choice_value(WS_CHOICE_mask, "window"), WS_MASK_WINDOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_rules_have_known_values),
        cmocka_unit_test(random_rules_have_their_values),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(what_has_no_value_says_why),
        cmocka_unit_test(no_rule_is_no_text),
        cmocka_unit_test(choices_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
