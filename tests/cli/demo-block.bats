#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A block that moves, read through the command.
# shellcheck disable=SC2154 # set by run

load helpers

setup() {
	DEMO=$BATS_TEST_TMPDIR/demo
	PIDS=()
}

teardown() {
	for pid in "${PIDS[@]}"; do kill "$pid" 2>/dev/null || true; done
}

demo() {
	"$UNCORE" demo-block "$DEMO" "$@" >"$BATS_TEST_TMPDIR/out" 3>&- &
	PIDS+=($!)
	for _ in $(seq 3000); do
		[ -s "$BATS_TEST_TMPDIR/out" ] && return 0
		sleep 0.02
	done
	return 1
}

@test "free-running: ratios and rates of the block's own time" {
	ratios() {
		expect 0 "$UNCORE" --source "regs:$DEMO/block.yaml" stat -j --timeout 500ms &&
			jq -se 'map({key: .name, value: .value}) | from_entries |
				(."demo.utilization" - 0.72 | fabs) < 1e-3 and
				(."demo.bandwidth" / 96e9 - 1 | fabs) < 1e-3 and
				(."demo.latency.cycles" - 17.3017 | fabs) < 0.01' <<<"$output"
	}
	demo
	eventually ratios
}

# The control register of a block that can be frozen, but for what the block itself sets.
control() {
	echo $(($(od -An -tu4 -j256 -N4 "$DEMO/map") & ~2))
}

# Sets it to these bytes.
set_control() {
	printf '%b' "$1" | dd of="$DEMO/map" bs=1 seek=256 conv=notrunc status=none
}

@test "freeze needs --program, and the block is left as it was found, also by SIGTERM" {
	local reader

	demo --window freeze
	expect 0 "$UNCORE" --source "regs:$DEMO/block.yaml" stat -v --timeout 100ms
	says 'not frozen, but read one after another'
	set_control '\x00\x00\xcd\xab'
	"$UNCORE" --source "regs:$DEMO/block.yaml" --program stat -j -I 10ms \
		-M demo.cycles >"$BATS_TEST_TMPDIR/rows" 3>&- &
	reader=$!
	for _ in $(seq 3000); do
		[ -s "$BATS_TEST_TMPDIR/rows" ] && break
		sleep 0.02
	done
	[ -s "$BATS_TEST_TMPDIR/rows" ]
	kill -TERM "$reader"
	wait "$reader"
	[ "$(control)" -eq $((0xabcd0000)) ]
	# A block that gets no CPU does not confirm, and is then not found frozen.
	found_frozen() {
		set_control '\x01\x00\xcd\xab'
		expect 0 "$UNCORE" --source "regs:$DEMO/block.yaml" --program stat -v --timeout 100ms &&
			says 'was found frozen' && [ "$(control)" -eq $((0xabcd0001)) ]
	}
	eventually found_frozen
}

@test "read-to-clear: the intervals add up to the total" {
	demo --window read-to-clear
	expect 0 "$UNCORE" --source "regs:$DEMO/block.yaml" --program stat -j -I 20ms \
		--interval-count 5 --summary -e demo_0/byte_cnt/
	jq -se '(map(select(.total | not) | .count) | add) == (.[] | select(.total) | .count)' \
		<<<"$output"
}

@test "snapshot: latched, with --program only" {
	demo --window snapshot
	refuses 4 "$UNCORE" --source "regs:$DEMO/block.yaml" stat --timeout 10ms
	says 'to latch its count' '--program only'
	[ "$(control)" -eq 0 ]
	latched() {
		expect 0 "$UNCORE" --source "regs:$DEMO/block.yaml" --program stat -j --timeout 200ms &&
			[ "$(control)" -eq 0 ] &&
			jq -se 'map({key: .name, value}) | from_entries | select(all(.[]; . != null)) |
				(."demo.bytes_per_cycle" - 96 | fabs) < 1e-4 and
				(."demo.clock.frequency" / 1e9 - 1 | fabs) < 0.1' <<<"$output"
	}
	eventually latched
}

