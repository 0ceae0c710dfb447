/* Device memory. Every allocation is a mapping of its own with EMU_GAP bytes of reserved addresses
 * on both sides, so that no 32-bit offset leads from one into another; pages cost nothing until
 * they are touched. Device addresses are host addresses. Callers serialise. */
#ifndef WS_EMU_MEMORY_H
#define WS_EMU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMU_GAP (UINT64_C(8) << 30)

/* Flat addresses whose upper half is that of one of these are LDS or scratch; no host address is.
 */
#define EMU_SHARED_BASE (UINT64_C(1) << 48)
#define EMU_PRIVATE_BASE (UINT64_C(2) << 48)

/* The buffer descriptor of scratch that kernels of gfx90a start with: an address that no host
 * memory has, swizzled by lane. */
#define EMU_PRIVATE_RSRC 0, 0x80008000, 0xffffffff, 0x00800000

enum emu_memory_kind {
    EMU_MEMORY_DEVICE,
    EMU_MEMORY_MANAGED,
    EMU_MEMORY_HOST,
    EMU_MEMORY_MODULE,    /* an image: its variables are the caller's */
    EMU_MEMORY_REGISTERED /* the program's own, without gaps */
};

struct emu_allocation {
    uint64_t base, size;
    enum emu_memory_kind kind;
    uint64_t readonly; /* first bytes, for the device: code objects, kernel arguments */
    bool written;      /* by the device, in an earlier launch */
    bool internal;     /* not the caller's at all */
};

/* Sorted by base. */
struct emu_memory {
    struct emu_allocation *list;
    size_t count, capacity;
    uint64_t bytes;
};

/* Zeroed bytes of device memory, or 0. A size of 0 counts as 1. The address is a multiple of 4096.
 */
uint64_t emu_memory_add(struct emu_memory *memory, uint64_t size, bool internal);

/* Makes the program's own memory known until emu_memory_remove; false if part of it is already. */
bool emu_memory_register(struct emu_memory *memory, uint64_t base, uint64_t size);

/* Frees an allocation by its base; false if there is none. */
bool emu_memory_remove(struct emu_memory *memory, uint64_t base);

/* The allocation that holds an address, or NULL. */
struct emu_allocation *emu_memory_find(const struct emu_memory *memory, uint64_t address);

/* The nearest allocation, for messages; NULL if there is none at all. */
const struct emu_allocation *emu_memory_nearest(const struct emu_memory *memory, uint64_t address);

/* Whether `size` bytes at `address` lie in one allocation. */
bool emu_memory_holds(const struct emu_memory *memory, uint64_t address, uint64_t size);

#endif
