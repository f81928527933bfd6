#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Every example of the kernel's nvidia-tegra410-pmu.rst, pasted as it stands, must parse to the
# configuration words that the driver expects. The words are written by hand from the drivers'
# format terms; the machine is the tree of one socket plus what the document has beyond it.

load helpers

setup_file() {
	local devices=$BATS_FILE_TMPDIR/t410/sys/bus/event_source/devices link

	cp -r "$UNCORE_SOURCE_ROOT/tests/machines/nvidia-t410-1socket" "$BATS_FILE_TMPDIR/t410"
	cp -r "$devices/nvidia_ucf_pmu_0" "$devices/nvidia_ucf_pmu_1"
	cp -r "$devices/nvidia_pcie_pmu_0_rc_2" "$devices/nvidia_pcie_pmu_1_rc_2"
	cp -r "$devices/nvidia_pcie_pmu_0_rc_3" "$devices/nvidia_pcie_pmu_1_rc_3"
	echo 101 >"$devices/nvidia_ucf_pmu_1/type"
	echo 102 >"$devices/nvidia_pcie_pmu_1_rc_2/type"
	echo 103 >"$devices/nvidia_pcie_pmu_1_rc_3/type"

	link=$devices/nvidia_nvclink_pmu_0
	mkdir -p "$link/format" "$link/events"
	echo 104 >"$link/type"
	echo 0 >"$link/cpumask"
	echo config:0-3 >"$link/format/event"
	echo event=0x0 >"$link/events/cycles"
	echo event=0x1 >"$link/events/in_rd_cum_outs"
	echo event=0x2 >"$link/events/in_rd_req"
	echo event=0x5 >"$link/events/out_rd_cum_outs"
	echo event=0x6 >"$link/events/out_rd_req"
}

# encodes EVENTS "PMU TYPE WORDS"...: one argument for each counter, in order, all in one group.
encodes() {
	local events=$1 root=$BATS_FILE_TMPDIR/t410 wanted

	shift
	wanted=$(printf '%s\n' "$@")
	expect 0 "$UNCORE" --root "$root" stat --dry-run -j -a -e "$events" || return 1
	[ "$(jq -r '"\(.pmu) \(.type) \(.config | join(" "))"' <<<"$output")" = "$wanted" ] ||
		fail "$events should be" "$wanted" || return 1
	[ "$(jq -r .group <<<"$output" | sort -u | wc -l)" -eq 1 ] || fail 'more than one group' ||
		return 1
	[ "$(jq -s -c 'map(.leader) | [.[0], any(.[1:][]; .)]' <<<"$output")" = '[true,false]' ] ||
		fail 'the first counter must lead its group, and no other'
}

@test "UCF: no filter, and filters of source and destination" {
	encodes 'nvidia_ucf_pmu_0/event=0x0/' 'nvidia_ucf_pmu_0 11 0x0 0x0 0x0 0x0'
	encodes 'nvidia_ucf_pmu_0/event=0x0,src_loc_cpu=0x1,dst_loc_cmem=0x1/' \
		'nvidia_ucf_pmu_0 11 0x0 0x102 0x0 0x0'
	encodes 'nvidia_ucf_pmu_1/event=0x0,src_loc_noncpu=0x1,dst_rem=0x1/' \
		'nvidia_ucf_pmu_1 101 0x0 0x801 0x0 0x0'
}

@test "PCIE: root ports and destinations" {
	encodes 'nvidia_pcie_pmu_0_rc_0/event=0x0,src_rp_mask=0x1/' \
		'nvidia_pcie_pmu_0_rc_0 12 0x0 0x1 0x0 0x0'
	encodes 'nvidia_pcie_pmu_0_rc_1/event=0x1,src_rp_mask=0x3,dst_loc_cmem=0x1/' \
		'nvidia_pcie_pmu_0_rc_1 14 0x1 0x3 0x1 0x0'
	encodes 'nvidia_pcie_pmu_1_rc_2/event=0x2,src_rp_mask=0x1/' \
		'nvidia_pcie_pmu_1_rc_2 102 0x2 0x1 0x0 0x0'
	encodes 'nvidia_pcie_pmu_1_rc_3/event=0x3,src_rp_mask=0x3,dst_loc_cmem=0x1/' \
		'nvidia_pcie_pmu_1_rc_3 103 0x3 0x3 0x1 0x0'
}

@test "PCIE: a device by bus, device and function" {
	# 0x0180 in bits 8-23, and bit 24.
	encodes 'nvidia_pcie_pmu_0_rc_4/event=0x4,src_bdf=0x0180,src_bdf_en=0x1/' \
		'nvidia_pcie_pmu_0_rc_4 20 0x4 0x1018000 0x0 0x0'
}

