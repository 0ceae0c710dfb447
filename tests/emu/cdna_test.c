/* Instructions of CDNA beside the elementwise ones of alu_valu_test.c and MFMA: what crosses the
 * blocks of a wave64, parts of registers, pairs of f32, indexed registers, loads to LDS. */
#include "tests/emu/layout_lines.h"
#include "tests/emu/machine_memory.h"

#include <math.h>

enum { LANES = 64, LDS_BYTES = 8192 };

static uint8_t lds[LDS_BYTES + 64];
static uint16_t lds_write[LDS_BYTES + 64], lds_read[LDS_BYTES + 64];
static uint32_t lds_writer[LDS_BYTES + 64];

/* Instructions in strict mode, with memory and LDS of random bytes and registers of random lanes.
 */
static struct machine *machine_strict(const char *target, const char *text, size_t lines)
{
    struct machine *m = machine_for(target, text, lines);
    attach_memory(m);
    m->group.epoch = 1;
    m->group.lds = lds;
    m->group.lds_bytes = LDS_BYTES;
    m->group.lds_write = lds_write;
    m->group.lds_read = lds_read;
    m->group.lds_writer = lds_writer;
    for (unsigned i = 0; i < LDS_BYTES; i++) {
        lds[i] = (uint8_t)random64();
        lds_write[i] = 1;
    }
    for (unsigned reg = 0; reg < 16; reg++)
        for (unsigned l = 0; l < LANES; l++)
            *lane_of(m, reg, l) = (uint32_t)random64();
    return m;
}

static void random_exec(struct machine *m)
{
    m->w.s[EMU_EXEC_LO] = (uint32_t)random64();
    m->w.s[EMU_EXEC_HI] = (uint32_t)random64();
}

static bool active(const struct machine *m, unsigned lane)
{
    return m->w.s[EMU_EXEC_LO + lane / EMU_LANES] >> lane % EMU_LANES & 1;
}

static void copy_register(struct machine *m, unsigned reg, uint32_t *to)
{
    for (unsigned l = 0; l < LANES; l++)
        to[l] = *lane_of(m, reg, l);
}

/* The source lane of each DPP control that crosses rows; -1: none. */
static int bcast15(int l)
{
    return l / 16 ? l / 16 * 16 - 1 : -1;
}
static int bcast31(int l)
{
    return l >= 32 ? 31 : -1;
}
static int shl(int l)
{
    return l < 63 ? l + 1 : -1;
}
static int shr(int l)
{
    return l - 1;
}
static int rol(int l)
{
    return (l + 1) & 63;
}
static int ror(int l)
{
    return (l - 1) & 63;
}
static int newbcast(int l)
{
    return (l & 48) + 3;
}

static void dpp_of_the_wave(void **state)
{
    static const struct {
        const char *control;
        int (*from)(int l);
    } controls[] = {
        {"row_bcast:15", bcast15},    {"row_bcast:31", bcast31}, {"wave_shl:1", shl},
        {"wave_shr:1", shr},          {"wave_rol:1", rol},       {"wave_ror:1", ror},
        {"row_newbcast:3", newbcast},
    };
    (void)state;
    for (unsigned n = 0; n < 4 * sizeof controls / sizeof controls[0]; n++) {
        unsigned c = n / 4;
        char text[96];
        snprintf(text, sizeof text, "v_mov_b32_dpp v1, v%d %s row_mask:0xb bank_mask:0xf%s",
                 n & 1 ? 1 : 2, controls[c].control, n & 2 ? " bound_ctrl:0" : "");
        struct machine *m = machine_strict("gfx90a", text, 1);
        uint32_t old[LANES], source[LANES];
        if (n % 3)
            random_exec(m);
        copy_register(m, 1, old);
        copy_register(m, n & 1 ? 1 : 2, source);
        m->w.block[1].poison[n & 1 ? 1 : 2] = UINT64_C(1) << 3; /* the low half of lane 35 */
        machine_run(m, 0);
        for (unsigned l = 0; l < LANES; l++) {
            int from = controls[c].from((int)l);
            bool valid = from >= 0 && active(m, (unsigned)from);
            bool written = active(m, l) && l / 16 != 2 && (valid || n & 2);
            uint32_t want = !written ? old[l] : valid ? source[from] : 0;
            assert_int_equal(*lane_of(m, 1, l), want);
            if (written)
                assert_int_equal(poison_of_lane(m, 1, l), valid && from == 35 ? 1 : 0);
        }
        machine_free(m);
    }
}

