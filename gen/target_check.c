#include "gen/target_check.h"

#include "ir/target.h"

enum ws_status ws_check_atom(const struct ws_spec *spec, const struct ws_atom *atom,
                             struct ws_error *error)
{
    if (atom)
        return WS_OK;
    return ws_fail(error, WS_ERROR_SPEC,
                   "atom 32x32 with arch %s: its matrix products are 16x16; set atom: 16x16",
                   spec->arch);
}

enum ws_status ws_check_registers(const struct ws_spec *spec, int registers, const char *settings,
                                  const char *savings, struct ws_error *error)
{
    const int simds = 4; /* which the waves of a workgroup share */
    const struct ws_target *target = ws_target_find(spec->arch);
    const int waves = (spec->lever[WS_LEVER_num_waves] + simds - 1) / simds;
    const int share = target->vgpr_file / waves;
    const int most = share < target->vgpr_max ? share : target->vgpr_max;
    if (spec->lever[WS_LEVER_waves_per_eu] > 0 || registers <= most)
        return WS_OK;
    return ws_fail(error, WS_ERROR_SPEC,
                   "%s need about %d registers, and %s has %d; set one or more of: %swaves_per_eu: "
                   "1 with a max_spills above 0",
                   settings, registers, spec->arch, most, savings);
}
