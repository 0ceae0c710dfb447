#include "gen/config/source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/words.h"
#include "runtime/abi/file.h"

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

/* Whether a line begins at the byte: not for nothing at the end of the text. */
static bool begins_line(const struct ws_source *source, size_t i)
{
    const char *text = source->text;
    return i == 0 ||
           (i < source->size && is_break(text[i - 1]) && !(text[i - 1] == '\r' && text[i] == '\n'));
}

static enum ws_status index_lines(struct ws_source *source, struct ws_arena *arena,
                                  struct ws_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i <= source->size; i++)
        count += begins_line(source, i);
    size_t *lines = ws_arena_take(arena, count * sizeof *lines);
    if (lines == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for %zu lines of config", count);
    source->lines = lines;
    for (size_t i = 0; i <= source->size; i++) {
        if (begins_line(source, i))
            lines[source->line_count++] = i;
    }
    return WS_OK;
}

static enum ws_status check_text(const struct ws_source *source, struct ws_error *error)
{
    const unsigned char *text = (const unsigned char *)source->text;
    for (size_t i = 0, length; i < source->size; i += length) {
        length = ws_utf8_length(text + i, source->size - i);
        bool is_control = text[i] < ' ' && strchr("\t\n\r", text[i]) == NULL;
        if (length == 0 || text[i] == 0 || text[i] == 0x7F || is_control)
            return ws_source_fail(
                error, WS_ERROR_CONFIG, source, (struct ws_span){i, i + 1},
                "byte 0x%02x is %s; a config is UTF-8 text without control characters", text[i],
                length == 0 ? "not valid UTF-8" : "a control character");
    }
    return WS_OK;
}

enum ws_status ws_source_init(struct ws_source *source, struct ws_arena *arena, const char *path,
                              const char *text, size_t size, struct ws_error *error)
{
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        size -= 3;
    }
    if (size >= 4 && memcmp(text,
                            "\x7F"
                            "ELF",
                            4) == 0)
        return ws_fail_at(
            error, WS_ERROR_CONFIG, path, 0, 0,
            "it is a code object or another ELF file; give a config file, which is YAML text");
    if (size > WS_SOURCE_SIZE_MAX)
        return ws_fail_at(error, WS_ERROR_CONFIG, path, 0, 0,
                          "larger than %d bytes; a config has at most that",
                          (int)WS_SOURCE_SIZE_MAX);
    *source = (struct ws_source){.size = size};
    source->path = ws_arena_text(arena, path, strlen(path));
    source->text = ws_arena_text(arena, text, size);
    if (source->path == NULL || source->text == NULL)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for %zu bytes of config", size);
    enum ws_status status = index_lines(source, arena, error);
    return status != WS_OK ? status : check_text(source, error);
}

enum ws_status ws_source_read(struct ws_source *source, struct ws_arena *arena, const char *path,
                              struct ws_error *error)
{
    const size_t room = WS_SOURCE_SIZE_MAX + 4; /* more than the limit, with a byte order mark */
    const char *misfit = ws_file_misfit(path);
    if (misfit != NULL)
        return ws_fail_at(error, WS_ERROR_IO, path, 0, 0, "it is %s; give a config file", misfit);
    char *text = malloc(room);
    FILE *file = text == NULL ? NULL : fopen(path, "rbe");
    size_t size = file == NULL ? 0 : fread(text, 1, room, file);
    enum ws_status status;
    if (text == NULL)
        status = ws_fail(error, WS_ERROR_MEMORY, "no memory for %zu bytes of config", room);
    else if (file == NULL || ferror(file))
        status = ws_fail_at(error, WS_ERROR_IO, path, 0, 0,
                            "cannot read it: %s; give a readable config file", strerror(errno));
    else
        status = ws_source_init(source, arena, path, text, size, error);
    if (file != NULL)
        fclose(file);
    free(text);
    return status;
}

void ws_source_position(const struct ws_source *source, size_t offset, int *line, int *column)
{
    size_t low = 0, high = source->line_count; /* the line is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (source->lines[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    *line = (int)low + 1;
    *column = 1;
    for (size_t i = source->lines[low]; i < offset && i < source->size; i++)
        *column += !continues_character(source->text[i + 1]);
}

size_t ws_source_offset(const struct ws_source *source, int line, int column)
{
    bool is_past = line > (int)source->line_count;
    size_t offset = source->lines[is_past ? source->line_count - 1 : (size_t)line - 1];
    for (; (is_past || column > 1) && offset < source->size && !is_break(source->text[offset]);
         column--) {
        do
            offset++;
        while (continues_character(source->text[offset]));
    }
    return offset;
}

enum { EXCERPT_COLUMNS = 90, EXCERPT_BEFORE = 60 };

/* Appends a window of the line around the span, and a caret line below it. */
static void append_excerpt(char *message, size_t size, const struct ws_source *source,
                           struct ws_span span)
{
    int line, column, shown = 0, skip = 0;
    ws_source_position(source, span.begin, &line, &column);
    if (column > EXCERPT_COLUMNS)
        skip = column - EXCERPT_BEFORE;
    size_t from = ws_source_offset(source, line, skip + 1), to = from;
    while (to < source->size && !is_break(source->text[to]) && shown < EXCERPT_COLUMNS)
        shown += !continues_character(source->text[++to]);

    const char *dots = skip > 0 ? "..." : "";
    ws_append(message, size, "\n%5d | %s", line, dots);
    for (size_t i = from, length; i < to; i += length) {
        const unsigned char *p = (const unsigned char *)source->text + i;
        length = ws_utf8_length(p, to - i);
        bool is_printable = length > 0 && *p >= ' ' && *p != 0x7F && !(*p == 0xC2 && p[1] < 0xA0);
        length = length > 0 ? length : 1;
        if (is_printable)
            ws_append(message, size, "%.*s", (int)length, source->text + i);
        else
            ws_append(message, size, "%c", *p == '\t' ? ' ' : '?');
    }
    ws_append(message, size, "\n      | %s%*s^", skip > 0 ? "   " : "", column - skip - 1, "");
    for (size_t i = span.begin + 1; i < span.end && i < to; i++) {
        if (!continues_character(source->text[i]))
            ws_append(message, size, "~");
    }
}

enum ws_status ws_source_fail(struct ws_error *error, enum ws_status code,
                              const struct ws_source *source, struct ws_span span,
                              const char *format, ...)
{
    char message[WS_ERROR_MESSAGE_SIZE];
    int line, column;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    ws_source_position(source, span.begin, &line, &column);
    append_excerpt(message, sizeof message, source, span);
    return ws_fail_at(error, code, source->path, line, column, "%s", message);
}
