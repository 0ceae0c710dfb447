/* wavesmith pack merge, diff, extract: whole packs, and objects out of them. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/output.h"
#include "tools/wavesmith/pack.h"

/* The rows of several packs, one after the other. */
struct merge {
    struct ws_pack **packs;
    size_t pack_count;
    struct ws_pack_row *rows;
    struct ws_pack_blob *blobs; /* of the rows */
    uint32_t **steps;           /* of the rows, counted over all packs; NULL where there are none */
    size_t count, room;
};

static enum ws_status open_all(struct merge *merge, const struct ws_list *paths,
                               struct ws_error *error)
{
    merge->packs = (struct ws_pack **)calloc(paths->count, sizeof *merge->packs);
    if (!merge->packs)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu packs", paths->count);
    for (; merge->pack_count < paths->count; merge->pack_count++) {
        struct ws_pack **pack = &merge->packs[merge->pack_count];
        enum ws_status status = ws_pack_open(pack, paths->items[merge->pack_count], NULL, error);
        if (status != WS_OK)
            return status;
        merge->room += ws_pack_count(*pack);
    }
    merge->rows = calloc(merge->room + 1, sizeof *merge->rows);
    merge->blobs = calloc(merge->room + 1, sizeof *merge->blobs);
    merge->steps = (uint32_t **)calloc(merge->room + 1, sizeof *merge->steps);
    return merge->rows && merge->blobs && merge->steps
               ? WS_OK
               : ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu rows", merge->room);
}

/* Steps count rows, which lie `base` further on in the merged array. */
static bool move_steps(struct merge *merge, size_t row, uint32_t base)
{
    struct ws_variant *variant = &merge->rows[row].variant;
    if (variant->step_count == 0)
        return true;
    uint32_t *steps = malloc(variant->step_count * sizeof *steps);
    if (!steps)
        return false;
    for (uint32_t i = 0; i < variant->step_count; ++i)
        steps[i] = variant->steps[i] + base;
    variant->steps = merge->steps[row] = steps;
    return true;
}

static enum ws_status add_pack(struct merge *merge, const struct ws_pack *pack,
                               struct ws_error *error)
{
    struct ws_pack_row *rows = NULL;
    enum ws_status status = ws_pack_rows(&rows, pack, error);
    uint32_t base = (uint32_t)merge->count;
    for (uint32_t i = 0; i < ws_pack_count(pack) && status == WS_OK; ++i) {
        size_t row = merge->count++;
        merge->rows[row] = rows[i];
        if (!move_steps(merge, row, base))
            status = ws_fail(error, WS_ERROR_MEMORY, "out of memory for steps");
        if (status != WS_OK || rows[i].variant.step_count > 0)
            continue;
        status = ws_pack_blob_read(&merge->blobs[row], pack, i, error);
        merge->rows[row].blob = &merge->blobs[row];
    }
    free(rows);
    return status;
}

/* A row of a pack, for sorting. */
struct origin {
    const struct ws_variant *variant;
    const struct ws_pack *pack;
};

static int compare_origins(const void *a, const void *b)
{
    const struct ws_variant *x = ((const struct origin *)a)->variant;
    const struct ws_variant *y = ((const struct origin *)b)->variant;
    int order = strcmp(x->spec_id, y->spec_id);
    return order ? order : strcmp(x->symbol, y->symbol);
}

/* Two packs that say different things of one kernel. */
static enum ws_status check_conflicts(const struct merge *merge, struct ws_error *error)
{
    struct origin *origins = calloc(merge->room + 1, sizeof *origins);
    enum ws_status status = WS_OK;
    size_t count = 0;
    if (!origins)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu rows", merge->room);
    for (size_t p = 0; p < merge->pack_count; ++p)
        for (uint32_t i = 0; i < ws_pack_count(merge->packs[p]); ++i)
            origins[count++] =
                (struct origin){ws_pack_variant(merge->packs[p], i), merge->packs[p]};
    qsort(origins, count, sizeof *origins, compare_origins);
    for (size_t i = 1; i < count && status == WS_OK; ++i) {
        const struct origin *a = &origins[i - 1];
        const struct origin *b = &origins[i];
        if (compare_origins(a, b) == 0 && strcmp(a->variant->digest, b->variant->digest) != 0)
            status =
                ws_fail(error, WS_ERROR_ARGUMENT,
                        "'%s' and '%s' differ about %s (spec_id %.16s...): digests %.16s... "
                        "and %.16s...; `wavesmith pack diff` says in what",
                        ws_pack_path(a->pack), ws_pack_path(b->pack), ws_variant_name(a->variant),
                        a->variant->spec_id, a->variant->digest, b->variant->digest);
    }
    free(origins);
    return status;
}

