/* Alternatives: `pick: first`. */
#include <stdio.h>
#include <string.h>

#include "gen/config/config.h"
#include "gen/kernel.h"
#include "gen/words.h"

enum { DROPPED = -1 }; /* a choice of points that are not kept */

/* Says in point->reason what is wrong with an alternative, if anything. */
static enum ws_status judge(struct ws_config_point *point, int max_spills,
                            const struct ws_codegen_options *options, struct ws_error *error)
{
    char spills[WS_SPILLS_TEXT_SIZE];
    struct ws_compiled compiled;
    struct ws_error inner = {0};
    if (point->reason[0] != '\0' || options == NULL)
        return WS_OK;
    enum ws_status status = ws_compile(&point->spec, options, &compiled, &inner);
    if (status == WS_OK && ws_spills_too_many(&compiled, max_spills, spills))
        snprintf(point->reason, sizeof point->reason, "%s", spills);
    ws_compiled_free(&compiled);
    if (status == WS_ERROR_SPEC || status == WS_ERROR_COMPILE) {
        memcpy(point->reason, inner.message, sizeof point->reason);
        return WS_OK;
    }
    if (status != WS_OK && error != NULL)
        *error = inner;
    return status;
}

/* Puts the first good alternative in the place of the set's first; of no good one, the last. */
static enum ws_status pick_from(struct ws_config *config, size_t first,
                                const struct ws_codegen_options *options, struct ws_error *error)
{
    struct ws_config_point *points = config->points;
    const size_t choice = points[first].choice;
    char why[sizeof points->why] = "";
    size_t picked = first, count = 0;
    bool is_found = false;
    for (size_t i = first; i < config->count; i++) {
        if (points[i].choice != choice)
            continue;
        points[i].choice = (size_t)DROPPED;
        if (is_found)
            continue;
        enum ws_status status = judge(&points[i], config->max_spills, options, error);
        if (status != WS_OK)
            return status;
        picked = i;
        count++;
        is_found = points[i].reason[0] == '\0';
        if (!is_found)
            ws_append(why, sizeof why, "%s%s: %s", count == 1 ? "" : "; ", points[i].name,
                      points[i].reason);
    }
    if (!is_found)
        snprintf(points[picked].reason, sizeof why, "none of %zu alternatives will do; %s", count,
                 why);
    points[first] = points[picked];
    points[first].choice = 0;
    points[first].is_picked = true;
    memcpy(points[first].why, why, sizeof why);
    return WS_OK;
}

enum ws_status ws_config_pick(struct ws_config *config, const struct ws_codegen_options *options,
                              struct ws_error *error)
{
    struct ws_config_point *points = config->points;
    size_t kept = 0;
    for (size_t i = 0; i < config->count; i++) {
        if (points[i].choice == (size_t)DROPPED)
            continue;
        enum ws_status status = WS_OK;
        if (points[i].choice > 0 && !ws_spec_is_open(&points[i].spec))
            status = pick_from(config, i, options, error);
        if (status != WS_OK)
            return status;
        points[kept++] = points[i];
    }
    config->count = kept;
    return WS_OK;
}
