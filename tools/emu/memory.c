#include "tools/emu/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static uint64_t mapped_size(uint64_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

/* Place of the first allocation above an address. */
static size_t above(const struct emu_memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memory->list[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool grow(struct emu_memory *memory)
{
    if (memory->count < memory->capacity)
        return true;
    size_t capacity = memory->capacity ? memory->capacity * 2 : 64;
    struct emu_allocation *list = realloc(memory->list, capacity * sizeof *list);
    if (!list)
        return false;
    memory->list = list;
    memory->capacity = capacity;
    return true;
}

/* There is room for it. */
static void insert(struct emu_memory *memory, struct emu_allocation allocation)
{
    size_t at = above(memory, allocation.base);
    memmove(memory->list + at + 1, memory->list + at, (memory->count - at) * sizeof *memory->list);
    memory->list[at] = allocation;
    memory->count++;
    memory->bytes += allocation.size;
}

uint64_t emu_memory_add(struct emu_memory *memory, uint64_t size, bool internal)
{
    if (size == 0)
        size = 1;
    if (size > UINT64_C(1) << 46 || !grow(memory))
        return 0;
    uint64_t inner = mapped_size(size);
    char *outer = mmap(NULL, inner + 2 * EMU_GAP, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (outer == MAP_FAILED)
        return 0;
    if (mprotect(outer + EMU_GAP, inner, PROT_READ | PROT_WRITE)) {
        munmap(outer, inner + 2 * EMU_GAP);
        return 0;
    }
    uint64_t base = (uint64_t)(uintptr_t)outer + EMU_GAP;
    insert(memory, (struct emu_allocation){.base = base, .size = size, .internal = internal});
    return base;
}

bool emu_memory_register(struct emu_memory *memory, uint64_t base, uint64_t size)
{
    size_t next = above(memory, base);
    bool overlaps = emu_memory_find(memory, base) ||
                    (next < memory->count && memory->list[next].base - base < size);
    if (overlaps || size > UINT64_MAX - base || !grow(memory))
        return false;
    insert(memory,
           (struct emu_allocation){.base = base, .size = size, .kind = EMU_MEMORY_REGISTERED});
    return true;
}

bool emu_memory_remove(struct emu_memory *memory, uint64_t base)
{
    struct emu_allocation *found = emu_memory_find(memory, base);
    if (!found || found->base != base)
        return false;
    char *outer = (char *)(uintptr_t)(base - EMU_GAP); /* NOLINT(performance-no-int-to-ptr) */
    if (found->kind != EMU_MEMORY_REGISTERED)
        munmap(outer, mapped_size(found->size) + 2 * EMU_GAP);
    memory->bytes -= found->size;
    size_t at = (size_t)(found - memory->list);
    memory->count--;
    memmove(found, found + 1, (memory->count - at) * sizeof *found);
    return true;
}

struct emu_allocation *emu_memory_find(const struct emu_memory *memory, uint64_t address)
{
    size_t at = above(memory, address);
    if (at == 0)
        return NULL;
    struct emu_allocation *below = &memory->list[at - 1];
    return address - below->base < below->size ? below : NULL;
}

const struct emu_allocation *emu_memory_nearest(const struct emu_memory *memory, uint64_t address)
{
    if (memory->count == 0)
        return NULL;
    size_t at = above(memory, address);
    if (at == memory->count)
        return &memory->list[at - 1];
    const struct emu_allocation *next = &memory->list[at];
    if (at == 0)
        return next;
    const struct emu_allocation *below = next - 1;
    uint64_t past = address - (below->base + below->size);
    return past <= next->base - address ? below : next;
}

bool emu_memory_holds(const struct emu_memory *memory, uint64_t address, uint64_t size)
{
    const struct emu_allocation *found = emu_memory_find(memory, address);
    return found && size <= found->size - (address - found->base);
}
