/* What the compile tests share. Include cmocka's headers through this one. */
#ifndef COMPILE_TEST_SUPPORT_H
#define COMPILE_TEST_SUPPORT_H

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>

#include "ir/compile.h"
#include "runtime/abi/object.h"
#include "tests/check.h"
#include "tests/scratch.h"

/* A module in a context of its own. */
struct unit {
    LLVMContextRef context;
    LLVMModuleRef module;
};

static inline struct unit unit_open(const char *text)
{
    struct unit unit = {.context = LLVMContextCreate()};
    char *message = NULL;
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRange(text, strlen(text), "test", 1);
    if (LLVMParseIRInContext2(unit.context, buffer, &unit.module, &message))
        fail_msg("%s", message);
    LLVMDisposeMemoryBuffer(buffer);
    return unit;
}

static inline void unit_close(struct unit *unit)
{
    LLVMDisposeModule(unit->module);
    LLVMContextDispose(unit->context);
}

static inline FILE *open_file(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file) {
        print_error("cannot open %s\n", path);
        abort();
    }
    return file;
}

/* The compile must fail with the code; the message is left in *error. */
static inline void assert_refused(const char *ir, const char *cpu,
                                  const struct ws_codegen_options *options, enum ws_status code,
                                  struct ws_error *error)
{
    struct unit unit = unit_open(ir);
    struct ws_code result;
    memset(&result, 0x5a, sizeof result);
    memset(error, 0, sizeof *error);
    assert_int_equal(ws_codegen(&result, unit.module, cpu, options, error), code);
    assert_int_equal(error->code, code);
    assert_null(result.bytes);
    assert_int_equal(result.size, 0);
    unit_close(&unit);
}

static inline struct ws_code compile_ok(const char *ir, const char *cpu,
                                        const struct ws_codegen_options *options)
{
    struct unit unit = unit_open(ir);
    struct ws_code code;
    struct ws_error error = {0};
    if (ws_codegen(&code, unit.module, cpu, options, &error))
        fail_msg("%s", error.message);
    unit_close(&unit);
    return code;
}

static inline void assert_same_code(const struct ws_code *a, const struct ws_code *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->bytes, b->bytes, a->size);
}

/* out[i] += a product of 16x16 matrices of ones, in a loop of n. */
extern const char good_ir[];
/* 128 KiB of LDS. */
extern const char lds_overflow_ir[];
/* An intrinsic that gfx1151 does not have: LLVM aborts. */
extern const char unselectable_ir[];
/* A call of a function that nobody defines. */
extern const char undefined_ir[];
/* Takes seconds to compile. The text is malloc'ed. */
char *slow_ir(int blocks);

#endif
