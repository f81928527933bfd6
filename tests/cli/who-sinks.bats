#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `serve --who` and `record --who`: `uncore who` in another process, whose sums and rows go into the exporter and into
# recordings, and which ends with this one however that ends.
# shellcheck disable=SC2154 # stderr, output, server and address are set by helpers

load helpers
load resctrl

export program=env

# owners: two units that move 4 and 1.5 GB/s, and a group of another program.
owners() {
	cd "$BATS_TEST_TMPDIR" || return
	machine 16
	process 100 alpha /system.slice/a.service 0.5 4000000000 3000000000 0 0
	process 101 beta /system.slice/b.service 0.5 1000000000 0 500000000 500000000
	process 102 quiet / 0 20000000 20000000 0 0
	group web
	process 200 web / 0.5 2000000000 0 0 0
	echo 200 >"$RESCTRL/sys/fs/resctrl/web/tasks"
}

teardown() {
	local process

	for process in "${server-}" "${receiver-}"; do
		[ -z "$process" ] || { kill -KILL "$process" && wait "$process"; } 2>/dev/null || true
	done
}

# soon FUNCTION...: within ten seconds.
soon() {
	local until=$((SECONDS + 10))

	until "$@" >/dev/null; do
		((SECONDS < until)) || "$@"
		sleep 0.05
	done
}

has_series() {
	text=$(scrape get "$address")
	[[ $text == *"$1"* ]] || fail "no $1 in: $text" "$(<errors)"
}

# exports SERIES: waits until it is in the text; sets `text`.
exports() {
	soon has_series "$1"
}

# rated LABELS METRIC RATE: whether bytes over the time in which they were measured, in $text, are that. Both are of moments of
# their own: on a busy machine some milliseconds differ.
rated() {
	awk -v labels="{$1}" -v bytes="uncore_who_$2_bytes_total" -v rate="$3" '$1 == bytes labels { b = $2 }
		$1 == "uncore_who_measured_seconds_total" labels { s = $2 } END { exit !(s && b > s * rate * 0.9 && b < s * rate * 1.1) }' \
		<<<"$text" || fail "$1 $2 is not $3: $text"
}

# The process that it has started.
child() {
	pgrep -P "$server" -f ' who --by '
}

@test "serve --who: the sums of each unit, in all formats; no group is left after SIGTERM" {
	owners
	serve "${emulated[@]}" serve --resctrl --listen 127.0.0.1:0 -I 200ms --who unit
	exports 'uncore_who_memory_bytes_total{unit="a.service"}'
	rated 'unit="a.service"' memory 4e9
	rated 'unit="a.service"' memory_local 3e9
	rated 'unit="b.service"' memory 1.5e9
	rated 'group="web"' memory 2e9
	[[ $text == *'uncore_who_memory_bytes_total{kind="other"}'* && $text == *$'\nuncore_who_up 1\n'* ]] || fail "$text"
	if [ -n "$(type -P promtool)" ]; then promtool check metrics <<<"$text" || fail; fi
	# The sums grow, and each family has one head. In OpenMetrics the name of a family has no "_total".
	scrape check "$address"
	stop TERM
	no_group_left
}

@test "serve --who: a key that comes later has a series, and no sum goes back" {
	local before

	owners
	echo '103 0.9 3000000000 0 0 0' >>"$RESCTRL/loads" # which is read at the start
	serve "${emulated[@]}" serve --resctrl --listen unix:socket -I 100ms --who process
	exports 'uncore_who_memory_bytes_total{process="alpha",pid="100"}'
	before=$text
	process 103 later / 0.9 3000000000 0 0 0
	exports 'uncore_who_memory_bytes_total{process="later",pid="103"}'
	awk '/^uncore_who_.*_total/ { if (NR == FNR) { before[$1] = $NF; next } seen[$1] = 1; if ($NF < before[$1]) exit 1 }
		END { for (i in before) if (!(i in seen)) exit 1 }' <(echo "$before") <(echo "$text") || fail "$text"
	stop INT
	no_group_left
}

@test "serve --who: after SIGKILL the other process removes its groups, at any interval" {
	owners
	serve "${emulated[@]}" serve --resctrl --listen unix:socket -I 60s --who unit
	[ -n "$(find "$RESCTRL/sys/fs/resctrl/mon_groups" -name 'uncore-*')" ] || fail 'there is no group'
	kill -KILL "$server"
	wait "$server" || true
	server=
	soon no_group_left
}

