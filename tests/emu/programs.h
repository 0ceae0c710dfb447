/* Programs of programs_test.c, one result an item, compiled for the host and for the device. They
 * are about what single expressions (arithmetic.def) do not have: private memory, calls, recursion,
 * pointers to several memories, branches and loops that diverge, values that live long. */
#ifndef WS_TESTS_EMU_PROGRAMS_H
#define WS_TESTS_EMU_PROGRAMS_H

#include "tests/emu/arithmetic.h"

#define CALLED __attribute__((noinline)) static

enum { PROGRAM_WORDS = 1024, PROGRAM_ITEMS = 128 };

/* All take an item's number and PROGRAM_WORDS random words, the same for all items. */
#define PROGRAMS(X)                                                                                \
    X(array_dynamic)                                                                               \
    X(array_registers)                                                                             \
    X(array_bytes)                                                                                 \
    X(array_halves)                                                                                \
    X(array_doubles)                                                                               \
    X(array_structs)                                                                               \
    X(insertion_sort)                                                                              \
    X(unaligned_copies)                                                                            \
    X(stack_grows)                                                                                 \
    X(recursion)                                                                                   \
    X(many_arguments)                                                                              \
    X(returned_struct)                                                                             \
    X(function_pointers)                                                                           \
    X(switch_uniform)                                                                              \
    X(switch_divergent)                                                                            \
    X(nested_loops)                                                                                \
    X(pointers)                                                                                    \
    X(live_values)                                                                                 \
    X(checksum)                                                                                    \
    X(hash)                                                                                        \
    X(power_modulo)                                                                                \
    X(wide_product)                                                                                \
    X(newton)                                                                                      \
    X(integral)                                                                                    \
    X(packed_halves)                                                                               \
    X(packed_floats)                                                                               \
    X(dot_bytes)

typedef u16 u16x2 __attribute__((vector_size(4)));
typedef i16 i16x2 __attribute__((vector_size(4)));
__extension__ typedef f16 f16x2 __attribute__((vector_size(4)));

