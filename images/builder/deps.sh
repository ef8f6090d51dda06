#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the build, the demo, the tests and the benchmark need, installed once.
# usage: deps.sh [build|probe|cross|dist|demo|check|fresh|bench|images|compose|engine|
#                 frameworks]...
#
# build   compiler and musl; jansson, libcap and libsodium, rebuilt for musl from
#         the distribution's own source packages into build/deps
# cross   the same for the other of the two architectures that are released, with
#         Debian's cross compiler: musl, jansson, libcap, libsodium and, for the unit
#         tests, cmocka, into build/deps/ARCH
# probe   headers of rdma-core and of Open MPI, for rankinit-probe
# dist, demo, check, fresh, bench, images, compose, engine, frameworks
#         the packages that these targets use besides
#
# Debian: apt, as root, and only for what is missing. Its libraries are built for
# glibc and do not link with musl. The deb-src entry that their sources need is
# kept in build/deps/apt, out of the system's own lists.
# Alpine: the distribution's static packages.
set -eu

cd "$(dirname "$0")/../.."
deps=$PWD/build/deps
libraries='jansson libcap2 libsodium' # source packages of what is linked in, beside musl
recipe=2 # of how they are built: another number builds them anew
case $(uname -m) in
x86_64) other=aarch64 gcc_other=aarch64 libc_other=arm64 ;;
*) other=x86_64 gcc_other=x86-64 libc_other=amd64 ;;
esac

say() { printf 'deps: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

debian_packages() {
    case $1 in
    build) echo gcc libc6-dev linux-libc-dev make musl-tools cmake autoconf automake libtool \
        dpkg-dev patch xz-utils ca-certificates ;;
    probe) echo gcc libc6-dev libibverbs-dev libopenmpi-dev pkg-config ;;
    cross) echo "gcc-$gcc_other-linux-gnu" "libc6-dev-$libc_other-cross" ;;
    dist) echo python3 python3-pytest python3-venv qemu-user-static lintian skopeo faketime \
        mmdebstrap git util-linux strace libcap2-bin ;;
    images) echo mmdebstrap python3 python3-pytest python3-pip ca-certificates ;;
    compose) echo docker-compose mmdebstrap python3-yaml ;;
    engine) echo docker.io ;;
    demo) echo openmpi-bin python3 tini dumb-init procps util-linux ;;
    bench) echo python3 tini dumb-init catatonit strace ;;
    check) echo openmpi-bin mpich iproute2 iptables python3 python3-pytest \
        python3-pytest-xdist python3-jsonschema python3-yaml python3-mpi4py tini dumb-init \
        catatonit strace valgrind libcmocka-dev libjansson-dev libcap-dev libsodium-dev \
        libcap2-bin mandoc shellcheck codespell universal-ctags procps util-linux bash git \
        slurmctld slurmd slurm-client munge ibverbs-providers ibverbs-utils mmdebstrap ;;
    fresh) echo mmdebstrap git python3 util-linux ;;
    frameworks) echo openmpi-bin libopenmpi-dev mpich g++ cmake make python3-dev python3-venv \
        python3-pytest iproute2 procps util-linux slurmctld slurmd slurm-client munge \
        nodejs python3-jsonschema ;;
    *) die "unknown set of packages: $1; see the usage in $0" ;;
    esac
}

alpine_packages() {
    case $1 in
    build) echo build-base linux-headers jansson-dev jansson-static libcap-dev libcap-static \
        libsodium-dev libsodium-static ;;
    probe) echo build-base linux-headers rdma-core-dev openmpi-dev pkgconf ;;
    images) echo python3 py3-pytest py3-pip ;;
    compose) echo docker-cli-compose py3-yaml ;;
    engine) echo docker ;;
    demo) echo openmpi python3 tini-static dumb-init procps util-linux ;;
    bench) echo python3 tini-static dumb-init catatonit strace ;;
    check) echo openmpi iproute2 iptables python3 py3-pytest py3-pytest-xdist py3-jsonschema \
        py3-yaml tini-static dumb-init catatonit strace \
        valgrind cmocka-dev mandoc shellcheck codespell ctags procps util-linux bash git ;;
    fresh) echo git python3 util-linux ;; # without mmdebstrap it is skipped
    frameworks) echo python3 py3-pytest ;; # none of the frameworks has a wheel for musl
    *) die "unknown set of packages: $1; see the usage in $0" ;;
    esac
}

apt_install() {
    missing=
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    [ "$(id -u)" = 0 ] || die "as root, run: apt-get install$missing"
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # a list of words
    apt_get install -y --no-install-recommends $missing >/dev/null 2>&1 || {
        # the lists may be older than the mirror; what else is in them need not be there
        apt_get update || say "apt-get update failed, going on with what it has"
        apt_get install -y --no-install-recommends $missing >/dev/null
    }
}

