#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Installs a build below DESTDIR as a package does, looks at what is there, and
# builds hosts against that alone: by pkg-config and by CMake, each library in
# each form. Arguments: build folder, compiler, cmake.
set -euo pipefail
build=$1 cc=$2 cmake=$3
here=$(cd "$(dirname "$0")" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
fail() {
    printf '%s\n' "$*"
    exit 1
}

prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
DESTDIR=$temp/dest "$cmake" --install "$build" >"$temp/log" 2>&1 ||
    fail "$(cat "$temp/log")"
tree=$temp/dest$prefix
[ "$(find "$temp/dest" -type f ! -path "$tree/*" | wc -l)" = 0 ] ||
    fail "files outside the prefix: $(find "$temp/dest" -type f)"

libdir=$(dirname "$(find "$tree" -name libholdfast.a)")
for file in "$libdir"/lib{holdfast.so,holdfast.so.0,post.so,post.a} \
    "$libdir"/pkgconfig/{holdfast,post}.pc \
    "$libdir"/cmake/{holdfast/holdfast,post/post}-config.cmake \
    "$libdir"/cmake/{holdfast/holdfast,post/post}-config-version.cmake \
    "$tree"/bin/{holdfast,postcli} \
    "$tree"/include/{holdfast/holdfast.h,post.h,holdfast_post.h} \
    "$tree"/share/man/man1/{holdfast,postcli}.1 \
    "$tree"/share/doc/holdfast/{LICENSE,Apache-2.0.txt,MIT.txt}; do
    [ -s "$file" ] || fail "not installed: $file"
done
# A package is used on other machines than the one it was made on.
if grep -rIlF -e "$build" -e "$temp" "$tree"; then
    fail "these name a folder of the build"
fi
for file in "$tree"/bin/* "$libdir"/*.so; do
    if readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -v '\[\$ORIGIN'; then
        fail "$file has a run path of the build"
    fi
done

# expect TEXT PROGRAM: what a host says
expect() {
    local said
    said=$(LD_LIBRARY_PATH=$libdir "$2" 2>&1) || fail "${2##*/}: $said"
    [ "$said" = "$1" ] || fail "${2##*/} says $said"
}
needs() { readelf -d "$1" | grep -q "NEEDED.*\[$2"; }

export PKG_CONFIG_PATH=$libdir/pkgconfig
for name in holdfast post; do
    source=$here/host/uses_$name.c
    read -ra flags < <(pkg-config --cflags --libs $name)
    "$cc" -std=c11 "$source" -o "$temp/shared" "${flags[@]}"
    expect "lib$name works" "$temp/shared"
    needs "$temp/shared" lib$name.so || fail "$name: not the shared form"

    read -ra flags < <(pkg-config --static --cflags --libs $name)
    "$cc" -std=c11 "$source" -o "$temp/static" \
        "${flags[@]/#-l$name/-l:lib$name.a}"
    expect "lib$name works" "$temp/static"
    if needs "$temp/static" lib$name.so; then
        fail "$name: not the static form"
    fi
done

"$cmake" -G Ninja -S "$here/host" -B "$temp/host" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$tree" >"$temp/log" 2>&1 &&
    "$cmake" --build "$temp/host" >>"$temp/log" 2>&1 ||
    fail "$(cat "$temp/log")"
for name in holdfast post; do
    for form in shared static; do
        expect "lib$name works" "$temp/host/${name}_$form"
    done
done
echo "installed below DESTDIR, found and used"
