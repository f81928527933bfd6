#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Intel machines that no guest could be: files that make-intel writes, with the simulations of tests/sim.

# shellcheck disable=SC2030,SC2031 # $output is that of run, in the test that reads it
load helpers

setup_file() {
	"$UNCORE_SOURCE_ROOT/tests/machines/make-intel" "$BATS_FILE_TMPDIR"
	# The others are on machines of make-devices.
	grep -L make-devices "$UNCORE_SOURCE_ROOT"/tests/sim/*.yaml | xargs cp -t "$BATS_FILE_TMPDIR"
}

# bats test_tags=slow
@test "every event and metric has the value of the simulation's rates" {
	helper check-sim "$BATS_FILE_TMPDIR"
}

# bats test_tags=slow
@test "every PMU of every machine is known, and each has a simulation" {
	local tree

	for tree in "$BATS_FILE_TMPDIR"/*.txt; do
		expect 0 "$UNCORE" --root "$tree" list --json
		helper check-list "$tree" <<<"$output"
		grep -qx "machine: ./$(basename "$tree")" "$BATS_FILE_TMPDIR"/*.yaml || fail "$tree"
	done
}

@test "explain memory.read.bandwidth has the same words on all machines" {
	local tree

	for tree in "$BATS_FILE_TMPDIR"/*.txt; do
		case $tree in *dmr* | *max-generic*) continue ;; esac
		expect 0 "$UNCORE" --root "$tree" explain memory.read.bandwidth
		shows formula evidence 'perf stat -a'
	done
}

# The value of a row, as a whole number.
value() {
	expect 0 "$UNCORE" --source sim:skx,step=1s stat -j --timeout 1 "$@"
	jq -s 'map(.value // .count) | add | round' <<<"$output"
}

@test "I/O by port: a bit of ch_mask for each root port, and a device is counted with its port" {
	local read='pcie.inbound.read.bandwidth' one=event=0x83,umask=0x04,fc_mask=0x7

	[ "$(value -M $read --port 0000:3a:01.0)" -eq \
		$((4 * $(value -e "uncore_iio_2/$one,ch_mask=0x2/"))) ]
	[ "$(value -M $read --port 0000:5d:02.0)" -eq \
		$((4 * $(value -e "uncore_iio_3/$one,ch_mask=0x4/"))) ]
	[ "$(value -M $read --device nvme0)" -eq \
		$((4 * $(value -e "uncore_iio_2/$one,ch_mask=0x1/"))) ]
	expect 0 "$UNCORE" --source sim:skx,step=1s pcie --timeout 1 --csv --per-port
	golden pcie-ports-skx.csv <<<"$output"
}

@test "raw codes of CAS and activates on the simulated Skylake server: all commands are reads and writes" {
	local all reads writes

	all=$(value -e uncore_imc/config=0x0F04/)
	reads=$(value -e uncore_imc/config=0x0304/)
	writes=$(value -e uncore_imc/config=0x0C04/)
	[ $((all - reads - writes)) -le 6 ] && [ $((reads + writes - all)) -le 6 ] # cut to whole numbers, 6 PMUs
	[ "$(value -e uncore_imc/config=0x0101/)" -gt "$(value -e uncore_imc/config=0x0201/)" ]
}

@test "Granite Rapids: without -M and in memory.* no memory controller is multiplexed, it has four counters" {
	local sim=$BATS_FILE_TMPDIR/gnr.yaml what

	for what in stat mem 'mem -I 1000' 'mem --all -I 1000'; do
		# shellcheck disable=SC2086
		expect 0 "$UNCORE" --source "sim:$sim" $what --dry-run -j
		[ "$(jq -r 'select(.pmu == "uncore_imc_0") | .config[0]' <<<"$output" | sort | tr '\n' ' ')" = \
			'0xcf05 0xcf06 0xf005 0xf006 ' ] || fail
	done
	# In rounds there is room for the clock.
	expect 0 "$UNCORE" --source "sim:$sim" mem --all --dry-run -j
	[ "$(jq -r 'select(.pmu == "uncore_imc_0") | .round' <<<"$output" | sort | uniq -c | tr -s ' \n' ' ')" = ' 4 0 3 1 ' ] || fail
	expect 0 "$UNCORE" --source "sim:$sim,step=1s" mem --all -j --timeout 1
	jq -es 'any(.name == "memory.utilization" and .value != null)' <<<"$output" >/dev/null || fail
	expect 0 "$UNCORE" --source "sim:$sim,step=1s" mem -v -I 1000 --interval-count 2
	says 'memory\.utilization is not in memory\.utilization\*: the clock is a fifth counter'
	for what in memory.utilization '*'; do
		expect 0 "$UNCORE" --source "sim:$sim,step=1s" stat -j --timeout 1 -M "$what"
		jq -es 'any(.name == "memory.utilization" and .value != null)' <<<"$output" >/dev/null || fail
	done
	expect 3 "$UNCORE" --source "sim:$sim" stat -I 1000 -M 'memory.util*'
	says 'memory\.utilization is not in memory\.util\*: the clock is a fifth counter, .*; name it to count it'
	# The clock is a fifth.
	expect 0 "$UNCORE" --source "sim:$sim" stat --dry-run -j -M memory.utilization
	[ "$(jq -r 'select(.pmu == "uncore_imc_0") | .group' <<<"$output" | sort | uniq -c | tr -s ' ')" = ' 3 0' ] || fail
}

@test "the views of commands need at most four counters of a unit at once" {
	local sim view views=() code number
	declare -A most

	for sim in "$BATS_FILE_TMPDIR"/*.yaml; do
		for view in mem pcie 'pcie --ddio' link cache matrix; do
			code=0
			# shellcheck disable=SC2086 # words
			"${UNCORE_PLAIN:-$UNCORE}" --source "sim:$sim" $view --dry-run -j >"$BATS_TEST_TMPDIR/plan" || code=$?
			[ "$code" -ne 3 ] || continue
			view="${sim##*/} $view"
			views+=("$view")
			sed "s/^{/{\"view\":\"$view\",/" "$BATS_TEST_TMPDIR/plan" >>"$BATS_TEST_TMPDIR/plans"
		done
	done
	# Free-running counters have one register each.
	while read -r number view; do
		most[$view]=$number
	done < <(jq -rs 'group_by(.view)[] | "\(map(select(.pmu | contains("free_running") | not)) |
		group_by([.pmu, .cpu, .round]) | map(length) | max // 0) \(.[0].view)"' "$BATS_TEST_TMPDIR/plans")
	[ "${#views[@]}" -gt 20 ]
	for view in "${views[@]}"; do
		[ "${most[$view]}" -le 4 ] || fail "$view: ${most[$view]}"
	done
}

