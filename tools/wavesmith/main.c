/* wavesmith: the table of commands and the choice of one. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gen/wavesmith.h"
#include "tools/wavesmith/command.h"

#define TAKES_CONFIG                                                                               \
    (WS_TAKES(arch) | WS_TAKES(set) | WS_TAKES(shape) | WS_TAKES(causal) | WS_TAKES(point))

static const struct ws_command commands[] = {
    {"targets", NULL, "list the GPU targets", "", WS_TAKES(json), ws_command_targets},
    {"levers", NULL, "list the levers, their values and defaults", "",
     WS_TAKES(json) | WS_TAKES(markdown), ws_command_levers},
    {"emit", "CONFIG", "generate a kernel as text",
     "The config must come down to one point; --point chooses it.\n",
     TAKES_CONFIG | WS_TAKES(ir) | WS_TAKES(asm) | WS_TAKES(output), ws_command_emit},
    {"compile", "CONFIG", "generate and compile a kernel to a code object",
     "The config must come down to one point; --point chooses it. Without -o the file is named\n"
     "after the kernel's symbol.\n",
     TAKES_CONFIG | WS_TAKES(backend) | WS_TAKES(max_spills) | WS_TAKES(output) | WS_TAKES(json),
     ws_command_compile},
    {"inspect", "CONFIG|HSACO", "count registers and instructions of a kernel",
     "Main loop = the innermost loop with the most matrix products; of several, the shortest. A\n"
     "loop's instructions are those of its hot path: the shortest way through it that executes\n"
     "matrix products, with the branches that skip work only when no lane is active (execz) not\n"
     "taken. Blocks beside that path, such as a lazy rescale, are counted apart as cold.\n"
     "Cycles: of a product, its passes (16x16x16 of f16: gfx11 32, gfx12 16, gfx942 16, gfx90a "
     "32); of anything else one on RDNA, 4 on CDNA.\n"
     "VGPRs have the AGPRs in them where both are one file.\n",
     TAKES_CONFIG | WS_TAKES(backend) | WS_TAKES(head_dim) | WS_TAKES(kernel) | WS_TAKES(compare) |
         WS_TAKES(json),
     ws_command_inspect},
    {"verify", "CONFIG", "compile, run and check kernels against a reference",
     "Every problem runs twice: with N(0,1) inputs, and with the keys at every boundary dominant.\n"
     "Exit code 1 if a check failed or nothing was checked.\n",
     TAKES_CONFIG | WS_TAKES(seed) | WS_TAKES(random) | WS_TAKES(layout) | WS_TAKES(stride) |
         WS_TAKES(far) | WS_TAKES(score_scale) | WS_TAKES(window) | WS_TAKES(softcap) |
         WS_TAKES(lengths_q) | WS_TAKES(lengths_k) | WS_TAKES(used_k) | WS_TAKES(sample) |
         WS_TAKES(no_strict) | WS_TAKES(device) | WS_TAKES(backend) | WS_TAKES(jobs) |
         WS_TAKES(max_spills) | WS_TAKES(timeout) | WS_TAKES(json),
     ws_command_verify},
    {"sweep", "CONFIG", "compile every point of a config, measure and verify it",
     "Points are compiled by --jobs processes, each verified (with --verify) before it is listed, "
     "at\n"
     "the config's shapes, at --shape, or at a small default. Results are in the order of the\n"
     "config and the same for any number of jobs. A sweep that was killed goes on where it "
     "stopped\n"
     "when it is run again: its state is kept until it is complete. Score: cycles a score tile of\n"
     "the main loop if nothing overlaps, the lower the better.\n"
     "Exit code 1 if a point failed or there was none.\n",
     TAKES_CONFIG | WS_TAKES(verify) | WS_TAKES(seed) | WS_TAKES(sample) | WS_TAKES(no_strict) |
         WS_TAKES(device) | WS_TAKES(backend) | WS_TAKES(jobs) | WS_TAKES(max_spills) |
         WS_TAKES(timeout) | WS_TAKES(times) | WS_TAKES(state) | WS_TAKES(format) | WS_TAKES(json) |
         WS_TAKES(output),
     ws_command_sweep},
    {"bench", "CONFIG...", "time the compiler's stages and the emulator, or the runtime",
     "Best of 5, CPU time of one core. Of a config with more points than one: a sweep over them "
     "with\n"
     "one worker and with two, whose results must be the same bytes. Timings never change the "
     "exit\n"
     "code.\n"
     "`wavesmith bench pack [PACK]` times the runtime instead: opening the pack (by default a\n"
     "made-up one of 1000 variants), selecting from it, launching on a driver that does nothing.\n",
     TAKES_CONFIG | WS_TAKES(backend) | WS_TAKES(timeout) | WS_TAKES(json), ws_command_bench},
    {"schedule", "CONFIG", "simulate the order of a backward's workgroups on compute units",
     "Every workgroup of the main launch goes to the unit that is free first, in the order of the\n"
     "grid: plain or longest_first. What a workgroup takes is counted by the emulator: of the\n"
     "longest of each job, of one of half its length and of an empty one; the others by their\n"
     "iterations. No time is measured.\n",
     TAKES_CONFIG | WS_TAKES(lengths_q) | WS_TAKES(lengths_k) | WS_TAKES(used_k) |
         WS_TAKES(window) | WS_TAKES(softcap) | WS_TAKES(units) | WS_TAKES(backend) |
         WS_TAKES(json),
     ws_command_schedule},
    {"run", "HSACO", "run a kernel of any code object, its buffers from files",
     "One --arg for each argument of the kernel, in their order:\n"
     "  in:FILE                      a buffer that holds the file\n"
     "  out:FILE:BYTES               a buffer of 0xff bytes, written to the file afterwards\n"
     "  inout:FILE                   a buffer that holds the file, written to it afterwards\n"
     "  zero:BYTES                   a buffer of zeros\n"
     "  i32:V, u32:V, i64:V, f32:V   a value\n"
     "Exit code 1 if the kernel failed.\n",
     WS_TAKES(kernel) | WS_TAKES(grid) | WS_TAKES(block) | WS_TAKES(arg) | WS_TAKES(lds) |
         WS_TAKES(device) | WS_TAKES(no_strict) | WS_TAKES(seed) | WS_TAKES(timeout) |
         WS_TAKES(jobs),
     ws_command_run},
    {"pack", "COMMAND", "build, list and check kernel packs", "", 0, NULL},
};

static const struct ws_command_group top = {"", commands, sizeof commands / sizeof commands[0]};

static const char *short_name(const struct ws_command_group *group, int index)
{
    return group->commands[index].name + strlen(group->prefix);
}

static void print_usage(const struct ws_command_group *group, FILE *stream)
{
    fprintf(stream, "usage: wavesmith %sCOMMAND [options]\n\n", group->prefix);
    for (int i = 0; i < group->count; ++i)
        fprintf(stream, "  %-8s %-13s %s\n", short_name(group, i),
                group->commands[i].operand ? group->commands[i].operand : "",
                group->commands[i].summary);
    fprintf(stream,
            "\nwavesmith %sCOMMAND --help shows a command's options; --version the version.\n"
            "Exit code: 0 fine, 1 a check failed or nothing was checked, 2 bad usage or input,\n"
            "3 no device, no backend or no memory. With --json an error is on stdout too:\n"
            "{\"error\": {\"code\", \"message\", \"file\", \"line\", \"column\"}}.\n",
            group->prefix);
}

enum { NAMES_MAX = 32 };

static int unknown_command(const struct ws_command_group *group, const char *name)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    for (int i = 0; i < group->count && i < NAMES_MAX; ++i)
        names[i] = short_name(group, i);
    const char *nearest = ws_nearest_name(name, names);
    fprintf(stderr, "wavesmith: error: no command named '%s%s'; ", group->prefix, name);
    if (nearest)
        fprintf(stderr, "did you mean '%s'?\n", nearest);
    else
        fprintf(stderr, "`wavesmith %s--help` lists them\n", group->prefix);
    return WS_EXIT_USAGE;
}

static int run_command(const struct ws_command *command, int argc, char **argv)
{
    struct ws_arguments arguments;
    struct ws_error error;
    int code = WS_EXIT_OK;
    for (int i = 2; i < argc; ++i)
        if (strcmp(argv[i], "--json") == 0 && (command->takes & WS_TAKES(json)) != 0)
            ws_report_as_json(); /* of a bad command line too */
    enum ws_status status = ws_arguments_parse(&arguments, command, argc, argv, &error);
    const bool runs = status == WS_OK && !arguments.help;
    if (runs)
        status = ws_worker_pool_create(&arguments.pool, &error);
    if (status != WS_OK)
        code = ws_report_error(&error);
    else if (runs)
        code = command->run(&arguments);
    else
        ws_command_help(command);
    ws_worker_pool_free(arguments.pool);
    ws_arguments_free(&arguments);
    return code;
}

