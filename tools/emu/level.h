/* The execution files are compiled once for each x86-64 level (CMakeLists.txt) and the best one
 * that the CPU has is chosen at load time. Symbols that such a file exports carry the level. */
#ifndef WS_EMU_LEVEL_H
#define WS_EMU_LEVEL_H

#ifndef EMU_LEVEL
#define EMU_LEVEL base
#endif
#define EMU_PASTE2(a, b) a##_##b
#define EMU_PASTE(a, b) EMU_PASTE2(a, b)
#define EMU_LEVELED(name) EMU_PASTE(name, EMU_LEVEL)

/* For functions that are fast only where their constant arguments are known. */
#define EMU_ALWAYS_INLINE static inline __attribute__((always_inline))

/* The loop of a lane kernel: iterations touch their own lane only, even where arrays coincide. */
#define EMU_EACH_LANE _Pragma("omp simd") for (unsigned i = 0; i < EMU_LANES; i++)

/* The same where every lane also adds bits to `x` by |=. */
#define EMU_STRING(text) #text
#define EMU_PRAGMA(text) _Pragma(EMU_STRING(text))
#define EMU_EACH_LANE_BITS(x)                                                                      \
    EMU_PRAGMA(omp simd reduction(| : x)) for (unsigned i = 0; i < EMU_LANES; i++)

#endif