@test "Broadwell: without -M a cache box has one opcode filter, which it cannot share" {
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/bdx.yaml" stat --dry-run -j
	[ "$(jq -r 'select(.pmu == "uncore_cbox_0") | .config[1]' <<<"$output")" = 0x19e0000000000000 ] || fail
}

# The configuration words of an event of the first cache box.
words() {
	expect 0 "$UNCORE" --source sim:ivt stat --dry-run -j -e "uncore_cbox_0/$1/"
	jq -c ".config[:2]" <<<"$output"
}

@test "names of opcodes, line states and cores become bits of the filter registers" {
	local cbo=intel-ivt-cbo tree=$UNCORE_SOURCE_ROOT/tests/machines/intel-ivt-1socket.txt

	# Bits of config1 are those of Linux's format: opcode 52-60, state 17-22, thread 0-4; tid_en is bit 19.
	[ "$(words event=0x35,umask=0x1,opc=RFO)" = '["0x135","0x1800000000000000"]' ] || fail
	[ "$(words event=0x35,umask=0x1,opc=pcirdcur)" = '["0x135","0x19e0000000000000"]' ] || fail
	[ "$(words event=0x34,umask=0x11,state=M+E)" = '["0x1134","0x180000"]' ] || fail
	[ "$(words event=0x36,umask=0x08,core=3.1)" = '["0x80836","0x7"]' ] || fail
	[ "$(words miss_inserts,opc=CRd)" = '["0x335","0x1810000000000000"]' ] || fail
	refuses 2 "$UNCORE" --source sim:ivt stat --dry-run -e uncore_cbox_0/event=0x35,opc=RFX/
	says "the term 'opc' has no value 'RFX'; it has: RFO CRd DRd"
	refuses 2 "$UNCORE" --source sim:ivt stat --dry-run -e uncore_cbox_0/event=0x35,opc=RFO+DRd/
	says "the term 'opc' takes one value, not several joined by [+]"
	refuses 2 "$UNCORE" --source sim:ivt stat --dry-run -e uncore_cbox_0/event=0x35,opc=RFO,filter_opc=0x180/
	says "the term 'filter_opc' is given twice"
	refuses 2 "$UNCORE" --source sim:skx stat --dry-run -e uncore_cha_0/event=0x35,opc=RFO/
	says "it has no term 'opc'"
	for source in "--source=sim:ivt" "--root=$tree --source=regs:$cbo"; do
		# shellcheck disable=SC2086
		expect 0 "$UNCORE" $source list opc
		shows 'uncore_cbox/...,opc=.../' 'RFO CRd DRd'
	done
}

