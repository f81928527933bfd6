# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
# NVIDIA Tegra410: UCF, CMEM latency, NVLink-C2C, NV-CLink, NV-DLink, PCIE and PCIE-TGT.
# shellcheck source=/dev/null
. "$here/arm64/guest.sh"
