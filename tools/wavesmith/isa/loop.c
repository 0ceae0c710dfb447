/* Natural loops and their hot paths. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/isa/isa.h"

/* Room for the work on one kernel's loops; each array has one entry a block. */
struct finder {
    struct ws_isa *isa;
    int block_count;
    bool *body; /* of the loop at hand */
    int *stack;
    int *by_order; /* blocks in reverse postorder, then -1 */
    unsigned (
        *cost)[2];  /* instructions up to and with a block, without and with a product before */
    int (*from)[2]; /* where that cost came from: block * 2 + state, -1 for the header */
    const struct ws_instruction **path;
};

static bool dominates(const struct ws_isa *isa, int a, int b)
{
    while (isa->blocks[b].order > isa->blocks[a].order)
        b = isa->blocks[b].dominator;
    return a == b;
}

/* Whether the edge from -> to closes a natural loop. */
static bool is_back_edge(const struct ws_isa *isa, int from, int to)
{
    return to >= 0 && isa->blocks[from].order >= 0 && dominates(isa, to, from);
}

static bool goes_to(const struct ws_isa *isa, int from, int to)
{
    return isa->blocks[from].successor[0] == to || isa->blocks[from].successor[1] == to;
}

/* Fills finder->body with the blocks that reach a back edge to `header` without passing it. */
static void find_body(struct finder *finder, int header)
{
    const struct ws_isa *isa = finder->isa;
    memset(finder->body, 0, (size_t)finder->block_count * sizeof *finder->body);
    finder->body[header] = true;
    int depth = 0;
    for (int b = 0; b < finder->block_count; ++b)
        if (goes_to(isa, b, header) && is_back_edge(isa, b, header) && !finder->body[b]) {
            finder->body[b] = true;
            finder->stack[depth++] = b;
        }
    while (depth > 0) {
        int block = finder->stack[--depth];
        for (int b = 0; b < finder->block_count; ++b)
            if (isa->blocks[b].order >= 0 && goes_to(isa, b, block) && !finder->body[b]) {
                finder->body[b] = true;
                finder->stack[depth++] = b;
            }
    }
}

static bool has_product(const struct ws_isa *isa, int block)
{
    const struct ws_isa_block *b = &isa->blocks[block];
    for (size_t i = b->first; i < b->first + b->count; ++i)
        if (isa->instructions[i].class == WS_ISA_MMA)
            return true;
    return false;
}

/* Whether a block, or -1 for none, is in the body. */
static bool in_body(const struct finder *finder, int block)
{
    return block >= 0 && block < finder->block_count && finder->body[block];
}

/* Whether the way from a block over its successor number `which` counts: not if it is the way of a
 * branch on EXEC that no lane takes, as long as the other way stays in the loop. */
static bool is_way(const struct finder *finder, int block, int which)
{
    const struct ws_isa_block *b = &finder->isa->blocks[block];
    int other = b->successor[1 - which];
    enum ws_isa_flow flow = finder->isa->instructions[b->first + b->count - 1].flow;
    bool unlikely = (flow == WS_FLOW_SKIP_IF_NO_LANES && which == 1) ||
                    (flow == WS_FLOW_GO_IF_LANES && which == 0);
    return !(unlikely && in_body(finder, other));
}

/* Shortest ways from the header to every block of the body, along edges that close no loop. */
static void find_costs(struct finder *finder, int header)
{
    struct ws_isa *isa = finder->isa;
    for (int b = 0; b < finder->block_count; ++b)
        finder->cost[b][0] = finder->cost[b][1] = UINT_MAX;
    int start = has_product(isa, header);
    finder->cost[header][start] = (unsigned)isa->blocks[header].count;
    finder->from[header][start] = -1;
    for (int i = 0; i < finder->block_count && finder->by_order[i] >= 0; ++i) {
        int block = finder->by_order[i];
        for (int s = 0; s < 2 && finder->body[block]; ++s) {
            int to = isa->blocks[block].successor[s];
            if (!in_body(finder, to) || is_back_edge(isa, block, to) || !is_way(finder, block, s))
                continue;
            for (int state = 0; state < 2; ++state) {
                unsigned cost = finder->cost[block][state];
                int reached = state | has_product(isa, to);
                if (cost == UINT_MAX || cost + isa->blocks[to].count >= finder->cost[to][reached])
                    continue;
                finder->cost[to][reached] = cost + (unsigned)isa->blocks[to].count;
                finder->from[to][reached] = block * 2 + state;
            }
        }
    }
}

/* The end of the hot path as block * 2 + state. */
static int find_end(const struct finder *finder, int header)
{
    const struct ws_isa *isa = finder->isa;
    int best = -1;
    for (int state = 1; state >= 0 && best < 0; --state)
        for (int b = 0; b < finder->block_count; ++b)
            if (finder->body[b] && goes_to(isa, b, header) && finder->cost[b][state] != UINT_MAX &&
                (best < 0 || finder->cost[b][state] < finder->cost[best / 2][state]))
                best = b * 2 + state;
    return best;
}

