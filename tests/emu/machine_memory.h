/* Global memory for machines of alu_support.h: one allocation. For programs whose group of tests
 * has memory_set_up and memory_tear_down. */
#ifndef EMU_TEST_MACHINE_MEMORY_H
#define EMU_TEST_MACHINE_MEMORY_H

#include "tests/emu/alu_support.h"

enum { BYTES = 4096 };

static struct emu_memory memory;
static uint8_t *device;

/* Gives the machine the memory, of random bytes, in strict mode. */
static inline void attach_memory(struct machine *m)
{
    m->launch.memory = &memory;
    m->group.strict = true;
    for (unsigned i = 0; i < BYTES; i++)
        device[i] = (uint8_t)random64();
}

static inline int memory_set_up(void **state)
{
    (void)state;
    device = (uint8_t *)(uintptr_t)emu_memory_add(&memory, BYTES, false);
    return device ? 0 : -1;
}

static inline int memory_tear_down(void **state)
{
    (void)state;
    emu_memory_remove(&memory, (uint64_t)(uintptr_t)device);
    free(memory.list);
    return 0;
}

#endif
