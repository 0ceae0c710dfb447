#include "ir/comgr.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>

#include "ir/clock.h"
#include "ir/comgr_api.h"
#include "ir/compile_module.h"

enum { OPTIONS_MAX = 2 + 2 * WS_BACKEND_OPTIONS_MAX };

/* How the linker inside reports an intrinsic that the compiler took for a function. */
#define UNDEFINED "undefined symbol: "

#define ADVICE "; name a newer one in WS_COMGR_LIBRARY or take backend llvm"
#define ISA_PREFIX WS_TRIPLE "--"

/* -O3 also pairs scalars into vectors, which keeps conversions out of multiplications on CDNA and
 * costs registers (docs/backends.md). */
const char ws_comgr_level[] = "-O1";

struct ws_comgr {
    void *library;
    char *name;          /* as it was opened */
    size_t major, minor; /* of the interface */
    const struct comgr_actions *actions;
#define COMGR(name, parameters) int(*name) parameters;
    COMGR_FUNCTIONS(COMGR)
#undef COMGR
};

static bool resolve(struct ws_comgr *comgr, const char **missing)
{
    struct {
        const char *name;
        void **function;
    } const table[] = {
#define COMGR(name, parameters) {"amd_comgr_" #name, (void **)&comgr->name},
        COMGR_FUNCTIONS(COMGR)
#undef COMGR
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        *missing = table[i].name;
        *table[i].function = dlsym(comgr->library, table[i].name);
        if (!*table[i].function)
            return false;
    }
    *missing = "amd_comgr_get_version";
    void (*get_version)(size_t *, size_t *) = NULL;
    *(void **)&get_version = dlsym(comgr->library, *missing);
    if (!get_version)
        return false;
    get_version(&comgr->major, &comgr->minor);
    return true;
}

static bool open_library(struct ws_comgr *comgr, const char *name)
{
    /* NOLINTNEXTLINE(clang-analyzer-optin.taint.GenericTaint): naming it is the caller's right */
    comgr->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (comgr->library)
        comgr->name = strdup(name);
    return comgr->library != NULL;
}

/* Whether dlopen failed because there is no file of that name, which needs no explaining. */
static bool is_absent(const char *name, const char *reason)
{
    return !strncmp(reason, name, strlen(name)) && strstr(reason, "No such file");
}

static enum ws_status open_newest(struct ws_comgr *comgr, struct ws_error *error)
{
    static const char *const names[] = {"libamd_comgr.so.3", "libamd_comgr.so.2"};
    char tried[WS_ERROR_MESSAGE_SIZE / 2] = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (open_library(comgr, names[i]))
            return WS_OK;
        const char *reason = dlerror();
        size_t used = strlen(tried);
        if (!reason || is_absent(names[i], reason))
            snprintf(tried + used, sizeof tried - used, "%s%s", used ? "; " : "", names[i]);
        else
            snprintf(tried + used, sizeof tried - used, "%s%s, which cannot be loaded: %s",
                     used ? "; " : "", names[i], reason);
    }
    return ws_fail(error, WS_ERROR_ENVIRONMENT,
                   "no comgr (tried %s); install libamd-comgr, or name the file in "
                   "WS_COMGR_LIBRARY",
                   tried);
}

static enum ws_status load(struct ws_comgr *comgr, const char *path, struct ws_error *error)
{
    const char *chosen = path ? path : getenv("WS_COMGR_LIBRARY");
    enum ws_status status = WS_OK;
    if (!chosen || !chosen[0])
        status = open_newest(comgr, error);
    else if (!open_library(comgr, chosen))
        status = ws_fail(error, WS_ERROR_ENVIRONMENT, "cannot load the comgr library %s%s: %s",
                         chosen, path ? "" : " (from WS_COMGR_LIBRARY)", dlerror());
    if (!status && !comgr->name)
        status = ws_fail(error, WS_ERROR_MEMORY, "no memory for comgr");
    return status;
}

