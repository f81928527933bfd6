#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Event syntax from outside: what is planned, and the sentence for what cannot be.

load helpers

plan() {
	expect 0 "$UNCORE" --root "$1" stat --dry-run -j -e "$2"
}

plan_of_pmus() {
	plan "$1" "$2" && jq -r .pmu <<<"$output" | sort -u | wc -l
}

@test "a PMU's name without its number selects all PMUs of that name" {
	[ "$(plan_of_pmus "$SPR" 'uncore_imc/event=0x5,umask=0xcf/')" -eq 8 ]
	[ "$(plan_of_pmus "$SPR" 'uncore_imc_3/event=0x5,umask=0xcf/')" -eq 1 ]
	[ "$(plan_of_pmus "$T410" 'nvidia_pcie_pmu_0_rc/rd_bytes/')" -eq 6 ]
}

@test "a PMU glob" {
	[ "$(plan_of_pmus "$T410" 'nvidia_pcie_pmu_0_rc_[0-2]/rd_bytes/')" -eq 3 ]
	[ "$(plan_of_pmus "$SPR" 'uncore_imc_free_*_[01]/dclk/')" -eq 2 ]
}

@test "a raw configuration, hexadecimal and decimal values, split and high bits" {
	plan "$SPR" 'uncore_imc_0/config=0xcf05/'
	[ "$(jq -r '.config[0]' <<<"$output")" = 0xcf05 ]
	plan "$SPR" 'uncore_imc_0/event=5,umask=207/'
	[ "$(jq -r '.config[0]' <<<"$output")" = 0xcf05 ]
	plan "$T410" 'nvidia_ucf_pmu_0/cycles/'
	[ "$(jq -r '.config[0]' <<<"$output")" = 0x100000000 ]
}

@test "events of a list are counted separately, events in braces as one group" {
	plan "$T410" 'nvidia_cmem_latency_pmu_0/rd_req/,nvidia_cmem_latency_pmu_0/cycles/'
	[ "$(jq -s 'map(select(.leader)) | length' <<<"$output")" -eq 2 ]
	plan "$T410" '{nvidia_cmem_latency_pmu_0/rd_req/,nvidia_cmem_latency_pmu_0/cycles/}'
	[ "$(jq -s 'map(select(.leader)) | length' <<<"$output")" -eq 1 ]
	[ "$(jq -s 'map(.group) | unique | length' <<<"$output")" -eq 1 ]
}

@test "-e may be repeated" {
	expect 0 "$UNCORE" --root "$SPR" stat --dry-run -j -e uncore_imc_0/event=1/ \
		-e uncore_imc_1/event=2/
	[ "$(jq -r .pmu <<<"$output" | sort -u | wc -l)" -eq 2 ]
}

@test "events of the catalogue are counted by their names" {
	local where

	expect 0 "$UNCORE" --root "$SPR" explain -j memory.bandwidth
	where=$(jq -c '.metrics[0].events[0] | [.name, .config[0]]' <<<"$output")
	plan "$SPR" "uncore_imc_0/$(jq -r '.[0]' <<<"$where")/"
	[ "$(jq -r '.config[0]' <<<"$output")" = "$(jq -r '.[1]' <<<"$where")" ]
	plan "$SPR" 'uncore_imc_0/cas_rd,thresh=2/'
	[ "$(jq -r '.config[0]' <<<"$output")" = 0x200cf05 ]
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -e uncore_imc_0/cas_rd,edge=1/
	says thresh
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -e uncore_imc_0/cas_rdd/
	says 'did you mean cas_rd'
}

@test "if driver and catalogue have the same event name, the driver's event is counted" {
	expect 0 "$UNCORE" --root "$T410" list events -j 'nvidia_ucf_pmu_0/cycles/'
	[ "$(jq -r '.pmus[0].events[] | .evidence' <<<"$output")" = null ]
	refuses 3 "$UNCORE" --root "$SPR" stat --dry-run -e cas_rd
	says 'no PMU of this machine'
}

@test "name= sets the name of the row" {
	expect 0 "$UNCORE" --source "$SIM_T410" stat -j --timeout 1 \
		-e nvidia_ucf_pmu_0/mem_bytes_rd,name=dma/
	[ "$(jq -r .name <<<"$output")" = dma ]
}

@test "a wrong PMU: the error has the name and the nearest ones; exit 3" {
	refuses 3 "$UNCORE" --root "$SPR" stat --dry-run -e uncore_inc_0/event=1/
	says uncore_inc_0 uncore_imc
	refuses 3 "$UNCORE" --root "$T410" stat --dry-run -e nvidia_ucf_pmu_7/event=0x0/
	says nvidia_ucf_pmu_7 nvidia_ucf_pmu_0
}

