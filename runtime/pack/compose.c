#include "runtime/pack/compose.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/abi/sha256.h"
#include "runtime/pack/column.h"
#include "runtime/pack/database.h"
#include "runtime/pack/store.h"

struct composer {
    struct ws_composition *made;
    const struct ws_pack_row *rows;
    struct ws_variant *variants; /* in the order of the rows */
    uint32_t count;
    uint32_t *order; /* rows in the order of the pack, equal ones too */
    uint32_t *place; /* where a row's variant is in the pack */
    struct ws_error *error;
};

static enum ws_status fail_memory(struct composer *c)
{
    return ws_fail(c->error, WS_ERROR_MEMORY, "out of memory for a pack of %" PRIu32 " rows",
                   c->count);
}

__attribute__((format(printf, 3, 4))) static enum ws_status
fail_row(struct composer *c, uint32_t index, const char *format, ...)
{
    char what[WS_ERROR_MESSAGE_SIZE];
    va_list values;
    va_start(values, format);
    vsnprintf(what, sizeof what, format, values);
    va_end(values);
    return ws_fail(c->error, WS_ERROR_ARGUMENT, "row %" PRIu32 " (%.100s): %s", index,
                   c->variants[index].symbol, what);
}

static const char *hash_text(struct composer *c, const char *text)
{
    char hash[WS_PACK_HASH_SIZE];
    ws_sha256(text, strlen(text), hash);
    return ws_arena_text(&c->made->arena, hash, sizeof hash - 1);
}

/* Lever lists. */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Splits a list into lines, in place. Returns how many; -1: more than there may be. */
static int split(char *text, char *lines[WS_PACK_LEVERS_MAX])
{
    int count = 0;
    char *rest = text;
    for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (count == WS_PACK_LEVERS_MAX)
            return -1;
        lines[count++] = line;
    }
    return count;
}

static bool is_printable(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    }
    return true;
}

/* Adds a lever's name to those of the pack. */
static bool take_name(struct composer *c, const char *name)
{
    struct ws_composition *made = c->made;
    for (size_t i = 0; i < made->name_count; i++) {
        if (strcmp(made->names[i], name) == 0)
            return true;
    }
    if (made->name_count == WS_PACK_LEVERS_MAX)
        return false;
    made->names[made->name_count++] = name;
    return true;
}

/* Checks a lever, "name=value", whose name comes after the one before. */
static bool take_lever(struct composer *c, const char *line, const char *before)
{
    const char *end = strchr(line, '=');
    if (!end || !is_printable(line))
        return false;
    const char *name = ws_arena_text(&c->made->arena, line, (size_t)(end - line));
    const size_t length = (size_t)(end - line) + 1;
    return name && ws_pack_is_name(name) && (!before || strncmp(before, line, length) != 0) &&
           take_name(c, name);
}

/* The levers of a row, sorted; NULL after an error. */
static const char *sort_levers(struct composer *c, uint32_t index, enum ws_status *status)
{
    const char *levers = c->rows[index].levers ? c->rows[index].levers : "";
    char *lines[WS_PACK_LEVERS_MAX];
    char *copy = strdup(levers), *sorted = ws_arena_take(&c->made->arena, strlen(levers) + 2);
    const int count = copy && sorted ? split(copy, lines) : 0;
    *status = copy && sorted ? WS_OK : fail_memory(c);
    if (count > 0)
        qsort((void *)lines, (size_t)count, sizeof *lines, compare_lines);
    char *at = sorted;
    for (int i = 0; i < count && *status == WS_OK; i++) {
        if (take_lever(c, lines[i], i > 0 ? lines[i - 1] : NULL)) {
            at = stpcpy(at, lines[i]);
            *at++ = '\n';
        } else {
            *status = fail_row(c, index, "its levers should be name=value a line, each name once");
        }
    }
    if (count < 0)
        *status = fail_row(c, index, "it has more than %d levers", WS_PACK_LEVERS_MAX);
    free(copy);
    return *status == WS_OK ? sorted : NULL;
}

/* Parts. */

static int compare_parts(const void *a, const void *b)
{
    const struct ws_pack_part *x = a, *y = b;
    const int order = strcmp(x->sha256, y->sha256);
    return order != 0 || !x->symbol ? order : strcmp(x->symbol, y->symbol);
}

static void sort_parts(struct ws_pack_parts *parts)
{
    uint32_t kept = 0;
    if (parts->count > 1)
        qsort(parts->of, parts->count, sizeof *parts->of, compare_parts);
    for (uint32_t i = 0; i < parts->count; i++) {
        if (kept == 0 || strcmp(parts->of[kept - 1].sha256, parts->of[i].sha256) != 0)
            parts->of[kept++] = parts->of[i];
    }
    parts->count = kept;
}

