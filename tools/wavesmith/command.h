/* What a command of `wavesmith` is: a row of the table in main.c and one function in a file of its
 * own. The function gets the parsed command line and returns the exit code; it prints its results
 * on stdout and everything else on stderr. */
#ifndef WS_TOOL_COMMAND_H
#define WS_TOOL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/status.h"

enum ws_exit {
    WS_EXIT_OK = 0,
    WS_EXIT_FAILED = 1,      /* a check failed, or nothing was checked */
    WS_EXIT_USAGE = 2,       /* bad usage or bad input */
    WS_EXIT_ENVIRONMENT = 3, /* no device, no backend, no memory */
};

enum ws_option {
#define FLAG(name, letter, help) WS_OPTION_##name,
#define TEXT(name, letter, metavar, help) WS_OPTION_##name,
#define LIST(name, letter, metavar, help) WS_OPTION_##name,
#define COUNT(name, letter, metavar, init, help) WS_OPTION_##name,
#define REAL(name, letter, metavar, init, help) WS_OPTION_##name,
#include "tools/wavesmith/options.def"
#undef FLAG
#undef TEXT
#undef LIST
#undef COUNT
#undef REAL
    WS_OPTION_COUNT
};

#define WS_TAKES(name) (UINT64_C(1) << WS_OPTION_##name)

/* Texts of the command line, in order; items[count] is NULL. */
struct ws_list {
    const char **items;
    size_t count;
};

struct ws_worker_pool;

/* A parsed command line. Texts point into argv. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the order is that of options.def */
struct ws_arguments {
    const struct ws_command *command;
    const char *operand; /* the first; NULL only where the command takes none */
    struct ws_list operands;
    struct ws_worker_pool *pool; /* of compilers, for the whole command; main owns it */
    bool given[WS_OPTION_COUNT];
#define FLAG(name, letter, help) bool name;
#define TEXT(name, letter, metavar, help) const char *name;
#define LIST(name, letter, metavar, help) struct ws_list name;
#define COUNT(name, letter, metavar, init, help) uint64_t name;
#define REAL(name, letter, metavar, init, help) double name;
#include "tools/wavesmith/options.def"
#undef FLAG
#undef TEXT
#undef LIST
#undef COUNT
#undef REAL
};

struct ws_command {
    const char *name;    /* of a group's with the group's before it: "pack build" */
    const char *operand; /* "CONFIG", "A B", "PACK..." for one or more; NULL: it takes none */
    const char *summary; /* one line */
    const char *details; /* for --help; "" for nothing more to say */
    uint64_t takes;      /* WS_TAKES(...) of its options; help is always there */
    int (*run)(const struct ws_arguments *arguments); /* NULL: the command is a group of commands */
};

/* Commands under one name. */
struct ws_command_group {
    const char *prefix; /* "", or "pack " */
    const struct ws_command *commands;
    int count;
};
extern const struct ws_command_group ws_pack_group;

/* Parses argv[2..] for arguments->command. WS_ERROR_ARGUMENT says what was wrong, an unknown option
 * with the nearest name. Free with ws_arguments_free in either case. */
enum ws_status ws_arguments_parse(struct ws_arguments *arguments, const struct ws_command *command,
                                  int argc, char **argv, struct ws_error *error);
void ws_arguments_free(struct ws_arguments *arguments);

/* Prints a command's usage and options on stdout. */
void ws_command_help(const struct ws_command *command);

/* Prints an error on stderr, with its position if it has one, and returns the exit code that goes
 * with its status. After ws_report_as_json also prints {"error": {"code", "message", "file",
 * "line", "column"}} on stdout, with null for what it does not have. */
void ws_report_as_json(void);
int ws_report_error(const struct ws_error *error);

/* The item of a NULL-terminated list that `name` is most likely meant to be, NULL if none is near.
 */
const char *ws_nearest_name(const char *name, const char *const *names);

int ws_command_targets(const struct ws_arguments *arguments);
int ws_command_levers(const struct ws_arguments *arguments);
int ws_command_emit(const struct ws_arguments *arguments);
int ws_command_compile(const struct ws_arguments *arguments);
int ws_command_inspect(const struct ws_arguments *arguments);
int ws_command_verify(const struct ws_arguments *arguments);
int ws_command_sweep(const struct ws_arguments *arguments);
int ws_command_bench(const struct ws_arguments *arguments);
int ws_command_schedule(const struct ws_arguments *arguments);
int ws_command_run(const struct ws_arguments *arguments);

#endif
