# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
# What the arm64 models have in common. To be sourced by theirs, from tests/vm/run.
arch=arm64
root=$cache/userland-arm64
version=$(version_of_kernel "$arch")
kernel=$cache/image-arm64-$version
# The plugin knows driver modules by their addresses; the others halve the time that a test takes.
append="nokaslr mitigations=off audit=0 lsm="

# The registers are memory that the guest does not take for its own: an NVDIMM without a driver.
window=$work/window
truncate -s 64M "$window"

machine=(-M "virt,gic-version=3,nvdimm=on" -cpu neoverse-n1 -m "2G,slots=1,maxmem=4G"
	-bios "$cache/tools/usr/share/qemu-efi-aarch64/QEMU_EFI.fd"
	-object "memory-backend-file,id=window,share=on,mem-path=$window,size=64M"
	-device "nvdimm,memdev=window,addr=0xc0000000")
add_nodes 2048 # the drivers call a node a socket; with all of it, 2 GiB, the window begins at 0xc0000000

# ACPI tables go before the initrd proper.
"$here/arm64/tables" "$model" "$sockets" "$cpus" "$work/acpi" "$cache"/tools/lib64/ld-linux-*.so.2 \
	--library-path "$cache/tools/usr/lib/x86_64-linux-gnu" "$cache/tools/usr/bin/iasl" || exit 1
cat "$work/acpi" "$cache/initrd-arm64" >"$work/initrd" ||
	fail "$cache/initrd-arm64 is not there: run tests/vm/prepare"
initrd=$work/initrd