enum ws_status ws_comgr_open(struct ws_comgr **comgr, const char *path, struct ws_error *error)
{
    struct ws_comgr *opened = calloc(1, sizeof *opened);
    if (!opened)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for comgr");
    enum ws_status status = load(opened, path, error);
    const char *missing = NULL;
    if (!status && !resolve(opened, &missing))
        status = ws_fail(error, WS_ERROR_ENVIRONMENT, "%s has no function %s: it is no comgr",
                         opened->name, missing);
    if (!status && opened->major != 2 && opened->major != 3)
        status = ws_fail(error, WS_ERROR_ENVIRONMENT,
                         "the comgr library %s has interface version %zu.%zu; 2.x and 3.x are "
                         "known",
                         opened->name, opened->major, opened->minor);
    if (status) {
        ws_comgr_close(opened);
        return status;
    }
    opened->actions = opened->major == 2 ? &comgr_actions_2 : &comgr_actions_3;
    *comgr = opened;
    return WS_OK;
}

void ws_comgr_close(struct ws_comgr *comgr)
{
    if (comgr && comgr->library)
        dlclose(comgr->library);
    if (comgr)
        free(comgr->name);
    free(comgr);
}

/* One action: input data in, the first output of a kind back. */
struct action {
    int action;
    int input_kind, output_kind, language;
    const char *input_name, *cpu;
    const char *input;
    size_t input_size;
    const char **options;
    size_t option_count;
    char *output; /* malloc'ed, NUL-terminated */
    size_t output_size;
    char log[WS_ERROR_MESSAGE_SIZE / 2];
};

/* Copies the first data object of a kind out of a set. */
static char *take(struct ws_comgr *comgr, struct comgr_handle set, int kind, size_t *size)
{
    struct comgr_handle data;
    size_t count = 0;
    char *bytes = NULL;
    *size = 0;
    if (comgr->action_data_count(set, kind, &count) || !count ||
        comgr->action_data_get_data(set, kind, 0, &data))
        return NULL;
    if (!comgr->get_data(data, size, NULL))
        bytes = calloc(1, *size + 1);
    if (bytes && comgr->get_data(data, size, bytes)) {
        free(bytes);
        bytes = NULL;
    }
    comgr->release_data(data);
    return bytes;
}

static bool fill_input(struct ws_comgr *comgr, struct comgr_handle set, const struct action *action)
{
    struct comgr_handle data;
    if (comgr->create_data(action->input_kind, &data))
        return false;
    bool ok = !comgr->set_data(data, action->input_size, action->input) &&
              !comgr->set_data_name(data, action->input_name) && !comgr->data_set_add(set, data);
    comgr->release_data(data); /* the set keeps its own reference */
    return ok;
}

static bool fill_info(struct ws_comgr *comgr, struct comgr_handle info, const struct action *action)
{
    char isa[64];
    snprintf(isa, sizeof isa, ISA_PREFIX "%s", action->cpu);
    return !comgr->action_info_set_isa_name(info, isa) &&
           !comgr->action_info_set_logging(info, true) &&
           (!action->language || !comgr->action_info_set_language(info, action->language)) &&
           !comgr->action_info_set_option_list(info, action->options, action->option_count);
}

static bool run_in(struct ws_comgr *comgr, struct action *action, struct comgr_handle info,
                   struct comgr_handle input, struct comgr_handle output)
{
    static pthread_mutex_t lock =
        PTHREAD_MUTEX_INITIALIZER; /* the LLVM options inside are global */
    if (!fill_input(comgr, input, action) || !fill_info(comgr, info, action))
        return false;
    pthread_mutex_lock(&lock);
    int status = comgr->do_action(action->action, info, input, output);
    pthread_mutex_unlock(&lock);

    size_t log_size;
    char *log = take(comgr, output, COMGR_DATA_LOG, &log_size);
    snprintf(action->log, sizeof action->log, "%s", log ? log : "it left no log");
    free(log);
    action->output = take(comgr, output, action->output_kind, &action->output_size);
    return status == COMGR_SUCCESS && action->output;
}

/* comgr passes data through files in the folder for temporary files, and its LLVM ends the process
 * where one cannot be written. */
