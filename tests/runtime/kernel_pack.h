/* Packs for tests: rows of made-up problems around the kernels of one code object. */
#ifndef RUNTIME_TEST_KERNEL_PACK_H
#define RUNTIME_TEST_KERNEL_PACK_H

#include <unistd.h>

#include "runtime/pack/write.h"
#include "tests/runtime/support.h"
#include "tests/scratch.h"

enum { KERNEL_PACK_ROWS = 1024 };

struct kernel_pack {
    struct bytes image;
    struct ws_object object;
    struct ws_pack_blob blob;
    char **arguments; /* of each kernel of the object */
    struct ws_pack_row *rows;
    char (*ids)[WS_PACK_HASH_SIZE];
    size_t count;
    char path[SCRATCH_PATH]; /* of the pack that kernel_pack_open writes */
};

/* It stays where it is: rows point into it. */
static inline struct kernel_pack *kernel_pack_begin(const char *object)
{
    struct ws_error error;
    struct kernel_pack *made = calloc(1, sizeof *made);
    char name[64];
    assert_non_null(made);
    made->image = read_whole(object);
    assert_ok(ws_object_read(&made->object, made->image.at, made->image.size, &error), &error);
    assert_ok(ws_pack_blob_make(&made->blob, made->image.at, made->image.size, &error), &error);
    made->arguments = (char **)calloc(made->object.kernel_count, sizeof *made->arguments);
    made->rows = calloc(KERNEL_PACK_ROWS, sizeof *made->rows);
    made->ids = calloc(KERNEL_PACK_ROWS, sizeof *made->ids);
    assert_true(made->arguments != NULL && made->rows != NULL && made->ids != NULL);
    for (size_t i = 0; i < made->object.kernel_count; i++)
        made->arguments[i] = ws_pack_arguments_text(&made->object.kernels[i]);
    snprintf(name, sizeof name, "runtime_%d.pack", (int)getpid());
    scratch_path(made->path, name);
    return made;
}

static inline void kernel_pack_end(struct kernel_pack *made)
{
    unlink(made->path);
    for (size_t i = 0; i < made->object.kernel_count; i++)
        free(made->arguments[i]);
    free((void *)made->arguments);
    free(made->rows);
    free(made->ids);
    ws_pack_blob_free(&made->blob);
    ws_object_free(&made->object);
    free(made->image.at);
    free(made);
}

/* A row without problem, constraints or score, whose spec_id sorts by `id`. */
static inline struct ws_variant *kernel_pack_add(struct kernel_pack *made, enum ws_kernel_kind kind,
                                                 uint64_t id)
{
    assert_true(made->count < KERNEL_PACK_ROWS);
    char *text = made->ids[made->count];
    struct ws_pack_row *row = &made->rows[made->count++];
    snprintf(text, WS_PACK_HASH_SIZE, "%064llx", (unsigned long long)id);
    row->levers = "";
    row->variant = (struct ws_variant){.spec_id = text,
                                       .selectable = true,
                                       .kind = kind,
                                       .abi_version = (int32_t)ws_arg_table(kind)->abi_version,
                                       .arch = made->object.arch,
                                       .target = made->object.target,
                                       .alignment = 2,
                                       .seqlen_q_min = -1,
                                       .seqlen_q_max = -1,
                                       .seqlen_k_min = -1,
                                       .seqlen_k_max = -1};
    return &row->variant;
}

/* A row that is a kernel, launched in workgroups of 64 work-items. */
static inline struct ws_variant *kernel_pack_kernel(struct kernel_pack *made, const char *symbol,
                                                    enum ws_kernel_kind kind, uint64_t id,
                                                    const char *grid)
{
    struct ws_error error;
    struct ws_variant *variant = kernel_pack_add(made, kind, id);
    struct ws_pack_row *row = &made->rows[made->count - 1];
    const struct ws_object_kernel *kernel = ws_object_find(&made->object, symbol);
    assert_non_null(kernel);
    ws_pack_take_notes(variant, &made->object, kernel);
    variant->build_id = variant->spec_id;
    variant->block = 64;
    assert_ok(ws_rule_parse(&variant->grid, grid, &error), &error);
    row->arguments = made->arguments[kernel - made->object.kernels];
    row->blob = &made->blob;
    return variant;
}

/* Writes the rows as a pack and opens it. */
static inline struct ws_pack *kernel_pack_open(const struct kernel_pack *made)
{
    struct ws_error error;
    struct ws_pack *pack = NULL;
    assert_ok(ws_pack_write(made->path, made->rows, made->count, NULL, &error), &error);
    assert_ok(ws_pack_open(&pack, made->path, NULL, &error), &error);
    return pack;
}

#endif
