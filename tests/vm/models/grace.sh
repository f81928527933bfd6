# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
# NVIDIA Grace: SCF, NVLink-C2C0 and C2C1, PCIe and CNVLink.
# shellcheck source=/dev/null
. "$here/arm64/guest.sh"
