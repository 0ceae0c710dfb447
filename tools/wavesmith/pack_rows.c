/* The rows of a build. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tools/wavesmith/pack_build.h"
#include "tools/wavesmith/trial.h"

/* What a row points to. */
struct ws_pack_product {
    struct ws_object object;
    struct ws_pack_blob blob;
    char *levers, *arguments, *verification;
    char spec_id[WS_ID_SIZE], build_id[WS_ID_SIZE];
    char options[WS_PACK_OPTIONS_SIZE];
    char compiler[96];
    uint32_t steps[WS_FMHA_BWD_STEPS_MAX]; /* of an operation */
    struct ws_region regions[WS_FMHA_BWD_REGIONS_MAX];
};

static void free_product(struct ws_pack_product *product)
{
    ws_object_free(&product->object);
    ws_pack_blob_free(&product->blob);
    free(product->levers);
    free(product->arguments);
    free(product->verification);
    free(product);
}

static bool make_room(struct ws_pack_rows *rows)
{
    if (rows->count < rows->room)
        return true;
    size_t room = rows->room ? 2 * rows->room : 64;
    struct ws_pack_row *grown = realloc(rows->rows, room * sizeof *grown);
    if (grown)
        rows->rows = grown;
    struct ws_pack_product **products =
        (struct ws_pack_product **)realloc((void *)rows->products, room * sizeof *products);
    if (products)
        rows->products = products;
    if (!grown || !products)
        return false;
    rows->room = room;
    return true;
}

/* A new row at the end, with nothing in it; NULL without memory. */
static struct ws_pack_product *add_row(struct ws_pack_rows *rows, struct ws_error *error)
{
    struct ws_pack_product *product = calloc(1, sizeof *product);
    if (!product || !make_room(rows)) {
        free(product);
        ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu rows", rows->count + 1);
        return NULL;
    }
    rows->rows[rows->count] = (struct ws_pack_row){0};
    rows->products[rows->count++] = product;
    return product;
}

static void drop_rows(struct ws_pack_rows *rows, size_t count)
{
    while (rows->count > count)
        free_product(rows->products[--rows->count]);
}

/* Unpacks the object to read its notes. */
static enum ws_status read_object(struct ws_object *object, const struct ws_pack_kernel *kernel,
                                  const char *zstd, struct ws_error *error)
{
    uint8_t *image = malloc(kernel->object_bytes + 1);
    if (!image)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for an object of %zu bytes",
                       kernel->object_bytes);
    size_t size = ZSTD_decompress(image, kernel->object_bytes, zstd, kernel->zstd_bytes);
    enum ws_status status =
        size == kernel->object_bytes
            ? ws_object_read(object, image, size, error)
            : ws_fail(error, WS_ERROR_PACK, "an object does not unpack to its %zu bytes",
                      kernel->object_bytes);
    free(image);
    return status;
}

/* Copies what the row points to. */
static enum ws_status fill_product(struct ws_pack_product *product,
                                   const struct ws_pack_kernel *from, const char *zstd,
                                   const struct ws_spec *spec, const struct ws_object_kernel *notes,
                                   struct ws_error *error)
{
    struct ws_pack_blob *blob = &product->blob;
    product->levers = ws_spec_levers(spec);
    product->arguments = ws_pack_arguments_text(notes);
    blob->zstd = malloc(from->zstd_bytes);
    if (!product->levers || !product->arguments || !blob->zstd)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a row");
    memcpy(blob->zstd, zstd, from->zstd_bytes);
    memcpy(blob->sha256, from->sha256, sizeof blob->sha256);
    blob->zstd_bytes = from->zstd_bytes;
    blob->bytes = from->object_bytes;
    memcpy(product->build_id, from->build_id, sizeof product->build_id);
    snprintf(product->compiler, sizeof product->compiler, "%s %s", from->backend,
             from->backend_version);
    return WS_OK;
}

static void fill_row(struct ws_pack_row *row, struct ws_pack_product *product,
                     const struct ws_pack_kernel *from, const struct ws_spec *spec,
                     const struct ws_object_kernel *notes)
{
    struct ws_variant *variant = &row->variant;
    *row = (struct ws_pack_row){
        .levers = product->levers, .arguments = product->arguments, .blob = &product->blob};
    ws_pack_take_notes(variant, &product->object, notes);
    ws_variant_take_spec(variant, spec, product->spec_id, product->options);
    variant->build_id = product->build_id;
    variant->compiler = product->compiler;
    variant->score = from->score;
    variant->block = (int32_t)from->shape.block[0];
    variant->grid = from->shape.grid;
    variant->seqlen_q_min = variant->seqlen_q_max = -1;
    variant->seqlen_k_min = variant->seqlen_k_max = -1;
}