static void end_merge(struct merge *merge)
{
    for (size_t i = 0; i < merge->count; ++i) {
        ws_pack_blob_free(&merge->blobs[i]);
        free(merge->steps[i]);
    }
    for (size_t i = 0; i < merge->pack_count; ++i)
        ws_pack_close(merge->packs[i]);
    free((void *)merge->packs);
    free((void *)merge->steps);
    free(merge->blobs);
    free(merge->rows);
}

int ws_command_pack_merge(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct merge merge = {0};
    char digest[WS_PACK_HASH_SIZE] = "";
    int code = WS_EXIT_OK;
    enum ws_status status = WS_OK;
    if (!arguments->output)
        status = ws_fail(&error, WS_ERROR_ARGUMENT, "`wavesmith pack merge` needs -o FILE");
    if (status == WS_OK)
        status = open_all(&merge, &arguments->operands, &error);
    if (status == WS_OK)
        status = check_conflicts(&merge, &error);
    for (size_t i = 0; i < merge.pack_count && status == WS_OK; ++i)
        status = add_pack(&merge, merge.packs[i], &error);
    if (status == WS_OK)
        status = ws_pack_write(arguments->output, merge.rows, merge.count, digest, &error);
    if (status != WS_OK)
        code = ws_report_error(&error);
    else if (arguments->json)
        code =
            ws_print_json(json_pack("{s:s, s:s}", "output", arguments->output, "digest", digest));
    else
        printf("%s: digest %s\n", arguments->output, digest);
    end_merge(&merge);
    return code;
}

/* Differences. */

/* Columns in which two variants differ, and whether their levers do. */
static json_t *differing_columns(const struct ws_variant *a, const struct ws_variant *b)
{
    json_t *names = json_array();
    json_t *x = ws_variant_json(a);
    json_t *y = ws_variant_json(b);
    const char *name;
    json_t *value;
    json_object_foreach(x, name, value)
    {
        if (!json_equal(value, json_object_get(y, name)))
            json_array_append_new(names, json_string(name));
    }
    json_decref(x);
    json_decref(y);
    return names;
}

static int compare_variants(const struct ws_variant *x, const struct ws_variant *y)
{
    if (!x || !y)
        return x ? -1 : y ? 1 : 0;
    int order = strcmp(x->spec_id, y->spec_id);
    return order ? order : strcmp(x->symbol, y->symbol);
}

/* Both packs are in the order of spec_id, then symbol. */
static void find_differences(const struct ws_pack *packs[2], json_t *only[2], json_t *changed)
{
    uint32_t at[2] = {0, 0};
    for (;;) {
        const struct ws_variant *x = ws_pack_variant(packs[0], at[0]);
        const struct ws_variant *y = ws_pack_variant(packs[1], at[1]);
        if (!x && !y)
            return;
        int order = compare_variants(x, y);
        if (x && y && order == 0 && strcmp(x->digest, y->digest) != 0)
            json_array_append_new(changed, json_pack("{s:s, s:o}", "symbol", ws_variant_name(x),
                                                     "columns", differing_columns(x, y)));
        if (x && order < 0)
            json_array_append_new(only[0], json_string(ws_variant_name(x)));
        if (y && order > 0)
            json_array_append_new(only[1], json_string(ws_variant_name(y)));
        at[0] += order <= 0;
        at[1] += order >= 0;
    }
}

