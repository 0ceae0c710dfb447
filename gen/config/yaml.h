/* YAML text as a tree. The part of YAML that a config needs: one document of mappings, sequences
 * and scalars. Tags, anchors, aliases and keys that are no scalars are refused, so that a file is
 * no larger than it looks. */
#ifndef WS_GEN_YAML_H
#define WS_GEN_YAML_H

#include <stdbool.h>

#include "gen/config/source.h"

enum ws_yaml_type { WS_YAML_SCALAR, WS_YAML_SEQUENCE, WS_YAML_MAPPING };

struct ws_yaml_node {
    enum ws_yaml_type type;
    bool is_quoted;   /* of a scalar */
    const char *text; /* of a scalar, "" if nothing stands there; without NULs */
    struct ws_span span;
    const struct ws_yaml_node *key; /* of a mapping's child: a scalar */
    struct ws_yaml_node *first, *next;
};

enum { WS_YAML_DEPTH_MAX = 24 };

/* Parses a source; the tree lives in the arena. WS_ERROR_CONFIG with the position. */
enum ws_status ws_yaml_parse(const struct ws_yaml_node **root, struct ws_arena *arena,
                             const struct ws_source *source, struct ws_error *error);

/* "a mapping", "a list", "nothing", "`text`". */
const char *ws_yaml_describe(const struct ws_yaml_node *node, char *buffer, size_t size);

#endif
