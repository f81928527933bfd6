#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Every command of the kernel's nvidia-tegra410-pmu.rst, with uncore in the place of perf, must come to
# the configuration words that the driver expects. t410-examples.txt has both.

load helpers

TWO=$MACHINES/nvidia-t410-2socket.txt
EXAMPLES=$BATS_TEST_DIRNAME/t410-examples.txt

# encodes COMMAND WORDS: a line for each counter, in order, all in one group.
encodes() {
	local argv found

	eval "argv=($1)"
	expect 0 "$UNCORE" --root "$TWO" stat --dry-run -j "${argv[@]:2}" || return 1
	# config3 is 0, there is one group, and the first counter leads it and no other.
	found=$(jq -rs '(.[] | "\(.pmu) \(.config[:3] | join(" "))"), (map(.config[3]) | unique | tojson),
		(map(.group) | unique | length), (map(.leader) | [.[0], any(.[1:][]; .)] | tojson)' <<<"$output")
	[ "$found" = "$2"$'\n["0x0"]\n1\n[true,false]' ] || fail "$1 should be" "$2" "$found"
}

# All 20 are there: how many the document has for each kind of PMU.
@test "no example of the document is left out" {
	[ "$(sed -n 's/^perf stat -a -e [^a-z]*nvidia_\([a-z0-9_]*\)_pmu_.*/\1/p' "$EXAMPLES" | uniq -c | tr -s ' \n' ' ')" = \
		' 3 ucf 5 pcie 2 pcie_tgt 1 cmem_latency 6 nvlink_c2c 2 nvclink 1 nvdlink ' ]
	[ "$(grep -c '^[^#	]' "$EXAMPLES")" -eq 20 ]
}

@test "each example is encoded in the driver's format" {
	local command='' words='' line count=0

	while IFS= read -r line; do
		case $line in
		'#'*) continue ;;
		$'\t'*)
			words+=${words:+$'\n'}${line#$'\t'}
			continue
			;;
		esac
		[ -z "$command" ] || encodes "$command" "$words"
		command=$line words='' count=$((count + 1))
	done < <(cat "$EXAMPLES" && echo end)
	[ "$count" -eq 21 ]
}

@test "each example counts on the simulated machine, on both sockets" {
	local line argv

	while IFS= read -r line; do
		eval "argv=($line)"
		expect 0 "$UNCORE" --source "$SIM_T410" stat --timeout 1 -j "${argv[@]:2}" || return 1
		[ "$(jq -s -c 'map([.quality, .kind]) | unique' <<<"$output")" = '[["measured","event"]]' ] ||
			fail "$line" || return 1
	done < <(grep '^perf' "$EXAMPLES")
	expect 0 "$UNCORE" --source "$SIM_T410" link --all --timeout 1 --per-socket -j
	[ "$(jq -s -r '.[] | select(.name == "link.in.read.latency" and .level == "socket") | "\(.role) \(.quality)"' <<<"$output" | sort | uniq -c | tr -s ' \n' ' ')" = \
		' 2 CPU socket measured 2 GPU measured ' ] || fail roles
}

@test "without a cycle counter metrics that need it have no value, and a reason" {
	local dir=$BATS_TEST_TMPDIR/t410 sim=$BATS_TEST_TMPDIR/sim.yaml metric

	unpack "$TWO" "$dir"
	# PMCFGR.CC is 0: the driver has no alias, and counts event 0 for event=0x100000000.
	grep -l 0x100000000 "$dir"/sys/bus/event_source/devices/*/events/cycles | xargs rm
	sed -e 's|^machine: .*|machine: ./t410|' -e '/nvidia_\(ucf_pmu\|pcie_pmu_\*"\), event: cycles/d' \
		"$UNCORE_SOURCE_ROOT/data/sim/t410.yaml" >"$sim"
	for metric in fabric.clock.frequency memory.read.requests.per.cycle pcie.inbound.read.latency; do
		refuses 3 "$UNCORE" --source "sim:$sim,step=1s" stat --timeout 1 -M "$metric"
		says "does not have the event 'cycles'"
	done
	expect 0 "$UNCORE" --source "sim:$sim,step=1s" stat --timeout 1 -j -M '*'
	[ "$(jq -s -r 'map(select(.name | test("^(fabric.clock|pcie.clock|.*requests.per.cycle|pcie.inbound.*latency$)")) |
		select(.name | test("outbound") | not)) | length' <<<"$output")" -eq 0 ] || fail 'a value from event 0'
	for metric in pcie.inbound.read.bandwidth memory.read.bandwidth; do
		[ "$(jq -r "select(.name == \"$metric\") | .quality" <<<"$output")" = measured ] || fail "$metric"
	done
}
