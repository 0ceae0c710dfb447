#include "runtime/abi/msgpack.h"

#include <string.h>

/* What a head byte of 0xc0 to 0xdf announces: `width` bytes of big-endian number follow, and, for
 * `payload`, as many bytes as that number says plus `extra`. */
struct format {
    enum ws_msgpack_kind kind;
    uint8_t width, extra;
    bool payload;
};

static const struct format formats[32] = {
    [0x00] = {WS_MSGPACK_OTHER, 0, 0, false}, /* nil */
    [0x02] = {WS_MSGPACK_OTHER, 0, 0, false}, /* false */
    [0x03] = {WS_MSGPACK_OTHER, 0, 0, false}, /* true */
    [0x04] = {WS_MSGPACK_OTHER, 1, 0, true},  /* bin */
    [0x05] = {WS_MSGPACK_OTHER, 2, 0, true},  /* bin */
    [0x06] = {WS_MSGPACK_OTHER, 4, 0, true},  /* bin */
    [0x07] = {WS_MSGPACK_OTHER, 1, 1, true},  /* ext */
    [0x08] = {WS_MSGPACK_OTHER, 2, 1, true},  /* ext */
    [0x09] = {WS_MSGPACK_OTHER, 4, 1, true},  /* ext */
    [0x0a] = {WS_MSGPACK_OTHER, 4, 0, false}, /* float */
    [0x0b] = {WS_MSGPACK_OTHER, 8, 0, false}, /* double */
    [0x0c] = {WS_MSGPACK_UINT, 1, 0, false},   [0x0d] = {WS_MSGPACK_UINT, 2, 0, false},
    [0x0e] = {WS_MSGPACK_UINT, 4, 0, false},   [0x0f] = {WS_MSGPACK_UINT, 8, 0, false},
    [0x10] = {WS_MSGPACK_OTHER, 1, 0, false},  /* int */
    [0x11] = {WS_MSGPACK_OTHER, 2, 0, false},  /* int */
    [0x12] = {WS_MSGPACK_OTHER, 4, 0, false},  /* int */
    [0x13] = {WS_MSGPACK_OTHER, 8, 0, false},  /* int */
    [0x14] = {WS_MSGPACK_OTHER, 2, 0, false},  /* ext of 1, with its type */
    [0x15] = {WS_MSGPACK_OTHER, 3, 0, false},  /* ext of 2 */
    [0x16] = {WS_MSGPACK_OTHER, 5, 0, false},  /* ext of 4 */
    [0x17] = {WS_MSGPACK_OTHER, 9, 0, false},  /* ext of 8 */
    [0x18] = {WS_MSGPACK_OTHER, 17, 0, false}, /* ext of 16 */
    [0x19] = {WS_MSGPACK_STRING, 1, 0, true},  [0x1a] = {WS_MSGPACK_STRING, 2, 0, true},
    [0x1b] = {WS_MSGPACK_STRING, 4, 0, true},  [0x1c] = {WS_MSGPACK_ARRAY, 2, 0, false},
    [0x1d] = {WS_MSGPACK_ARRAY, 4, 0, false},  [0x1e] = {WS_MSGPACK_MAP, 2, 0, false},
    [0x1f] = {WS_MSGPACK_MAP, 4, 0, false},
};

/* The format of a head byte; *value gets the number of those that hold it themselves. */
static struct format format_of(uint8_t head, uint64_t *value)
{
    if (head < 0x80) {
        *value = head;
        return (struct format){.kind = WS_MSGPACK_UINT};
    }
    if (head < 0x90) {
        *value = head & 0x0f;
        return (struct format){.kind = WS_MSGPACK_MAP};
    }
    if (head < 0xa0) {
        *value = head & 0x0f;
        return (struct format){.kind = WS_MSGPACK_ARRAY};
    }
    if (head < 0xc0) {
        *value = head & 0x1f;
        return (struct format){.kind = WS_MSGPACK_STRING, .payload = true};
    }
    if (head < 0xe0)
        return formats[head - 0xc0];
    return (struct format){.kind = WS_MSGPACK_OTHER};
}

static uint64_t left(const struct ws_msgpack *pack)
{
    return (uint64_t)(pack->end - pack->at);
}

bool ws_msgpack_next(struct ws_msgpack *pack, struct ws_msgpack_item *item)
{
    *item = (struct ws_msgpack_item){.kind = WS_MSGPACK_INVALID};
    if (left(pack) < 1)
        return false;
    struct format format = format_of(*pack->at++, &item->value);
    if (format.kind == WS_MSGPACK_INVALID || left(pack) < format.width)
        return false;
    for (int i = 0; i < format.width; i++)
        item->value = item->value << 8 | *pack->at++;
    if (format.payload) {
        item->text = (const char *)pack->at;
        uint64_t bytes = item->value + format.extra;
        if (left(pack) < bytes)
            return false;
        pack->at += bytes;
    }
    /* An element takes at least one byte; this bounds what a forged count can cost. */
    if (format.kind == WS_MSGPACK_ARRAY && item->value > left(pack))
        return false;
    if (format.kind == WS_MSGPACK_MAP && item->value > left(pack) / 2)
        return false;
    item->kind = format.kind;
    return true;
}

bool ws_msgpack_skip(struct ws_msgpack *pack)
{
    uint64_t pending = 1;
    while (pending > 0) {
        struct ws_msgpack_item item;
        if (!ws_msgpack_next(pack, &item))
            return false;
        pending--;
        if (item.kind == WS_MSGPACK_ARRAY)
            pending += item.value;
        else if (item.kind == WS_MSGPACK_MAP)
            pending += 2 * item.value;
    }
    return true;
}

bool ws_msgpack_find(struct ws_msgpack pack, const char *key, struct ws_msgpack *value)
{
    struct ws_msgpack_item map;
    struct ws_msgpack_item name;
    size_t length = strlen(key);
    if (!ws_msgpack_next(&pack, &map) || map.kind != WS_MSGPACK_MAP)
        return false;
    for (uint64_t i = 0; i < map.value; i++) {
        struct ws_msgpack start = pack;
        if (!ws_msgpack_skip(&pack))
            return false;
        if (ws_msgpack_next(&start, &name) && name.kind == WS_MSGPACK_STRING &&
            name.value == length && memcmp(name.text, key, length) == 0) {
            *value = pack;
            return true;
        }
        if (!ws_msgpack_skip(&pack))
            return false;
    }
    return false;
}
