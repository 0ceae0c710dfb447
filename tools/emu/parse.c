/* A line of disassembly to operands and modifiers. */
#include "tools/emu/code.h"
#include "tools/emu/lanes.h"
#include "tools/emu/levels.h"
#include "tools/emu/memory.h"
#include "tools/emu/prepare.h"
#include "tools/emu/wave.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t type_bits[] = {
#define X(name, bits) bits,
    EMU_TYPES(X)
#undef X
};

void emu_run_unknown(struct emu_wave *w, const struct emu_op *op)
{
    emu_fault(w, op, "unknown-instruction", -1, "the emulator does not execute this instruction");
}

/* "v5", "s[4:7]": the number and count of registers after the letters. */
static bool registers(const char *text, unsigned *reg, uint8_t *dwords)
{
    char *end;
    if (text[0] == '[') {
        unsigned long first = strtoul(text + 1, &end, 10), last = first;
        if (*end == ':')
            last = strtoul(end + 1, &end, 10);
        *reg = (unsigned)first;
        *dwords = (uint8_t)(last - first + 1);
        return *end == ']' && end[1] == 0;
    }
    if (!isdigit((unsigned char)text[0]))
        return false;
    *reg = (unsigned)strtoul(text, &end, 10);
    *dwords = 1;
    return *end == 0;
}

static const struct {
    const char *name;
    uint8_t kind, reg, dwords;
} special[] = {
    {"vcc_lo", EMU_SGPR, EMU_VCC_LO, 1},
    {"vcc_hi", EMU_SGPR, EMU_VCC_HI, 1},
    {"vcc", EMU_SGPR, EMU_VCC_LO, 2},
    {"exec_lo", EMU_SGPR, EMU_EXEC_LO, 1},
    {"exec_hi", EMU_SGPR, EMU_EXEC_HI, 1},
    {"exec", EMU_SGPR, EMU_EXEC_LO, 2},
    {"m0", EMU_SGPR, EMU_M0, 1},
    {"flat_scratch_lo", EMU_SGPR, EMU_FLAT_SCRATCH, 1},
    {"flat_scratch_hi", EMU_SGPR, EMU_FLAT_SCRATCH + 1, 1},
    {"flat_scratch", EMU_SGPR, EMU_FLAT_SCRATCH, 2},
    {"xnack_mask_lo", EMU_SGPR, EMU_XNACK_MASK, 1},
    {"xnack_mask_hi", EMU_SGPR, EMU_XNACK_MASK + 1, 1},
    {"xnack_mask", EMU_SGPR, EMU_XNACK_MASK, 2},
    {"null", EMU_SGPR, EMU_NULL, 1},
    {"scc", EMU_SCC, 0, 1},
    {"src_scc", EMU_SCC, 0, 1},
    {"off", EMU_OFF, 0, 0},
};

/* Ranges of flat addresses that are LDS and scratch; only 64-bit operands see their upper half. */
static const struct {
    const char *name;
    uint64_t value;
} apertures[] = {
    {"src_shared_base", EMU_SHARED_BASE},
    {"src_shared_limit", EMU_SHARED_BASE | UINT32_MAX},
    {"src_private_base", EMU_PRIVATE_BASE},
    {"src_private_limit", EMU_PRIVATE_BASE | UINT32_MAX},
};

/* A number in an operand of the given type, as its bits. */
static bool number(const char *text, unsigned type, uint64_t *value)
{
    for (size_t i = 0; i < sizeof apertures / sizeof apertures[0]; i++)
        if (strcmp(text, apertures[i].name) == 0) {
            *value = type_bits[type] == 64 ? apertures[i].value : (uint32_t)apertures[i].value;
            return true;
        }
    char literal[32];
    if (strncmp(text, "lit(", 4) == 0) { /* a literal that could have been inline */
        snprintf(literal, sizeof literal, "%.*s", (int)strcspn(text + 4, ")"), text + 4);
        text = literal;
    }
    char *end;
    if (strchr(text, '.') && strncmp(text, "0x", 2) != 0) {
        double x = strtod(text, &end);
        if (type == EMU_TYPE_bf16 || type == EMU_TYPE_pbf16)
            *value = emu_to_bf16((float)x);
        else if (type_bits[type] == 16 || type == EMU_TYPE_pf16)
            *value = emu_to_f16((float)x);
        else if (type_bits[type] == 64 && !emu_is_pair(type))
            *value = emu_bits64(x);
        else
            *value = emu_bits((float)x);
        return *end == 0;
    }
    bool hex = strncmp(text, "0x", 2) == 0 || strncmp(text, "-0x", 3) == 0;
    *value = (uint64_t)strtoll(text, &end, 0);
    if (hex && *value >> 32 == 0) { /* a 32-bit literal; inline integers are decimal */
        if (type == EMU_TYPE_f64)
            *value <<= 32;
        else if (type == EMU_TYPE_i64)
            *value = (uint64_t)(int64_t)(int32_t)*value;
    }
    if (type_bits[type] != 64)
        *value &= UINT32_MAX;
    return end != text && *end == 0;
}

