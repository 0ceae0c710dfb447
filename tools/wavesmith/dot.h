/* Dot products for references. Products of 16-bit values are exact in f32. */
#ifndef WS_TOOL_DOT_H
#define WS_TOOL_DOT_H

#include <stdint.h>

/* In double; in f32, in several partial sums, and one product after the other; of magnitudes. */
double ws_dot_exact(const float *a, const float *b, int64_t length);
float ws_dot_rounded(const float *a, const float *b, int64_t length);
float ws_dot_in_order(const float *a, const float *b, int64_t length);
double ws_dot_magnitude(const float *a, const float *b, int64_t length);

/* Of the products with a factor whose magnitude is below `below`, the sum of magnitudes. */
double ws_dot_lost(const float *a, const float *b, int64_t length, float below);

#endif
