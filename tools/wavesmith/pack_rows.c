/* The rows of a build. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tools/wavesmith/pack_build.h"

/* What a row points to. */
struct ws_pack_product {
    struct ws_object object;
    struct ws_pack_blob blob;
    char *levers, *arguments, *verification;
    char spec_id[WS_ID_SIZE], build_id[WS_ID_SIZE];
    char options[WS_PACK_OPTIONS_SIZE];
    char compiler[96];
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

/* Unpacks the object to read its notes. */
static enum ws_status read_object(struct ws_object *object, const struct ws_pack_answer *answer,
                                  const char *zstd, struct ws_error *error)
{
    uint8_t *image = malloc(answer->object_bytes + 1);
    if (!image)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for an object of %zu bytes",
                       answer->object_bytes);
    size_t size = ZSTD_decompress(image, answer->object_bytes, zstd, answer->zstd_bytes);
    enum ws_status status =
        size == answer->object_bytes
            ? ws_object_read(object, image, size, error)
            : ws_fail(error, WS_ERROR_PACK, "an object does not unpack to its %zu bytes",
                      answer->object_bytes);
    free(image);
    return status;
}

/* Copies what the row points to. */
static enum ws_status fill_product(struct ws_pack_product *product,
                                   const struct ws_pack_answer *answer, const char *parts,
                                   const struct ws_spec *spec,
                                   const struct ws_object_kernel *kernel, struct ws_error *error)
{
    struct ws_pack_blob *blob = &product->blob;
    product->levers = ws_spec_levers(spec);
    product->arguments = ws_pack_arguments_text(kernel);
    product->verification = strndup(parts, answer->verification_bytes);
    blob->zstd = malloc(answer->zstd_bytes);
    if (!product->levers || !product->arguments || !product->verification || !blob->zstd)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for a row");
    memcpy(blob->zstd, parts + answer->verification_bytes, answer->zstd_bytes);
    memcpy(blob->sha256, answer->sha256, sizeof blob->sha256);
    blob->zstd_bytes = answer->zstd_bytes;
    blob->bytes = answer->object_bytes;
    memcpy(product->build_id, answer->build_id, sizeof product->build_id);
    snprintf(product->compiler, sizeof product->compiler, "%s %s", answer->backend,
             answer->backend_version);
    return WS_OK;
}

static void fill_row(struct ws_pack_row *row, struct ws_pack_product *product,
                     const struct ws_pack_answer *answer, const struct ws_config_point *point,
                     const struct ws_object_kernel *kernel)
{
    struct ws_variant *variant = &row->variant;
    *row = (struct ws_pack_row){
        .levers = product->levers, .arguments = product->arguments, .blob = &product->blob};
    ws_pack_take_notes(variant, &product->object, kernel);
    ws_variant_take_spec(variant, &point->spec, product->spec_id, product->options);
    variant->selectable = true;
    variant->build_id = product->build_id;
    variant->compiler = product->compiler;
    variant->verification = product->verification;
    variant->score = answer->score;
    variant->block = (int32_t)answer->shape.block[0];
    variant->grid = answer->shape.grid;
    variant->seqlen_q_min = (int32_t)point->when.seqlen_q.min;
    variant->seqlen_q_max = (int32_t)point->when.seqlen_q.max;
    variant->seqlen_k_min = (int32_t)point->when.seqlen_k.min;
    variant->seqlen_k_max = (int32_t)point->when.seqlen_k.max;
}

enum ws_status ws_pack_rows_add(struct ws_pack_rows *rows, const struct ws_config_point *point,
                                const struct ws_pack_answer *answer, const char *parts,
                                struct ws_error *error)
{
    struct ws_pack_product *product = calloc(1, sizeof *product);
    const struct ws_object_kernel *kernel = NULL;
    if (!product || !make_room(rows)) {
        free(product);
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu rows", rows->count + 1);
    }
    enum ws_status status =
        read_object(&product->object, answer, parts + answer->verification_bytes, error);
    if (status == WS_OK)
        status = ws_object_choose(&product->object, answer->shape.symbol, &kernel, error);
    if (status == WS_OK)
        status = fill_product(product, answer, parts, &point->spec, kernel, error);
    if (status != WS_OK) {
        free_product(product);
        return status;
    }
    fill_row(&rows->rows[rows->count], product, answer, point, kernel);
    rows->products[rows->count++] = product;
    return WS_OK;
}

void ws_pack_rows_free(struct ws_pack_rows *rows)
{
    for (size_t i = 0; i < rows->count; ++i)
        free_product(rows->products[i]);
    free((void *)rows->products);
    free(rows->rows);
    *rows = (struct ws_pack_rows){0};
}
