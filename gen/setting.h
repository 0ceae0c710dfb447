/* Settings: the fields (fields.def) and levers (levers.def) of a spec seen as one table, which the
 * config reader, ws_spec_set, the identity and the documentation walk. */
#ifndef WS_GEN_SETTING_H
#define WS_GEN_SETTING_H

#include "gen/spec.h"

enum ws_section { WS_SECTION_TOP, WS_SECTION_FEATURES, WS_SECTION_LEVERS, WS_SECTION_ANY };

enum ws_setting_type {
    WS_SETTING_CHOICE,
    WS_SETTING_INTEGER,
    WS_SETTING_FLAG,
    WS_SETTING_TARGET,
    WS_SETTING_DIM,
    WS_SETTING_WINDOW,
    WS_SETTING_OPTIONS
};

enum ws_field {
#define CHOICE(name, kinds, values, help) WS_FIELD_##name,
#define FIELD(name, kinds, section, type, values, planned, help) WS_FIELD_##name,
#include "gen/fields.def"
#undef CHOICE
#undef FIELD
    WS_FIELD_COUNT
};

enum { WS_SETTING_COUNT = WS_FIELD_COUNT + WS_LEVER_COUNT };

struct ws_setting {
    const char *name;
    enum ws_section section;
    enum ws_setting_type type;
    unsigned kinds;      /* as in struct ws_lever_info */
    const char *values;  /* separated by spaces; "" where the type says it */
    const char *planned; /* values that later versions will take */
    const char *help;
};

/* The row at an index: fields first, then lever L at WS_FIELD_COUNT + L. */
struct ws_setting ws_setting_at(int index);

/* Whether specs of a kernel kind have the setting. */
bool ws_setting_is_of(int index, enum ws_kernel_kind kind);

/* "" for the top, "features", "levers". */
const char *ws_section_name(enum ws_section section);

/* The index of a name in a section (or in any), or -1. */
int ws_setting_find(enum ws_section section, const char *name);

/* Fails with WS_ERROR_SPEC: no such name in that section, and the nearest, or all that there are.
 * `more` lists further names of the section, separated by spaces. */
enum ws_status ws_setting_unknown(enum ws_section section, const char *more, const char *name,
                                  struct ws_error *error);

/* The index of a name as ws_spec_set takes it ("v_mode", "levers.v_mode", "features.lse"). */
enum ws_status ws_setting_named(int *index, const char *name, struct ws_error *error);

/* ws_spec_set by index. */
enum ws_status ws_setting_apply(struct ws_spec *spec, int index, const char *value,
                                struct ws_error *error);

/* The value that the spec has, as ws_spec_set would take it; options separated by spaces. */
enum { WS_SETTING_TEXT_SIZE = WS_OPTIONS_MAX * WS_OPTION_SIZE };
void ws_setting_text(const struct ws_spec *spec, int index, char text[WS_SETTING_TEXT_SIZE]);

/* ws_spec_check without the kernel's own check; head dims may still be open. */
enum ws_status ws_spec_check_values(const struct ws_spec *spec, struct ws_error *error);

#endif
