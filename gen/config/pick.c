/* Alternatives: `pick: first`. */
#include <stdio.h>
#include <string.h>

#include "gen/config/config.h"
#include "gen/kernel.h"
#include "gen/words.h"

enum { DROPPED = -1 }; /* a choice of points that are not kept */

/* Says in point->reason what is wrong with an alternative, if anything; else *compiled is its
 * kernel, where there are options to compile it with. */
static enum ws_status judge(struct ws_config_point *point, int max_spills,
                            const struct ws_codegen_options *options, struct ws_compiled *compiled,
                            struct ws_error *error)
{
    char spills[WS_SPILLS_TEXT_SIZE];
    struct ws_error inner = {0};
    if (point->reason[0] != '\0' || options == NULL)
        return WS_OK;
    enum ws_status status = ws_compile(&point->spec, options, compiled, &inner);
    if (status == WS_OK && ws_spills_too_many(compiled, max_spills, spills)) {
        snprintf(point->reason, sizeof point->reason, "%s", spills);
        ws_compiled_free(compiled);
    }
    if (status == WS_ERROR_SPEC || status == WS_ERROR_COMPILE) {
        memcpy(point->reason, inner.message, sizeof point->reason);
        return WS_OK;
    }
    if (status != WS_OK && error != NULL)
        *error = inner;
    return status;
}

/* Why alternatives will not do, in order; neighbours with the same reason share it. */
struct refusals {
    char text[WS_ERROR_MESSAGE_SIZE];
    char who[WS_ERROR_MESSAGE_SIZE];    /* has the latest reason, which is not in the text yet */
    char reason[WS_ERROR_MESSAGE_SIZE]; /* "": there was none */
    size_t count;
};

static void end_reason(struct refusals *refusals)
{
    if (refusals->reason[0] != '\0')
        ws_append(refusals->text, sizeof refusals->text, "%s%s: %s",
                  refusals->text[0] == '\0' ? "" : "; ", refusals->who, refusals->reason);
}

static void add_refusal(struct refusals *refusals, const struct ws_config_point *point)
{
    refusals->count++;
    if (refusals->reason[0] != '\0' && strcmp(refusals->reason, point->reason) == 0) {
        ws_append(refusals->who, sizeof refusals->who, ", #%zu", point->number);
        return;
    }
    end_reason(refusals);
    memcpy(refusals->reason, point->reason, sizeof refusals->reason);
    snprintf(refusals->who, sizeof refusals->who, "%s", point->name);
}

static bool is_alternative(const struct ws_config *config, size_t first, size_t other)
{
    size_t choice = config->points[first].choice;
    return other == first || (choice > 0 && config->points[other].choice == choice);
}

/* Says what the choice, the last one judged, came to. */
static void explain(struct ws_config_point *picked, const struct refusals *refusals)
{
    if (picked->reason[0] != '\0') {
        picked->reason[0] = '\0';
        ws_append(picked->reason, sizeof picked->reason, "none of %zu alternatives will do; %s",
                  refusals->count, refusals->text);
    }
    picked->choice = 0;
    picked->is_picked = true;
    memcpy(picked->why, refusals->text, sizeof picked->why);
}

enum ws_status ws_config_choose(const struct ws_config *config, size_t first,
                                const struct ws_codegen_options *options,
                                struct ws_config_point *picked, struct ws_compiled *compiled,
                                struct ws_error *error)
{
    const bool is_choice = config->points[first].choice > 0;
    struct refusals refusals = {.count = 0};
    memset(compiled, 0, sizeof *compiled);
    for (size_t i = first; i < config->count; i++) {
        if (!is_alternative(config, first, i))
            continue;
        *picked = config->points[i];
        enum ws_status status = judge(picked, config->max_spills, options, compiled, error);
        if (status != WS_OK)
            return status;
        if (picked->reason[0] == '\0' || !is_choice)
            break;
        add_refusal(&refusals, picked);
    }
    end_reason(&refusals);
    if (is_choice)
        explain(picked, &refusals);
    return WS_OK;
}

/* Puts the choice in the place of the set's first. */
static enum ws_status pick_from(struct ws_config *config, size_t first,
                                const struct ws_codegen_options *options, struct ws_error *error)
{
    struct ws_config_point picked;
    struct ws_compiled compiled;
    const size_t choice = config->points[first].choice;
    enum ws_status status = ws_config_choose(config, first, options, &picked, &compiled, error);
    ws_compiled_free(&compiled);
    if (status != WS_OK)
        return status;
    for (size_t i = first; i < config->count; i++)
        if (config->points[i].choice == choice)
            config->points[i].choice = (size_t)DROPPED;
    config->points[first] = picked;
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
