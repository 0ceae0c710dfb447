#include "gen/config/yaml.h"

#include <libfyaml.h>
#include <stdio.h>
#include <string.h>

#include "gen/words.h"

struct reader {
    struct fy_parser *parser;
    struct fy_diag *diag;
    struct ws_arena *arena;
    const struct ws_source *source;
    struct ws_error *error;
    struct ws_span last; /* where the reader is: of the last event that has a place */
    char notice[256];    /* what libfyaml says without a position */
};

#define FAIL(reader, span, ...)                                                                    \
    ws_source_fail((reader)->error, WS_ERROR_CONFIG, (reader)->source, span, __VA_ARGS__)

/* libfyaml writes to stderr unless it is given a place. */
static void keep_notice(struct fy_diag *diag, void *user, const char *text, size_t length)
{
    struct reader *reader = user;
    (void)diag;
    if (reader->notice[0] == '\0')
        snprintf(reader->notice, sizeof reader->notice, "%.*s",
                 (int)(length > 200 ? 200 : strcspn(text, "\n")), text);
}

static enum ws_status open_reader(struct reader *reader)
{
    const struct fy_diag_cfg diag_cfg = {
        .output_fn = keep_notice, .user = reader, .level = FYET_ERROR, .module_mask = ~0U};
    reader->diag = fy_diag_create(&diag_cfg);
    if (reader->diag != NULL) {
        fy_diag_set_collect_errors(reader->diag, true);
        reader->parser = fy_parser_create(
            &(struct fy_parse_cfg){.flags = FYPCF_JSON_NONE, .diag = reader->diag});
    }
    if (reader->parser == NULL ||
        fy_parser_set_string(reader->parser, reader->source->text, reader->source->size) != 0)
        return ws_fail(reader->error, WS_ERROR_MEMORY, "no memory for the YAML parser");
    return WS_OK;
}

static void close_reader(struct reader *reader)
{
    if (reader->parser != NULL)
        fy_parser_destroy(reader->parser);
    if (reader->diag != NULL)
        fy_diag_destroy(reader->diag);
}

static enum ws_status fail_syntax(struct reader *reader)
{
    void *cursor = NULL;
    const struct fy_diag_error *said;
    do
        said = fy_diag_errors_iterate(reader->diag, &cursor);
    while (said != NULL && said->type < FYET_ERROR);
    if (said == NULL)
        return FAIL(reader, reader->last, "not valid YAML%s%s; see the format in README.md",
                    reader->notice[0] == '\0' ? "" : ": ", reader->notice);
    size_t offset = ws_source_offset(reader->source, said->line, said->column);
    return FAIL(reader, ((struct ws_span){offset, offset + 1}), "not valid YAML: %s", said->msg);
}

/* The bytes of a token; of one without a place, those of the token before it. Tokens begin after
 * their indicator (a quote, `*`, `&`), which is part of what a reader should see. */
static struct ws_span token_span(const struct reader *reader, struct fy_token *token)
{
    const struct fy_mark *begin = token == NULL ? NULL : fy_token_start_mark(token);
    const struct fy_mark *end = token == NULL ? NULL : fy_token_end_mark(token);
    if (begin == NULL || end == NULL)
        return reader->last;
    size_t size = reader->source->size;
    struct ws_span span = {begin->input_pos < size ? begin->input_pos : size,
                           end->input_pos < size ? end->input_pos : size};
    const char *text = reader->source->text;
    if (span.begin > 0 && strchr("\"'*&", text[span.begin - 1]) != NULL) {
        span.end += text[span.begin - 1] == text[span.end];
        span.begin--;
    }
    return span;
}

/* The next event, to be freed; NULL is the end of the text. */
static enum ws_status next_event(struct reader *reader, struct fy_event **event)
{
    *event = fy_parser_parse(reader->parser);
    if (*event == NULL && (fy_parser_get_stream_error(reader->parser) || reader->notice[0] != '\0'))
        return fail_syntax(reader);
    if (*event != NULL)
        reader->last = token_span(reader, fy_event_get_token(*event));
    return WS_OK;
}

static enum ws_status check_plain(struct reader *reader, struct fy_event *event)
{
    struct fy_token *anchor = fy_event_get_anchor_token(event),
                    *tag = fy_event_get_tag_token(event);
    if (event->type == FYET_ALIAS || anchor != NULL)
        return FAIL(reader, anchor != NULL ? token_span(reader, anchor) : reader->last,
                    "anchors and aliases are not part of the config format, since a few of them "
                    "can expand without bound; share settings by `entries` or `base`");
    if (tag != NULL)
        return FAIL(reader, token_span(reader, tag),
                    "tags are not part of the config format; write the value alone");
    return WS_OK;
}

