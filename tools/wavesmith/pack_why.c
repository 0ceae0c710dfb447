/* wavesmith pack why: which variant a problem gets, and why not the others. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/setting.h"
#include "gen/words.h"
#include "runtime/wavesmith_rt.h"
#include "tools/wavesmith/output.h"
#include "tools/wavesmith/pack.h"

/* The words of the problem into a spec and sizes: a name that begins with a capital is a size. */
static enum ws_status parse_problem(const struct ws_list *words, struct ws_spec *spec,
                                    struct ws_sizes *sizes, struct ws_error *error)
{
    char text[1024] = "";
    enum ws_status status = WS_OK;
    ws_spec_init(spec, WS_KERNEL_FMHA_FWD);
    for (size_t i = 1; i < words->count && status == WS_OK; ++i) {
        char name[64];
        const char *word = words->items[i];
        const char *equals = strchr(word, '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - word : 0), word);
        if (!equals)
            status = ws_fail(error, WS_ERROR_ARGUMENT,
                             "a problem is sizes, B=2,Hq=4,..., and KEY=VALUE, not '%s'", word);
        else if (word[0] >= 'A' && word[0] <= 'Z')
            ws_append(text, sizeof text, "%s%s", text[0] ? "," : "", word);
        else
            status = ws_spec_set(spec, name, equals + 1, error);
    }
    return status == WS_OK ? ws_sizes_parse(sizes, text[0] ? text : NULL, error) : status;
}

static void take_sizes(struct ws_request *request, const struct ws_sizes *sizes)
{
    int64_t *to = request->sizes;
    to[WS_SIZE_B] = sizes->batch;
    if (request->kind == WS_KERNEL_GEMM) {
        to[WS_SIZE_M] = sizes->m;
        to[WS_SIZE_N] = sizes->n;
        to[WS_SIZE_K] = sizes->k;
        return;
    }
    to[WS_SIZE_Hq] = sizes->heads_q;
    to[WS_SIZE_Hk] = sizes->heads_k;
    to[WS_SIZE_Sq] = sizes->seqlen_q;
    to[WS_SIZE_Sk] = sizes->seqlen_k;
    to[WS_SIZE_Tq] = sizes->batch * sizes->seqlen_q;
    to[WS_SIZE_Tk] = sizes->batch * sizes->seqlen_k;
}

/* What is not said of the problem is as `wavesmith verify` has it. */
static enum ws_status make_request(struct ws_request *request, struct ws_spec *spec,
                                   const struct ws_sizes *sizes, struct ws_error *error)
{
    struct ws_problem problem;
    if (ws_setting_is_of(WS_FIELD_head_dim, spec->kind) && spec->head_dim_qk == 0) {
        spec->head_dim_qk = (int)sizes->head_dim_qk;
        spec->head_dim_v = (int)(sizes->head_dim_v >= 0 ? sizes->head_dim_v : sizes->head_dim_qk);
        if (sizes->head_dim_qk <= 0)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "the problem does not say its head dim; give it, as in D=128");
    }
    enum ws_status status = ws_problem_init(&problem, spec, sizes, WS_BSHD, error);
    if (status != WS_OK)
        return status;
    *request = (struct ws_request){
        .kind = spec->kind,
        .target = spec->arch,
#define CHOICE(name, meaning) .name = spec->name,
#define INTEGER(name, meaning) .name = spec->name,
#define FLAG(name, meaning) .name = spec->name,
#include "runtime/pack/problem.def"
#undef CHOICE
#undef INTEGER
#undef FLAG
        .alignment = spec->alignment,
    };
    take_sizes(request, &problem.size);
    return WS_OK;
}

struct candidates {
    struct ws_candidate *list;
    size_t count, room;
};

static void take(void *context, const struct ws_candidate *candidate)
{
    struct candidates *candidates = context;
    if (candidates->count < candidates->room)
        candidates->list[candidates->count++] = *candidate;
}

/* The nearest first. */
static int compare(const void *a, const void *b)
{
    const struct ws_candidate *x = a;
    const struct ws_candidate *y = b;
    if (x->verdict != y->verdict)
        return x->verdict > y->verdict ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->variant < y->variant ? -1 : 1;
}

static json_t *to_json(const struct ws_pack *pack, const struct candidates *candidates)
{
    json_t *list = json_array();
    for (size_t i = 0; i < candidates->count; ++i) {
        const struct ws_candidate *candidate = &candidates->list[i];
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:o}", "symbol",
                      ws_variant_name(ws_pack_variant(pack, candidate->variant)), "verdict",
                      ws_verdict_name(candidate->verdict), "reason", candidate->reason, "cost",
                      isfinite(candidate->cost) ? json_real(candidate->cost) : json_null()));
    }
    return json_pack("{s:o}", "candidates", list);
}

static void print(const struct ws_pack *pack, const struct candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; ++i) {
        const struct ws_candidate *candidate = &candidates->list[i];
        printf("%-10s %12.6g  %s  %s\n", ws_verdict_name(candidate->verdict), candidate->cost,
               ws_variant_name(ws_pack_variant(pack, candidate->variant)), candidate->reason);
    }
}

static enum ws_status explain(struct candidates *candidates, const struct ws_pack *pack,
                              const struct ws_request *request, struct ws_error *error)
{
    candidates->room = ws_pack_count(pack);
    candidates->list = calloc(candidates->room + 1, sizeof *candidates->list);
    if (!candidates->list)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu candidates",
                       candidates->room);
    enum ws_status status = ws_pack_explain(pack, request, take, candidates, error);
    qsort(candidates->list, candidates->count, sizeof *candidates->list, compare);
    return status;
}

int ws_command_pack_why(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct ws_pack *pack = NULL;
    struct ws_spec spec;
    struct ws_sizes sizes;
    struct ws_request request;
    struct candidates candidates = {0};
    enum ws_status status = parse_problem(&arguments->operands, &spec, &sizes, &error);
    if (status == WS_OK)
        status = make_request(&request, &spec, &sizes, &error);
    if (status == WS_OK)
        status = ws_pack_open(&pack, arguments->operand, NULL, &error);
    if (status == WS_OK)
        status = explain(&candidates, pack, &request, &error);
    bool is_found = candidates.count > 0 && candidates.list[0].verdict == WS_VERDICT_SELECTED;
    int code = is_found ? WS_EXIT_OK : WS_EXIT_FAILED;
    if (status != WS_OK)
        code = ws_report_error(&error);
    else if (arguments->json)
        ws_print_json(to_json(pack, &candidates));
    else
        print(pack, &candidates);
    free(candidates.list);
    ws_pack_close(pack);
    return code;
}
