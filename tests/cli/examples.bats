#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Examples of the manual, of README and of the daily tasks print what is shown there. tools/examples writes them anew.

load helpers

@test "examples of the manual, of README and of the daily tasks" {
	local check=(--check)

	[ -z "${UPDATE-}" ] || check=()
	expect 0 "$UNCORE_SOURCE_ROOT/tools/examples" "${check[@]}" "$UNCORE" "$UNCORE_SOURCE_ROOT"/{README.md,docs/tasks.md,man/*.scd}
}

@test "an example with a wrong output is found" {
	printf '%s\n' '```' '$ uncore --source sim:spr,step=1s mem 1 1' 'PLACE' '...' '```' >"$BATS_TEST_TMPDIR/page.md"
	expect 1 "$UNCORE_SOURCE_ROOT/tools/examples" --check "$UNCORE" "$BATS_TEST_TMPDIR/page.md"
	shows '\+machine +74'
}

@test "pictures in README show what the command prints" {
	local name

	for name in mem pcie; do
		diff <("$UNCORE_SOURCE_ROOT/tools/screens" --text "$UNCORE_SOURCE_ROOT/docs/screens/$name.svg") \
			<("$UNCORE_SOURCE_ROOT/tools/screens" --run "$name" "$UNCORE") || fail 'make it anew: tools/screens UNCORE'
	done
}
