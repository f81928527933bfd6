# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: MIT
# EPYC 9004 (Zen 4): data fabric, L3 and UMC. Their feature bits come from the plugin: QEMU knows
# them not.
monitoring=48:44
arch=amd64
machine=(-M pc -m 2G -cpu "EPYC-Genoa,level=15,hypervisor=$hypervisor")
add_nodes 2048 # uncore verify needs eight times the caches, 64 MiB, of each socket
