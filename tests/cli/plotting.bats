#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The recipes of docs/plotting.md, as they are printed there, on a simulated log: what they plot is what is in it.

load helpers

setup() {
	local arguments

	cd "$BATS_TEST_TMPDIR" || return 1
	# Simulated seconds need not be waited for.
	arguments=$(recipe sh | sed 's/^uncore //; s/ 1s 3600 / 0.01 20 /')
	# shellcheck disable=SC2086 # words are meant
	"$UNCORE" --source "$SIM_SPR" $arguments
	[ "$(wc -l <mem.csv)" -eq 21 ]
}

# recipe LANGUAGE: the block of that language.
recipe() {
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" "$UNCORE_SOURCE_ROOT/docs/plotting.md"
}

# column NAME: its values, in GB/s.
column() {
	python3 -c 'import csv, sys
for row in csv.DictReader(open("mem.csv", encoding="utf-8")): print(float(row[sys.argv[1]]) / 1e9)' "$1"
}

@test "gnuplot: each value is a point of its curve" {
	recipe gnuplot >script
	expect 0 gnuplot script
	[ -z "$stderr" ] || fail 'gnuplot complains'
	[ "$(head -c 4 mem.png | tail -c 3)" = PNG ] || fail 'no picture'
	sed -i 's/^set terminal.*/set table "points"/' script
	expect 0 gnuplot script
	awk '/^# Curve [0-9]/ {curve = $3} curve == "0" && /^"/ {print $2}' points >found
	[ "$(wc -l <found)" -eq 20 ] || fail 'the points'
	column 'memory.read.bandwidth (B/s)' | paste - found |
		awk '{d = $1 - $2; if (d < 0) d = -d; if (d > 1e-4 * $1) exit 1}' || fail 'the values'
}

@test "pandas: means of the bandwidths" {
	local python

	for python in python3 /usr/bin/python3 ''; do
		[ -z "$python" ] || ! "$python" -c 'import pandas' 2>/dev/null || break
	done
	[ -n "$python" ] || skip 'python3-pandas is not installed: tools/setup pandas'
	recipe python >script
	expect 0 "$python" script
	[ "$(wc -l <minutes.csv)" -eq 2 ] || fail 'one minute'
	column 'memory.bandwidth (B/s)' >values
	python3 - <<-'PYTHON'
		import csv, statistics
		mean = statistics.mean(map(float, open("values")))
		row, = csv.DictReader(open("minutes.csv"))
		assert abs(float(row["memory.bandwidth (B/s)"]) / mean - 1) < 1e-9, (row, mean)
	PYTHON
}
