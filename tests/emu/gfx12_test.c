/* Instructions that only gfx12 has, beside the elementwise ones of alu_valu_test.c and
 * alu_salu_test.c: between lanes, transcendental ones on SGPRs, narrow scalar loads, transposing
 * loads. */
#include "tests/emu/machine_memory.h"

#include <math.h>

static void fill_lanes(struct machine *m, unsigned registers)
{
    for (unsigned reg = 0; reg < registers; reg++)
        for (unsigned l = 0; l < EMU_LANES; l++)
            lanes_of(m, reg)[l] = (uint32_t)random64();
}

/* One instruction, with memory, in strict mode. */
static struct machine *with_memory(const char *text)
{
    struct machine *m = machine_for("gfx1201", text, 1);
    attach_memory(m);
    fill_lanes(m, 8);
    return m;
}

/* v_permlane16_var and its kin against the document's pseudocode. */
static void check_permlane(const char *name, unsigned other, unsigned selects)
{
    char text[96];
    bool fetch = selects & 1, zero = selects & 2;
    snprintf(text, sizeof text, "%s v0, v1, v2 op_sel:[%d,%d]", name, fetch, zero);
    struct machine *m = machine_for("gfx1201", text, 1);
    for (int round = 0; round < 50; round++) {
        uint32_t before[EMU_LANES];
        fill_lanes(m, 3);
        memcpy(before, lanes_of(m, 0), sizeof before);
        uint32_t exec = round % 4 == 0 ? UINT32_MAX : (uint32_t)random64();
        uint64_t bad = round % 2 ? random64() : 0;
        m->w.s[EMU_EXEC_LO] = exec;
        m->w.block[0].poison[0] = 0;
        m->w.block[0].poison[1] = bad;
        machine_run(m, 0);
        for (unsigned l = 0; l < EMU_LANES; l++) {
            unsigned from = (l & 16 ? 16 : 0) ^ other;
            from += lanes_of(m, 2)[l] % 16;
            uint32_t value = before[l];
            uint64_t poison = 0;
            if (exec >> l & 1 && (fetch || exec >> from & 1)) {
                value = lanes_of(m, 1)[from];
                poison = bad >> from & 0x100000001;
            } else if (exec >> l & 1 && zero) {
                value = 0;
            }
            assert_int_equal(lanes_of(m, 0)[l], value);
            assert_int_equal(m->w.block[0].poison[0] >> l & 0x100000001, poison);
        }
    }
    machine_free(m);
}

static void permlane_var(void **state)
{
    (void)state;
    for (unsigned selects = 0; selects < 4; selects++) {
        check_permlane("v_permlane16_var_b32", 0, selects);
        check_permlane("v_permlanex16_var_b32", 16, selects);
    }
}

/* Inactive lanes are read too. */
static void bpermute_fetching_inactive(void **state)
{
    (void)state;
    struct machine *m = machine_for("gfx1201", "ds_bpermute_fi_b32 v0, v1, v2 offset:8", 1);
    fill_lanes(m, 3);
    uint32_t before[EMU_LANES], exec = (uint32_t)random64();
    memcpy(before, lanes_of(m, 0), sizeof before);
    m->w.s[EMU_EXEC_LO] = exec;
    machine_run(m, 0);
    for (unsigned l = 0; l < EMU_LANES; l++) {
        unsigned from = (lanes_of(m, 1)[l] + 8) / 4 % 32;
        assert_int_equal(lanes_of(m, 0)[l], exec >> l & 1 ? lanes_of(m, 2)[from] : before[l]);
    }
    machine_free(m);
}

