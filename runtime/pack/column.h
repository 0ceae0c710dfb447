/* The columns of table `variant` (columns.def) as data: between struct ws_variant and cells of the
 * table, and the digest of a row. */
#ifndef WS_PACK_COLUMN_H
#define WS_PACK_COLUMN_H

#include "runtime/abi/arena.h"
#include "runtime/abi/sha256.h"
#include "runtime/pack/variant.h"

enum ws_column_type {
    WS_COLUMN_TEXT,
    WS_COLUMN_HASH,
    WS_COLUMN_DIGEST,
    WS_COLUMN_KIND,
    WS_COLUMN_CHOICE,
    WS_COLUMN_RULE,
    WS_COLUMN_FLAG,
    WS_COLUMN_INTEGER,
    WS_COLUMN_REAL
};

struct ws_column {
    const char *name;
    enum ws_column_type type;
    enum ws_choice choice; /* of a CHOICE */
    size_t offset;         /* in struct ws_variant */
    const char *meaning;
};

enum {
#define TEXT(name, meaning) WS_COLUMN_OF_##name,
#define HASH TEXT
#define DIGEST TEXT
#define KIND TEXT
#define CHOICE TEXT
#define RULE TEXT
#define FLAG TEXT
#define INTEGER TEXT
#define REAL TEXT
#include "runtime/pack/columns.def"
    WS_COLUMN_COUNT
};

extern const struct ws_column ws_columns[WS_COLUMN_COUNT];

/* What SQLite stores of a column: text, a number, or a real number. */
struct ws_cell {
    enum { WS_CELL_TEXT, WS_CELL_INTEGER, WS_CELL_REAL, WS_CELL_OTHER } type;
    const char *text;
    size_t length;
    int64_t integer;
    double real;
};

/* The type of cell that a column has. */
int ws_column_cell_type(const struct ws_column *column);

/* Where a variant has the text of a TEXT, HASH or DIGEST; NULL for another column. */
const char **ws_column_text(const struct ws_column *column, struct ws_variant *variant);

/* The cell of a column of a variant; `scratch` holds the text of a rule. */
struct ws_cell ws_column_get(const struct ws_column *column, const struct ws_variant *variant,
                             char scratch[WS_RULE_TEXT_SIZE]);

/* Sets a column of a variant, copying text into the arena. WS_ERROR_PACK: the column cannot have
 * that value, and what it could have. */
enum ws_status ws_column_set(const struct ws_column *column, struct ws_variant *variant,
                             const struct ws_cell *cell, struct ws_arena *arena,
                             struct ws_error *error);

/* What must hold between the columns, steps and regions of a variant among `count`: WS_ERROR_PACK.
 */
enum ws_status ws_variant_check(const struct ws_variant *variants, uint32_t count, uint32_t index,
                                struct ws_error *error);

/* Where the pointer of a region is in the argument block; false: nowhere. The block of another
 * version is unknown, and no such variant is launched: 0. */
bool ws_variant_region_offset(const struct ws_variant *variant, const struct ws_region *region,
                              uint32_t *offset);

/* The digest of a row: SHA-256 of "wavesmith pack row 1\n", each column but the digest in order,
 * the number of steps and the digest of each one's row, the number of regions and argument, bytes
 * and zero of each. A text is its length and its bytes; a number, as a length, has 8 bytes, the
 * lowest first; a real number is its 64 bits as a number. */
void ws_variant_digest(const struct ws_variant *variants, uint32_t index,
                       char digest[WS_PACK_HASH_SIZE]);

#endif
