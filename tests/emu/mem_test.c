/* Memory instructions one by one, at every x86-64 level: all widths, offsets and address forms with
 * random addresses and EXEC, against a byte-wise model; late landing of each; race-free LDS tags.
 */
#include "tests/emu/alu_support.h"

enum { BYTES = 1 << 16, DST = 40, ROUNDS = 12, DATA = 32 };

struct width {
    const char *name; /* the part after "load_" or "store_" */
    unsigned bytes;
    bool is_signed;
    unsigned half; /* 0: the whole register, 1: low half only, 2: high half only */
};

static const struct width loads[] = {
    {"u8", 1, false, 0},       {"i8", 1, true, 0},          {"u16", 2, false, 0},
    {"i16", 2, true, 0},       {"b32", 4, false, 0},        {"b64", 8, false, 0},
    {"b96", 12, false, 0},     {"b128", 16, false, 0},      {"d16_u8", 1, false, 1},
    {"d16_i8", 1, true, 1},    {"d16_b16", 2, false, 1},    {"d16_hi_u8", 1, false, 2},
    {"d16_hi_i8", 1, true, 2}, {"d16_hi_b16", 2, false, 2},
};

static const struct width stores[] = {
    {"b8", 1, false, 0},        {"b16", 2, false, 0},        {"b32", 4, false, 0},
    {"b64", 8, false, 0},       {"b96", 12, false, 0},       {"b128", 16, false, 0},
    {"d16_hi_b8", 1, false, 2}, {"d16_hi_b16", 2, false, 2},
};

static const struct width ds_loads[] = {
    {"u8", 1, false, 0},       {"i8", 1, true, 0},          {"u16", 2, false, 0},
    {"i16", 2, true, 0},       {"b32", 4, false, 0},        {"b64", 8, false, 0},
    {"b96", 12, false, 0},     {"b128", 16, false, 0},      {"u8_d16", 1, false, 1},
    {"i8_d16", 1, true, 1},    {"u16_d16", 2, false, 1},    {"u8_d16_hi", 1, false, 2},
    {"i8_d16_hi", 1, true, 2}, {"u16_d16_hi", 2, false, 2},
};

static const struct width ds_stores[] = {
    {"b8", 1, false, 0},        {"b16", 2, false, 0},        {"b32", 4, false, 0},
    {"b64", 8, false, 0},       {"b96", 12, false, 0},       {"b128", 16, false, 0},
    {"b8_d16_hi", 1, false, 2}, {"b16_d16_hi", 2, false, 2},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct emu_memory memory;
static uint8_t *device, *before;
static uint8_t lds[BYTES + 64];
static uint16_t lds_write[BYTES + 64], lds_read[BYTES + 64];
static uint32_t lds_writer[BYTES + 64], registers_before[REGISTERS * EMU_LANES];

/* A machine for one instruction, with memory, in strict mode, everything random. */
static struct machine *new_machine(const char *text)
{
    struct machine *m = machine_new(text, 1);
    m->launch.memory = &memory;
    m->group.strict = true;
    m->group.race = random64() & 1;
    m->group.epoch = 1;
    m->group.wave_count = 2;
    m->group.lds = lds;
    m->group.lds_write = lds_write;
    m->group.lds_read = lds_read;
    m->group.lds_writer = lds_writer;
    m->group.lds_bytes = BYTES;
    for (unsigned i = 0; i < REGISTERS * EMU_LANES; i++)
        m->w.block[0].v[i] = (uint32_t)random64();
    for (unsigned i = 0; i < BYTES; i++) {
        device[i] = (uint8_t)random64();
        lds[i] = (uint8_t)random64();
        lds_write[i] = 1; /* written long ago */
        lds_read[i] = 0;
    }
    m->w.s[EMU_EXEC_LO] = random64() & 1 ? UINT32_MAX : (uint32_t)random64();
    return m;
}

static void drop(struct machine *m)
{
    free(m->group.cell);
    machine_free(m);
}

static bool active(const struct machine *m, unsigned lane)
{
    return m->w.s[EMU_EXEC_LO] >> lane & 1;
}

/* What a load leaves in one register. */
static uint32_t loaded(const struct width *width, const uint8_t *from, unsigned word, uint32_t old)
{
    uint32_t x = 0;
    memcpy(&x, from + 4 * word, width->bytes < 4 ? width->bytes : 4);
    if (width->is_signed)
        x = width->bytes == 1 ? (uint32_t)(int8_t)x : (uint32_t)(int16_t)x;
    if (width->half == 1)
        return (old & 0xffff0000) | (x & 0xffff);
    return width->half == 2 ? (old & 0xffff) | x << 16 : x;
}

/* The registers after a load: loaded in active lanes, all others as before; hidden until waited. */
static void check_load(struct machine *m, const struct width *width, const uint8_t *const *from)
{
    static const uint64_t halves[] = {UINT64_MAX, UINT32_MAX, (uint64_t)UINT32_MAX << 32};
    unsigned words = (width->bytes + 3) / 4;
    for (unsigned r = 0; r < REGISTERS; r++) {
        bool hit = r >= DST && r < DST + words;
        uint64_t hidden = hit ? emu_both(m->w.s[EMU_EXEC_LO]) & halves[width->half] : 0;
        assert_int_equal(m->w.block[0].poison[r], hidden);
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            uint32_t old = registers_before[r * EMU_LANES + lane];
            uint32_t expected =
                hit && active(m, lane) ? loaded(width, from[lane], r - DST, old) : old;
            assert_int_equal(m->w.block[0].v[r * EMU_LANES + lane], expected);
        }
    }
}

