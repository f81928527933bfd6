#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What a user without and with CAP_PERFMON gets, and what a guest without uncore PMUs is told.

load helpers

setup_file() {
	# Where nobody can reach it: the command and the library beside it.
	PUBLIC=$(mktemp -d)
	chmod 755 "$PUBLIC"
	cp "$UNCORE" "$PUBLIC/uncore"
	cp "$(dirname "$UNCORE")"/libuncore.so* "$PUBLIC/" 2>/dev/null || true
	chmod -R a+rX "$PUBLIC"
	export PUBLIC
}

teardown_file() {
	rm -rf "$PUBLIC"
}

# As nobody, with these capabilities and no other: "" or perfmon.
as_nobody() {
	local capabilities='-all'

	[ -z "$1" ] || capabilities="-all,+$1"
	shift
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps="$capabilities" \
		--ambient-caps="$capabilities" --bounding-set="$capabilities" \
		env LD_LIBRARY_PATH="$PUBLIC" "$@"
}

needs_nobody() {
	root_only
	[ -e /sys/bus/event_source/devices/msr/events/tsc ] || skip 'this machine has no msr PMU'
	as_nobody '' true 2>/dev/null || skip 'setpriv cannot drop capabilities here'
}

needs_denial() {
	needs_nobody
	PARANOID=$(cat /proc/sys/kernel/perf_event_paranoid)
	[ "$PARANOID" -gt 0 ] || skip "perf_event_paranoid is $PARANOID: everybody may count"
}

needs_perfmon() {
	needs_nobody
	as_nobody perfmon true 2>/dev/null || skip 'setpriv does not know CAP_PERFMON'
}

@test "user nobody: exit 4, and the error names the level, the capability and a command" {
	needs_denial
	refuses 4 as_nobody '' "$PUBLIC/uncore" stat -e msr/tsc/ --timeout 20
	says perf_event_paranoid "$PARANOID" CAP_PERFMON 'setcap|sysctl|sudo'
}

@test "user nobody, metrics and JSON: the same error, no output" {
	needs_denial
	refuses 4 as_nobody '' "$PUBLIC/uncore" stat -M clock.tsc.frequency -j --timeout 20
	says perf_event_paranoid CAP_PERFMON
}

@test "user nobody: the overview has the reason and the command that fixes it" {
	needs_denial
	expect 4 as_nobody '' "$PUBLIC/uncore"
	[[ "$output$stderr" =~ perf_event_paranoid ]] || fail 'the level'
	[[ "$output$stderr" =~ CAP_PERFMON ]] || fail 'the capability'
}

@test "user nobody: devices are counted beside a PMU that is denied" {
	needs_denial
	compgen -G '/sys/block/*/device' >/dev/null || skip 'this machine has no disk'
	expect 0 as_nobody '' "$PUBLIC/uncore" stat -M 'clock.tsc.frequency,storage.*.bandwidth' -j --timeout 50
	jq -e -s 'map(select(.family == "msr")) | .[0].quality == "unavailable" and (.[0].reason | contains("CAP_PERFMON"))' \
		<<<"$output" || fail 'the PMU'
	jq -e -s 'map(select(.family == "block")) | length > 0 and all(.quality == "measured")' <<<"$output" ||
		fail 'the disks'
}

@test "user nobody: doctor prints DENIED, and the command that fixes it" {
	needs_denial
	run --separate-stderr as_nobody '' "$PUBLIC/uncore" doctor
	no_sanitizer_report
	[ "$status" -eq 3 ] || [ "$status" -eq 4 ] || fail 'exit status'
	shows DENIED "$PARANOID" CAP_PERFMON 'setcap|sysctl|sudo'
}

@test "user nobody may list, explain and plan" {
	needs_nobody
	expect 0 as_nobody '' "$PUBLIC/uncore" list
	shows msr/tsc/
	expect 0 as_nobody '' "$PUBLIC/uncore" explain clock.tsc.frequency
	expect 0 as_nobody '' "$PUBLIC/uncore" stat --dry-run -e msr/tsc/
}

@test "the command is not started when counting is refused" {
	needs_denial
	run --separate-stderr as_nobody '' "$PUBLIC/uncore" stat -e msr/tsc/ -- echo started
	[ "$status" -eq 4 ] || fail 'exit status'
	[ -z "$output" ] || fail 'the command was started'
}

@test "user nobody with CAP_PERFMON: values, exit 0" {
	needs_perfmon
	counted() {
		expect 0 as_nobody perfmon "$PUBLIC/uncore" stat -e msr/tsc/ -j --timeout 50 &&
			helper check-rows json N=1 real <<<"$output" &&
			jq -e '.quality == "measured" and .count > 0' <<<"$output"
	}
	eventually counted
}

