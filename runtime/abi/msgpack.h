/* A pull reader of MessagePack, as far as code object notes need it. Allocates nothing and never
 * recurses, so that forged lengths and nesting cost nothing. Source: the MessagePack specification,
 * github.com/msgpack/msgpack/blob/master/spec.md.
 *
 * Why not msgpack-c: it allocates what a count says before it looks for the elements, and has no
 * limit to set (4.0 in C: 8 GiB of addresses for the 5 bytes dd 10 00 00 00). */
#ifndef WS_ABI_MSGPACK_H
#define WS_ABI_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ws_msgpack_kind {
    WS_MSGPACK_INVALID,
    WS_MSGPACK_OTHER, /* nil, boolean, float, negative or extension: nothing that notes use */
    WS_MSGPACK_UINT,
    WS_MSGPACK_STRING,
    WS_MSGPACK_ARRAY,
    WS_MSGPACK_MAP,
};

/* What is left to read. A copy is an independent position. */
struct ws_msgpack {
    const uint8_t *at, *end;
};

struct ws_msgpack_item {
    enum ws_msgpack_kind kind;
    uint64_t value;   /* the integer, the bytes of the string, elements, or pairs */
    const char *text; /* of a string; not terminated */
};

/* Reads the next item; of an array or a map its head only, and the elements (key, value, ...)
 * follow. False where the data ends early or holds the byte that the format never uses. */
bool ws_msgpack_next(struct ws_msgpack *pack, struct ws_msgpack_item *item);

/* Reads past one item with all that it contains. */
bool ws_msgpack_skip(struct ws_msgpack *pack);

/* With `pack` at a map: positions *value at the value of `key`. False without such a key, and where
 * this is no map. */
bool ws_msgpack_find(struct ws_msgpack pack, const char *key, struct ws_msgpack *value);

#endif
