#include "tools/emu/levels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

extern const struct emu_desc emu_ops_salu[], emu_ops_flow[];

#define LEVEL(l)                                                                                   \
    extern const struct emu_desc emu_ops_valu_##l[], emu_ops_vop3p_##l[], emu_ops_cross_##l[],     \
        emu_ops_wmma_##l[], emu_ops_mfma_##l[], emu_ops_mem_##l[];                                 \
    emu_run emu_run_vopd_##l;
LEVEL(base)
#ifdef EMU_HAVE_V3
LEVEL(v3)
#endif
#ifdef EMU_HAVE_V4
LEVEL(v4)
#endif
#undef LEVEL

enum { GROUPS = 8 };

struct level {
    const char *name;
    emu_run *vopd;
    const struct emu_desc *groups[GROUPS];
};

#define LEVEL(n, l)                                                                                \
    {                                                                                              \
        .name = n, .vopd = emu_run_vopd_##l, .groups = {                                           \
            emu_ops_valu_##l,                                                                      \
            emu_ops_vop3p_##l,                                                                     \
            emu_ops_salu,                                                                          \
            emu_ops_cross_##l,                                                                     \
            emu_ops_wmma_##l,                                                                      \
            emu_ops_mfma_##l,                                                                      \
            emu_ops_mem_##l,                                                                       \
            emu_ops_flow                                                                           \
        }                                                                                          \
    }

static const struct level base = LEVEL("base", base);
#ifdef EMU_HAVE_V3
static const struct level v3 = LEVEL("x86-64-v3", v3);
#endif
#ifdef EMU_HAVE_V4
static const struct level v4 = LEVEL("x86-64-v4", v4);
#endif

static const struct level *best_level(void)
{
#ifdef EMU_HAVE_V4
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &v4;
#endif
#ifdef EMU_HAVE_V3
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return &v3;
#endif
    return &base;
}

/* Other names of rows. */
static const struct {
    const char *name, *row;
} aliases[] = {
#define ALIAS(name, row) {#name, #row},
#include "tools/emu/ops_alias.def"
};
enum { ALIASES = sizeof aliases / sizeof aliases[0] };

static struct {
    const struct level *level;
    struct entry {
        const char *name;
        const struct emu_desc *desc;
    } *sorted;
    size_t count;
} tables;

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int by_key(const void *key, const void *row)
{
    const struct entry *entry = row;
    return strcmp(key, entry->name);
}

static const struct emu_desc *find(const char *name)
{
    const struct entry *found =
        bsearch(name, tables.sorted, tables.count, sizeof *tables.sorted, by_key);
    return found ? found->desc : NULL;
}

static void add(const char *name, const struct emu_desc *desc)
{
    tables.sorted[tables.count++] = (struct entry){name, desc};
}

static void sort(void)
{
    qsort(tables.sorted, tables.count, sizeof *tables.sorted, by_name);
}

static void add_aliases(void)
{
    const struct emu_desc *rows[ALIASES];
    for (int i = 0; i < ALIASES; i++)
        rows[i] = find(aliases[i].row);
    for (int i = 0; i < ALIASES; i++)
        if (rows[i])
            add(aliases[i].name, rows[i]);
    sort();
}

static void sort_tables(void)
{
    tables.level = best_level();
    size_t count = 0;
    for (int g = 0; g < GROUPS; g++)
        for (const struct emu_desc *d = tables.level->groups[g]; d->name; d++)
            count++;
    tables.sorted = calloc(count + ALIASES, sizeof *tables.sorted);
    if (!tables.sorted)
        return;
    for (int g = 0; g < GROUPS; g++)
        for (const struct emu_desc *d = tables.level->groups[g]; d->name; d++)
            add(d->name, d);
    sort();
    add_aliases();
}

static void load_tables(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, sort_tables);
}

const struct emu_desc *emu_find_desc(const char *name)
{
    load_tables();
    return tables.count ? find(name) : NULL;
}

const char *emu_name_at(size_t index, const struct emu_desc **desc)
{
    load_tables();
    if (index >= tables.count)
        return NULL;
    *desc = tables.sorted[index].desc;
    return tables.sorted[index].name;
}

emu_run *emu_vopd_run(void)
{
    load_tables();
    return tables.level->vopd;
}

const char *emu_level_name(void)
{
    load_tables();
    return tables.level->name;
}
