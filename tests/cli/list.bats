#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore list`: every PMU, term and alias of every machine recorded. UPDATE=1 writes the goldens.

load helpers

# bats test_tags=slow
@test "list --json of every machine: complete by a walk of the tree; two goldens" {
	local tree count=0

	for tree in "$MACHINES"/*.txt; do
		tree=$(basename "$tree" .txt)
		expect 0 "$UNCORE" --root "$MACHINES/$tree.txt" list --json
		[ -z "$stderr" ] || fail "$tree"
		helper check-list "$MACHINES/$tree.txt" <<<"$output"
		case $tree in
		amd-zen3-1socket | hisilicon-hip09) sorted_json <<<"$output" | golden "list-$tree.json" ;;
		esac
		count=$((count + 1))
	done
	[ "$count" -ge 7 ] || fail "only $count machines in tests/machines"
}

@test "the machines in the tree are the output of tests/machines/make-others" {
	local script file

	for script in make-amd make-others make-pci; do
		mkdir "$BATS_TEST_TMPDIR/$script"
		"$MACHINES/$script" "$BATS_TEST_TMPDIR/$script"
		for file in "$BATS_TEST_TMPDIR/$script"/*; do
			diff -u "$MACHINES/${file##*/}" "$file"
		done
	done
}

@test "a directory and its file are the same machine" {
	local command words dir=$BATS_TEST_TMPDIR/dir

	unpack "$T410" "$dir"
	for command in 'list --json' topo 'topo --json' doctor 'explain *' pcie; do
		read -ra words <<<"$command"
		diff <("$UNCORE" --root "$T410" "${words[@]}" 2>&1) <("$UNCORE" --root "$dir" "${words[@]}" 2>&1) ||
			fail "$command"
	done
}

@test "the machine this runs on: complete, too" {
	[ -d /sys/bus/event_source/devices ] || skip 'no PMU here'
	expect 0 "$UNCORE" list --json
	helper check-list / <<<"$output"
}

@test "list --json names the machine" {
	expect 0 "$UNCORE" --root "$SPR" list --json
	[ "$(jq -r '.machine.cpu_model' <<<"$output")" = intel/6/143 ]
	[ "$(jq -c '[.machine.cpus, .machine.sockets]' <<<"$output")" = '[4,[0]]' ]
}

@test "list pmus, events, metrics: one kind each; without a word all three" {
	expect 0 "$UNCORE" --root "$T410" list pmus
	shows nvidia_ucf_pmu_0 'nvidia_pcie_pmu_0_rc_\{0-5\}'
	[[ ! $output =~ mem_bytes_rd ]]
	expect 0 "$UNCORE" --root "$T410" list events
	shows nvidia_ucf_pmu_0/mem_bytes_rd/
	[[ ! $output =~ memory.read.bandwidth ]]
	expect 0 "$UNCORE" --root "$T410" list metrics
	shows 'memory.read.bandwidth +B/s'
	[[ ! $output =~ mem_bytes_rd ]]
	expect 0 "$UNCORE" --root "$T410" list
	shows 'nvidia_pcie_pmu_0_rc_\{0-5\}' nvidia_ucf_pmu_0/mem_bytes_rd/ memory.read.bandwidth
}

@test "PMUs with the driver's fallback names are recognised" {
	local pmus=$BATS_TEST_TMPDIR/sys/bus/event_source/devices number=0 name

	unpack "$GRACE" "$BATS_TEST_TMPDIR"
	for name in scf nvlink_c2c0 nvlink_c2c1 pcie; do
		mv "$pmus/nvidia_${name}_pmu_0" "$pmus/nvidia_uncore_pmu_$number"
		number=$((number + 1))
	done
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR" list pmus
	shows 'nvidia_uncore_pmu_0 +1 .* nvidia-grace-scf, identifier 2cf0036b' \
		'nvidia_uncore_pmu_1 +1 .* nvidia-grace-c2c, identifier 1050036b' \
		'nvidia_uncore_pmu_2 +1 .* nvidia-grace-c2c, identifier 1040036b' \
		'nvidia_uncore_pmu_3 +1 .* nvidia-grace-pcie, identifier 1030036b'
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR" list events
	shows nvidia_uncore_pmu_0/cycles/ nvidia_uncore_pmu_3/cycles/
}

@test "a link that another kernel names differently: its identifier names the family" {
	unpack "$(dirname "$T410")/nvidia-t410-2socket.txt" "$BATS_TEST_TMPDIR"
	for number in 0 1; do
		mv "$BATS_TEST_TMPDIR/sys/bus/event_source/devices/nvidia_nvclink_pmu_$number" \
			"$BATS_TEST_TMPDIR/sys/bus/event_source/devices/nvidia_nvlink_pmu_$number"
	done
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR" list pmus nvlink_pmu
	shows 'nvidia_nvlink_pmu_.0,1. +2 .* nvidia-t410-nvclink'
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR" stat -M nvidia-t410-nvclink/link.in.read.latency --dry-run
	shows 'nvidia_nvlink_pmu_0.*in_rd_cum_outs.*0x1 '
	[[ $output == *nvidia_nvlink_pmu_1* ]]
}

@test "a fabric of another chip with a name of Tegra410: no metrics, and doctor has the reason" {
	unpack "$T410" "$BATS_TEST_TMPDIR"
	echo 2cf3036b >"$BATS_TEST_TMPDIR"/sys/bus/event_source/devices/nvidia_ucf_pmu_0/identifier
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR" list pmus ucf
	[[ ! $output =~ nvidia-t410-ucf ]]
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR" doctor -j
	jq -es 'any(.. | strings; test("has the name of NVIDIA Tegra410 coherence fabric .UCF., and the " +
		"identifier 2cf3036b of another part"))' <<<"$output" >/dev/null || fail
}

