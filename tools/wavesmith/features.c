/* What features add to a problem: packed sequences, windows, a cap. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/command.h"
#include "tools/wavesmith/problem.h"

static const char *const length_options[WS_LENGTH_KINDS] = {"--lengths-q", "--lengths-k",
                                                            "--used-k"};

/* Where nothing else is asked for, lengths run from the longest down to none. */
static void spread_lengths(struct ws_problem *problem)
{
    for (int64_t b = 0; b < problem->size.batch; ++b) {
        problem->length[WS_LENGTH_Q][b] = problem->size.seqlen_q * (2 - b % 3) / 2;
        problem->length[WS_LENGTH_K][b] = problem->size.seqlen_k * (3 - b % 4) / 3;
    }
}

enum ws_status ws_problem_take_features(struct ws_problem *problem, const struct ws_spec *spec,
                                        struct ws_error *error)
{
    problem->varlen = spec->varlen;
    problem->sink = spec->sink;
    problem->alibi = spec->alibi;
    problem->bias = spec->bias;
    problem->softcap = spec->softcap ? 20 : 0;
    problem->window_fixed = spec->window_left != WS_WINDOW_AT_LAUNCH;
    problem->window[0] = problem->window_fixed ? spec->window_left : 40;
    problem->window[1] = problem->window_fixed ? spec->window_right : 10;
    if (!problem->varlen)
        return WS_OK;
    if (problem->size.batch > WS_SEQUENCES_MAX)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--shape: B=%" PRId64 "; with feature varlen at most %d",
                       problem->size.batch, WS_SEQUENCES_MAX);
    spread_lengths(problem);
    return WS_OK;
}

static int64_t draw_side(const struct ws_problem *problem, struct ws_random *random)
{
    int64_t longest = problem->size.seqlen_k + problem->size.seqlen_q;
    switch (ws_random_range(random, 0, 3)) {
    case 0:
        return WS_WINDOW_OPEN;
    case 1:
        return ws_random_range(random, 0, 2);
    default:
        return ws_random_range(random, 0, longest / 2 + 1);
    }
}

static int64_t draw_part(int64_t most, struct ws_random *random)
{
    switch (ws_random_range(random, 0, 3)) {
    case 0:
        return 0;
    case 1:
        return most;
    default:
        return ws_random_range(random, 0, most);
    }
}

void ws_problem_draw_features(struct ws_problem *problem, struct ws_random *random)
{
    static const double caps[] = {2, 10, 50};
    for (int side = 0; side < 2; ++side) {
        int64_t drawn = draw_side(problem, random);
        if (!problem->window_fixed)
            problem->window[side] = drawn;
    }
    if (problem->softcap != 0)
        problem->softcap = caps[ws_random_range(random, 0, 2)];
    if (!problem->varlen)
        return;
    problem->uses_part = ws_random_range(random, 0, 1) == 1;
    for (int64_t b = 0; b < problem->size.batch; ++b) {
        int64_t keys = draw_part(problem->size.seqlen_k, random);
        problem->length[WS_LENGTH_Q][b] = draw_part(problem->size.seqlen_q, random);
        problem->length[WS_LENGTH_K][b] = keys;
        if (problem->uses_part)
            problem->length[WS_LENGTH_USED_K][b] = draw_part(keys, random);
    }
}

static int64_t most_of(const struct ws_problem *problem, enum ws_length_kind kind, int64_t batch)
{
    return kind == WS_LENGTH_Q   ? problem->size.seqlen_q
           : kind == WS_LENGTH_K ? problem->size.seqlen_k
                                 : problem->length[WS_LENGTH_K][batch];
}

static int64_t count_items(const char *text)
{
    int64_t count = 1;
    for (; *text; ++text)
        count += *text == ',';
    return count;
}

enum ws_status ws_problem_set_lengths(struct ws_problem *problem, enum ws_length_kind kind,
                                      const char *text, struct ws_error *error)
{
    const char *at = text;
    if (!problem->varlen)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s %s: the config has no feature varlen; add --set varlen=true",
                       length_options[kind], text);
    if (count_items(text) != problem->size.batch)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%s %s: these are %" PRId64 " lengths, and --shape has B=%" PRId64
                       " sequences; give one for each",
                       length_options[kind], text, count_items(text), problem->size.batch);
    for (int64_t b = 0; b < problem->size.batch; ++b) {
        char *end = NULL;
        int64_t most = most_of(problem, kind, b);
        int64_t length = strtoll(at, &end, 10);
        bool is_last = b + 1 == problem->size.batch;
        if (end == at || *end != (is_last ? '\0' : ',') || length < 0 || length > most)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "%s %s: the length of sequence %" PRId64
                           " should be a whole number from 0 to %" PRId64,
                           length_options[kind], text, b, most);
        problem->length[kind][b] = length;
        at = end + !is_last;
    }
    problem->uses_part = problem->uses_part || kind == WS_LENGTH_USED_K;
    return WS_OK;
}