/* A VGPR or an AGPR, which is a register of the same file. */
static bool vgpr(char *text, struct emu_operand *o)
{
    unsigned reg;
    size_t length = strlen(text);
    if (text[0] != 'v' && text[0] != 'a')
        return false;
    if (length > 2 && text[length - 2] == '.') {
        o->half = text[length - 1] == 'h';
        o->sel = 2; /* the text says which half: op_sel only repeats it */
        text[length - 2] = 0;
    }
    if (!registers(text + 1, &reg, &o->dwords))
        return false;
    if (text[0] == 'a')
        reg += EMU_AGPR0;
    o->kind = EMU_VGPR;
    o->reg = (uint16_t)reg;
    o->at = reg * EMU_LANES;
    return true;
}

static bool sgpr(const char *text, struct emu_operand *o)
{
    unsigned reg;
    bool trap = strncmp(text, "ttmp", 4) == 0;
    if ((trap && registers(text + 4, &reg, &o->dwords)) ||
        (text[0] == 's' && registers(text + 1, &reg, &o->dwords))) {
        o->kind = EMU_SGPR;
        o->reg = (uint16_t)(trap ? reg + EMU_TTMP0 : reg);
        return o->reg + o->dwords <= EMU_SGPRS;
    }
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        if (strcmp(text, special[i].name) == 0) {
            o->kind = special[i].kind;
            o->reg = special[i].reg;
            o->dwords = special[i].dwords;
            /* A 64-bit null. */
            if (o->reg == EMU_NULL && type_bits[o->type] == 64)
                o->dwords = 2;
            return true;
        }
    }
    return false;
}

/* One operand. Returns 1, 0 for a form it does not know, -1 without memory. */
static int operand(struct emu_code *code, char *text, unsigned type, struct emu_operand *o)
{
    o->type = (uint8_t)type;
    o->sel_hi = emu_is_packed(type) || emu_is_pair(type);
    size_t length = strlen(text);
    if (strncmp(text, "sext(", 5) == 0 && text[length - 1] == ')') {
        o->sext = 1;
        text[length - 1] = 0;
        text += 5;
        length -= 6;
    }
    if (text[0] == '-' && (isalpha((unsigned char)text[1]) || text[1] == '|')) {
        o->neg = 1;
        text++;
        length--;
    }
    if (text[0] == '|' && length > 2) {
        o->abs = 1;
        text[length - 1] = 0;
        text++;
    }
    if (vgpr(text, o) || sgpr(text, o))
        return 1;
    /* The run function reads the encoding. */
    if (strncmp(text, "hwreg(", 6) == 0 || strncmp(text, "gpr_idx(", 8) == 0) {
        o->kind = EMU_OFF;
        return 1;
    }
    if (!number(text, type, &o->value))
        return 0;
    o->kind = EMU_CONST;
    o->dwords = type_bits[type] == 64 ? 2 : 1;
    return emu_code_constant(code, o->value, o->dwords, &o->at) ? -1 : 1;
}

/* "[1,0,1]" into values; returns how many. */
static unsigned list(const char *text, unsigned *values, unsigned most)
{
    unsigned count = 0;
    for (const char *p = text; *p && count < most; p++)
        if (isdigit((unsigned char)*p)) {
            char *end;
            values[count++] = (unsigned)strtoul(p, &end, 0);
            p = end - 1;
        }
    return count;
}

static void set_selects(struct emu_op *op, const char *name, const unsigned *bits, unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        struct emu_operand *o = k < op->nsrc ? &op->src[k] : &op->dst[0];
        if (strcmp(name, "op_sel_hi") == 0)
            o->sel_hi = (uint8_t)bits[k];
        else if (strcmp(name, "neg_lo") == 0)
            o->neg |= (uint8_t)bits[k];
        else if (strcmp(name, "neg_hi") == 0)
            o->neg |= (uint8_t)(bits[k] << 1);
        else if (o->sel == 2)
            continue;
        else if (type_bits[o->type] == 16)
            o->half = (uint8_t)bits[k];
        else
            o->sel = (uint8_t)bits[k];
    }
}