@test "a pattern is any part of a name, or a glob" {
	expect 0 "$UNCORE" --root "$T410" list events BYTES_RD
	shows mem_bytes_rd slc_bytes_rd
	[[ ! $output =~ bytes_wr ]]
	expect 0 "$UNCORE" --root "$T410" list metrics 'memory.*.bandwidth'
	shows memory.read.bandwidth memory.write.bandwidth
	[[ ! $output =~ cache ]]
}

@test "every event that is listed parses" {
	local events list

	expect 0 "$UNCORE" --root "$SPR" list --json events
	# Placeholders must be filled in by the user.
	events=$(jq -r '.pmus[] | select(.core | not) | .name as $p | .events[] |
		select(.terms | contains("?") | not) | "\($p)/\(.name)/"' <<<"$output")
	list=$(tr '\n' ',' <<<"$events")
	expect 0 "$UNCORE" --root "$SPR" stat --dry-run -j -e "${list%,}"
	[ "$(wc -l <<<"$events")" -gt 50 ] || fail 'too few events: this test tests nothing'
}

@test "every metric that is listed can be planned and explained" {
	helper check-metrics "$T410" "$SPR"
}

@test "--all: metrics of other machines, with the reason why not here" {
	expect 0 "$UNCORE" --root "$SPR" list --json --all metrics cache.writebacks
	[ "$(jq -r '.metrics[0].missing | length > 10' <<<"$output")" = true ]
}

# answer MACHINE QUESTION: as docs/questions.md writes it.
answer() {
	"$UNCORE" --source "sim:$1" list metrics --json "$2" 2>/dev/null | jq -r '[.metrics[].name] |
		if length > 2 then "`\(.[0])`, `\(.[1])`, \(length - 2) more"
		elif length > 0 then map("`\(.)`") | join(", ")
		else "nothing" end'
}

@test "questions in people's words: docs/questions.md" {
	local _ question on_spr on_zen4 on_t410 count=0

	while IFS='|' read -r _ question _ on_spr on_zen4 on_t410; do
		question=${question# } question=${question% }
		diff <(answer spr "$question" | cat - <(answer zen4 "$question") <(answer t410 "$question")) \
			<(sed 's/^ *//; s/[ |]*$//' <<<"$on_spr"$'\n'"$on_zen4"$'\n'"$on_t410") || fail "$question"
		count=$((count + 1))
	done < <(sed '1,/^|---/d' "$UNCORE_SOURCE_ROOT/docs/questions.md")
	[ "$count" -ge 10 ] || fail "$count questions"
}

@test "a metric's earlier name selects it, with a note" {
	local old=memory.served.read.bandwidth now=memory.from.remote.read.bandwidth

	expect 0 "$UNCORE" --source sim:spr,step=1s stat -vj -M "$old" 0.01 1
	[ "$(jq -r .name <<<"$output")" = "$now" ]
	[ "$(grep -c "$old: the name is now $now" <<<"$stderr")" -eq 1 ]
	expect 0 "$UNCORE" --source sim:spr,step=1s stat -v -M "intel-cha/memory.from.remote.*" 0.01 1
	[[ ! $stderr =~ 'the name is now' ]]
	expect 0 "$UNCORE" --source sim:spr explain "$old"
	shows "$now: "
	expect 0 "$UNCORE" --source sim:spr list -j metrics "$old"
	[ "$(jq -r '.metrics[].name' <<<"$output")" = "$now" ]
	expect 0 "$UNCORE" --source sim:spr list -j metrics
	[[ ! $output =~ served ]]
}

@test "a pattern that matches nothing: a sentence, exit 1" {
	expect 1 "$UNCORE" --root "$SPR" list nothing-like-it
	[ -z "$output" ]
	says nothing-like-it
	expect 1 "$UNCORE" --source sim:spr list dimm temperature
	[ -z "$output" ]
	says "matches 'temperature'"
	expect 1 "$UNCORE" --source sim:spr list metrics upi memory.bandwidth
	says 'all words of the pattern at once'
}

@test "common words: the names and the command to which they lead" {
	local line typed count=0

	expect 0 "$UNCORE" --source sim:zen4 list pmus XGMI?
	shows amd_df 'See also: uncore link'
	expect 0 "$UNCORE" --source sim:spr list pmus 'uncore_upi_?'
	shows 'uncore_upi_'
	expect 2 "$UNCORE" --source sim:zen4 stat -M upi.bandwidth
	says 'did you mean link.\*\?'
	while read -r _ _ line; do
		eval "typed=(${line/ -- COMMAND/})"
		expect 0 "$UNCORE" "${typed[@]}" --help
		count=$((count + 1))
	done < <(grep '^ *see: ' "$UNCORE_SOURCE_ROOT/data/names/words.yaml")
	[ "$count" -gt 10 ]
}

@test "text lines have at most 100 columns: the rest continues below" {
	local command

	for command in 'list metrics' doctor topo; do
		# shellcheck disable=SC2086 # words are meant
		run --separate-stderr "$UNCORE" --root "$MACHINES/intel-icx-1socket.txt" $command
		[ "${#lines[@]}" -gt 5 ] || fail "$command"
		! grep -E '^.{101}' <<<"$output" || fail "$command"
	done
	expect 0 "$UNCORE" --root "$ZEN4" explain 'memory.*'
	! grep -v '^  perf ' <<<"$output" | grep -E '^.{101}' || fail
}