/* A result that did not reach its reader is a failure, however well it was computed. */
static int close_stdout(int code)
{
    bool failed = ferror(stdout) != 0;
    if (fclose(stdout) == 0 && !failed)
        return code;
    perror("wavesmith: error: writing to stdout");
    return code != WS_EXIT_OK ? code : WS_EXIT_USAGE;
}

/* The command that argv[1] names. */
static int run_group(const struct ws_command_group *group, int argc, char **argv)
{
    if (argc < 2) {
        print_usage(group, stderr);
        return WS_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_usage(group, stdout);
        return WS_EXIT_OK;
    }
    for (int i = 0; i < group->count; ++i)
        if (strcmp(argv[1], short_name(group, i)) == 0)
            return group->commands[i].run ? run_command(&group->commands[i], argc, argv)
                                          : run_group(&ws_pack_group, argc - 1, argv + 1);
    return unknown_command(group, argv[1]);
}

/* A closed standard stream would give its number to the next file that is opened, and messages go
 * into that. What takes its place cannot be read or written either. */
static bool open_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
        int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", mode) != stream)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (!open_streams()) {
        perror("wavesmith: error: a standard stream is closed, and /dev/null does not open");
        return WS_EXIT_ENVIRONMENT;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of its write */
    if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
        printf("wavesmith %s\n", ws_version());
        return close_stdout(WS_EXIT_OK);
    }
    return close_stdout(run_group(&top, argc, argv));
}