static void permutations(void **state)
{
    (void)state;
    struct machine *m = machine_strict("gfx942",
                                       "ds_bpermute_b32 v0, v1, v2 offset:8\n"
                                       "ds_permute_b32 v3, v1, v2",
                                       2);
    uint32_t address[LANES], value[LANES], old[2][LANES], sent[LANES];
    random_exec(m);
    copy_register(m, 1, address);
    copy_register(m, 2, value);
    copy_register(m, 0, old[0]);
    copy_register(m, 3, old[1]);
    memset(sent, 0, sizeof sent);
    for (unsigned l = 0; l < LANES; l++)
        if (active(m, l))
            sent[address[l] / 4 % LANES] = value[l];
    machine_run(m, 0);
    machine_run(m, 1);
    for (unsigned l = 0; l < LANES; l++) {
        unsigned from = (address[l] + 8) / 4 % LANES;
        uint32_t got = active(m, from) ? value[from] : 0;
        assert_int_equal(*lane_of(m, 0, l), active(m, l) ? got : old[0][l]);
        assert_int_equal(*lane_of(m, 3, l), active(m, l) ? sent[l] : old[1][l]);
    }
    assert_int_equal(m->pending.queue[EMU_QUEUE_LDS].count, 4); /* a landing for each block */
    machine_free(m);
}

static void lane_swaps(void **state)
{
    (void)state;
    static const unsigned rows[] = {16, 32};
    for (int n = 0; n < 2; n++) {
        char text[64];
        snprintf(text, sizeof text, "v_permlane%u_swap_b32 v0, v1", rows[n]);
        struct machine *m = machine_strict("gfx950", text, 1);
        uint32_t a[LANES], b[LANES];
        copy_register(m, 0, a);
        copy_register(m, 1, b);
        m->w.block[1].poison[0] = UINT64_C(1) << 31 | UINT64_C(1) << 4;
        machine_run(m, 0);
        for (unsigned l = 0; l < LANES; l++) {
            bool odd = l & rows[n];
            assert_int_equal(*lane_of(m, 0, l), odd ? b[l - rows[n]] : a[l]);
            assert_int_equal(*lane_of(m, 1, l), odd ? b[l] : a[l + rows[n]]);
        }
        assert_int_equal(poison_of_lane(m, 1, 63 - rows[n]), 1); /* lane 63 of v0 was poisoned */
        assert_int_equal(poison_of_lane(m, 0, 63), 0);
        machine_free(m);
    }
}

/* The comparison's SGPR pair is one of its sources: both halves of the wave compare with the old.
 */
static void masks_over_sources(void **state)
{
    (void)state;
    struct machine *m = machine_strict("gfx942", "v_cmp_gt_u32_e64 s[2:3], s2, v1", 1);
    uint32_t value[LANES], limit = m->w.s[2] = (uint32_t)random64();
    uint64_t want = 0;
    copy_register(m, 1, value);
    for (unsigned l = 0; l < LANES; l++)
        want |= (uint64_t)(limit > value[l]) << l;
    machine_run(m, 0);
    assert_int_equal(m->w.s[2], (uint32_t)want);
    assert_int_equal(m->w.s[3], (uint32_t)(want >> 32));
    machine_free(m);
}

