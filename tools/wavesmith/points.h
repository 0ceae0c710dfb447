/* The points of the config that a command line names, with its overrides applied. */
#ifndef WS_TOOL_POINTS_H
#define WS_TOOL_POINTS_H

#include "gen/wavesmith.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/problem.h"

struct ws_points {
    struct ws_config config;
    size_t first, end;     /* the points to work on */
    struct ws_sizes sizes; /* --shape */
    bool open_dims;        /* the config leaves head dims to --shape */
};

/* Loads the config with --arch, --set, --causal, --max-spills, --point and the head dims of
 * --shape. Without --point alternatives (`pick: first`) are settled, and what was chosen is said on
 * stderr: for a command that compiles, by compiling them. Points that cannot be generated have a
 * reason; if every point has one, that of the first is the error. Zero the struct first; free it in
 * either case. */
enum ws_status ws_points_load(struct ws_points *points, const struct ws_arguments *arguments,
                              struct ws_error *error);

/* The same of the config at `path`, with alternatives still to choose from (ws_config_choose), and
 * with points that all may have a reason. */
enum ws_status ws_points_open(struct ws_points *points, const char *path,
                              const struct ws_arguments *arguments, struct ws_error *error);
void ws_points_free(struct ws_points *points);

/* The only point, for commands that take one. */
enum ws_status ws_points_only(const struct ws_points *points, const struct ws_config_point **point,
                              struct ws_error *error);

/* The compiler settings of --backend, auto where it is not given, with the command's workers. */
enum ws_status ws_codegen_from(struct ws_codegen_options *options,
                               const struct ws_arguments *arguments, struct ws_error *error);

#endif