static const struct {
    const char *name;
    uint8_t kind, bits; /* bits of one list value, 0 for a plain number */
} dpp_kinds[] = {
    {"dpp8", EMU_DPP8, 3},
    {"quad_perm", EMU_DPP_QUAD_PERM, 2},
    {"row_shl", EMU_DPP_ROW_SHL, 0},
    {"row_shr", EMU_DPP_ROW_SHR, 0},
    {"row_ror", EMU_DPP_ROW_ROR, 0},
    {"row_mirror", EMU_DPP_ROW_MIRROR, 0},
    {"row_half_mirror", EMU_DPP_ROW_HALF_MIRROR, 0},
    {"row_share", EMU_DPP_ROW_SHARE, 0},
    {"row_newbcast", EMU_DPP_ROW_SHARE, 0},
    {"row_bcast", EMU_DPP_ROW_BCAST, 0},
    {"wave_shl", EMU_DPP_WAVE_SHL, 0},
    {"wave_shr", EMU_DPP_WAVE_SHR, 0},
    {"wave_rol", EMU_DPP_WAVE_ROL, 0},
    {"wave_ror", EMU_DPP_WAVE_ROR, 0},
    {"row_xmask", EMU_DPP_ROW_XMASK, 0},
};

static bool dpp_modifier(struct emu_op *op, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof dpp_kinds / sizeof dpp_kinds[0]; i++) {
        if (strcmp(name, dpp_kinds[i].name) != 0)
            continue;
        op->dpp.kind = dpp_kinds[i].kind;
        unsigned values[8], count = list(value, values, 8);
        op->dpp.ctrl = count ? values[0] : 0;
        for (unsigned k = 1; k < count; k++)
            op->dpp.ctrl |= values[k] << k * dpp_kinds[i].bits;
        if (op->dpp.kind == EMU_DPP8)
            op->dpp.row_mask = op->dpp.bank_mask = 0xf;
        return true;
    }
    unsigned long n = strtoul(value, NULL, 0);
    if (strcmp(name, "row_mask") == 0)
        op->dpp.row_mask = (uint8_t)n;
    else if (strcmp(name, "bank_mask") == 0)
        op->dpp.bank_mask = (uint8_t)n;
    else if (strcmp(name, "bound_ctrl") == 0)
        op->dpp.bound_ctrl = true;
    else if (strcmp(name, "fi") == 0)
        op->dpp.fetch_inactive = n != 0;
    else
        return false;
    return true;
}

/* ds_swizzle_b32's symbolic offsets, as the immediate they stand for. */
static int32_t swizzle_offset(const struct emu_op *op)
{
    return (int32_t)(op->word & 0xffff);
}

/* Parts of registers, by the value of enum emu_sdwa. */
static bool sdwa_modifier(struct emu_op *op, const char *name, const char *value)
{
    static const char *const parts[] = {"DWORD",  "BYTE_0", "BYTE_1", "BYTE_2",
                                        "BYTE_3", "WORD_0", "WORD_1"};
    static const char *const unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
    if (strcmp(name, "dst_unused") == 0) {
        while (op->unused < 3 && strcmp(value, unused[op->unused]) != 0)
            op->unused++;
        return op->unused < 3;
    }
    struct emu_operand *o = strcmp(name, "dst_sel") == 0    ? &op->dst[0]
                            : strcmp(name, "src0_sel") == 0 ? &op->src[0]
                            : strcmp(name, "src1_sel") == 0 ? &op->src[1]
                                                            : NULL;
    uint8_t part = 0;
    while (part < 7 && strcmp(value, parts[part]) != 0)
        part++;
    if (!o || part == 7)
        return false;
    o->sdwa = part;
    op->sdwa = true;
    return true;
}

static bool flag_modifier(struct emu_op *op, const char *name)
{
    if (strcmp(name, "clamp") == 0)
        op->clamp = true;
    else if (strcmp(name, "offen") == 0)
        op->offen = true;
    else if (strcmp(name, "idxen") == 0)
        op->idxen = true;
    else if (strcmp(name, "glc") == 0 || strcmp(name, "sc0") == 0)
        op->glc = true;
    else if (strcmp(name, "slc") == 0 || strcmp(name, "nt") == 0 || strcmp(name, "sc1") == 0)
        op->slc = true;
    else if (strcmp(name, "lds") == 0)
        op->lds = true;
    else if (strcmp(name, "dlc") == 0)
        op->dlc = true;
    else
        return false;
    return true;
}

