#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # set by run
# Worked examples of metrics of servers: counts of one second, and the values that the documents give for them.
# shellcheck disable=SC2030,SC2031 # $output is that of run, in the test that reads it

load helpers

setup_file() {
	"$UNCORE_SOURCE_ROOT/tests/machines/make-intel" "$BATS_FILE_TMPDIR"
}

# counts MACHINE PMU/TERMS=COUNT...: a simulation of MACHINE with these counts in a second.
counts() {
	local event terms

	SIM=$BATS_TEST_TMPDIR/counts.yaml
	printf 'sim: counts\nmachine: %s\nrates:\n' "$1" >"$SIM"
	for event in "${@:2}"; do
		terms=${event#*/}
		echo "  - {pmu: ${event%%/*}, event: \"${terms%=*}\", constant: ${event##*=}}"
	done >>"$SIM"
}

# gives METRIC QUALITY VALUE...: the values of its rows, rounded to thousandths.
gives() {
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -M "$1"
	[ "$(jq -sr '(map(.quality) | unique), map(.value * 1000 | round / 1000) | join(" ")' <<<"$output")" = \
		"$2"$'\n'"${*:3}" ] || fail "not ${*:2}"
}

# by_node EVENT NODE:VALUE...
by_node() {
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -e "$1" --per-node
	[ "$(jq -r '"\(.node):\(.value)"' <<<"$output" | sed 's/\.0$//' | paste -sd ' ')" = "${*:2}" ] || fail "$output"
}

@test "DDIO: 10 misses and 30 hits of device reads" {
	counts spr uncore_cha_0/event=0x35,umask=0xc8f3fe04=10 uncore_cha_0/event=0x35,umask=0xc8f3fd04=30 \
		uncore_cha/event=0x35,umask=0xc8f3fe04=0 uncore_cha/event=0x35,umask=0xc8f3fd04=0
	gives pcie.inbound.read.llc.miss.ratio measured 0.25
	gives pcie.inbound.read.llc.hit.ratio measured 0.75
	gives pcie.inbound.read.llc.miss.bandwidth measured 640
	gives pcie.inbound.read.llc.hit.bandwidth measured 1920
	gives pcie.inbound.read.llc.bandwidth measured 2560
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" pcie --ddio
	shows 'PLACE +DEVICES +ALL +LLC +MEMORY +LLC +MEMORY' \
		'socket 0 +read +2\.560 kB/s +1\.920 kB/s +640\.0 B/s +75\.00 % +25\.00 %'
}

@test "DDIO: the view has the numbers of stat, of each socket, in rounds of at most four counters a slice" {
	local view options rows=()

	for view in pcie\ --ddio "stat --per-socket -M pcie.inbound.read.llc.*,pcie.inbound.write.llc.*"; do
		for options in '-j --timeout 1' '--csv --timeout 1'; do
			# shellcheck disable=SC2086 # words
			expect 0 "$UNCORE" --source sim:spr,step=1s $view $options
			rows+=("$output")
		done
	done
	[ "${rows[0]}" = "${rows[2]}" ] || fail 'JSON differs'
	[ "${rows[1]}" = "${rows[3]}" ] || fail 'CSV differs'
	[ "$(jq -r '"\(.socket) \(.quality)"' <<<"${rows[0]}" | sort | uniq -c | tr -s ' ')" = ' 10 0 measured' ] || fail
	expect 0 "$UNCORE" --root "$SPR" pcie --ddio --dry-run -j
	jq -se 'group_by([.pmu, .round]) | length == 2 * (map(.[0].pmu) | unique | length) and all(length <= 4)' \
		<<<"$output" || fail 'not two rounds of four counters'
	expect 0 "$UNCORE" --source sim:spr,step=1s pcie --ddio
	shows 'Counting in 2 rounds of 1\.000 s'
}

@test "DDIO: the upper bits of the mask are above bit 32, in the formats of Ice Lake and of later models" {
	local machine format

	for machine in icx:32-57 spr:32-63; do
		format=$(grep 'uncore_cha_0/format/umask = ' "$MACHINES/intel-${machine%:*}-1socket.txt")
		[ "${format##* = }" = "config:8-15,${machine#*:}" ] || fail "$format"
		expect 0 "$UNCORE" --source "sim:${machine%:*}" stat --dry-run -j -M pcie.inbound.read.llc.miss.bandwidth
		jq -se 'any(.pmu == "uncore_cha_0" and .config[0] == "0xc8f3fe00000435")' <<<"$output" || fail "$machine"
	done
}

@test "DDIO: machines without these events give the reason" {
	local machine

	for machine in "$ZEN4" "$T410" "$MACHINES/intel-ivt-1socket.txt"; do
		expect 3 "$UNCORE" --root "$machine" pcie --ddio
		says 'pcie.inbound.read.llc.bandwidth: '
	done
	expect 2 "$UNCORE" --root "$SPR" mem --ddio
	expect 3 "$UNCORE" --source sim:spr pcie --ddio --device nvme0
	says 'uncore_cha_0 does not distinguish root ports'
}

@test "Sapphire Rapids: 300 of 400 data reads and their prefetches are addressed to memory of this socket" {
	counts spr uncore_cha_0/event=0x35,umask=0xc816fe01=200 uncore_cha_0/event=0x35,umask=0xc896fe01=100 \
		uncore_cha_0/event=0x35,umask=0xc8177e01=60 uncore_cha_0/event=0x35,umask=0xc8977e01=40 \
		uncore_cha/event=0x35,umask=0xc816fe01=0 uncore_cha/event=0x35,umask=0xc896fe01=0 \
		uncore_cha/event=0x35,umask=0xc8177e01=0 uncore_cha/event=0x35,umask=0xc8977e01=0
	gives memory.local.read.ratio measured 0.75
	gives memory.remote.read.ratio measured 0.25
}

@test "Granite Rapids: a DCLK of 1.6 GHz is DDR5-6400, and 0.4e9 CAS fill half of a channel" {
	counts "$BATS_FILE_TMPDIR/intel-gnr-1socket.txt" uncore_imc/event=0x01,umask=0x01=1.6e9 \
		uncore_imc/event=0x05,umask=0xff=0.3e9 uncore_imc/event=0x06,umask=0xff=0.1e9
	gives memory.clock.frequency measured 3200000000
	gives memory.utilization measured 0.5
}

@test "persistent memory of Cascade Lake: by the stepping, 4 against 7" {
	local skx=$BATS_TEST_TMPDIR/skx events

	unpack "$UNCORE_SOURCE_ROOT/tests/machines/intel-skx-1socket.txt" "$skx"
	# shellcheck disable=SC2054 # the commas are those of events
	events=(uncore_m2m_0/event=0x37,umask=0x08=1e6 uncore_m2m/event=0x37,umask=0x08=0
		uncore_m2m_0/event=0x38,umask=0x20=2e6 uncore_m2m/event=0x38,umask=0x20=0
		uncore_imc_0/event=0xe0,umask=0x01=3e9 uncore_imc/event=0xe0,umask=0x01=0
		uncore_imc_0/event=0xe3=1e7 uncore_imc/event=0xe3=0 uncore_imc/event=0x00=1e9
		uncore_imc_0/event=0xd3,umask=0x01=6e6 uncore_imc/event=0xd3,umask=0x01=0
		uncore_imc_0/event=0xd3,umask=0x02=1e6 uncore_imc/event=0xd3,umask=0x02=0
		uncore_imc_0/event=0xd3,umask=0x04=1e6 uncore_imc/event=0xd3,umask=0x04=0)
	counts "$skx" "${events[@]}" # stepping 4
	refuses 3 "$UNCORE" --source "sim:$SIM,step=1s" stat --timeout 1 -M 'memory.persistent.*'
	sed -i 's/^\(stepping.*: \)4$/\17/' "$skx/proc/cpuinfo"
	gives memory.persistent.read.bandwidth measured 64000000
	gives memory.persistent.bandwidth measured 192000000
	gives dram.cache.hit.ratio measured 0.75
	gives dram.cache.miss.bandwidth measured 128000000
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -M persistent.read.queue.latency
	jq -e '(.value * 1e9 | round) == 300 and .quality == "measured"' <<<"$output" || fail
}

@test "commands of one rank by name, and reads that complete partial writes" {
	local skx=$UNCORE_SOURCE_ROOT/tests/machines/intel-skx-1socket.txt

	counts "$skx" uncore_imc_0/event=0xb2,umask=0x10=5 uncore_imc_0/event=0xbf,umask=0x10=6 \
		uncore_imc/event=0x04,umask=0x02=1e6
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 \
		-e uncore_imc_0/rank_rd=2/,uncore_imc_0/rank_wr=7/
	[ "$(jq -r '.count * 1' <<<"$output" | paste -sd ' ')" = '5 6' ] || fail
	gives dram.underfill.read.bandwidth measured 384000000 # of six channels
}

@test "DCLK: a clock above 2.3 GHz is no quarter, and one below 1.6 GHz shows no half" {
	counts "$BATS_FILE_TMPDIR/intel-gnr-1socket.txt" uncore_imc/event=0x01,umask=0x01=3.2e9 \
		uncore_imc/event=0x05,umask=0xff=0.3e9 uncore_imc/event=0x06,umask=0xff=0.1e9
	gives memory.utilization suspect 0.25
	[[ $(jq -r .reason <<<"$output") == *'a quarter of the data rate'*'the share twice this' ]] || fail
	counts "$SPR" uncore_imc/event=0x01,umask=0x01=2.4e9 uncore_imc/event=0x05,umask=0xcf=0.2e9 \
		uncore_imc/event=0x05,umask=0xf0=0.1e9
	gives memory.utilization measured 0.5
	gives memory.clock.frequency measured 2400000000
	counts "$SPR" uncore_imc/event=0x01,umask=0x01=1.2e9 uncore_imc/event=0x05,umask=0xcf=0.1e9 \
		uncore_imc/event=0x05,umask=0xf0=0.05e9
	gives memory.utilization suspect 0.5
	gives memory.clock.frequency suspect 1200000000
	[[ $(jq -r .reason <<<"$output") == *'the clock twice this' ]] || fail
}

@test "DCLK: the rate of the modules decides" {
	unpack "$SPR" "$BATS_TEST_TMPDIR/spr"
	helper smbios write twice "$BATS_TEST_TMPDIR/spr" # DDR5-4000
	counts "$BATS_TEST_TMPDIR/spr" uncore_imc/event=0x01,umask=0x01=1.5e9
	gives memory.clock.frequency measured 1500000000
	counts "$BATS_TEST_TMPDIR/spr" uncore_imc/event=0x01,umask=0x01=1.1e9
	gives memory.clock.frequency suspect 1100000000
}

# zen4 CYCLES REQUESTS: of near and of far DRAM each.
zen4() {
	local terms=enallcores=1,enallslices=1,sliceid=3,threadmask=3

	counts "$ZEN4" "amd_l3/event=0xac,umask=0x01,$terms=$1" "amd_l3/event=0xad,umask=0x01,$terms=$2" \
		"amd_l3/event=0xac,umask=0x02,$terms=$1" "amd_l3/event=0xad,umask=0x02,$terms=$2"
}

@test "Zen 4: latency in core clocks or in nanoseconds, decided where only one can be" {
	zen4 11e6 1e6 # 110
	gives memory.local.read.latency.cycles suspect 110
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" mem
	shows 'machine .* 110\.0 ns'
	[[ $output != *cycle* && $output != *suspect* ]] || fail
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -M 'memory.*read.latency'
	jq -se 'all(.[]; .quality == "measured" and (.value * 1e9 | round) == 110) and length == 3' <<<"$output" || fail
	zen4 40e6 1e6 # 400
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -M 'memory.*read.latency'
	jq -se 'all(.[]; .quality == "unavailable" and (.reason | contains("core clocks")))' <<<"$output" || fail
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" mem
	shows 'machine .* 400\.0 cycle !' 'memory\.read\.latency\.cycles is suspect'
	[[ $output != *'ns !'* && $output != *'read.latency is suspect'* ]] || fail
}

@test "Zen 4 and 5: pcie has a line for each IO root complex, from the counters of the fabric's sums" {
	local sim

	for sim in zen4:4 zen5:8; do
		expect 0 "$UNCORE" --source "sim:${sim%:*},step=1s" pcie
		[ "$(grep -c '^amd_df, complex [0-7] ' <<<"$output")" -eq "${sim#*:}" ] || fail
		expect 0 "$UNCORE" --source "sim:${sim%:*},step=1s" pcie -j
		jq -se 'group_by(.name | contains("complex")) | map(map(.value) | add) | length == 2 and
			(.[0] / .[1] - 1 | fabs) < 1e-9' <<<"$output" || fail
		expect 0 "$UNCORE" --source "sim:${sim%:*},step=1s" pcie --dry-run -j
		[ "$(wc -l <<<"$output")" -eq 16 ] || fail
	done
}

# hbm M2M: 2e9 CAS of HBM and 1e9 of DRAM, and this many reads and writes of the mesh.
hbm() {
	local machine=$BATS_FILE_TMPDIR/intel-max-1socket.txt

	counts "$machine" uncore_hbm_0/event=0x05,umask=0xcf=2e9 uncore_hbm/event=0x05,umask=0xcf=0 \
		uncore_hbm_0/event=0x05,umask=0xf0=2e9 uncore_hbm/event=0x05,umask=0xf0=0 \
		uncore_imc_0/event=0x05,umask=0xcf=1e9 uncore_imc/event=0x05,umask=0xcf=0 \
		uncore_imc_0/event=0x05,umask=0xf0=1e9 uncore_imc/event=0x05,umask=0xf0=0 \
		"uncore_m2m_0/event=0x24,umask=0x304=$1" uncore_m2m/event=0x24,umask=0x304=0 \
		"uncore_m2m_0/event=0x25,umask=0x1810=$1" uncore_m2m/event=0x25,umask=0x1810=0
}

@test "Xeon Max: what the mesh sends decides how many bytes a CAS of HBM has" {
	hbm 2e9 # 128e9 bytes: 64e9 of DRAM, 64e9 of HBM
	gives memory.package.read.bandwidth measured 64000000000
	gives memory.package.write.bandwidth measured 64000000000
	gives memory.package.bandwidth measured 128000000000
	gives 'memory.package.read.bandwidth,fabric.memory.read.bandwidth' measured 64000000000 128000000000
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -M memory.package.read.bandwidth --per-socket
	[ "$(jq -r .quality <<<"$output")" = measured ] || fail
	hbm 3e9 # 64 bytes a CAS of HBM
	gives memory.package.read.bandwidth suspect 64000000000
	gives memory.package.bandwidth suspect 128000000000
}

@test "Xeon Max: what its documents say of a metric in doubt, among them what the formula takes" {
	local root

	expect 0 "$UNCORE" --root "$BATS_FILE_TMPDIR/intel-max-1socket.txt" explain memory.package.read.bandwidth
	shows 'may be +x 1: 32 bytes a CAS \(Intel.s PCM' 'may be +x 2: 64 bytes a CAS \(LIKWID'
	for root in "$BATS_FILE_TMPDIR/intel-max-1socket.txt" "$SPR" "$ZEN4"; do
		expect 0 "$UNCORE" --root "$root" list metrics --all -j
		jq -e '[.metrics[].alternatives | select(length > 0)] | length > 0 and all(.[];
			([.[].factor] | index(1)) != null and (unique_by(.factor) | length) == length)' <<<"$output" || fail
	done
}

