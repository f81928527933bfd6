# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
# Xeon Scalable (Skylake SP): CHA, IIO, IRP, PCU and UBOX by MSR; IMC, UPI, M2M, M2PCIe and M3UPI by
# PCI configuration space.
cpu=Skylake-Server
window_size=256M
disk_size=64M
# shellcheck source=/dev/null
. "$here/models/x86-window"
