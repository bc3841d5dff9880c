#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# The entry script itself, in a folder of its own, with programs that only
# pretend: what it says of missing packages, and how it counts test results.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
cp "$here/../../dev" "$temp/dev"
mkdir "$temp/bin"
export PATH=$temp/bin:$PATH HOLDFAST_JOBS=1

fake() {
    printf '#!/bin/bash\n%s\n' "$2" >"$temp/bin/$1"
    chmod +x "$temp/bin/$1"
}
# run EXPECTED-CODE COMMAND...: output in $out
run() {
    local want=$1 got=0
    shift
    out=$("$temp/dev" "$@" 2>&1) || got=$?
    if [ $got != "$want" ]; then
        printf '%s\n./dev %s: %d, not %d\n' "$out" "$*" $got "$want"
        exit 1
    fi
}
says() {
    if ! grep -qF -- "$1" <<<"$out"; then
        printf '%s\nshould say: %s\n' "$out" "$1"
        exit 1
    fi
}
last_line() {
    if [ "$(tail -n 1 <<<"$out")" != "$1" ]; then
        printf '%s\nshould end with: %s\n' "$out" "$1"
        exit 1
    fi
}
# Every package but those named is there.
packages_but() {
    fake dpkg-query "for p in \"\${@:4}\"; do case \" $* \" in *\" \$p \"*) ;;
*) echo \"\$p installed\";; esac; done"
}

# Nothing missing: nothing said.
packages_but
run 0 setup
[ -z "$out" ]

# A user who is not root gets one command, root gets the packages.
packages_but cmake strace
fake id 'echo 1000'
fake apt-get 'echo apt-get must not run; exit 1'
run 2 setup
says "apt-get install --no-install-recommends cmake strace"
fake id 'echo 0'
fake apt-get "echo \"\$*\" >>'$temp/apt'"
run 0 setup
grep -q "update" "$temp/apt"
grep -q "install -y --no-install-recommends cmake strace" "$temp/apt"
fake apt-get '[[ "$*" != *install* ]] || { echo no such package; exit 100; }'
run 1 setup
says "no such package"

# Results are counted by line; the last line is plain.
packages_but
fake cmake true
fake ctest 'cat <<X
      Start  1: a
 1/5 Test  #1: a ...........   Passed    0.01 sec
 2/5 Test  #2: b ...........***Failed    0.01 sec
 3/5 Test  #3: c ...........***Skipped   0.01 sec
 4/5 Test #14: d ...........***Exception: SegFault  0.01 sec
 5/5 Test  #5: e ...........***Timeout   9.01 sec
X
exit 8'
run 1 test x
last_line "2 passed, 3 failed, 1 skipped"
fake ctest 'echo " 1/1 Test  #1: a .......   Passed    0.01 sec"'
run 0 test x
last_line "2 passed, 0 failed, 0 skipped"
# CTest broke, though all its lines are good.
fake ctest 'echo " 1/1 Test  #1: a .......   Passed    0.01 sec"; exit 1'
run 1 test x
last_line "2 passed, 1 failed, 0 skipped"
# Nothing ran, or all was skipped: that is no success.
fake ctest 'echo "No tests were found!!!"'
run 1 test x
fake ctest 'echo " 1/1 Test  #1: a .......***Skipped   0.01 sec"'
run 1 test x
# A build that fails is a failure, and nothing is run on it.
fake cmake 'echo broken; exit 1'
fake ctest 'echo " 1/1 Test  #1: a .......   Passed    0.01 sec"'
run 1 test x
says broken
last_line "0 passed, 1 failed, 0 skipped"

run 2 nonsense
run 0 help
says "usage: ./dev"
# Whatever the help lists is a command, and the other way round.
listed=$(sed -n 's/^  \([a-z-]\+\) .*/\1/p' <<<"$out" | sort)
known=$(sed -n 's/^\([a-z-]*\))$/\1/p' "$temp/dev" | sort)
[ -n "$listed" ] && [ "$listed" = "$known" ]

# Packages are made by programs of their own, with what those need.
mkdir "$temp/tools"
for tool in make-deb make-tarball; do
    printf '#!/bin/bash\necho "%s ran with $*"\n' $tool >"$temp/tools/$tool"
    chmod +x "$temp/tools/$tool"
done
run 0 deb folder
last_line "make-deb ran with folder"
run 0 tarball
last_line "make-tarball ran with "
packages_but dpkg-dev mmdebstrap
fake id 'echo 1000'
run 2 deb
says "apt-get install --no-install-recommends dpkg-dev"
run 2 tarball
says "apt-get install --no-install-recommends mmdebstrap"
echo "as it should be"
