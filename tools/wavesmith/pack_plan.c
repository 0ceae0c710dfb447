/* wavesmith pack plan, gc: a build for other machines, and what builds leave on this one. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/wavesmith/output.h"
#include "tools/wavesmith/pack_build.h"

#define FIRST_LINE "# Written by `wavesmith pack plan`.\n"

/* A word of a shell command. */
static void print_word(FILE *stream, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+,./:@%";
    bool is_plain = word[0] && strspn(word, plain) == strlen(word);
    fputs(is_plain ? " " : " '", stream);
    for (const char *c = word; *c; ++c)
        fprintf(stream, *c == '\'' ? "'\\''" : *c == '$' ? "$$" : "%c", *c);
    fputs(is_plain ? "" : "'", stream);
}

/* A path in a ninja file. */
static void print_path(FILE *stream, const char *path)
{
    putc(' ', stream);
    for (const char *c = path; *c; ++c)
        fprintf(stream, *c == '$' || *c == ' ' || *c == ':' ? "$%c" : "%c", *c);
}

static void print_option(FILE *stream, const char *option, const char *value)
{
    if (!value)
        return;
    fprintf(stream, " %s", option);
    print_word(stream, value);
}

/* The options that a build gets from the plan. */
static void print_options(FILE *stream, const struct ws_arguments *arguments)
{
    print_option(stream, "--arch", arguments->arch);
    for (size_t i = 0; i < arguments->set.count; ++i)
        print_option(stream, "--set", arguments->set.items[i]);
    print_option(stream, "--shape", arguments->shape);
    print_option(stream, "--causal", arguments->causal);
    print_option(stream, "--backend", arguments->backend);
    if (arguments->given[WS_OPTION_max_spills])
        fprintf(stream, " --max-spills %" PRIu64, arguments->max_spills);
    if (arguments->given[WS_OPTION_seed])
        fprintf(stream, " --seed %" PRIu64, arguments->seed);
    if (arguments->verify)
        fputs(" --verify", stream);
}

static void print_shard_name(FILE *stream, const struct ws_arguments *arguments, uint64_t shard)
{
    print_path(stream, arguments->output);
    fprintf(stream, ".%" PRIu64 "-of-%" PRIu64, shard, arguments->shards);
}

static void print_plan(FILE *stream, const struct ws_arguments *arguments, const char *program)
{
    fputs(FIRST_LINE "wavesmith =", stream);
    print_word(stream, program);
    fputs("\nrule shard\n  command = $wavesmith pack build $in -o $out --shard $shard", stream);
    print_options(stream, arguments);
    fputs("\n  description = pack shard $shard\n"
          "rule merge\n  command = $wavesmith pack merge $in -o $out\n"
          "  description = pack merge $out\n",
          stream);
    for (uint64_t i = 1; i <= arguments->shards; ++i) {
        fputs("build", stream);
        print_shard_name(stream, arguments, i);
        fputs(": shard", stream);
        for (size_t c = 0; c < arguments->operands.count; ++c)
            print_path(stream, arguments->operands.items[c]);
        fprintf(stream, "\n  shard = %" PRIu64 "/%" PRIu64 "\n", i, arguments->shards);
    }
    fputs("build", stream);
    print_path(stream, arguments->output);
    fputs(": merge", stream);
    for (uint64_t i = 1; i <= arguments->shards; ++i)
        print_shard_name(stream, arguments, i);
    fputs("\ndefault", stream);
    print_path(stream, arguments->output);
    putc('\n', stream);
}

static enum ws_status check_name(const char *name, struct ws_error *error)
{
    return strchr(name, '\n')
               ? ws_fail(error, WS_ERROR_ARGUMENT,
                         "a ninja file cannot have a name with a line break: '%s'", name)
               : WS_OK;
}

static enum ws_status check_plan(const struct ws_arguments *arguments, struct ws_error *error)
{
    enum { SHARDS_MAX = 1000 };
    if (!arguments->output)
        return ws_fail(error, WS_ERROR_ARGUMENT, "`wavesmith pack plan` needs -o FILE, the pack");
    if (arguments->shards < 1 || arguments->shards > SHARDS_MAX)
        return ws_fail(error, WS_ERROR_ARGUMENT, "--shards is from 1 to %d, not %" PRIu64,
                       SHARDS_MAX, arguments->shards);
    enum ws_status named = check_name(arguments->output, error);
    for (size_t i = 0; i < arguments->operands.count && named == WS_OK; ++i)
        named = check_name(arguments->operands.items[i], error);
    if (named != WS_OK)
        return named;
    for (size_t i = 0; i < arguments->operands.count; ++i) { /* a typing error shows now */
        struct ws_points points = {0};
        enum ws_status status =
            ws_points_open(&points, arguments->operands.items[i], arguments, error);
        ws_points_free(&points);
        if (status != WS_OK)
            return status;
    }
    return WS_OK;
}

/* A build folder has a build.ninja of its own. */
static enum ws_status check_target(const char *path, struct ws_error *error)
{
    char start[sizeof FIRST_LINE] = "";
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
        return WS_OK;
    FILE *file = fopen(path, "re");
    if (!file)
        return WS_OK;
    size_t size = fread(start, 1, sizeof start - 1, file);
    fclose(file);
    if (size == sizeof start - 1 && strcmp(start, FIRST_LINE) == 0)
        return WS_OK;
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "'%s' is there and no plan of a pack; --ninja FILE names another file", path);
}

int ws_command_pack_plan(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    char program[PATH_MAX] = "wavesmith";
    char *text = NULL;
    size_t size = 0;
    const char *path = arguments->ninja ? arguments->ninja : "build.ninja";
    if (check_plan(arguments, &error) != WS_OK || check_target(path, &error) != WS_OK)
        return ws_report_error(&error);
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : (ssize_t)strlen("wavesmith")] = '\0';
    FILE *stream = open_memstream(&text, &size);
    enum ws_status status = WS_OK;
    if (stream)
        print_plan(stream, arguments, program);
    if (!stream || fclose(stream) != 0)
        status = ws_fail(&error, WS_ERROR_MEMORY, "out of memory for the plan");
    if (status == WS_OK)
        status = ws_write_file(path, text, size, &error);
    free(text);
    if (status != WS_OK)
        return ws_report_error(&error);
    printf("%s: %" PRIu64 " shards and their merge; ninja -f %s\n", path, arguments->shards, path);
    return WS_EXIT_OK;
}

int ws_command_pack_gc(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct ws_cache cache;
    struct ws_cache_report report;
    char folder[PATH_MAX] = "";
    if (arguments->cache)
        snprintf(folder, sizeof folder, "%s", arguments->cache);
    else
        ws_pack_cache_folder(folder);
    enum ws_status status = ws_cache_open(&cache, folder, arguments->cache_size, &error);
    if (status == WS_OK)
        status = ws_cache_trim(&cache, &report, &error);
    if (status != WS_OK)
        return ws_report_error(&error);
    if (arguments->json)
        return ws_print_json(
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "cache", folder, "entries",
                      (json_int_t)report.entries, "bytes", (json_int_t)report.bytes, "removed",
                      (json_int_t)report.removed, "removed_bytes", (json_int_t)report.removed_bytes,
                      "strays", (json_int_t)report.strays));
    printf("%s: %zu entries of %" PRIu64 " bytes; removed %zu of %" PRIu64
           " bytes and %zu that killed builds left\n",
           folder, report.entries, report.bytes, report.removed, report.removed_bytes,
           report.strays);
    return WS_EXIT_OK;
}