@test "Xeon Max: 1e9 CAS of HBM are 32e9 bytes a box, and suspect; all 32 boxes count" {
	counts "$BATS_FILE_TMPDIR/intel-max-1socket.txt" uncore_hbm/event=0x05,umask=0xcf=1e9 \
		uncore_hbm/event=0x05,umask=0xf0=0
	gives memory.package.read.bandwidth suspect 1024000000000
	[[ $(jq -r .reason <<<"$output") == *'32 bytes a CAS'*'LIKWID 64'* ]] || fail
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -M memory.package.bandwidth --no-merge
	[ "$(jq -r '.value * 1' <<<"$output" | sort -u)" = 32000000000 ] || fail 'not the same in all boxes'
	[ "$(jq -r .pmu <<<"$output" | sort -u | wc -l)" -eq 32 ] || fail 'not 32 boxes'
}

@test "Xeon Max: IOTLB misses and accelerators" {
	counts "$BATS_FILE_TMPDIR/intel-max-1socket.txt" dmar0/iotlb_lookup=1000 dmar0/iotlb_hit=900 \
		dsa0/event_category=0x1,event=0x1=1000 iax0/event_category=0x1,event=0x2=1000
	gives iommu.iotlb.miss.ratio measured 0.1
	gives accelerator.dsa.in.bandwidth suspect 32000
	[[ $(jq -r .reason <<<"$output") == *"known from Intel's PCM only"* ]] || fail "$output"
	gives accelerator.iaa.out.bandwidth suspect 512000
}

