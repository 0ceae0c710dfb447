#include "tests/verify/flight.h"

#include <stdlib.h>
#include <string.h>

/* Scalar loads land in any order, the others of a counter in theirs. gfx9 counts stores with loads;
 * before gfx12 scalar loads count with LDS, but only 0 secures them, so that they stand apart here.
 */
enum counter { LOADS, STORES, LDS, SCALARS, COUNTERS, NO_COUNTER = COUNTERS };

/* What an operation in flight keeps others from: registers, in the order of their letters below,
 * and memory of the workgroup that its other waves see past a barrier. */
enum { VECTORS = 256, SCALAR_COUNT = 128, MEMORY = 2 * VECTORS + SCALAR_COUNT, PLACES };
enum { VCC = 106, M0 = 125, EXEC = 126 };

/* The wait instructions, and where the text has each counter. */
static const struct wait_field {
    const char *mnemonic, *name; /* name: NULL where the operand is the count */
    unsigned shift;              /* of the count in the operand */
    enum counter counter;
} wait_fields[] = {
    {"s_waitcnt ", "vmcnt(", 0, LOADS},
    {"s_waitcnt ", "lgkmcnt(", 0, LDS},
    {"s_waitcnt ", "lgkmcnt(", 0, SCALARS},
    {"s_waitcnt_vscnt ", "null, ", 0, STORES},
    {"s_wait_loadcnt ", NULL, 0, LOADS},
    {"s_wait_storecnt ", NULL, 0, STORES},
    {"s_wait_dscnt ", NULL, 0, LDS},
    {"s_wait_kmcnt ", NULL, 0, SCALARS},
    {"s_wait_loadcnt_dscnt ", NULL, 8, LOADS},
    {"s_wait_loadcnt_dscnt ", NULL, 0, LDS},
    {"s_wait_storecnt_dscnt ", NULL, 8, STORES},
    {"s_wait_storecnt_dscnt ", NULL, 0, LDS},
};
enum { WAIT_FIELDS = sizeof wait_fields / sizeof wait_fields[0] };
enum { MANY = 63 }; /* more than a counter holds */

/* A run of registers that an instruction names. */
struct run {
    short first, count;
};
enum { RUNS_MAX = 10 };

/* What matters of an instruction. */
struct effect {
    enum counter raises;
    uint8_t allows[COUNTERS]; /* in flight, after it; MANY if it does not wait */
    bool waits, is_barrier;
    bool uses_memory; /* of the workgroup */
    bool loads;       /* run[0] is where to */
    int runs;
    struct run run[RUNS_MAX];
};

/* Of each place and counter: how many operations of the counter have been issued since the last one
 * that keeps the place, at least; NONE if there is none in flight. */
enum { NONE = 255 };
struct state {
    bool reached;
    uint8_t since[COUNTERS][PLACES];
};

struct flight {
    const struct ws_isa *isa;
    struct effect *effects;
    struct state *before; /* of each block */
};

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool has(const struct ws_instruction *instruction, const char *part)
{
    return strstr(instruction->text, part) != NULL;
}

bool flight_is_wait(const struct ws_instruction *instruction)
{
    for (int i = 0; i < WAIT_FIELDS; ++i)
        if (begins(instruction->text, wait_fields[i].mnemonic))
            return true;
    return false;
}

static void read_waits(const struct ws_instruction *instruction, struct effect *effect)
{
    memset(effect->allows, MANY, sizeof effect->allows);
    for (int i = 0; i < WAIT_FIELDS; ++i) {
        const struct wait_field *field = &wait_fields[i];
        if (!begins(instruction->text, field->mnemonic))
            continue;
        const char *at = instruction->text + strlen(field->mnemonic);
        if (field->name) {
            at = strstr(instruction->text, field->name);
            at = at ? at + strlen(field->name) : NULL;
        }
        effect->waits = true;
        if (at)
            effect->allows[field->counter] = (uint8_t)(strtoul(at, NULL, 0) >> field->shift & MANY);
    }
}

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Registers with names of their own. */
static const struct {
    const char *name;
    struct run run;
} named[] = {
    {"vcc_lo", {2 * VECTORS + VCC, 1}},   {"vcc_hi", {2 * VECTORS + VCC + 1, 1}},
    {"vcc", {2 * VECTORS + VCC, 2}},      {"m0", {2 * VECTORS + M0, 1}},
    {"exec_lo", {2 * VECTORS + EXEC, 1}}, {"exec_hi", {2 * VECTORS + EXEC + 1, 1}},
    {"exec", {2 * VECTORS + EXEC, 2}},
};

