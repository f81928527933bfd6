# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# What the rig's scripts share. To be sourced with $here set to this directory.

tree=$(cd "$here/../.." && pwd)
cache=${UNCORE_VM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/uncore-vm}
build=$tree/build-vm

# shellcheck disable=SC2034 # used by those who source this
version_of_kernel() { # ARCH
	basename "$cache/kernel-$1"/usr/lib/modules/*
}

say() {
	echo "vm: $*"
}

fail() {
	echo "vm: $*" >&2
	exit 1
}