# slots COUNT QUALITY SHARE: the utilization in millionths, of links that send COUNT slots in 2e9 cycles.
slots() {
	counts spr uncore_upi/event=0x02,umask=0x0f=900000 uncore_upi/event=0x02,umask=0x97=300000 \
		uncore_upi/event=0x02,umask=0xff="$1" uncore_upi/event=0x01=2e9
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -M link.out.utilization
	jq -e --arg quality "$2" --argjson share "$3" '.quality == $quality and (.value * 1e6 | round) == $share' \
		<<<"$output" || fail "$*"
}

@test "UPI of Sapphire Rapids: 900000 slots of data and 300000 others of 6e9" {
	counts spr uncore_upi_0/event=0x02,umask=0x0f=900000 uncore_upi_0/event=0x02,umask=0x97=300000 \
		uncore_upi_0/event=0x02,umask=0xff=6e9 uncore_upi/event=0x02,umask=0x0f=0 \
		uncore_upi/event=0x02,umask=0x97=0 uncore_upi/event=0x02,umask=0xff=0 \
		uncore_upi/event=0x03,umask=0x0f=0
	gives link.out.bandwidth measured 6400000
	# The links that send nothing, not even empty slots, do not matter.
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" link -j 1 1
	jq -se 'map(select(.name == "link.out.utilization" and .pmu == null)) | length > 0 and
		all(.quality == "measured" and (.value * 1e6 | round) == 200)' <<<"$output" || fail 'of the sum'
	jq -se 'map(.coverage) | all(. == 1)' <<<"$output" || fail 'multiplexed'
	# A link with 24 lanes sends 6e9 slots a second at 16 GT/s, with 20 lanes 5e9; with 4.2e9 of 2e9 cycles the mask does
	# not count every slot, or the link sleeps.
	slots 6e9 measured 200
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" explain link.out.utilization
	shows '  doubt .*mask 0xff' 'link\.out\.flits\.per\.cycle is 1\.000 1/cycle, measured'
	slots 5e9 measured 240
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" explain -j link.out.utilization
	jq -e '.metrics[0].deciders | length == 1 and .[0].name == "link.out.flits.per.cycle" and
		(.[0].value * 6 - 5 | fabs) < 1e-6 and .[0].quality == "measured"' <<<"$output" || fail
	slots 4.2e9 suspect 286
	[[ $(jq -r .reason <<<"$output") == *"no table names it"* ]] || fail "$output"
	# Counters of a copy of /sys cannot be opened: said, and no error.
	expect 0 "$UNCORE" --root "$SPR" explain link.out.utilization
	shows 'link\.out\.flits\.per\.cycle is -, unavailable: counters can be opened'
}

