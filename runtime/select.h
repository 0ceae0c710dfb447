/* The steps of a selection, which ws_pack_select takes in haste and ws_pack_explain one by one. */
#ifndef WS_SELECT_H
#define WS_SELECT_H

#include "runtime/pack/index.h"

struct ws_selection {
    const struct ws_request *request;
    const char *features; /* of its target: ":sramecc+:xnack-"; "" */
    struct ws_key key;
    struct ws_key key_at_launch; /* the key of variants for any window */
    bool is_window;              /* that key is one more to look up */
    int64_t sizes[WS_SIZE_COUNT];
    int64_t rows; /* of queries, or of C */
};

/* Checks a request and brings it into this form. WS_ERROR_ARGUMENT: it is malformed. */
enum ws_status ws_selection_begin(struct ws_selection *selection, const struct ws_index *index,
                                  const struct ws_request *request, struct ws_error *error);

/* Of a variant of the same key: WS_VERDICT_COST if it fits, else what keeps it from that. */
enum ws_pack_verdict ws_selection_fits(const struct ws_selection *selection,
                                       const struct ws_index_entry *entry);
double ws_selection_cost(const struct ws_selection *selection, const struct ws_index_entry *entry);

/* The variant that is selected, or WS_INDEX_NONE. */
uint32_t ws_selection_best(const struct ws_selection *selection, const struct ws_index *index);

/* WS_ERROR_NO_VARIANT with what keeps the nearest variant from fitting. */
enum ws_status ws_selection_none(const struct ws_selection *selection, const struct ws_pack *pack,
                                 struct ws_error *error);

#endif
