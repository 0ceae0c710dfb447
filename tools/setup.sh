#!/bin/sh
# setup.sh [--full]: installs with apt what building and testing wavesmith needs and is missing
# (Debian 12); --full adds what only tools/test.sh --full needs. Elsewhere it prints what to install.
# Running it again is harmless. Exit codes: 0 ready, 2 bad usage, 3 not ready.
set -u

packages='gcc g++ cmake ninja-build pkg-config git python3
llvm-22-dev liblld-22-dev lld-22 clang-22 clang-format-22 clang-tidy-22 libclang-rt-22-dev
libfyaml-dev libjansson-dev libcmocka-dev
libelf-dev nettle-dev libsqlite3-dev libzstd-dev zlib1g-dev libamd-comgr2 libamdhip64-dev'
case ${1:-} in
'') ;;
--full) packages="$packages debootstrap wget slurm-wlm munge" ;;
*)
    echo 'usage: tools/setup.sh [--full]' >&2
    exit 2
    ;;
esac

missing=
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
        missing="$missing $package"
done
[ -z "$missing" ] && exit 0

release=unknown
[ -r /etc/os-release ] && release=$(. /etc/os-release && echo "${ID:-unknown} ${VERSION_ID:-}")
if [ "$release" != 'debian 12' ]; then
    echo "setup.sh: this is $release; install what corresponds to these Debian packages:" >&2
    echo "$missing" >&2
    echo "(LLVM and lld must be 22.1, found by CMake as LLVM and LLD.)" >&2
    exit 3
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup.sh: run as root, or install sudo; missing:$missing" >&2
        exit 3
    fi
    as_root=sudo
fi

echo "setup.sh: installing$missing" >&2
for attempt in 1 2 3 4; do
    if $as_root apt-get -q update >&2 &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y \
            --no-install-recommends $missing >&2; then
        exit 0
    fi
    echo "setup.sh: apt-get failed (attempt $attempt of 4)" >&2
    sleep $((attempt * 5))
done
echo "setup.sh: could not install:$missing" >&2
exit 3
