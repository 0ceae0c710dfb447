/* A spec: what kernel to generate. Part of the public interface (included by gen/wavesmith.h). */
#ifndef WS_GEN_SPEC_H
#define WS_GEN_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/args.h"
#include "runtime/abi/choices.h"
#include "runtime/abi/digest.h"
#include "runtime/abi/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The launches of a backward. */
#define WS_PART_VALUES(VALUE)                                                                      \
    VALUE(WS_PART_MAIN, main)                                                                      \
    VALUE(WS_PART_DELTA, delta) VALUE(WS_PART_DQ, dq) VALUE(WS_PART_CAST, cast)
#define VALUE(constant, word) constant,
enum ws_part { WS_PART_VALUES(VALUE) };
#undef VALUE

/* Values of levers (WS_V_MODE_GATHER, ...), in the order of the table. */
#define VALUE(constant, word) constant,
#define ENUM(name, kinds, init, values, help) enum { values };
#define INTEGER(name, kinds, init, values, help)
#define FLAG(name, kinds, init, help)
#include "gen/levers.def"
#undef ENUM
#undef INTEGER
#undef FLAG
#undef VALUE

enum ws_lever {
#define ENUM(name, kinds, init, values, help) WS_LEVER_##name,
#define INTEGER(name, kinds, init, values, help) WS_LEVER_##name,
#define FLAG(name, kinds, init, help) WS_LEVER_##name,
#include "gen/levers.def"
#undef ENUM
#undef INTEGER
#undef FLAG
    WS_LEVER_COUNT
};

/* Head dims that a spec may have at all; a kernel's check narrows them. */
enum { WS_HEAD_DIM_MIN = 16, WS_HEAD_DIM_MAX = 256, WS_HEAD_DIM_STEP = 8 };

enum { WS_OPTIONS_MAX = 16, WS_OPTION_SIZE = 128 };

/* Fields and levers that the kind does not have stay at their defaults.
 * Plain data, no ownership: copy it freely. Fill it with ws_spec_init, then ws_spec_set or the
 * fields; nothing is checked before ws_spec_check. */
struct ws_spec {
    enum ws_kernel_kind kind;
    char arch[32];
    enum ws_dtype dtype;
    enum ws_out out;             /* gemm: element type of C */
    int head_dim_qk, head_dim_v; /* 0: still open */
    enum ws_mask mask;
    enum ws_align align; /* which corner of the score matrix the diagonal is anchored to */
    /* Of mask window: keys to either side of the diagonal, or WS_WINDOW_OPEN; or both
     * WS_WINDOW_AT_LAUNCH: the arguments say it. */
    int window_left, window_right;
    /* V as [key][head dim] or as [head dim][key]; what comes last is contiguous. */
    enum ws_v_layout v_layout;
    bool lse; /* write the log-sum-exp */
    bool varlen, softcap, sink, alibi, bias;
    enum ws_part part; /* fmha_bwd: which of its launches */
    int alignment;     /* bytes that every pointer and stride is a multiple of: 2, 4, 8, 16 */
    int lever[WS_LEVER_COUNT]; /* an enum lever's value is its index in the table's value list */
    char options[WS_OPTIONS_MAX][WS_OPTION_SIZE]; /* LLVM backend options, "" past the last */
};

enum ws_lever_type { WS_LEVER_ENUM, WS_LEVER_INTEGER, WS_LEVER_FLAG };

struct ws_lever_info {
    const char *name;
    enum ws_lever_type type;
    unsigned kinds; /* bit 1 << kind of each kernel kind that has it */
    const char *default_text;
    const char *values; /* separated by spaces */
    const char *help;
};

/* The table row of a lever below WS_LEVER_COUNT; static. */
WS_API const struct ws_lever_info *ws_lever_info(enum ws_lever lever);

/* The lever of a name, or WS_LEVER_COUNT. */
WS_API enum ws_lever ws_lever_find(const char *name);

/* Writes a lever's value as text ("gather", "16", "1") into buffer. */
WS_API void ws_lever_text(const struct ws_spec *spec, enum ws_lever lever, char *buffer,
                          size_t size);

/* docs/levers.md: every lever and field as Markdown tables; malloc'ed, NULL without memory. */
WS_API char *ws_levers_markdown(void);

/* Defaults of everything, gfx1151, f16, no mask, lse, alignment 16, head dims open. */
WS_API void ws_spec_init(struct ws_spec *spec, enum ws_kernel_kind kind);

/* Sets one field or lever by its configuration name: "arch", "head_dim", "mask", "v_mode", or with
 * its section, "levers.v_mode", "features.lse". "options" takes all options, separated by spaces.
 * WS_ERROR_SPEC for an unknown name (with the nearest one) or value (with those that exist); the
 * spec is as it was then. */
WS_API enum ws_status ws_spec_set(struct ws_spec *spec, const char *name, const char *value,
                                  struct ws_error *error);

/* Whether head dims of a kind that has them are still to come. */
WS_API bool ws_spec_is_open(const struct ws_spec *spec);

/* Whether a kernel can be generated from it. WS_ERROR_SPEC: which levers conflict, their values,
 * and what would work. */
WS_API enum ws_status ws_spec_check(const struct ws_spec *spec, struct ws_error *error);

enum { WS_ID_SIZE = WS_SHA256_SIZE, WS_SYMBOL_SIZE = 256, WS_CANONICAL_SIZE = 4096 };

/* The spec in canonical form, one "name=value" a line: generator version, kind, target, dtype,
 * problem flags, every lever of the kind. What the identity is the SHA-256 of. */
WS_API void ws_spec_canonical(const struct ws_spec *spec, char text[WS_CANONICAL_SIZE]);

/* Identities are of specs that pass ws_spec_check: then no two that differ share one. */

/* Spec identity: SHA-256 of the canonical form, 64 hex digits and a NUL. */
WS_API void ws_spec_id(const struct ws_spec *spec, char id[WS_ID_SIZE]);

/* The kernel's symbol: a readable part and the first 16 hex digits of the identity. */
WS_API void ws_spec_symbol(const struct ws_spec *spec, char symbol[WS_SYMBOL_SIZE]);

#ifdef __cplusplus
}
#endif
#endif