/* The registers that a word of an instruction's operands names: v7, s[4:7], vcc. */
static struct run read_run(const char *word, size_t length)
{
    static const char letters[] = "vas";
    struct run run = {0};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; ++i)
        if (length == strlen(named[i].name) && memcmp(word, named[i].name, length) == 0)
            return named[i].run;
    const char *letter = strchr(letters, word[0]);
    const bool is_range = length == 1 && word[1] == '[';
    const size_t digits = strspn(word + 1, "0123456789");
    if (!letter || (!is_range && (digits == 0 || digits + 1 != length)))
        return run; /* a word that begins like a register */
    char *end = NULL;
    long first = strtol(word + 1 + is_range, &end, 10);
    long last = is_range && *end == ':' ? strtol(end + 1, NULL, 10) : first;
    run.first = (short)((letter - letters) * VECTORS + first);
    run.count = (short)(last - first + 1);
    return run;
}

static void read_runs(const struct ws_instruction *instruction, struct effect *effect)
{
    const char *at = strchr(instruction->text, ' ');
    while (at && *at && effect->runs < RUNS_MAX) {
        while (*at && !is_of_name(*at))
            at++;
        size_t length = 0;
        while (is_of_name(at[length]))
            length++;
        struct run run = length ? read_run(at, length) : (struct run){0};
        if (run.count)
            effect->run[effect->runs++] = run;
        at += length;
    }
}

/* Which counter an instruction raises, and what it keeps others from. */
static void read_access(const struct ws_instruction *instruction, const char *arch,
                        struct effect *effect)
{
    const bool is_dma = has(instruction, " lds") || has(instruction, "_lds_");
    const bool is_store = has(instruction, "_store") || has(instruction, "_atomic");
    switch ((int)instruction->class) {
    case WS_ISA_LDS:
        effect->raises = LDS;
        effect->uses_memory = !has(instruction, "permute") && !has(instruction, "swizzle");
        effect->loads = has(instruction, "_read") || has(instruction, "_load") ||
                        has(instruction, "_rtn") || !effect->uses_memory;
        break;
    case WS_ISA_SMEM:
        effect->raises = SCALARS;
        effect->loads = true;
        break;
    case WS_ISA_VMEM:
    case WS_ISA_SCRATCH:
        effect->raises = is_store && !begins(arch, "gfx9") ? STORES : LOADS;
        effect->uses_memory = is_dma;
        effect->loads = !is_store && !is_dma;
        break;
    default:
        effect->raises = NO_COUNTER;
    }
}

/* Whether an instruction writes its first operand as a whole and does not read it. */
static bool replaces(const struct ws_instruction *instruction)
{
    static const char *const names[] = {"v_mad_",    "v_mul_", "v_mov_b", "v_add",  "v_sub",
                                        "v_lsh",     "v_or_",  "v_and_",  "v_xor_", "v_perm_",
                                        "v_cndmask", "v_bfe",  "v_max",   "v_min"};
    const bool is_part =
        has(instruction, "16") || has(instruction, "dpp") || has(instruction, "sdwa");
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_part; ++i)
        if (begins(instruction->text, names[i]))
            return true;
    return false;
}

static bool holds(const struct run *run, int place)
{
    return place >= run->first && place < run->first + run->count;
}

enum mention { READ, REPLACED, GOES_ON };

/* What becomes of a register in a block, from one of its instructions on. */
static enum mention first_mention(const struct flight *flight, const struct ws_isa_block *block,
                                  size_t from, int place)
{
    const size_t end = block->first + block->count;
    for (size_t i = from; i < end && i < flight->isa->count; ++i) {
        const struct effect *effect = &flight->effects[i];
        for (int r = effect->runs - 1; r >= 0; --r)
            if (holds(&effect->run[r], place))
                return r == 0 && replaces(&flight->isa->instructions[i]) ? REPLACED : READ;
    }
    return GOES_ON;
}

static int block_of(const struct ws_isa *isa, size_t instruction)
{
    int block = 0;
    while (block + 1 < isa->block_count && isa->blocks[block + 1].first <= instruction)
        block++;
    return block;
}

/* Marks what follows a block; true if that is news. */
static bool go_on(const struct ws_isa_block *block, bool *seen)
{
    bool changed = false;
    for (int s = 0; s < 2; ++s) {
        const int next = block->successor[s];
        changed = changed || (next >= 0 && !seen[next]);
        if (next >= 0)
            seen[next] = true;
    }
    return changed;
}

