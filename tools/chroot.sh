# SPDX-License-Identifier: Apache-2.0 OR MIT
# Sourced by the scripts that work in a Debian of their own: makes a minimal
# system in a temporary folder, $temp, that goes with the script, and runs
# commands in it. Needs root and mmdebstrap. Debian's archive is the one that
# this machine's apt knows, or HOLDFAST_MIRROR=ADDRESS.
# shellcheck shell=bash

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 2
}

# chroot_begin TOOL...: the tools that the script itself needs
chroot_begin() {
    local tool
    [ "$(id -u)" = 0 ] || die "needs root (chroot, mount)"
    for tool in mmdebstrap unshare "$@"; do
        command -v "$tool" >/dev/null || die "needs $tool"
    done
    temp=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-chroot.XXXXXX")
    # Mounts live in the namespace of the inner process and end with it.
    trap 'rm -rf --one-file-system "$temp"' EXIT
    trap 'exit 130' INT TERM
    # How this machine reaches the archive: proxies, dates it does not check.
    apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-)' \
        >"$temp/host.conf" || true
}

# chroot_sources SUITE: Debian's own entries among this machine's apt sources,
# made to name SUITE; their files in ${sources[@]}.
chroot_sources() {
    local suite=$1 mine wanted file
    sources=()
    if [ -n "${HOLDFAST_MIRROR:-}" ]; then
        echo "deb $HOLDFAST_MIRROR $suite main" >"$temp/$suite.list"
        sources=("$temp/$suite.list")
        return
    fi
    # shellcheck disable=SC1091
    mine=$(. /etc/os-release && echo "${VERSION_CODENAME:-$suite}")
    wanted="^($mine|$mine-updates|$mine-security)\$"
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
        awk -v wanted="$wanted" '
            $1 == "deb" {
                i = 2
                if ($i ~ /^\[/) { while ($i !~ /\]$/) i++; i++ }
                if ($(i + 1) ~ wanted) print
            }' | sed "s/ $mine\\b/ $suite/g" >"$temp/$suite.list" || true
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] || continue
        awk -v RS= -v ORS='\n\n' -v wanted="$wanted" '
            {
                n = split($0, lines, "\n")
                for (i = 1; i <= n; i++) {
                    if (lines[i] !~ /^Suites:/) continue
                    m = split(lines[i], words, /[ \t]+/)
                    for (j = 2; j <= m; j++)
                        if (words[j] ~ wanted) { print; next }
                }
            }' "$file"
    done | sed "/^Suites:/s/ $mine\\b/ $suite/g" >"$temp/$suite.sources"
    for file in "$temp/$suite.list" "$temp/$suite.sources"; do
        if [ -s "$file" ]; then sources+=("$file"); fi
    done
    [ ${#sources[@]} -gt 0 ] ||
        die "no Debian among the apt sources; set HOLDFAST_MIRROR"
}

# chroot_make ROOT SUITE [PACKAGE,...]: a minimal Debian, and these packages
chroot_make() {
    local root=$1 suite=$2 packages=${3:-} file
    chroot_sources "$suite"
    echo "making a minimal Debian ($suite)"
    mmdebstrap --quiet --variant=minbase --aptopt="$temp/host.conf" \
        ${packages:+--include="$packages"} "$suite" "$root" "${sources[@]}"
    cp "$temp/host.conf" "$root/etc/apt/apt.conf.d/90host"
    for file in /etc/resolv.conf /etc/hosts; do
        [ ! -e $file ] || cat $file >"$root$file"
    done
}

# chroot_run ROOT COMMANDS: shell commands as root there, /proc, /sys and /dev
# mounted
chroot_run() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child bash -c '
        set -eu
        mount -t proc proc "$1/proc"
        mount --rbind /sys "$1/sys"
        mount --rbind /dev "$1/dev"
        exec chroot "$1" /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" \
            PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive \
            ${http_proxy:+http_proxy="$http_proxy"} \
            ${https_proxy:+https_proxy="$https_proxy"} \
            ${HOLDFAST_JOBS:+HOLDFAST_JOBS="$HOLDFAST_JOBS"} \
            bash -euo pipefail -c "$2"' chroot_run "$1" "$2" </dev/null
}
