#include "runtime/select.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "runtime/pack/store.h"
#include "runtime/target.h"

static enum ws_status check_request(const struct ws_request *request, struct ws_error *error)
{
    if (request->target == NULL)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "the request's target is NULL; it should be ws_device_target's");
    if (request->alignment < 1)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "the request's alignment is %" PRId32 "; it should be the bytes that every "
                       "pointer and stride is a multiple of",
                       request->alignment);
    for (int i = 0; i < WS_SIZE_COUNT; i++) {
        if (request->sizes[i] < 0)
            return ws_fail(error, WS_ERROR_ARGUMENT,
                           "the request's size %s is %" PRId64 "; it should be 0 or more",
                           ws_size_name((enum ws_size)i), request->sizes[i]);
    }
    return WS_OK;
}

enum ws_status ws_selection_begin(struct ws_selection *selection, const struct ws_index *index,
                                  const struct ws_request *request, struct ws_error *error)
{
    enum ws_status status = check_request(request, error);
    if (status != WS_OK)
        return status;
    selection->request = request;
    selection->features = request->target + strcspn(request->target, ":");
    ws_index_key(index, request, &selection->key);
    selection->is_window =
        request->mask == WS_MASK_WINDOW && (request->window_left != WS_WINDOW_AT_LAUNCH ||
                                            request->window_right != WS_WINDOW_AT_LAUNCH);
    if (selection->is_window) {
        selection->key_at_launch = selection->key;
        selection->key_at_launch.field[WS_KEY_window_left] = WS_WINDOW_AT_LAUNCH;
        selection->key_at_launch.field[WS_KEY_window_right] = WS_WINDOW_AT_LAUNCH;
    }
    memcpy(selection->sizes, request->sizes, sizeof selection->sizes);
    selection->sizes[WS_SIZE_Dqk] = request->head_dim_qk;
    selection->sizes[WS_SIZE_Dv] = request->head_dim_v;
    selection->rows = selection->sizes[request->kind == WS_KERNEL_GEMM ? WS_SIZE_M : WS_SIZE_Sq];
    return WS_OK;
}

/* -1 is no limit. */
static bool is_within(int64_t value, int32_t least, int32_t most)
{
    return value >= least && (most < 0 || value <= most);
}

enum ws_pack_verdict ws_selection_fits(const struct ws_selection *selection,
                                       const struct ws_index_entry *entry)
{
    const int64_t *sizes = selection->sizes;
    if (entry->features[0] != '\0' &&
        ws_target_missing_feature(entry->features, selection->features) != NULL)
        return WS_VERDICT_TARGET;
    if (selection->request->alignment % entry->alignment != 0)
        return WS_VERDICT_ALIGNMENT;
    if (!is_within(sizes[WS_SIZE_Sq], entry->seqlen_q_min, entry->seqlen_q_max) ||
        !is_within(sizes[WS_SIZE_Sk], entry->seqlen_k_min, entry->seqlen_k_max))
        return WS_VERDICT_CONSTRAINT;
    return WS_VERDICT_COST;
}

double ws_selection_cost(const struct ws_selection *selection, const struct ws_index_entry *entry)
{
    const int64_t tile = entry->tile_q, rows = selection->rows;
    const int64_t tiles = rows / tile + (rows % tile != 0);
    return isinf(entry->score) ? entry->score : entry->score * (double)tiles * (double)tile;
}

/* The better of `best` and the variants of a key. Of equals it is the lower, and a chain rises. */
static uint32_t best_of_key(const struct ws_selection *selection, const struct ws_index *index,
                            const struct ws_key *key, uint32_t best, double *best_cost)
{
    for (uint32_t i = ws_index_find(index, key); i != WS_INDEX_NONE; i = index->entries[i].next) {
        const struct ws_index_entry *entry = &index->entries[i];
        if (ws_selection_fits(selection, entry) != WS_VERDICT_COST)
            continue;
        double cost = ws_selection_cost(selection, entry);
        if (best == WS_INDEX_NONE || cost < *best_cost || (cost == *best_cost && i < best)) {
            best = i;
            *best_cost = cost;
        }
    }
    return best;
}

uint32_t ws_selection_best(const struct ws_selection *selection, const struct ws_index *index)
{
    double cost = 0;
    uint32_t best = best_of_key(selection, index, &selection->key, WS_INDEX_NONE, &cost);
    if (selection->is_window)
        best = best_of_key(selection, index, &selection->key_at_launch, best, &cost);
    return best;
}