@test "serve --who: when the other process ends, its series end, and the exporter goes on" {
	owners
	serve "${emulated[@]}" serve --resctrl --listen unix:socket -I 100ms --who unit
	exports 'uncore_who_memory_bytes_total{unit="a.service"}'
	kill -TERM "$(child)"
	exports $'\nuncore_who_up 0\n'
	[[ $text != *uncore_who_memory* && $text == *uncore_group_memory_bytes_total* ]] || fail "$text"
	[[ $(<errors) == *"the process 'uncore who' has ended with status 0: its series end"* ]] || fail "$(<errors)"
	no_group_left
	stop TERM
}

# pushes SERIES: whether the latest request has the series; sets `text`.
pushes() {
	local latest

	latest=$(find collected -name '*.json' | sort -V | tail -n 1)
	[ -n "$latest" ] && text=$(otlp "$latest") && grep -F "$1 " <<<"$text"
}

names_of_who() {
	sed -n 's/^\(uncore_who_.*\) .*/\1/p' <<<"$text" | sort
}

# as_scraped: whether the latest request has the series of /metrics. The values are of other moments.
as_scraped() {
	local scraped

	text=$(scrape get "$address")
	scraped=$(names_of_who)
	pushes uncore_who_up && diff <(names_of_who) - <<<"$scraped"
}

@test "serve --who and --textfile: the same series" {
	owners
	serve "${emulated[@]}" serve --user root --resctrl --listen unix:socket -I 100ms --who unit --textfile "$PWD/all.prom" --textfile-interval 100ms
	exports 'uncore_who_memory_bytes_total{unit="a.service"}'
	soon grep '^uncore_who_memory_bytes_total{unit="b.service"}' all.prom
	stop TERM
}

@test "serve --who and --otlp: the same series" {
	owners
	needs_otlp
	collector 200
	serve "${emulated[@]}" serve --resctrl --listen unix:socket -I 100ms --who unit --otlp "$url" --otlp-interval 100ms
	soon pushes 'uncore_who_memory_bytes_total{unit="a.service"}'
	rated 'unit="a.service"' memory 4e9
	rated 'unit="b.service"' memory_remote 1e9
	grep -qx 'uncore_who_up 1' <<<"$text" || fail "$text"
	soon as_scraped
	stop TERM
}

@test "what cannot be counted is refused with the sentence and the status of uncore who" {
	cd "$BATS_TEST_TMPDIR"
	refuses 3 "$UNCORE" --source "$SIM_SPR" serve --listen unix:socket --who unit
	says 'the source sim:.* has no groups of tasks: only the running machine has'
	refuses 2 "$UNCORE" --source "$SIM_SPR" serve --listen unix:socket --who pod
	says '--by pod: it is not process, cgroup, unit, container, job or user'
	refuses 3 "$UNCORE" --source "$SIM_SPR" record -o a.uncore --who unit 1s 2
	[ ! -e a.uncore ] || fail 'a file was made'
	refuses 2 "$UNCORE" --source "$SIM_SPR" record -o a.uncore --flight 5s --who unit
	says '--flight and --who exclude each other'
	expect 0 "$UNCORE" --source "$SIM_SPR" record -o a.uncore mem 1s 3
	refuses 2 "$UNCORE" --source replay:a.uncore serve --listen unix:socket --who unit
	says '--who cannot be used with a recording'
	refuses 2 "$UNCORE" who --textfile - -j
	says '--textfile - excludes other outputs'
}

@test "an end before the first interval ends this command, too" {
	cd "$BATS_TEST_TMPDIR"
	machine 1 # no id is left: it waits for one for three seconds
	expect 1 env "${emulated[@]}" serve --resctrl --listen unix:socket -I 200ms --who unit
	says 'none is left'
	expect 1 env "${emulated[@]}" record --resctrl -o a.uncore --who unit 200ms
	[ ! -e a.uncore ] || fail 'a file is left'
}

@test "uncore who ends when its reader has gone, and not only with the next interval" {
	local start=$SECONDS

	owners
	"${who[@]}" -I 60s -j > >(sleep 0.5) || [ $? -eq 1 ]
	"${who[@]}" -I 60s --textfile - > >(sleep 0.5) || [ $? -eq 1 ]
	((SECONDS - start < 30)) || fail 'it has waited for the interval'
	no_group_left
}

# ---- recordings ----

sql() {
	sqlite3 "$1" "$2"
}

