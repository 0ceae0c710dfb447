#include "tools/wavesmith/dot.h"

#include <math.h>

enum { LANES = 8 }; /* partial sums, so that the compiler can use vectors */

double ws_dot_exact(const float *a, const float *b, int64_t length)
{
    double sum[LANES] = {0};
    int64_t d = 0;
    for (; d + LANES <= length; d += LANES)
        for (int i = 0; i < LANES; ++i)
            sum[i] += (double)a[d + i] * (double)b[d + i];
    for (; d < length; ++d)
        sum[0] += (double)a[d] * (double)b[d];
    double total = 0;
    for (int i = 0; i < LANES; ++i)
        total += sum[i];
    return total;
}

float ws_dot_rounded(const float *a, const float *b, int64_t length)
{
    float sum[LANES] = {0};
    int64_t d = 0;
    for (; d + LANES <= length; d += LANES)
        for (int i = 0; i < LANES; ++i)
            sum[i] += a[d + i] * b[d + i];
    for (; d < length; ++d)
        sum[0] += a[d] * b[d];
    float total = 0;
    for (int i = 0; i < LANES; ++i)
        total += sum[i];
    return total;
}

double ws_dot_magnitude(const float *a, const float *b, int64_t length)
{
    float sum[LANES] = {0};
    for (int64_t d = 0; d < length; ++d)
        sum[d % LANES] += fabsf(a[d] * b[d]);
    double total = 0;
    for (int i = 0; i < LANES; ++i)
        total += (double)sum[i];
    return total;
}

double ws_dot_lost(const float *a, const float *b, int64_t length, float below)
{
    double lost = 0;
    for (int64_t d = 0; d < length && below > 0; ++d)
        if (fabsf(a[d]) < below || fabsf(b[d]) < below)
            lost += fabs((double)a[d] * (double)b[d]);
    return lost;
}

float ws_dot_in_order(const float *a, const float *b, int64_t length)
{
    float sum = 0;
    for (int64_t d = 0; d < length; ++d)
        sum += a[d] * b[d];
    return sum;
}