@test "write-to-clear: a bit clears the counters, with --program only" {
	demo --window write-to-clear
	expect 0 "$UNCORE" --source "regs:$DEMO/block.yaml" stat -j --timeout 20ms -M demo.cycles
	# Each interval has 96 bytes for each cycle, all of them are the total, and no more than the block made.
	# How much that is depends on the machine: the block is a process, and one that waits clears late.
	expect 0 "$UNCORE" --source "regs:$DEMO/block.yaml" --program stat -j -I 20ms \
		--interval-count 5 --summary -e '{demo_0/byte_cnt/,demo_0/active_cnt/,demo_0/busy_cnt/,demo_0/idle_cnt/}'
	[ "$(control)" -eq 0 ]
	kill -TERM "${PIDS[0]}"
	wait "${PIDS[0]}"
	jq -se --slurpfile made <(tail -n +2 "$BATS_TEST_TMPDIR/out") '
		def bytes: map(select(.name == "demo_0/byte_cnt/") | .count) | add;
		def cycles: map(select(.name | test("active|busy|idle")) | .count) | add;
		(map(select(.total | not)) | group_by(.time)) as $intervals |
		(map(select(.total))) as $total |
		($intervals | length) >= 2 and
		($intervals | all((bytes - 96 * cycles | fabs) <= 96 * 3)) and
		($intervals | map(bytes) | add) == ($total | bytes) and
		($total | bytes) > 0 and
		($total | bytes) <= ($made[] | select(.event == "byte_cnt") | .made)' <<<"$output"
}

@test "narrow counters have a value only while they cannot wrap twice" {
	demo --width 32
	expect 0 "$UNCORE" --source "regs:$DEMO/block.yaml" stat -j --timeout 300ms -M demo.bandwidth
	jq -se '.[] | .value == null and (.reason | contains("may have wrapped more than once"))' \
		<<<"$output"
	# 2^32 bytes last for 44 ms. A machine that is busy may be late.
	narrow() {
		expect 0 "$UNCORE" --source "regs:$DEMO/block.yaml" stat -j -I 5ms --interval-count 20 \
			-M demo.bandwidth &&
			jq -se 'map(.value | select(.)) | length > 5 and
				(sort | .[length / 2 | floor] / 96e9 - 1 | fabs) < 0.05' <<<"$output"
	}
	eventually narrow
}

@test "demo-block reports the files that it made, and rejects wrong usage" {
	demo --timeout 100ms
	wait "${PIDS[0]}"
	[ "$(jq -c 'select(.kind == "made") | .event' <(tail -n +2 "$BATS_TEST_TMPDIR/out") |
		wc -l)" -eq 9 ]
	refuses 2 "$UNCORE" demo-block --width 65 "$DEMO"
	refuses 2 "$UNCORE" demo-block --window mirror "$DEMO"
	refuses 2 "$UNCORE" demo-block --halves --width 32 "$DEMO"
	refuses 1 "$UNCORE" demo-block /proc/nowhere
}

@test "the directory is removed at the end, and is in XDG_RUNTIME_DIR" {
	demo --timeout 100ms
	wait "${PIDS[0]}"
	[ ! -e "$DEMO" ] || fail "$(ls -la "$DEMO")"
	mkdir "$BATS_TEST_TMPDIR/run"
	XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/run expect 0 "$UNCORE" demo-block --timeout 10ms
	shows "regs:$BATS_TEST_TMPDIR/run/uncore-block-....../block.yaml"
	[ -z "$(ls "$BATS_TEST_TMPDIR/run")" ]
}

@test "existing files and links in the place of its own are not changed" {
	local victim=$BATS_TEST_TMPDIR/victim

	echo precious >"$victim"
	mkdir "$DEMO"
	ln -s "$victim" "$DEMO/map"
	ln -s "$victim" "$DEMO/block.yaml"
	refuses 1 "$UNCORE" demo-block --timeout 10ms "$DEMO"
	says 'File exists'
	rm -r "$DEMO"
	ln -s "$BATS_TEST_TMPDIR/elsewhere" "$DEMO"
	refuses 1 "$UNCORE" demo-block --timeout 10ms "$DEMO"
	[ "$(cat "$victim")" = precious ]
	[ ! -e "$BATS_TEST_TMPDIR/elsewhere" ]
}