static void print_differences(json_t *const only[2], const json_t *changed)
{
    size_t index;
    size_t column;
    const json_t *item;
    const json_t *name;
    for (int side = 0; side < 2; ++side)
        json_array_foreach(only[side], index, item)
            printf("%c %s\n", side == 0 ? '-' : '+', json_string_value(item));
    json_array_foreach(changed, index, item)
    {
        printf("! %s:", json_string_value(json_object_get(item, "symbol")));
        json_array_foreach(json_object_get(item, "columns"), column, name)
            printf(" %s", json_string_value(name));
        putchar('\n');
    }
    printf("%zu only in the first, %zu only in the second, %zu differ\n", json_array_size(only[0]),
           json_array_size(only[1]), json_array_size(changed));
}

int ws_command_pack_diff(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct ws_pack *packs[2] = {NULL, NULL};
    json_t *only[2] = {json_array(), json_array()};
    json_t *changed = json_array();
    int code = WS_EXIT_OK;
    enum ws_status status = ws_pack_open(&packs[0], arguments->operand, NULL, &error);
    if (status == WS_OK)
        status = ws_pack_open(&packs[1], arguments->operands.items[1], NULL, &error);
    if (status == WS_OK) {
        find_differences((const struct ws_pack *[2]){packs[0], packs[1]}, only, changed);
        size_t count =
            json_array_size(only[0]) + json_array_size(only[1]) + json_array_size(changed);
        code = count > 0 ? WS_EXIT_FAILED : WS_EXIT_OK;
    }
    if (status != WS_OK)
        code = ws_report_error(&error);
    else if (arguments->json)
        ws_print_json(json_pack("{s:O, s:O, s:O}", "only_first", only[0], "only_second", only[1],
                                "changed", changed));
    else
        print_differences(only, changed);
    json_decref(only[0]);
    json_decref(only[1]);
    json_decref(changed);
    ws_pack_close(packs[0]);
    ws_pack_close(packs[1]);
    return code;
}

/* Of an operation its main step, which has the operation's spec_id; the others are named on stderr.
 */
static uint32_t kernel_of(const struct ws_pack *pack, uint32_t index)
{
    const struct ws_variant *operation = ws_pack_variant(pack, index);
    uint32_t kernel = index;
    for (uint32_t i = 0; i < operation->step_count; ++i)
        if (strcmp(ws_pack_variant(pack, operation->steps[i])->spec_id, operation->spec_id) == 0)
            kernel = operation->steps[i];
    for (uint32_t i = 0; i < operation->step_count && kernel != index; ++i) {
        const struct ws_variant *step = ws_pack_variant(pack, operation->steps[i]);
        if (operation->steps[i] != kernel)
            fprintf(stderr,
                    "wavesmith: %.12s is an operation, this its main step; %.12s is its %s\n",
                    operation->spec_id, step->spec_id, step->symbol);
    }
    return kernel;
}

int ws_command_pack_extract(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct ws_pack *pack = NULL;
    char name[PATH_MAX] = "";
    uint32_t index = 0;
    void *image = NULL;
    size_t size = 0;
    enum ws_status status = ws_pack_open(&pack, arguments->operand, NULL, &error);
    if (status == WS_OK)
        status = ws_pack_find(pack, arguments->operands.items[1], &index, &error);
    if (status == WS_OK) {
        index = kernel_of(pack, index);
        status = ws_pack_object(pack, index, &image, &size, &error);
    }
    if (status == WS_OK) {
        snprintf(name, sizeof name, "%s.hsaco", ws_pack_variant(pack, index)->symbol);
        if (arguments->output)
            snprintf(name, sizeof name, "%s", arguments->output);
        status = ws_write_file(name, image, size, &error);
    }
    int code = WS_EXIT_OK;
    if (status != WS_OK)
        code = ws_report_error(&error);
    else if (arguments->json)
        code = ws_print_json(json_pack("{s:s, s:I}", "output", name, "bytes", (json_int_t)size));
    else
        printf("%s: %zu bytes\n", name, size);
    free(image);
    ws_pack_close(pack);
    return code;
}
