/* Advice for messages. */
#ifndef WS_GEN_FMHA_BWD_ADVICE_H
#define WS_GEN_FMHA_BWD_ADVICE_H

#include "gen/spec.h"

enum ws_bwd_trouble {
    WS_BWD_REGISTERS = 1, /* too many by the check's estimate */
    WS_BWD_SPILLS = 2,    /* too many by the compiler's count */
    WS_BWD_WAVES = 4,     /* more than tiles of keys */
    WS_BWD_SHARES = 8,    /* more than scores */
};

enum { WS_BWD_ADVICE_SIZE = 384 };

/* "set own_v: lds, or block_n: 64": changes after which the spec can be generated; one each, or
 * else up to three together; `otherwise` where there are none. Without an error to fill it looks
 * for none: so the check of a change asks. */
void ws_bwd_advise(const struct ws_spec *spec, enum ws_bwd_trouble trouble, const char *otherwise,
                   char text[WS_BWD_ADVICE_SIZE], const struct ws_error *error);

#endif
