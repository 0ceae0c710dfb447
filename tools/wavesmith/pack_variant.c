/* Variants as specs, as JSON, by name. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/words.h"
#include "tools/wavesmith/pack.h"

/* Specs and variants have the same fields. */
#define CHOICE(name, meaning) FIELD(name)
#define INTEGER(name, meaning) FIELD(name)
#define FLAG(name, meaning) FIELD(name)

void ws_variant_take_spec(struct ws_variant *variant, const struct ws_spec *spec,
                          char spec_id[WS_ID_SIZE], char options[WS_PACK_OPTIONS_SIZE])
{
    ws_spec_id(spec, spec_id);
    options[0] = '\0';
    for (int i = 0; i < WS_OPTIONS_MAX && spec->options[i][0]; ++i)
        ws_append(options, WS_PACK_OPTIONS_SIZE, "%s%s", i > 0 ? " " : "", spec->options[i]);
    variant->kind = spec->kind;
    variant->abi_version = (int32_t)ws_arg_table(spec->kind)->abi_version;
    variant->spec_id = spec_id;
    variant->options = options;
    variant->tile_q = ws_launch_block(spec).rows;
    variant->alignment = spec->alignment;
#define FIELD(name) variant->name = spec->name;
#include "runtime/pack/problem.def"
#undef FIELD
}

char *ws_spec_levers(const struct ws_spec *spec)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return NULL;
    for (int i = 0; i < WS_LEVER_COUNT; ++i) {
        char value[64];
        const struct ws_lever_info *info = ws_lever_info((enum ws_lever)i);
        if (!(info->kinds >> spec->kind & 1))
            continue;
        ws_lever_text(spec, (enum ws_lever)i, value, sizeof value);
        fprintf(stream, "%s=%s\n", info->name, value);
    }
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

/* The value of "name" in a variant's levers, up to the end of its line; NULL if there is none. */
static const char *find_lever(const char *levers, const char *name, size_t *length)
{
    size_t name_length = strlen(name);
    for (const char *line = levers; *line;
         line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
        if (strncmp(line, name, name_length) != 0 || line[name_length] != '=')
            continue;
        *length = strcspn(line, "\n") - name_length - 1;
        return line + name_length + 1;
    }
    return NULL;
}

static enum ws_status take_levers(struct ws_spec *spec, const char *levers, struct ws_error *error)
{
    for (const char *line = levers; *line;) {
        char name[64], value[64];
        int used = 0;
        struct ws_error why;
        if (sscanf(line, "%63[^=\n]=%63[^\n]\n%n", name, value, &used) != 2)
            return ws_fail(error, WS_ERROR_PACK, "a lever is no name=value: '%.60s'", line);
        if (ws_lever_find(name) == WS_LEVER_COUNT || ws_spec_set(spec, name, value, &why) != WS_OK)
            return ws_fail(error, WS_ERROR_PACK,
                           "the lever %s=%s is not known to this version of wavesmith", name,
                           value);
        line += used;
    }
    return WS_OK;
}

enum ws_status ws_variant_spec(const struct ws_variant *variant, const char *levers,
                               struct ws_spec *spec, struct ws_error *error)
{
    char id[WS_ID_SIZE];
    ws_spec_init(spec, variant->kind);
    snprintf(spec->arch, sizeof spec->arch, "%s", variant->arch);
    spec->alignment = variant->alignment;
#define FIELD(name) spec->name = variant->name;
#include "runtime/pack/problem.def"
#undef FIELD
    enum ws_status status = take_levers(spec, levers, error);
    if (status == WS_OK && variant->options[0])
        status = ws_spec_set(spec, "options", variant->options, error);
    if (status != WS_OK)
        return status;
    ws_spec_id(spec, id);
    if (strcmp(id, variant->spec_id) != 0)
        return ws_fail(
            error, WS_ERROR_PACK,
            "%s: its spec_id %.16s... is not that of its columns, %.16s...: it was built "
            "by another version of wavesmith",
            ws_variant_name(variant), variant->spec_id, id);
    return WS_OK;
}

#undef CHOICE
#undef INTEGER
#undef FLAG

static void bound(int64_t *size, int64_t least, int64_t most)
{
    if (*size < least)
        *size = least;
    if (most >= 0 && *size > most)
        *size = most;
}

enum ws_status ws_variant_problem(const struct ws_variant *variant, const struct ws_spec *spec,
                                  uint64_t seed, struct ws_problem *problem, struct ws_error *error)
{
    struct ws_sizes sizes;
    enum ws_status status = ws_sizes_parse(&sizes, NULL, error);
    if (status == WS_OK)
        status = ws_problem_init(problem, spec, &sizes, WS_BSHD, error);
    if (status != WS_OK || variant->kind == WS_KERNEL_GEMM)
        return status;
    sizes.seqlen_q = problem->size.seqlen_q;
    sizes.seqlen_k = problem->size.seqlen_k;
    bound(&sizes.seqlen_q, variant->seqlen_q_min, variant->seqlen_q_max);
    bound(&sizes.seqlen_k, variant->seqlen_k_min, variant->seqlen_k_max);
    status = ws_problem_init(problem, spec, &sizes, WS_BSHD, error);
    problem->seed = seed;
    return status;
}