@test "xGMI: one link, and the sum, by direction" {
	counts zen5 amd_df/event=0xd5f,umask=0xf3e=1000 amd_df/event=0xd9f,umask=0xf3e=500 \
		amd_df/event=0xddf,umask=0xf3e=0 amd_df/event=0xe1f,umask=0xf3e=0 amd_df/event=0xe5f,umask=0xf3e=0 \
		amd_df/event=0xe9f,umask=0xf3e=0 amd_df/event=0xd5f,umask=0xf3f=100 amd_df/event=0xd9f,umask=0xf3f=0
	gives link.out.bandwidth measured 96000
	gives link.0.out.bandwidth measured 64000
	gives link.1.out.bandwidth measured 32000
	gives link.5.out.bandwidth measured 0
	gives link.0.in.bandwidth measured 6400
	counts zen3 amd_df/event=0x807,umask=0x02=1000
	gives link.1.out.bandwidth measured 32000
	counts zen4 amd_df/event=0xd1f,umask=0xf3e=1000
	gives link.7.out.bandwidth measured 64000
	expect 3 "$UNCORE" --source "sim:$SIM,step=1s" stat --timeout 1 -M link.0.in.bandwidth
}

@test "C states: ticks of the time-stamp counter as a share of it, of packages and of cores" {
	local spr=$BATS_TEST_TMPDIR/spr pmus=$BATS_TEST_TMPDIR/spr/sys/bus/event_source/devices kind name type cpus

	unpack "$SPR" "$spr"
	for kind in 'pkg 41 0' 'core 42 0,2'; do
		read -r name type cpus <<<"$kind"
		mkdir -p "$pmus/cstate_$name/format" "$pmus/cstate_$name/events"
		echo "$type" >"$pmus/cstate_$name/type"
		echo "$cpus" >"$pmus/cstate_$name/cpumask"
		echo config:0-63 >"$pmus/cstate_$name/format/event"
		echo event=0x02 >"$pmus/cstate_$name/events/c6-residency"
	done
	counts "$spr" cstate_pkg/event=0x02=0.5e9 cstate_core/event=0x02=1.5e9 msr/tsc=2e9
	gives power.package.c6.ratio measured 0.25
	gives power.cores.c6.ratio measured 0.75
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -M power.cores.c6.ratio --no-merge
	jq -se 'length == 2 and all(.[]; .value * 1 == 0.75)' <<<"$output" || fail
	# The clock is counted with it, and shown only where it is asked for.
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -M power.cores.c6.ratio,clock.tsc.frequency
	jq -se 'map(.name) | unique == ["clock.tsc.frequency", "power.cores.c6.ratio"]' <<<"$output" || fail
	counts "$spr" cstate_pkg/event=0x02=0.5e9 msr/tsc=0
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -M power.package.c6.ratio
	jq -e '.value == null and (.reason | startswith("clock.tsc.frequency has no value"))' <<<"$output" || fail
}

