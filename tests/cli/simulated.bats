#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Nobody may take invented values for measured ones: every output of a simulation says so.

load helpers

# Arguments that make rows. A word for each way of printing them.
sim() {
	expect 0 "$UNCORE" --source "$SIM_T410" "$@"
}

says_so() {
	[[ ${lines[0]}${lines[1]-} =~ SIMULATED ]] || fail "not labelled at the top: $*"
}

@test "text: the overview and every command say SIMULATED at the top" {
	local command

	sim
	says_so overview
	for command in list 'list pmus' 'list events' 'list metrics' 'explain memory.*' doctor \
		'mem --timeout 1' 'cache --timeout 1' 'stat --timeout 1' \
		'stat -I 1ms --interval-count 2 --summary' \
		'stat --timeout 1 --per-socket' 'stat --timeout 1 --no-merge' \
		'stat --timeout 1 -e nvidia_ucf_pmu_0/cycles/' 'stat -r 2 -- true' 'stat -- true' \
		'stat --dry-run -M memory.*'; do
		# shellcheck disable=SC2086 # words are meant
		sim $command
		says_so "$command"
	done
}

@test "JSON: every object has \"simulated\": true, and the source" {
	local command

	for command in 'list --json' 'explain --json memory.*' 'doctor --json' 'mem -j --timeout 1' \
		'cache -j --timeout 1' 'stat -j --timeout 1' 'stat -j -I 1ms --interval-count 2 --summary' \
		'stat -j --timeout 1 -e nvidia_ucf_pmu_0/cycles/' 'stat -j -r 2 -- true' \
		'stat -j --dry-run -M memory.*' 'stat -j --timeout 1 --no-merge'; do
		# shellcheck disable=SC2086 # words are meant
		sim $command
		[ "$(jq -s -c 'map([.simulated, .source]) | unique' <<<"$output")" = \
			"[[true,\"$SIM_T410\"]]" ] || fail "$command"
	done
}

@test "CSV: the source of every row says SIMULATED, with any separator" {
	local command

	for command in 'mem --csv --timeout 1' 'stat --csv --timeout 1' \
		'stat --csv -I 1ms --interval-count 2' \
		'stat --csv --timeout 1 -e nvidia_ucf_pmu_0/cycles/' 'stat --csv -r 2 -- true'; do
		# shellcheck disable=SC2086 # words are meant
		sim $command
		helper check-rows csv simulated <<<"$output"
	done
	sim mem --timeout 1 -x ';'
	helper check-rows csv ';' simulated <<<"$output"
}

@test "files and appended rows are labelled as well" {
	local file=$BATS_TEST_TMPDIR/out

	sim mem --timeout 1 -o "$file"
	head -n 1 "$file" | grep -q SIMULATED
	sim mem --timeout 1 --csv -o "$file"
	sim mem --timeout 1 --csv -o "$file" --append
	helper check-rows csv simulated <"$file"
}

@test "a simulation of one's own is labelled, too" {
	local file=$BATS_TEST_TMPDIR/mine.yaml

	cat >"$file" <<-YAML
		sim: mine
		machine: t410
		rates:
		  - {pmu: nvidia_ucf_pmu, event: cycles, constant: 1e9}
	YAML
	expect 0 "$UNCORE" --source "sim:$file,step=1s" stat -j --timeout 1 -e nvidia_ucf_pmu/cycles/
	helper check-rows json simulated N=1 <<<"$output"
	[ "$(jq .count <<<"$output")" -eq 1000000000 ]
	expect 0 "$UNCORE" --source "sim:$file" stat --timeout 10 -e nvidia_ucf_pmu/cycles/
	says_so mine
}

@test "the same command prints the same bytes twice" {
	sim mem -j -I 1ms --interval-count 3
	local before=$output

	sim mem -j -I 1ms --interval-count 3
	[ "$output" = "$before" ]
}

@test "sim: works from any directory" {
	cd /
	sim mem --timeout 1
	shows 'machine .* GB/s'
}

