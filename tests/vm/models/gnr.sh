# shellcheck shell=bash disable=SC2034,SC2054,SC2154
# SPDX-License-Identifier: MIT
# Xeon 6 (Granite Rapids): as spr. QEMU calls this one model 143, which is Sapphire Rapids.
cpu=SapphireRapids,model=173
window_size=272M
# shellcheck source=/dev/null
. "$here/models/x86-window"