@test "AMD: power of each core, in joules of the kernel's scale" {
	local pmu=$BATS_TEST_TMPDIR/zen4/sys/bus/event_source/devices/power_core

	unpack "$ZEN4" "$BATS_TEST_TMPDIR/zen4"
	mkdir -p "$pmu/format" "$pmu/events"
	echo 40 >"$pmu/type"
	echo 0,2 >"$pmu/cpumask"
	echo config:0-7 >"$pmu/format/event"
	echo event=0x01 >"$pmu/events/energy-core"
	echo 2.3283064365386962890625e-10 >"$pmu/events/energy-core.scale" # 2^-32
	echo Joules >"$pmu/events/energy-core.unit"
	counts "$BATS_TEST_TMPDIR/zen4" power_core/event=0x01=4294967296
	gives power.cores measured 2
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 -M power.cores --no-merge
	[ "$(jq -r '"\(.cpu) \(.value * 1)"' <<<"$output" | sort | paste -sd ' ')" = '0 1 2 1' ] || fail
}

# resctrl DIRECTORY: a machine of two sockets with these groups: /, web and its monitor group web/db.
resctrl() {
	local cpu group cache

	mkdir -p "$1/sys/devices/system/cpu" "$1/proc"
	echo 0-1 | tee "$1/sys/devices/system/cpu/present" >"$1/sys/devices/system/cpu/online"
	for cpu in 0 1; do
		mkdir -p "$1/sys/devices/system/cpu/cpu$cpu"/{topology,cache/index3} "$1/sys/devices/system/node/node$cpu"
		echo $cpu | tee "$1/sys/devices/system/cpu/cpu$cpu/topology/physical_package_id" \
			"$1/sys/devices/system/cpu/cpu$cpu/cache/index3/id" >"$1/sys/devices/system/node/node$cpu/cpulist"
	done
	for group in . web web/mon_groups/db; do
		for cache in 00 01; do
			mkdir -p "$1/sys/fs/resctrl/$group/mon_data/mon_L3_$cache"
			echo 4096 >"$1/sys/fs/resctrl/$group/mon_data/mon_L3_$cache/llc_occupancy"
			echo 1000 | tee "$1/sys/fs/resctrl/$group/mon_data/mon_L3_$cache/mbm_local_bytes" \
				>"$1/sys/fs/resctrl/$group/mon_data/mon_L3_$cache/mbm_total_bytes"
		done
	done
}