/* Parts of sources and destinations. */
static void parts(void **state)
{
    (void)state;
    struct machine *m = machine_strict(
        "gfx942",
        "v_add_u32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1 "
        "src1_sel:WORD_0\n"
        "v_add_u32_sdwa v3, sext(v1), v2 dst_sel:DWORD src0_sel:WORD_1 src1_sel:BYTE_3\n"
        "v_lshlrev_b32_sdwa v4, v1, v2 dst_sel:BYTE_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_0 "
        "src1_sel:DWORD\n"
        "v_mul_f16_sdwa v5, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 "
        "src1_sel:WORD_1\n"
        "v_cmp_lt_u32_sdwa s[4:5], v1, v2 src0_sel:WORD_0 src1_sel:BYTE_2",
        5);
    uint32_t a[LANES], b[LANES], old[LANES];
    uint64_t less = 0;
    copy_register(m, 1, a);
    copy_register(m, 2, b);
    copy_register(m, 0, old);
    for (size_t k = 0; k < 5; k++)
        machine_run(m, k);
    for (unsigned l = 0; l < LANES; l++) {
        uint32_t sum = (a[l] >> 8 & 0xff) + (b[l] & 0xffff);
        assert_int_equal(*lane_of(m, 0, l), (old[l] & 0xffff) | sum << 16);
        sum = (uint32_t)((int32_t)a[l] >> 16) + (b[l] >> 24);
        assert_int_equal(*lane_of(m, 3, l), sum);
        assert_int_equal(*lane_of(m, 4, l), (uint32_t)(int8_t)(b[l] << (a[l] & 31)));
        f16 product = as_f16(a[l] >> 16) * as_f16(b[l] >> 16);
        if (!isnan((float)product))
            assert_int_equal(*lane_of(m, 5, l), from_f16(product) << 16);
        less |= (uint64_t)((a[l] & 0xffff) < (b[l] >> 16 & 0xff)) << l;
    }
    assert_int_equal(m->w.s[4] | (uint64_t)m->w.s[5] << 32, less);
    machine_free(m);
}

static void parts_of_poison(void **state)
{
    (void)state;
    struct machine *m = machine_strict(
        "gfx942",
        "v_mov_b32_sdwa v0, v1 dst_sel:DWORD src0_sel:WORD_0\n"
        "v_mov_b32_sdwa v2, v1 dst_sel:DWORD src0_sel:WORD_1\n"
        "v_mov_b32_sdwa v3, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0\n"
        "v_mov_b32_sdwa v4, v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1",
        4);
    m->w.block[0].poison[1] = UINT64_C(1) << 39; /* the high half of lane 7 */
    m->w.block[0].poison[3] = UINT64_C(1) << 7 | UINT64_C(1) << 39;
    for (size_t k = 0; k < 4; k++)
        machine_run(m, k);
    assert_int_equal(poison_of_lane(m, 0, 7), 0);
    assert_int_equal(poison_of_lane(m, 2, 7), 1); /* extended by zeros */
    assert_int_equal(poison_of_lane(m, 3, 7), 1); /* the half that stayed */
    assert_int_equal(poison_of_lane(m, 4, 7), 2);
    machine_free(m);
}

/* 16-bit results clear the other half on gfx9, but for those of three sources. */
static void upper_halves(void **state)
{
    (void)state;
    struct machine *m = machine_strict("gfx942",
                                       "v_add_f16_e32 v0, v1, v2\n"
                                       "v_fma_f16 v3, v1, v2, v4\n"
                                       "v_mad_legacy_u16 v5, v1, v2, v4",
                                       3);
    uint32_t old[LANES];
    copy_register(m, 3, old);
    m->w.block[1].poison[0] = UINT64_MAX;
    for (size_t k = 0; k < 3; k++)
        machine_run(m, k);
    for (unsigned l = 0; l < LANES; l++) {
        assert_int_equal(*lane_of(m, 0, l) >> 16, 0);
        assert_int_equal(poison_of_lane(m, 0, l), 0);
        assert_int_equal(*lane_of(m, 3, l) >> 16, old[l] >> 16);
        assert_int_equal(*lane_of(m, 5, l) >> 16, 0);
    }
    machine_free(m);
}

