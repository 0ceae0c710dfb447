/* The code object reader on whole, truncated, foreign and randomly damaged objects. */
#include <elf.h>

#include "tests/random.h"
#include "tests/runtime/support.h"

static struct bytes gfx1151;

static enum ws_status read_bytes(struct ws_object *object, struct bytes bytes,
                                 struct ws_error *error)
{
    *error = (struct ws_error){0};
    enum ws_status status = ws_object_read(object, bytes.at, bytes.size, error);
    assert_int_equal(status, error->code);
    if (status != WS_OK) {
        assert_string_not_equal(error->message, "");
        assert_null(object->kernels);
    }
    return status;
}

static void assert_refused(struct bytes bytes, const char *part)
{
    struct ws_object object;
    struct ws_error error;
    assert_int_equal(read_bytes(&object, bytes, &error), WS_ERROR_OBJECT);
    assert_says(&error, part);
}

/* Replaces every `from` by `to`, which is as long. */
static size_t replace(struct bytes bytes, const char *from, const char *to)
{
    size_t length = strlen(from);
    size_t count = 0;
    for (size_t i = 0; i + length <= bytes.size; i++) {
        if (memcmp(bytes.at + i, from, length) == 0) {
            memcpy(bytes.at + i, to, length);
            count++;
        }
    }
    return count;
}

static void check_scale(const struct ws_object *object)
{
    static const struct ws_object_arg args[] = {{.offset = 0, .size = 8, .is_pointer = true},
                                                {.offset = 8, .size = 8, .is_pointer = true},
                                                {.offset = 16, .size = 4},
                                                {.offset = 20, .size = 4}};
    const struct ws_object_kernel *kernel = ws_object_find(object, "scale");
    assert_non_null(kernel);
    assert_int_equal(kernel->arg_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(kernel->args[i].offset, args[i].offset);
        assert_int_equal(kernel->args[i].size, args[i].size);
        assert_int_equal(kernel->args[i].is_pointer, args[i].is_pointer);
        assert_false(kernel->args[i].is_hidden);
    }
    assert_int_equal(kernel->kernarg_bytes, 24);
    assert_int_equal(kernel->kernarg_align, 8);
    assert_int_equal(kernel->max_workgroup_size, 64);
    assert_int_equal(kernel->lds_bytes, 0);
    assert_int_equal(kernel->scratch_bytes, 0);
    assert_int_not_equal(kernel->vgpr_count, 0);
    assert_int_not_equal(kernel->sgpr_count, 0);
}

static void reads_each_version(void **state)
{
    static const struct {
        const char *file, *arch, *target;
        uint32_t abi_version, wave_size;
    } cases[] = {
        {"kernels_gfx1151_v4.hsaco", "gfx1151", "amdgcn-amd-amdhsa--gfx1151", 2, 32},
        {"kernels_gfx1151.hsaco", "gfx1151", "amdgcn-amd-amdhsa--gfx1151", 3, 32},
        {"kernels_gfx1151_v6.hsaco", "gfx1151", "amdgcn-amd-amdhsa--gfx1151", 4, 32},
        {"kernels_gfx942.hsaco", "gfx942", "amdgcn-amd-amdhsa--gfx942:xnack+", 3, 64},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512];
        struct ws_object object;
        struct ws_error error;
        snprintf(path, sizeof path, "%s%s", TEST_FOLDER, cases[i].file);
        struct bytes bytes = read_whole(path);
        assert_ok(read_bytes(&object, bytes, &error), &error);
        assert_string_equal(object.arch, cases[i].arch);
        assert_string_equal(object.target, cases[i].target);
        assert_int_equal(object.abi_version, cases[i].abi_version);
        assert_int_equal(object.kernel_count, 9);
        check_scale(&object);
        assert_int_equal(ws_object_find(&object, "scale")->wave_size, cases[i].wave_size);
        assert_int_equal(ws_object_find(&object, "reverse")->lds_bytes, 512);
        assert_int_equal(ws_object_find(&object, "no_arguments")->arg_count, 0);
        assert_null(ws_object_find(&object, "scal"));
        assert_null(ws_object_find(&object, "scale.kd"));
        ws_object_free(&object);
        free(bytes.at);
    }
}