@test "record --who: the rows of uncore who, by interval" {
	owners
	expect 0 env "${emulated[@]}" record --resctrl -o a.uncore --who unit 300ms 4
	no_group_left
	near "$(sql a.uncore "SELECT value FROM who WHERE key = 'a.service' AND name = 'group.memory.bandwidth' AND socket IS NULL LIMIT 1")" 4e9
	near "$(sql a.uncore "SELECT value FROM who WHERE key = 'b.service' AND name = 'group.memory.bandwidth' AND socket = 1 LIMIT 1")" 0.5e9
	# What no group has is a difference of counts that are read one after another.
	[ "$(sql a.uncore "SELECT avg(value) BETWEEN 15e6 AND 25e6 FROM who WHERE kind = 'other' AND name = 'group.memory.bandwidth' AND
		socket IS NULL")" = 1 ] || fail "$(sql a.uncore "SELECT value FROM who WHERE kind = 'other' AND socket IS NULL")"
	near "$(sql a.uncore "SELECT value FROM who WHERE kind = 'group' AND key = 'web' AND name = 'group.memory.bandwidth' AND socket IS NULL LIMIT 1")" 2e9
	[ "$(sql a.uncore "SELECT DISTINCT kind, key, labels FROM who ORDER BY key")" = \
		'unit|a.service|{"unit":"a.service"}
unit|b.service|{"unit":"b.service"}
other|other|{"kind":"other"}
group|web|{"group":"web"}' ] || fail "$(sql a.uncore "SELECT DISTINCT kind, key, labels FROM who")"
	[ "$(sql a.uncore "SELECT DISTINCT quality FROM who WHERE name = 'group.cache.occupancy' AND kind = 'unit'")" = suspect ] || fail
	[[ $(sql a.uncore "SELECT reason FROM who WHERE quality = 'suspect' LIMIT 1") == 'the group has these tasks for less than 10 s'* ]] || fail
	# Each interval has each row once.
	[ "$(sql a.uncore 'SELECT count(DISTINCT wall_ns) >= 3, max(n), min(n) FROM
		(SELECT wall_ns, count(*) AS n FROM who GROUP BY wall_ns, kind, key, name, socket)')" = '1|1|1' ] || fail
	# They are those of the recording's time.
	[ "$(sql a.uncore 'SELECT min(wall_ns) >= (SELECT min(wall_ns) FROM tick) FROM who')" = 1 ] || fail
	# Another session and another key; ids go on.
	expect 0 env "${emulated[@]}" record --resctrl -o a.uncore --append --who process 300ms 3
	[ "$(sql a.uncore "SELECT count(*) > 0 FROM who WHERE labels ->> 'process' = 'alpha' AND labels ->> 'pid' = '100'")" = 1 ] || fail
	[ "$(sql a.uncore "SELECT count(DISTINCT id) FROM who_row WHERE kind = 'other' AND name = 'group.memory.bandwidth' AND socket IS NULL")" = 1 ] ||
		fail
}

@test "record --who: the labels of containers, and the last interval of a short command" {
	local id=4f8d1c0b2a3e5f60718293a4b5c6d7e8f90123456789abcdef0123456789abcd

	owners
	process 110 a "/kubepods.slice/kubepods-pod8a1b2c3d_0000_4000_8000_00000000002a.slice/cri-containerd-$id.scope" 0.5 1000000000 0 0 0
	expect 0 env "${emulated[@]}" record --resctrl -o a.uncore --who container 1min -- sleep 1
	[ "$(sql a.uncore "SELECT labels FROM who WHERE kind = 'container' LIMIT 1")" = \
		'{"runtime":"containerd","container":"4f8d1c0b2a3e","pod":"8a1b2c3d-0000-4000-8000-00000000002a"}' ] ||
		fail "$(sql a.uncore 'SELECT DISTINCT labels FROM who')"
	near "$(sql a.uncore "SELECT value FROM who WHERE kind = 'container' AND name = 'group.memory.bandwidth' AND socket IS NULL")" 1e9
	# Groups are in no snapshot.
	expect 3 "$UNCORE" report a.uncore
	says 'recordings of resctrl cannot be computed again; the recorded values are in its view samples, those of --who in its view who: sqlite3'
}

@test "record --who: rotated files have the rows of their time; SIGKILL leaves a recording and no group" {
	owners
	env "${emulated[@]}" record --resctrl -o a.uncore --rotate-age 1s --who unit 100ms 2>errors &
	server=$!
	until [ -e a.uncore.2 ]; do sleep 0.05; done
	sleep 0.5
	kill -KILL "$server"
	wait "$server" || true
	server=
	soon no_group_left
	# Each interval is in one file. Those of two files do not overlap.
	[ "$(sql a.uncore.2 'SELECT count(DISTINCT wall_ns) > 3 FROM who')" = 1 ] || fail
	[ "$(sql a.uncore.1 "SELECT count(DISTINCT wall_ns) > 3 FROM who")" = 1 ] || fail
	(($(sql a.uncore.2 'SELECT max(wall_ns) FROM who') < $(sql a.uncore.1 'SELECT min(wall_ns) FROM who'))) || fail
	[ "$(sql a.uncore.1 "SELECT count(*) > 3 FROM who WHERE key = 'a.service' AND value > 3.9e9")" = 1 ] || fail
}

@test "record --who: it goes on when the other process has ended; disabled time has no rows" {
	owners
	mkfifo control answers
	env "${emulated[@]}" record --resctrl -o a.uncore --who unit --control fifo:control,answers 100ms 2>errors &
	server=$!
	exec 5>control 6<answers
	sleep 1
	echo disable >&5
	read -r <&6
	sleep 1.5
	echo enable >&5
	read -r <&6
	sleep 1
	kill -TERM "$(child)"
	soon grep "the process 'uncore who' has ended with status 0: the recording goes on without its rows" errors
	echo stop >&5
	ended
	# An interval that ended in the pause would be in no session.
	[ "$(sql a.uncore 'SELECT max(d) > 1.2e9, count(*) FROM (SELECT wall_ns - lag(wall_ns) OVER (ORDER BY wall_ns) AS d FROM who_tick)
		WHERE d > 8e8')" = '1|1' ] || fail "$(sql a.uncore 'SELECT wall_ns - lag(wall_ns) OVER (ORDER BY wall_ns) FROM who_tick')"
	no_group_left
}

# Four seconds of a simulation, with rows of --who whose values are known.
OWNERS=$UNCORE_SOURCE_ROOT/tests/recordings/v1-who.uncore

@test "report: who moved most, and as JSON and CSV" {
	cd "$BATS_TEST_TMPDIR"
	cp "$OWNERS" a.uncore
	expect 0 "$UNCORE" report a.uncore
	output=${output#*$'\n\nWho '}
	golden report-who.txt <<<"Who $output"
	expect 0 "$UNCORE" report a.uncore -j
	[ "$(jq -sc 'map(select(.names == "a.service" and .name == "group.memory.bandwidth" and .socket == null) |
		[.kind, .mean, .p50, .max, .max_date, .intervals, .missing, .doubtful, .quality])' <<<"$output")" = \
		'[["summary",2000000000,2000000000,3000000000,"1970-01-01T00:00:03.000Z",3,0,0,"measured"]]' ] || fail "$output"
	[ "$(jq -sc 'map(select(.role == "other" and .name == "group.memory.bandwidth") | [.names, .mean, .quality, .reason])' <<<"$output")" = \
		'[[null,50000000,"partial","1 of 3 busy unit had no group"]]' ] || fail "$output"
	expect 0 "$UNCORE" report a.uncore --csv
	[ "$(grep -c ',group.memory.bandwidth,resctrl,' <<<"$output")" -eq 4 ] || fail "$output"
	# Only intervals of the requested time.
	expect 0 "$UNCORE" report --begin +1s --end +2s a.uncore -j
	[ "$(jq -sc 'map(select(.names == "a.service" and .socket == null and .name == "group.memory.bandwidth") | [.mean, .intervals])' \
		<<<"$output")" = '[[2000000000,1]]' ] || fail "$output"
	# diff compares what both counted of the machine.
	expect 0 "$UNCORE" diff a.uncore a.uncore
	[[ $output != *a.service* ]] || fail
}

@test "a foreign file: tables of --who that are no plain tables are refused, damaged values are an error" {
	cd "$BATS_TEST_TMPDIR"
	cp "$OWNERS" a.uncore
	cp a.uncore b.uncore
	sqlite3 b.uncore 'ALTER TABLE who_row RENAME TO other_row; CREATE VIEW who_row AS SELECT * FROM other_row'
	refuses 1 "$UNCORE" report b.uncore
	says 'its tables are not those of a recording'
	sqlite3 a.uncore "UPDATE who_tick SET row_values = '{' WHERE wall_ns = 2000000000"
	refuses 1 "$UNCORE" report a.uncore
	says 'malformed JSON'
}
