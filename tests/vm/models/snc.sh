# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
# As icx, with two NUMA nodes in each socket (sub-NUMA clustering).
nodes=2
# shellcheck source=tests/vm/models/icx.sh
. "$here/models/icx.sh"
model=icx