static void add_part(struct ws_pack_parts *parts, const struct ws_pack_part *part)
{
    parts->of[parts->count++] = *part;
}

/* Rows: what follows from the rest of a row, and its checks. */

/* The columns that the writer fills. */
static enum ws_status derive(struct composer *c, uint32_t index)
{
    const struct ws_pack_row *row = &c->rows[index];
    struct ws_composition *made = c->made;
    struct ws_variant *v = &c->variants[index];
    enum ws_status status;
    *v = row->variant;
    for (int i = 0; i < WS_COLUMN_COUNT; i++) {
        const char **text = ws_column_text(&ws_columns[i], v);
        if (text && !*text)
            *text = "";
    }
    v->digest = v->arguments = v->object = "";
    v->object_bytes = 0;
    const char *levers = sort_levers(c, index, &status);
    if (status != WS_OK)
        return status;
    v->levers = hash_text(c, levers);
    if (v->levers)
        add_part(&made->lever_sets, &(struct ws_pack_part){.sha256 = v->levers, .text = levers});
    if (row->blob) {
        const char *arguments = row->arguments ? row->arguments : "";
        v->object = row->blob->sha256;
        v->object_bytes = (int32_t)row->blob->bytes;
        v->arguments = hash_text(c, arguments);
        if (v->arguments)
            add_part(&made->interfaces,
                     &(struct ws_pack_part){.sha256 = v->arguments, .text = arguments});
        add_part(&made->objects, &(struct ws_pack_part){
                                     .sha256 = v->object, .blob = row->blob, .symbol = v->symbol});
    }
    return v->levers && v->arguments ? WS_OK : fail_memory(c);
}

/* Holds each column against what the reader takes. */
static enum ws_status check_columns(struct composer *c, uint32_t index)
{
    struct ws_variant copy = {0};
    struct ws_error why;
    char rule[WS_RULE_TEXT_SIZE];
    for (int i = 0; i < WS_COLUMN_COUNT; i++) {
        const struct ws_cell cell = ws_column_get(&ws_columns[i], &c->variants[index], rule);
        if (cell.type == WS_CELL_TEXT && !is_printable(cell.text))
            return ws_fail(c->error, WS_ERROR_ARGUMENT,
                           "row %" PRIu32 ": its %s has control characters", index,
                           ws_columns[i].name);
        const enum ws_status status =
            ws_column_set(&ws_columns[i], &copy, &cell, &c->made->arena, &why);
        if (status != WS_OK)
            return status == WS_ERROR_MEMORY ? fail_memory(c)
                                             : fail_row(c, index, "%s", why.message);
    }
    return WS_OK;
}

static enum ws_status check_row(struct composer *c, uint32_t index)
{
    struct ws_error why;
    const enum ws_status status = check_columns(c, index);
    if (status != WS_OK)
        return status;
    if (ws_variant_check(c->variants, c->count, index, &why) != WS_OK)
        return fail_row(c, index, "%s", why.message);
    for (uint32_t i = 0; i < c->variants[index].region_count; i++) {
        const struct ws_region *region = &c->variants[index].regions[i];
        if (!region->argument || !is_printable(region->argument) || region->bytes.term_count == 0 ||
            !ws_variant_region_offset(&c->variants[index], region, &(uint32_t){0}))
            return fail_row(c, index,
                            "a region should have bytes and name a pointer of the argument block");
    }
    return WS_OK;
}

/* Kernels first: the digests of steps go into those of what they are steps of. */
static enum ws_status make_digests(struct composer *c)
{
    for (int of_steps = 0; of_steps <= 1; of_steps++) {
        for (uint32_t i = 0; i < c->count; i++) {
            char digest[WS_PACK_HASH_SIZE];
            if ((c->variants[i].step_count > 0) != (of_steps == 1))
                continue;
            ws_variant_digest(c->variants, i, digest);
            c->variants[i].digest = ws_arena_text(&c->made->arena, digest, sizeof digest - 1);
            if (!c->variants[i].digest)
                return fail_memory(c);
        }
    }
    return WS_OK;
}

/* The order of the pack. */

static int compare_variants(const void *a, const void *b, void *variants)
{
    const struct ws_variant *x = (const struct ws_variant *)variants + *(const uint32_t *)a;
    const struct ws_variant *y = (const struct ws_variant *)variants + *(const uint32_t *)b;
    int order = strcmp(x->spec_id, y->spec_id);
    if (order == 0)
        order = strcmp(x->symbol, y->symbol);
    return order != 0 ? order : strcmp(x->digest, y->digest);
}