@test "resctrl: bandwidth by group and cache" {
	local root=$BATS_TEST_TMPDIR/resctrl

	resctrl "$root"
	echo Unavailable >"$root/sys/fs/resctrl/web/mon_data/mon_L3_01/mbm_total_bytes"
	expect 0 "$UNCORE" --root "$root" mem --resctrl --timeout 100ms
	[[ $output =~ GROUP\ +CACHE\ +BANDWIDTH\ +LOCAL\ BANDWIDTH\ +LOCAL\ RATIO\ +OCCUPANCY ]] || fail "$output"
	[[ $output =~ web/db\ +L3\ 1\ +0\ B/s\ +0\ B/s\ .*4.096\ kB ]] || fail "$output"
	[[ $output =~ web\ +L3\ 1\ +-\ ! && $output == *"resctrl has 'Unavailable' there"* ]] || fail "$output"
	[ "$(grep -c ' L3 ' <<<"$output")" -eq 6 ] || fail 'not 3 groups on 2 caches'
	expect 0 "$UNCORE" --root "$root" --source resctrl stat -M group.memory.bandwidth,group.cache.occupancy -j --timeout 100ms
	[ "$(jq -r '"\(.name) \(.role) \(.quality) \(.value)"' <<<"$output" | sort | paste -sd ,)" = \
		"$(printf '%s,' 'group.cache.occupancy / measured 8192' 'group.cache.occupancy web measured 8192' \
			'group.cache.occupancy web/db measured 8192' 'group.memory.bandwidth / measured 0' \
			'group.memory.bandwidth web partial 0')group.memory.bandwidth web/db measured 0" ] || fail "$output"
	expect 2 "$UNCORE" --source kernel mem --resctrl
	expect 2 "$UNCORE" --root "$root" --resctrl stat -M memory.bandwidth --source kernel
	expect 3 "$UNCORE" --root "$MACHINES/intel-spr-1socket.txt" --resctrl list
	[[ $stderr == *'cannot monitor its L3 cache (no flag cqm_mbm_total'* ]] || fail "$stderr"
	expect 3 "$UNCORE" --root "$GRACE" --resctrl list
	[[ $stderr == *'resctrl is not mounted'* ]] || fail "$stderr"
}

