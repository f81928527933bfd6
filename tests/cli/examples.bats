#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Examples of the manual and of docs/ print what is shown there. tools/examples writes them anew.

load helpers

@test "examples of the manual and of docs/" {
	local check=(--check)

	[ -z "${UPDATE-}" ] || check=()
	expect 0 "$UNCORE_SOURCE_ROOT/tools/examples" "${check[@]}" "$UNCORE" "$UNCORE_SOURCE_ROOT"/{docs/*.md,man/*.scd}
}

@test "an example with a wrong output is found" {
	printf '%s\n' '```' '$ uncore --source sim:spr,step=1s mem 1 1' 'PLACE' '...' '```' >"$BATS_TEST_TMPDIR/page.md"
	expect 1 "$UNCORE_SOURCE_ROOT/tools/examples" --check "$UNCORE" "$BATS_TEST_TMPDIR/page.md"
	shows '\+machine +74'
}

@test "command lines of README and of docs/ work" {
	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without record'
	cd "$UNCORE_SOURCE_ROOT" || return
	expect 0 tests/cli/documents.py "$UNCORE" 60 README.md CONTRIBUTING.md docs/{install,first-ten-minutes,concepts,tasks,verify}.md
}

@test "a command line with a wrong option is found" {
	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without record'
	printf '%s\n' '    uncore mem --no-such-option' 'and `uncore no-such-command`' 'and `uncore list metrics`' >"$BATS_TEST_TMPDIR/page.md"
	expect 1 "$UNCORE_SOURCE_ROOT/tests/cli/documents.py" "$UNCORE" 3 "$BATS_TEST_TMPDIR/page.md"
	shows 'page.md:1: exit status 2: uncore mem' 'page.md:2: exit status 2: uncore no-such-command'
	run ! grep 'page.md:3' <<<"$output"
	expect 1 "$UNCORE_SOURCE_ROOT/tests/cli/documents.py" "$UNCORE" 4 "$BATS_TEST_TMPDIR/page.md"
}

@test "pictures in docs/ show what the command prints" {
	local name

	for name in mem pcie; do
		diff <("$UNCORE_SOURCE_ROOT/tools/screens" --text "$UNCORE_SOURCE_ROOT/docs/screens/$name.svg") \
			<("$UNCORE_SOURCE_ROOT/tools/screens" --run "$name" "$UNCORE") || fail 'make it anew: tools/screens UNCORE'
	done
}
