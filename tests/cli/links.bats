#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The health of PCIe links: findings of `doctor`, on made machines. A healthy link is no finding, whatever a GPU does while it is idle.

load helpers

setup() {
	TREE=$BATS_TEST_TMPDIR/tree
	mkdir -p "$TREE"/{proc,sys/devices/system/cpu/cpu0/topology,sys/bus/pci/devices,sys/class/net}
	printf '%s\n' 'processor : 0' 'vendor_id : AuthenticAMD' 'cpu family : 25' 'model : 17' 'stepping : 1' 'flags : fpu' >"$TREE/proc/cpuinfo"
	echo 0 | tee "$TREE"/sys/devices/system/cpu/{online,present,possible} >"$TREE/sys/devices/system/cpu/cpu0/topology/physical_package_id"
}

# pci PATH CLASS "SPEED xWIDTH" "SPEED xWIDTH" [VENDOR]: the PCI function at the end of the path below the root bus, with its link now
# and at most. Its directory is AT.
pci() {
	local name=${1##*/}

	AT=$TREE/sys/devices/pci0000:00/$1
	mkdir -p "$AT/power"
	ln -s "../../../devices/pci0000:00/$1" "$TREE/sys/bus/pci/devices/$name"
	echo "0x$2" >"$AT/class"
	echo "0x${5:-8086}" >"$AT/vendor"
	echo 0x1234 >"$AT/device"
	echo active >"$AT/power/runtime_status"
	echo "${3% x*} GT/s PCIe" >"$AT/current_link_speed"
	echo "${3#* x}" >"$AT/current_link_width"
	echo "${4% x*} GT/s PCIe" >"$AT/max_link_speed"
	echo "${4#* x}" >"$AT/max_link_width"
}

# aer RXERR BADTLP NONFATALERR: the file of corrected errors as the kernel prints it, in AT.
aer() {
	printf '%s\n' "RxErr $1" "BadTLP $2" 'BadDLLP 0' 'Rollover 0' 'Timeout 0' "NonFatalErr $3" 'CorrIntErr 0' 'HeaderOF 0' \
		"TOTAL_ERR_COR $(($1 + $2 + $3))" >"$AT/aer_dev_correctable"
	printf '%s\n' 'Undefined 0' 'DLP 0' 'CmpltTO 0' 'TOTAL_ERR_NONFATAL 0' >"$AT/aer_dev_nonfatal"
	printf '%s\n' 'Undefined 0' 'DLP 0' 'TOTAL_ERR_FATAL 0' >"$AT/aer_dev_fatal"
}

# net NAME: an interface of the function in AT.
net() {
	mkdir -p "$AT/net/$1/statistics"
	ln -s "../../../${AT##*/}" "$AT/net/$1/device"
	ln -s "../../${AT#"$TREE"/sys/}/net/$1" "$TREE/sys/class/net/$1"
}

# findings SUBJECT: what doctor has found, one a line.
findings() {
	run --separate-stderr "$UNCORE" --root "$TREE" doctor -j
	no_sanitizer_report || return
	helper check-schema <<<"$output" || return
	jq -r --arg subject "$1" '.findings[] | select(.subject == $subject) | [.verdict, .found] | join(": ")' <<<"$output"
}

# finds SUBJECT [LINE]...: exactly these.
finds() {
	local found

	found=$(findings "$1")
	[ "$found" = "$(printf '%s\n' "${@:2}")" ] || fail "$found"
}

@test "links: slower or narrower than both ends can" {
	pci 0000:00:01.0 060400 '8.0 x4' '32.0 x16'
	pci 0000:00:01.0/0000:01:00.0 010802 '8.0 x4' '16.0 x4'
	mkdir -p "$AT/nvme/nvme0"
	pci 0000:00:02.0 060400 '16.0 x8' '16.0 x16'
	pci 0000:00:02.0/0000:02:00.0 020000 '16.0 x8' '16.0 x16'
	pci 0000:00:02.0/0000:02:00.1 020000 '16.0 x8' '16.0 x16' # the same link
	pci 0000:00:03.0 060400 '2.5 x1' '5.0 x2'
	pci 0000:00:03.0/0000:03:00.0 020000 '2.5 x1' '8.0 x4'
	finds 'PCIe link' \
		'note: nvme0 (0000:01:00.0) below port 0000:00:01.0: 8 GT/s x4, and both ends support 16 GT/s x4' \
		'note: 0000:02:00.0 below port 0000:00:02.0: 16 GT/s x8, and both ends support 16 GT/s x16' \
		'note: 0000:03:00.0 below port 0000:00:03.0: 2.5 GT/s x1, and both ends support 5 GT/s x2'
}

@test "links: a device that supports less than its slot, or a slot that supports less, is no finding" {
	pci 0000:00:01.0 060400 '16.0 x4' '32.0 x16'
	pci 0000:00:01.0/0000:01:00.0 010802 '16.0 x4' '16.0 x4'
	pci 0000:00:02.0 060400 '8.0 x8' '8.0 x8'
	pci 0000:00:02.0/0000:02:00.0 020000 '8.0 x8' '32.0 x16'
	pci 0000:00:02.0/0000:02:00.2 020000 'Unknown x0' 'Unknown x0' # a virtual function
	pci 0000:00:03.0 060400 '2.5 x0' '32.0 x16'                    # an empty slot
	pci 0000:00:04.0 020000 '2.5 x1' '32.0 x16'                    # without a port
	pci 0000:00:05.0 060400 '2.5 x1' '32.0 x16'
	pci 0000:00:05.0/0000:05:00.0 060400 'Unknown x0' 'Unknown x0' # a bridge to conventional PCI
	pci 0000:00:05.0/0000:05:00.0/0000:06:00.0 020000 'Unknown x255' 'Unknown x255'
	finds 'PCIe link'
}

@test "links: of a switch, the link above it and those below it" {
	pci 0000:00:01.0 060400 '16.0 x16' '16.0 x16'
	pci 0000:00:01.0/0000:01:00.0 060400 '16.0 x16' '16.0 x16'
	# The ports below are narrow, and have no link with the one above.
	pci 0000:00:01.0/0000:01:00.0/0000:02:00.0 060400 '8.0 x4' '16.0 x8'
	pci 0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0 010802 '8.0 x4' '8.0 x4'
	pci 0000:00:01.0/0000:01:00.0/0000:02:01.0 060400 '8.0 x2' '16.0 x8'
	pci 0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0 010802 '8.0 x2' '8.0 x4'
	finds 'PCIe link' 'note: 0000:04:00.0 below port 0000:02:01.0: 8 GT/s x2, and both ends support 8 GT/s x4'
	echo 8 | tee "$TREE"/sys/bus/pci/devices/0000:0{0:01,1:00}.0/current_link_width >/dev/null
	finds 'PCIe link' 'note: port 0000:01:00.0 below port 0000:00:01.0: 16 GT/s x8, and both ends support 16 GT/s x16' \
		'note: 0000:04:00.0 below port 0000:02:01.0: 8 GT/s x2, and both ends support 8 GT/s x4'
}

@test "links: a GPU that rests is no finding, and one that has too few lanes at full speed is" {
	local gpu

	pci 0000:00:01.0 060400 '2.5 x16' '32.0 x16'
	pci 0000:00:01.0/0000:01:00.0 030200 '2.5 x16' '32.0 x16' 10de
	gpu=$AT
	pci 0000:00:01.0/0000:01:00.1 040300 '2.5 x16' '32.0 x16' 10de # its sound
	# A GPU below a switch of its own, as those of AMD and Intel.
	pci 0000:00:02.0 060400 '2.5 x8' '16.0 x16'
	pci 0000:00:02.0/0000:02:00.0 060400 '2.5 x8' '16.0 x16' 1002
	pci 0000:00:02.0/0000:02:00.0/0000:03:00.0 060400 '16.0 x16' '16.0 x16' 1002
	pci 0000:00:02.0/0000:02:00.0/0000:03:00.0/0000:04:00.0 120000 '16.0 x16' '16.0 x16' 1002
	finds 'PCIe link'
	# NVIDIA's lower the speed at rest, and not the width.
	echo 8 >"$gpu/current_link_width"
	finds 'PCIe link' 'note: 0000:01:00.0 below port 0000:00:01.0: 2.5 GT/s x8, and both ends support 32 GT/s x16'
	echo '32.0 GT/s PCIe' >"$gpu/current_link_speed"
	finds 'PCIe link' 'note: 0000:01:00.0 below port 0000:00:01.0: 32 GT/s x8, and both ends support 32 GT/s x16'
	# The link of another vendor's switch does not rest with a GPU below it.
	echo 0x10de >"$TREE/sys/bus/pci/devices/0000:04:00.0/vendor"
	findings 'PCIe link' | grep -q '^note: port 0000:02:00\.0 below port 0000:00:02\.0: 2\.5 GT/s x8, ' || fail 'a slow switch'
}

@test "links: nothing is said about suspended devices, and in a guest" {
	pci 0000:00:01.0 060400 '2.5 x4' '16.0 x16'
	pci 0000:00:01.0/0000:01:00.0 010802 '2.5 x4' '16.0 x4'
	[ -n "$(findings 'PCIe link')" ]
	echo suspended >"$AT/power/runtime_status"
	finds 'PCIe link'
	echo active >"$AT/power/runtime_status"
	sed -i 's/flags : .*/flags : fpu hypervisor/' "$TREE/proc/cpuinfo"
	finds 'PCIe link'
}

@test "links: errors since boot, by kind, at both ends" {
	pci 0000:00:01.0 060400 '16.0 x16' '16.0 x16'
	aer 0 3 0
	pci 0000:00:01.0/0000:01:00.0 020000 '16.0 x16' '16.0 x16'
	net eth0
	aer 12 5 0
	echo 'TOTAL_ERR_NONFATAL 2' >"$AT/aer_dev_nonfatal"
	echo 'TOTAL_ERR_FATAL 1' >"$AT/aer_dev_fatal"
	pci 0000:00:02.0 060400 '16.0 x16' '16.0 x16'
	aer 0 0 0
	pci 0000:00:02.0/0000:02:00.0 030000 '2.5 x16' '16.0 x16' 1002
	# A request that a device does not support says nothing about its link.
	aer 0 0 7
	echo 42 >"$AT/pcie_replay_count"
	finds 'PCIe errors' \
		'note: port 0000:00:01.0: 3 corrected errors of its link since boot or hot-plug (3 BadTLP)' \
		'note: eth0 (0000:01:00.0): 17 corrected errors of its link since boot or hot-plug (12 RxErr, 5 BadTLP)' \
		'note: eth0 (0000:01:00.0): 2 uncorrected errors that are not fatal since boot or hot-plug' \
		'note: eth0 (0000:01:00.0): 1 fatal error since boot or hot-plug'
	finds 'PCIe replays' 'note: 0000:02:00.0: 42 packets were sent again since boot or hot-plug'
	echo suspended >"$AT/power/runtime_status" # its driver would ask the device
	finds 'PCIe replays'
}

@test "links: files that are cut off or foreign are no finding and no error" {
	local text

	pci 0000:00:01.0 060400 '16.0 x16' '16.0 x16'
	for text in '' 'RxErr' 'RxErr x' 'RxErr -1' 'RxErr 99999999999999999999999' 'RxErr1 5' $'\n\n'; do
		printf '%s' "$text" >"$AT/aer_dev_correctable"
		finds 'PCIe errors'
	done
	rm "$AT/aer_dev_correctable"
	mkdir "$AT/aer_dev_correctable"
	finds 'PCIe errors'
}

@test "links: a snapshot has what doctor reads of them" {
	local subject

	pci 0000:00:01.0 060400 '8.0 x16' '16.0 x16'
	aer 1 0 0
	pci 0000:00:01.0/0000:01:00.0 020000 '8.0 x16' '16.0 x16'
	echo 7 >"$AT/pcie_replay_count"
	for subject in 'PCIe link' 'PCIe errors' 'PCIe replays'; do
		findings "$subject"
	done >"$BATS_TEST_TMPDIR/before"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/before")" = 3 ]
	expect 0 "$UNCORE" --root "$TREE" snapshot "$BATS_TEST_TMPDIR/machine.txt"
	for subject in 'PCIe link' 'PCIe errors' 'PCIe replays'; do
		TREE=$BATS_TEST_TMPDIR/machine.txt findings "$subject"
	done >"$BATS_TEST_TMPDIR/after"
	cmp "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
}

