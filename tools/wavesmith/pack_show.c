/* wavesmith pack ls, show, digest: what is in a pack. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/setting.h"
#include "tools/wavesmith/output.h"
#include "tools/wavesmith/pack.h"

/* Levers, steps and regions beside the columns. */
static json_t *everything(const struct ws_pack *pack, uint32_t index)
{
    const struct ws_variant *variant = ws_pack_variant(pack, index);
    json_t *object = ws_variant_json(variant);
    json_t *levers = json_object();
    char name[64], value[64];
    int used = 0;
    for (const char *line = ws_pack_levers(pack, index);
         sscanf(line, "%63[^=\n]=%63[^\n]\n%n", name, value, &used) == 2; line += used)
        json_object_set_new(levers, name, json_string(value));
    json_t *steps = json_array();
    for (uint32_t i = 0; i < variant->step_count; ++i)
        json_array_append_new(steps, json_string(ws_pack_variant(pack, variant->steps[i])->symbol));
    json_t *regions = json_array();
    for (uint32_t i = 0; i < variant->region_count; ++i) {
        char bytes[WS_RULE_TEXT_SIZE];
        const struct ws_region *region = &variant->regions[i];
        ws_rule_text(&region->bytes, bytes);
        json_array_append_new(regions, json_pack("{s:s, s:s, s:b}", "argument", region->argument,
                                                 "bytes", bytes, "zero", region->zero));
    }
    json_object_set_new(object, "lever_values", levers);
    json_object_set_new(object, "steps", steps);
    json_object_set_new(object, "regions", regions);
    return object;
}

static void print_row(const struct ws_variant *variant)
{
    char head_dim[32];
    char features[64] = "";
    const bool has_lse = variant->lse && ws_setting_is_of(WS_FIELD_lse, variant->kind);
    static const char *const names[] = {"lse", "varlen", "softcap", "sink", "alibi", "bias"};
    const bool has[] = {has_lse,       variant->varlen, variant->softcap,
                        variant->sink, variant->alibi,  variant->bias};
    for (size_t i = 0; i < sizeof has / sizeof *has; ++i)
        if (has[i])
            snprintf(features + strlen(features), sizeof features - strlen(features), "%s%s",
                     features[0] ? "," : "", names[i]);
    snprintf(head_dim, sizeof head_dim,
             variant->head_dim_qk == variant->head_dim_v ? "%d" : "%dx%d", variant->head_dim_qk,
             variant->head_dim_v);
    printf("%.12s  %-8s %-8s %-4s %-7s %-6s %2d  %-28s %4d %4d %7.2f %7d%s\n", variant->spec_id,
           variant->arch, ws_arg_table(variant->kind)->kind_name,
           ws_choice_word(WS_CHOICE_dtype, variant->dtype), head_dim,
           ws_choice_word(WS_CHOICE_mask, variant->mask), variant->alignment,
           features[0] ? features : "-", variant->vgpr, variant->tile_q, variant->score,
           variant->object_bytes,
           variant->step_count > 0 ? "  operation"
           : variant->selectable   ? ""
                                   : "  step");
}

static void print_head(void)
{
    printf("%-12s  %-8s %-8s %-4s %-7s %-6s %2s  %-28s %4s %4s %7s %7s\n", "spec_id", "arch",
           "kind", "type", "D", "mask", "al", "features", "VGPR", "rows", "score", "bytes");
}

static void print_count(uint32_t shown, uint32_t all, uint32_t steps)
{
    printf("%" PRIu32 " of %" PRIu32 " variants", shown, all);
    if (steps > 0)
        printf(", %" PRIu32 " of them steps of operations, which `pack build` does not count",
               steps);
    putchar('\n');
}

int ws_command_pack_ls(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct ws_pack *pack = NULL;
    uint32_t shown = 0;
    uint32_t steps = 0;
    enum ws_status status = ws_pack_open(&pack, arguments->operand, NULL, &error);
    json_t *list = json_array();
    for (uint32_t i = 0; status == WS_OK && i < ws_pack_count(pack); ++i) {
        bool matches = false;
        status = ws_pack_matches(pack, i, arguments, &matches, &error);
        if (status != WS_OK || !matches)
            continue;
        steps += !ws_pack_variant(pack, i)->selectable;
        if (shown++ == 0 && !arguments->json)
            print_head();
        if (arguments->json)
            json_array_append_new(list, ws_variant_json(ws_pack_variant(pack, i)));
        else
            print_row(ws_pack_variant(pack, i));
    }
    int code = status == WS_OK ? WS_EXIT_OK : ws_report_error(&error);
    if (status == WS_OK && arguments->json)
        code = ws_print_json(
            json_pack("{s:s, s:O}", "digest", ws_pack_digest(pack), "variants", list));
    else if (status == WS_OK)
        print_count(shown, ws_pack_count(pack), steps);
    json_decref(list);
    ws_pack_close(pack);
    return code;
}

static void print_operation(const struct ws_pack *pack, const struct ws_variant *variant)
{
    char bytes[WS_RULE_TEXT_SIZE];
    for (uint32_t i = 0; i < variant->step_count; ++i) {
        const struct ws_variant *step = ws_pack_variant(pack, variant->steps[i]);
        printf("%s%.12s  %s\n", i == 0 ? "\nsteps:\n" : "", step->spec_id, step->symbol);
    }
    for (uint32_t i = 0; i < variant->region_count; ++i) {
        const struct ws_region *region = &variant->regions[i];
        ws_rule_text(&region->bytes, bytes);
        printf("%s%s %s%s\n", i == 0 ? "\nworkspace:\n" : "", region->argument, bytes,
               region->zero ? ", zeroed" : "");
    }
}

static void print_everything(const struct ws_pack *pack, uint32_t index)
{
    json_t *object = ws_variant_json(ws_pack_variant(pack, index));
    const char *name;
    json_t *unused;
    json_object_foreach(object, name, unused)
    {
        char value[4096];
        ws_variant_value(ws_pack_variant(pack, index), "", name, value, sizeof value);
        printf("%-20s %s\n", name, value[0] ? value : "-");
    }
    json_decref(object);
    print_operation(pack, ws_pack_variant(pack, index));
    printf("\nlevers:\n%s\narguments:\n%s", ws_pack_levers(pack, index),
           ws_pack_arguments(pack, index));
}

int ws_command_pack_show(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct ws_pack *pack = NULL;
    uint32_t index = 0;
    int code = WS_EXIT_OK;
    enum ws_status status = ws_pack_open(&pack, arguments->operand, NULL, &error);
    if (status == WS_OK)
        status = ws_pack_find(pack, arguments->operands.items[1], &index, &error);
    if (status != WS_OK)
        code = ws_report_error(&error);
    else if (arguments->json)
        code = ws_print_json(everything(pack, index));
    else
        print_everything(pack, index);
    ws_pack_close(pack);
    return code;
}

int ws_command_pack_digest(const struct ws_arguments *arguments)
{
    struct ws_error error = {0};
    struct ws_pack *pack = NULL;
    int code = WS_EXIT_OK;
    if (ws_pack_open(&pack, arguments->operand, NULL, &error) != WS_OK)
        code = ws_report_error(&error);
    else if (arguments->json)
        code = ws_print_json(json_pack("{s:s}", "digest", ws_pack_digest(pack)));
    else
        puts(ws_pack_digest(pack));
    ws_pack_close(pack);
    return code;
}