@test "user nobody with CAP_PERFMON: doctor reports nothing as denied" {
	needs_perfmon
	run --separate-stderr as_nobody perfmon "$PUBLIC/uncore" doctor
	no_sanitizer_report
	[ "$status" -ne 4 ] || fail 'exit status'
	shows permission CAP_PERFMON
	[[ ! $output =~ DENIED ]] || fail 'DENIED'
}

@test "no memory controllers to count here: exit 3, why, and what to do" {
	expect_none mem
	says memory
}

@test "no cache counters here: exit 3, why, and what to do" {
	expect_none cache
}

@test "no link counters here: exit 3, why, and what to do" {
	expect_none link
}

@test "no root port is counted here: the devices that count themselves, or exit 3 and why" {
	if uncore_pmus_missing && "$UNCORE" list -j pmus | jq -e 'any(.pmus[]; .type == null)' >/dev/null; then
		expect 0 "$UNCORE" pcie
		shows 'DEVICE .*IN WRITE' 'what devices count themselves|idle device'
		expect 0 "$UNCORE" pcie --ends
		shows 'there is nothing to compare'
		return
	fi
	expect_none pcie
}

# uncore_pmus_missing: skips on a machine that has some.
uncore_pmus_missing() {
	local pmu

	for pmu in /sys/bus/event_source/devices/*; do
		case ${pmu##*/} in
		breakpoint | kprobe | uprobe | software | tracepoint | msr | power | cpu | cstate_*) ;;
		*) skip "this machine has ${pmu##*/}" ;;
		esac
	done
}

# expect_none PRESET: on a machine that has nothing of the kind.
expect_none() {
	uncore_pmus_missing
	refuses 3 "$UNCORE" "$1"
	if grep -qw hypervisor /proc/cpuinfo; then
		says guest 'host'
	fi
}

@test "PCI configuration space after its first 64 bytes needs root" {
	root_only
	as_nobody '' true 2>/dev/null || skip 'setpriv cannot drop capabilities here'
	[ -e /sys/bus/pci/devices/0000:00:00.0/config ] || skip 'this machine has no PCI'
	cat >"$PUBLIC/pci.yaml" <<-'BLOCK'
		block: test
		title: A register behind the 64 bytes that everybody sees
		instance: unit
		evidence: none
		pmu: test_{unit}
		space: pci
		access: 32
		size: 0x84
		map: {pci: '0000:00:00.0'}
		window: free-running
		counters:
		  ctr: {title: c, offset: 0x80, width: 32}
	BLOCK
	refuses 4 as_nobody '' "$PUBLIC/uncore" --source "regs:$PUBLIC/pci.yaml" stat \
		-e test_0/ctr/ --timeout 10ms
	says 'first 64 bytes' 'only root can read'
	expect 0 "$UNCORE" --source "regs:$PUBLIC/pci.yaml" stat -e test_0/ctr/ --timeout 10ms
}

@test "a machine without /sys: doctor has a finding" {
	mkdir -p "$BATS_TEST_TMPDIR/empty"
	expect 3 "$UNCORE" --root "$BATS_TEST_TMPDIR/empty" doctor
	shows 'MISSING  /sys: no sys/devices/system/cpu'
	says 'is /sys mounted there'
	expect 3 "$UNCORE" --root "$BATS_TEST_TMPDIR/empty" doctor -j
	[ "$(jq -c '[.findings[] | [.verdict, .subject]]' <<<"$output")" = '[["missing","/sys"]]' ]
	helper check-schema <<<"$output"
	expect 2 "$UNCORE" --root /nonexistent doctor
	[ -z "$output" ]
}

@test "--program needs no write permission if a block has no control registers" {
	root_only
	as_nobody '' true 2>/dev/null || skip 'setpriv cannot drop capabilities here'
	truncate -s 72 "$PUBLIC/map"
	chmod 444 "$PUBLIC/map"
	expect 0 as_nobody '' "$PUBLIC/uncore" --source "regs:generic-pmon,at=$PUBLIC/map" \
		--program stat -M pcie.dma.cycles --timeout 10ms
}

@test "a PMU that may not be counted in a later round leaves its rows without a value" {
	local sim=$BATS_TEST_TMPDIR/denied.yaml

	"$UNCORE_SOURCE_ROOT/tests/machines/make-intel" "$BATS_TEST_TMPDIR"
	sed 's/umask=0xff", \(.*\)}/umask=0xff", \1, refuse: EACCES}/' "$UNCORE_SOURCE_ROOT/tests/sim/gnr.yaml" >"$sim"
	sed -i "s|\./intel|$BATS_TEST_TMPDIR/intel|" "$sim"
	expect 0 "$UNCORE" --source "sim:$sim,step=1s" mem --all -j --timeout 1
	jq -se 'any(.name == "memory.bandwidth" and .value != null) and
		any(.name == "memory.utilization" and .value == null and .reason != null)' <<<"$output" || fail
}
