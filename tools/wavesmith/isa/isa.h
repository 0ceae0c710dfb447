/* The instructions of a compiled kernel: decoded, cut into blocks, loops found and counted.
 *
 * A loop is a natural loop (the target of a back edge dominates its source). What is counted is its
 * hot path: of the ways from its header back to it that execute a matrix product (if the loop has
 * any), the one with the fewest instructions, where a branch that skips work because no lane is
 * active (execz) counts as not taken. What lies beside that path, such as a rescale block that a
 * ballot rarely asks for, is cold, wherever it is placed. */
#ifndef WS_TOOL_ISA_H
#define WS_TOOL_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/abi/object.h"

enum ws_isa_class {
    WS_ISA_MMA, /* matrix products */
    WS_ISA_VALU,
    WS_ISA_VOPD,    /* two VALU operations, one instruction */
    WS_ISA_TRANS,   /* exp, log, rcp, ... */
    WS_ISA_ACCVGPR, /* moves to and from accumulation registers */
    WS_ISA_LDS,
    WS_ISA_VMEM, /* global and buffer */
    WS_ISA_SCRATCH,
    WS_ISA_CACHE, /* invalidates and write-backs */
    WS_ISA_SMEM,
    WS_ISA_SALU,
    WS_ISA_WAIT,
    WS_ISA_HINT, /* nop, delay, clause, priority */
    WS_ISA_BARRIER,
    WS_ISA_BRANCH,
    WS_ISA_CLASS_COUNT
};

const char *ws_isa_class_name(enum ws_isa_class class);

enum ws_isa_flow {
    WS_FLOW_NEXT,
    WS_FLOW_BRANCH,
    WS_FLOW_CONDITIONAL,
    WS_FLOW_SKIP_IF_NO_LANES, /* execz */
    WS_FLOW_GO_IF_LANES,      /* execnz */
    WS_FLOW_END
};

enum { WS_ISA_TEXT_SIZE = 256 };

struct ws_instruction {
    uint32_t offset, size; /* bytes; the offset is from the kernel's entry */
    enum ws_isa_class class;
    enum ws_isa_flow flow;
    uint32_t target;                     /* offset that a branch goes to */
    int mma_m, mma_n, mma_k, mma_blocks; /* of a matrix product, else 0; so many at once */
    char text[WS_ISA_TEXT_SIZE];
};

struct ws_isa_block {
    size_t first, count; /* instructions */
    int successor[2];    /* blocks; -1 for none; [0] is the fall-through of a conditional branch */
    int dominator;       /* immediate; the entry's is itself, -1 if unreachable */
    int order;           /* position in reverse postorder, -1 if unreachable */
    int loop;            /* innermost loop it belongs to, -1 for none */
};

/* Issued instructions by class. */
struct ws_isa_counts {
    unsigned total;
    unsigned by_class[WS_ISA_CLASS_COUNT];
};

/* Issue cycles between a load and the first wait that covers it, in this or a later round. */
struct ws_isa_distance {
    int loads; /* that a wait was found for; with 0 the others mean nothing */
    double median, p10;
};

struct ws_isa_loop {
    int header; /* block */
    bool innermost;
    uint32_t offset; /* of the header */
    unsigned blocks;
    struct ws_isa_counts hot, cold;
    double mma_flops; /* of the hot path */
    int mma_m, mma_k; /* the least of its products; 0 without any */
    double cycles;    /* of the hot path, nothing overlapped; 0 if a product's are unknown */
    double a_serial;  /* matrix cycles / all cycles, nothing overlapped; 0 if unknown */
    struct ws_isa_distance lds, global;
    unsigned waits_to_zero;
    unsigned moves; /* instructions that do nothing but copy vector registers */
};

struct ws_isa {
    struct ws_instruction *instructions;
    size_t count;
    struct ws_isa_block *blocks; /* in order of address; 0 is the entry */
    int block_count;
    /* The main loop first: innermost, most matrix products, fewest instructions. */
    struct ws_isa_loop *loops;
    int loop_count;
    struct ws_isa_counts all;
};

/* Reads a kernel of a code object. WS_ERROR_OBJECT: bytes that do not decode. Zero the struct
 * first; free it in either case. */
enum ws_status ws_isa_read(struct ws_isa *isa, const void *image, const struct ws_object *object,
                           const struct ws_object_kernel *kernel, struct ws_error *error);
void ws_isa_free(struct ws_isa *isa);

/* The steps of ws_isa_read, in their order. */
enum ws_status ws_isa_decode(struct ws_isa *isa, const char *arch, unsigned wave_size,
                             const uint8_t *code, size_t size, struct ws_error *error);
enum ws_status ws_isa_find_blocks(struct ws_isa *isa, struct ws_error *error);
enum ws_status ws_isa_find_loops(struct ws_isa *isa, const char *arch, struct ws_error *error);

/* The memory operations that a wave can wait for, by what they are counted in: VM global and
 * scratch loads (gfx9: and stores), LDS operations (before gfx12: and scalar loads), SCALAR scalar
 * loads where they are counted apart. */
enum ws_isa_counter {
    WS_ISA_NO_COUNTER,
    WS_ISA_COUNTER_VM,
    WS_ISA_COUNTER_LDS,
    WS_ISA_COUNTER_SCALAR,
    WS_ISA_COUNTER_END
};

/* The counter that an instruction raises. */
enum ws_isa_counter ws_isa_counter_of(const struct ws_instruction *instruction, const char *arch);

/* How many operations a wait leaves in flight of a counter; -1 if it does not wait for it. */
int ws_isa_wait_level(const struct ws_instruction *instruction, enum ws_isa_counter counter);

/* Issue cycles of an instruction on one SIMD; 0 if unknown. */
double ws_isa_cycles(const struct ws_instruction *instruction, const char *arch);

/* Fills the loop's numbers from the instructions of its hot path, given in order. */
enum ws_status ws_isa_measure(struct ws_isa_loop *loop, const struct ws_instruction *const *path,
                              size_t count, const char *arch, struct ws_error *error);

void ws_isa_count(struct ws_isa_counts *counts, const struct ws_instruction *instruction);

#endif