/* Whether nobody reads what an instruction makes of a register; `seen`: no block yet. */
static bool is_dead(const struct flight *flight, size_t instruction, int place, bool *seen)
{
    const struct ws_isa *isa = flight->isa;
    const struct ws_isa_block *home = &isa->blocks[block_of(isa, instruction)];
    enum mention here = first_mention(flight, home, instruction + 1, place);
    bool changed = here == GOES_ON && go_on(home, seen);
    while (changed && here != READ) {
        changed = false;
        for (int b = 0; b < isa->block_count && here != READ; ++b) {
            if (!seen[b])
                continue;
            here = first_mention(flight, &isa->blocks[b], isa->blocks[b].first, place);
            if (here == GOES_ON && go_on(&isa->blocks[b], seen))
                changed = true;
        }
    }
    return here != READ;
}

/* A sum of 64 bits of which only the lower half is used does not read the addend's upper half,
 * which the compiler leaves undefined: some register, that a load may be under way to. */
static bool narrow_sums(struct flight *flight)
{
    const size_t blocks = (size_t)flight->isa->block_count, count = flight->isa->count;
    bool *seen = calloc(blocks, sizeof *seen);
    for (size_t i = 0; i < count && seen; ++i) {
        const char *text = flight->isa->instructions[i].text;
        struct effect *effect = &flight->effects[i];
        if ((!begins(text, "v_mad_u64") && !begins(text, "v_mad_co_u64")) || effect->runs < 2)
            continue;
        struct run *addend = &effect->run[effect->runs - 1];
        memset(seen, 0, blocks * sizeof *seen);
        if (addend->count == 2 && is_dead(flight, i, effect->run[0].first + 1, seen))
            addend->count = 1;
    }
    const bool done = seen != NULL;
    free(seen);
    return done;
}

static void read_effect(const struct ws_instruction *instruction, const char *arch,
                        struct effect *effect)
{
    effect->is_barrier = begins(instruction->text, "s_barrier");
    read_waits(instruction, effect);
    if (!flight_is_wait(instruction))
        read_runs(instruction, effect);
    read_access(instruction, arch, effect);
}

static bool read_all(struct flight *flight, const char *arch)
{
    if (!flight->effects || !flight->before)
        return false;
    for (size_t i = 0; i < flight->isa->count; ++i)
        read_effect(&flight->isa->instructions[i], arch, &flight->effects[i]);
    return narrow_sums(flight);
}

struct flight *flight_create(const struct ws_isa *isa, const char *arch)
{
    struct flight *flight = calloc(1, sizeof *flight);
    if (!flight)
        return NULL;
    flight->isa = isa;
    flight->effects = calloc(isa->count, sizeof *flight->effects);
    flight->before = calloc((size_t)isa->block_count, sizeof *flight->before);
    if (read_all(flight, arch))
        return flight;
    flight_free(flight);
    return NULL;
}

void flight_free(struct flight *flight)
{
    if (!flight)
        return;
    free(flight->effects);
    free(flight->before);
    free(flight);
}

/* How many operations of a counter have been issued since one in flight, after an instruction; NONE
 * if that waits for it, or for room in the counter. */
static uint8_t age(const struct effect *effect, int counter, uint8_t since)
{
    const uint8_t allows = effect->allows[counter];
    const bool waits = allows != MANY && (counter != SCALARS || allows == 0);
    if (since == NONE || (waits && since >= allows))
        return NONE;
    since += (int)effect->raises == counter && counter != SCALARS;
    return since < MANY ? since : NONE;
}

/* Whether an operation keeps others from a place, until it has landed. */
static bool keeps(const struct effect *effect, int place)
{
    if (place == MEMORY)
        return effect->uses_memory;
    return effect->loads && holds(&effect->run[0], place);
}

/* The first run of an instruction that must not meet operations of a counter. Loads of one counter
 * into one register land in order, but for scalar ones. */
static int first_run(const struct effect *effect, int counter)
{
    return effect->loads && (int)effect->raises == counter && counter != SCALARS;
}

/* Whether an instruction touches what something in flight keeps from it. */
static bool touches(const struct effect *effect, const struct state *state)
{
    for (int c = 0; c < COUNTERS; ++c) {
        if (effect->is_barrier && state->since[c][MEMORY] != NONE)
            return true;
        for (int r = first_run(effect, c); r < effect->runs; ++r)
            for (int i = 0; i < effect->run[r].count; ++i)
                if (state->since[c][effect->run[r].first + i] != NONE)
                    return true;
    }
    return false;
}

static void step(const struct effect *effect, struct state *state)
{
    for (int c = 0; c < COUNTERS; ++c)
        for (int p = 0; p < PLACES && ((int)effect->raises == c || effect->allows[c] != MANY); ++p)
            state->since[c][p] = age(effect, c, state->since[c][p]);
    if (effect->raises == NO_COUNTER)
        return;
    uint8_t *since = state->since[effect->raises];
    for (int i = 0; effect->loads && i < effect->run[0].count; ++i)
        since[effect->run[0].first + i] = 0;
    if (effect->uses_memory)
        since[MEMORY] = 0;
}

