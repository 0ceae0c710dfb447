/* Not a test: comgr_read LIBRARY HSACO prints what comgr itself reads in a code object, a name and
 * a value a line: the target, and what the metadata say of the first kernel. Exits with 1 where
 * comgr cannot. tests/comgr_kernels.sh compares it with `wavesmith inspect`. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/comgr_api.h"

/* READ(name, parameters): int amd_comgr_<name>(parameters); the same in interfaces 2 and 3. */
#define READ_FUNCTIONS(READ)                                                                       \
    READ(create_data, (int, struct comgr_handle *))                                                \
    READ(set_data, (struct comgr_handle, size_t, const char *))                                    \
    READ(release_data, (struct comgr_handle))                                                      \
    READ(get_data_isa_name, (struct comgr_handle, size_t *, char *))                               \
    READ(get_data_metadata, (struct comgr_handle, struct comgr_handle *))                          \
    READ(metadata_lookup, (struct comgr_handle, const char *, struct comgr_handle *))              \
    READ(index_list_metadata, (struct comgr_handle, size_t, struct comgr_handle *))                \
    READ(get_metadata_string, (struct comgr_handle, size_t *, char *))                             \
    READ(destroy_metadata, (struct comgr_handle))

static struct {
#define MEMBER(name, parameters) int(*name) parameters;
    READ_FUNCTIONS(MEMBER)
#undef MEMBER
} comgr;

static int fail(const char *what)
{
    fprintf(stderr, "comgr_read: %s\n", what);
    return 1;
}

static int open_comgr(const char *path)
{
    struct {
        const char *name;
        void **function;
    } const table[] = {
#define ROW(name, parameters) {"amd_comgr_" #name, (void **)&comgr.name},
        READ_FUNCTIONS(ROW)
#undef ROW
    };
    void *library = dlopen(path, RTLD_NOW | RTLD_NODELETE);
    if (!library)
        return fail(dlerror());
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        *table[i].function = dlsym(library, table[i].name);
        if (!*table[i].function)
            return fail(table[i].name);
    }
    return 0;
}

static char bytes[1 << 22];

static int read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail(path);
    *size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return *size == sizeof bytes ? fail("a code object of 4 MiB or more") : 0;
}

/* By the ELF header. The comgr of ROCm 5.2 does so up to version 4 of the code object only. */
static void print_isa(struct comgr_handle data)
{
    char name[128];
    size_t size;
    bool read = !comgr.get_data_isa_name(data, &size, NULL) && size <= sizeof name &&
                !comgr.get_data_isa_name(data, &size, name);
    printf("isa %s\n", read ? name : "none");
}

static int print_entry(struct comgr_handle map, const char *key)
{
    struct comgr_handle value;
    char text[256];
    size_t size;
    if (comgr.metadata_lookup(map, key, &value))
        return fail(key);
    int status = comgr.get_metadata_string(value, &size, NULL);
    if (!status)
        status = size > sizeof text || comgr.get_metadata_string(value, &size, text);
    comgr.destroy_metadata(value);
    if (status)
        return fail(key);
    printf("%s %s\n", key, text);
    return 0;
}

static int print_kernel(struct comgr_handle metadata)
{
    static const char *const keys[] = {
        ".name",
        ".vgpr_count",
        ".sgpr_count",
        ".vgpr_spill_count",
        ".sgpr_spill_count",
        ".kernarg_segment_size",
        ".group_segment_fixed_size",
        ".private_segment_fixed_size",
        ".wavefront_size",
    };
    struct comgr_handle kernels;
    struct comgr_handle kernel;
    if (comgr.metadata_lookup(metadata, "amdhsa.kernels", &kernels))
        return fail("the metadata have no kernels");
    int status = comgr.index_list_metadata(kernels, 0, &kernel);
    comgr.destroy_metadata(kernels);
    if (status)
        return fail("the metadata have no kernel");
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !status; i++)
        status = print_entry(kernel, keys[i]);
    comgr.destroy_metadata(kernel);
    return status;
}

int main(int count, char **arguments)
{
    size_t size;
    struct comgr_handle data;
    struct comgr_handle metadata;
    if (count != 3)
        return fail("comgr_read LIBRARY HSACO");
    if (open_comgr(arguments[1]) || read_file(arguments[2], &size))
        return 1;
    if (comgr.create_data(COMGR_DATA_EXECUTABLE, &data) || comgr.set_data(data, size, bytes))
        return fail("no data");
    print_isa(data);
    if (comgr.get_data_metadata(data, &metadata))
        return fail("no metadata");
    int status = print_entry(metadata, "amdhsa.target");
    if (!status)
        status = print_kernel(metadata);
    comgr.destroy_metadata(metadata);
    comgr.release_data(data);
    return status;
}
