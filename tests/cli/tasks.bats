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
		# Simulated seconds need not be waited for; top ends only where it is told to.
		arguments=${arguments/ 1 1/ 0.01 1}
		arguments=${arguments/-I 1s/-I 10ms}
		[ "$arguments" != top ] || arguments='top --interval-count 1 -I 10ms'
		read -ra words <<<"$arguments"
		run --separate-stderr "$UNCORE" --source "sim:$1,step=1s" "${words[@]}" </dev/null
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

@test "the daily tasks on Sapphire Rapids" {
	answers spr 4
}

@test "the daily tasks on Zen 4" {
	answers zen4 5
}
