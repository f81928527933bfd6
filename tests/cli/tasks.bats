#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Every command line of docs/tasks.md on two simulated machines: it answers, or says why not.

load helpers

# rows MACHINE COLUMN: "yes" or "no" and the command's arguments, a line each.
rows() {
	awk -F'|' -v column="$1" '/^\|.*`uncore / {gsub(/^ +| +$/, "", $column); gsub(/^ *`uncore |` *$/, "", $3)
		print $column, $3}' "$UNCORE_SOURCE_ROOT/docs/tasks.md"
}

# answers MACHINE COLUMN
answers() {
	local answer arguments words count=0

	while read -r answer arguments; do
		# top ends only where it is told to.
		[ "$arguments" != top ] || arguments='top --interval-count 1 -I 10ms'
		read -ra words <<<"$arguments"
		run --separate-stderr without_waits "$UNCORE" --source "sim:$1,step=1s" "${words[@]}" </dev/null
		no_sanitizer_report
		case $answer in
		yes)
			[ "$status" -eq 0 ] || fail "$1: $arguments"
			[ "$(wc -l <<<"$output")" -ge 3 ] || fail "$1: $arguments"
			;;
		no)
			[ "$status" -eq 3 ] || fail "$1: $arguments"
			[[ $stderr == uncore:*' '* ]] || fail "$1: $arguments: no reason"
			;;
		*) fail "docs/tasks.md: neither yes nor no: $answer $arguments" ;;
		esac
		count=$((count + 1))
	done < <(rows "$2")
	[ "$count" -eq 22 ] || fail "$count tasks"
}

# typed MACHINE ARGUMENTS...: it works.
typed() {
	expect 0 "$UNCORE" --source "sim:$1,step=1s" "${@:2}" || return 1
	[ -n "$output" ] || [ -e "${*: -1}" ] || [[ $* == *record* ]] || fail "nothing is printed: ${*:2}"
}

# told COMMAND ARGUMENTS...: one line, which has the right command or option.
told() {
	refuses 2 "$UNCORE" --source "$SIM_SPR" "${@:2}" || return 1
	[ "$(wc -l <<<"$stderr")" -eq 1 ] || fail "not one line: ${*:2}"
	[[ $stderr == *"$1"* ]] || fail "does not have '$1': ${*:2}"
}

@test "the daily tasks on Sapphire Rapids" {
	answers spr 4
}

@test "the daily tasks on Zen 4" {
	answers zen4 5
}

# ---- tasks as they are typed before the manual is read ----

@test "first guesses: devices, places, links" {
	# Which NVMe drive uses PCIe?
	typed spr pcie nvme
	typed spr pcie nvme0
	typed spr pcie --device 'nvme*' --sort in
	told 'uncore pcie' nvme
	# Does the DMA of my NIC hit the last-level cache?
	told 'uncore pcie --ddio' ddio
	typed spr pcie --ddio 0.01 1
	# Only socket 1, only node 0
	typed t410 mem --socket 1
	typed t410 pcie --socket 1
	typed t410 stat --socket 1 0.01 1
	typed t410 mem --node 0
	told 'uncore mem --per-node' numa
	told "'2' is not the number of a socket with CPUs here: 0" mem --socket 2
	# Watch UPI
	told 'uncore link' upi
	told 'did you mean link.*?' stat -M upi 1s
	typed spr link 0.01 2
	# Imbalance of channels
	told 'uncore mem' imbalance
	typed spr mem --per-channel
	# CXL against DRAM
	told 'for that use: uncore mem' cxl
	told 'for that use: uncore mem' mem cxl
	# A GPU over PCIe and C2C
	told 'uncore pcie --device gpu' gpu
	typed t410 pcie gpu
	told 'uncore link' c2c
	typed t410 link --gpu 0
}

@test "first guesses: over time, and into files" {
	cd "$BATS_TEST_TMPDIR" || return
	# One CSV of bandwidth
	typed spr mem --csv=wide 0.01 2
	typed spr mem 0.01 2 -o x.csv
	[ "$(wc -l <x.csv)" -ge 3 ] || fail 'x.csv'
	# JSON to jq
	typed spr stat -M memory --json 0.01 1
	jq -e .value <<<"$output" >/dev/null
	typed spr mem --format json 0.01 1
	jq -e .value <<<"$output" >/dev/null
	# Every 2 s, 10 times
	typed spr mem --interval 20ms --count 2
	typed spr mem -I 20 -n 2
	typed spr mem 0.02 2
	told 'write --interval 2s or' mem --interval 2 --count 10
	told 'write -I 2s or -I 2ms' mem -I 2 -n 10
	typed spr mem -I 10ms -n 2
	told 'uncore stat -I' -I 2000 -n 10
	# As with perf
	typed spr stat -a -e uncore_imc/cas_count_read/ -I 10 -- sleep 0.03
	typed spr stat -e cas_count_read -I 10 --interval-count 2
	told '--bind-cpu N runs' stat --cpu 0 -M memory
	# A program, and bytes in all
	typed spr mem -- true
	typed spr stat -M memory.bandwidth true
	told 'uncore stat -- COMMAND' stat --pid 1
	# Time stamps
	typed spr mem 0.01 2 --timestamp
	told '--timestamp' mem --timestamps
	told 'write --timeout 1s' mem --time 1
}

@test "first guesses: recordings" {
	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without record'
	cd "$BATS_TEST_TMPDIR" || return
	# A night's log, its peak and when
	told 'uncore record' log
	typed spr record before.db --duration 100ms --interval 10ms
	typed spr record after.db mem pcie 0.01 10
	expect 0 "$UNCORE" report before.db
	# Before and after a change of the BIOS
	told 'uncore diff' compare before.db after.db
	typed spr record again.db --duration 100ms --interval 10ms
	expect 0 "$UNCORE" diff before.db again.db
	# An alert above 80 %
	told "uncore mem -I 1s --when 'memory.bandwidth > 40GB/s' --exec COMMAND" alert
	typed spr record flight.db mem --flight 60s --when 'memory.utilization>80%' -I 10ms -n 3
}

@test "first guesses: words, rights, machines" {
	# Why is it scaled?
	typed spr explain scaled
	typed spr help quality
	told 'uncore explain scaled' scaled
	# Not root, in a container, in a virtual machine of a cloud with a GPU
	told 'uncore doctor' permission
	told 'uncore doctor' container
	told 'uncore doctor' vm
	typed spr doctor
	expect 3 "$UNCORE" --root "$MACHINES/nvidia-h200-guest.txt" doctor
	shows "ok +nvidia-gpu" "guest of KVM"
	expect 0 "$UNCORE" --root "$MACHINES/nvidia-h200-guest.txt" pcie gpu --dry-run
	# An exporter on a port
	told 'uncore serve' exporter
	told 'uncore serve' prometheus
	if [[ $("$UNCORE" --help) == *' serve '* ]]; then
		told '--port 24100' serve 24100
	fi
	# Power and clocks
	told 'uncore power' watts
	typed spr stat -M power 0.01 1
	told "uncore stat -M '*.clock.*'" clocks
	# Which metrics are there?
	typed spr list metrics
	told 'uncore list metrics' metrics
	told "did you mean 'list'" list-metrics
}
