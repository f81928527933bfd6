#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Who moves data to and from which memory: metrics named matrix.*, as a table for reads and writes.

load helpers

# A machine that can tell five pairs apart; one of them has no value.
setup_file() {
	mkdir "$BATS_FILE_TMPDIR/data"
	cat >"$BATS_FILE_TMPDIR/data/pairs.yaml" <<-YAML
		family: a-matrix
		title: pairs of the test
		instance: socket
		place: socket
		pmus:
		  - name: nvidia_ucf_pmu_{socket}
		events:
		  rd: {title: reads, alias: mem_bytes_rd, evidence: the test}
		  wr: {title: writes, alias: mem_bytes_wr, evidence: the test}
		metrics:
		  matrix.remote.memory.read.bandwidth: {title: t, unit: B/s, formula: rd / 2 / seconds, evidence: e}
		  matrix.device.memory.read.bandwidth: {title: t, unit: B/s, formula: rd / 4 / seconds, evidence: e}
		  matrix.cpu.remote.read.bandwidth: {title: t, unit: B/s, formula: rd / 1e6 / seconds, evidence: e}
		  matrix.cpu.memory.read.bandwidth: {title: t, unit: B/s, formula: rd / seconds, evidence: e}
		  matrix.cpu.cxl.write.bandwidth: {title: t, unit: B/s, formula: wr / (wr - wr), evidence: e}
	YAML
	cat >"$BATS_FILE_TMPDIR/flat.yaml" <<-YAML
		sim: flat
		machine: t410
		rates:
		  - {pmu: nvidia_ucf_pmu, event: mem_bytes_rd, constant: 8e9, running: 0.5}
		  - {pmu: nvidia_ucf_pmu, event: mem_bytes_wr, constant: 1e9}
	YAML
}

matrix() {
	cd "$BATS_FILE_TMPDIR" || return 1
	expect 0 "$UNCORE" --data data --source sim:flat.yaml,step=1s matrix "$@"
}

@test "text: sources on the left, destinations above, a note where they cannot be distinguished" {
	matrix
	shows 'READS +to memory +to cxl +to remote' 'WRITES +to memory +to cxl +to remote'
	shows 'from cpu +8\.000 GB/s ~ +n/a +8\.000 kB/s ~' 'from device +2\.000 GB/s ~ +n/a +n/a' \
		'from remote +4\.000 GB/s ~' 'from cpu +n/a +- ! +n/a'
	shows 'n/a: no counter of this machine counts this pair separately' \
		'! matrix.cpu.cxl.write.bandwidth is unavailable:' 'at least 50 % of the time'
}

@test "intervals and places have tables of their own" {
	matrix -I 10 --interval-count 2 --per-socket
	[ "$(grep -c '^Socket 0$' <<<"$output")" -eq 2 ] || fail 'no table for the socket'
	shows '1\.000000 s' '2\.000000 s'
	matrix --no-merge
	shows 'nvidia_ucf_pmu_0, CPU 0'
}

@test "JSON and CSV have the usual rows" {
	matrix -j
	helper check-rows json N=5 simulated <<<"$output"
	matrix --csv
	helper check-rows csv N=5 simulated <<<"$output"
}

# Every pair has a counter there, so that nothing is left out and nothing counted twice.
@test "the pairs of the simulated Tegra410 are all of its memory traffic" {
	local kind

	expect 0 "$UNCORE" --source "$SIM_T410" stat -j --timeout 1 -M 'matrix.*,memory.*.bandwidth'
	for kind in read write; do
		jq -e -s --arg kind "$kind" 'map(select(.kind == "metric")) |
			(map(select(.name | test("^matrix\\..*\\." + $kind + "\\.bandwidth$")).value) |
				[length, add]) as [$pairs, $sum] |
			(map(select(.name == "memory." + $kind + ".bandwidth").value)[0]) as $whole |
			$pairs == 12 and ($sum - $whole | fabs) < 1e-7 * $whole' <<<"$output" >/dev/null ||
			fail "$kind"
	done
}