static enum ws_status check_room(size_t input_size, struct ws_error *error)
{
    static const char *const names[] = {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}; /* LLVM's order */
    const off_t output_room = 1 << 20;
    const char *folder = NULL;
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof names[0] && folder == NULL; i++)
        folder = getenv(names[i]);
    folder = folder ? folder : "/tmp";
    snprintf(path, sizeof path, "%s/wavesmith-XXXXXX", folder);
    int file = mkostemp(path, O_CLOEXEC);
    int code = file < 0 ? errno : posix_fallocate(file, 0, (off_t)input_size + output_room);
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    if (code == 0)
        return WS_OK;
    return ws_fail(error, WS_ERROR_ENVIRONMENT,
                   "comgr needs room for temporary files in %s: %s; free some, or name another "
                   "folder in TMPDIR",
                   folder, strerror(code));
}

static enum ws_status perform(struct ws_comgr *comgr, struct action *action, const char *what,
                              struct ws_error *error)
{
    enum ws_status status = check_room(action->input_size, error);
    if (status != WS_OK)
        return status;
    struct comgr_handle info;
    struct comgr_handle input;
    struct comgr_handle output;
    if (comgr->create_action_info(&info))
        return ws_fail(error, WS_ERROR_MEMORY, "comgr gave no action");
    bool ok = !comgr->create_data_set(&input);
    if (ok) {
        ok = !comgr->create_data_set(&output);
        if (ok) {
            ok = run_in(comgr, action, info, input, output);
            comgr->destroy_data_set(output);
        }
        comgr->destroy_data_set(input);
    }
    comgr->destroy_action_info(info);
    if (ok)
        return WS_OK;
    free(action->output);
    action->output = NULL;
    return ws_fail(error, WS_ERROR_COMPILE, "comgr %zu.%zu could not %s: %s", comgr->major,
                   comgr->minor, what, action->log[0] ? action->log : "it was given bad data");
}

enum ws_status ws_comgr_describe(struct ws_comgr *comgr, struct ws_backend_info *info,
                                 struct ws_error *error)
{
    /* One line of the output is ours; the preprocessor adds others. */
#define MARK "\nwavesmith"
    static const char source[] = MARK " __clang_major__ __clang_minor__ __clang_patchlevel__\n";
    const char *isa = NULL;
    size_t prefix = strlen(ISA_PREFIX);
    if (comgr->get_isa_name(0, &isa) || strlen(isa) <= prefix)
        return ws_fail(error, WS_ERROR_ENVIRONMENT, "comgr names no target");
    struct action action = {
        .action = comgr->actions->preprocess,
        .input_kind = COMGR_DATA_SOURCE,
        .output_kind = COMGR_DATA_SOURCE,
        .language = COMGR_LANGUAGE_OPENCL_1_2,
        .input_name = "version.cl",
        .cpu = isa + prefix,
        .input = source,
        .input_size = sizeof source - 1,
    };
    enum ws_status status = perform(comgr, &action, "preprocess", error);
    if (status)
        return status;
    int version[3] = {0, 0, 0};
    char *line = strstr(action.output, MARK);
    char *end = line ? line + strlen(MARK) : NULL;
    for (int i = 0; end && i < 3; i++)
        version[i] = (int)strtol(end, &end, 10);
    free(action.output);
    if (version[0] <= 0)
        return ws_fail(error, WS_ERROR_ENVIRONMENT, "comgr does not say which LLVM it holds");
    snprintf(info->version, sizeof info->version, "%zu.%zu (LLVM %d.%d.%d)", comgr->major,
             comgr->minor, version[0], version[1], version[2]);
    info->llvm_major = version[0];
    ws_library_identity((uintptr_t)comgr->do_action, info);
    return WS_OK;
}

static bool knows(struct ws_comgr *comgr, const char *cpu)
{
    size_t count = 0;
    size_t prefix = strlen(ISA_PREFIX);
    comgr->get_isa_count(&count);
    for (size_t i = 0; i < count; i++) {
        const char *isa = NULL;
        if (!comgr->get_isa_name(i, &isa) && !strncmp(isa, ISA_PREFIX, prefix) &&
            !strcmp(isa + prefix, cpu))
            return true;
    }
    return false;
}