# A machine that was just started may be updating itself. Where `make fresh` keeps
# packages, those that are fetched here are kept for it.
apt_get() {
    kept=$PWD/build/fresh/archives
    if [ -d "$kept/partial" ]; then
        set -- -o "Dir::Cache::Archives=$kept" -o APT::Keep-Downloaded-Packages=true "$@"
    fi
    apt-get -qq -o DPkg::Lock::Timeout=300 "$@"
}

# The system's own Debian sources, as deb-src, in lists of their own.
apt_source() {
    mkdir -p "$deps/apt/parts" "$deps/apt/lists/partial" "$deps/apt/cache/archives/partial"
    if [ -f /etc/apt/sources.list.d/debian.sources ]; then
        sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources \
            >"$deps/apt/parts/src.sources"
    fi
    if [ -f /etc/apt/sources.list ]; then
        sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$deps/apt/parts/src.list"
    fi
    apt-get -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$deps/apt/parts" \
        -o "Dir::State::Lists=$deps/apt/lists" -o "Dir::Cache=$deps/apt/cache" \
        -o APT::Sandbox::User=root "$@"
}

# link_kernel_headers FOLDER FOLDER-OF-ASM: musl-gcc does not look where they are.
link_kernel_headers() {
    ln -sfn "$1/linux" "$deps/include/linux"
    ln -sfn "$1/asm-generic" "$deps/include/asm-generic"
    ln -sfn "$2/asm" "$deps/include/asm"
}

# Debian has it for its own architecture alone. Its wrapper is the one that musl-tools has.
build_musl() (
    cd "$1"
    ./configure --prefix="$deps" --target="$other-linux-gnu" CROSS_COMPILE="$cross" \
        CFLAGS="$CFLAGS" --disable-shared --enable-wrapper=gcc
    make
    make install
)