/* Columns. */

json_t *ws_variant_json(const struct ws_variant *variant)
{
    char rule[WS_RULE_TEXT_SIZE];
    json_t *object = json_object();
#define STRING(name, text) json_object_set_new(object, #name, json_string(text));
#define TEXT(name, meaning) STRING(name, variant->name)
#define HASH(name, meaning) STRING(name, variant->name)
#define DIGEST(name, meaning) STRING(name, variant->name)
#define KIND(name, meaning) STRING(name, ws_arg_table(variant->name)->kind_name)
#define CHOICE(name, meaning) STRING(name, ws_choice_word(WS_CHOICE_##name, variant->name))
#define RULE(name, meaning)                                                                        \
    ws_rule_text(&variant->name, rule);                                                            \
    STRING(name, rule)
#define FLAG(name, meaning) json_object_set_new(object, #name, json_boolean(variant->name));
#define INTEGER(name, meaning) json_object_set_new(object, #name, json_integer(variant->name));
#define REAL(name, meaning) json_object_set_new(object, #name, json_real(variant->name));
#include "runtime/pack/columns.def"
#undef STRING
    return object;
}

static void value_text(const json_t *value, char *text, size_t size)
{
    if (json_is_string(value))
        snprintf(text, size, "%s", json_string_value(value));
    else if (json_is_boolean(value))
        snprintf(text, size, "%d", json_is_true(value));
    else if (json_is_integer(value))
        snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        snprintf(text, size, "%.9g", json_real_value(value));
}

bool ws_variant_value(const struct ws_variant *variant, const char *levers, const char *name,
                      char *text, size_t size)
{
    size_t length = 0;
    json_t *columns = ws_variant_json(variant);
    const json_t *column = json_object_get(columns, name);
    const char *lever = column ? NULL : find_lever(levers, name, &length);
    if (column)
        value_text(column, text, size);
    else if (lever)
        snprintf(text, size, "%.*s", (int)length, lever);
    json_decref(columns);
    return column || lever;
}

/* Names. */

const char *ws_variant_name(const struct ws_variant *variant)
{
    return variant->symbol[0] ? variant->symbol : variant->spec_id;
}

static bool is_named(const struct ws_variant *variant, const char *name)
{
    enum { LEAST_DIGITS = 4 };
    return (name[0] && strcmp(variant->symbol, name) == 0) ||
           (strlen(name) >= LEAST_DIGITS && strncmp(variant->spec_id, name, strlen(name)) == 0);
}

static bool same_spec(const struct ws_variant *a, const struct ws_variant *b)
{
    return strcmp(a->spec_id, b->spec_id) == 0;
}

enum ws_status ws_pack_find(const struct ws_pack *pack, const char *name, uint32_t *index,
                            struct ws_error *error)
{
    uint32_t count = 0;
    const struct ws_variant *operation = NULL; /* its main step, which has a symbol, comes after */
    for (uint32_t i = 0; i < ws_pack_count(pack); ++i) {
        const struct ws_variant *variant = ws_pack_variant(pack, i);
        if (!is_named(variant, name) || (operation && same_spec(operation, variant)))
            continue;
        if (variant->step_count > 0)
            operation = variant;
        if (count++ == 0)
            *index = i;
    }
    if (count == 1)
        return WS_OK;
    if (count > 1)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "'%s' names %" PRIu32 " variants, %s among them; give more digits", name,
                       count, ws_variant_name(ws_pack_variant(pack, *index)));
    return ws_fail(error, WS_ERROR_ARGUMENT,
                   "no variant has the symbol '%s' or a spec_id that begins so (4 digits or more); "
                   "`wavesmith pack ls` lists them",
                   name);
}

static bool is_lever(const char *name)
{
    return ws_lever_find(name) != WS_LEVER_COUNT;
}

enum ws_status ws_pack_matches(const struct ws_pack *pack, uint32_t index,
                               const struct ws_arguments *arguments, bool *matches,
                               struct ws_error *error)
{
    const struct ws_variant *variant = ws_pack_variant(pack, index);
    *matches = !arguments->arch || strcmp(arguments->arch, variant->arch) == 0;
    for (size_t i = 0; i < arguments->where.count; ++i) {
        char name[64], value[256];
        const char *text = arguments->where.items[i];
        const char *equals = strchr(text, '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - text : 0), text);
        bool known =
            ws_variant_value(variant, ws_pack_levers(pack, index), name, value, sizeof value);
        if (!equals || (!known && !is_lever(name)))
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "--where takes the name of a column or of a lever and a value, such as "
                           "mask=causal, not '%s'; `wavesmith pack show` has all names",
                           text);
        *matches = *matches && known && strcmp(value, equals + 1) == 0;
    }
    return WS_OK;
}
