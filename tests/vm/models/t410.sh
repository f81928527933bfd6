# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
# NVIDIA Tegra410: UCF, CMEM latency, NVLink-C2C, NV-CLink, NV-DLink, PCIE and PCIE-TGT.
# shellcheck source=/dev/null
. "$here/arm64/guest.sh"
# Two root ports with a device each: 01:00.0 and 02:00.0 of pmon/t410.c, by guest/test-devices.py.
for n in 1 2; do
	machine+=(-device "pcie-root-port,id=port$n,bus=pcie.0,chassis=$n,addr=$((0x10 + n))"
		-device "pci-testdev,bus=port$n")
done
