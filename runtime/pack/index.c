#include "runtime/pack/index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number of an architecture of `length` characters, or arch_count. */
static uint32_t arch_number(const struct ws_index *index, const char *arch, size_t length)
{
    uint32_t i = 0;
    while (i < index->arch_count &&
           (strncmp(index->archs[i], arch, length) != 0 || index->archs[i][length] != '\0'))
        i++;
    return i;
}

/* What makes no difference to a result must make none to the key. */
static void normalise(struct ws_key *key)
{
    int32_t *field = key->field;
    if (field[WS_KEY_mask] == WS_MASK_NONE && field[WS_KEY_alibi] == 0)
        field[WS_KEY_align] = 0;
    if (field[WS_KEY_mask] != WS_MASK_WINDOW)
        field[WS_KEY_window_left] = field[WS_KEY_window_right] = 0;
}

/* Variants and requests have the same fields. */
#define CHOICE(name, meaning) FIELD(name)
#define INTEGER(name, meaning) FIELD(name)
#define FLAG(name, meaning) FIELD(name)

static struct ws_key variant_key(const struct ws_variant *variant, uint32_t arch)
{
    struct ws_key key;
    key.field[WS_KEY_kind] = (int32_t)variant->kind;
    key.field[WS_KEY_arch] = (int32_t)arch;
#define FIELD(name) key.field[WS_KEY_##name] = (int32_t)variant->name;
#include "runtime/pack/problem.def"
#undef FIELD
    normalise(&key);
    return key;
}

bool ws_index_key(const struct ws_index *index, const struct ws_request *request,
                  struct ws_key *key)
{
    uint32_t arch = arch_number(index, request->target, strcspn(request->target, ":"));
    key->field[WS_KEY_kind] = (int32_t)request->kind;
    key->field[WS_KEY_arch] = (int32_t)arch;
#define FIELD(name) key->field[WS_KEY_##name] = (int32_t)request->name;
#include "runtime/pack/problem.def"
#undef FIELD
    normalise(key);
    return arch < index->arch_count;
}

#undef CHOICE
#undef INTEGER
#undef FLAG

/* FNV-1a, a field at a time; its high bits are the mixed ones. */
static uint32_t hash(const struct ws_key *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < WS_KEY_COUNT; i++)
        hash = (hash ^ (uint32_t)key->field[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)((hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The slot of a key, or the empty one where it belongs. At most half of the slots are in use. */
static uint32_t find_slot(const struct ws_index *index, const struct ws_key *key)
{
    uint32_t slot = hash(key) & index->slot_mask;
    while (index->slots[slot] != WS_INDEX_NONE &&
           memcmp(&index->entries[index->slots[slot]].key, key, sizeof *key) != 0)
        slot = (slot + 1) & index->slot_mask;
    return slot;
}

uint32_t ws_index_find(const struct ws_index *index, const struct ws_key *key)
{
    return index->slots[find_slot(index, key)];
}

bool ws_index_knows_abi(const struct ws_variant *variant)
{
    const struct ws_arg_table *table = ws_arg_table(variant->kind);
    return table != NULL && (uint32_t)variant->abi_version == table->abi_version;
}

static struct ws_index_entry entry_of(const struct ws_variant *variant, uint32_t arch)
{
    const char *features = strchr(variant->target, ':');
    return (struct ws_index_entry){
        .key = variant_key(variant, arch),
        .alignment = variant->alignment > 0 ? variant->alignment : INT32_MAX,
        .seqlen_q_min = variant->seqlen_q_min,
        .seqlen_q_max = variant->seqlen_q_max,
        .seqlen_k_min = variant->seqlen_k_min,
        .seqlen_k_max = variant->seqlen_k_max,
        .tile_q = variant->tile_q > 0 ? variant->tile_q : 1,
        .score = variant->score > 0 ? variant->score : (double)INFINITY,
        .features = features != NULL ? features : "",
    };
}

enum ws_status ws_index_build(struct ws_index *index, const struct ws_variant *variants,
                              uint32_t count, struct ws_error *error)
{
    uint32_t slots = 2;
    while (slots < 2 * (uint64_t)count)
        slots *= 2;
    *index = (struct ws_index){
        .entries = calloc((size_t)count + 1, sizeof *index->entries),
        .slots = malloc(slots * sizeof *index->slots),
        .slot_mask = slots - 1,
        .archs = (const char **)calloc((size_t)count + 1, sizeof *index->archs),
    };
    if (index->entries == NULL || index->slots == NULL || index->archs == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for the index of %u variants", count);
    memset(index->slots, 0xff, slots * sizeof *index->slots);
    /* Downwards, so that each becomes the first of its key. */
    for (uint32_t i = count; i-- > 0;) {
        const char *arch = variants[i].arch;
        uint32_t number = arch_number(index, arch, strlen(arch));
        if (number == index->arch_count)
            index->archs[index->arch_count++] = arch;
        index->entries[i] = entry_of(&variants[i], number);
        if (!variants[i].selectable || !ws_index_knows_abi(&variants[i]))
            continue;
        uint32_t *slot = &index->slots[find_slot(index, &index->entries[i].key)];
        index->entries[i].next = *slot;
        *slot = i;
    }
    return WS_OK;
}

void ws_index_free(struct ws_index *index)
{
    free(index->entries);
    free(index->slots);
    free((void *)index->archs);
    *index = (struct ws_index){0};
}
