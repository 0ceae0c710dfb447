#!/bin/sh
# comgr_newer.sh [BUILD [RELEASE [TARGET...]]]: tests/comgr_kernels.sh with the comgr of newer Debian
# releases: trixie (Debian 13, LLVM 17) and forky (LLVM 21 or newer); both without RELEASE.
#
# A release comes from debootstrap and the machine's own mirror, and is kept for the next run in
# $WS_CACHE (default ~/.cache/wavesmith). Its comgr needs its C library, so the programs of BUILD run
# under the release's program loader; nothing is executed as another root.
#
# Exit codes: 0 verified; 1 a failure; 2 bad usage, or BUILD is not built; 77 a release was skipped,
# with the reason printed.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "comgr_newer.sh: $*" >&2
    exit 1
}

build=$(cd "$build" 2>/dev/null && pwd) && [ -x "$build/bin/wavesmith-worker" ] &&
    [ -x "$build/bin/wavesmith" ] && [ -x "$build/bin/comgr_read" ] || {
    echo "comgr_newer.sh: ${1:-build} holds no bin/wavesmith and bin/comgr_read; build them first" >&2
    exit 2
}

if [ $# -lt 2 ]; then
    worst=0
    for release in trixie forky; do
        code=0
        tests/comgr_newer.sh "$build" $release || code=$?
        case $code in
        0) ;;
        77) worst=77 ;;
        *) exit $code ;;
        esac
    done
    exit $worst
fi

release=$2
shift 2
case $release in
trixie) major=2 llvm='LLVM 17' known='gfx90a gfx942 gfx1151' ;;
forky) major=3 llvm='LLVM 2[1-9]' known='gfx90a gfx942 gfx950 gfx1151 gfx1201' ;;
*)
    echo "comgr_newer.sh: no release $release; trixie and forky are known" >&2
    exit 2
    ;;
esac
root=${WS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/wavesmith}/$release
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# The archive that this release itself comes from, as apt's sources name it.
find_mirror() {
    . /etc/os-release
    apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        sed -n "s/^${VERSION_CODENAME:-none} //p" | head -n 1
}

make_root() {
    [ "$(id -u)" -eq 0 ] || skip "debootstrap needs root"
    command -v debootstrap >/dev/null || skip "debootstrap is not installed (tools/setup.sh --full)"
    command -v apt-get >/dev/null || skip "no apt, so no mirror is known"
    mirror=$(find_mirror)
    [ -n "$mirror" ] || skip "apt's sources name no Debian archive"
    proxy=
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    [ -z "$proxy" ] || export http_proxy="$proxy"
    case $mirror in
    http*) wget -q --spider -T 20 "${mirror%/}/dists/$release/Release" ||
        skip "no network, or no $release, at $mirror" ;;
    esac

    echo "$release from $mirror to $root"
    mkdir -p "$(dirname "$root")"
    rm -rf "$root.new"
    # sid's script serves releases newer than this debootstrap.
    if ! debootstrap --variant=minbase --include="libamd-comgr$major" "$release" "$root.new" \
        "$mirror" sid >"$scratch/debootstrap.log" 2>&1; then
        tail -n 20 "$scratch/debootstrap.log" >&2
        rm -rf "$root.new"
        skip "debootstrap of $release failed, as printed above"
    fi
    rm -rf "$root.new/var/cache/apt/archives" "$root"
    mv "$root.new" "$root"
}

# A program of BUILD whose C library is the release's and whose other libraries are as built.
make_program() {
    libraries=$(dirname "$comgr")
    for folder in $(ldd "$build/bin/$1" | sed -n 's|.*=> \(/.*\)/[^/]* (.*|\1|p' | sort -u); do
        libraries=$libraries:$folder
    done
    cat >"$scratch/$1" <<SCRIPT
#!/bin/sh
exec "$root/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" "$build/bin/$1" "\$@"
SCRIPT
    chmod +x "$scratch/$1"
}

[ "$(uname -m)" = x86_64 ] || skip "comgr of $release is tried on x86-64 only"
comgr=$root/usr/lib/x86_64-linux-gnu/libamd_comgr.so.$major
[ -e "$comgr" ] || make_root
[ -e "$comgr" ] || fail "debootstrap left no $comgr"
make_program wavesmith-worker
make_program comgr_read
export WS_COMGR_LIBRARY="$comgr" WS_WORKER="$scratch/wavesmith-worker"
export WS_READER="$scratch/comgr_read"

"$build/bin/wavesmith" compile configs/presets/gemm_naive.yaml --arch gfx90a --backend comgr --json \
    -o "$scratch/kernel.hsaco" | grep -q "\"backend_version\": .*$llvm" ||
    fail "$comgr is not the comgr of $release with $llvm"
tests/comgr_kernels.sh "$build" "$known" "$@"
