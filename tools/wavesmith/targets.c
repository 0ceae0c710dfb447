/* wavesmith targets: the rows of the target table. */
#include <stdio.h>

#include "ir/atom.h"
#include "ir/target.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/output.h"

static json_t *target_json(const struct ws_target *target)
{
    json_t *atoms = json_array();
    for (size_t i = 0; target->atoms[i]; ++i)
        json_array_append_new(atoms, json_string(target->atoms[i]->name));
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:s?}", "arch", target->name,
                     "wave_size", target->wave_size, "vgpr_file", target->vgpr_file, "vgpr_granule",
                     target->vgpr_granule, "vgpr_max", target->vgpr_max, "waves_per_simd_max",
                     target->waves_per_simd_max, "lds_bytes", target->lds_bytes, "atoms", atoms,
                     "missing", target->missing);
}

static int print_json(void)
{
    json_t *targets = json_array();
    for (size_t i = 0; ws_target_at(i); ++i)
        json_array_append_new(targets, target_json(ws_target_at(i)));
    return ws_print_json(json_pack("{s:o}", "targets", targets));
}

int ws_command_targets(const struct ws_arguments *arguments)
{
    if (arguments->json)
        return print_json();
    printf("%-8s %4s %10s %8s %6s %6s %9s  %s\n", "arch", "wave", "VGPR file", "granule", "VGPRs",
           "waves", "LDS bytes", "matrix atoms");
    for (size_t i = 0; ws_target_at(i); ++i) {
        const struct ws_target *target = ws_target_at(i);
        printf("%-8s %4d %10d %8d %6d %6d %9d ", target->name, target->wave_size, target->vgpr_file,
               target->vgpr_granule, target->vgpr_max, target->waves_per_simd_max,
               target->lds_bytes);
        for (size_t a = 0; target->atoms[a]; ++a)
            printf(" %s", target->atoms[a]->name);
        if (target->missing)
            printf(" none: %s", target->missing);
        putchar('\n');
    }
    return WS_EXIT_OK;
}