/* Whether the temporal hint of an atomic has it return what memory held (gfx12). */
static bool returns(const char *hint)
{
    return strstr(hint, "_RETURN") != NULL || strtoul(hint, NULL, 0) & 1;
}

/* One modifier, "name" or "name:value". False if it is unknown. */
static bool modifier(struct emu_op *op, char *text)
{
    char *value = strchr(text, ':');
    if (!value)
        return flag_modifier(op, text) || dpp_modifier(op, text, "");
    *value++ = 0;
    unsigned bits[EMU_MAX_SRC + 1];
    if (strncmp(text, "op_sel", 6) == 0 || strncmp(text, "neg_", 4) == 0) {
        set_selects(op, text, bits, list(value, bits, EMU_MAX_SRC + 1));
        return true;
    }
    if (strcmp(text, "th") == 0) { /* of a load or store it is about caches only */
        op->glc |= op->desc->atomic && returns(value);
        return true;
    }
    if (strcmp(text, "scope") == 0) {
        op->glc |= !op->desc->atomic && strcmp(value, "SCOPE_CU") != 0;
        return true;
    }
    if (strcmp(text, "offset") == 0)
        op->offset = strncmp(value, "swizzle", 7) == 0 ? swizzle_offset(op)
                                                       : (int32_t)strtol(value, NULL, 0);
    else if (strcmp(text, "offset0") == 0 || strcmp(text, "bitop3") == 0)
        op->offset = (int32_t)strtol(value, NULL, 0);
    else if (strcmp(text, "offset1") == 0)
        op->offset1 = (int32_t)strtol(value, NULL, 0);
    else if (strcmp(text, "mul") == 0)
        op->omod = value[0] == '2' ? EMU_OMOD_MUL2 : EMU_OMOD_MUL4;
    else if (strcmp(text, "div") == 0)
        op->omod = EMU_OMOD_DIV2;
    else
        return dpp_modifier(op, text, value) || sdwa_modifier(op, text, value);
    return true;
}

/* Splits off the next piece at a separator outside brackets; NULL at the end. */
static char *next_piece(char **rest, char separator)
{
    char *start = *rest;
    while (*start == ' ' || *start == '\t')
        start++;
    if (*start == 0)
        return NULL;
    int depth = 0;
    char *p = start;
    for (; *p; p++) {
        if (*p == '[' || *p == '(')
            depth++;
        if (*p == ']' || *p == ')')
            depth--;
        if (depth == 0 && *p == separator)
            break;
    }
    *rest = *p ? p + 1 : p;
    *p = 0;
    return start;
}

/* Loads to LDS have the name of the load to registers and other operands. */
static const struct emu_desc *find_lds(const char *name)
{
    char longer[64];
    snprintf(longer, sizeof longer, "%s_lds", name);
    return emu_find_desc(longer);
}

static const struct emu_desc *find(char *name)
{
    static const char *const suffixes[] = {"_e64_dpp", "_dpp", "_sdwa", "_e32", "_e64"};
    const struct emu_desc *desc = emu_find_desc(name);
    for (size_t i = 0; !desc && i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t length = strlen(name), cut = strlen(suffixes[i]);
        if (length > cut && strcmp(name + length - cut, suffixes[i]) == 0) {
            name[length - cut] = 0;
            return emu_find_desc(name);
        }
    }
    return desc;
}

/* Sources that the text leaves out. */
static void implied(struct emu_op *op, unsigned given)
{
    const struct emu_desc *desc = op->desc;
    if (desc->flags & EMU_ACC) {
        op->src[op->nsrc - 1] = op->dst[0];
        return;
    }
    for (unsigned k = given; k < op->nsrc; k++)
        if (desc->src[k] == EMU_TYPE_mask)
            op->src[k] = (struct emu_operand){
                .kind = EMU_SGPR, .type = EMU_TYPE_mask, .dwords = 1, .reg = EMU_VCC_LO};
        else
            op->src[k] = (struct emu_operand){.kind = EMU_OFF};
}

