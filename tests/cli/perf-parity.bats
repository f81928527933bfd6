#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The same counters at the same time: what uncore counts is what `perf stat` counts.

load helpers

setup() {
	needs_msr
	needs_perf
}

@test "one counter for a second: rates within 0.1 %" {
	helper perf-parity once msr/tsc/ 1
}

@test "a group: every member agrees with perf" {
	[ -e /sys/bus/event_source/devices/msr/events/smi ] || skip 'msr has no smi here'
	helper perf-parity once '{msr/tsc/,msr/smi/}' 1
}

@test "a list and a raw configuration: every event agrees with perf" {
	helper perf-parity once 'msr/event=0x0/,msr/config=0x0/' 1
}

@test "an event with the kernel's scale: value is count times scale, and perf's value" {
	local scale

	for scale in /sys/bus/event_source/devices/power/events/*.scale; do
		[ -e "$scale" ] || skip 'no energy counters here'
		helper perf-parity scaled power "$(basename "$scale" .scale)" 0.3
	done
}

@test "ten intervals of 100 ms: the mean of their rates agrees with perf" {
	helper perf-parity intervals msr/tsc/ 100 10
}
