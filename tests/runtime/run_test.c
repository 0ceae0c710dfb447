/* `wavesmith run` as a user calls it: exit codes, messages, files. */
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime/support.h"

#define OBJECT TEST_FOLDER "kernels_gfx1151.hsaco"
#define SCALE "run " OBJECT " --kernel scale --grid 2 --block 64"
#define INPUT TEST_FOLDER "run_in.bin"
#define OUTPUT TEST_FOLDER "run_out.bin"
#define GOOD_ARGS " --arg out:" OUTPUT ":512 --arg in:" INPUT " --arg f32:-1.5 --arg i32:100"

enum { COUNT = 128 };

/* Runs the program with `line` behind it; `text` gets what it prints. Returns its exit code. */
static int run(const char *line, char *text, size_t size)
{
    char command[4096];
    size_t length = 0;
    snprintf(command, sizeof command, "'%s' %s 2>&1", WAVESMITH, line);
    FILE *pipe = popen(command, "r"); /* NOLINT(bugprone-command-processor): all of it is ours */
    if (pipe == NULL)
        return -1;
    length = fread(text, 1, size - 1, pipe);
    text[length] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void assert_run(const char *line, int code, const char *says)
{
    char text[4096];
    int got = run(line, text, sizeof text);
    if (got != code || strstr(text, says) == NULL)
        fail_msg("`%s` exits with %d, not %d, saying \"%s\", not \"%s\"", line, got, code, text,
                 says);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        print_error("cannot write %s\n", path);
        abort();
    }
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void usage_is_checked_before_a_device_is_opened(void **state)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"run", "needs a HSACO"},
        {"run " OBJECT, "--grid"},
        {"run /no/such.hsaco --grid 1 --block 1", "/no/such.hsaco"},
        {"run " WAVESMITH " --grid 1 --block 1", "a foreign ELF file"},
        {"run " OBJECT " --grid 1 --block 64", "9 kernels"},
        {"run " OBJECT " --grid 1 --block 64 --kernel scael", "no kernel scael"},
        {"run " OBJECT " --kernel scale --grid 2,x --block 64", "--grid takes"},
        {"run " OBJECT " --kernel scale --grid 1,2,3,4 --block 64", "--grid takes"},
        {"run " OBJECT " --kernel scale --grid 1 --block -1", "--block takes"},
        {"run " OBJECT " --kernel scale --grid 4294967296 --block 1", "--grid takes"},
        {SCALE " --lds 4294967296", "--lds takes"},
        {SCALE, "takes 4 arguments"},
        {SCALE GOOD_ARGS " --arg i32:1", "takes 4 arguments, --arg is given 5"},
        {SCALE " --arg file:x", "--arg file:x: expected in:FILE"},
        {SCALE " --arg in", "--arg in: expected in:FILE"},
        {SCALE " --arg in:", "expected in:FILE"},
        {SCALE " --arg out:x", "expected out:FILE:BYTES"},
        {SCALE " --arg out:x:-1", "expected out:FILE:BYTES"},
        {SCALE " --arg zero:1x", "expected zero:BYTES"},
        {SCALE " --arg i32:2147483648", "-2147483648 to 2147483647"},
        {SCALE " --arg u32:-1", "0 to 4294967295"},
        {SCALE " --arg i64:1.5", "expected a whole number"},
        {SCALE " --arg f32:1e99", "a number that a float can hold"},
        {SCALE " --arg f32:", "a number that a float can hold"},
        {SCALE " --arg i64:1 --arg zero:4 --arg f32:1 --arg i32:1", "is a pointer"},
        {SCALE " --arg zero:4 --arg zero:4 --arg zero:4 --arg i32:1", "is a value"},
        {SCALE " --arg zero:4 --arg zero:4 --arg f32:1 --arg i64:1", "has 4 bytes, i64 gives 8"},
        {SCALE " --arg zero:4 --arg in:/no/such --arg f32:1 --arg i32:1", "/no/such"},
        {SCALE GOOD_ARGS " --device cpu", "hip or emu"},
    };
    (void)state;
    unlink(OUTPUT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_run(cases[i].line, 2, cases[i].says);
    assert_int_equal(access(OUTPUT, F_OK), -1);
}

static void a_kernel_runs(void **state)
{
    (void)state;
    assert_run(SCALE GOOD_ARGS " --device emu", 0, "scale: 2 x 1 x 1 workgroups of 64 x 1 x 1");
    struct bytes output = read_whole(OUTPUT);
    assert_int_equal(output.size, COUNT * sizeof(float));
    for (int i = 0; i < COUNT; i++) {
        float value = 0;
        uint32_t bits = 0;
        memcpy(&value, output.at + i * sizeof value, sizeof value);
        memcpy(&bits, &value, sizeof bits);
        if (i < 100)
            assert_true(value == -1.5F * (float)i);
        else
            assert_int_equal(bits, 0xffffffff); /* left alone by the kernel */
    }
    free(output.at);
}

static void a_file_is_changed_in_place(void **state)
{
    (void)state;
    assert_run("run " OBJECT
               " --kernel reverse --grid 1 --block 128 --device emu --arg inout:" INPUT,
               0, "reverse");
    struct bytes output = read_whole(INPUT);
    assert_int_equal(output.size, COUNT * sizeof(float));
    for (int i = 0; i < COUNT; i++) {
        float value = 0;
        memcpy(&value, output.at + i * sizeof value, sizeof value);
        assert_true(value == (float)(COUNT - 1 - i));
    }
    free(output.at);
}

static void a_failed_kernel_writes_nothing(void **state)
{
    (void)state;
    write_file(OUTPUT, "before", 6);
    assert_run(SCALE " --arg out:" OUTPUT ":64 --arg in:" INPUT " --arg f32:1 --arg i32:100"
                     " --device emu",
               1, "hipErrorLaunchFailure");
    assert_run("run " OBJECT " --kernel scale --grid 2 --block 65 --device emu" GOOD_ARGS, 2,
               "does not fit kernel scale");
    struct bytes output = read_whole(OUTPUT);
    assert_int_equal(output.size, 6);
    assert_memory_equal(output.at, "before", 6);
    free(output.at);
}

static int write_input(void **state)
{
    float values[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i;
    write_file(INPUT, values, sizeof values);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(usage_is_checked_before_a_device_is_opened, write_input),
        cmocka_unit_test_setup(a_kernel_runs, write_input),
        cmocka_unit_test_setup(a_file_is_changed_in_place, write_input),
        cmocka_unit_test_setup(a_failed_kernel_writes_nothing, write_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
