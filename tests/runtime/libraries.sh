#!/bin/sh
# libraries.sh LIBRARY: the runtime needs the libraries that README names and nothing else; of LLVM
# nothing at all. (The sanitizers of a sanitized build are let through.)
set -u
needed=$(ldd "$1") || exit 1
others=$(echo "$needed" | awk '{print $1}' | grep -vE '^(linux-vdso|/lib.*/ld-linux[^/]*|lib(c|m|dl|pthread|rt|gcc_s|z)|libsqlite3|libzstd|libnettle|libmsgpack[a-z-]*|libelf|lib[atu]b?san)\.so' |
    grep -v '^/lib.*/ld-linux')
if [ -n "$others" ]; then
    echo "FAILED: $1 needs $others" >&2
    exit 1
fi
for library in libsqlite3 libzstd libnettle libc; do
    echo "$needed" | grep -q "$library\.so" || {
        echo "FAILED: $1 does not need $library; is this check alive?" >&2
        exit 1
    }
done