@test "a description cannot clear the file that it names" {
	local victim=$BATS_TEST_TMPDIR/victim

	head -c 4096 /dev/urandom >"$victim"
	cp "$victim" "$victim.before"
	cat >"$BATS_TEST_TMPDIR/planted.yaml" <<-END
		block: planted
		title: A block whose description names somebody's file
		instance: unit
		evidence: none
		pmu: planted_{unit}
		space: mmio
		access: 32
		size: 4096
		window: read-to-clear
		clock: host
		quantity: planted
		map: {file: '$victim'}
		counters:
		  c: {title: c, offset: 0, width: 32, role: bytes, per_second: 1e9}
	END
	for command in "" "doctor" "topo" "list" "stat --timeout 10ms" "stat -e planted_0/c/ --timeout 10ms"; do
		# shellcheck disable=SC2086 # several words
		run "$UNCORE" --source "regs:$BATS_TEST_TMPDIR/planted.yaml" $command
		no_sanitizer_report
		cmp "$victim" "$victim.before" || fail "'$command' has changed the file"
	done
	refuses 4 "$UNCORE" --source "regs:$BATS_TEST_TMPDIR/planted.yaml" stat -e planted_0/c/
	says 'with --program only'
}

@test "doctor checks only the block" {
	expect 0 "$UNCORE" --root "$MACHINES/intel-ivt-1socket.txt" --source regs:intel-ivt-cbo doctor
	[[ $output =~ ^'ok       intel-cbox: Intel cache boxes: 15 PMUs, '[0-9]+' metrics'$ ]] || fail "$output"
}

@test "a register that cannot be restored is reported" {
	local map=$BATS_TEST_TMPDIR/map

	head -c 256 /dev/zero >"$map"
	sed "s|MAP|${map#/}|" >"$BATS_TEST_TMPDIR/stays.yaml" <<-'END'
		block: stays
		title: A block whose registers cannot be written any more
		instance: unit
		evidence: none
		pmu: stays_{unit}
		map: {file: "MAP"}
		space: pci
		size: 256
		window: freeze
		clock: host
		control:
		  ctl:
		    offset: 0x80
		    fields:
		      frz: {bits: 8, use: freeze}
		counters:
		  c: {title: c, offset: 0x40, width: 32}
	END
	# The limit is for files: what is printed goes to a pipe.
	run bash -c 'exec 4< <(exec "$0" --program --source "regs:$1" stat -e stays_0/c/ -I 10ms 2>&1)
		pid=$!
		read -r -u 4
		prlimit --pid "$pid" --fsize=0 && kill -TERM "$pid"
		cat <&4' "$UNCORE" "$BATS_TEST_TMPDIR/stays.yaml"
	no_sanitizer_report
	[[ $output == *"register 0x80 was written and could not be put back"* ]] || fail "$output"
}

@test "a pipe in place of an MSR does not block" {
	unpack "$MACHINES/intel-ivt-1socket.txt" "$BATS_TEST_TMPDIR/root"
	rm -r "$BATS_TEST_TMPDIR"/root/sys/bus/event_source/devices/uncore_*
	mkdir -p "$BATS_TEST_TMPDIR/root/dev/cpu/0"
	mkfifo "$BATS_TEST_TMPDIR/root/dev/cpu/0/msr"
	run timeout 20 "$UNCORE" --root "$BATS_TEST_TMPDIR/root" --source regs:intel-ivt-cbo --program \
		stat -e uncore_cbox_0/event=1/ --timeout 10ms
	no_sanitizer_report
	[ "$status" -ne 124 ] || fail "it waited"
	[[ $output == *"neither a file nor a device with registers"* ]] || fail "$output"
}