/* Counts the loop of a header whose body is known. */
static enum ws_status measure(struct finder *finder, struct ws_isa_loop *loop, const char *arch,
                              struct ws_error *error)
{
    const struct ws_isa *isa = finder->isa;
    find_costs(finder, loop->header);
    int end = find_end(finder, loop->header);
    bool *cold = finder->body; /* what the hot path leaves over */
    for (int b = 0; b < finder->block_count; ++b)
        loop->blocks += finder->body[b];
    size_t length = end < 0 ? 0 : finder->cost[end / 2][end % 2];
    size_t at = length;
    for (int step = end; step >= 0; step = finder->from[step / 2][step % 2]) {
        const struct ws_isa_block *block = &isa->blocks[step / 2];
        for (size_t i = block->count; i > 0; --i)
            finder->path[--at] = &isa->instructions[block->first + i - 1];
        cold[step / 2] = false;
    }
    for (size_t i = 0; i < length; ++i)
        ws_isa_count(&loop->hot, finder->path[i]);
    for (int b = 0; b < finder->block_count; ++b)
        for (size_t i = 0; cold[b] && i < isa->blocks[b].count; ++i)
            ws_isa_count(&loop->cold, &isa->instructions[isa->blocks[b].first + i]);
    return ws_isa_measure(loop, finder->path, length, arch, error);
}

static bool is_header(const struct ws_isa *isa, int block)
{
    for (int b = 0; b < isa->block_count; ++b)
        if (goes_to(isa, b, block) && is_back_edge(isa, b, block))
            return true;
    return false;
}

static enum ws_status find_loops(struct finder *finder, const char *arch, struct ws_error *error)
{
    struct ws_isa *isa = finder->isa;
    enum ws_status status = WS_OK;
    for (int i = 0; i < finder->block_count && status == WS_OK; ++i) {
        int header = finder->by_order[i];
        if (header < 0 || !is_header(isa, header))
            continue;
        int index = isa->loop_count++;
        struct ws_isa_loop *loop = &isa->loops[index];
        find_body(finder, header);
        /* Outer headers come first: the innermost loop of a block is the last to claim it. */
        for (int b = 0; b < finder->block_count; ++b)
            if (finder->body[b]) {
                if (isa->blocks[b].loop >= 0 && b == header)
                    isa->loops[isa->blocks[b].loop].innermost = false;
                isa->blocks[b].loop = index;
            }
        loop->header = header;
        loop->innermost = true;
        loop->offset = isa->instructions[isa->blocks[header].first].offset;
        status = measure(finder, loop, arch, error);
    }
    return status;
}

/* Loops over the same products are one loop with and without a mask: the one without has fewer
 * instructions, and does most of the work. */
static int compare_loops(const void *a, const void *b)
{
    const struct ws_isa_loop *x = a;
    const struct ws_isa_loop *y = b;
    if (x->innermost != y->innermost)
        return x->innermost ? -1 : 1;
    if (x->mma_flops != y->mma_flops)
        return x->mma_flops > y->mma_flops ? -1 : 1;
    if (x->hot.total != y->hot.total)
        return x->hot.total < y->hot.total ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

enum ws_status ws_isa_find_loops(struct ws_isa *isa, const char *arch, struct ws_error *error)
{
    size_t blocks = (size_t)isa->block_count;
    if (blocks == 0)
        return WS_OK;
    struct finder finder = {
        .isa = isa,
        .block_count = isa->block_count,
        .body = calloc(blocks, sizeof *finder.body),
        .stack = calloc(blocks, sizeof *finder.stack),
        .by_order = calloc(blocks, sizeof *finder.by_order),
        .cost = calloc(blocks, sizeof *finder.cost),
        .from = calloc(blocks, sizeof *finder.from),
        .path = (const struct ws_instruction **)calloc(isa->count + 1, sizeof *finder.path),
    };
    isa->loops = calloc(blocks, sizeof *isa->loops);
    enum ws_status status = WS_ERROR_MEMORY;
    if (finder.body && finder.stack && finder.by_order && finder.cost && finder.from &&
        finder.path && isa->loops) {
        for (size_t b = 0; b < blocks; ++b)
            finder.by_order[b] = -1;
        for (size_t b = 0; b < blocks; ++b)
            if (isa->blocks[b].order >= 0)
                finder.by_order[isa->blocks[b].order] = (int)b;
        status = find_loops(&finder, arch, error);
        qsort(isa->loops, (size_t)isa->loop_count, sizeof *isa->loops, compare_loops);
    } else {
        ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu blocks", blocks);
    }
    free(finder.body);
    free(finder.stack);
    free(finder.by_order);
    free(finder.cost);
    free(finder.from);
    free((void *)finder.path);
    return status;
}