/* A kernel, which selection does not choose. */
static enum ws_status add_kernel(struct ws_pack_rows *rows, const struct ws_pack_kernel *kernel,
                                 const struct ws_spec *spec, const char *zstd,
                                 struct ws_error *error)
{
    const struct ws_object_kernel *notes = NULL;
    struct ws_pack_product *product = add_row(rows, error);
    enum ws_status status =
        product ? read_object(&product->object, kernel, zstd, error) : WS_ERROR_MEMORY;
    if (status == WS_OK)
        status = ws_object_choose(&product->object, kernel->shape.symbol, &notes, error);
    if (status == WS_OK)
        status = fill_product(product, kernel, zstd, spec, notes, error);
    if (status == WS_OK)
        fill_row(&rows->rows[rows->count - 1], product, kernel, spec, notes);
    return status;
}

/* The columns of a kernel are the main part's. */
static void fill_operation(struct ws_pack_rows *rows, size_t first, const struct ws_spec *spec)
{
    struct ws_fmha_bwd_region regions[WS_FMHA_BWD_REGIONS_MAX];
    struct ws_spec steps[WS_FMHA_BWD_STEPS_MAX];
    struct ws_pack_product *product = rows->products[rows->count - 1];
    struct ws_pack_row *row = &rows->rows[rows->count - 1];
    struct ws_variant *variant = &row->variant;
    double score = 0;
    const int count = ws_launches_of(spec, steps);
    for (int i = 0; i < count; ++i) {
        const struct ws_pack_row *step = &rows->rows[first + (size_t)i];
        score += step->variant.score;
        if (steps[i].part == spec->part)
            *row = (struct ws_pack_row){.variant = step->variant, .levers = step->levers};
    }
    variant->step_count = (uint32_t)count;
    variant->region_count = (uint32_t)ws_fmha_bwd_regions(spec, regions);
    for (uint32_t i = 0; i < variant->region_count; ++i)
        product->regions[i] = (struct ws_region){
            .argument = regions[i].argument, .bytes = regions[i].bytes, .zero = regions[i].zero};
    variant->build_id = variant->symbol = variant->target = NULL;
    variant->grid = (struct ws_rule){0};
    variant->score = score;
    variant->steps = product->steps;
    variant->regions = product->regions;
}

static enum ws_status add_operation(struct ws_pack_rows *rows, size_t first,
                                    const struct ws_spec *spec, struct ws_error *error)
{
    if (!add_row(rows, error))
        return WS_ERROR_MEMORY;
    fill_operation(rows, first, spec);
    return WS_OK;
}

/* What selection asks of the last row. */
static enum ws_status offer(struct ws_pack_rows *rows, const struct ws_when *when,
                            const char *verification, size_t bytes, struct ws_error *error)
{
    struct ws_variant *variant = &rows->rows[rows->count - 1].variant;
    struct ws_pack_product *product = rows->products[rows->count - 1];
    product->verification = strndup(verification, bytes);
    if (!product->verification)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a row");
    variant->verification = product->verification;
    variant->selectable = true;
    variant->seqlen_q_min = (int32_t)when->seqlen_q.min;
    variant->seqlen_q_max = (int32_t)when->seqlen_q.max;
    variant->seqlen_k_min = (int32_t)when->seqlen_k.min;
    variant->seqlen_k_max = (int32_t)when->seqlen_k.max;
    return WS_OK;
}

enum ws_status ws_pack_rows_add(struct ws_pack_rows *rows, const struct ws_config_point *point,
                                const struct ws_pack_answer *answer, const char *parts,
                                struct ws_error *error)
{
    const size_t first = rows->count;
    const char *zstd = parts + answer->verification_bytes;
    struct ws_spec launches[WS_FMHA_BWD_STEPS_MAX];
    const int count = ws_launches_of(&point->spec, launches);
    enum ws_status status = WS_OK;
    for (int i = 0; i < count && i < WS_FMHA_BWD_STEPS_MAX && status == WS_OK; ++i) {
        status = add_kernel(rows, &answer->kernels[i], &launches[i], zstd, error);
        zstd += answer->kernels[i].zstd_bytes;
    }
    if (status == WS_OK && count > 1)
        status = add_operation(rows, first, &point->spec, error);
    if (status == WS_OK)
        status = offer(rows, &point->when, parts, answer->verification_bytes, error);
    if (status != WS_OK)
        drop_rows(rows, first);
    return status;
}

void ws_pack_rows_copy(struct ws_pack_rows *rows, size_t row, struct ws_pack_row *to, size_t *count)
{
    const uint32_t steps = rows->rows[row].variant.step_count;
    for (uint32_t i = 0; i < steps; ++i)
        rows->products[row]->steps[i] = (uint32_t)*count + i;
    for (size_t i = row - steps; i <= row; ++i)
        to[(*count)++] = rows->rows[i];
}

void ws_pack_rows_free(struct ws_pack_rows *rows)
{
    drop_rows(rows, 0);
    free((void *)rows->products);
    free(rows->rows);
    *rows = (struct ws_pack_rows){0};
}