# ports_with_aer PORT...: the kernel handles the errors of these root ports, and of no others.
ports_with_aer() {
	local port

	rm -rf "$TREE/sys/bus/pci_express"
	mkdir -p "$TREE/sys/bus/pci_express/devices"
	for port; do mkdir -p "$TREE/sys/bus/pci_express/devices/$port:pcie002"; done
}

# two_cards: a card with two interfaces on one function and one on another, each with errors, below port 1; another card below port 2.
two_cards() {
	pci 0000:00:01.0 060400 '16.0 x16' '16.0 x16'
	pci 0000:00:01.0/0000:01:00.0 020000 '16.0 x16' '16.0 x16'
	net eth0
	net eth1
	aer 1 0 0
	pci 0000:00:01.0/0000:01:00.1 020000 '16.0 x16' '16.0 x16'
	net eth2
	aer 2 0 0
	pci 0000:00:02.0 060400 '16.0 x16' '16.0 x16'
	pci 0000:00:02.0/0000:02:00.0 020000 '16.0 x16' '16.0 x16'
	net eth3
	aer 4 0 0
}

@test "links: two interfaces of one PCI function count its errors once" {
	two_cards
	expect 0 "$UNCORE" --root "$TREE" --source files list pmus
	[ "$(grep -c 'pcie_eth' <<<"$output")" = 3 ] || fail 'devices'
	expect 0 "$UNCORE" --root "$TREE" --source files stat -j -M device.pcie.errors -- \
		bash -c 'text=$(sed s/COR.1/COR\ 11/ "$0") && printf "%s\n" "$text" >"$0"' "$TREE/sys/bus/pci/devices/0000:01:00.0/aer_dev_correctable"
	[ "$(jq -r 'select(.name == "device.pcie.errors") | .inputs[0].count' <<<"$output")" = 10 ] || fail 'errors'
}