@test "real counts are not labelled" {
	expect 0 "$UNCORE" --root "$T410" list
	[[ ! $output =~ SIMULATED ]]
	expect 0 "$UNCORE" --root "$T410" list --json
	[ "$(jq .simulated <<<"$output")" = false ]
	needs_msr
	expect 0 "$UNCORE" stat -e msr/tsc/ --csv --timeout 10
	helper check-rows csv real <<<"$output"
	expect 0 "$UNCORE" stat -e msr/tsc/ -j --timeout 10
	helper check-rows json real <<<"$output"
}

@test "--bind-cpu: the loop runs on it, and the command where it may" {
	local allowed loop

	allowed=$(grep Cpus_allowed_list /proc/self/status)
	expect 0 "$UNCORE" --source sim:skx stat --bind-cpu 0 -M memory.bandwidth -- \
		grep Cpus_allowed_list /proc/self/status
	shows "$allowed"
	"$UNCORE" --source sim:skx stat --bind-cpu 0 -I 100ms --timeout 100s >"$BATS_TEST_TMPDIR/rows" 3>&- &
	loop=$!
	for _ in $(seq 3000); do
		[ -s "$BATS_TEST_TMPDIR/rows" ] && break
		sleep 0.02
	done
	grep -P 'Cpus_allowed_list:\t0$' "/proc/$loop/status"
	kill "$loop"
	refuses 2 "$UNCORE" --source sim:skx stat --bind-cpu x --timeout 10ms
	refuses 2 "$UNCORE" --source sim:skx stat --bind-cpu 1023 --timeout 10ms
	# Servers have more CPUs than glibc's cpu_set_t: 1,920.
	refuses 2 "$UNCORE" --source sim:skx stat --bind-cpu 65535 --timeout 10ms
	says 'CPU 65535 cannot be used'
	refuses 2 "$UNCORE" --source sim:skx stat --bind-cpu 65536 --timeout 10ms
	says 'is not a number of a CPU'
}

# The table says "9.037 GB/s", and JSON 9036936192. A socket and the machine are the sums of the channels.
@test "mem: a line for each channel, socket and the machine, with the numbers of stat -j" {
	local sim

	for sim in spr zen4 hip09 t410; do
		expect 0 "$UNCORE" --source "sim:$sim,step=1s" stat -j --timeout 1 --per-channel -M memory.bandwidth
		jq -rs 'group_by(.socket) | ((.[] | (select(length > 1)[].value * 1), (map(.value) | add)),
			(add | map(.value) | add)) / 1e9' <<<"$output" >"$BATS_TEST_TMPDIR/expected"
		expect 0 "$UNCORE" --source "sim:$sim,step=1s" mem --timeout 1
		awk '/^socket|^machine/ { print $2 ~ /,/ ? $9 : /^machine/ ? $6 : $7 }' <<<"$output" |
			paste "$BATS_TEST_TMPDIR/expected" - |
			awk '$2 < $1 * 0.999 || $2 > $1 * 1.001 { bad = 1 } END { exit bad || NR < 2 }' ||
			fail "$sim: the table and JSON differ"
	done
}

@test "link: a line for each link, socket and the machine, with the numbers of stat -j" {
	local sim

	for sim in skx icx spr ivt; do
		expect 0 "$UNCORE" --source "sim:$sim,step=1s" stat -j --timeout 1 --no-merge -M link.out.bandwidth
		jq -rs '(sort_by(.pmu)[] | .value * 1), (map(.value) | add | (., .)) | . / 1e6' \
			<<<"$output" >"$BATS_TEST_TMPDIR/expected"
		expect 0 "$UNCORE" --source "sim:$sim,step=1s" link
		awk '/^(uncore|socket|machine)/ { sub(/^[a-z_0-9]+( 0)? +/, ""); print $4 == "GB/s" ? $3 * 1e3 : $3 }' \
			<<<"$output" | paste "$BATS_TEST_TMPDIR/expected" - |
			awk '$2 < $1 * 0.999 || $2 > $1 * 1.001 { bad = 1 } END { exit bad || NR < 4 }' ||
			fail "$sim: the table and JSON differ"
	done
	# A fabric that counts all links together is the socket's line.
	expect 0 "$UNCORE" --source sim:zen4,step=1s link
	[ "$(grep -c '^amd_df' <<<"$output")" -eq 0 ] || fail
	shows 'socket 0 +14\.|socket 0 +15\.' 'machine +1[45]\.' $'\nsocket 0, link 7 +'
}
