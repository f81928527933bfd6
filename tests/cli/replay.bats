#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154,SC2030,SC2031 # set by run; each test is a process of its own
# Recordings as a source: every view of a recording has the numbers that the view had on the machine.

load helpers

SPR=sim:spr,step=20ms

setup() {
	"$UNCORE" --help | grep -q '^ *record ' || skip 'built without SQLite'
	cd "$BATS_TEST_TMPDIR" || return 1
}

# rows SOURCE VIEW OPTION...: without what differs in a recording, and without what depends on this machine's speed.
rows() {
	local source=$1

	shift
	"$UNCORE" --source "$source" "$@" -j 2>errors |
		sed -E 's/"(source|date)":"[^"]*",//g; s/"(wall_ns|missed|monotonic_ns)":[0-9]+(,|\})/\2/g'
}

# same SOURCE [record] VIEW OPTION...: records the view; three intervals of it are those of the source. With "record" the
# view is a preset, which the machine may not have.
same() {
	local source=$1 preset=$2

	shift
	[ "$preset" != record ] || shift
	rm -f same.uncore
	if [ "$preset" = record ]; then
		"$UNCORE" --source "$source" record -o same.uncore -I 1ms --interval-count 3 "$@" 2>errors || return 0
	else
		"$UNCORE" --source "$source" record -o same.uncore -I 1ms --interval-count 3 "${@:2}"
	fi
	rows "$source" "$@" -I 20ms --interval-count 3 >expected
	rows replay:same.uncore "$@" -I 20ms >replayed
	cmp expected replayed || fail "$source $*: $(diff expected replayed | cut -c1-300 | head -n 4)"
	[ -s expected ] || fail "$source $*: no rows"
	echo "$*" >>compared
}

# record FILE OPTION...: simulated seconds, which are not waited for.
record() {
	local file=$1

	shift
	"$UNCORE" --source "$SPR" record -o "$file" -I 1ms "$@"
}

