/* Parses a command's options by the table in options.def. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/wavesmith/command.h"
#include "tools/wavesmith/workers.h"

enum option_type { OPTION_FLAG, OPTION_TEXT, OPTION_LIST, OPTION_COUNT, OPTION_REAL };

struct option_row {
    const char *name; /* with underscores */
    char letter;
    enum option_type type;
    size_t offset; /* of its field in struct ws_arguments */
    const char *metavar;
    double init;
    const char *help;
};

#define FIELD(name) offsetof(struct ws_arguments, name)
static const struct option_row options[WS_OPTION_COUNT] = {
#define FLAG(name, letter, help) {#name, letter, OPTION_FLAG, FIELD(name), NULL, 0, help},
#define TEXT(name, letter, metavar, help)                                                          \
    {#name, letter, OPTION_TEXT, FIELD(name), metavar, 0, help},
#define LIST(name, letter, metavar, help)                                                          \
    {#name, letter, OPTION_LIST, FIELD(name), metavar, 0, help},
#define COUNT(name, letter, metavar, init, help)                                                   \
    {#name, letter, OPTION_COUNT, FIELD(name), metavar, init, help},
#define REAL(name, letter, metavar, init, help)                                                    \
    {#name, letter, OPTION_REAL, FIELD(name), metavar, init, help},
#include "tools/wavesmith/options.def"
#undef FLAG
#undef TEXT
#undef LIST
#undef COUNT
#undef REAL
};

_Static_assert(WS_OPTION_COUNT <= 64, "options are bits of a uint64_t");

static void *field_of(struct ws_arguments *arguments, const struct option_row *row)
{
    return (char *)arguments + row->offset;
}

static bool command_takes(const struct ws_command *command, int option)
{
    return option == WS_OPTION_help || (command->takes >> option & 1) != 0;
}

/* "no_strict" as "--no-strict". */
static void option_spelling(const struct option_row *row, char *buffer, size_t size)
{
    snprintf(buffer, size, "--%s", row->name);
    for (char *c = buffer + 2; *c; ++c)
        if (*c == '_')
            *c = '-';
}

static int find_option(const struct ws_command *command, const char *text, size_t length)
{
    for (int i = 0; i < WS_OPTION_COUNT; ++i) {
        char spelling[64];
        option_spelling(&options[i], spelling, sizeof spelling);
        bool is_letter = length == 2 && text[1] == options[i].letter;
        bool is_name = strlen(spelling) == length && memcmp(spelling, text, length) == 0;
        if (command_takes(command, i) && (is_letter || is_name))
            return i;
    }
    return -1;
}

static enum ws_status unknown_option(const struct ws_command *command, const char *text,
                                     size_t length, struct ws_error *error)
{
    char spellings[WS_OPTION_COUNT][64];
    const char *names[WS_OPTION_COUNT + 1];
    size_t count = 0;
    for (int i = 0; i < WS_OPTION_COUNT; ++i) {
        option_spelling(&options[i], spellings[i], sizeof spellings[i]);
        if (command_takes(command, i))
            names[count++] = spellings[i];
    }
    names[count] = NULL;
    char given[64];
    snprintf(given, sizeof given, "%.*s", (int)length, text);
    const char *nearest = ws_nearest_name(given, names);
    if (nearest)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "`wavesmith %s` has no option %s; did you mean %s?", command->name, given,
                       nearest);
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "`wavesmith %s` has no option %s; `wavesmith %s --help` lists them",
                   command->name, given, command->name);
}

static enum ws_status parse_count(uint64_t *count, const char *option, const char *value,
                                  struct ws_error *error)
{
    char *end = NULL;
    errno = 0;
    *count = strtoull(value, &end, 0);
    if (*value >= '0' && *value <= '9' && *end == '\0' && errno == 0)
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT, "%s takes a whole number >= 0, not '%s'", option,
                   value);
}

static enum ws_status parse_real(double *real, const char *option, const char *value,
                                 struct ws_error *error)
{
    char *end = NULL;
    *real = strtod(value, &end);
    if (end != value && *end == '\0' && isfinite(*real))
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT, "%s takes a finite number, not '%s'", option, value);
}

static enum ws_status append(struct ws_list *list, const char *item, struct ws_error *error)
{
    const char **items =
        (const char **)realloc((void *)list->items, (list->count + 2) * sizeof *items);
    if (!items)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory");
    items[list->count++] = item;
    items[list->count] = NULL;
    list->items = items;
    return WS_OK;
}

static enum ws_status set_option(struct ws_arguments *arguments, int option, const char *value,
                                 struct ws_error *error)
{
    const struct option_row *row = &options[option];
    void *field = field_of(arguments, row);
    char spelling[64];
    option_spelling(row, spelling, sizeof spelling);
    if (arguments->given[option] && row->type != OPTION_LIST && row->type != OPTION_FLAG)
        return ws_fail(error, WS_ERROR_ARGUMENT, "%s is given twice", spelling);
    arguments->given[option] = true;
    switch (row->type) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return WS_OK;
    case OPTION_TEXT:
        *(const char **)field = value;
        return WS_OK;
    case OPTION_LIST:
        return append(field, value, error);
    case OPTION_COUNT:
        return parse_count(field, spelling, value, error);
    case OPTION_REAL:
        return parse_real(field, spelling, value, error);
    }
    return WS_OK;
}