enum ws_status ws_comgr_supports(struct ws_comgr *comgr, const char *cpu, struct ws_error *error)
{
    if (knows(comgr, cpu))
        return WS_OK;
    struct ws_backend_info info = {0};
    enum ws_status status = ws_comgr_describe(comgr, &info, error);
    if (status)
        return status;
    return ws_fail(error, WS_ERROR_ENVIRONMENT, "comgr %s, %s, does not know %s" ADVICE,
                   info.version, info.library, cpu);
}

/* "-mllvm X" of each option. Points into `lines`, which it cuts up. */
static size_t add_backend_options(const char *options[OPTIONS_MAX], size_t count, char *lines)
{
    char *rest = lines;
    for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        options[count++] = "-mllvm";
        options[count++] = line;
    }
    return count;
}

static enum ws_status generate(struct ws_comgr *comgr, const struct ws_job *job,
                               LLVMMemoryBufferRef bitcode, struct action *codegen,
                               struct ws_error *error)
{
    const char *options[OPTIONS_MAX] = {ws_comgr_level, "-mcode-object-version=5"};
    char *lines = strdup(job->options ? job->options : "");
    if (!lines)
        return ws_fail(error, WS_ERROR_MEMORY, "no memory for the backend options");
    *codegen = (struct action){
        .action = comgr->actions->codegen,
        .input_kind = COMGR_DATA_BC,
        .output_kind = COMGR_DATA_RELOCATABLE,
        .input_name = "kernel.bc",
        .cpu = job->cpu,
        .input = LLVMGetBufferStart(bitcode),
        .input_size = LLVMGetBufferSize(bitcode),
        .options = options,
        .option_count = add_backend_options(options, 2, lines),
    };
    enum ws_status status = perform(comgr, codegen, "compile", error);
    codegen->options = NULL;
    free(lines);
    return status;
}

static enum ws_status compile(struct ws_comgr *comgr, const struct ws_job *job,
                              LLVMMemoryBufferRef bitcode, struct ws_code *code,
                              struct ws_error *error)
{
    struct action codegen;
    double start = ws_thread_cpu_ms();
    enum ws_status status = generate(comgr, job, bitcode, &codegen, error);
    code->stages.codegen_ms = ws_thread_cpu_ms() - start;
    if (status)
        return status;
    struct action link = {
        .action = comgr->actions->link,
        .input_kind = COMGR_DATA_RELOCATABLE,
        .output_kind = COMGR_DATA_EXECUTABLE,
        .input_name = "kernel.o",
        .cpu = job->cpu,
        .input = codegen.output,
        .input_size = codegen.output_size,
    };
    start = ws_thread_cpu_ms();
    status = perform(comgr, &link, "link", error);
    code->stages.link_ms = ws_thread_cpu_ms() - start;
    free(codegen.output);
    const char *unknown = strstr(link.log, UNDEFINED "llvm.");
    if (status && unknown)
        return ws_fail(error, WS_ERROR_ENVIRONMENT,
                       "comgr %s does not know the intrinsic %.*s" ADVICE, code->backend_version,
                       (int)strcspn(unknown + strlen(UNDEFINED), "\n"),
                       unknown + strlen(UNDEFINED));
    if (status)
        return status;
    code->bytes = (uint8_t *)link.output;
    code->size = link.output_size;
    return WS_OK;
}

enum ws_status ws_comgr_compile(struct ws_comgr *comgr, int llvm_major, const struct ws_job *job,
                                struct ws_code *code, struct ws_error *error)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = NULL;
    enum ws_status status = ws_module_read(context, job->ir, &module, error);
    if (!status) {
        ws_module_set_abi(module);
        ws_module_make_portable(module, llvm_major);
        LLVMMemoryBufferRef bitcode = LLVMWriteBitcodeToMemoryBuffer(module);
        status = compile(comgr, job, bitcode, code, error);
        LLVMDisposeMemoryBuffer(bitcode);
        LLVMDisposeModule(module);
    }
    LLVMContextDispose(context);
    return status;
}