# bats test_tags=slow
@test "each preset on each simulation" {
	local sim preset all=$UNCORE UNCORE

	for sim in "$UNCORE_SOURCE_ROOT"/data/sim/*.yaml; do
		sim=$(basename "$sim" .yaml)
		# With sanitizers the machines that reach every branch that all of them reach.
		case $sim in
		spr | t410 | zen3 | icx) UNCORE=$all ;;
		*) UNCORE=${UNCORE_PLAIN:-$UNCORE} ;;
		esac
		for preset in mem pcie link cache matrix; do
			same "sim:$sim,step=20ms" record "$preset"
		done
	done
	[ "$(wc -l <compared)" -ge 40 ] || fail "compared: $(wc -l <compared)"
}

@test "metrics, events, levels and filters of stat" {
	same "$SPR" stat -M 'memory.*' --per-channel
	same "$SPR" stat -M 'memory.*,pcie.*' --per-port
	same "$SPR" stat -e 'uncore_imc/cas_count_read/,uncore_upi_0/event=2,umask=0xf/' --no-merge
	same "$SPR" stat -M 'memory.bandwidth' --per-socket
	[ "$(wc -l <compared)" -eq 4 ]
}

@test "without an interval: one table of all, equal to the totals" {
	record a --interval-count 10 mem
	"$UNCORE" --source replay:a mem -I 20ms --summary -j | jq -c 'select(.total) | del(.total)' >totals
	"$UNCORE" --source replay:a mem -j | jq -c 'del(.total)' >all
	cmp totals all
	[ "$(jq -s 'all(.[]; .interval * 1 == 0.2)' all)" = true ]
	expect 0 "$UNCORE" --source replay:a mem
	[[ $output == *'SIMULATED by replay:a'*'Counted for 200.0 ms'* ]]
}

@test "intervals are grouped, and their counts are sums" {
	record a --interval-count 10 -e uncore_imc/cas_count_read/
	"$UNCORE" --source replay:a stat -I 20ms -j >single
	"$UNCORE" --source replay:a stat -I 40ms -j >double
	[ "$(jq -s length single)" -eq 10 ]
	[ "$(jq -s '[_nwise(2) | map(.count * 1) | add]' <single)" = "$(jq -s 'map(.count * 1)' double)" ]
	"$UNCORE" --source replay:a stat -I 40ms --interval-count 2 -j >two
	[ "$(jq -s length two)" -eq 2 ]
	expect 2 "$UNCORE" --source replay:a stat -I 30ms
	[[ $stderr == *'must be a multiple of'* ]]
	expect 2 "$UNCORE" --source replay:a stat --timeout 1s
	expect 2 "$UNCORE" --source replay:a stat -- true
}

@test "recorded intervals are short samples" {
	record a --interval-count 10 -M memory.bandwidth
	"$UNCORE" --source replay:a stat -I 20ms -j | jq -s 'map(.value * 1) | max' >most
	"$UNCORE" --source replay:a stat --sample 20ms -j >sampled
	[ "$(jq ".max * 1 == $(cat most)" sampled)" = true ] || fail "$(cat most sampled)"
	[ "$(jq '.samples * 1' sampled)" -eq 10 ]
	expect 2 "$UNCORE" --source replay:a stat --sample 1ms
}

@test "metrics that were not recorded have no value; a preset without any is an error that lists the recorded ones" {
	record a --interval-count 2 -M memory.read.bandwidth
	expect 0 "$UNCORE" --source replay:a stat -M memory.read.bandwidth,memory.write.bandwidth -j
	[[ $(jq -r 'select(.name == "memory.write.bandwidth") | "\(.value) \(.quality) \(.reason)"' <<<"$output") == \
		'null unavailable '*'not in the recording'* ]]
	expect 3 "$UNCORE" --source replay:a link
	[[ $stderr == *'memory.read.bandwidth'* ]] || fail "$stderr"
	# Without names: what was recorded.
	expect 0 "$UNCORE" --source replay:a stat -j
	[ "$(jq -r .name <<<"$output")" = memory.read.bandwidth ]
}

@test "a part of a recording by time" {
	record a --interval-count 10 -e uncore_imc/cas_count_read/
	"$UNCORE" --source replay:a stat -I 20ms -j >all
	"$UNCORE" --source replay:a,begin=+40ms,end=+100ms stat -I 20ms -j >part
	[ "$(jq -c '.count' part)" = "$(sed -n 3,5p all | jq -c .count)" ] || fail "$(cat part)"
	"$UNCORE" --source "replay:a,begin=$(sed -n 2p all | jq -r .date)" stat -I 20ms -j >part
	[ "$(jq -c '.count' part)" = "$(sed -n '3,$p' all | jq -c .count)" ]
	expect 1 "$UNCORE" --source replay:a,begin=2036-01-01T00:00+02:00 stat
	expect 2 "$UNCORE" --source replay:a,begin=yesterday stat
	[[ $stderr == *"'yesterday' is not a time"* ]]
	expect 1 "$UNCORE" --source replay:a,begin=+1h stat
	[[ $stderr == *'no intervals'* ]] || fail "$stderr"
	for time in +1.2.3s +nan +infs +1e3s +0x10s +-1s ++1s + '+5 s' +5m +99999999999d 2026-02-31 2026-11-22T23:50:32.5e3Z \
		2026-11-22T23:50:32.Z 2026-11-22T23:50:32.nanZ 2026-11-22x ''; do
		expect 2 "$UNCORE" --source "replay:a,begin=$time" stat
		says "begin: '.*' is not a time of a recording"
		expect 2 "$UNCORE" report "--end=$time" a stat
		says "end: '.*' is not a time of a recording"
	done
	expect 0 "$UNCORE" --source replay:a,begin=1970-01-01T00:00:00.02Z,end=+.1s stat
}

@test "a name of a recording may look like options" {
	local name

	record a --interval-count 10 -e uncore_imc/cas_count_read/
	"$UNCORE" --source replay:a stat -I 20ms -j | jq -c 'del(.source)' >all
	for name in a,end=+40ms a,begin=+40ms,as-recorded a,as-recorded a,end= a,region=x; do
		record "$name" --interval-count 10 -e uncore_imc/cas_count_read/
		expect 0 "$UNCORE" report "$name" stat -I 20ms -j
		[ "$(jq -c 'del(.source)' <<<"$output")" = "$(<all)" ] || fail "report $name"
		[ "$(jq -r .source <<<"${lines[0]}")" = "replay:$name" ] || fail "source of $name"
		expect 0 "$UNCORE" --source "replay:$name" stat -I 20ms -j
		[ "$(jq -c 'del(.source)' <<<"$output")" = "$(<all)" ] || fail "source $name"
		# Options are behind the name of a file; but the text of a region may have commas.
		[ "$name" != a,region=x ] || continue
		expect 0 "$UNCORE" --source "replay:$name,begin=+40ms,end=+100ms" stat -I 20ms -j
		[ "$(jq -c '.count' <<<"$output")" = "$(sed -n 3,5p all | jq -c .count)" ] || fail "a part of $name"
		expect 0 "$UNCORE" report --begin +40ms --end +100ms "$name" stat -I 20ms -j
		[ "$(jq -c '.count' <<<"$output")" = "$(sed -n 3,5p all | jq -c .count)" ] || fail "a part of $name"
		rm "$name"
	done
	# In any order.
	expect 0 "$UNCORE" --source replay:a,end=+100ms,begin=+40ms stat -I 20ms -j
	[ "$(jq -c '.count' <<<"$output")" = "$(sed -n 3,5p all | jq -c .count)" ] || fail 'the end before the begin'
	# Nor does the name of a simulation.
	cp "$UNCORE_SOURCE_ROOT/data/sim/spr.yaml" ./sim,step=1s.yaml
	expect 0 "$UNCORE" --source sim:./sim,step=1s.yaml topo
	expect 0 "$UNCORE" --source sim:./sim,step=1s.yaml,step=20ms stat -M memory.bandwidth -I 1ms --interval-count 2
}

@test "each session has a table of its own, and the time between them is reported" {
	record a --interval-count 4 -e uncore_imc/cas_count_read/
	record a --append --interval-count 3 -e uncore_imc/cas_count_read/
	"$UNCORE" --source replay:a stat -I 20ms -j >rows 2>messages
	[ "$(jq -s length rows)" -eq 7 ]
	grep -q 'nothing was recorded from' messages
	"$UNCORE" --source replay:a stat -j 2>messages >rows
	[ "$(jq -s -c 'map(.interval * 1)' rows)" = '[0.08,0.06]' ] || fail "$(cat rows)"
}

@test "a time between two sessions is the begin of the later one" {
	command -v sqlite3 >/dev/null || skip 'sqlite3 is not installed: tools/setup test'
	record a --interval-count 4 -e uncore_imc/cas_count_read/
	record a --append --interval-count 3 -e uncore_imc/cas_count_read/
	sqlite3 a 'UPDATE tick SET wall_ns = wall_ns + 3600000000000 WHERE id >= 64'
	"$UNCORE" --source replay:a,begin=+30min stat -j >rows
	[ "$(jq -s -c 'map(.interval * 1)' rows)" = '[0.06]' ] || fail "$(cat rows)"
	expect 1 "$UNCORE" --source replay:a,begin=+9999d stat
	[[ $stderr == *'no intervals'* ]] || fail "$stderr"
}

@test "list, topo, explain and doctor are about the recorded machine" {
	local view

	record a --interval-count 1 mem
	# Both leave out the GPU of the tree, for which the simulation has no rates.
	for view in 'list' 'list metrics' 'topo' 'explain memory.bandwidth'; do
		# shellcheck disable=SC2086 # words
		cmp <("$UNCORE" --source "$SPR" $view | sed 1d) <("$UNCORE" --source replay:a $view | sed 1d) ||
			fail "$view"
	done
	"$UNCORE" --source replay:a doctor >text || [ $? -eq 3 ]
	grep -q uncore_imc text
	expect 0 "$UNCORE" --source replay:a
	[[ $output == *Memory*READ*machine*GB/s* ]]
}

@test "a file that is no recording, a damaged one, a newer one, and --root with a recording" {
	record a --interval-count 3 mem
	expect 1 "$UNCORE" --source replay:missing stat
	[[ $stderr == *'missing: '* ]]
	expect 1 "$UNCORE" --source "replay:$UNCORE_SOURCE_ROOT/meson.build" stat
	[[ $stderr == *'not a recording'* ]]
	expect 2 "$UNCORE" --source replay:a --root / stat
	head -c 20000 a >short
	expect 1 "$UNCORE" --source replay:short stat
	command -v sqlite3 >/dev/null || skip 'sqlite3 is not installed: tools/setup test'
	sqlite3 a 'PRAGMA user_version = 99'
	expect 1 "$UNCORE" --source replay:a stat
	[[ $stderr == *'newer version'* ]]
	sqlite3 a 'PRAGMA user_version = 1; UPDATE tick SET readings = zeroblob(5) WHERE id = 2'
	expect 1 "$UNCORE" --source replay:a stat
	[[ $stderr == *'tick 2'*'damaged'* ]] || fail "$stderr"
}

# damage SENTENCE STATEMENT: a recording that was changed is an error.
damage() {
	rm -f hurt
	cp a hurt
	sqlite3 hurt "$2"
	expect 1 timeout 60 "$UNCORE" --source replay:hurt stat
	[[ $stderr == *"$1"* ]] || fail "$2: $stderr"
}

@test "hostile recordings are refused" {
	local escape=$'\e]0;title\a\e[2J'

	command -v sqlite3 >/dev/null || skip 'sqlite3 is not installed: tools/setup test'
	record a --interval-count 3 mem
	# Statements of its own, also without end.
	for name in tick counter reason meta row; do
		damage 'its tables are not those' "ALTER TABLE $name RENAME TO other;
			CREATE VIEW $name AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT o.* FROM other o, n"
	done
	damage 'its tables are not those' 'CREATE TRIGGER t AFTER INSERT ON session BEGIN DELETE FROM tick; END'
	expect 1 "$UNCORE" --source "$SPR" record -o hurt --append -I 1ms --interval-count 1 mem
	[ "$(sqlite3 hurt 'SELECT count(*) FROM tick')" -eq 4 ]
	damage 'its tables are not those' 'DROP TABLE reason'
	# The number of tables is right.
	damage 'its tables are not those' "DROP VIEW samples; DROP VIEW short_samples; DROP VIEW regions; DROP TABLE meta;
		CREATE VIEW meta AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS key, 'x' AS value FROM n;
		CREATE TRIGGER t AFTER INSERT ON mark BEGIN SELECT 1; END"
	expect 1 timeout 20 "$UNCORE" --source "$SPR" record -o hurt --append -I 1ms --interval-count 1 mem
	# Columns and indices that are computed, which take memory when they are read and written.
	damage 'its tables are not those' "ALTER TABLE meta ADD COLUMN big TEXT AS (hex(zeroblob(200000000)))"
	damage 'its tables are not those' "CREATE INDEX big ON tick(length(hex(zeroblob(200000000))))"
	damage 'its tables are not those' "DROP TABLE reason; CREATE TABLE REASON(id INTEGER PRIMARY KEY, text TEXT UNIQUE)"
	# Times and numbers that no recorder writes.
	damage damaged 'UPDATE tick SET monotonic_ns = 1 WHERE id = 2'
	damage damaged 'UPDATE tick SET id = 9223372036854775807, readings = (SELECT readings FROM tick WHERE id = 0) WHERE id = 3'
	damage 'a counter is damaged' 'UPDATE counter SET error = 5'
	damage 'a counter is damaged' 'UPDATE counter SET error = -2147483648'
	damage interval 'UPDATE session SET interval_ns = -1; UPDATE tick SET interval_ns = 0'
	# Terminals do not get its control characters.
	cp a hurt
	sqlite3 hurt "UPDATE counter SET error = -5, why = 'x$escape'; UPDATE meta SET value = 'h$escape' WHERE key = 'host';
		UPDATE meta SET value = '0' WHERE key = 'simulated'; UPDATE row SET name = 'n$escape', family = NULL"
	for options in '' '-M memory.bandwidth' '-M link.*' '-v --csv' '-M memory.bandwidth -j'; do
		# shellcheck disable=SC2086 # words
		"$UNCORE" --source replay:hurt stat $options >out 2>&1 || true
		[ -s out ] && ! grep -q $'[\e\a]' out || fail "$options: $(cat -v out)"
	done
}
