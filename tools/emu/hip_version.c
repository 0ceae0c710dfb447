/* Built once for each HIP library that the emulator stands in for. */
#include "tools/emu/hip_state.h"

const int emu_hip_major = WS_EMU_HIP_MAJOR;