@test "a wrong alias or term: the error lists the existing names and the nearest ones; exit 2" {
	refuses 2 "$UNCORE" --root "$T410" stat --dry-run -e nvidia_ucf_pmu_0/mem_byte_rd/
	says mem_byte_rd mem_bytes_rd
	refuses 2 "$UNCORE" --root "$T410" stat --dry-run -e nvidia_ucf_pmu_0/event=0,src_loc_cpus=1/
	says src_loc_cpus src_loc_cpu
}

@test "a value too wide for its term: the term, its width, the value; exit 2" {
	refuses 2 "$UNCORE" --root "$T410" stat --dry-run -e nvidia_cmem_latency_pmu_0/event=0x4/
	says event '0x4|4'
	refuses 2 "$UNCORE" --root "$T410" stat --dry-run \
		-e nvidia_pcie_tgt_pmu_0_rc_0/event=0,dst_rp_mask=0x100/
	says dst_rp_mask 0x100
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -e uncore_imc_0/event=0x100/
	says event 0x100
}

@test "values that are not numbers, or have more than 64 bits" {
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -e uncore_imc_0/event=zz/
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -e uncore_imc_0/event=-1/
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -e uncore_imc_0/event=/
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -e uncore_imc_0/config=0x1ffffffffffffffff/
}

@test "malformed event lists are refused" {
	local event

	for event in '' ',' '/' '//' 'uncore_imc_0' 'uncore_imc_0/' '/event=1/' '{' '}' '{}' \
		'{uncore_imc_0/event=1/' 'uncore_imc_0/event=1/}' 'uncore_imc_0/event=1/,' \
		',uncore_imc_0/event=1/' '{uncore_imc_0/event=1/}}' 'uncore_imc_0/event=1/zzz' \
		'uncore_imc_0/event=1//' '{{uncore_imc_0/event=1/}}'; do
		run --separate-stderr "$UNCORE" --root "$SPR" stat --dry-run -e "$event"
		no_sanitizer_report
		[ "$status" -eq 2 ] || [ "$status" -eq 3 ] || fail "'$event' was taken"
		[ -z "$output" ] || fail "'$event' made output"
		[ -n "$stderr" ] || fail "'$event': no sentence"
	done
}

@test "an empty -e is a mistake in usage" {
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -e ''
}

@test "an event of 10,000 characters is refused in a sentence that can be read" {
	local long

	long=$(printf 'x%.0s' {1..10000})
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -e "uncore_imc_0/$long/"
	[ "${#stderr}" -lt 5000 ] || fail 'the sentence is as long as the event'
	refuses 3 "$UNCORE" --root "$SPR" stat --dry-run -e "$long/event=1/"
	[ "${#stderr}" -lt 5000 ] || fail 'the sentence is as long as the event'
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -e "uncore_imc_0/event=0x$long/"
	[ "${#stderr}" -lt 5000 ] || fail 'the sentence is as long as the event'
}

@test "bytes that are not text are refused" {
	run --separate-stderr "$UNCORE" --root "$SPR" stat --dry-run -e $'uncore_imc_0/\xff\xfe\x01/'
	no_sanitizer_report
	[ "$status" -eq 2 ]
}

@test "a wrong metric: the nearest names; exit 2" {
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -M memory.read.bandwidths
	says memory.read.bandwidths 'memory.read.bandwidth[^s]'
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -M ''
}

@test "a metric that this machine cannot count: why; exit 3" {
	refuses 3 "$UNCORE" --root "$SPR" stat --dry-run -M cache.refills
	says cache.refills
}

@test "nothing is planned when one of several is wrong" {
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run -j \
		-e uncore_imc_0/event=1/ -e uncore_imc_0/evnt=1/
}

@test "a recorded tree cannot be counted: an error" {
	refuses 3 "$UNCORE" --root "$SPR" stat -e uncore_imc_0/event=1/ --timeout 10
	says 'root|tree'
}

# The driver looks at config alone, and uncore counts equal configurations once.
distinct_counters() {
	printf 'msr/event=0x0,config1=%d/,' {1..120}
}

@test "a counter that is requested twice is opened once" {
	expect 0 "$UNCORE" --root "$SPR" stat --dry-run -j -e uncore_imc_0/event=1/ \
		-e uncore_imc_0/event=0x1/
	[ "$(jq -s length <<<"$output")" -eq 1 ]
}