@test "resctrl: machines without it have no finding about a driver" {
	local root=$BATS_TEST_TMPDIR/spr command

	unpack "$MACHINES/intel-spr-1socket.txt" "$root"
	rm -rf "$root/sys/module/intel_uncore"
	resctrl "$BATS_TEST_TMPDIR/resctrl"
	cp -r "$BATS_TEST_TMPDIR/resctrl/sys/fs" "$root/sys"
	for command in link pcie; do
		expect 3 "$UNCORE" --root "$root" --resctrl $command --timeout 100ms
		[[ $stderr == *'the source resctrl has only what groups move'* && $stderr != *modprobe* ]] || fail "$stderr"
	done
}

@test "resctrl in a snapshot: groups and events, but no counts" {
	resctrl "$BATS_TEST_TMPDIR/resctrl"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/resctrl" --resctrl snapshot "$BATS_TEST_TMPDIR/snapshot"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/snapshot" --resctrl list pmus -j
	[ "$(jq '.pmus | length' <<<"$output")" -eq 6 ] || fail "$output"
	expect 3 "$UNCORE" --root "$BATS_TEST_TMPDIR/snapshot" --resctrl mem --timeout 100ms
	[[ $stderr == *'A snapshot has no counts'* ]] || fail "$stderr"
	# Names of groups are their users': a snapshot has them only when it is asked to.
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/resctrl" snapshot "$BATS_TEST_TMPDIR/other"
	! grep -q resctrl "$BATS_TEST_TMPDIR/other" || fail
}