/* One option and its value, which stands behind '=' or in the next argument. */
static enum ws_status parse_option(struct ws_arguments *arguments, int argc, char **argv, int *at,
                                   struct ws_error *error)
{
    const char *text = argv[*at];
    const char *equals = strncmp(text, "--", 2) == 0 ? strchr(text, '=') : NULL;
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    int option = find_option(arguments->command, text, length);
    if (option < 0)
        return unknown_option(arguments->command, text, length, error);
    const char *value = equals ? equals + 1 : NULL;
    if (options[option].type == OPTION_FLAG) {
        if (value)
            return ws_fail(error, WS_ERROR_ARGUMENT, "%.*s takes no value", (int)length, text);
    } else if (!value) {
        if (*at + 1 >= argc)
            return ws_fail(error, WS_ERROR_ARGUMENT, "%s needs a value: %s %s", text, text,
                           options[option].metavar);
        value = argv[++*at];
    }
    return set_option(arguments, option, value, error);
}

static void set_defaults(struct ws_arguments *arguments)
{
    for (int i = 0; i < WS_OPTION_COUNT; ++i) {
        void *field = field_of(arguments, &options[i]);
        if (options[i].type == OPTION_COUNT)
            *(uint64_t *)field = (uint64_t)options[i].init;
        else if (options[i].type == OPTION_REAL)
            *(double *)field = options[i].init;
    }
}

/* More threads than a few a core only cost memory; results are the same for any number. */
static void limit_jobs(struct ws_arguments *arguments)
{
    enum { A_CORE = 8 };
    uint64_t most = (uint64_t)A_CORE * ws_cpu_count();
    if (arguments->jobs <= most)
        return;
    fprintf(stderr, "wavesmith: --jobs %" PRIu64 ": %" PRIu64 " are taken, %d for each core\n",
            arguments->jobs, most, A_CORE);
    arguments->jobs = most;
}

/* How many operands a command takes: from *least to *most. */
static void operand_range(const struct ws_command *command, size_t *least, size_t *most)
{
    const char *names = command->operand;
    *least = names != NULL;
    for (const char *c = names; c && *c; ++c)
        *least += *c == ' ';
    *most = names && strstr(names, "...") ? SIZE_MAX : *least;
}

static enum ws_status add_operand(struct ws_arguments *arguments, const char *operand,
                                  struct ws_error *error)
{
    static const char *const few[] = {"no operand", "one operand", "two operands"};
    size_t least, most;
    operand_range(arguments->command, &least, &most);
    if (arguments->operands.count == most)
        return ws_fail(error, WS_ERROR_ARGUMENT, "`wavesmith %s` takes %s, '%s' is too much",
                       arguments->command->name, few[most < 2 ? most : 2], operand);
    if (!arguments->operand)
        arguments->operand = operand;
    return append(&arguments->operands, operand, error);
}

static enum ws_status check_operands(const struct ws_arguments *arguments, struct ws_error *error)
{
    size_t least, most;
    operand_range(arguments->command, &least, &most);
    if (arguments->operands.count >= least || arguments->help)
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT, "`wavesmith %s` needs %s%s", arguments->command->name,
                   least > 1 ? "" : "a ", arguments->command->operand);
}

/* A file that is read is not replaced by what is made of it: a slip would cost a config. But a
 * merge has all that it read. */
static enum ws_status check_output(const struct ws_arguments *arguments, const char *output,
                                   struct ws_error *error)
{
    struct stat written, read;
    if (!output || strcmp(arguments->command->name, "pack merge") == 0 ||
        stat(output, &written) != 0 || !S_ISREG(written.st_mode))
        return WS_OK;
    for (size_t i = 0; i < arguments->operands.count; ++i) {
        const char *operand = arguments->operands.items[i];
        if (stat(operand, &read) == 0 && read.st_dev == written.st_dev &&
            read.st_ino == written.st_ino)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "'%s' would replace '%s', which is read; write to another file", output,
                           operand);
    }
    return WS_OK;
}

enum ws_status ws_arguments_parse(struct ws_arguments *arguments, const struct ws_command *command,
                                  int argc, char **argv, struct ws_error *error)
{
    *arguments = (struct ws_arguments){.command = command};
    set_defaults(arguments);
    for (int at = 2; at < argc; ++at) {
        enum ws_status status = argv[at][0] == '-' && argv[at][1] != '\0'
                                    ? parse_option(arguments, argc, argv, &at, error)
                                    : add_operand(arguments, argv[at], error);
        if (status != WS_OK)
            return status;
    }
    if (arguments->timeout <= 0)
        return ws_fail(error, WS_ERROR_ARGUMENT, "--timeout should be above 0 seconds, not %g",
                       arguments->timeout);
    enum ws_status status = check_operands(arguments, error);
    if (status == WS_OK)
        status = check_output(arguments, arguments->output, error);
    if (status == WS_OK)
        status = check_output(arguments, arguments->ninja, error);
    if (status == WS_OK)
        limit_jobs(arguments);
    return status;
}

void ws_arguments_free(struct ws_arguments *arguments)
{
    free((void *)arguments->operands.items);
    for (int i = 0; i < WS_OPTION_COUNT; ++i)
        if (options[i].type == OPTION_LIST)
            free((void *)((struct ws_list *)field_of(arguments, &options[i]))->items);
}

void ws_command_help(const struct ws_command *command)
{
    printf("usage: wavesmith %s %s%s[options]\n%s.\n", command->name,
           command->operand ? command->operand : "", command->operand ? " " : "", command->summary);
    if (command->details[0])
        printf("\n%s", command->details);
    puts("\noptions:");
    for (int i = 0; i < WS_OPTION_COUNT; ++i) {
        if (!command_takes(command, i))
            continue;
        char spelling[64];
        char left[96];
        option_spelling(&options[i], spelling, sizeof spelling);
        snprintf(left, sizeof left, "%c%c%s %s %s", options[i].letter ? '-' : ' ',
                 options[i].letter ? options[i].letter : ' ', options[i].letter ? "," : " ",
                 spelling, options[i].metavar ? options[i].metavar : "");
        printf("  %-26s %s\n", left, options[i].help);
    }
}
