/* The commands of `wavesmith pack` and what they share: variants of a pack as specs, as JSON and by
 * name. */
#ifndef WS_TOOL_PACK_H
#define WS_TOOL_PACK_H

#include <jansson.h>

#include "gen/wavesmith.h"
#include "runtime/pack/write.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/problem.h"

int ws_command_pack_build(const struct ws_arguments *arguments);
int ws_command_pack_merge(const struct ws_arguments *arguments);
int ws_command_pack_ls(const struct ws_arguments *arguments);
int ws_command_pack_show(const struct ws_arguments *arguments);
int ws_command_pack_verify(const struct ws_arguments *arguments);
int ws_command_pack_why(const struct ws_arguments *arguments);
int ws_command_pack_extract(const struct ws_arguments *arguments);
int ws_command_pack_diff(const struct ws_arguments *arguments);
int ws_command_pack_digest(const struct ws_arguments *arguments);
int ws_command_pack_gc(const struct ws_arguments *arguments);
int ws_command_pack_plan(const struct ws_arguments *arguments);

/* The columns that follow from a spec: kind, arch, the problem, spec_id, options, tile_q. spec_id
 * and options are texts of the caller's. */
enum { WS_PACK_OPTIONS_SIZE = WS_OPTIONS_MAX * WS_OPTION_SIZE };
void ws_variant_take_spec(struct ws_variant *variant, const struct ws_spec *spec,
                          char spec_id[WS_ID_SIZE], char options[WS_PACK_OPTIONS_SIZE]);

/* Levers of the spec's kind as packs hold them, "name=value\n" each, malloc'ed. */
char *ws_spec_levers(const struct ws_spec *spec);

/* The spec that a variant was generated from. WS_ERROR_PACK: it has a lever or a value that this
 * program does not know, or its spec_id is another one: it was built by another version. */
enum ws_status ws_variant_spec(const struct ws_variant *variant, const char *levers,
                               struct ws_spec *spec, struct ws_error *error);

/* The small problem that a variant is verified with. */
enum ws_status ws_variant_problem(const struct ws_variant *variant, const struct ws_spec *spec,
                                  uint64_t seed, struct ws_problem *problem,
                                  struct ws_error *error);

/* Columns as JSON, by their names; the text of one. */
json_t *ws_variant_json(const struct ws_variant *variant);

/* Appends a column's value, or that of a lever; false if there is no such name. */
bool ws_variant_value(const struct ws_variant *variant, const char *levers, const char *name,
                      char *text, size_t size);

/* What messages call a variant: its symbol, or, of an operation of steps, its spec_id. */
const char *ws_variant_name(const struct ws_variant *variant);

/* The variant whose symbol, or the beginning of whose spec_id, is `name`; of an operation and its
 * main step, which share a spec_id, the operation. WS_ERROR_ARGUMENT: none, or several. */
enum ws_status ws_pack_find(const struct ws_pack *pack, const char *name, uint32_t *index,
                            struct ws_error *error);

/* Whether the variant is one that --arch and --where ask for. WS_ERROR_ARGUMENT: no such column or
 * lever. */
enum ws_status ws_pack_matches(const struct ws_pack *pack, uint32_t index,
                               const struct ws_arguments *arguments, bool *matches,
                               struct ws_error *error);

#endif