static void check_landed(struct machine *m)
{
    assert_int_not_equal(m->w.state, EMU_FAULTED);
    for (unsigned r = 0; r < REGISTERS; r++)
        assert_int_equal(m->w.block[0].poison[r], 0);
}

/* What a store writes, in lane order. */
static void model_store(const struct machine *m, const struct width *width, uint8_t *const *to)
{
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        uint32_t words[4];
        for (unsigned k = 0; k < 4; k++)
            words[k] = m->w.block[0].v[(DST + k) * EMU_LANES + lane];
        if (width->half == 2)
            words[0] >>= 16;
        if (active(m, lane))
            memcpy(to[lane], words, width->bytes);
    }
}

/* Address operands of a global instruction in v[2:3] or v2 and s[8:9]; text of the address. */
static void global_addresses(struct machine *m, bool saddr, int32_t offset, unsigned bytes,
                             uint8_t **at)
{
    uint64_t base = (uint64_t)(uintptr_t)device + 20000;
    m->w.s[8] = (uint32_t)base;
    m->w.s[9] = (uint32_t)(base >> 32);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        /* Apart for stores to be free of races; unaligned. */
        uint32_t place = 5000 + lane * 64 + random_dword() % (48 - bytes);
        uint64_t address = base + place;
        at[lane] = device + 20000 + place + offset;
        m->w.block[0].v[2 * EMU_LANES + lane] = saddr ? place : (uint32_t)address;
        m->w.block[0].v[3 * EMU_LANES + lane] = (uint32_t)(address >> 32);
        if (!active(m, lane)) /* must not be looked at */
            m->w.block[0].v[3 * EMU_LANES + lane] = 0x1234;
    }
}

static void run(struct machine *m)
{
    memcpy(registers_before, m->w.block[0].v, sizeof registers_before);
    machine_run(m, 0);
}

static const char *vector(unsigned bytes, char *text)
{
    unsigned words = (bytes + 3) / 4;
    if (words == 1)
        snprintf(text, DATA, "v%d", DST);
    else
        snprintf(text, DATA, "v[%d:%u]", DST, DST + words - 1);
    return text;
}

static void global_load(const struct width *width)
{
    char text[128], data[DATA];
    bool saddr = random64() & 1;
    int32_t offset = (int32_t)(random64() % 8192) - 4096;
    snprintf(text, sizeof text, "global_load_%s %s, %s offset:%d", width->name,
             vector(width->bytes, data), saddr ? "v2, s[8:9]" : "v[2:3], off", offset);
    struct machine *m = new_machine(text);
    uint8_t *at[EMU_LANES];
    global_addresses(m, saddr, offset, width->bytes, at);
    run(m);
    check_load(m, width, (const uint8_t *const *)at);
    emu_wait_lgkm(&m->w, 0);
    emu_wait_vs(&m->w, 0);
    assert_int_equal(m->w.block[0].poison[DST] != 0, m->w.s[EMU_EXEC_LO] != 0);
    emu_wait_vm(&m->w, 0);
    check_landed(m);
    drop(m);
}

static void global_store(const struct width *width)
{
    char text[128], data[DATA];
    bool saddr = random64() & 1;
    int32_t offset = (int32_t)(random64() % 8192) - 4096;
    snprintf(text, sizeof text, "global_store_%s %s, %s, %s offset:%d", width->name,
             saddr ? "v2" : "v[2:3]", vector(width->bytes, data), saddr ? "s[8:9]" : "off", offset);
    struct machine *m = new_machine(text);
    uint8_t *at[EMU_LANES], *to[EMU_LANES];
    global_addresses(m, saddr, offset, width->bytes, at);
    memcpy(before, device, BYTES);
    for (unsigned lane = 0; lane < EMU_LANES; lane++)
        to[lane] = before + (at[lane] - device);
    model_store(m, width, to);
    run(m);
    assert_memory_equal(device, before, BYTES);
    drop(m);
}

