/* Numbers of a loop from its hot path: mix, matrix share, and how far loads stand from their waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/wavesmith/isa/isa.h"

static double mma_flops(const struct ws_instruction *instruction)
{
    return 2.0 * instruction->mma_m * instruction->mma_n * instruction->mma_k *
           instruction->mma_blocks;
}

void ws_isa_count(struct ws_isa_counts *counts, const struct ws_instruction *instruction)
{
    counts->total++;
    counts->by_class[instruction->class]++;
}

static bool is_load(const struct ws_instruction *instruction, enum ws_isa_class class)
{
    return instruction->class == class && (strstr(instruction->text, "_load") != NULL ||
                                           strstr(instruction->text, "ds_read") != NULL);
}

/* How many rounds a load may be ahead of its wait. */
enum { ROUNDS_MAX = 8 };

/* Issue cycles from the load at path[start] to the first wait that covers it, going on with the
 * next iteration at the end; -1 if none does. */
static double distance_from(const struct ws_instruction *const *path, size_t count, size_t start,
                            const char *arch)
{
    enum ws_isa_counter counter = ws_isa_counter_of(path[start], arch);
    double cycles = 0;
    int later = 0;
    for (size_t i = 1; i < ROUNDS_MAX * count; ++i) {
        const struct ws_instruction *instruction = path[(start + i) % count];
        int level = ws_isa_wait_level(instruction, counter);
        if (level >= 0 && level <= later)
            return cycles;
        later += ws_isa_counter_of(instruction, arch) == counter;
        cycles += ws_isa_cycles(instruction, arch);
    }
    return -1;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum ws_status measure_distances(struct ws_isa_distance *distance,
                                        const struct ws_instruction *const *path, size_t count,
                                        enum ws_isa_class class, const char *arch, bool is_known,
                                        struct ws_error *error)
{
    double *values = malloc((count + 1) * sizeof *values);
    if (!values)
        return ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu instructions", count);
    size_t found = 0;
    for (size_t i = 0; i < count && is_known; ++i) {
        double value = is_load(path[i], class) ? distance_from(path, count, i, arch) : -1;
        if (value >= 0)
            values[found++] = value;
    }
    qsort(values, found, sizeof *values, compare_doubles);
    distance->loads = (int)found;
    if (found > 0) {
        distance->median = values[found / 2];
        distance->p10 = values[found / 10];
    }
    free(values);
    return WS_OK;
}

/* Whether an instruction only copies vector registers: a move that reads one, or two at once. */
static bool is_move(const struct ws_instruction *instruction)
{
    static const char *const singles[] = {"v_mov_b32", "v_mov_b64", "v_pk_mov_b32"};
    static const char dual[] = "v_dual_mov_b32";
    const char *text = instruction->text;
    if (instruction->class == WS_ISA_ACCVGPR)
        return true;
    if (instruction->class == WS_ISA_VOPD) {
        const char *second = strstr(text, ":: ");
        return strncmp(text, dual, strlen(dual)) == 0 && second &&
               strncmp(second + 3, dual, strlen(dual)) == 0;
    }
    const char *source = strstr(text, ", ");
    for (size_t i = 0; i < sizeof singles / sizeof singles[0] && source && source[2] == 'v'; ++i)
        if (strncmp(text, singles[i], strlen(singles[i])) == 0)
            return true;
    return false;
}

static int lesser(int least, int value)
{
    return least == 0 || value < least ? value : least;
}

static void add_product(struct ws_isa_loop *loop, const struct ws_instruction *product)
{
    enum { TILE = 16 };
    if (product->mma_m < TILE) /* sums elements of a lane */
        return;
    loop->mma_flops += mma_flops(product);
    loop->mma_m = lesser(loop->mma_m, product->mma_m);
    loop->mma_k = lesser(loop->mma_k, product->mma_k);
}

static bool waits_to_zero(const struct ws_instruction *instruction)
{
    for (int counter = 0; counter < WS_ISA_COUNTER_END; ++counter)
        if (ws_isa_wait_level(instruction, (enum ws_isa_counter)counter) == 0)
            return true;
    return false;
}

enum ws_status ws_isa_measure(struct ws_isa_loop *loop, const struct ws_instruction *const *path,
                              size_t count, const char *arch, struct ws_error *error)
{
    double matrix = 0;
    double all = 0;
    bool is_known = true;
    for (size_t i = 0; i < count; ++i) {
        double cycles = ws_isa_cycles(path[i], arch);
        is_known = is_known && cycles > 0;
        all += cycles;
        if (path[i]->class == WS_ISA_MMA) {
            add_product(loop, path[i]);
            matrix += cycles;
        }
        loop->moves += is_move(path[i]);
        loop->waits_to_zero += waits_to_zero(path[i]);
    }
    loop->cycles = is_known ? all : 0;
    loop->a_serial = is_known && all > 0 ? matrix / all : 0;
    enum ws_status status =
        measure_distances(&loop->lds, path, count, WS_ISA_LDS, arch, is_known, error);
    if (status == WS_OK)
        status = measure_distances(&loop->global, path, count, WS_ISA_VMEM, arch, is_known, error);
    return status;
}

enum ws_status ws_isa_read(struct ws_isa *isa, const void *image, const struct ws_object *object,
                           const struct ws_object_kernel *kernel, struct ws_error *error)
{
    const uint8_t *code = (const uint8_t *)image + kernel->code_offset;
    enum ws_status status = ws_isa_decode(isa, object->arch, kernel->wave_size, code,
                                          (size_t)kernel->code_bytes, error);
    for (size_t i = 0; i < isa->count && status == WS_OK; ++i)
        ws_isa_count(&isa->all, &isa->instructions[i]);
    if (status == WS_OK)
        status = ws_isa_find_blocks(isa, error);
    if (status == WS_OK)
        status = ws_isa_find_loops(isa, object->arch, error);
    return status;
}

void ws_isa_free(struct ws_isa *isa)
{
    free(isa->instructions);
    free(isa->blocks);
    free(isa->loops);
    *isa = (struct ws_isa){0};
}
