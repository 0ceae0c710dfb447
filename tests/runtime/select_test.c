/* Which HIP driver is taken when none is named. Each case runs this program anew as a probe,
 * because the dynamic linker reads LD_LIBRARY_PATH only at the start and keeps what it has loaded.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "tests/runtime/support.h"

#define FAKE(version) TEST_FOLDER "fake_hip_" #version
#define FAKE_FILE(version) FAKE(version) "/libamdhip64.so." #version

/* Opens the default driver, after loading the library `preload` if not NULL, and prints its name
 * and version, or the error. */
static int probe(const char *preload)
{
    struct ws_driver *driver = NULL;
    struct ws_error error;
    if (preload != NULL && dlopen(preload, RTLD_NOW) == NULL)
        return 2;
    if (ws_driver_open(&driver, NULL, &error) != WS_OK) {
        printf("%s: %s", ws_status_name(error.code), error.message);
        return 0;
    }
    printf("%s %d", ws_driver_name(driver), ws_driver_version(driver));
    ws_driver_close(driver);
    return 0;
}

/* What a probe prints with the given environment. */
static void run_probe(char *answer, size_t size, const char *folders, const char *chosen,
                      const char *preload)
{
    char command[2048];
    snprintf(command, sizeof command, "LD_LIBRARY_PATH='%s' WS_HIP_LIBRARY='%s' '%s' probe %s",
             folders, chosen, program_invocation_name, preload);
    FILE *pipe = popen(command, "r"); /* NOLINT(bugprone-command-processor): all of it is ours */
    size_t length = 0;
    if (pipe != NULL) {
        length = fread(answer, 1, size - 1, pipe);
        assert_int_equal(pclose(pipe), 0);
    }
    answer[length] = '\0';
}

static void assert_probe(const char *folders, const char *chosen, const char *preload,
                         const char *want)
{
    char answer[2048];
    run_probe(answer, sizeof answer, folders, chosen, preload);
    if (strstr(answer, want) == NULL)
        fail_msg("answers \"%s\", not \"%s\"", answer, want);
}

/* An empty file of each name, which is found before a library of the machine's and cannot be
 * loaded: what the driver makes of a machine without any. */
#define NONE TEST_FOLDER "no_hip"

static int hide_drivers(void **state)
{
    static const char *const names[] = {"5", "6", "7"};
    (void)state;
    mkdir(NONE, 0777);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[1024];
        snprintf(path, sizeof path, NONE "/libamdhip64.so.%s", names[i]);
        FILE *file = fopen(path, "w");
        if (file == NULL || fclose(file) != 0)
            return -1;
    }
    return 0;
}

static void the_newest_is_taken(void **state)
{
    (void)state;
    assert_probe(FAKE(5) ":" FAKE(6) ":" FAKE(7), "", "", "libamdhip64.so.7 70051831");
    assert_probe(FAKE(5) ":" FAKE(6) ":" NONE, "", "", "libamdhip64.so.6 60241133");
    assert_probe(FAKE(5) ":" NONE, "", "", "libamdhip64.so.5 50221153");
}

static void without_any_the_message_lists_them(void **state)
{
    (void)state;
    assert_probe(NONE, "", "", "libamdhip64.so.7, which cannot be loaded");
    assert_probe(NONE, "", "", "libamdhip64.so.6");
    assert_probe(NONE, "", "", "libamdhip64.so.5");
    assert_probe(NONE, "", "", "WS_HIP_LIBRARY");
    assert_probe(NONE, "", "", "environment: no AMD GPU: there is no HIP driver");
}

static void the_environment_chooses(void **state)
{
    (void)state;
    assert_probe(FAKE(7), FAKE_FILE(5), "", FAKE_FILE(5) " 50221153");
    assert_probe(FAKE(7), "/no/such/libhip.so", "",
                 "environment: cannot open the HIP driver library /no/such/libhip.so (from "
                 "WS_HIP_LIBRARY)");
}

static void a_loaded_one_comes_first(void **state)
{
    (void)state;
    assert_probe(FAKE(7), "", FAKE_FILE(6), "libamdhip64.so.6 60241133");
    assert_probe(FAKE(7), FAKE_FILE(7), FAKE_FILE(5), "libamdhip64.so.5 50221153");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_is_taken),
        cmocka_unit_test(without_any_the_message_lists_them),
        cmocka_unit_test(the_environment_chooses),
        cmocka_unit_test(a_loaded_one_comes_first),
    };
    if (argc > 1 && strcmp(argv[1], "probe") == 0)
        return probe(argc > 2 ? argv[2] : NULL);
    return cmocka_run_group_tests(tests, hide_drivers, NULL);
}
