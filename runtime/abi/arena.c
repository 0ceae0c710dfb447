#include "runtime/abi/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 16 };

struct ws_arena_block {
    struct ws_arena_block *next;
    size_t size;
    alignas(max_align_t) uint8_t bytes[];
};

static void *take(struct ws_arena *arena, size_t size, size_t alignment)
{
    struct ws_arena_block *block = arena->blocks;
    size_t start = (arena->used + alignment - 1) / alignment * alignment;
    if (!block || start > block->size || size > block->size - start) {
        const size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        if (room > SIZE_MAX - sizeof *block)
            return NULL;
        block = calloc(1, sizeof *block + room);
        if (!block)
            return NULL;
        *block = (struct ws_arena_block){.next = arena->blocks, .size = room};
        arena->blocks = block;
        start = 0;
    }
    arena->used = start + size;
    return block->bytes + start;
}

void *ws_arena_take(struct ws_arena *arena, size_t size)
{
    return take(arena, size, alignof(max_align_t));
}

const char *ws_arena_text(struct ws_arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? take(arena, length + 1, 1) : NULL;
    return copy ? memcpy(copy, text, length) : NULL;
}

void ws_arena_free(struct ws_arena *arena)
{
    while (arena->blocks) {
        struct ws_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    *arena = (struct ws_arena){0};
}