@test "links: errors that the kernel does not see are not 0" {
	two_cards
	ports_with_aer 0000:00:02.0
	expect 0 "$UNCORE" --root "$TREE" --source files stat --no-merge -j -M device.pcie.errors 1 1
	helper check-schema <<<"$output"
	[ "$(jq -r 'select(.name) | "\(.pmu) \(.quality) \(.value == 0)"' <<<"$output" | sort | tr '\n' ' ')" = \
		'pcie_eth0 unavailable false pcie_eth2 unavailable false pcie_eth3 measured true ' ] || fail 'rates'
	expect 0 "$UNCORE" --root "$TREE" --source files stat -j -M device.pcie.errors 1 1
	[[ $(jq -r '"\(.quality) \(.reason)"' <<<"$output") == 'partial 2 PMUs left out: pcie_eth0: the kernel does not handle '* ]] || fail 'sum'
	expect 3 "$UNCORE" --root "$TREE" doctor # the PMUs of the CPU are missing
	shows $'ok +network: .*\nnote +pcie-link: .*\nMISSING +amd-df' # what counts comes first
	shows 'note +pcie-link: Health of PCIe links: 3 devices, 3 metrics; 2 devices cannot be counted' \
		'pcie_eth0: the kernel does not handle the errors of its root port: the firmware does'
	ports_with_aer
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -M device.pcie.errors 1 1
	says 'pcie_eth0: the kernel does not handle the errors of its root port'
	ports_with_aer 0000:00:01.0 0000:00:02.0
	expect 3 "$UNCORE" --root "$TREE" doctor # the PMUs of the CPU are missing
	shows 'ok +pcie-link: Health of PCIe links: 3 devices, 3 metrics'
	sed -i 's/flags : .*/flags : fpu hypervisor/' "$TREE/proc/cpuinfo"
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -M device.pcie.errors 1 1
	says 'pcie_eth0: its errors are reported to the host, and the counts of a guest stay 0'
}
