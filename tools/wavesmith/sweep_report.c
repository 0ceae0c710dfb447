/* The results of a sweep as a table, CSV or JSON. */
#include <stdlib.h>
#include <string.h>

#include "gen/setting.h"
#include "tools/wavesmith/command.h"
#include "tools/wavesmith/reproduce.h"
#include "tools/wavesmith/result.h"
#include "tools/wavesmith/sweep.h"

/* Why points were skipped, and how many for each reason. */
struct reasons {
    const char **text;
    size_t *times;
    size_t count;
};

struct report {
    const struct ws_sweep *sweep;
    json_t *results; /* an object a task */
    struct reasons reasons;
    unsigned count[3]; /* by enum ws_result_status */
};

/* Whether a setting is part of the results: others say the same. */
static bool is_shown(int setting)
{
    return setting != WS_FIELD_kernel && setting != WS_FIELD_head_dim;
}

/* The record, and what it leaves out because it depends on where the task stands in the config. */
static json_t *result_json(const struct ws_sweep *sweep, const struct ws_sweep_task *task)
{
    const struct ws_config_point *point = &sweep->points.config.points[task->point];
    const char *shape = task->shape && task->shape->name[0] ? task->shape->name : NULL;
    json_t *record = json_loads(task->record, 0, NULL);
    json_t *levers = json_object();
    json_t *result =
        json_pack("{s:O, s:O, s:s, s:s?, s:i}", "status", json_object_get(record, "status"),
                  "reason", json_object_get(record, "reason"), "name", point->name, "shape", shape,
                  "point", (int)task->point + 1);
    for (int i = 0; i < WS_FIELD_COUNT; ++i)
        if (is_shown(i))
            ws_settings_add(result, &point->spec, i, i + 1);
    ws_settings_add(levers, &point->spec, WS_FIELD_COUNT, WS_SETTING_COUNT);
    json_object_set_new(result, "levers", levers);
    json_object_update_missing(result, record);
    if (sweep->verify && task->key[0]) {
        char command[WS_COMMAND_SIZE];
        ws_reproduction(command, sweep->arguments, &sweep->points, task->point, &task->problem,
                        false);
        json_object_set_new(result, "reproduce", json_string(command));
    }
    json_decref(record);
    return result;
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* From 1; 0: a new one. */
static size_t reason_number(const struct reasons *reasons, const char *text)
{
    for (size_t i = 0; i < reasons->count; ++i)
        if (strcmp(reasons->text[i], text) == 0)
            return i + 1;
    return 0;
}

static void count_reason(struct reasons *reasons, const char *text)
{
    size_t number = reason_number(reasons, text);
    if (number == 0) {
        reasons->text[reasons->count++] = text;
        number = reasons->count;
    }
    reasons->times[number - 1]++;
}

static enum ws_status gather(struct report *report, struct ws_error *error)
{
    const struct ws_sweep *sweep = report->sweep;
    size_t room = sweep->task_count + 1;
    report->results = json_array();
    report->reasons.text = (const char **)calloc(room, sizeof(char *));
    report->reasons.times = calloc(room, sizeof *report->reasons.times);
    bool complete = report->results && report->reasons.text && report->reasons.times;
    for (size_t i = 0; i < sweep->task_count && complete; ++i) {
        json_t *result = result_json(sweep, &sweep->tasks[i]);
        const char *status = string_of(result, "status");
        enum ws_result_status outcome = strcmp(status, "pass") == 0   ? WS_RESULT_PASS
                                        : strcmp(status, "skip") == 0 ? WS_RESULT_SKIP
                                                                      : WS_RESULT_FAIL;
        report->count[outcome]++;
        if (outcome == WS_RESULT_SKIP)
            count_reason(&report->reasons, string_of(result, "reason"));
        complete = result && json_array_append_new(report->results, result) == 0;
    }
    return complete ? WS_OK
                    : ws_fail(error, WS_ERROR_MEMORY, "out of memory for %zu results",
                              sweep->task_count);
}

/* "kernel.loops.0.mma" of a result; NULL if it has none. */
static const json_t *look_up(const json_t *value, const char *path)
{
    char key[64];
    while (value && *path) {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        value = json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10))
                                     : json_object_get(value, key);
        path += length + (path[length] == '.');
    }
    return value;
}

#define MAIN_LOOP "kernel.loops.0."