static void reads_what_opencl_adds(void **state)
{
    static const uint32_t block[3] = {8, 4, 2};
    (void)state;
    struct ws_object object;
    struct ws_error error;
    struct bytes bytes = read_whole(TEST_FOLDER "opencl.hsaco");
    assert_ok(read_bytes(&object, bytes, &error), &error);
    const struct ws_object_kernel *kernel = ws_object_find(&object, "blocks");
    assert_non_null(kernel);
    assert_memory_equal(kernel->required_block, block, sizeof block);
    assert_true(kernel->arg_count > 1);
    assert_string_equal(kernel->args[0].name, "counts");
    for (size_t i = 0; i < kernel->arg_count; i++)
        assert_int_equal(kernel->args[i].is_hidden, i > 0);
    ws_object_free(&object);
    assert_int_not_equal(replace(bytes, "_size\x93\x08\x04\x02", "_size\x93\x08\x04\xc0"), 0);
    assert_refused(bytes, "no three numbers as .reqd_workgroup_size");
    free(bytes.at);
}

/* The code is where the object says: s_endpgm (0xbfb00000 on gfx11) ends the empty kernel. */
static void locates_the_code(void **state)
{
    (void)state;
    struct ws_object object;
    struct ws_error error;
    uint32_t word = 0;
    assert_ok(read_bytes(&object, gfx1151, &error), &error);
    const struct ws_object_kernel *kernel = ws_object_find(&object, "no_arguments");
    assert_int_equal(kernel->code_bytes, 4);
    memcpy(&word, gfx1151.at + kernel->code_offset, sizeof word);
    assert_int_equal(word, 0xbfb00000);
    assert_int_equal(kernel->code_address % 256, 0);
    assert_int_equal(kernel->descriptor_address % 64, 0);
    ws_object_free(&object);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < gfx1151.size; size++) {
        struct ws_object object;
        struct ws_error error;
        /* An allocation of exactly this size, so that a sanitizer sees reads beyond it. */
        uint8_t *copy = malloc(size > 0 ? size : 1);
        assert_non_null(copy);
        memcpy(copy, gfx1151.at, size);
        if (read_bytes(&object, (struct bytes){copy, size}, &error) == WS_OK)
            fail_msg("accepts the first %zu of %zu bytes", size, gfx1151.size);
        assert_int_equal(error.code, WS_ERROR_OBJECT);
        free(copy);
    }
}

/* What a caller may rely on, however the file is damaged. */
static void check_bounds(const struct ws_object *object, size_t size)
{
    assert_non_null(memchr(object->target, '\0', sizeof object->target));
    for (size_t i = 0; i < object->kernel_count; i++) {
        const struct ws_object_kernel *kernel = &object->kernels[i];
        assert_non_null(memchr(kernel->name, '\0', sizeof kernel->name));
        assert_true(kernel->code_offset <= size);
        assert_true(kernel->code_bytes <= size - kernel->code_offset);
        for (size_t j = 0; j < kernel->arg_count; j++) {
            const struct ws_object_arg *arg = &kernel->args[j];
            assert_non_null(memchr(arg->name, '\0', sizeof arg->name));
            assert_true((uint64_t)arg->offset + arg->size <= kernel->kernarg_bytes);
        }
    }
}

/* Bytes that announce long strings, arrays and maps, and extremes of numbers. */
static const uint8_t nasty[] = {0x00, 0x7f, 0x80, 0x8f, 0x9f, 0xbf, 0xc1, 0xc6, 0xc9,
                                0xcf, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xfe, 0xff};

/* Changes 1 to 8 bytes that lie close together, in the headers, in the notes or anywhere. */
static void damage(uint8_t *bytes, size_t size, uint64_t *random)
{
    size_t range = next_random(random) % 3 == 0 ? size : size / 4;
    size_t start = next_random(random) % range;
    size_t count = 1 + next_random(random) % 8;
    for (size_t i = 0; i < count; i++) {
        size_t at = start + next_random(random) % 16;
        uint64_t draw = next_random(random);
        if (at < size)
            bytes[at] = draw % 2 == 0 ? (uint8_t)(draw >> 8) : nasty[(draw >> 8) % sizeof nasty];
    }
}

static void random_damage_is_survived(void **state)
{
    enum { ROUNDS = 20000 };
    uint64_t random = test_seed();
    size_t refused = 0;
    (void)state;
    uint8_t *copy = malloc(gfx1151.size);
    assert_non_null(copy);
    for (int i = 0; i < ROUNDS; i++) {
        struct ws_object object;
        struct ws_error error;
        memcpy(copy, gfx1151.at, gfx1151.size);
        damage(copy, gfx1151.size, &random);
        if (read_bytes(&object, (struct bytes){copy, gfx1151.size}, &error) != WS_OK)
            refused++;
        else
            check_bounds(&object, gfx1151.size);
        ws_object_free(&object);
    }
    free(copy);
    print_message("%zu of %d damaged objects refused\n", refused, ROUNDS);
    /* The damage must reach what is read, or the loop has shown nothing. */
    assert_true(refused > ROUNDS / 4);
}

