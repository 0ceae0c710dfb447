/* What the kinds of `wavesmith bench` share. */
#ifndef WS_TOOL_BENCH_H
#define WS_TOOL_BENCH_H

#include "runtime/wavesmith_rt.h"
#include "tools/wavesmith/command.h"

enum { WS_CPU_NAME_SIZE = 128 };

/* The CPU's name, as the kernel gives it. */
void ws_cpu_name(char name[WS_CPU_NAME_SIZE]);

/* wavesmith bench pack [PACK] */
int ws_bench_pack(const struct ws_arguments *arguments);

/* Writes a pack of many made-up variants around one kernel to `path`. */
enum ws_status ws_bench_make_pack(const char *path, struct ws_error *error);

/* A request that the variant fits, of a middling size. */
struct ws_request ws_bench_request(const struct ws_variant *variant);

/* Selects by a query of the pack's table, as if there were no runtime. */
struct ws_bench_query;
enum ws_status ws_bench_query_open(struct ws_bench_query **query, const char *path,
                                   struct ws_error *error);
void ws_bench_query_close(struct ws_bench_query *query);

/* `spec_id` gets that of the variant that is selected, "" for none. */
enum ws_status ws_bench_query_select(struct ws_bench_query *query, const struct ws_request *request,
                                     char spec_id[WS_PACK_HASH_SIZE], struct ws_error *error);

#endif
