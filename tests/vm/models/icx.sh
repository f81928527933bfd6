# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
# Xeon Scalable, 3rd generation (Ice Lake SP): as skx, but the IMC by MMIO.
# QEMU calls this one model 134, which is another Xeon.
cpu=Icelake-Server,model=106,level=15
window_size=272M
disk_size=64M
monitoring=48:24
# shellcheck source=/dev/null
. "$here/models/x86-window"