static void foreign_files_are_refused(void **state)
{
    static uint8_t text[] = "version: 1\n";
    static uint8_t bundle[] = "__CLANG_OFFLOAD_BUNDLE__....";
    (void)state;
    struct bytes self = read_whole("/proc/self/exe");
    assert_refused(self, "a foreign ELF file");
    free(self.at);
    assert_refused((struct bytes){text, sizeof text}, "not an ELF file");
    assert_refused((struct bytes){bundle, sizeof bundle}, "clang-offload-bundler");
    assert_refused((struct bytes){gfx1151.at, 0}, "not an ELF file");
}

/* Each a single changed field of a good object. */
static void changed_headers_are_refused(void **state)
{
    static const struct {
        size_t offset;
        uint8_t value;
        const char *says;
    } cases[] = {
        {EI_ABIVERSION, 1, "ABI version 1"},
        {EI_ABIVERSION, 5, "ABI version 5"},
        {EI_OSABI, ELFOSABI_NONE, "OS ABI 0"},
        {EI_CLASS, ELFCLASS32, "a foreign ELF file"},
        {EI_DATA, ELFDATA2MSB, "a foreign ELF file"},
        {offsetof(Elf64_Ehdr, e_machine), EM_386, "a foreign ELF file"},
        {offsetof(Elf64_Ehdr, e_type), ET_REL, "relocatable"},
        {offsetof(Elf64_Ehdr, e_type), ET_EXEC, "ELF type 2"},
        {offsetof(Elf64_Ehdr, e_flags), 0x41, "its notes name target"},
        {offsetof(Elf64_Ehdr, e_flags), 0xfe, "machine 0xfe"},
        {offsetof(Elf64_Ehdr, e_phnum), 0, "no program headers"},
        {offsetof(Elf64_Ehdr, e_shnum), 0, "no section headers"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t good = gfx1151.at[cases[i].offset];
        gfx1151.at[cases[i].offset] = cases[i].value;
        assert_refused(gfx1151, cases[i].says);
        gfx1151.at[cases[i].offset] = good;
    }
}

/* The descriptor's entry and the function's symbol must agree. */
static void a_moved_entry_is_refused(void **state)
{
    (void)state;
    struct ws_object object;
    struct ws_error error;
    assert_ok(read_bytes(&object, gfx1151, &error), &error);
    const struct ws_object_kernel *kernel = ws_object_find(&object, "no_arguments");
    /* The first segment is loaded at its place in the file, descriptors included. */
    uint8_t *entry = gfx1151.at + kernel->descriptor_address + 16;
    uint64_t offset = 0;
    memcpy(&offset, entry, sizeof offset);
    assert_int_equal(offset, kernel->code_address - kernel->descriptor_address);
    ws_object_free(&object);
    entry[1] ^= 1;
    assert_refused(gfx1151, "the descriptor of kernel no_arguments points to");
    entry[1] ^= 1;
}

static void changed_notes_are_refused(void **state)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {".vgpr_count", ".vgpr_cOunt", ".vgpr_count"},
        {".value_kind", ".value_kinD", ".value_kind"},
        {"amdhsa.kernels", "amdhsa.kernelS", "amdhsa.kernels"},
        {"amdhsa.target", "amdhsa.tarGet", "amdhsa.target"},
        {"amdhsa--gfx1151", "amdhsa--gfx1150", "its e_flags gfx1151"},
        {"reverse.kd", "reverse_kd", "reverse"},
        {"AMDGPU", "AMDGPX", "no AMDGPU metadata"},
        {".size\x08", ".size\x04", "argument 0 of kernel scale has 4 bytes at offset 0"},
        {".offset\x08", ".offset\x04", "has 8 bytes at offset 4, the one before ends at 8"},
        {".size\x04", ".size\x7f", "has 127 bytes at offset"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes copy = {malloc(gfx1151.size), gfx1151.size};
        assert_non_null(copy.at);
        memcpy(copy.at, gfx1151.at, copy.size);
        assert_int_not_equal(replace(copy, cases[i].from, cases[i].to), 0);
        assert_refused(copy, cases[i].says);
        free(copy.at);
    }
}

static int set_up(void **state)
{
    (void)state;
    gfx1151 = read_whole(TEST_FOLDER "kernels_gfx1151.hsaco");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(gfx1151.at);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_version),
        cmocka_unit_test(reads_what_opencl_adds),
        cmocka_unit_test(locates_the_code),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(random_damage_is_survived),
        cmocka_unit_test(foreign_files_are_refused),
        cmocka_unit_test(changed_headers_are_refused),
        cmocka_unit_test(a_moved_entry_is_refused),
        cmocka_unit_test(changed_notes_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