@test "PCIE-TGT: root ports and address ranges" {
	# 0x3 in bits 3-10.
	encodes 'nvidia_pcie_tgt_pmu_0_rc_0/event=0x0,dst_rp_mask=0x3/' \
		'nvidia_pcie_tgt_pmu_0_rc_0 13 0x18 0x0 0x0 0x0'
	# Bit 11, and two terms of a whole word each.
	encodes 'nvidia_pcie_tgt_pmu_0_rc_1/event=0x1,dst_addr_base=0x10000,dst_addr_mask=0xFFF00,dst_addr_en=0x1/' \
		'nvidia_pcie_tgt_pmu_0_rc_1 15 0x801 0x10000 0xfff00 0x0'
}

@test "CMEM latency: a group of three aliases" {
	encodes '{nvidia_cmem_latency_pmu_0/rd_req/,nvidia_cmem_latency_pmu_0/rd_cum_outs/,nvidia_cmem_latency_pmu_0/cycles/}' \
		'nvidia_cmem_latency_pmu_0 24 0x1 0x0 0x0 0x0' \
		'nvidia_cmem_latency_pmu_0 24 0x2 0x0 0x0 0x0' \
		'nvidia_cmem_latency_pmu_0 24 0x0 0x0 0x0 0x0'
}

@test "NVLink-C2C: aliases, and an alias with a filter" {
	encodes 'nvidia_nvlink_c2c_pmu_0/in_rd_req/' 'nvidia_nvlink_c2c_pmu_0 25 0x2 0x0 0x0 0x0'
	encodes 'nvidia_nvlink_c2c_pmu_0/in_rd_cum_outs,gpu_mask=0x1/' \
		'nvidia_nvlink_c2c_pmu_0 25 0x1 0x1 0x0 0x0'
	encodes 'nvidia_nvlink_c2c_pmu_0/in_rd_cum_outs,gpu_mask=0x2/' \
		'nvidia_nvlink_c2c_pmu_0 25 0x1 0x2 0x0 0x0'
	encodes 'nvidia_nvlink_c2c_pmu_0/out_rd_req/' 'nvidia_nvlink_c2c_pmu_0 25 0x6 0x0 0x0 0x0'
	encodes 'nvidia_nvlink_c2c_pmu_0/out_rd_cum_outs,gpu_mask=0x1/' \
		'nvidia_nvlink_c2c_pmu_0 25 0x5 0x1 0x0 0x0'
	encodes 'nvidia_nvlink_c2c_pmu_0/out_rd_cum_outs,gpu_mask=0x2/' \
		'nvidia_nvlink_c2c_pmu_0 25 0x5 0x2 0x0 0x0'
}

@test "NV-CLink and NV-DLink" {
	encodes 'nvidia_nvclink_pmu_0/in_rd_req/' 'nvidia_nvclink_pmu_0 104 0x2 0x0 0x0 0x0'
	encodes 'nvidia_nvclink_pmu_0/out_rd_req/' 'nvidia_nvclink_pmu_0 104 0x6 0x0 0x0 0x0'
	encodes '{nvidia_nvdlink_pmu_0/in_rd_req/,nvidia_nvdlink_pmu_0/in_rd_cum_outs/}' \
		'nvidia_nvdlink_pmu_0 26 0x2 0x0 0x0 0x0' \
		'nvidia_nvdlink_pmu_0 26 0x1 0x0 0x0 0x0'
}

@test "what the document excludes is refused before anything is opened, planned or simulated" {
	local pcie=nvidia_pcie_pmu_0_rc_4 how

	for how in "--root $BATS_FILE_TMPDIR/t410 stat --dry-run" "--source $SIM_T410 stat --interval-count 1 -I 1000"; do
		# shellcheck disable=SC2086 # several words
		refuses 2 "$UNCORE" $how -a -e "$pcie/rd_bytes,src_rp_mask=1,src_bdf=0x2709,src_bdf_en=1/"
		says "$pcie: 'rd_bytes,src_rp_mask=1,src_bdf=0x2709,src_bdf_en=1' sets each of src_rp_mask, src_bdf_en: a root port and a device exclude"
		# shellcheck disable=SC2086
		refuses 2 "$UNCORE" $how -a -M pcie.inbound.bandwidth -e "$pcie/wr_bytes,src_bdf=0x2709,src_bdf_en=1/"
		says "$pcie: .* differ in src_bdf, src_bdf_en: the PMU has one device filter"
	done
}
