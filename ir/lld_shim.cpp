#include "ir/lld_shim.h"

#include <cstdio>
#include <string>

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#ifdef WS_HAVE_LLD
#include "lld/Common/Driver.h"

LLD_HAS_DRIVER(elf)

int ws_lld_main(const char *const *argv, size_t argc, char *message, size_t size)
{
    std::string text;
    llvm::raw_string_ostream stream(text);
    lld::Result result = lld::lldMain({argv, argc}, stream, stream, {{lld::Gnu, &lld::elf::link}});
    std::snprintf(message, size, "%s", text.c_str());
    return result.retCode;
}
#endif

bool ws_llvm_has_options(void)
{
    for (const auto &entry : llvm::cl::getRegisteredOptions()) {
        if (entry.second->getNumOccurrences() > 0)
            return true;
    }
    return false;
}

bool ws_llvm_set_options(const char *const *argv, size_t argc, char *message, size_t size)
{
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::cl::ResetAllOptionOccurrences();
    bool ok = llvm::cl::ParseCommandLineOptions(static_cast<int>(argc), argv, "", &stream);
    std::snprintf(message, size, "%s", text.c_str());
    return ok;
}
