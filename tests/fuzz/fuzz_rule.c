/* Rules: what is read has one form, and that form reads back the same. */
#include "runtime/abi/rule.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t sizes[WS_SIZE_COUNT] = {2, 3, 1, INT64_MAX, 65535, 1 << 30, 0, 7};
    struct ws_rule rule, again;
    struct ws_error error = {0};
    char written[WS_RULE_TEXT_SIZE];
    uint64_t value = 0;
    char *text = calloc(1, size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    if (ws_rule_parse(&rule, text, &error) == WS_OK) {
        ws_rule_text(&rule, written);
        promise(strcmp(written, text) == 0, "a rule has one form");
        promise(ws_rule_parse(&again, written, NULL) == WS_OK, "a rule's text is a rule");
        ws_rule_text(&again, written);
        promise(strcmp(written, text) == 0, "a rule's text is that rule");
        ws_rule_value(&rule, sizes, &value, NULL);
    } else {
        promise(rule.term_count == 0, "a failure leaves nothing");
        promise(error.message[0] != '\0', "an error has a message");
    }
    free(text);
    return 0;
}
