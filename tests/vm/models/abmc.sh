# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
# As amd, with counters of memory bandwidth that the kernel assigns to groups (ABMC, Zen 5): five in each cache.
# shellcheck source=tests/vm/models/amd.sh
. "$here/models/amd.sh"
model=amd
monitoring=16:44:5