# clusters NODES CHAS IMCS: a Granite Rapids in $ROOT: two sockets of so many CPUs, each a NUMA node. IMC n counts 2^n, and
# CHA 60 counts 1.
clusters() {
	local cpu node i dir files

	ROOT=$BATS_TEST_TMPDIR/gnr-$1
	dir=$ROOT/sys/bus/event_source/devices
	mkdir -p "$ROOT/proc" "$ROOT/sys/devices/system/cpu"
	printf 'vendor_id : GenuineIntel\ncpu family : 6\nmodel : 173\n' >"$ROOT/proc/cpuinfo"
	echo "0-$(($1 - 1)),120-$((119 + $1))" | tee "$ROOT/sys/devices/system/cpu/present" >"$ROOT/sys/devices/system/cpu/online"
	for ((node = 0; node < 2 * $1; node++)); do
		cpu=$((node < $1 ? node : 120 + node - $1))
		mkdir -p "$ROOT/sys/devices/system/cpu/cpu$cpu/topology" "$ROOT/sys/devices/system/node/node$node"
		echo $((node / $1)) >"$ROOT/sys/devices/system/cpu/cpu$cpu/topology/physical_package_id"
		echo "$cpu" >"$ROOT/sys/devices/system/node/node$node/cpulist"
	done
	files=()
	for ((i = 0; i < $2; i++)); do files+=("$dir/uncore_cha_$i/format"); done
	for ((i = 0; i < $3; i++)); do files+=("$dir/uncore_imc_$i/format"); done
	mkdir -p "${files[@]}" "$dir/uncore_upi_0/format"
	for i in "$dir"/*; do
		echo 9 >"$i/type"
		echo 0,120 >"$i/cpumask"
		echo config:0-7 >"$i/format/event"
	done
	files=()
	for ((i = 0; i < $3; i++)); do files+=("uncore_imc_$i/event=0x1=$((1 << i))"); done
	counts "$ROOT" "${files[@]}" uncore_cha_60/event=0x1=1 uncore_cha/event=0x1=0 uncore_upi/event=0x1=1
}

@test "Granite Rapids with sub-NUMA clusters: IMC 4 of 12 is in cluster 2, CHA 60 of 120 in cluster 1" {
	clusters 3 120 12
	by_node uncore_imc/event=1/ 0:780 1:195 2:3120 3:780 4:195 5:3120
	by_node uncore_cha/event=1/ 0:0 1:1 2:0 3:0 4:1 5:0
	by_node uncore_upi/event=1/ null:null null:null
	[[ $(jq -r .reason <<<"$output") == *'socket 1 has several NUMA nodes, and it is not known which of them uncore_upi_0 counts'* ]] ||
		fail "$output"
	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat --timeout 1 -e uncore_imc/event=1/,uncore_upi/event=1/ --per-node
	[[ $output =~ uncore_imc/event=1/\ +node\ 5\ +3,120\ +measured ]] || fail "$output"
	[[ $output =~ uncore_upi/event=1/\ +socket\ 0\ +-\ +unavailable ]] || fail "$output"
	clusters 2 64 8
	by_node uncore_imc/event=1/ 0:204 1:51 2:204 3:51
	by_node uncore_cha/event=1/ 0:0 1:1 2:0 3:1
	# No rule for four, and none for other models.
	clusters 4 64 12
	by_node uncore_imc/event=1/ null:null null:null
	by_node uncore_cha/event=1/ 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:1
	sed -i 's/173/143/' "$ROOT/proc/cpuinfo"
	by_node uncore_cha/event=1/ null:null null:null
}

@test "--per-node: a socket of one node, the L3 caches of AMD, and groups of resctrl" {
	expect 0 "$UNCORE" --source sim:t410,step=1s stat -j --timeout 1 -M memory.bandwidth --per-node
	[ "$(jq -r '"\(.socket) \(.node) \(.quality)"' <<<"$output" | paste -sd ,)" = '0 0 measured,1 1 measured' ] || fail "$output"
	unpack "$ZEN4" "$BATS_TEST_TMPDIR/nps"
	mkdir -p "$BATS_TEST_TMPDIR/nps/sys/devices/system/node"/node{0,1}
	sed "s|^machine:.*|machine: $BATS_TEST_TMPDIR/nps|" "$UNCORE_SOURCE_ROOT/data/sim/zen4.yaml" >"$BATS_TEST_TMPDIR/nps.yaml"
	cpus=$(cat "$BATS_TEST_TMPDIR/nps/sys/devices/system/cpu/online")
	[[ $cpus =~ ^0-([0-9]+)$ ]]
	echo "0-$((BASH_REMATCH[1] / 2))" >"$BATS_TEST_TMPDIR/nps/sys/devices/system/node/node0/cpulist"
	echo "$((BASH_REMATCH[1] / 2 + 1))-${BASH_REMATCH[1]}" >"$BATS_TEST_TMPDIR/nps/sys/devices/system/node/node1/cpulist"
	expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/nps.yaml,step=1s" stat -j --timeout 1 \
		-M cache.hit.ratio,memory.bandwidth --per-node
	[ "$(jq -r '"\(.name) \(.node) \(.quality)"' <<<"$output" | paste -sd ,)" = \
		'cache.hit.ratio 0 measured,cache.hit.ratio 1 measured,memory.bandwidth null unavailable' ] || fail "$output"
	# In the table the sockets and the machine come with the nodes. What is not known of nodes is said below it.
	expect 0 "$UNCORE" --source sim:t410,step=1s mem --per-node 1 1
	[ "$(awk '/GB/ { print $1, ($1 == "machine" ? "" : $2) }' <<<"$output" | paste -sd ,)" = \
		'node 0,socket 0,node 1,socket 1,machine ' ] || fail "$output"
	expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/nps.yaml,step=1s" mem --per-node 1 1
	[[ $output =~ 'socket 0  '[1-9].*'machine  '.*'it is not known which of them' ]] || fail "$output"
	resctrl "$BATS_TEST_TMPDIR/resctrl"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/resctrl" --resctrl stat -j --timeout 100ms -M group.cache.occupancy --per-node
	[ "$(jq -r '"\(.node)\(.role)"' <<<"$output" | paste -sd ' ')" = '0/ 0web 0web/db 1/ 1web 1web/db' ] || fail "$output"
	# A cache of two nodes that the kernel counts as a whole.
	echo 0 >"$BATS_TEST_TMPDIR/resctrl/sys/devices/system/cpu/cpu1/cache/index3/id"
	echo 0 >"$BATS_TEST_TMPDIR/resctrl/sys/devices/system/cpu/cpu1/topology/physical_package_id"
	rm -r "$BATS_TEST_TMPDIR"/resctrl/sys/fs/resctrl/{,web/,web/mon_groups/db/}mon_data/mon_L3_01
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/resctrl" --resctrl stat -j --timeout 100ms -M group.cache.occupancy --per-node
	[ "$(jq -r '"\(.node)\(.quality)"' <<<"$output" | sort -u)" = nullunavailable ] || fail "$output"
}
