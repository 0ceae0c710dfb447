/* Basic blocks and dominators. */
#include <stdlib.h>

#include "tools/wavesmith/isa/isa.h"

static int instruction_at(const struct ws_isa *isa, uint32_t offset)
{
    size_t low = 0;
    size_t high = isa->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (isa->instructions[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < isa->count && isa->instructions[low].offset == offset ? (int)low : -1;
}

static bool is_branch(enum ws_isa_flow flow)
{
    return flow != WS_FLOW_NEXT && flow != WS_FLOW_END;
}

/* Marks the instructions that begin a block: the entry, the targets, and what follows a branch. */
static enum ws_status mark_leaders(const struct ws_isa *isa, bool *leader, struct ws_error *error)
{
    leader[0] = true;
    for (size_t i = 0; i < isa->count; ++i) {
        const struct ws_instruction *instruction = &isa->instructions[i];
        if (instruction->flow != WS_FLOW_NEXT)
            leader[i + 1] = true;
        if (!is_branch(instruction->flow))
            continue;
        int target = instruction_at(isa, instruction->target);
        if (target < 0)
            return ws_fail(error, WS_ERROR_OBJECT,
                           "'%s' at offset 0x%x goes to 0x%x, where no instruction begins",
                           instruction->text, instruction->offset, instruction->target);
        leader[target] = true;
    }
    return WS_OK;
}

static int block_of(const struct ws_isa *isa, size_t instruction)
{
    int low = 0;
    int high = isa->block_count;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (isa->blocks[middle].first <= instruction)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void connect(struct ws_isa *isa)
{
    for (int b = 0; b < isa->block_count; ++b) {
        struct ws_isa_block *block = &isa->blocks[b];
        const struct ws_instruction *last = &isa->instructions[block->first + block->count - 1];
        bool falls = last->flow != WS_FLOW_BRANCH && last->flow != WS_FLOW_END;
        block->successor[0] = falls && b + 1 < isa->block_count ? b + 1 : -1;
        block->successor[1] = -1;
        if (is_branch(last->flow))
            block->successor[1] = block_of(isa, (size_t)instruction_at(isa, last->target));
    }
}

/* Numbers the reachable blocks in reverse postorder; returns how many. */
static int number_blocks(struct ws_isa *isa, int *stack, int *next, int *postorder)
{
    int depth = 0;
    int count = 0;
    for (int b = 0; b < isa->block_count; ++b) {
        isa->blocks[b].order = -1;
        next[b] = 0;
    }
    stack[depth++] = 0;
    isa->blocks[0].order = 0;
    while (depth > 0) {
        int block = stack[depth - 1];
        if (next[block] == 2) {
            postorder[count++] = block;
            --depth;
            continue;
        }
        int successor = isa->blocks[block].successor[next[block]++];
        if (successor >= 0 && successor < isa->block_count && isa->blocks[successor].order < 0) {
            isa->blocks[successor].order = 0;
            stack[depth++] = successor;
        }
    }
    for (int i = 0; i < count; ++i)
        isa->blocks[postorder[i]].order = count - 1 - i;
    return count;
}

static int common_dominator(const struct ws_isa *isa, int a, int b)
{
    while (a != b) {
        while (isa->blocks[a].order > isa->blocks[b].order)
            a = isa->blocks[a].dominator;
        while (isa->blocks[b].order > isa->blocks[a].order)
            b = isa->blocks[b].dominator;
    }
    return a;
}

/* Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm", from edges to predecessors. */
static void find_dominators(struct ws_isa *isa, const int *postorder, int reachable)
{
    for (int b = 0; b < isa->block_count; ++b)
        isa->blocks[b].dominator = -1;
    isa->blocks[0].dominator = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = reachable - 1; i >= 0; --i) {
            int from = postorder[i];
            for (int s = 0; s < 2; ++s) {
                int to = isa->blocks[from].successor[s];
                if (to < 0 || isa->blocks[from].dominator < 0)
                    continue;
                int old = isa->blocks[to].dominator;
                int dominator = old < 0 ? from : common_dominator(isa, old, from);
                if (dominator != old && to != 0) {
                    isa->blocks[to].dominator = dominator;
                    changed = true;
                }
            }
        }
    }
}

static enum ws_status order_blocks(struct ws_isa *isa, struct ws_error *error)
{
    int *room = malloc(3 * (size_t)isa->block_count * sizeof *room);
    if (!room)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %d blocks", isa->block_count);
    int *postorder = room + 2 * (size_t)isa->block_count;
    int reachable = number_blocks(isa, room, room + isa->block_count, postorder);
    find_dominators(isa, postorder, reachable);
    free(room);
    return WS_OK;
}

enum ws_status ws_isa_find_blocks(struct ws_isa *isa, struct ws_error *error)
{
    if (isa->count == 0)
        return ws_fail(error, WS_ERROR_OBJECT, "the kernel has no code");
    bool *leader = calloc(isa->count + 1, sizeof *leader);
    isa->blocks = calloc(isa->count, sizeof *isa->blocks);
    enum ws_status status = WS_OK;
    isa->block_count = 0;
    if (!leader || !isa->blocks)
        status = ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu instructions", isa->count);
    else
        status = mark_leaders(isa, leader, error);
    for (size_t i = 0; i < isa->count && status == WS_OK; ++i) {
        if (leader[i] || isa->block_count == 0)
            isa->blocks[isa->block_count++] = (struct ws_isa_block){.first = i, .loop = -1};
        isa->blocks[isa->block_count - 1].count++;
    }
    free(leader);
    if (status != WS_OK)
        return status;
    connect(isa);
    return order_blocks(isa, error);
}