/* Which dword of a pair feeds which result, and its sign. */
static void pairs_of_floats(void **state)
{
    (void)state;
    struct machine *m = machine_strict(
        "gfx942",
        "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel:[0,1,0] op_sel_hi:[1,0,1] "
        "neg_lo:[1,0,0] neg_hi:[0,0,1]\n"
        "v_pk_mul_f32 v[8:9], v[2:3], s[2:3] op_sel_hi:[1,0]\n"
        "v_pk_mov_b32 v[10:11], v[2:3], v[4:5] op_sel:[1,0]\n"
        "v_pk_add_f32 v[2:3], v[2:3], v[2:3] op_sel:[1,0] op_sel_hi:[0,1]",
        4);
    float s[6][LANES], factor = 3.5f;
    for (unsigned k = 0; k < 6; k++)
        for (unsigned l = 0; l < LANES; l++) {
            s[k][l] = (float)(int)(random64() % 2000) / 7 - 100;
            *lane_of(m, 2 + k, l) = from_f32(s[k][l]);
        }
    m->w.s[2] = from_f32(factor);
    m->w.block[0].poison[3] = 1; /* lane 0 of the high source */
    for (size_t k = 0; k < 4; k++)
        machine_run(m, k);
    for (unsigned l = 0; l < LANES; l++) {
        float want[] = {fmaf(-s[0][l], s[3][l], s[4][l]), fmaf(s[1][l], s[2][l], -s[5][l])};
        float products[] = {s[0][l] * factor, s[1][l] * factor};
        for (unsigned k = 0; k < 2; k++) {
            assert_true(as_f32(*lane_of(m, k, l)) == want[k]);
            assert_true(as_f32(*lane_of(m, 8 + k, l)) == products[k]);
            assert_true(as_f32(*lane_of(m, 2 + k, l)) == s[0][l] + s[1][l]);
        }
        assert_true(as_f32(*lane_of(m, 10, l)) == s[1][l]);
        assert_true(as_f32(*lane_of(m, 11, l)) == s[2][l]);
    }
    assert_int_equal(poison_of_lane(m, 0, 0), 0);
    assert_int_equal(poison_of_lane(m, 1, 0), 3);
    assert_int_equal(poison_of_lane(m, 10, 0), 1);
    machine_free(m);
}

static void accumulators(void **state)
{
    (void)state;
    struct machine *m = machine_strict("gfx90a",
                                       "v_accvgpr_write_b32 a3, v1\n"
                                       "v_accvgpr_mov_b32 a4, a3\n"
                                       "v_accvgpr_read_b32 v0, a4\n"
                                       "v_accvgpr_write_b32 a5, 1.0",
                                       4);
    uint32_t value[LANES];
    random_exec(m);
    m->w.block[1].poison[1] = 1;
    copy_register(m, 1, value);
    for (size_t k = 0; k < 4; k++)
        machine_run(m, k);
    for (unsigned l = 0; l < LANES; l++)
        if (active(m, l)) {
            assert_int_equal(*lane_of(m, 0, l), value[l]);
            assert_int_equal(*lane_of(m, 256 + 5, l), 0x3f800000);
            assert_int_equal(poison_of_lane(m, 0, l), l == 32 ? 1 : 0);
        }
    machine_free(m);
}

