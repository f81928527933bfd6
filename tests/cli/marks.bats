#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # set by run
# Commands while it counts (--control, uncore mark), and regions of recordings.

load helpers

setup() {
	"$UNCORE" --help | grep -q '^ *record ' || skip 'built without SQLite'
	cd "$BATS_TEST_TMPDIR" || return 1
	mkfifo ctl ack
	# They stay open, so that neither end waits for the other.
	exec 7<>ctl 8<>ack
}

teardown() {
	[ -z "${pid:-}" ] || kill "$pid" 2>/dev/null || true
	exec 7>&- 8>&-
}

# begin OPTION...: counting in the background, which listens when this returns.
begin() {
	"$UNCORE" --source "$SIM_SPR" "$1" --control fifo:ctl,ack "${@:2}" >out 2>messages 7>&- 8>&- &
	pid=$!
	tell ping
}

# tell COMMAND: returns when it was answered.
tell() {
	local answer

	echo "$1" >&7
	read -r -t 60 -u 8 answer || fail "'$1' is not answered: $(cat messages)"
	[ "$answer" = ack ] || fail "the answer: '$answer'"
}

# finished STATUS
finished() {
	local found=0

	wait "$pid" || found=$?
	pid=
	[ "$found" -eq "$1" ] || fail "exit status $found: $(cat messages)"
}

is() { # FILE STATEMENT RESULT
	local found

	found=$(sqlite3 "$1" "$2")
	[ "$found" = "$3" ] || fail "$2: '$found' and not '$3'"
}

# Each reading of the simulation is a second after the one before.
@test "intervals that are disabled are in no output and no total" {
	begin stat -M memory.bandwidth -D -1 -I 1h -j --summary
	for command in enable disable enable disable disable enable; do
		tell $command
	done
	tell stop
	finished 0
	[ "$(jq -c '[.time, .interval, .total]' out | tr -d '\n')" = '[1,1,false][3,1,false][5,1,false][5,3,true]' ] || fail "$(cat out)"
	[ "$(jq -s '(.[:3] | map(.value) | add / 3) as $mean | .[3].value / $mean | . > 0.999 and . < 1.001' out)" = true ]
}

@test "without intervals the parts are printed as one" {
	begin stat -M memory.bandwidth -D -1 -j
	for command in enable disable enable; do
		tell $command
	done
	tell stop
	finished 0
	[ "$(jq -c '[.interval, .total, .quality]' out)" = '[2,false,"measured"]' ] || fail "$(cat out)"
	# Nothing was enabled.
	begin stat -M memory.bandwidth -D -1
	tell stop
	finished 0
	[ ! -s out ] && grep -q 'nothing was counted' messages
	# A command runs meanwhile, and is ended.
	begin stat -M memory.bandwidth -j -- sleep 1000
	tell stop
	finished 143
	[ "$(wc -l <out)" -eq 1 ]
}

@test "what is not a command is reported once, and nobody has to read an answer" {
	begin stat -M memory.bandwidth -I 1h -j
	for _ in {1..5000}; do
		printf 'bogus\0ping\n\nenable now\nping\n'
	done >&7
	printf 'mark %05000d\nmark x\n' 1 >&7
	echo stop >&7
	finished 0
	[ "$(grep -c "unknown command 'bogus'; commands: enable, disable, ping, stop, snapshot, mark TEXT" messages)" -eq 1 ]
	[ "$(grep -c 'a line is longer' messages)" -eq 1 ]
	[ "$(grep -c 'mark are for uncore record' messages)" -eq 1 ]
	[ "$(wc -l <messages)" -eq 3 ] || fail "$(head messages)"
}

