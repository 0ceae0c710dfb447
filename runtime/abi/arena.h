/* Memory that is freed all at once. */
#ifndef WS_ABI_ARENA_H
#define WS_ABI_ARENA_H

#include <stddef.h>

/* Zero it before the first use. */
struct ws_arena {
    struct ws_arena_block *blocks; /* the one in use first */
    size_t used;                   /* of that */
};

/* Zeroed memory, aligned for any type; NULL where there is none left. */
void *ws_arena_take(struct ws_arena *arena, size_t size);

/* A copy of text, terminated; NULL where there is no memory left. */
const char *ws_arena_text(struct ws_arena *arena, const char *text, size_t length);
void ws_arena_free(struct ws_arena *arena);

#endif
