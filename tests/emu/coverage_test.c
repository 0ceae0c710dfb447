/* The list of instructions in docs/emulator.md is that of the tables, which hang together. With
 * --print it goes to stdout instead, to be put there between the marks. */
#include "tools/emu/emu.h"
#include "tools/emu/levels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 1 << 17, WIDTH = 100 };

struct text {
    char bytes[MOST];
    size_t length, column;
};

static void put(struct text *t, const char *piece)
{
    size_t length = strlen(piece);
    assert_true(t->length + length + 3 < MOST);
    if (t->column && t->column + length + 1 > WIDTH) {
        t->bytes[t->length++] = '\n';
        t->column = 0;
    } else if (t->column) {
        t->bytes[t->length++] = ' ';
        t->column++;
    }
    memcpy(t->bytes + t->length, piece, length + 1);
    t->length += length;
    t->column += length;
}

/* A line of its own. */
static void put_line(struct text *t, const char *line)
{
    if (t->column)
        t->bytes[t->length++] = '\n';
    t->column = 0;
    put(t, line);
    t->bytes[t->length++] = '\n';
    t->bytes[t->length] = 0;
    t->column = 0;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), cut = strlen(end);
    return length > cut && strcmp(name + length - cut, end) == 0;
}

/* Rows that another row becomes by a modifier. */
static bool is_variant(const char *name)
{
    return ends_with(name, "_sat") || ends_with(name, "_uu") || ends_with(name, "_su") ||
           ends_with(name, "_us") || ends_with(name, "_ss");
}

/* Where the type at the end of a name begins ("f32", "b128", "dwordx4"), or its end. */
static size_t type_at(const char *name)
{
    const char *last = strrchr(name, '_');
    size_t length = strlen(name);
    if (!last)
        return length;
    const char *type = last + 1;
    if (strncmp(type, "dword", 5) == 0)
        return (size_t)(type - name);
    size_t letters = strspn(type, "bfiu");
    bool typed = letters && letters <= 2 && type[letters] &&
                 strspn(type + letters, "0123456789") == strlen(type + letters);
    return typed ? (size_t)(type - name) : length;
}

/* The names of a class from `index` on that differ in their type only; the index of the next. */
static size_t group(struct text *t, size_t index, const char *name, const struct emu_desc *desc)
{
    char piece[512];
    size_t stem = type_at(name), length = strlen(name);
    const char *next;
    const struct emu_desc *other;
    size_t end = index + 1;
    int count = 1;
    int at = snprintf(piece, sizeof piece, "%.*s{%s", (int)stem, name, name + stem);
    for (; stem < length && (next = emu_name_at(end, &other)); end++) {
        if (is_variant(next))
            continue;
        if (strncmp(next, name, stem) != 0 || type_at(next) != stem || !next[stem])
            break;
        if (other->cls != desc->cls)
            break;
        at += snprintf(piece + at, sizeof piece - (size_t)at, ",%s", next + stem);
        count++;
    }
    if (count > 1)
        snprintf(piece + at, sizeof piece - (size_t)at, "}");
    else
        snprintf(piece, sizeof piece, "%s", name);
    put(t, piece);
    return end;
}

static void list(struct text *t)
{
    const struct emu_desc *desc;
    const char *name;
    for (int cls = 0; ws_emu_class_name(cls); cls++) {
        char head[64];
        size_t count = 0;
        for (size_t i = 0; (name = emu_name_at(i, &desc)); i++)
            count += desc->cls == cls && !is_variant(name);
        if (!count)
            continue;
        snprintf(head, sizeof head, "%s (%zu):\n\n```text", ws_emu_class_name(cls), count);
        put_line(t, head);
        for (size_t i = 0; (name = emu_name_at(i, &desc));)
            i = desc->cls == cls && !is_variant(name) ? group(t, i, name, desc) : i + 1;
        put_line(t, "```\n");
    }
}

static void document_is_current(void **state)
{
    (void)state;
    static struct text wanted;
    static char document[MOST];
    FILE *file = fopen(WS_TEST_DOCUMENT, "r");
    if (!file) {
        fail_msg("no %s", WS_TEST_DOCUMENT);
        return;
    }
    size_t length = fread(document, 1, sizeof document - 1, file);
    fclose(file);
    document[length] = 0;
    static const char start[] = "<!-- emu_coverage_test --print -->\n\n", end[] = "<!-- end -->";
    char *from = strstr(document, start), *to = from ? strstr(from, end) : NULL;
    if (!to) {
        fail_msg("docs/emulator.md has no marks for the list");
        return;
    }
    *to = 0;
    list(&wanted);
    if (strcmp(from + sizeof start - 1, wanted.bytes) != 0)
        fail_msg("docs/emulator.md is stale: put in what emu_coverage_test --print says");
}

/* An alias of no row would be left out without a word. */
static void aliases_have_rows(void **state)
{
    static const char *const rows[] = {
#define ALIAS(name, row) #row,
#include "tools/emu/ops_alias.def"
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!emu_find_desc(rows[i]))
            fail_msg("tools/emu/ops_alias.def: there is no row %s", rows[i]);
}

int main(int argc, char **argv)
{
    static struct text text;
    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        list(&text);
        fputs(text.bytes, stdout);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_is_current),
        cmocka_unit_test(aliases_have_rows),
    };
    return cmocka_run_group_tests_name("emu coverage", tests, NULL, NULL);
}
