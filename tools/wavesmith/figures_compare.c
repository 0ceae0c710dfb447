/* Two kernels side by side. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/wavesmith/figures.h"

enum { ROWS_MAX = 64 };

struct row {
    const char *group, *name; /* static */
    double value;             /* NAN: the kernel has no such figure */
};

struct rows {
    struct row row[ROWS_MAX];
    int count;
};

static void add(struct rows *rows, const char *group, const char *name, double value)
{
    if (rows->count < ROWS_MAX)
        rows->row[rows->count++] = (struct row){group, name, value};
}

static double known(double value)
{
    return value > 0 ? value : NAN;
}

static void add_distance(struct rows *rows, const char *group,
                         const struct ws_isa_distance *distance)
{
    bool has_loads = distance && distance->loads > 0;
    add(rows, group, "median", has_loads ? distance->median : NAN);
    add(rows, group, "p10", has_loads ? distance->p10 : NAN);
}

static void add_loop(struct rows *rows, const struct ws_figures *figures)
{
    static const struct ws_isa_loop none = {0};
    const struct ws_isa_loop *found = ws_figures_main_loop(figures);
    const struct ws_isa_loop *loop = found ? found : &none;
    double unknown = found ? 0 : NAN;
    double tiles = ws_figures_tiles(figures, loop);
    add(rows, "", "main loop, instructions", loop->hot.total + unknown);
    add(rows, "  ", "score tiles", known(tiles));
    add(rows, "  ", "matrix share", known(loop->a_serial));
    for (int c = 0; c < WS_ISA_CLASS_COUNT; ++c)
        add(rows, "  ", ws_isa_class_name((enum ws_isa_class)c), loop->hot.by_class[c] + unknown);
    add(rows, "  ", "cold instructions", loop->cold.total + unknown);
    add(rows, "  ", "waits to zero", loop->waits_to_zero + unknown);
    add(rows, "  ", "register moves", loop->moves + unknown);
    add_distance(rows, "  LDS load to wait, ", found ? &loop->lds : NULL);
    add_distance(rows, "  global load to wait, ", found ? &loop->global : NULL);
}

static void add_kernel(struct rows *rows, const struct ws_figures *figures)
{
    const struct ws_object_kernel *kernel = figures->kernel;
    add(rows, "", "VGPRs", kernel->vgpr_count);
    add(rows, "", "AGPRs", kernel->agpr_count);
    add(rows, "", "SGPRs", kernel->sgpr_count);
    add(rows, "", "VGPR spills", kernel->vgpr_spills);
    add(rows, "", "SGPR spills", kernel->sgpr_spills);
    add(rows, "", "scratch, bytes", kernel->scratch_bytes);
    add(rows, "", "LDS, bytes", kernel->lds_bytes);
    add(rows, "", "waves a SIMD", known(figures->waves_per_simd));
    add(rows, "", "code, bytes", (double)kernel->code_bytes);
    add(rows, "", "instructions", figures->isa.all.total);
    add(rows, "", "instructions a tile", known(ws_figures_instructions(figures)));
    add(rows, "", "cycles a tile", known(ws_figures_score(figures)));
    add_loop(rows, figures);
}

static void print_cell(double value)
{
    if (isnan(value))
        printf("  %10s", "-");
    else if (value == floor(value))
        printf("  %10.0f", value);
    else
        printf("  %10.*f", fabs(value) < 10 ? 3 : 1, value);
}

static void print_change(double a, double b)
{
    if (a == b || a == 0 || isnan(a) || isnan(b))
        putchar('\n');
    else
        printf("  %+.1f%%\n", 100 * (b - a) / a);
}

void ws_figures_compare(const struct ws_figures *a, const struct ws_figures *b)
{
    struct rows left = {.count = 0};
    struct rows right = {.count = 0};
    add_kernel(&left, a);
    add_kernel(&right, b);
    printf("A  %s  %s\nB  %s  %s\n\n", a->arch, a->name, b->arch, b->name);
    printf("%-32s  %10s  %10s  change\n", "", "A", "B");
    for (int i = 0; i < left.count; ++i) {
        double x = left.row[i].value;
        double y = right.row[i].value;
        bool nothing = (isnan(x) || x == 0) && (isnan(y) || y == 0);
        if (nothing && left.row[i].group[0] != '\0')
            continue; /* a kind of instruction that neither has */
        printf("%s%-*s", left.row[i].group, 32 - (int)strlen(left.row[i].group), left.row[i].name);
        print_cell(x);
        print_cell(y);
        print_change(x, y);
    }
}