build_jansson() {
    cmake -S "$1" -B "$1/build" -DCMAKE_C_COMPILER="$musl_gcc" -DCMAKE_BUILD_TYPE=Release \
        ${cross:+-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$other" \
            -DCMAKE_AR="/usr/bin/${cross}ar" -DCMAKE_RANLIB="/usr/bin/${cross}ranlib"} \
        -DCMAKE_C_FLAGS="$CFLAGS -no-pie" -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF \
        -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_BUILD_SHARED_LIBS=OFF
    cmake --build "$1/build"
    cp "$1"/build/lib/libjansson.a "$deps/lib/"
    cp "$1"/build/include/jansson*.h "$deps/include/"
}

build_libcap() {
    env -u CFLAGS make -C "$1/libcap" CC="$musl_gcc" BUILD_CC=gcc BUILD_COPTS=-O2 \
        AR="${cross}ar" RANLIB="${cross}ranlib" OBJCOPY="${cross}objcopy" \
        COPTS="$CFLAGS -idirafter $deps/include" libcap.a
    cp "$1/libcap/libcap.a" "$deps/lib/"
    mkdir -p "$deps/include/sys"
    cp "$1/libcap/include/sys/capability.h" "$deps/include/sys/"
}

# Its source package has no configure. What it has for newer processors is compiled too, but
# only sodium_init() chooses that, which rankinit does not call, and so the linker drops it.
# crypto_scalarmult_curve25519_base() has a table of 30 kB, which any other multiplication brings
# with it: lib/link/seal.c multiplies the base point like another one.
build_libsodium() (
    cd "$1"
    file=src/libsodium/crypto_scalarmult/curve25519/ref10/x25519_ref10.c
    sed -i 's/(\.mult_base *=) *crypto_scalarmult_curve25519_ref10_base/(.mult_base =) 0/' "$file"
    grep -q '(\.mult_base =) 0' "$file"
    autoreconf --force --install
    ./configure ${cross:+--host="$other-linux-gnu"} --prefix="$deps" CC="$musl_gcc" \
        AR="${cross}ar" RANLIB="${cross}ranlib" CFLAGS="$CFLAGS -Os" CPPFLAGS=-DNDEBUG \
        LDFLAGS=-no-pie \
        --disable-shared --enable-minimal --disable-asm --disable-ssp --disable-pie \
        --without-pthreads
    make -j"$(nproc)" -C src/libsodium install
)

# Its own build makes a shared library. Without _UINTPTR_T its header takes
# uintptr_t to be an int where the C library is not glibc.
build_cmocka() {
    # shellcheck disable=SC2086 # words
    "$musl_gcc" $CFLAGS -D_UINTPTR_T -DHAVE_INTTYPES_H -DHAVE_MALLOC_H -DHAVE_SIGNAL_H \
        -DHAVE_STRINGS_H -I"$1/include" -c -o "$1/cmocka.o" "$1/src/cmocka.c"
    "${cross}ar" rcs "$deps/lib/libcmocka.a" "$1/cmocka.o"
    cp "$1"/include/cmocka*.h "$deps/include/"
}

# libcap asks the kernel for its highest capability before main() runs: seven
# system calls in every container, for nothing unless --cap-* or --user is
# given. Without its constructor we call _libcap_initialize() when it is needed.
drop_constructor() {
    "${cross}objcopy" --wildcard --remove-section='.init_array*' \
        --remove-section='.rela.init_array*' --remove-section='.rel.init_array*' \
        "$deps/lib/libcap.a"
}

# fetch_sources PACKAGE...: each in a folder of its name
fetch_sources() {
    apt_source update || say "apt-get update failed, going on with what it has"
    # by the name of a package it is the version that is installed, which the mirror may not have
    apt_source source --only-source --download-only "$@"
    for dsc in *.dsc; do
        dpkg-source --no-check -x "$dsc" "${dsc%%_*}"
    done
    sha256sum ./*.dsc ./*.tar.* >"$deps/sources"
    mkdir -p "$deps/copyright"
    for package in "$@"; do cp "$package/debian/copyright" "$deps/copyright/$package"; done
}

# In a shell of its own, since `set -e` is off inside `... || die`.
build_from_sources() {
    cd "$1"
    CFLAGS="-O2 -ffunction-sections -fdata-sections -fno-pie -ffile-prefix-map=$1=. \
-fno-asynchronous-unwind-tables"
    if [ -z "$cross" ]; then
        link_kernel_headers /usr/include "/usr/include/$(gcc -print-multiarch)"
        # shellcheck disable=SC2086 # a list of words
        fetch_sources $libraries
    else
        link_kernel_headers "/usr/$other-linux-gnu/include" "/usr/$other-linux-gnu/include"
        # shellcheck disable=SC2086 # a list of words
        fetch_sources musl $libraries cmocka
        build_musl "$1/musl"
        build_cmocka "$1/cmocka"
    fi
    build_jansson "$1/jansson"
    build_libcap "$1/libcap2"
    build_libsodium "$1/libsodium"
    drop_constructor
}

build_debian() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    say "building ${1:+musl, }jansson, libcap and libsodium for musl${1:+ on $1}"
    "$PWD/images/builder/deps.sh" --from-sources "$work" "$@" >"$work/log" 2>&1 ||
        { tail -40 "$work/log" >&2; die "they did not build"; }
    rm -rf "$deps${1:+/$1}/apt" "$work"
}

build_alpine() {
    cp /usr/lib/libjansson.a /usr/lib/libcap.a /usr/lib/libsodium.a "$deps/lib/"
    cp /usr/include/jansson*.h "$deps/include/"
    drop_constructor
}

# Debian 12 has compose 1; the plugin that is compose 2 comes from Debian 13.
fetch_compose_plugin() {
    plugin=$PWD/build/images/docker-compose
    if [ -x "$plugin" ] || docker compose version >/dev/null 2>&1; then return 0; fi
    work=$(mktemp -d)
    mkdir -p "${plugin%/*}"
    if mmdebstrap --quiet --variant=extract --include=docker-compose trixie "$work" &&
        cp "$work/usr/libexec/docker/cli-plugins/docker-compose" "$plugin"; then :; else
        say "docker-compose of Debian 13 could not be had; tests of version 2 are skipped"
    fi
    rm -rf "$work"
}

# build_libraries [ARCH]: what is linked in, once, and again where that or the recipe changes
build_libraries() {
    done=$deps${1:+/$1}/done
    if [ "$(cat "$done" 2>/dev/null)" != "$libraries $recipe" ]; then
        mkdir -p "${done%/*}/lib" "${done%/*}/include"
        if [ -f /etc/alpine-release ]; then build_alpine; else build_debian "$@"; fi
        echo "$libraries $recipe" >"$done"
    fi
    # newer than this script, so that make is content; and older than what was built after it
    [ -z "$(find images/builder/deps.sh -newer "$done")" ] || touch "$done"
}

cross=
musl_gcc=musl-gcc
if [ "${1-}" = --from-sources ]; then
    if [ $# -gt 2 ]; then
        cross=$other-linux-gnu-
        deps=$deps/$3
        musl_gcc=$deps/bin/musl-gcc
    fi
    build_from_sources "$2"
    exit
fi
for set in "${@:-build}"; do
    if [ -f /etc/alpine-release ]; then
        # shellcheck disable=SC2046 # a list of words
        apk add --quiet $(alpine_packages "$set") 2>/dev/null ||
            apk add --quiet --update-cache $(alpine_packages "$set")
    elif command -v apt-get >/dev/null; then
        # shellcheck disable=SC2046 # a list of words
        apt_install $(debian_packages "$set")
    else
        die "neither apt nor apk here: install by hand: $(debian_packages "$set")"
    fi
    case $set in
    compose) if command -v mmdebstrap >/dev/null; then fetch_compose_plugin; fi ;;
    build) build_libraries ;;
    cross) build_libraries "$other" ;;
    esac
done