static enum ws_status fill_scalar(struct reader *reader, struct fy_event *event,
                                  struct ws_yaml_node *node)
{
    size_t length = 0;
    const char *text = fy_token_get_text(event->scalar.value, &length);
    if (text == NULL)
        text = "";
    if (memchr(text, '\0', length) != NULL)
        return FAIL(reader, node->span, "a NUL character in a value; no name or value has one");
    node->is_quoted =
        event->scalar.value != NULL && fy_token_scalar_style(event->scalar.value) != FYSS_PLAIN;
    node->text = ws_arena_text(reader->arena, text, length);
    if (node->text == NULL)
        return ws_fail(reader->error, WS_ERROR_MEMORY, "no memory for a config value");
    return WS_OK;
}

static enum ws_status read_node(struct reader *reader, struct fy_event *event, int depth,
                                struct ws_yaml_node **node);

/* The children of a sequence or mapping, up to its end. */
static enum ws_status read_children(struct reader *reader, int depth, struct ws_yaml_node *parent)
{
    struct ws_yaml_node **tail = &parent->first, *key = NULL;
    for (;;) {
        struct fy_event *event = NULL;
        struct ws_yaml_node *child = NULL;
        enum ws_status status = next_event(reader, &event);
        if (status != WS_OK)
            return status;
        if (event == NULL)
            return FAIL(reader, reader->last, "the text ends inside a list or mapping");
        bool is_end = event->type == FYET_SEQUENCE_END || event->type == FYET_MAPPING_END;
        if (!is_end)
            status = read_node(reader, event, depth + 1, &child);
        fy_parser_event_free(reader->parser, event);
        if (is_end || status != WS_OK)
            return status;
        if (parent->type == WS_YAML_MAPPING && key == NULL) {
            if (child->type != WS_YAML_SCALAR)
                return FAIL(reader, child->span, "a key should be a name, not a list or mapping");
            key = child;
            continue;
        }
        child->key = key;
        key = NULL;
        *tail = child;
        tail = &child->next;
    }
}

static enum ws_status read_node(struct reader *reader, struct fy_event *event, int depth,
                                struct ws_yaml_node **node)
{
    enum ws_status status = check_plain(reader, event);
    if (status != WS_OK)
        return status;
    if (depth > WS_YAML_DEPTH_MAX)
        return FAIL(reader, reader->last, "nested deeper than %d levels; a config needs fewer",
                    WS_YAML_DEPTH_MAX);
    *node = ws_arena_take(reader->arena, sizeof **node);
    if (*node == NULL)
        return ws_fail(reader->error, WS_ERROR_MEMORY, "no memory for a config value");
    (*node)->span = reader->last;
    if (event->type == FYET_SCALAR)
        return fill_scalar(reader, event, *node);
    (*node)->type = event->type == FYET_MAPPING_START ? WS_YAML_MAPPING : WS_YAML_SEQUENCE;
    return read_children(reader, depth, *node);
}

static enum ws_status read_stream(struct reader *reader, struct ws_yaml_node **root)
{
    for (;;) {
        struct fy_event *event = NULL;
        enum ws_status status = next_event(reader, &event);
        if (status != WS_OK || event == NULL)
            return status;
        if (event->type == FYET_DOCUMENT_START && *root != NULL)
            status = FAIL(reader, reader->last,
                          "a second document begins here; a config is one document, and several "
                          "blocks are `entries`");
        else if (event->type >= FYET_MAPPING_START)
            status = read_node(reader, event, 1, root);
        fy_parser_event_free(reader->parser, event);
        if (status != WS_OK)
            return status;
    }
}

enum ws_status ws_yaml_parse(const struct ws_yaml_node **root, struct ws_arena *arena,
                             const struct ws_source *source, struct ws_error *error)
{
    struct reader reader = {.arena = arena, .source = source, .error = error};
    struct ws_yaml_node *tree = NULL;
    enum ws_status status = open_reader(&reader);
    if (status == WS_OK)
        status = read_stream(&reader, &tree);
    if (status == WS_OK && tree == NULL)
        status = FAIL(&reader, ((struct ws_span){0, 0}),
                      "the config is empty; it should begin with `version: 1`");
    close_reader(&reader);
    *root = tree;
    return status;
}

const char *ws_yaml_describe(const struct ws_yaml_node *node, char *buffer, size_t size)
{
    char quoted[WS_QUOTED_SIZE];
    if (node->type == WS_YAML_SEQUENCE)
        snprintf(buffer, size, "a list");
    else if (node->type == WS_YAML_MAPPING)
        snprintf(buffer, size, "a mapping");
    else if (node->text[0] == '\0')
        snprintf(buffer, size, "nothing");
    else
        snprintf(buffer, size, "%s`%s`", node->is_quoted ? "the string " : "",
                 ws_quoted(quoted, node->text));
    return buffer;
}