/* v_s_exp and its kin are v_exp and its kin, whose results alu_trans_test.c knows. */
static void check_scalar(const char *name, const char *modifiers, const char *source)
{
    char text[160], lane_source[32];
    snprintf(lane_source, sizeof lane_source, source, "v1");
    int length = snprintf(text, sizeof text, "v_%s_e64 v0, %s%s\n", name, lane_source, modifiers);
    snprintf(lane_source, sizeof lane_source, source, "s1");
    snprintf(text + length, sizeof text - (size_t)length, "v_s_%s s0, %s%s", name, lane_source,
             modifiers);
    struct machine *m = machine_for("gfx1201", text, 2);
    bool wide = strstr(name, "f32") != NULL;
    for (int round = 0; round < 500; round++) {
        uint32_t x = random_dword();
        lanes_of(m, 1)[5] = x;
        m->w.s[1] = x;
        m->w.spoison[1] = round % 2;
        machine_run(m, 0);
        machine_run(m, 1);
        uint32_t want = lanes_of(m, 0)[5], got = m->w.s[0];
        if (wide ? isnan(as_f32(want)) : isnan((float)as_f16(want)))
            assert_true(wide ? isnan(as_f32(got)) : isnan((float)as_f16(got)));
        else
            assert_int_equal(got & (wide ? UINT32_MAX : 0xffff),
                             want & (wide ? UINT32_MAX : 0xffff));
        assert_int_equal(m->w.spoison[0], round % 2 ? UINT32_MAX : 0);
    }
    machine_free(m);
}

static void scalar_transcendentals(void **state)
{
    (void)state;
    static const char *const names[] = {"exp", "log", "rcp", "rsq", "sqrt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char f32[16];
        snprintf(f32, sizeof f32, "%s_f32", names[i]);
        check_scalar(f32, "", "%s");
        check_scalar(f32, " clamp mul:2", "-|%s|");
        check_scalar(f32, " div:2", "-%s");
    }
}

static void scalar_transcendentals_f16(void **state)
{
    (void)state;
    static const char *const names[] = {"exp", "log", "rcp", "rsq", "sqrt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[96];
        snprintf(text, sizeof text, "v_%s_f16 v0, v1\nv_s_%s_f16 s0, s1", names[i], names[i]);
        struct machine *m = machine_for("gfx1201", text, 2);
        for (int round = 0; round < 500; round++) {
            lanes_of(m, 1)[5] = m->w.s[1] = random_dword();
            machine_run(m, 0);
            machine_run(m, 1);
            uint32_t want = lanes_of(m, 0)[5] & 0xffff, got = m->w.s[0] & 0xffff;
            assert_true(want == got || (isnan((float)as_f16(want)) && isnan((float)as_f16(got))));
        }
        machine_free(m);
    }
}

/* Bytes and halves extend; three dwords are three. A buffer ends where its records do. */
static void check_scalar_load(const char *width, unsigned bytes, bool is_signed, bool buffer)
{
    char text[96];
    uint32_t offset = (uint32_t)(random64() % 256 * bytes);
    snprintf(text, sizeof text, "s_%sload_%s %s, s[8:%d], s12 offset:0x%x", buffer ? "buffer_" : "",
             width, bytes > 4 ? "s[16:18]" : "s16", buffer ? 11 : 9, offset);
    struct machine *m = with_memory(text);
    uint64_t base = (uint64_t)(uintptr_t)device;
    uint32_t more = (uint32_t)(random64() % 16 * 4), at = offset + more;
    at -= at % (bytes < 4 ? bytes : 4);
    m->w.s[8] = (uint32_t)base;
    m->w.s[9] = (uint32_t)(base >> 32);
    m->w.s[10] = random64() & 1 ? BYTES : at; /* all of it, or nothing */
    m->w.s[11] = 0x31004000;
    m->w.s[12] = more;
    machine_run(m, 0);
    for (unsigned k = 0; k < (bytes + 3) / 4; k++) {
        uint32_t value = 0;
        memcpy(&value, device + at + 4 * k, bytes < 4 ? bytes : 4);
        if (is_signed)
            value = bytes == 1 ? (uint32_t)(int8_t)value : (uint32_t)(int16_t)value;
        assert_int_equal(m->w.s[16 + k], buffer && m->w.s[10] == at ? 0 : value);
        assert_int_equal(m->w.spoison[16 + k], UINT32_MAX); /* not landed */
    }
    machine_free(m);
}