enum ws_status ws_problem_set_window(struct ws_problem *problem, const char *text,
                                     struct ws_error *error)
{
    char *end = NULL;
    int64_t left = strtoll(text, &end, 10);
    const char *rest = *end == ',' ? end + 1 : end;
    int64_t right = strtoll(rest, &end, 10);
    if (end == rest || *end != '\0' || left < WS_WINDOW_OPEN || right < WS_WINDOW_OPEN ||
        left > INT32_MAX || right > INT32_MAX)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--window %s: it takes LEFT,RIGHT, numbers >= -1, as in 127,0", text);
    if (problem->mask != WS_MASK_WINDOW)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--window %s: the config has no mask: window; add --set mask=window", text);
    problem->window[0] = left;
    problem->window[1] = right;
    return WS_OK;
}

enum ws_status ws_problem_set_features(struct ws_problem *problem,
                                       const struct ws_arguments *arguments, struct ws_error *error)
{
    const char *const lengths[WS_LENGTH_KINDS] = {arguments->lengths_q, arguments->lengths_k,
                                                  arguments->used_k};
    enum ws_status status = WS_OK;
    if (arguments->window)
        status = ws_problem_set_window(problem, arguments->window, error);
    for (int kind = 0; kind < WS_LENGTH_KINDS && status == WS_OK; ++kind)
        if (lengths[kind])
            status =
                ws_problem_set_lengths(problem, (enum ws_length_kind)kind, lengths[kind], error);
    if (status != WS_OK || !arguments->given[WS_OPTION_softcap])
        return status;
    const double largest = 4096; /* its tanh is off by 2^-22 cap, and LSE may be by 1e-3 */
    if (problem->softcap == 0)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--softcap %g: the config has no feature softcap; add --set softcap=true",
                       arguments->softcap);
    if (!(arguments->softcap > 0 && arguments->softcap <= largest))
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "--softcap %g: a cap is above 0, and up to %g its tanh is exact enough",
                       arguments->softcap, largest);
    problem->softcap = arguments->softcap;
    return WS_OK;
}

static void append_lengths(const struct ws_problem *problem, enum ws_length_kind kind, char *text)
{
    size_t used = strlen(text);
    used +=
        (size_t)snprintf(text + used, WS_PROBLEM_TEXT_SIZE - used, " %s ", length_options[kind]);
    for (int64_t b = 0; b < problem->size.batch && used < WS_PROBLEM_TEXT_SIZE; ++b)
        used += (size_t)snprintf(text + used, WS_PROBLEM_TEXT_SIZE - used, "%s%" PRId64,
                                 b ? "," : "", problem->length[kind][b]);
}

void ws_features_text(const struct ws_problem *problem, char text[WS_PROBLEM_TEXT_SIZE])
{
    size_t used = strlen(text);
    if (problem->mask == WS_MASK_WINDOW && !problem->window_fixed)
        used += (size_t)snprintf(text + used, WS_PROBLEM_TEXT_SIZE - used,
                                 " --window %" PRId64 ",%" PRId64, problem->window[0],
                                 problem->window[1]);
    if (problem->softcap != 0)
        snprintf(text + used, WS_PROBLEM_TEXT_SIZE - used, " --softcap %.9g", problem->softcap);
    for (int kind = 0; kind < WS_LENGTH_KINDS && problem->varlen; ++kind)
        if (kind != WS_LENGTH_USED_K || problem->uses_part)
            append_lengths(problem, (enum ws_length_kind)kind, text);
}

int64_t ws_sequence_queries(const struct ws_problem *problem, int64_t batch)
{
    return problem->varlen ? problem->length[WS_LENGTH_Q][batch] : problem->size.seqlen_q;
}

int64_t ws_sequence_keys(const struct ws_problem *problem, int64_t batch)
{
    if (!problem->varlen)
        return problem->size.seqlen_k;
    return problem->length[problem->uses_part ? WS_LENGTH_USED_K : WS_LENGTH_K][batch];
}

int64_t ws_sequence_start(const struct ws_problem *problem, enum ws_length_kind kind, int64_t batch)
{
    int64_t start = 0;
    for (int64_t b = 0; b < batch && problem->varlen; ++b)
        start += problem->length[kind][b];
    return start;
}

int64_t ws_sequence_shift(const struct ws_problem *problem, int64_t batch)
{
    int64_t excess = ws_sequence_keys(problem, batch) - ws_sequence_queries(problem, batch);
    return problem->align == WS_ALIGN_BOTTOM_RIGHT ? excess : 0;
}

struct ws_visible ws_visible_keys(const struct ws_problem *problem, int64_t batch, int64_t query)
{
    int64_t keys = ws_sequence_keys(problem, batch);
    int64_t diagonal = query + ws_sequence_shift(problem, batch);
    int64_t left = WS_WINDOW_OPEN;
    int64_t right = problem->mask == WS_MASK_CAUSAL ? 0 : WS_WINDOW_OPEN;
    struct ws_visible visible = {0, keys};
    if (problem->mask == WS_MASK_WINDOW) {
        left = problem->window[0];
        right = problem->window[1];
    }
    if (left >= 0 && diagonal - left > 0)
        visible.begin = diagonal - left;
    if (right >= 0 && diagonal + right + 1 < keys)
        visible.end = diagonal + right + 1;
    if (visible.end <= visible.begin)
        visible.begin = visible.end = 0;
    return visible;
}
