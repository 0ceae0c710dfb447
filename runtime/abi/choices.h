/* What a problem may be, as far as it is a choice from words: the values of each, once, for the
 * generator's specs, the runtime's packs and the command line. */
#ifndef WS_ABI_CHOICES_H
#define WS_ABI_CHOICES_H

#include <stddef.h>

#include "runtime/abi/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* VALUE(constant, word) of each choice, the default first. */
#define WS_DTYPE_VALUES(VALUE) VALUE(WS_F16, f16) VALUE(WS_BF16, bf16)
#define WS_OUT_VALUES(VALUE) VALUE(WS_OUT_SAME, same) VALUE(WS_OUT_F32, f32)
#define WS_MASK_VALUES(VALUE)                                                                      \
    VALUE(WS_MASK_NONE, none) VALUE(WS_MASK_CAUSAL, causal) VALUE(WS_MASK_WINDOW, window)
#define WS_ALIGN_VALUES(VALUE)                                                                     \
    VALUE(WS_ALIGN_BOTTOM_RIGHT, bottom_right) VALUE(WS_ALIGN_TOP_LEFT, top_left)
#define WS_V_LAYOUT_VALUES(VALUE) VALUE(WS_V_ROW, row) VALUE(WS_V_TRANSPOSED, transposed)

/* CHOICE(name, values): all of them. */
#define WS_CHOICES(CHOICE)                                                                         \
    CHOICE(dtype, WS_DTYPE_VALUES)                                                                 \
    CHOICE(out, WS_OUT_VALUES)                                                                     \
    CHOICE(mask, WS_MASK_VALUES)                                                                   \
    CHOICE(align, WS_ALIGN_VALUES)                                                                 \
    CHOICE(v_layout, WS_V_LAYOUT_VALUES)

/* enum ws_dtype, enum ws_out, enum ws_mask, enum ws_align, enum ws_v_layout. */
#define WS_CHOICE_CONSTANT(constant, word) constant,
#define WS_CHOICE_ENUM(name, values) enum ws_##name{values(WS_CHOICE_CONSTANT)};
WS_CHOICES(WS_CHOICE_ENUM)
#undef WS_CHOICE_ENUM
#undef WS_CHOICE_CONSTANT

/* WS_CHOICE_dtype, ... */
#define WS_CHOICE_NAME(name, values) WS_CHOICE_##name,
enum ws_choice { WS_CHOICES(WS_CHOICE_NAME) WS_CHOICE_COUNT };
#undef WS_CHOICE_NAME

/* Sides of a window, in specs and in packs. */
enum { WS_WINDOW_OPEN = -1, WS_WINDOW_AT_LAUNCH = -2 };

/* The word of a value, static; NULL where the choice has no such value. Thread-safe. */
WS_API const char *ws_choice_word(enum ws_choice choice, int value);

/* The value of a word, or -1. Thread-safe. */
WS_API int ws_choice_value(enum ws_choice choice, const char *word);

#ifdef __cplusplus
}
#endif
#endif
