#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The recipes of docs/plotting.md, as they are printed there, on a simulated log: what they plot is what is in it.

load helpers

setup() {
	local arguments

	cd "$BATS_TEST_TMPDIR" || return 1
	# Simulated seconds need not be waited for.
	arguments=$(recipe sh Plotting | sed 's/^uncore //; s/ 1s 3600 / 0.01 20 /')
	# shellcheck disable=SC2086 # words are meant
	"$UNCORE" --source "$SIM_SPR" $arguments
	[ "$(wc -l <mem.csv)" -eq 21 ]
}

# recipe LANGUAGE HEADING: the block of that language below it.
recipe() {
	awk -v "language=$1" -v "heading=$2" '/^#/ && !inside {found = $2 == heading}
		/^```/ {inside = found && $0 == "```" language; next} inside' "$UNCORE_SOURCE_ROOT/docs/plotting.md"
}

# find_pandas: $PANDAS is a Python that has it.
find_pandas() {
	for PANDAS in python3 /usr/bin/python3 ''; do
		[ -z "$PANDAS" ] || ! "$PANDAS" -c 'import pandas' 2>/dev/null || return 0
	done
	skip 'python3-pandas is not installed: tools/setup pandas'
}

# column NAME: its values, in GB/s.
column() {
	python3 -c 'import csv, sys
for row in csv.DictReader(open("mem.csv", encoding="utf-8")): print(float(row[sys.argv[1]]) / 1e9)' "$1"
}

@test "gnuplot: each value is a point of its curve" {
	recipe gnuplot gnuplot >script
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
	find_pandas
	recipe python pandas >script
	expect 0 "$PANDAS" script
	[ "$(wc -l <minutes.csv)" -eq 2 ] || fail 'one minute'
	column 'memory.bandwidth (B/s)' >values
	python3 - <<-'PYTHON'
		import csv, statistics
		mean = statistics.mean(map(float, open("values")))
		row, = csv.DictReader(open("minutes.csv"))
		assert abs(float(row["memory.bandwidth (B/s)"]) / mean - 1) < 1e-9, (row, mean)
	PYTHON
}

@test "Parquet: the columns of a recording have fixed types" {
	local arguments

	"$UNCORE" --help | grep -q '^ *record ' || skip 'built without SQLite'
	find_pandas
	"$UNCORE" --source "$SIM_SPR" record -o run.uncore -I 10ms --interval-count 20 mem
	arguments=$(recipe sh Parquet | sed 's/^uncore //')
	# shellcheck disable=SC2086 # words are meant
	"$UNCORE" $arguments
	recipe python Parquet >script
	grep -q '^table\.to_parquet(' script
	"$PANDAS" -c 'import pyarrow' 2>/dev/null || sed -i '/to_parquet/d' script
	cat >>script <<-'PYTHON'
		kinds = {name: str(kind) for name, kind in table.dtypes.items()}
		assert kinds.pop("date") == "datetime64[ns, UTC]", kinds
		assert {kinds.pop(name) for name in ("wall_ns", "monotonic_ns")} == {"int64"}, kinds
		assert {kinds.pop(name) for name in text} == {"string"}, kinds
		assert len(kinds) >= 6 and set(kinds.values()) == {"float64"}, kinds
		# The reason of measured values, and the host of a simulation.
		assert table["reason"].isna().all() and table["host"].isna().all(), table
		assert (table["date"] == pandas.to_datetime(table["wall_ns"], utc=True)).all(), table["date"]
		assert len(table) == 20 and table["memory.bandwidth (B/s)"].min() > 1e9, table
	PYTHON
	expect 0 "$PANDAS" script
}