/* Columns of the table: numbers, "-" where there is none. */
static const struct table_column {
    const char *name, *path;
    int width, decimals;
} table_columns[] = {
    {"instr/tile", "kernel.instr_per_tile", 10, 1},
    {"executed", "instr_per_tile", 8, 1},
    {"score", "score", 7, 1},
    {"VGPR", "kernel.vgpr", 4, 0},
    {"spills", "kernel.vgpr_spills", 6, 0},
    {"LDS", "kernel.lds_bytes", 6, 0},
    {"waves", "kernel.waves_per_simd", 5, 0},
    {"error", "norm_err", 8, -1},
};

enum { TABLE_COLUMNS = sizeof table_columns / sizeof table_columns[0] };

static void print_number(FILE *stream, const struct table_column *column, const json_t *value)
{
    /* What nothing was executed for reads 0. */
    if (!json_is_number(value) || (column->decimals != 0 && json_number_value(value) == 0))
        fprintf(stream, "  %*s", column->width, "-");
    else if (column->decimals < 0)
        fprintf(stream, "  %*.1e", column->width, json_number_value(value));
    else
        fprintf(stream, "  %*.*f", column->width, column->decimals, json_number_value(value));
}

/* "combo#3 v_mode=rows @ d64_b4h8s512". */
struct title {
    const char *name, *separator, *shape;
    int width;
};

static struct title title_of(const json_t *result)
{
    const char *shape = string_of(result, "shape");
    struct title title = {string_of(result, "name"), shape[0] ? " @ " : "", shape, 0};
    title.width = (int)(strlen(title.name) + strlen(title.separator) + strlen(shape));
    return title;
}

static int title_width(const json_t *results)
{
    int widest = (int)strlen("point");
    size_t index;
    const json_t *result;
    json_array_foreach((json_t *)results, index, result)
    {
        int title = title_of(result).width;
        widest = title > widest ? title : widest;
    }
    return widest;
}

static void print_row(FILE *stream, const json_t *result, int width, const struct reasons *reasons)
{
    const char *status = string_of(result, "status");
    struct title title = title_of(result);
    fprintf(stream, "%s  %s%s%s%*s", status, title.name, title.separator, title.shape,
            width - title.width, "");
    if (strcmp(status, "skip") == 0) {
        size_t number = reason_number(reasons, string_of(result, "reason"));
        fprintf(stream, "  reason %zu\n", number);
        return;
    }
    for (int i = 0; i < TABLE_COLUMNS; ++i)
        print_number(stream, &table_columns[i], look_up(result, table_columns[i].path));
    fputc('\n', stream);
    if (strcmp(status, "fail") != 0)
        return;
    fprintf(stream, "      %s\n", string_of(result, "reason"));
    if (string_of(result, "reproduce")[0])
        fprintf(stream, "      again: %s\n", string_of(result, "reproduce"));
}

static void print_table(FILE *stream, const struct report *report)
{
    int width = title_width(report->results);
    size_t index;
    const json_t *result;
    fprintf(stream, "      %-*s", width, "point");
    for (int i = 0; i < TABLE_COLUMNS; ++i)
        fprintf(stream, "  %*s", table_columns[i].width, table_columns[i].name);
    fputc('\n', stream);
    json_array_foreach(report->results, index, result)
        print_row(stream, result, width, &report->reasons);
    for (size_t i = 0; i < report->reasons.count; ++i)
        fprintf(stream, "reason %zu, %zu skipped: %s\n", i + 1, report->reasons.times[i],
                report->reasons.text[i]);
    fprintf(stream, "%u passed%s, %u failed, %u skipped\n", report->count[WS_RESULT_PASS],
            report->sweep->verify ? "" : " (compiled, not verified)", report->count[WS_RESULT_FAIL],
            report->count[WS_RESULT_SKIP]);
}

/* Columns of the CSV: these, then the settings and levers, then the figures. */
struct csv_column {
    const char *name, *path;
};

static const struct csv_column csv_left[] = {
    {"status", "status"}, {"reason", "reason"}, {"name", "name"},
    {"shape", "shape"},   {"point", "point"},
};

