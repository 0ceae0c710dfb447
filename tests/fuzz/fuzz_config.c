/* YAML configs: a config with points, or one error with its place. */
#include "gen/wavesmith.h"
#include "tests/fuzz/fuzz.h"

static bool is_no_text(const uint8_t *data, size_t size)
{
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf};
    if (size >= sizeof mark && memcmp(data, mark, sizeof mark) == 0) {
        data += sizeof mark;
        size -= sizeof mark;
    }
    return size > 256 << 10 || (size >= 4 && memcmp(data, "\177ELF", 4) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_config config;
    struct ws_error error = {0};
    if (ws_config_parse(&config, (const char *)data, size, "fuzz.yaml", NULL, &error) == WS_OK) {
        promise(config.count > 0, "a config has points");
        for (size_t i = 0; i < config.count; i++)
            ws_config_point_error(&config, i, &error);
        ws_config_free(&config);
        return 0;
    }
    promise(config.points == NULL && config.count == 0, "a failure leaves nothing");
    promise(error.message[0] != '\0', "an error has a message");
    promise(error.code != WS_ERROR_CONFIG || (error.line >= 1 && error.column >= 1) ||
                is_no_text(data, size),
            "an error has a place");
    return 0;
}