static void lds_addresses(struct machine *m, int32_t offset, unsigned stride, unsigned bytes,
                          uint32_t *at)
{
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        at[lane] = lane * stride + random_dword() % (stride - bytes + 1);
        m->w.block[0].v[2 * EMU_LANES + lane] = at[lane] - (uint32_t)offset; /* wraps */
        if (!active(m, lane))
            m->w.block[0].v[2 * EMU_LANES + lane] = 0x80000000;
    }
}

static void ds_load(const struct width *width)
{
    char text[128], data[DATA];
    int32_t offset = (int32_t)(random64() % 65536);
    snprintf(text, sizeof text, "ds_load_%s %s, v2 offset:%d", width->name,
             vector(width->bytes, data), offset);
    struct machine *m = new_machine(text);
    uint32_t at[EMU_LANES];
    const uint8_t *from[EMU_LANES];
    lds_addresses(m, offset, BYTES / EMU_LANES, width->bytes, at);
    for (unsigned lane = 0; lane < EMU_LANES; lane++)
        from[lane] = lds + at[lane];
    run(m);
    check_load(m, width, from);
    emu_wait_vm(&m->w, 0);
    emu_wait_lgkm(&m->w, 1);
    assert_int_equal(m->w.block[0].poison[DST] != 0, m->w.s[EMU_EXEC_LO] != 0);
    emu_wait_lgkm(&m->w, 0);
    check_landed(m);
    drop(m);
}

static void ds_store(const struct width *width)
{
    char text[128], data[DATA];
    static uint8_t expected[BYTES];
    int32_t offset = (int32_t)(random64() % 65536);
    snprintf(text, sizeof text, "ds_store_%s v2, %s offset:%d", width->name,
             vector(width->bytes, data), offset);
    struct machine *m = new_machine(text);
    uint32_t at[EMU_LANES];
    uint8_t *to[EMU_LANES];
    lds_addresses(m, offset, BYTES / EMU_LANES, width->bytes, at);
    memcpy(expected, lds, BYTES);
    for (unsigned lane = 0; lane < EMU_LANES; lane++)
        to[lane] = expected + at[lane];
    model_store(m, width, to);
    memset(lds_write, 0, sizeof lds_write);
    run(m);
    assert_memory_equal(lds, expected, BYTES);
    for (unsigned lane = 0; lane < EMU_LANES; lane++)
        for (unsigned b = 0; b < width->bytes; b++)
            assert_int_equal(lds_write[at[lane] + b] != 0, active(m, lane));
    drop(m);
}

/* Two offsets, in units of the element or of 64 elements. */
static void ds_two(unsigned bytes, bool stride64, bool store)
{
    char text[128];
    unsigned scale = stride64 ? 64 * bytes : bytes, words = bytes / 4;
    unsigned offset[2] = {(unsigned)(random64() % 60), (unsigned)(60 + random64() % 60)};
    const char *name = stride64 ? "2addr_stride64" : "2addr";
    if (store)
        snprintf(text, sizeof text, "ds_store_%s_b%u v2, v[%d:%u], v[%u:%u] offset0:%u offset1:%u",
                 name, 8 * bytes, DST, DST + words - 1, DST + words, DST + 2 * words - 1, offset[0],
                 offset[1]);
    else
        snprintf(text, sizeof text, "ds_load_%s_b%u v[%d:%u], v2 offset0:%u offset1:%u", name,
                 8 * bytes, DST, DST + 2 * words - 1, offset[0], offset[1]);
    struct machine *m = new_machine(text);
    static uint8_t expected[BYTES];
    uint32_t at[EMU_LANES];
    /* Lanes are 4 apart in a stretch that the offsets jump over. */
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        at[lane] = lane * bytes;
        m->w.block[0].v[2 * EMU_LANES + lane] = at[lane];
    }
    if (!stride64) /* would overlap: one lane is enough */
        m->w.s[EMU_EXEC_LO] = 1U << random64() % 32;
    memcpy(expected, lds, BYTES);
    run(m);
    for (unsigned lane = 0; lane < EMU_LANES; lane++)
        for (unsigned k = 0; k < 2 * words && active(m, lane); k++) {
            uint32_t place = at[lane] + offset[k / words] * scale + k % words * 4, value;
            uint32_t reg = m->w.block[0].v[(DST + k) * EMU_LANES + lane];
            memcpy(&value, expected + place, 4);
            if (store)
                memcpy(expected + place, &reg, 4);
            else
                assert_int_equal(reg, value);
        }
    assert_memory_equal(lds, expected, BYTES);
    emu_wait_lgkm(&m->w, 0);
    check_landed(m);
    drop(m);
}

