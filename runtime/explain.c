/* Why each variant of a pack is taken for a request, or not. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/pack/store.h"
#include "runtime/select.h"
#include "runtime/target.h"

static const char *const verdict_names[] = {
    [WS_VERDICT_STEP] = "step",
    [WS_VERDICT_KIND] = "kind",
    [WS_VERDICT_ABI] = "abi",
    [WS_VERDICT_TARGET] = "target",
    [WS_VERDICT_PROBLEM] = "problem",
    [WS_VERDICT_ALIGNMENT] = "alignment",
    [WS_VERDICT_CONSTRAINT] = "constraint",
    [WS_VERDICT_COST] = "cost",
    [WS_VERDICT_TIE] = "tie",
    [WS_VERDICT_SELECTED] = "selected",
};

const char *ws_verdict_name(enum ws_pack_verdict verdict)
{
    size_t index = (size_t)verdict;
    return index < sizeof verdict_names / sizeof *verdict_names ? verdict_names[index] : NULL;
}

/* The fields of a key, as far as they are the problem's. */
static const struct {
    const char *name;
    int choice; /* enum ws_choice, or -1 */
} fields[WS_KEY_COUNT] = {
#define CHOICE(name, meaning) [WS_KEY_##name] = {#name, WS_CHOICE_##name},
#define INTEGER(name, meaning) [WS_KEY_##name] = {#name, -1},
#define FLAG(name, meaning) [WS_KEY_##name] = {#name, -1},
#include "runtime/pack/problem.def"
#undef CHOICE
#undef INTEGER
#undef FLAG
};

enum { VALUE_SIZE = 32 };

static void value_text(char text[VALUE_SIZE], int field, int32_t value)
{
    const char *word = fields[field].choice >= 0
                           ? ws_choice_word((enum ws_choice)fields[field].choice, value)
                           : NULL;
    if (word != NULL)
        snprintf(text, VALUE_SIZE, "%s", word);
    else
        snprintf(text, VALUE_SIZE, "%" PRId32, value);
}

/* How many fields of the problem differ; *first gets the first of them. */
static int count_differences(const struct ws_key *have, const struct ws_key *want, int *first)
{
    int count = 0;
    for (int i = WS_KEY_COUNT - 1; i >= 0; i--) {
        if (fields[i].name == NULL || have->field[i] == want->field[i])
            continue;
        *first = i;
        count++;
    }
    return count;
}

/* The differences from a request, for windows of the arguments too. */
static int problem_differences(const struct ws_selection *selection,
                               const struct ws_index_entry *entry, int *first)
{
    int at_launch = 0;
    int count = count_differences(&entry->key, &selection->key, first);
    if (count > 0 && selection->is_window &&
        count_differences(&entry->key, &selection->key_at_launch, &at_launch) == 0)
        return 0;
    return count;
}

struct explanation {
    const struct ws_selection *selection;
    const struct ws_pack *pack;
    uint32_t best;
    double best_cost;
};

__attribute__((format(printf, 3, 4))) static void
lose(struct ws_candidate *candidate, enum ws_pack_verdict verdict, const char *format, ...)
{
    va_list arguments;
    candidate->verdict = verdict;
    va_start(arguments, format);
    vsnprintf(candidate->reason, sizeof candidate->reason, format, arguments);
    va_end(arguments);
}

static const char *kind_name(enum ws_kernel_kind kind)
{
    const struct ws_arg_table *table = ws_arg_table(kind);
    return table != NULL ? table->kind_name : "unknown";
}

/* "from 1 to 64", "up to 64", ... */
static void range_text(char text[64], int32_t least, int32_t most)
{
    if (most < 0)
        snprintf(text, 64, "from %" PRId32 " on", least);
    else
        snprintf(text, 64, "from %" PRId32 " to %" PRId32, least < 0 ? 0 : least, most);
}

/* A variant of the right problem. */
static void explain_fit(struct ws_candidate *candidate, const struct explanation *explanation,
                        const struct ws_index_entry *entry)
{
    const struct ws_selection *selection = explanation->selection;
    const int64_t *sizes = selection->sizes;
    char queries[64], keys[64];
    enum ws_pack_verdict verdict = ws_selection_fits(selection, entry);
    if (verdict == WS_VERDICT_ALIGNMENT) {
        lose(candidate, verdict, "it needs pointers and strides of %" PRId32 " bytes, not %" PRId32,
             entry->alignment, selection->request->alignment);
    } else if (verdict == WS_VERDICT_CONSTRAINT) {
        range_text(queries, entry->seqlen_q_min, entry->seqlen_q_max);
        range_text(keys, entry->seqlen_k_min, entry->seqlen_k_max);
        lose(candidate, verdict, "it is for %s queries and %s keys, not %" PRId64 " and %" PRId64,
             queries, keys, sizes[WS_SIZE_Sq], sizes[WS_SIZE_Sk]);
    } else if (candidate->variant == explanation->best) {
        lose(candidate, WS_VERDICT_SELECTED, "it costs %g", candidate->cost);
    } else if (candidate->cost == explanation->best_cost) {
        lose(candidate, WS_VERDICT_TIE, "it costs %g too, and comes after by spec_id",
             candidate->cost);
    } else {
        lose(candidate, WS_VERDICT_COST, "it costs %g, not %g", candidate->cost,
             explanation->best_cost);
    }
}