@test "hundreds of counters with 64 file descriptors: the limit is raised, and a note says so" {
	local list

	needs_msr
	list=$(distinct_counters)
	all_counted() {
		run --separate-stderr bash -c 'ulimit -Sn 64; exec "$@"' _ \
			"$UNCORE" stat -v -j -e "${list%,}" --timeout 20
		no_sanitizer_report && [ "$status" -eq 0 ] && says '64 to [0-9]+' &&
			jq -se 'length == 120 and all(.quality == "measured" and .count > 0)' <<<"$output"
	}
	eventually all_counted
}

@test "the hard limit of file descriptors: the error names it; exit 1" {
	local list

	needs_msr
	list=$(distinct_counters)
	run --separate-stderr bash -c 'ulimit -n 64; exec "$@"' _ \
		"$UNCORE" stat -j -e "${list%,}" --timeout 20
	no_sanitizer_report
	[ "$status" -eq 1 ] || fail 'exit status'
	[ -z "$output" ]
	says 64 'ulimit|RLIMIT_NOFILE|LimitNOFILE'
}

# Linux drivers/perf/arm_cspmu/arm_cspmu.c: without a cycle counter there is no alias, and bit 32 is event 0.
@test "the code of cycles on a PMU without cycle counter" {
	local tree=$BATS_TEST_TMPDIR/tree.txt pmu

	for pmu in nvidia_ucf_pmu_0 nvidia_pcie_pmu_0_rc_1; do
		plan "$T410" "$pmu/event=0x100000000/"
		grep -v "/$pmu/events/cycles = " "$T410" >"$tree"
		refuses 2 "$UNCORE" --root "$tree" stat --dry-run -e "$pmu/event=0x100000000/"
		says "$pmu: 'event=0x100000000' sets event=0x100000000: this PMU has no cycle counter"
	done
	for pmu in nvidia_scf_pmu_0 nvidia_pcie_pmu_0 nvidia_nvlink_c2c0_pmu_0; do
		grep -v "/$pmu/events/cycles = " "$UNCORE_SOURCE_ROOT/tests/machines/nvidia-grace-1socket.txt" >"$tree"
		refuses 2 "$UNCORE" --root "$tree" stat --dry-run -e "$pmu/event=0x100000000/"
		says 'this PMU has no cycle counter'
	done
}

@test "the rate of an event, as in CSV and JSON" {
	local number='([0-9]+)'

	expect 0 "$UNCORE" --source sim:icx,step=100ms stat --timeout 100ms --units raw -e 'uncore_imc/clockticks/'
	[[ $output =~ clockticks/\ +all\ +$number\ +measured\ +$number\ 1/s ]] || fail 'no rate'
	[ $((10 * BASH_REMATCH[1])) = "${BASH_REMATCH[2]}" ] || fail 'the rate is not that of a second'
	expect 0 "$UNCORE" --source sim:icx,step=100ms stat -j --timeout 100ms -e 'uncore_imc/clockticks/'
	[ "$(jq .rate <<<"$output")" = "${BASH_REMATCH[2]}" ] || fail 'the rate is not that of JSON'
	expect 0 "$UNCORE" --source sim:icx,step=1s stat --timeout 1s \
		-e 'uncore_imc/cas_count_read/,uncore_imc/clockticks/'
	shows 'VALUE +UNIT +QUALITY +RATE' 'cas_count_read/ +all +[0-9,]+ +MiB +measured +[0-9,]+ MiB/s' \
		'clockticks/ +all +[0-9,]+ +measured +[0-9.]+ G/s'
}

@test "a code that is another event on older CPUs has a note with both names" {
	local tree=$BATS_TEST_TMPDIR/gnr.txt event

	# Granite Rapids, Sierra Forest: two schedulers, whose events begin with the name of the old ones.
	for model in 173 175; do
		sed "s/^\(\tmodel\t\t: \)143/\1$model/" "$SPR" >"$tree"
		expect 0 "$UNCORE" --root "$tree" stat --dry-run -e 'uncore_imc/r304/'
		says "uncore_imc/r304/ is not in the vendor's list for this CPU; it is UNC_M_CAS_COUNT.RD on snbep .* \\(here UNC_M_CAS_COUNT_SCH0 event=0x5,umask=0xcf\\)"
	done
	# Once, though eight PMUs have it.
	[ "$(grep -c note <<<"$stderr")" = 1 ]
	for event in uncore_imc/cas_count_read/ UNC_M_CAS_COUNT.RD 'uncore_imc/event=5,umask=0xcf/'; do
		expect 0 "$UNCORE" --root "$SPR" stat --dry-run -e "$event"
		[ -z "$stderr" ] || fail "a note on $event"
	done
}
