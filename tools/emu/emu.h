/* libwavesmith_emu: a functional emulator of AMD GPUs behind the HIP module API.
 *
 * The library exports the HIP functions that a host program with modules, streams and graphs needs
 * (tools/emu/hip.h of the sources lists them) with the signatures of HIP 5.2 to 7.2, and executes
 * the machine code of the loaded code objects on the CPU. It presents one device per emulated
 * target, in the order of ws_emu_device_arch; a kernel runs only on the device whose target its
 * code object names. The environment variable WS_EMU_ARCH ("gfx942", or several with commas) names
 * the devices that there are, in order. A launch runs to its end before it returns. What HIP has no
 * word for is below. Like every HIP driver it keeps one state per process; every function may be
 * called from any thread, launches are serialised.
 *
 * The same library stands under AMD's names in wavesmith/emu beside it (libamdhip64.so.5, .6, .7):
 * with that folder in LD_LIBRARY_PATH a program that is linked with HIP runs on the emulator.
 *
 * A launch that breaks a rule (see docs/emulator.md) returns hipErrorLaunchFailure and leaves the
 * findings in ws_emu_finding until the thread's next launch; with the environment variable
 * WS_EMU_FINDINGS they are appended, a line each, to the file that it names. */
#ifndef WS_EMU_H
#define WS_EMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_EMU_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

enum { WS_EMU_CLASS_COUNT = 16 };

struct ws_emu_config {
    bool strict;                /* late landing, poison, race detection; default true */
    unsigned threads;           /* CPU threads; 0 = all cores (default) */
    uint64_t seed;              /* draws the order in which waves and workgroups run; default 0 */
    uint64_t instruction_limit; /* per wave; 0 = the default of 2^32 */
};

struct ws_emu_report {
    uint64_t wave_instructions;            /* executed, VOPD counted as one */
    uint64_t by_class[WS_EMU_CLASS_COUNT]; /* see ws_emu_class_name */
    uint64_t workgroups_run, workgroups_total;
    double seconds; /* wall time of the launch */
};

/* What was wrong in a launch; text is one line: rule, kernel, workgroup, wave, pc,
 * instruction, lane, values. */
struct ws_emu_finding {
    const char *rule; /* "out-of-bounds", "poison", "race", "unknown-instruction", "endless", ... */
    uint64_t pc;      /* offset of the instruction from the kernel's entry */
    int lane;         /* -1 where no lane is concerned */
    char text[512];
};

/* The emulator's version. Whatever loads a HIP library that exports this symbol must report its
 * results as emulated. */
WS_EMU_API const char *ws_emu_version(void);

/* The target of device `ordinal` ("gfx1151"), NULL past the last. */
WS_EMU_API const char *ws_emu_device_arch(int ordinal);

/* Settings of the launches that follow. */
WS_EMU_API void ws_emu_configure(const struct ws_emu_config *config);

/* Restricts the launches that follow to the given flat workgroup ids (x fastest, then y, z); count
 * 0 lifts the restriction. The ids are copied. */
WS_EMU_API void ws_emu_select_workgroups(const uint64_t *ids, size_t count);

/* Counts of the calling thread's last launch. */
WS_EMU_API void ws_emu_last_report(struct ws_emu_report *report);

/* Number of findings of the calling thread's last launch (at most 64 are kept), and one of them. */
WS_EMU_API size_t ws_emu_finding_count(void);
WS_EMU_API const struct ws_emu_finding *ws_emu_finding(size_t index);

/* The name of an instruction class ("valu", "vopd", "mma", "salu", "smem", "vmem", "lds", "wait",
 * "barrier", ...), NULL past the last. */
WS_EMU_API const char *ws_emu_class_name(int index);

#ifdef __cplusplus
}
#endif
#endif