@test "channels: descriptors, and what is none" {
	printf 'ping\nstop' >commands
	expect 0 "$UNCORE" --source "$SIM_SPR" stat -M memory.bandwidth --control fd:9,10 9<commands 10>answers
	[ "$(tr '\0' '|' <answers)" = $'ack\n|ack\n|' ]
	for channel in fifo:missing fifo:commands fifo: fd: fd:1x fd:77 fd:1,77 fifo:ctl,missing pipe:ctl; do
		expect 2 "$UNCORE" --source "$SIM_SPR" stat --control $channel
		[[ $stderr == *--control* ]]
	done
	expect 2 "$UNCORE" --source "$SIM_SPR" stat -D -1
	[[ $stderr == *'it needs --control'* ]]
	expect 2 "$UNCORE" --source "$SIM_SPR" stat -r 2 --control fifo:ctl -- true
}

@test "a recording has marks, and gaps where it was disabled" {
	begin record -o a -I 1h mem
	tell 'mark one'
	expect 0 "$UNCORE" mark -o ./a 'zwei Wörter, "quoted"'
	expect 0 "$UNCORE" mark -o "$PWD/../${PWD##*/}/a" three
	is a "SELECT group_concat(text, '|') FROM (SELECT text FROM mark ORDER BY rowid)" 'one|zwei Wörter, "quoted"|three'
	tell disable
	tell disable
	tell 'mark in the gap'
	tell enable
	expect 2 "$UNCORE" mark -o a
	expect 2 "$UNCORE" mark three
	expect 2 "$UNCORE" mark -o a $'two\nlines'
	expect 1 "$UNCORE" mark -o b four
	[[ $stderr == *'b: no process of this host records into it'* ]]
	tell stop
	finished 0
	is a 'SELECT group_concat(first_tick), group_concat(end) FROM session' '0,64|disabled,complete'
	is a 'SELECT group_concat(id), group_concat(monotonic_ns / 1000000000) FROM tick' '0,1,64,65|0,1,2,3'
	is a 'SELECT monotonic_ns / 1000000000 FROM mark WHERE rowid = 4' 1
	expect 0 "$UNCORE" report a mem
	[[ $stderr == *'nothing was recorded from 1970-01-01T00:00:01.000Z to 1970-01-01T00:00:02.000Z'* ]]
	expect 1 "$UNCORE" mark -o a late
}

@test "marks of the kernel's clock; the file after a rotated one has them, too" {
	local now before

	before=$(date +%s%N)
	"$UNCORE" --source sim:spr record -o a -I 20ms --rotate-age 200ms mem 2>messages &
	pid=$!
	for _ in {1..600}; do
		"$UNCORE" mark -o a first 2>/dev/null && break
		sleep 0.1
	done
	now=$(date +%s%N)
	for _ in {1..600}; do
		[ ! -e a.2 ] || break
		sleep 0.1
	done
	"$UNCORE" mark -o a last
	kill "$pid"
	finished 0
	is a "SELECT count(*), count(DISTINCT text) FROM mark WHERE wall_ns >= $before" '2|2'
	is a "SELECT text FROM mark WHERE wall_ns BETWEEN $before AND $now" first
	# Both clocks belong together: the difference is that of the ticks, but for steps of the wall clock.
	is a "SELECT abs((SELECT wall_ns - monotonic_ns FROM mark WHERE text = 'last') -
		(SELECT avg(wall_ns - monotonic_ns) FROM tick)) < 1e9" 1
}

@test "snapshot writes what is in memory" {
	begin record -o a -I 1h --flight 1h mem
	echo snapshot >&7
	tell ping
	grep -q 'no interval has ended yet' messages
	tell disable
	tell 'mark here'
	tell snapshot
	is a 'SELECT count(*) FROM tick' 2
	is a 'SELECT text FROM mark' here
	tell enable
	tell disable
	tell snapshot
	tell stop
	finished 0
	is a 'SELECT group_concat(first_tick), group_concat(end) FROM session' '0,64|disabled,disabled'
	expect 0 "$UNCORE" report a mem
	begin record -o b -I 1h mem
	echo snapshot >&7
	tell stop
	finished 0
	grep -q 'snapshot needs --flight' messages
}