static void explain(struct ws_candidate *candidate, const struct explanation *explanation,
                    uint32_t number)
{
    const struct ws_selection *selection = explanation->selection;
    const struct ws_variant *variant = ws_pack_variant(explanation->pack, number);
    const struct ws_index_entry *entry = &explanation->pack->index.entries[number];
    const char *missing = ws_target_missing_feature(entry->features, selection->features);
    int first = 0;
    *candidate =
        (struct ws_candidate){.variant = number, .cost = ws_selection_cost(selection, entry)};
    if (!variant->selectable) {
        lose(candidate, WS_VERDICT_STEP, "it is a step of other variants");
    } else if (variant->kind != selection->request->kind) {
        lose(candidate, WS_VERDICT_KIND, "kind is %s, not %s", kind_name(variant->kind),
             kind_name(selection->request->kind));
    } else if (!ws_index_knows_abi(variant)) {
        lose(candidate, WS_VERDICT_ABI,
             "it has version %" PRId32 " of the argument block, this library has %" PRIu32,
             variant->abi_version, ws_arg_table(variant->kind)->abi_version);
    } else if (entry->key.field[WS_KEY_arch] != selection->key.field[WS_KEY_arch]) {
        lose(candidate, WS_VERDICT_TARGET, "it is for %s, not %s", variant->arch,
             selection->request->target);
    } else if (missing != NULL) {
        lose(candidate, WS_VERDICT_TARGET, "it needs %.*s, which %s does not name",
             (int)strcspn(missing + 1, ":"), missing + 1, selection->request->target);
    } else if (problem_differences(selection, entry, &first) > 0) {
        char have[VALUE_SIZE], want[VALUE_SIZE];
        value_text(have, first, entry->key.field[first]);
        value_text(want, first, selection->key.field[first]);
        lose(candidate, WS_VERDICT_PROBLEM, "%s is %s, not %s", fields[first].name, have, want);
    } else {
        explain_fit(candidate, explanation, entry);
    }
}

static struct explanation begin(const struct ws_selection *selection, const struct ws_pack *pack)
{
    const struct ws_index *index = &pack->index;
    uint32_t best = ws_selection_best(selection, index);
    return (struct explanation){
        .selection = selection,
        .pack = pack,
        .best = best,
        .best_cost =
            best == WS_INDEX_NONE ? 0 : ws_selection_cost(selection, &index->entries[best]),
    };
}

enum ws_status ws_pack_explain(const struct ws_pack *pack, const struct ws_request *request,
                               void (*each)(void *context, const struct ws_candidate *candidate),
                               void *context, struct ws_error *error)
{
    struct ws_selection selection;
    struct ws_candidate candidate;
    enum ws_status status = ws_selection_begin(&selection, &pack->index, request, error);
    if (status != WS_OK)
        return status;
    const struct explanation explanation = begin(&selection, pack);
    for (uint32_t i = 0; i < ws_pack_count(pack); i++) {
        explain(&candidate, &explanation, i);
        each(context, &candidate);
    }
    return WS_OK;
}

/* The higher, the less keeps a variant from fitting. */
static int nearness(const struct ws_candidate *candidate, const struct explanation *explanation)
{
    int first = 0;
    const struct ws_index_entry *entry = &explanation->pack->index.entries[candidate->variant];
    int differences = candidate->verdict == WS_VERDICT_PROBLEM
                          ? problem_differences(explanation->selection, entry, &first)
                          : 0;
    return (int)candidate->verdict * WS_KEY_COUNT - differences;
}

enum ws_status ws_selection_none(const struct ws_selection *selection, const struct ws_pack *pack,
                                 struct ws_error *error)
{
    const struct explanation explanation = begin(selection, pack);
    struct ws_candidate candidate, nearest = {0};
    int best = -1;
    if (error == NULL)
        return WS_ERROR_NO_VARIANT;
    if (ws_pack_count(pack) == 0)
        return ws_fail(error, WS_ERROR_NO_VARIANT, "%s has no variants", ws_pack_path(pack));
    for (uint32_t i = 0; i < ws_pack_count(pack); i++) {
        explain(&candidate, &explanation, i);
        int near = nearness(&candidate, &explanation);
        if (near > best) {
            best = near;
            nearest = candidate;
        }
    }
    const struct ws_variant *variant = ws_pack_variant(pack, nearest.variant);
    return ws_fail(error, WS_ERROR_NO_VARIANT,
                   "none of the %" PRIu32 " variants of %s fits; of the nearest, %.12s %s: %s",
                   ws_pack_count(pack), ws_pack_path(pack), variant->spec_id, variant->symbol,
                   nearest.reason);
}