static void scalar_load(unsigned words, bool buffer)
{
    char text[128];
    int32_t offset = (int32_t)(random64() % 1024) * 4;
    bool reg = random64() & 1;
    snprintf(text, sizeof text, "s_%sload_b%u s[16:%u], %s, %s0x%x", buffer ? "buffer_" : "",
             32 * words, 16 + words - 1, buffer ? "s[8:11]" : "s[8:9]", reg ? "s12 offset:" : "",
             (unsigned)offset);
    if (words == 1)
        snprintf(text, sizeof text, "s_%sload_b32 s16, %s, %s0x%x", buffer ? "buffer_" : "",
                 buffer ? "s[8:11]" : "s[8:9]", reg ? "s12 offset:" : "", (unsigned)offset);
    struct machine *m = new_machine(text);
    uint64_t base = (uint64_t)(uintptr_t)device + 512;
    uint32_t more = reg ? (uint32_t)(random64() % 1024) * 4 : 0, at = (uint32_t)offset + more;
    m->w.s[8] = (uint32_t)base;
    m->w.s[9] = (uint32_t)(base >> 32);
    m->w.s[10] = at + (uint32_t)(random64() % 100); /* num_records: cuts some off */
    m->w.s[11] = 0x31004000;
    m->w.s[12] = more;
    run(m);
    for (unsigned k = 0; k < words; k++) {
        uint32_t value;
        memcpy(&value, device + 512 + at + 4 * k, 4);
        if (buffer && at + 4 * k + 4 > m->w.s[10])
            value = 0;
        assert_int_equal(m->w.s[16 + k], value);
        assert_int_equal(m->w.spoison[16 + k], UINT32_MAX);
    }
    emu_wait_lgkm(&m->w, 1);
    assert_int_equal(m->w.spoison[16], UINT32_MAX);
    emu_wait_lgkm(&m->w, 0);
    for (unsigned k = 0; k < words; k++)
        assert_int_equal(m->w.spoison[16 + k], 0);
    drop(m);
}

/* Buffers of records: index and offset from registers, ranges by record. */
static void structured_load(void)
{
    enum { STRIDE = 48, RECORDS = 300 };
    struct machine *m = new_machine("buffer_load_b64 v[40:41], v[2:3], s[8:11], s12 idxen offen "
                                    "offset:8");
    static const struct width width = {"b64", 8, false, 0};
    static const uint8_t zeros[16];
    uint8_t part[EMU_LANES][16] = {{0}};
    const uint8_t *from[EMU_LANES];
    uint64_t base = (uint64_t)(uintptr_t)device;
    unsigned select = (unsigned)(random64() % 2); /* by record and offset, or by record only */
    m->w.s[8] = (uint32_t)base;
    m->w.s[9] = (uint32_t)(base >> 32) | STRIDE << 16;
    m->w.s[10] = RECORDS;
    m->w.s[11] = 0x01004000 | select << 28;
    m->w.s[12] = 100;
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        uint32_t index = random_dword() % (RECORDS + 60), offset = random_dword() % 15 * 4;
        m->w.block[0].v[2 * EMU_LANES + lane] = index;
        m->w.block[0].v[3 * EMU_LANES + lane] = offset;
        from[lane] = zeros;
        for (unsigned d = 0; d < 2; d++) {
            bool in = index < RECORDS && (select == 1 || offset + 8 + 4 * d + 4 <= STRIDE);
            if (in)
                memcpy(part[lane] + 4 * d, device + 100 + index * STRIDE + offset + 8 + 4 * d, 4);
            from[lane] = part[lane];
        }
    }
    run(m);
    check_load(m, &width, from);
    drop(m);
}

static void vector_memory(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < COUNT(loads); i++)
            global_load(&loads[i]);
        for (size_t i = 0; i < COUNT(stores); i++)
            global_store(&stores[i]);
        structured_load();
    }
}

static void local_memory(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < COUNT(ds_loads); i++)
            ds_load(&ds_loads[i]);
        for (size_t i = 0; i < COUNT(ds_stores); i++)
            ds_store(&ds_stores[i]);
        for (unsigned form = 0; form < 8; form++)
            ds_two(form & 1 ? 8 : 4, form & 2, form & 4);
    }
}

static void scalar_memory(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned words = 1; words <= 16; words *= 2) {
            scalar_load(words, false);
            scalar_load(words, true);
        }
}

static int set_up(void **state)
{
    (void)state;
    device = (uint8_t *)(uintptr_t)emu_memory_add(&memory, BYTES, false);
    before = malloc(BYTES);
    return device && before ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(before);
    emu_memory_remove(&memory, (uint64_t)(uintptr_t)device);
    free(memory.list);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_memory),
        cmocka_unit_test(local_memory),
        cmocka_unit_test(scalar_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
