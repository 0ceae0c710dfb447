/* 16-bit floats and random numbers, written for the tests' side alone: nothing here is shared with
 * the generator or the emulator. Thread-safe. */
#ifndef WS_TOOL_NUMBER_H
#define WS_TOOL_NUMBER_H

#include <stdint.h>

#include "gen/spec.h"

/* IEEE binary16 and bfloat16, to nearest even; f16 overflows to infinity, NaN stays NaN. */
uint16_t ws_f16_from_float(float value);
float ws_f16_to_float(uint16_t bits);
uint16_t ws_bf16_from_float(float value);
float ws_bf16_to_float(uint16_t bits);

uint16_t ws_dtype_pack(enum ws_dtype dtype, float value);
float ws_dtype_unpack(enum ws_dtype dtype, uint16_t bits);

/* The nearest value that the type can hold. */
/* Towards zero, of a number that is not negative. */
float ws_dtype_truncate(enum ws_dtype dtype, float value);
float ws_dtype_round(enum ws_dtype dtype, float value);

/* The smallest normal number: 2^-14 or 2^-126. */
float ws_dtype_normal(enum ws_dtype dtype);

/* Half a subnormal step: 2^-25 or 2^-134. */
double ws_dtype_half_step(enum ws_dtype dtype);

/* Half the distance of two neighbours at 1: 2^-11 or 2^-8. */
double ws_unit_roundoff(enum ws_dtype dtype);

/* xoshiro256** (Blackman and Vigna, public domain), seeded by splitmix64. */
struct ws_random {
    uint64_t state[4];
};
void ws_random_seed(struct ws_random *random, uint64_t seed);
uint64_t ws_random_bits(struct ws_random *random);
double ws_random_normal(struct ws_random *random);

/* A whole number of low..high, both included. */
int64_t ws_random_range(struct ws_random *random, int64_t low, int64_t high);

/* A seed that no run had before, from the system. */
uint64_t ws_fresh_seed(void);

#endif
