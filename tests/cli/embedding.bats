#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The program of docs/embedding.md, as meson has built it from the page: its output is the page's, and its numbers
# are those of the command.

load helpers

UNCORE_EMBEDDING=$UNCORE_BUILD_ROOT/tests/embedding

@test "the output of the program is the same as on the page" {
	expect 0 "$UNCORE_EMBEDDING" sim:spr,step=1s 1
	diff <(sed -n '/^SIMULATED$/,/^```$/p' "$UNCORE_SOURCE_ROOT/docs/embedding.md" | sed '$d') <(echo "$output")
}

@test "the numbers of the program are the same as those of stat" {
	expect 0 "$UNCORE" --source sim:zen4,step=1s stat -M memory.bandwidth --per-channel -I 10ms --interval-count 2 -j
	local rows=$output
	expect 0 "$UNCORE_EMBEDDING" sim:zen4,step=1s 2
	diff <(jq -r '"\(.channel) \(.value * 1 / 1e7 | round)"' <<<"$rows") \
		<(awk '/GB\/s/ {print $4 + 0, $(NF - 1) * 100}' <<<"$output")
}

@test "on failure the program prints the library's error" {
	expect 1 "$UNCORE_EMBEDDING" sim:monaka,step=1s 1
	says 'memory.bandwidth'
	expect 1 "$UNCORE_EMBEDDING" sim:nope
	says 'there is no simulation'
}