/* Sorts the rows and gives each its place; equal ones share it. */
static enum ws_status place_rows(struct composer *c)
{
    struct ws_composition *made = c->made;
    for (uint32_t i = 0; i < c->count; i++)
        c->order[i] = i;
    qsort_r(c->order, c->count, sizeof *c->order, compare_variants, c->variants);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct ws_variant *v = &c->variants[c->order[i]];
        const struct ws_variant *before = i > 0 ? &c->variants[c->order[i - 1]] : NULL;
        const bool is_same = before && strcmp(before->digest, v->digest) == 0;
        if (before && !is_same && strcmp(before->spec_id, v->spec_id) == 0 &&
            strcmp(before->symbol, v->symbol) == 0)
            return ws_fail(c->error, WS_ERROR_ARGUMENT,
                           "rows %" PRIu32 " and %" PRIu32 " differ but have the same symbol (%s) "
                           "and spec_id (%.16s...); a pack has one of them",
                           c->order[i - 1], c->order[i], v->symbol, v->spec_id);
        if (!is_same)
            made->variants[made->count++] = *v;
        c->place[c->order[i]] = made->count - 1;
    }
    return WS_OK;
}

/* Steps by their places. */
static enum ws_status place_steps(struct composer *c)
{
    for (uint32_t i = 0; i < c->made->count; i++) {
        struct ws_variant *v = &c->made->variants[i];
        if (v->step_count == 0)
            continue;
        uint32_t *steps = ws_arena_take(&c->made->arena, v->step_count * sizeof *steps);
        if (!steps)
            return fail_memory(c);
        for (uint32_t j = 0; j < v->step_count; j++)
            steps[j] = c->place[v->steps[j]];
        v->steps = steps;
    }
    return WS_OK;
}

static enum ws_status make_digest(struct composer *c)
{
    struct ws_composition *made = c->made;
    const char **digests =
        (const char **)ws_arena_take(&made->arena, made->count * sizeof(const char *));
    if (!digests)
        return fail_memory(c);
    for (uint32_t i = 0; i < made->count; i++)
        digests[i] = made->variants[i].digest;
    ws_pack_digest_of(digests, made->count, made->digest);
    return WS_OK;
}

static bool make_room(struct composer *c)
{
    struct ws_composition *made = c->made;
    struct ws_arena *arena = &made->arena;
    const size_t count = c->count;
    struct ws_pack_parts *const parts[] = {&made->lever_sets, &made->interfaces, &made->objects};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        parts[i]->of = ws_arena_take(arena, count * sizeof *parts[i]->of);
        if (!parts[i]->of)
            return false;
    }
    made->names = (const char **)ws_arena_take(arena, WS_PACK_LEVERS_MAX * sizeof(const char *));
    made->variants = ws_arena_take(arena, count * sizeof *made->variants);
    c->variants = ws_arena_take(arena, count * sizeof *c->variants);
    c->order = ws_arena_take(arena, count * sizeof *c->order);
    c->place = ws_arena_take(arena, count * sizeof *c->place);
    return made->names && made->variants && c->variants && c->order && c->place;
}

enum ws_status ws_compose(struct ws_composition *composition, const struct ws_pack_row *rows,
                          size_t count, struct ws_error *error)
{
    struct composer c = {
        .made = composition, .rows = rows, .count = (uint32_t)count, .error = error};
    *composition = (struct ws_composition){0};
    if (count > WS_PACK_ROWS_MAX)
        return ws_fail(error, WS_ERROR_ARGUMENT, "%zu rows; a pack has at most %d", count,
                       WS_PACK_ROWS_MAX);
    enum ws_status status = make_room(&c) ? WS_OK : fail_memory(&c);
    for (uint32_t i = 0; status == WS_OK && i < c.count; i++)
        status = derive(&c, i);
    for (uint32_t i = 0; status == WS_OK && i < c.count; i++)
        status = check_row(&c, i);
    if (status == WS_OK)
        status = make_digests(&c);
    if (status == WS_OK)
        status = place_rows(&c);
    if (status == WS_OK)
        status = place_steps(&c);
    if (status != WS_OK)
        return status;
    sort_parts(&composition->lever_sets);
    sort_parts(&composition->interfaces);
    sort_parts(&composition->objects);
    qsort((void *)composition->names, composition->name_count, sizeof *composition->names,
          compare_lines);
    status = make_digest(&c);
    return status == WS_OK ? ws_compose_objects(composition, error) : status;
}

void ws_composition_free(struct ws_composition *composition)
{
    if (composition->deltas)
        ws_deltas_free(composition->deltas, composition->objects.count);
    ws_arena_free(&composition->arena);
    *composition = (struct ws_composition){0};
}