# bats test_tags=slow
@test "edges need a threshold, on every PMU of a family that has both" {
	local sim pmu

	for sim in ivt icx skx spr "$BATS_FILE_TMPDIR"/{bdx,gnr,gnr-generic,knl}.yaml; do
		expect 0 "$UNCORE" --source "sim:$sim" list -j
		for pmu in $(jq -r '.pmus[] | select(.family and ([.terms[].name] | contains(["edge", "thresh"]))) |
			.name | select(test("_[1-9][0-9]*$") | not)' <<<"$output"); do
			refuses 2 "${UNCORE_PLAIN:-$UNCORE}" --source "sim:$sim" stat --dry-run -e "$pmu/event=1,edge/"
		done
	done
}

# type_families CPU ID...: of PMUs that the kernel names by these numbers, the families, "-" without one.
type_families() {
	local tree=$BATS_TEST_TMPDIR/types-${1//\//-} id pmu

	unpack "$BATS_FILE_TMPDIR/intel-max-generic.txt" "$tree"
	sed -i -E "s|^(model\s*:).*|\1 ${1##*/}|" "$tree/proc/cpuinfo"
	rm -rf "$tree"/sys/bus/event_source/devices/uncore_*
	for id in "${@:2}"; do
		pmu=$tree/sys/bus/event_source/devices/uncore_type_${id}_0
		mkdir -p "$pmu/format"
		echo $((50 + id)) >"$pmu/type"
		echo 0 >"$pmu/cpumask"
		echo config:0-7 >"$pmu/format/event"
		echo config:8-15 >"$pmu/format/umask"
	done
	expect 0 "$UNCORE" --root "$tree" doctor -j
	expect 0 "$UNCORE" --root "$tree" list -j pmus
	jq -r '.pmus[] | select(.name | startswith("uncore_type")) | "\(.name | split("_")[2]) \(.family // "-")"' \
		<<<"$output" | sort -n | cut -d' ' -f2 | paste -sd ' '
}

@test "PMUs with generic names (uncore_type_N): the family of each" {
	local model

	for model in 143 207; do
		[ "$(type_families $model 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14)" = \
			"intel-cha intel-iio intel-irp - intel-pcu intel-ubox intel-imc intel-m2m intel-upi - - intel-mdf - - $(
				[ $model = 143 ] && echo intel-hbm || echo -)" ] || fail "$model"
	done
	for model in 173 175 221; do
		[ "$(type_families $model 0 1 2 4 5 6 8 12 13 15 16 17 18 19 20 21 22)" = \
			'intel-cha intel-iio intel-irp intel-pcu intel-ubox intel-imc intel-upi - - intel-b2hot intel-m2m intel-b2 intel-b2 - intel-mdf - -' ] ||
			fail "$model"
	done
}

@test "a CPU whose PMUs are absent: the reason names the memory controllers, and the links" {
	local tree=$BATS_TEST_TMPDIR/gnr

	unpack "$BATS_FILE_TMPDIR/intel-gnr-generic.txt" "$tree"
	# Masks of more than 8 bits do not fit into the terms of PMUs without a name: other events count.
	expect 0 "$UNCORE" --root "$tree" doctor
	shows 'ok +intel-cha: Intel caching and home agents: 4 PMUs, 10 metrics' 'ok +intel-imc' 'ok +intel-upi'
	rm -r "$tree"/sys/bus/event_source/devices/*
	refuses 3 "$UNCORE" --root "$tree" mem --timeout 1
	says 'memory\.read\.bandwidth: .* no PMU named uncore_imc_'
	refuses 3 "$UNCORE" --root "$tree" explain 'memory.*'
	says 'memory\.\*: .* no PMU named uncore_imc_'
	refuses 3 "$UNCORE" --root "$tree" link --timeout 1
	says 'link\.out\.bandwidth: .* no PMU named uncore_upi_'
}

@test "why a latency of PCIe has no formula" {
	local sim

	for sim in ivt skx icx spr; do
		expect 3 "$UNCORE" --source "sim:$sim" stat -M 'pcie.*latency*'
		says 'no formula for this CPU model: the time needs three counters at once \(occupancy, inserts, clock\)'
	done
}
