/* consumer CONFIG EMULATOR: both libraries in one program, compiled as C17 and as C++17. Compiles
 * the points of a config; the runtime opens the emulator. A program of other headers is refused. */
#include <gen/wavesmith.h>
#include <runtime/wavesmith_rt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check(const struct ws_compiled *compiled, struct ws_error *error)
{
    struct ws_object object;
    memset(&object, 0, sizeof object);
    enum ws_status status =
        ws_object_read(&object, compiled->code.bytes, compiled->code.size, error);
    int found = status == WS_OK && ws_object_find(&object, compiled->shape.symbol) != NULL;
    ws_object_free(&object);
    return found;
}

static int compile(const struct ws_spec *spec, struct ws_error *error)
{
    struct ws_compiled compiled;
    memset(&compiled, 0, sizeof compiled);
    char *text = NULL;
    int good = ws_emit_text(spec, &text, error) == WS_OK && text[0] != '\0';
    free(text);
    good = good && ws_compile(spec, NULL, &compiled, error) == WS_OK;
    good = good && check(&compiled, error);
    if (good)
        printf("%s: %zu bytes by %s %s\n", compiled.shape.symbol, compiled.code.size,
               compiled.code.backend, compiled.code.backend_version);
    ws_compiled_free(&compiled);
    return good;
}

static int open_driver(const char *path, struct ws_error *error)
{
    struct ws_driver *driver;
    if (ws_driver_open(&driver, path, error) != WS_OK)
        return 0;
    int emulated = ws_driver_is_emulator(driver);
    ws_driver_close(driver);
    return emulated;
}

/* Whether both libraries take the program for what it is, and no other. */
static int check_versions(struct ws_error *error)
{
    if (WS_CHECK_VERSION(error) != WS_OK || WS_RT_CHECK_VERSION(error) != WS_OK ||
        strcmp(ws_version(), WS_VERSION) != 0 || strcmp(ws_rt_version(), WS_VERSION) != 0)
        return 0;
    struct ws_error other;
    return ws_check_version(WS_VERSION_MAJOR + 1, 0, 0, WS_STRUCT_BYTES, &other) ==
               WS_ERROR_ENVIRONMENT &&
           ws_check_version(WS_VERSION_MAJOR, WS_VERSION_MINOR, WS_VERSION_PATCH,
                            WS_STRUCT_BYTES + 4, &other) == WS_ERROR_ENVIRONMENT &&
           ws_rt_check_version(WS_VERSION_MAJOR, WS_VERSION_MINOR, WS_VERSION_PATCH + 1,
                               WS_RT_STRUCT_BYTES, &other) == WS_ERROR_ENVIRONMENT;
}

int main(int argc, char **argv)
{
    struct ws_error error;
    struct ws_config config;
    memset(&config, 0, sizeof config);
    memset(&error, 0, sizeof error);
    int good = argc == 3 && check_versions(&error) && open_driver(argv[2], &error) &&
               ws_config_load(&config, argv[1], NULL, &error) == WS_OK && config.count > 0;
    for (size_t i = 0; good && i < config.count; i++)
        good = compile(&config.points[i].spec, &error);
    ws_config_free(&config);
    if (!good)
        fprintf(stderr, "consumer: %s\n", error.message);
    return !good;
}
