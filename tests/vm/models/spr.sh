# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
# Xeon Scalable, 4th generation (Sapphire Rapids): boxes by discovery table.
cpu=SapphireRapids
window_size=272M
# shellcheck source=/dev/null
. "$here/models/x86-window"