static u32 bits_of(f32 x)
{
    u32 bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* A float from 1 to 2. */
static f32 unit_float(u32 bits)
{
    f32 x;
    bits = 0x3f800000 | bits >> 9;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

static u32 array_dynamic(u32 i, const u32 *in)
{
    u32 a[40], sum = i;
    for (u32 k = 0; k < 40; k++)
        a[k] = in[k] + i * k;
    for (u32 k = 0; k < 100; k++) {
        sum += a[sum % 40];
        a[(sum >> 8) % 40] ^= sum;
    }
    return sum;
}

/* A uniform index: moves of registers. */
static u32 array_registers(u32 i, const u32 *in)
{
    u32 a[8], sum = 0, count = in[0] % 50 + 5;
    for (u32 k = 0; k < 8; k++)
        a[k] = in[k] ^ i;
    for (u32 k = 0; k < count; k++) {
        sum += a[(k + count) % 8];
        a[k * 3 % 8] ^= sum;
    }
    return sum;
}

static u32 array_bytes(u32 i, const u32 *in)
{
    u8 a[44];
    i8 b[19];
    u32 sum = 0;
    for (u32 k = 0; k < 44; k++)
        a[k] = (u8)(in[k] >> (k + i) % 24);
    for (u32 k = 0; k < 19; k++)
        b[k] = (i8)a[(k * 3 + i) % 44];
    for (u32 k = 0; k < 12; k++)
        sum = sum * 5 + a[(sum + k) % 44] + (u32)b[sum % 19];
    return sum;
}

static u32 array_halves(u32 i, const u32 *in)
{
    u16 a[31];
    i16 b[17];
    u32 sum = i;
    for (u32 k = 0; k < 31; k++)
        a[k] = (u16)(in[k] >> (i & 15));
    for (u32 k = 0; k < 17; k++)
        b[k] = (i16)(a[(k + i) % 31] * 3);
    for (u32 k = 0; k < 16; k++) {
        sum = sum * 3 + a[sum % 31] + (u32)b[(sum >> 5) % 17];
        a[sum % 31] = (u16)sum;
    }
    return sum;
}

static u32 array_doubles(u32 i, const u32 *in)
{
    f64 a[12], sum = 0;
    for (u32 k = 0; k < 12; k++)
        a[k] = (f64)(i32)in[k] / 3;
    for (u32 k = 0; k < 12; k++) {
        u32 at = (in[k] + i) % 12;
        sum = sum / 2 + a[at];
        a[(at * 5 + 1) % 12] -= sum;
    }
    return (u32)(i32)(sum / 16);
}

struct record {
    u64 d;
    u32 c;
    f32 e;
    u16 b;
    u8 a;
    u8 rest[5];
};

static u32 array_structs(u32 i, const u32 *in)
{
    struct record r[9];
    u64 sum = i;
    for (u32 k = 0; k < 9; k++) {
        struct record x = {(u64)in[k] * i,    in[k + i], unit_float(in[k]),
                           (u16)(in[k] >> 8), (u8)in[k], {1, 2, 3, 4, (u8)(in[k] >> 24)}};
        r[k] = x;
    }
    for (u32 k = 0; k < 40; k++) {
        struct record *x = &r[sum % 9];
        struct record y = r[(sum >> 7) % 9];
        sum = sum * 31 + x->a + x->b + y.c + y.d + bits_of(y.e) + y.rest[4] + x->rest[k % 5];
        *x = y;
        x->b = (u16)sum;
    }
    return (u32)sum ^ (u32)(sum >> 32);
}

static u32 insertion_sort(u32 i, const u32 *in)
{
    u32 a[24], sum = 0;
    for (u32 k = 0; k < 24; k++) {
        u32 x = in[(k * 7 + i) % 64], at = k;
        while (at > 0 && a[at - 1] > x) {
            a[at] = a[at - 1];
            at--;
        }
        a[at] = x;
    }
    for (u32 k = 0; k < 24; k++)
        sum = sum * 3 + a[k];
    return sum;
}

static u32 unaligned_copies(u32 i, const u32 *in)
{
    u8 a[64], b[64];
    u32 sum = 0;
    __builtin_memcpy(a, in + i, 64);
    __builtin_memset(b, (int)(i + 1), 64);
    __builtin_memcpy(b + 1 + i % 7, a + 3, 40);
    __builtin_memmove(b + 10, b + 5 + i % 3, 33);
    for (u32 k = 0; k < 15; k++) {
        u32 word;
        u64 wide;
        u16 half;
        __builtin_memcpy(&word, b + (sum + k) % 60, 4);
        __builtin_memcpy(&wide, b + (sum >> 3) % 56, 8);
        __builtin_memcpy(&half, b + (sum >> 5) % 62, 2);
        sum = sum * 7 + word + (u32)(wide >> 20) + half;
    }
    return sum;
}

/* An amount of stack that is known late. */
static u32 stack_grows(u32 i, const u32 *in)
{
    u32 count = 3 + in[i] % 10, sum = 0;
    u32 *a = __builtin_alloca(count * sizeof *a);
    for (u32 k = 0; k < count; k++)
        a[k] = in[k] + k;
    for (u32 k = 0; k < 20; k++)
        sum = sum * 3 + a[(sum + k) % count];
    return sum;
}

CALLED u32 fibonacci(u32 n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static u32 recursion(u32 i, const u32 *in)
{
    return fibonacci((in[0] + i) % 9);
}

CALLED u32 mix_many(const u32 *in, u32 a, u64 b, f32 c, f64 d, struct record e, u32 f, u32 g, u32 h,
                    u64 j, u64 k, u64 l, u64 m, u64 n, u64 o, u64 p, u64 q, u64 r, u64 s, u32 t)
{
    u64 x = in[a % 100] + b + bits_of(c) + (u64)(i64)(d * 100) + e.c + e.d + f * 3 + g * 5 + h * 7;
    return (u32)(x + (j ^ k ^ l ^ m) + (n - o) * p + q / (r | 1) + (s >> 3) + t);
}

static u32 many_arguments(u32 i, const u32 *in)
{
    struct record e = {in[i + 1], in[i], 1.5f, 2, 1, {0}};
    u64 w = (u64)in[i] << 32 | in[i + 2];
    return mix_many(in, in[3], w, unit_float(in[4]), (f64)(in[5] >> 8), e, i, i + 1, i + 2, w + 1,
                    w * 3, w ^ 5, w + i, w - i, w >> 3, in[6], w, in[7], w << 5, in[8]);
}

CALLED struct record make_record(u32 x, u32 y)
{
    struct record r = {(u64)x * y, x + y, unit_float(x), (u16)y, (u8)x, {(u8)y, 1, 2, 3, (u8)x}};
    return r;
}

static u32 returned_struct(u32 i, const u32 *in)
{
    u32 sum = 0;
    for (u32 k = 0; k < 5; k++) {
        struct record r = make_record(in[i + k] + sum, in[k]);
        sum += r.a + r.b * 3 + r.c * 5 + (u32)(r.d >> 9) + r.rest[k];
    }
    return sum;
}

CALLED u32 add_seven(u32 x)
{
    return x + 7;
}

CALLED u32 turn(u32 x)
{
    return x << 5 | x >> 27;
}

CALLED u32 square(u32 x)
{
    return x * x + 1;
}

CALLED u32 shuffle(u32 x)
{
    return fibonacci(x % 5) ^ x;
}

static u32 function_pointers(u32 i, const u32 *in)
{
    static u32 (*const table[])(u32) = {add_seven, turn, square, shuffle};
    u32 x = in[i];
    for (u32 k = 0; k < 8; k++) {
        x = table[in[k] % 4](x);
        x = table[x >> 13 & 3](x);
    }
    return x;
}

static u32 choose(u32 which, u32 x)
{
    switch (which) {
    case 0:
        return x + 3;
    case 1:
        return x * x;
    case 2:
        return x ^ x >> 3;
    case 3:
        return x / 7;
    case 4:
        return x % 11;
    case 5:
        return ~x;
    case 6:
        return x - 99;
    case 7:
        return x | 0x1234;
    case 8:
    case 9:
        return (x << 7) + which;
    case 100:
        return x >> 1;
    case 1000:
        return 5;
    default:
        return x * 17;
    }
}

static u32 switch_uniform(u32 i, const u32 *in)
{
    u32 x = in[i];
    for (u32 k = 0; k < 20; k++)
        x = choose(in[k] % 12, x) + choose(k == 5 ? 100 : k == 6 ? 1000 : k, x);
    return x;
}

static u32 switch_divergent(u32 i, const u32 *in)
{
    u32 x = in[i];
    for (u32 k = 0; k < 20; k++)
        x = choose(x % 12, x + k) ^ choose((x >> 9) % 3 ? 100 : 1000, x);
    return x;
}

static u32 nested_loops(u32 i, const u32 *in)
{
    u32 sum = 0;
    for (u32 a = 0; a < in[i] % 9; a++) {
        if (in[a + i] % 5 == 0)
            continue;
        for (u32 b = a;; b += 3) {
            sum += in[b] ^ a;
            if (sum % 7 == 1 || b > 40)
                break;
            do
                sum = sum / 3 + b;
            while (sum % 4 == 2 && sum > 100);
        }
        if (sum % 31 == 3)
            return sum;
    }
    return sum + 1;
}

/* To each memory that a lane can name. */
CALLED u32 walk(const u32 *p, u32 *q, u32 n)
{
    u32 sum = 0;
    for (u32 k = 0; k < n; k++) {
        sum = sum * 3 + p[(sum + k) % n];
        q[sum % n] += sum;
    }
    return sum;
}

static u32 pointers(u32 i, const u32 *in)
{
    u32 a[16], b[16];
    for (u32 k = 0; k < 16; k++) {
        a[k] = in[k] * i;
        b[k] = k;
    }
    u32 sum = walk(in[i] & 1 ? a : in + i, in[i] & 2 ? a : b, 16);
    for (u32 k = 0; k < 16; k++)
        sum = sum * 3 + a[k] + b[k];
    return sum;
}

/* More values at a time than a kernel of few registers has. */
static u32 live_values(u32 i, const u32 *in)
{
    u32 a[48], sum = 0;
#pragma GCC unroll 48
    for (u32 k = 0; k < 48; k++)
        a[k] = in[k * 5 + i] + k;
    for (u32 round = 0; round < 3; round++) {
#pragma GCC unroll 48
        for (u32 k = 0; k < 48; k++)
            a[k] += a[(k * 11 + 5) % 48] ^ (a[(k + 1) % 48] >> 3);
    }
#pragma GCC unroll 48
    for (u32 k = 0; k < 48; k++)
        sum = sum * 3 + a[k];
    return sum;
}

static u32 checksum(u32 i, const u32 *in)
{
    u32 crc = ~0u;
    for (u32 k = 0; k < 8; k++) {
        crc ^= in[k + i];
        for (u32 b = 0; b < 32; b++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static u32 hash(u32 i, const u32 *in)
{
    u64 h = 0xcbf29ce484222325 + i;
    for (u32 k = 0; k < 16; k++) {
        h ^= in[k + i];
        h *= 0x100000001b3;
        h = h << 23 | h >> 41;
        h += (u64)__builtin_popcountll(h) << (h & 31);
    }
    return (u32)h ^ (u32)(h >> 32);
}

static u32 power_modulo(u32 i, const u32 *in)
{
    u64 base = in[i], m = in[i + 1] | 3, x = 1;
    for (u32 e = in [i + 2]; e; e >>= 1) {
        x = e & 1 ? x * base % m : x;
        base = base * base % m;
    }
    return (u32)x;
}

static u32 wide_product(u32 i, const u32 *in)
{
    __extension__ typedef unsigned __int128 u128;
    u128 x = (u128)in[i] << 70 | (u128)in[i + 1] << 40 | in[i + 2];
    for (u32 k = 0; k < 6; k++)
        x = x * (in[k] | 1) + (x >> 61);
    return (u32)(x >> 96) ^ (u32)(x >> 64) ^ (u32)(x >> 32) ^ (u32)x;
}

static u32 newton(u32 i, const u32 *in)
{
    f32 a = unit_float(in[i]), x = a;
    for (u32 k = 0; k < 6; k++)
        x = 0.5f * __builtin_fmaf(a, 1 / x, x);
    return bits_of(x);
}

static u32 integral(u32 i, const u32 *in)
{
    f64 sum = 0, step = 1.0 / (f64)(16 + in[i] % 16);
    for (u32 k = 0; k < 20; k++) {
        f64 x = step * k;
        sum += step / (1 + x * x);
    }
    return (u32)(i32)(sum * 1e9);
}

static u32 packed_halves(u32 i, const u32 *in)
{
    u16x2 a = {(u16)in[i], (u16)(in[i] >> 16)}, b = {(u16)in[1], (u16)i};
    for (u32 k = 0; k < 10; k++) {
        u16x2 s = {(u16)(in[k] & 15), (u16)(in[k] >> 8 & 15)};
        i16x2 c = (i16x2)a, d = (i16x2)b;
        i16x2 more = c > d, less = (i16x2)(a < b);
        a = a * b + (u16x2)((c & more) | (d & ~more));
        b = (b << s) - (a >> s) + (u16x2)(((i16x2)a & less) | ((i16x2)b & ~less));
        a ^= (u16x2)(d >> (i16x2)s);
    }
    return a[0] ^ (u32)b[0] << 16 ^ a[1] * 3u ^ (u32)b[1] << 8;
}

/* Exact: small integers. */
static u32 packed_floats(u32 i, const u32 *in)
{
    f16x2 a = {(f16)(in[i] % 5), (f16)(in[i] >> 8 & 3)}, b = {1, 2}, sum = {0, 0};
    for (u32 k = 0; k < 12; k++) {
        f16x2 x = {(f16)(in[k] % 7), (f16)(in[k] >> 8 & 7)};
        b = a * x - b;
        for (u32 h = 0; h < 2; h++)
            b[h] = b[h] > x[h] * 5 ? x[h] : b[h] < -x[h] ? -b[h] : b[h];
        sum += b * x;
    }
    return (u32)(i32)(f32)sum[0] * 1000003u + (u32)(i32)(f32)sum[1];
}

static u32 dot_bytes(u32 i, const u32 *in)
{
    u32 sum = 0;
    i32 signed_sum = 0;
    for (u32 k = 0; k < 8; k++)
        for (u32 b = 0; b < 32; b += 8) {
            sum += (in[k] >> b & 255) * (in[k + i] >> b & 255);
            signed_sum += (i8)(in[k] >> b) * (i8)(in[k + i + 1] >> b);
        }
    return sum ^ (u32)signed_sum;
}

#endif
