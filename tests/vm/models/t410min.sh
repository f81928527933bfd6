# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
# NVIDIA Tegra410 with one GPU on each socket, whose UCF and PCIE have no cycle counter.
# shellcheck source=/dev/null
. "$here/arm64/guest.sh"
