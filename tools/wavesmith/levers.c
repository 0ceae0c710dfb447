/* wavesmith levers: the lever table. */
#include <stdio.h>
#include <stdlib.h>

#include "gen/wavesmith.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/output.h"

static int print_markdown(void)
{
    char *text = ws_levers_markdown();
    if (!text) {
        fputs("wavesmith: error: out of memory\n", stderr);
        return WS_EXIT_ENVIRONMENT;
    }
    fputs(text, stdout);
    free(text);
    return WS_EXIT_OK;
}

static int print_json(void)
{
    static const char *const types[] = {"enum", "integer", "flag"};
    json_t *levers = json_array();
    for (int i = 0; i < WS_LEVER_COUNT; ++i) {
        const struct ws_lever_info *info = ws_lever_info((enum ws_lever)i);
        json_array_append_new(levers,
                              json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", info->name, "type",
                                        types[info->type], "default", info->default_text, "values",
                                        info->values, "help", info->help));
    }
    return ws_print_json(json_pack("{s:o}", "levers", levers));
}

int ws_command_levers(const struct ws_arguments *arguments)
{
    if (arguments->markdown)
        return print_markdown();
    if (arguments->json)
        return print_json();
    printf("%-18s %-10s %-26s %s\n", "lever", "default", "values", "meaning");
    for (int i = 0; i < WS_LEVER_COUNT; ++i) {
        const struct ws_lever_info *info = ws_lever_info((enum ws_lever)i);
        printf("%-18s %-10s %-26s %s\n", info->name, info->default_text, info->values, info->help);
    }
    return WS_EXIT_OK;
}