static void indexed_registers(void **state)
{
    (void)state;
    struct machine *m = machine_strict("gfx942",
                                       "s_set_gpr_idx_on s3, gpr_idx(SRC0)\n"
                                       "v_mov_b32_e32 v0, v4\n"
                                       "s_set_gpr_idx_mode gpr_idx(DST)\n"
                                       "s_set_gpr_idx_idx s4\n"
                                       "v_mov_b32_e32 v4, v1\n"
                                       "s_set_gpr_idx_off\n"
                                       "v_mov_b32_e32 v2, v4\n"
                                       "s_set_gpr_idx_on s5, gpr_idx(SRC0)\n"
                                       "v_mov_b32_e32 v0, v4",
                                       9);
    uint32_t v[16][LANES];
    for (unsigned reg = 0; reg < 16; reg++)
        copy_register(m, reg, v[reg]);
    m->w.s[3] = 5;
    m->w.s[4] = 7;
    m->w.s[5] = 0xfe; /* leads into the AGPRs: the hardware's file, too */
    for (size_t k = 0; k < 9; k++)
        machine_run(m, k);
    for (unsigned l = 0; l < LANES; l++) {
        assert_int_equal(*lane_of(m, 11, l), v[1][l]);
        assert_int_equal(*lane_of(m, 2, l), v[4][l]);
        assert_int_equal(*lane_of(m, 0, l), *lane_of(m, 4 + 0xfe, l));
    }
    machine_free(m);
}

/* SRAM-ECC: a load of 16 bits leaves the other half undefined, once it has landed. */
static void narrow_loads(void **state)
{
    (void)state;
    struct machine *m = machine_strict("gfx942",
                                       "global_load_short_d16 v0, v1, s[2:3]\n"
                                       "ds_read_u16_d16_hi v2, v1\n"
                                       "s_waitcnt vmcnt(0) lgkmcnt(0)",
                                       3);
    uint64_t base = (uint64_t)(uintptr_t)device;
    m->w.s[2] = (uint32_t)base;
    m->w.s[3] = (uint32_t)(base >> 32);
    for (unsigned l = 0; l < LANES; l++)
        *lane_of(m, 1, l) = 2 * l;
    machine_run(m, 0);
    machine_run(m, 1);
    assert_int_equal(poison_of_lane(m, 0, 40), 3);
    machine_run(m, 2);
    for (unsigned l = 0; l < LANES; l++) {
        assert_int_equal(poison_of_lane(m, 0, l), 2);
        assert_int_equal(poison_of_lane(m, 2, l), 1);
        assert_int_equal(*lane_of(m, 0, l) & 0xffff, device[2 * l] | device[2 * l + 1] << 8);
        assert_int_equal(*lane_of(m, 2, l) >> 16, lds[2 * l] | lds[2 * l + 1] << 8);
    }
    machine_free(m);
}

/* Bytes of a load to LDS count as never written until vmcnt says that they have landed. */
static void check_dma(const char *target, const char *text, unsigned size, unsigned taken)
{
    char lines[160];
    enum { M0 = 64, OFFSET = 16 };
    snprintf(lines, sizeof lines, "%s\ns_waitcnt vmcnt(1)\ns_waitcnt vmcnt(0)", text);
    struct machine *m = machine_strict(target, lines, 3);
    uint64_t base = (uint64_t)(uintptr_t)device;
    const uint32_t rsrc[] = {(uint32_t)base, (uint32_t)(base >> 32), BYTES - OFFSET, 0x27000};
    memcpy(&m->w.s[4], rsrc, sizeof rsrc);
    m->w.s[EMU_M0] = M0;
    random_exec(m);
    uint8_t before[LDS_BYTES];
    memcpy(before, lds, sizeof before);
    for (unsigned l = 0; l < LANES; l++)
        *lane_of(m, 1, l) = (l ^ 5) * 20;
    machine_run(m, 0);
    machine_run(m, 1);
    for (unsigned step = 0; step < 2; step++) {
        for (unsigned l = 0; l < LANES; l++)
            for (unsigned b = 0; b < size; b++) {
                unsigned at = M0 + OFFSET + l * size + b;
                uint8_t loaded = b < taken ? device[(l ^ 5) * 20 + OFFSET + b] : 0;
                assert_int_equal(lds[at], active(m, l) ? loaded : before[at]);
                assert_int_equal(lds_write[at] != 0, step || !active(m, l));
            }
        if (step == 0)
            machine_run(m, 2);
    }
    assert_int_equal(lds_write[M0 + OFFSET - 1], 1);
    machine_free(m);
}

