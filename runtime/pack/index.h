/* Finds the variants of a problem among those of a pack: a hash table over the fields that must be
 * the same, made when the pack is opened. */
#ifndef WS_PACK_INDEX_H
#define WS_PACK_INDEX_H

#include "runtime/plan.h"

/* The fields of a problem as numbers, brought to one form: what does not matter is 0. */
enum ws_key_field {
    WS_KEY_kind,
    WS_KEY_arch, /* its number in the index */
#define CHOICE(name, meaning) WS_KEY_##name,
#define INTEGER(name, meaning) WS_KEY_##name,
#define FLAG(name, meaning) WS_KEY_##name,
#include "runtime/pack/problem.def"
#undef CHOICE
#undef INTEGER
#undef FLAG
    WS_KEY_COUNT
};

struct ws_key {
    int32_t field[WS_KEY_COUNT];
};

/* What choosing between variants of one problem reads, close together. */
struct ws_index_entry {
    struct ws_key key;
    int32_t alignment;
    int32_t seqlen_q_min, seqlen_q_max, seqlen_k_min, seqlen_k_max;
    int32_t tile_q;
    double score;         /* infinite where it is unknown */
    const char *features; /* of its target, ":xnack+"; "" */
    uint32_t next;        /* the next variant of the same key, a higher one; WS_INDEX_NONE */
};

#define WS_INDEX_NONE UINT32_MAX

struct ws_index {
    struct ws_index_entry *entries; /* one a variant */
    uint32_t *slots;                /* the first variant of each key, or WS_INDEX_NONE */
    uint32_t slot_mask;
    const char **archs; /* of the variants, each once; the strings are the variants' */
    uint32_t arch_count;
};

/* Indexes those variants that are selectable and of a known ABI. They must outlive the index. */
enum ws_status ws_index_build(struct ws_index *index, const struct ws_variant *variants,
                              uint32_t count, struct ws_error *error);

/* Whether this library has the variant's version of the argument block. */
bool ws_index_knows_abi(const struct ws_variant *variant);

/* A zeroed one is fine. */
void ws_index_free(struct ws_index *index);

/* The key of a request; false if the index knows no such architecture. */
bool ws_index_key(const struct ws_index *index, const struct ws_request *request,
                  struct ws_key *key);

/* The first variant of a key, or WS_INDEX_NONE. */
uint32_t ws_index_find(const struct ws_index *index, const struct ws_key *key);

#endif
