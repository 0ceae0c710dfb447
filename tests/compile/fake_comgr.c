/* A stand-in for comgr, of interface FAKE_MAJOR.0: it answers with the actions' numbers of that
 * interface only. FAKE_COMGR_LLVM is the LLVM that it pretends to hold, FAKE_COMGR_CODE the file
 * that it "compiles" to, FAKE_COMGR_FAIL makes code generation fail, FAKE_COMGR_HOST is a file that
 * the names of the programs that open it are added to. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SOURCE = 1, LOG = 5, BC = 6, RELOCATABLE = 7, EXECUTABLE = 8, OBJECTS_MAX = 256 };

enum action { PREPROCESS, CODEGEN, LINK, OTHER };

struct comgr_handle {
    uint64_t handle;
};

/* Data, or a set of data (the indices of its members), or an action's settings. */
static struct object {
    int kind;
    size_t size;
    char *bytes;
    uint64_t members[4];
    size_t member_count;
    char isa[64];
} objects[OBJECTS_MAX];
static uint64_t object_count = 1;

__attribute__((constructor)) static void name_host(void)
{
    const char *path = getenv("FAKE_COMGR_HOST");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%s\n", program_invocation_short_name);
    fclose(file);
}

static int create(int kind, struct comgr_handle *handle)
{
    if (object_count == OBJECTS_MAX)
        return 3;
    objects[object_count] = (struct object){.kind = kind};
    handle->handle = object_count++;
    return 0;
}

static int fill(struct object *object, const char *bytes, size_t size)
{
    object->bytes = malloc(size + 1);
    if (!object->bytes)
        return 3;
    memcpy(object->bytes, bytes, size);
    object->size = size;
    return 0;
}

static int answer(struct comgr_handle set, int kind, const char *bytes, size_t size)
{
    struct comgr_handle data;
    struct object *into = &objects[set.handle];
    if (create(kind, &data) || fill(&objects[data.handle], bytes, size))
        return 3;
    into->members[into->member_count++] = data.handle;
    return 0;
}

static const struct object *member(struct comgr_handle set, int kind)
{
    const struct object *in = &objects[set.handle];
    for (size_t i = 0; i < in->member_count; i++) {
        if (objects[in->members[i]].kind == kind)
            return &objects[in->members[i]];
    }
    return NULL;
}

static enum action decode(int number)
{
    if (number == 0)
        return PREPROCESS;
    if (number == (FAKE_MAJOR == 2 ? 6 : 4))
        return CODEGEN;
    return number == (FAKE_MAJOR == 2 ? 9 : 7) ? LINK : OTHER;
}

#define COMGR(name, ...)                                                                           \
    EXPORT int amd_comgr_##name(__VA_ARGS__);                                                      \
    int amd_comgr_##name(__VA_ARGS__)

EXPORT void amd_comgr_get_version(size_t *major, size_t *minor);
void amd_comgr_get_version(size_t *major, size_t *minor)
{
    *major = FAKE_MAJOR;
    *minor = 0;
}

static const char *const isas[] = {"amdgcn-amd-amdhsa--gfx1100", "amdgcn-amd-amdhsa--gfx1151"};

COMGR(get_isa_count, size_t *count)
{
    *count = sizeof isas / sizeof *isas;
    return 0;
}

COMGR(get_isa_name, size_t index, const char **name)
{
    *name = isas[index];
    return 0;
}

COMGR(create_data, int kind, struct comgr_handle *data)
{
    return create(kind, data);
}

COMGR(release_data, struct comgr_handle data)
{
    return data.handle == 0;
}

COMGR(set_data, struct comgr_handle data, size_t size, const char *bytes)
{
    return fill(&objects[data.handle], bytes, size);
}

COMGR(set_data_name, struct comgr_handle data, const char *name)
{
    return data.handle == 0 || !name[0];
}

COMGR(get_data, struct comgr_handle data, size_t *size, char *bytes)
{
    if (bytes)
        memcpy(bytes, objects[data.handle].bytes, *size);
    *size = objects[data.handle].size;
    return 0;
}

COMGR(create_data_set, struct comgr_handle *set)
{
    return create(0, set);
}

COMGR(destroy_data_set, struct comgr_handle set)
{
    struct object *object = &objects[set.handle];
    for (size_t i = 0; i < object->member_count; i++) {
        free(objects[object->members[i]].bytes);
        objects[object->members[i]].bytes = NULL;
    }
    object_count =
        1 + (object_count - 1) * (set.handle > 3); /* all of it is dead: inputs go last */
    return 0;
}

COMGR(data_set_add, struct comgr_handle set, struct comgr_handle data)
{
    struct object *object = &objects[set.handle];
    object->members[object->member_count++] = data.handle;
    return 0;
}

COMGR(action_data_count, struct comgr_handle set, int kind, size_t *count)
{
    *count = member(set, kind) != NULL;
    return 0;
}

COMGR(action_data_get_data, struct comgr_handle set, int kind, size_t index,
      struct comgr_handle *data)
{
    data->handle = (uint64_t)(member(set, kind) - objects);
    return index != 0;
}

COMGR(create_action_info, struct comgr_handle *info)
{
    return create(0, info);
}

COMGR(destroy_action_info, struct comgr_handle info)
{
    return info.handle == 0;
}

COMGR(action_info_set_isa_name, struct comgr_handle info, const char *isa)
{
    snprintf(objects[info.handle].isa, sizeof objects[info.handle].isa, "%s", isa);
    return 0;
}

COMGR(action_info_set_language, struct comgr_handle info, int language)
{
    return info.handle == 0 || language != 1;
}

COMGR(action_info_set_option_list, struct comgr_handle info, const char **options, size_t count)
{
    return info.handle == 0 || (count && !options[count - 1]);
}

COMGR(action_info_set_logging, struct comgr_handle info, bool on)
{
    return info.handle == 0 || !on;
}

static int preprocess(struct comgr_handle output)
{
    char text[128];
    int size = snprintf(text, sizeof text, "# 1 \"version.cl\"\n\nwavesmith %s 0 1\n",
                        getenv("FAKE_COMGR_LLVM"));
    return answer(output, SOURCE, text, (size_t)size);
}

static int codegen(const struct object *input, struct comgr_handle output)
{
    static const char log[] = "error: the stand-in was told to fail";
    if (!input || input->size < 4 || memcmp(input->bytes, "BC\xc0\xde", 4) != 0)
        return 2;
    if (getenv("FAKE_COMGR_FAIL")) {
        answer(output, LOG, log, sizeof log - 1);
        return 1;
    }
    return answer(output, RELOCATABLE, "relocatable", 11);
}

static int link_code(const struct object *input, struct comgr_handle output)
{
    static char bytes[1 << 20];
    const char *path = getenv("FAKE_COMGR_CODE");
    if (!input || input->size != 11 || !path)
        return 2;
    FILE *file = fopen(path, "rb");
    if (!file)
        return 2;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return answer(output, EXECUTABLE, bytes, size);
}

COMGR(do_action, int action, struct comgr_handle info, struct comgr_handle input,
      struct comgr_handle output)
{
    if (strncmp(objects[info.handle].isa, isas[0], 20) != 0)
        return 2;
    switch (decode(action)) {
    case PREPROCESS:
        return preprocess(output);
    case CODEGEN:
        return codegen(member(input, BC), output);
    case LINK:
        return link_code(member(input, RELOCATABLE), output);
    case OTHER:
        break;
    }
    return 2;
}