static void narrow_scalar_loads(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++)
        for (int buffer = 0; buffer < 2; buffer++) {
            check_scalar_load("u8", 1, false, buffer);
            check_scalar_load("i8", 1, true, buffer);
            check_scalar_load("u16", 2, false, buffer);
            check_scalar_load("i16", 2, true, buffer);
            check_scalar_load("b96", 12, false, buffer);
        }
}

enum { N = 16 };

/* Of the file's S and D, [lane][element]: row and column. */
static int source[EMU_LANES][8][2], result[EMU_LANES][8][2];

static void read_layout(void)
{
    char line[128];
    int lines = 0;
    FILE *file = fopen(WS_TEST_LAYOUTS "/gfx12_global_load_tr_b128.txt", "r");
    if (!file)
        fail_msg("no layout file");
    while (file && fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        long field[4];
        char *from = strchr(line, ' ');
        assert_non_null(from);
        for (int i = 0; i < 4; i++)
            field[i] = strtol(from, &from, 10);
        assert_true(field[0] < EMU_LANES && field[1] < 8 && field[2] < N && field[3] < N);
        int *place = (line[0] == 'S' ? source : result)[field[0]][field[1]];
        place[0] = (int)field[2];
        place[1] = (int)field[3];
        lines++;
    }
    if (file)
        fclose(file);
    assert_int_equal(lines, 2 * EMU_LANES * 8);
}

/* A matrix at some stride, each lane's address as the layout has it. */
static void transposing_load(void **state)
{
    (void)state;
    read_layout();
    struct machine *m = with_memory("global_load_tr_b128 v[0:3], v4, s[8:9] offset:32");
    uint64_t base = (uint64_t)(uintptr_t)device - 32;
    unsigned stride = N + (unsigned)(random64() % 8) * 8;
    m->w.s[8] = (uint32_t)base;
    m->w.s[9] = (uint32_t)(base >> 32);
    for (unsigned l = 0; l < EMU_LANES; l++) {
        lanes_of(m, 4)[l] = 2 * ((unsigned)source[l][0][0] * stride + (unsigned)source[l][0][1]);
        for (int e = 0; e < 8; e++) { /* what lies behind one another in memory is in one row */
            assert_int_equal(source[l][e][0], source[l][0][0]);
            assert_int_equal(source[l][e][1], source[l][0][1] + e);
        }
    }
    machine_run(m, 0);
    for (unsigned l = 0; l < EMU_LANES; l++)
        for (unsigned e = 0; e < 8; e++) {
            uint16_t value;
            const int *place = result[l][e];
            memcpy(&value, device + 2 * ((unsigned)place[0] * stride + (unsigned)place[1]), 2);
            assert_int_equal((uint16_t)(lanes_of(m, e / 2)[l] >> 16 * (e % 2)), value);
        }
    for (unsigned reg = 0; reg < 4; reg++)
        assert_true(m->w.block[0].poison[reg] == UINT64_MAX); /* not landed */
    emu_wait_vm(&m->w, 0);
    for (unsigned reg = 0; reg < 4; reg++)
        assert_int_equal(m->w.block[0].poison[reg], 0);
    m->w.s[EMU_EXEC_LO] = 0x7fffffff;
    m->w.state = EMU_RUNNING;
    m->code.ops[0].run(&m->w, &m->code.ops[0]);
    assert_int_equal(m->w.state, EMU_FAULTED);
    assert_string_equal(m->launch.findings[0].finding.rule, "wmma-exec");
    machine_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permlane_var),           cmocka_unit_test(bpermute_fetching_inactive),
        cmocka_unit_test(scalar_transcendentals), cmocka_unit_test(scalar_transcendentals_f16),
        cmocka_unit_test(narrow_scalar_loads),    cmocka_unit_test(transposing_load),
    };
    return cmocka_run_group_tests_name("emu gfx12", tests, memory_set_up, memory_tear_down);
}
