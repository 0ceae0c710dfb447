/* From a problem to a launch: which variant of a pack is taken, what it needs, and running it. Part
 * of the public interface (included by runtime/wavesmith_rt.h); docs/runtime.md has an example.
 *
 *     request -- ws_pack_select --> plan -- ws_prepare --> prepared -- ws_prepared_launch, ...
 *
 * Every function is thread-safe for any pack, device and prepared operation; see wavesmith_rt.h. */
#ifndef WS_PLAN_H
#define WS_PLAN_H

#include "runtime/pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ws_device;

/* What is to be computed. Zero the struct first; fields that the kind has no use for stay 0. A
 * backward takes an LSE: `lse` is set. The
 * fields of the problem are named and meant as the columns of a pack; they must be those of the
 * variant, with these exceptions: `align` does not matter without a mask and ALiBi; the window does
 * not but of mask window, and a variant for windows that the arguments say takes all of them. */
struct ws_request {
    enum ws_kernel_kind kind;
    const char *target; /* ws_device_target, or an architecture: "gfx942" */
#define CHOICE(name, meaning) enum ws_##name name;
#define INTEGER(name, meaning) int32_t name;
#define FLAG(name, meaning) bool name;
#include "runtime/pack/problem.def"
#undef CHOICE
#undef INTEGER
#undef FLAG
    int32_t alignment;            /* bytes that every pointer and stride is a multiple of */
    int64_t sizes[WS_SIZE_COUNT]; /* by enum ws_size; Dqk and Dv are taken from above; Tq is of use
                                     to a backward with varlen */
};

/* Workspace begins at a multiple of so many bytes, and so does each region of it. */
enum { WS_WORKSPACE_ALIGNMENT = 256 };

/* One kernel of an operation. */
struct ws_plan_launch {
    uint32_t variant; /* whose kernel it is */
    uint32_t grid;    /* workgroups; may be 0 */
    uint32_t block;   /* work-items of one */
};

/* A part of the workspace. */
struct ws_plan_region {
    uint64_t offset, bytes; /* from the start of the workspace */
    uint32_t argument;      /* offset of the pointer that is set to it, in the argument block */
    bool zero;              /* zeroed before the first launch */
};

/* How a request is carried out. Plain data, which may be copied and kept as long as the pack is
 * open. */
struct ws_plan {
    uint32_t variant; /* the one selected */
    uint32_t launch_count, region_count;
    struct ws_plan_launch launches[WS_PACK_STEPS_MAX]; /* in this order, of one argument block */
    struct ws_plan_region regions[WS_PACK_REGIONS_MAX];
    uint64_t workspace_bytes;
    int64_t sizes[WS_SIZE_COUNT]; /* of the request, with Dqk and Dv */
};

/* Of the variants that fit, the one with the least score times padded query rows (rows of C), that
 * is the model's cost of all rows that its workgroups own; of equals, the first by spec_id. An
 * unknown score loses against any known one. Allocates nothing.
 *
 * WS_ERROR_ARGUMENT: a malformed request, or one too large for a grid. WS_ERROR_NO_VARIANT: none
 * fits; the message names what keeps the nearest from it. */
WS_API enum ws_status ws_pack_select(const struct ws_pack *pack, const struct ws_request *request,
                                     struct ws_plan *plan, struct ws_error *error);

/* Why a variant is taken or not; the later in the list, the nearer it came. */
enum ws_pack_verdict {
    WS_VERDICT_STEP,       /* it is only a step of others */
    WS_VERDICT_KIND,       /* another kernel kind */
    WS_VERDICT_ABI,        /* a version of its argument block that this library does not have */
    WS_VERDICT_TARGET,     /* another architecture, or a feature that the target lacks */
    WS_VERDICT_PROBLEM,    /* another problem */
    WS_VERDICT_ALIGNMENT,  /* it needs more than the request promises */
    WS_VERDICT_CONSTRAINT, /* sequence lengths that it was not built to be chosen for */
    WS_VERDICT_COST,       /* it fits, another costs less */
    WS_VERDICT_TIE,        /* it fits and costs the same, another comes first */
    WS_VERDICT_SELECTED
};

/* "alignment", static; NULL outside the enum. */
WS_API const char *ws_verdict_name(enum ws_pack_verdict verdict);

struct ws_candidate {
    uint32_t variant;
    enum ws_pack_verdict verdict;
    double cost;      /* as ws_pack_select compares it; infinite where the score is unknown */
    char reason[192]; /* what differs, with both values */
};

/* Calls `each` with every variant in turn. WS_ERROR_ARGUMENT: a malformed request. */
WS_API enum ws_status ws_pack_explain(const struct ws_pack *pack, const struct ws_request *request,
                                      void (*each)(void *context,
                                                   const struct ws_candidate *candidate),
                                      void *context, struct ws_error *error);

/* An operation with its kernels loaded on a device. */
struct ws_prepared;

/* Makes a plan ready to be launched. A code object is read from the pack's file, checked and loaded
 * when the device first needs it, and kept until the device is closed. The pack may be closed
 * afterwards; the device may not. Free with ws_prepared_free.
 *
 * WS_ERROR_ARGUMENT: not a plan of this pack, or one of a size above 2^31 - 1. WS_ERROR_PACK,
 * WS_ERROR_OBJECT: the object is damaged, for another target, or its notes do not say what the pack
 * says (ABI version, argument table, wave size, LDS, scratch). WS_ERROR_IO: the pack's file is
 * gone. */
WS_API enum ws_status ws_prepare(struct ws_prepared **prepared, const struct ws_pack *pack,
                                 struct ws_device *device, const struct ws_plan *plan,
                                 struct ws_error *error);
WS_API void ws_prepared_free(struct ws_prepared *prepared);

/* Zeroes what the plan says and launches its kernels in the caller's stream (a hipStream_t, or
 * NULL), without allocating, locking or waiting: a stream that is being captured takes it.
 *
 * `args` is the argument block of the kind (struct ws_fmha_fwd_args, ...), copied before the call
 * returns; the pointers of regions, and the strides of those that are tensors, are filled in.
 * `workspace` is device memory of workspace_bytes that no other launch uses meanwhile; 0 where none
 * is needed.
 *
 * WS_ERROR_ARGUMENT, before anything is launched: args_size is not the block's; sizes, or a fixed
 * window, that are not the plan's; a pointer or stride in use that is not aligned as the variant
 * says, a NULL one or a negative one; a scale or softcap that is not finite and above 0. Beyond
 * that, that memory is there is for the caller to see to. */
WS_API enum ws_status ws_prepared_launch(const struct ws_prepared *prepared, const void *args,
                                         size_t args_size, uint64_t workspace, void *stream,
                                         struct ws_error *error);

#ifdef __cplusplus
}
#endif
#endif
