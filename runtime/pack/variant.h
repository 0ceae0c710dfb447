/* A variant of a pack: one row of its table `variant`. Part of the public interface (included by
 * runtime/pack/pack.h). */
#ifndef WS_PACK_VARIANT_H
#define WS_PACK_VARIANT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/abi/args.h"
#include "runtime/abi/choices.h"
#include "runtime/abi/digest.h"
#include "runtime/abi/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WS_PACK_SCHEMA = 1, /* the newest that this library reads, and the one it writes */
    WS_PACK_HASH_SIZE = WS_SHA256_SIZE,
    WS_PACK_STEPS_MAX = 8,       /* of a variant */
    WS_PACK_REGIONS_MAX = 8,     /* of a variant */
    WS_PACK_OBJECT_MAX = 1 << 24 /* bytes of a code object */
};

/* A part of the workspace of an operation. */
struct ws_region {
    const char *argument; /* the pointer of the argument block that is set to it */
    uint32_t offset;      /* of that pointer in the block, bytes */
    struct ws_rule bytes;
    bool zero; /* it is zeroed before the first launch */
};

/* Plain data; what it points to belongs to the pack. Meanings: runtime/pack/columns.def. Texts are
 * never NULL. */
struct ws_variant {
#define TEXT(name, meaning) const char *name;
#define HASH(name, meaning) const char *name;
#define DIGEST(name, meaning) const char *name;
#define KIND(name, meaning) enum ws_kernel_kind name;
#define CHOICE(name, meaning) enum ws_##name name;
#define RULE(name, meaning) struct ws_rule name;
#define FLAG(name, meaning) bool name;
#define INTEGER(name, meaning) int32_t name;
#define REAL(name, meaning) double name;
#include "runtime/pack/columns.def"
    /* The variants whose kernels are launched one after the other, all with the same argument
     * block. Without steps the variant is one kernel, and launches that. A step's variant has no
     * steps. */
    const uint32_t *steps;
    uint32_t step_count;
    const struct ws_region *regions;
    uint32_t region_count;
};

#ifdef __cplusplus
}
#endif
#endif
