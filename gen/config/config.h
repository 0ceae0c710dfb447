/* Configs inside the generator: a file becomes a tree of blocks, the blocks become points. */
#ifndef WS_GEN_CONFIG_H
#define WS_GEN_CONFIG_H

#include "gen/config/yaml.h"
#include "gen/setting.h"
#include "gen/wavesmith.h"

/* `base` and `when` beside the settings of a spec. */
enum { WS_ASSIGN_BASE = WS_SETTING_COUNT, WS_ASSIGN_WHEN, WS_ASSIGN_COUNT };

/* A key and the values it takes in turn. */
struct ws_assignment {
    const struct ws_assignment *next;
    int setting; /* an index of the settings table, or WS_ASSIGN_BASE */
    size_t count;
    const char **values;
    const struct ws_block **bases;  /* of WS_ASSIGN_BASE: the presets behind the values */
    struct ws_when when;            /* of WS_ASSIGN_WHEN, which has one value and no text of it */
    const struct ws_source *source; /* NULL for an override of the caller's */
    const char *override;           /* its text, "v_mode=rows"; NULL for a key of a file */
    struct ws_span span;            /* of the key */
};

/* A mapping of settings, and the blocks that inherit from it. */
struct ws_block {
    const struct ws_source *source;
    struct ws_span span;
    const struct ws_assignment *assignments; /* in file order */
    const struct ws_block *entries, *next;
    bool picks_first; /* of the entries, the first one that is valid */
    /* Of a file's top block, as in struct ws_config. */
    const char **shapes;
    size_t shape_count;
    int max_spills;
};

/* Reads the files of one config: the file itself and the presets it starts from. */
struct ws_loader {
    struct ws_arena *arena;
    struct ws_file *files;
    int depth;
};

enum { WS_BASE_DEPTH_MAX = 8 };

/* Reads the block of a file's text. */
enum ws_status ws_block_read(struct ws_block *block, struct ws_loader *loader,
                             const struct ws_source *source, struct ws_error *error);

/* The values of `shapes` and of `max_spills`. */
enum ws_status ws_block_read_shapes(struct ws_block *block, struct ws_arena *arena,
                                    const struct ws_yaml_node *node, struct ws_error *error);
enum ws_status ws_block_read_max_spills(struct ws_block *block, const struct ws_yaml_node *node,
                                        struct ws_error *error);

/* The value of `when`. */
enum ws_status ws_block_read_when(struct ws_when *when, const struct ws_source *source,
                                  const struct ws_yaml_node *node, struct ws_error *error);

/* Reads a file, or its text if that is not NULL, and gives its block. */
enum ws_status ws_loader_add(const struct ws_block **block, struct ws_loader *loader,
                             const char *path, const char *text, size_t size,
                             struct ws_error *error);

/* The block of a preset that `span` in `from` names. */
enum ws_status ws_loader_preset(const struct ws_block **block, struct ws_loader *loader,
                                const struct ws_source *from, struct ws_span span, const char *name,
                                struct ws_error *error);

enum { WS_CONFIG_POINTS_MAX = 20000, WS_CONFIG_VALUES_MAX = 1000 };

/* Appends the points of a block to a config, `overrides` applied last; a point's name is what is
 * swept (" v_mode=rows"), in the arena. Alternatives of `pick: first` are all there, see
 * ws_config_pick. */
enum ws_status ws_block_expand(struct ws_config *config, struct ws_arena *arena,
                               const struct ws_block *block, const struct ws_assignment *overrides,
                               struct ws_error *error);

#endif