static void loads_to_lds(void **state)
{
    (void)state;
    check_dma("gfx90a", "buffer_load_dword v1, s[4:7], 0 offen offset:16 lds", 4, 4);
    check_dma("gfx942", "buffer_load_ushort v1, s[4:7], 0 offen offset:16 lds", 4, 2);
    check_dma("gfx942", "global_load_lds_dword v1, s[4:5] offset:16", 4, 4);
    check_dma("gfx950", "global_load_lds_dwordx4 v1, s[4:5] offset:16", 16, 16);
    check_dma("gfx950", "buffer_load_dwordx3 v1, s[4:7], 0 offen offset:16 lds", 12, 12);
}

/* ds_read_b64_tr_b16 against the document's layout: S, where lanes read from, and D, what they get.
 */
static void transposing_load(void **state)
{
    (void)state;
    struct machine *m = machine_strict("gfx950", "ds_read_b64_tr_b16 v[2:3], v1 offset:8", 1);
    char line[128];
    static uint16_t source[LAYOUT_SIDE][LAYOUT_SIDE];
    int lines = 0;
    for (unsigned l = 0; l < LANES; l++)
        *lane_of(m, 1, l) = 8 * (l * 7 % LANES) + 512;
    FILE *file = fopen(WS_TEST_LAYOUTS "/gfx950_ds_read_b64_tr_b16.txt", "r");
    if (!file)
        fail_msg("no file of the layout");
    uint32_t address[LANES];
    copy_register(m, 1, address);
    machine_run(m, 0);
    while (fgets(line, sizeof line, file)) {
        struct layout_line at;
        if (line[0] == '#')
            continue;
        if (!read_layout_line(line, &at) || at.element >= 4) {
            fclose(file);
            fail_msg("%s", line);
            return;
        }
        if (at.matrix == 'S') {
            memcpy(&source[at.row][at.column], lds + address[at.lane] + 8 + 2 * at.element,
                   sizeof source[0][0]);
        } else {
            uint32_t got = *lane_of(m, 2 + at.element / 2, at.lane);
            assert_int_equal((uint16_t)(got >> at.element % 2 * 16), source[at.row][at.column]);
        }
        lines++;
    }
    fclose(file);
    assert_int_equal(lines, 2 * LANES * 4);
    machine_free(m);
}

/* An undefined element reaches the one lane and half that it goes to. */
static void transposed_poison(void **state)
{
    (void)state;
    struct machine *m = machine_strict("gfx950",
                                       "ds_read_b64_tr_b16 v[2:3], v1\n"
                                       "s_waitcnt lgkmcnt(0)",
                                       2);
    for (unsigned l = 0; l < LANES; l++)
        *lane_of(m, 1, l) = 8 * l;
    lds_write[8 * 22 + 2] = 0; /* lane 22, element 1: row 1 of the second block, column 9 */
    machine_run(m, 0);
    machine_run(m, 1);
    for (unsigned l = 0; l < LANES; l++) {
        assert_int_equal(poison_of_lane(m, 2, l), l == 16 + 9 ? 2 : 0);
        assert_int_equal(poison_of_lane(m, 3, l), 0);
    }
    machine_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dpp_of_the_wave),
        cmocka_unit_test(permutations),
        cmocka_unit_test(lane_swaps),
        cmocka_unit_test(masks_over_sources),
        cmocka_unit_test(parts),
        cmocka_unit_test(parts_of_poison),
        cmocka_unit_test(upper_halves),
        cmocka_unit_test(pairs_of_floats),
        cmocka_unit_test(accumulators),
        cmocka_unit_test(indexed_registers),
        cmocka_unit_test(narrow_loads),
        cmocka_unit_test(loads_to_lds),
        cmocka_unit_test(transposing_load),
        cmocka_unit_test(transposed_poison),
    };
    return cmocka_run_group_tests_name("emu cdna", tests, memory_set_up, memory_tear_down);
}
