/* The types of arithmetic.def. */
#ifndef WS_TESTS_EMU_ARITHMETIC_H
#define WS_TESTS_EMU_ARITHMETIC_H

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long i64;
typedef unsigned long u64;
__extension__ typedef _Float16 f16;
typedef float f32;
typedef double f64;

#endif
