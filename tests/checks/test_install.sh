#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Installs a build into a temporary folder and builds hosts against that alone:
# through pkg-config (shared, static) and through CMake's find_package; each
# public header compiles on its own.
set -euo pipefail
build=$1 cc=$2 cmake=$3
here=$(cd "$(dirname "$0")" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
prefix=$temp/prefix

"$cmake" --install "$build" --prefix "$prefix" >"$temp/log" ||
    { cat "$temp/log" && exit 1; }
pc=$(find "$prefix" -name holdfast.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*}
strict=(-std=c11 -Wall -Wextra -Wpedantic -Werror)

for header in "$prefix"/include/holdfast/*.h; do
    echo "#include <holdfast/${header##*/}>" >"$temp/one.c"
    "$cc" "${strict[@]}" -fsyntax-only -I"$prefix/include" "$temp/one.c"
    if command -v g++ >/dev/null; then
        g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ \
            -I"$prefix/include" "$temp/one.c"
    fi
done

read -ra flags < <(pkg-config --cflags --libs holdfast)
"$cc" "${strict[@]}" "$here/host.c" -o "$temp/shared" "${flags[@]}"
[ "$(LD_LIBRARY_PATH=$libdir "$temp/shared")" = HF_OK ]

# The example of the README is no mere text.
sed -n '/^```c$/,/^```$/{/^```/d;p}' "$here/../../README.md" >"$temp/readme.c"
"$cc" "${strict[@]}" "$temp/readme.c" -o "$temp/readme" "${flags[@]}"
LD_LIBRARY_PATH=$libdir "$temp/readme" && exit 1
[ $? = 2 ]

read -ra flags < <(pkg-config --static --cflags --libs-only-L \
    --libs-only-other holdfast)
read -ra libs < <(pkg-config --static --libs-only-l holdfast)
"$cc" "${strict[@]}" "$here/host.c" -o "$temp/static" "${flags[@]}" \
    "${libs[@]/#-lholdfast/-l:libholdfast.a}"
[ "$("$temp/static")" = HF_OK ]
if readelf -d "$temp/static" | grep -q holdfast; then
    echo "the static host needs the shared library"
    exit 1
fi

mkdir "$temp/host"
cp "$here/host.c" "$temp/host"
cat >"$temp/host/CMakeLists.txt" <<'HOST'
cmake_minimum_required(VERSION 3.25)
project(host LANGUAGES C)
find_package(holdfast 0.1 REQUIRED)
add_executable(host host.c)
target_link_libraries(host PRIVATE holdfast::holdfast)
HOST
"$cmake" -G Ninja -S "$temp/host" -B "$temp/host/build" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" >"$temp/log" &&
    "$cmake" --build "$temp/host/build" >>"$temp/log" ||
    { cat "$temp/log" && exit 1; }
[ "$("$temp/host/build/host")" = HF_OK ]

if [ -e "$build/bin/holdfast" ]; then
    "$prefix/bin/holdfast" --version >/dev/null ||
        LD_LIBRARY_PATH=$libdir "$prefix/bin/holdfast" --version >/dev/null
    [ -s "$(find "$prefix" -name holdfast.1)" ]
fi
echo "installed, found and used"