/* Operands and modifiers of one instruction (or VOPD half). 1, 0 for an unknown form, -1. */
static int parse_operands(struct emu_code *code, struct emu_op *op, char *rest)
{
    const struct emu_desc *desc = op->desc;
    while (op->ndst < EMU_MAX_DST && desc->dst[op->ndst])
        op->ndst++;
    while (op->nsrc < EMU_MAX_SRC && desc->src[op->nsrc])
        op->nsrc++;
    const char *hint = strstr(rest, " th:");
    if (desc->atomic && desc->cls == EMU_CLASS_VMEM && !strstr(rest, " glc") &&
        !strstr(rest, " sc0") && !(hint && returns(hint + 4)))
        op->ndst = 0; /* nothing comes back */
    if (desc->flags & EMU_EXEC_OUT && code->target->major == 9)
        op->ndst = 2; /* an explicit mask beside EXEC */
    unsigned d = 0, s = 0, explicit_sources = op->nsrc - (desc->flags & EMU_ACC ? 1 : 0);
    if (desc->flags & EMU_EXEC_OUT)
        op->dst[d++] = (struct emu_operand){
            .kind = EMU_SGPR, .type = EMU_TYPE_mask, .dwords = 1, .reg = EMU_EXEC_LO};
    if (op->ndst == 0 && op->nsrc == 0)
        return 1; /* the encoding says it all */
    for (char *piece; (piece = next_piece(&rest, ','));) {
        char *text = next_piece(&piece, ' ');
        if (!text)
            return 0;
        int known = 0;
        if (d < op->ndst && d < EMU_MAX_DST) {
            known = operand(code, text, desc->dst[d] ? desc->dst[d] : EMU_TYPE_mask, &op->dst[d]);
            d++;
        } else if (s < explicit_sources) {
            known = operand(code, text, desc->src[s], &op->src[s]);
            s++;
        }
        if (known != 1)
            return known;
        if (*rest == 0)
            implied(op, s);
        while ((text = next_piece(&piece, ' ')))
            if (!modifier(op, text))
                return 0;
    }
    return d == op->ndst;
}

static int parse_plain(struct emu_code *code, struct emu_op *op, char *line)
{
    char *name = next_piece(&line, ' ');
    if (name)
        op->desc = strstr(line, " lds") ? find_lds(name) : find(name);
    op->cls = EMU_CLASS_OTHER;
    if (!op->desc)
        return 0;
    op->run = op->desc->run;
    op->kernel = op->desc->kernel;
    op->cls = op->desc->cls;
    op->rule = op->desc->rule;
    int known = parse_operands(code, op, line);
    return known == 1 ? emu_prepare(code, op) : known;
}

/* v_dual_X ... :: v_dual_Y ...: the rows of v_X and v_Y. */
static int parse_dual(struct emu_code *code, struct emu_op *op, char *line)
{
    char *second = strstr(line, " :: ");
    struct emu_op *halves = emu_code_alloc(code, 2 * sizeof *halves);
    if (!halves)
        return -1;
    if (!second)
        return 0;
    *second = 0;
    char *lines[2] = {line, second + 4};
    for (int k = 0; k < 2; k++) {
        while (*lines[k] == ' ' || *lines[k] == '\t')
            lines[k]++;
        if (strncmp(lines[k], "v_dual_", 7) != 0)
            return 0;
        lines[k] += 5; /* "v_dual_mul_f32" becomes "v_mul_f32" */
        lines[k][0] = 'v';
        halves[k].text = op->text;
        halves[k].pc = op->pc;
        int known = parse_plain(code, &halves[k], lines[k]);
        if (known != 1)
            return known;
        op->half[k] = &halves[k];
    }
    op->cls = EMU_CLASS_VOPD;
    op->run = emu_vopd_run();
    op->desc = halves[0].desc;
    emu_prepare_dual(op);
    return 1;
}

int emu_parse(struct emu_code *code, struct emu_op *op, const char *line)
{
    char copy[256];
    while (*line == '\t' || *line == ' ')
        line++;
    size_t length = strlen(line);
    char *text = emu_code_alloc(code, length + 1);
    if (!text)
        return -1;
    for (size_t i = 0; i <= length; i++)
        text[i] = line[i] == '\t' ? ' ' : line[i];
    op->text = text;
    snprintf(copy, sizeof copy, "%s", text);
    int known =
        strncmp(copy, "v_dual_", 7) == 0 ? parse_dual(code, op, copy) : parse_plain(code, op, copy);
    if (known < 0)
        return -1;
    if (known == 0) {
        op->run = emu_run_unknown;
        op->desc = NULL;
    } else if (code->target->wave_size > EMU_LANES) {
        emu_split_blocks(op);
    }
    return 0;
}
