#include <stdio.h>
#include <string.h>

#include "gen/setting.h"
#include "gen/wavesmith.h"
#include "gen/words.h"
#include "runtime/abi/sha256.h"

void ws_spec_canonical(const struct ws_spec *spec, char text[WS_CANONICAL_SIZE])
{
    snprintf(text, WS_CANONICAL_SIZE, "generator=%s\n", ws_version());
    for (int i = 0; i < WS_SETTING_COUNT; i++) {
        char value[WS_SETTING_TEXT_SIZE];
        if (i == WS_FIELD_head_dim)
            continue; /* head_dim_qk and head_dim_v say it */
        if (!ws_setting_is_of(i, spec->kind))
            continue;
        ws_setting_text(spec, i, value);
        ws_append(text, WS_CANONICAL_SIZE, "%s=%s\n", ws_setting_at(i).name, value);
    }
}

void ws_spec_id(const struct ws_spec *spec, char id[WS_ID_SIZE])
{
    char text[WS_CANONICAL_SIZE];
    ws_spec_canonical(spec, text);
    ws_sha256(text, strlen(text), id);
}

/* What the symbol says of an attention problem. */
static void append_attention(const struct ws_spec *spec, char symbol[WS_SYMBOL_SIZE])
{
    ws_append(symbol, WS_SYMBOL_SIZE, "_d%d", spec->head_dim_qk);
    if (spec->head_dim_v != spec->head_dim_qk)
        ws_append(symbol, WS_SYMBOL_SIZE, "x%d", spec->head_dim_v);
    if (spec->v_layout == WS_V_TRANSPOSED)
        ws_append(symbol, WS_SYMBOL_SIZE, "_vt");
    if (spec->mask != WS_MASK_NONE)
        ws_append(symbol, WS_SYMBOL_SIZE, "_%s_%s",
                  spec->mask == WS_MASK_CAUSAL ? "causal" : "window",
                  spec->align == WS_ALIGN_TOP_LEFT ? "top_left" : "bottom_right");
    for (int i = 0; i < WS_FIELD_COUNT; i++) {
        char value[WS_SETTING_TEXT_SIZE];
        ws_setting_text(spec, i, value);
        if (ws_setting_is_of(i, spec->kind) && ws_setting_at(i).section == WS_SECTION_FEATURES &&
            strcmp(value, "1") == 0)
            ws_append(symbol, WS_SYMBOL_SIZE, "_%s", ws_setting_at(i).name);
    }
}

void ws_spec_symbol(const struct ws_spec *spec, char symbol[WS_SYMBOL_SIZE])
{
    static const int readable[] = {WS_FIELD_kernel, WS_FIELD_arch, WS_FIELD_dtype};
    symbol[0] = '\0';
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++) {
        char value[WS_SETTING_TEXT_SIZE];
        ws_setting_text(spec, readable[i], value);
        ws_append(symbol, WS_SYMBOL_SIZE, "%s%s", i == 0 ? "" : "_", value);
    }
    if (ws_setting_is_of(WS_FIELD_head_dim, spec->kind))
        append_attention(spec, symbol);
    if (spec->part != WS_PART_MAIN) {
        char part[WS_SETTING_TEXT_SIZE];
        ws_setting_text(spec, WS_FIELD_part, part);
        ws_append(symbol, WS_SYMBOL_SIZE, "_%s", part);
    }
    if (spec->out == WS_OUT_F32)
        ws_append(symbol, WS_SYMBOL_SIZE, "_f32");
    char id[WS_ID_SIZE];
    ws_spec_id(spec, id);
    ws_append(symbol, WS_SYMBOL_SIZE, "_%.16s", id);
}