static enum ws_status plan_launch(struct ws_plan_launch *launch, const struct ws_variant *kernel,
                                  const int64_t sizes[WS_SIZE_COUNT], struct ws_error *error)
{
    uint64_t workgroups = 0;
    enum ws_status status = ws_rule_value(&kernel->grid, sizes, &workgroups, error);
    if (status != WS_OK)
        return status;
    /* The dispatch packet counts work-items in 32 bits. */
    if (kernel->block < 1 || workgroups > UINT32_MAX / (uint32_t)kernel->block)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "%" PRIu64 " workgroups of %" PRId32 " work-items, of kernel %s; the grid "
                       "should have less than 2^32 work-items",
                       workgroups, kernel->block, kernel->symbol);
    launch->grid = (uint32_t)workgroups;
    launch->block = (uint32_t)kernel->block;
    return WS_OK;
}

static enum ws_status plan_region(struct ws_plan *plan, const struct ws_region *region,
                                  struct ws_error *error)
{
    const uint64_t most = INT64_MAX - WS_WORKSPACE_ALIGNMENT;
    struct ws_plan_region *planned = &plan->regions[plan->region_count++];
    enum ws_status status = ws_rule_value(&region->bytes, plan->sizes, &planned->bytes, error);
    if (status != WS_OK)
        return status;
    if (planned->bytes > most - plan->workspace_bytes)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "a workspace of 2^63 bytes or more: %" PRIu64 " of them for %s",
                       planned->bytes, region->argument);
    planned->offset = plan->workspace_bytes;
    planned->argument = region->offset;
    planned->zero = region->zero;
    plan->workspace_bytes += (planned->bytes + WS_WORKSPACE_ALIGNMENT - 1) /
                             WS_WORKSPACE_ALIGNMENT * WS_WORKSPACE_ALIGNMENT;
    return WS_OK;
}

/* Regions of packed tensors have the tokens of all sequences, which nothing else says. */
static enum ws_status check_tokens(const struct ws_variant *variant,
                                   const int64_t sizes[WS_SIZE_COUNT], struct ws_error *error)
{
    const int64_t all = sizes[WS_SIZE_Tq], longest = sizes[WS_SIZE_Sq];
    if (variant->region_count > 0 && variant->varlen && sizes[WS_SIZE_B] > 0 && all < longest)
        return ws_fail(error, WS_ERROR_ARGUMENT,
                       "the request's size Tq is %" PRId64 "; it should be the queries of all "
                       "sequences, the longest of which has Sq = %" PRId64,
                       all, longest);
    return WS_OK;
}

/* The plan of a variant. */
static enum ws_status plan_variant(struct ws_plan *plan, const struct ws_pack *pack,
                                   uint32_t number, struct ws_error *error)
{
    const struct ws_variant *variant = ws_pack_variant(pack, number);
    enum ws_status status = check_tokens(variant, plan->sizes, error);
    const uint32_t *steps = variant->step_count > 0 ? variant->steps : &number;
    plan->variant = number;
    plan->launch_count = variant->step_count > 0 ? variant->step_count : 1;
    for (uint32_t i = 0; i < plan->launch_count && status == WS_OK; i++) {
        plan->launches[i].variant = steps[i];
        status =
            plan_launch(&plan->launches[i], ws_pack_variant(pack, steps[i]), plan->sizes, error);
    }
    for (uint32_t i = 0; i < variant->region_count && status == WS_OK; i++)
        status = plan_region(plan, &variant->regions[i], error);
    return status;
}

enum ws_status ws_pack_select(const struct ws_pack *pack, const struct ws_request *request,
                              struct ws_plan *plan, struct ws_error *error)
{
    struct ws_selection selection;
    const struct ws_index *index = &pack->index;
    *plan = (struct ws_plan){0};
    enum ws_status status = ws_selection_begin(&selection, index, request, error);
    if (status != WS_OK)
        return status;
    uint32_t best = ws_selection_best(&selection, index);
    if (best == WS_INDEX_NONE)
        return ws_selection_none(&selection, pack, error);
    memcpy(plan->sizes, selection.sizes, sizeof plan->sizes);
    return plan_variant(plan, pack, best, error);
}