/* True if that changes what a block begins with. */
static bool merge(struct state *into, const struct state *from)
{
    bool changed = !into->reached;
    if (!into->reached)
        memset(into->since, NONE, sizeof into->since);
    into->reached = true;
    for (int c = 0; c < COUNTERS; ++c)
        for (int p = 0; p < PLACES; ++p)
            if (from->since[c][p] < into->since[c][p]) {
                into->since[c][p] = from->since[c][p];
                changed = true;
            }
    return changed;
}

/* Goes through a block; returns the first instruction that touches something. */
static int walk(const struct flight *flight, const struct ws_isa_block *block, int removed,
                struct state *now)
{
    for (size_t i = block->first; i < block->first + block->count; ++i) {
        if ((int)i == removed)
            continue;
        if (touches(&flight->effects[i], now))
            return (int)i;
        if (flight->effects[i].raises != NO_COUNTER || flight->effects[i].waits)
            step(&flight->effects[i], now);
    }
    return FLIGHT_NOTHING;
}

int flight_find(struct flight *flight, int removed)
{
    const struct ws_isa *isa = flight->isa;
    struct state now;
    int found = FLIGHT_NOTHING;
    memset(now.since, NONE, sizeof now.since);
    memset(flight->before, 0, (size_t)isa->block_count * sizeof *flight->before);
    merge(&flight->before[0], &now);
    for (bool changed = true; changed && found == FLIGHT_NOTHING;) {
        changed = false;
        for (int b = 0; b < isa->block_count && found == FLIGHT_NOTHING; ++b) {
            const struct ws_isa_block *block = &isa->blocks[b];
            if (!flight->before[b].reached)
                continue;
            now = flight->before[b];
            found = walk(flight, block, removed, &now);
            for (int s = 0; s < 2; ++s)
                if (block->successor[s] >= 0 && merge(&flight->before[block->successor[s]], &now))
                    changed = true;
        }
    }
    return found;
}

/* The search for a way, which leaves no block twice. */
struct search {
    const struct flight *flight;
    int removed, found, counter, place;
    int ways_before; /* the one that is asked for */
    int blocks_left; /* to be looked at: there may be very many ways to nowhere */
    signed char *next;
};

/* On from an instruction of a block: whether there is a way. */
static bool follow(struct search *search, int home, size_t from, uint8_t since)
{
    const struct ws_isa_block *block = &search->flight->isa->blocks[home];
    const bool is_again = search->next[home] != FLIGHT_NOTHING;
    if (search->blocks_left-- <= 0)
        return false;
    for (size_t i = from; i < block->first + block->count && since != NONE; ++i) {
        if ((int)i == search->found)
            return search->ways_before-- == 0;
        if ((int)i != search->removed)
            since = age(&search->flight->effects[i], search->counter, since);
    }
    if (is_again || since == NONE)
        return false;
    for (int s = 0; s < 2; ++s) {
        const int to = block->successor[s];
        search->next[home] = (signed char)s;
        if (to >= 0 && follow(search, to, search->flight->isa->blocks[to].first, since))
            return true;
    }
    search->next[home] = FLIGHT_NOTHING;
    return false;
}

/* The ways from any operation that keeps a place. */
static bool find_way(struct search *search)
{
    const struct ws_isa *isa = search->flight->isa;
    for (size_t i = 0; i < isa->count; ++i) {
        const struct effect *effect = &search->flight->effects[i];
        if ((int)effect->raises != search->counter || !keeps(effect, search->place))
            continue;
        memset(search->next, FLIGHT_NOTHING, (size_t)isa->block_count);
        if (follow(search, block_of(isa, i), i + 1, 0))
            return true;
    }
    return false;
}

bool flight_way(const struct flight *flight, int removed, int found, int number, signed char *next)
{
    enum { BLOCKS_MAX = 10000 };
    const struct effect *effect = &flight->effects[found];
    struct search search = {.flight = flight,
                            .removed = removed,
                            .found = found,
                            .ways_before = number,
                            .blocks_left = BLOCKS_MAX,
                            .next = next};
    for (int c = 0; c < COUNTERS; ++c) {
        search.counter = c;
        search.place = MEMORY;
        if (effect->is_barrier && find_way(&search))
            return true;
        for (int r = first_run(effect, c); r < effect->runs; ++r)
            for (int i = 0; i < effect->run[r].count; ++i) {
                search.place = effect->run[r].first + i;
                if (find_way(&search))
                    return true;
            }
    }
    return false;
}