static const struct csv_column csv_right[] = {
    {"instr_per_tile", "kernel.instr_per_tile"},
    {"executed_per_tile", "instr_per_tile"},
    {"score", "score"},
    {"a_serial", MAIN_LOOP "a_serial"},
    {"mma", MAIN_LOOP "mma"},
    {"vgpr", "kernel.vgpr"},
    {"agpr", "kernel.agpr"},
    {"sgpr", "kernel.sgpr"},
    {"vgpr_spills", "kernel.vgpr_spills"},
    {"sgpr_spills", "kernel.sgpr_spills"},
    {"scratch_bytes", "kernel.scratch_bytes"},
    {"lds_bytes", "kernel.lds_bytes"},
    {"waves_per_simd", "kernel.waves_per_simd"},
    {"code_bytes", "kernel.code_bytes"},
    {"waits_to_zero", MAIN_LOOP "waits_to_zero"},
    {"moves", MAIN_LOOP "moves"},
    {"lds_distance_median", MAIN_LOOP "lds_distance.median"},
    {"lds_distance_p10", MAIN_LOOP "lds_distance.p10"},
    {"global_distance_median", MAIN_LOOP "global_distance.median"},
    {"global_distance_p10", MAIN_LOOP "global_distance.p10"},
    {"max_abs", "max_abs"},
    {"norm_err", "norm_err"},
    {"rms", "rms"},
    {"lse_max_abs", "lse_max_abs"},
    {"workgroups_checked", "workgroups_checked"},
    {"workgroups_total", "workgroups_total"},
    {"device", "device"},
    {"seed", "seed"},
    {"spec_id", "spec_id"},
    {"build_id", "build_id"},
    {"backend", "backend"},
    {"backend_version", "backend_version"},
    {"seconds", "seconds"},
};

enum {
    CSV_LEFT = sizeof csv_left / sizeof csv_left[0],
    CSV_RIGHT = sizeof csv_right / sizeof csv_right[0]
};

static void print_cell(FILE *stream, const json_t *value)
{
    const char *text = json_string_value(value);
    if (json_is_integer(value))
        fprintf(stream, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(stream, "%.9g", json_real_value(value));
    else if (text && text[strcspn(text, "\",\r\n")] == '\0')
        fputs(text, stream);
    else if (text) {
        fputc('"', stream);
        for (; *text; ++text)
            fprintf(stream, *text == '"' ? "\"\"" : "%c", *text);
        fputc('"', stream);
    }
}

static void print_cells(FILE *stream, const json_t *result, const struct csv_column *columns,
                        int count, char first)
{
    for (int i = 0; i < count; ++i) {
        if (i > 0 || first)
            fputc(',', stream);
        if (result)
            print_cell(stream, look_up(result, columns[i].path));
        else
            fputs(columns[i].name, stream);
    }
}

/* A line of the CSV; NULL: the names of the columns. */
static void print_csv_line(FILE *stream, const json_t *result)
{
    print_cells(stream, result, csv_left, CSV_LEFT, '\0');
    for (int i = 0; i < WS_SETTING_COUNT; ++i) {
        const char *name = ws_setting_at(i).name;
        const json_t *home = i < WS_FIELD_COUNT ? result : json_object_get(result, "levers");
        if (!is_shown(i))
            continue;
        fputc(',', stream);
        if (result)
            print_cell(stream, json_object_get(home, name));
        else
            fputs(name, stream);
    }
    print_cells(stream, result, csv_right, CSV_RIGHT, ',');
    fputc('\n', stream);
}

static void print_csv(FILE *stream, const struct report *report)
{
    size_t index;
    const json_t *result;
    print_csv_line(stream, NULL);
    json_array_foreach(report->results, index, result) print_csv_line(stream, result);
}

static void print_json(FILE *stream, const struct report *report)
{
    json_t *reasons = json_array();
    for (size_t i = 0; i < report->reasons.count; ++i)
        json_array_append_new(reasons, json_pack("{s:s, s:i}", "reason", report->reasons.text[i],
                                                 "count", (int)report->reasons.times[i]));
    json_t *all =
        json_pack("{s:O, s:i, s:i, s:i, s:o}", "results", report->results, "passed",
                  (int)report->count[WS_RESULT_PASS], "failed", (int)report->count[WS_RESULT_FAIL],
                  "skipped", (int)report->count[WS_RESULT_SKIP], "skip_reasons", reasons);
    json_dumpf(all, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', stream);
    json_decref(all);
}

enum ws_status ws_sweep_report(const struct ws_sweep *sweep, enum ws_sweep_format format,
                               FILE *stream, int *code, struct ws_error *error)
{
    static void (*const printers[])(FILE *, const struct report *) = {
        [WS_SWEEP_TABLE] = print_table, [WS_SWEEP_CSV] = print_csv, [WS_SWEEP_JSON] = print_json};
    struct report report = {.sweep = sweep};
    enum ws_status status = gather(&report, error);
    if (status == WS_OK)
        printers[format](stream, &report);
    bool checked = report.count[WS_RESULT_PASS] > 0;
    *code = checked && report.count[WS_RESULT_FAIL] == 0 ? WS_EXIT_OK : WS_EXIT_FAILED;
    json_decref(report.results);
    free((void *)report.reasons.text);
    free(report.reasons.times);
    return status;
}
