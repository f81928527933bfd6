#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # set by run
# uncore record: what is in the file, and that nothing that was committed is lost.

load helpers

setup() {
	command -v sqlite3 >/dev/null || skip 'sqlite3 is not installed: tools/setup test'
	"$UNCORE" --help | grep -q '^ *record ' || skip 'built without SQLite'
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
	[ -z "${pid-}" ] || kill -KILL "$pid" 2>/dev/null || true
}

sql() { # FILE STATEMENT
	sqlite3 "$1" "$2"
}

# record FILE OPTION...: simulated seconds, which are not waited for.
record() {
	local file=$1

	shift
	"$UNCORE" --source "$SIM_SPR" record -o "$file" -I 1ms "$@"
}

# is FILE STATEMENT RESULT
is() {
	local found

	found=$(sql "$1" "$2")
	[ "$found" = "$3" ] || fail "$2: '$found' and not '$3'"
}

# catches PID MASK: whether the command, and not the shell that becomes it, has a handler for the signals of the mask.
catches() {
	local mask

	[[ $(readlink "/proc/$1/exe") != */bash ]] || return 1
	mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status")
	(((0x${mask:-0} & $2) != 0))
}

# begin FILE OPTION...: in the background; returns when intervals are in the file. Its number is in $pid.
begin() {
	local file=$1

	shift
	"$UNCORE" --source "$SIM_SPR" record -o "$file" "$@" 2>messages &
	pid=$!
	for _ in {1..600}; do
		[ "$(sqlite3 -readonly "$file" 'SELECT count(*) FROM tick' 2>/dev/null || echo 0)" -lt 2 ] || return 0
		sleep 0.1
	done
	fail "nothing is recorded: $(cat messages)"
}

@test "values, places, qualities and reasons are those of stat" {
	local level metrics='memory.*,link.*,pcie.*'

	for level in --per-socket --per-channel --per-port --no-merge; do
		rm -f a.uncore
		record a.uncore -M "$metrics" $level --interval-count 3
		"$UNCORE" --source "$SIM_SPR" stat -M "$metrics" $level -I 1ms --interval-count 3 -j >rows
		expect 0 helper check-record a.uncore <rows
		[ "$output" -ge 30 ] && [ "$output" -eq "$(wc -l <rows)" ] || fail 'rows'
	done
	is a.uncore "SELECT count(DISTINCT quality) > 1 FROM samples" 1
	# The machine's rows come with them.
	"$UNCORE" --source "$SIM_SPR" stat -M 'memory.*' -I 1ms --interval-count 3 -j >rows
	expect 0 helper check-record a.uncore <rows
}

@test "without -M the metrics of mem, pcie, link and power are recorded" {
	record a.uncore --interval-count 2
	for preset in mem pcie link; do
		# A report adds up the rows of sockets.
		"$UNCORE" --source "$SIM_SPR" $preset -I 1ms --interval-count 2 -j | grep -E '"level":"(machine|port)"' >rows
		[ "$(wc -l <rows)" -gt 2 ] || fail "$preset"
		expect 0 helper check-record a.uncore <rows
	done
	is a.uncore "SELECT count(*) FROM row WHERE name LIKE 'matrix.%'" 0
	record b.uncore link cache -M pcie.inbound.read.bandwidth --interval-count 2
	is b.uncore "SELECT count(*) > 0 FROM row WHERE name LIKE 'link.%'" 1
	is b.uncore "SELECT count(DISTINCT name) FROM row WHERE name LIKE 'pcie.%'" 1
	is b.uncore "SELECT count(*) FROM row WHERE name LIKE 'memory.%'" 0
	expect 2 "$UNCORE" --source "$SIM_SPR" record -o c.uncore mme
	[[ $stderr == *"'mme' is not one of: mem, pcie, link, cache, power, matrix"* ]] || fail 'the sentence'
	expect 2 "$UNCORE" --source "$SIM_SPR" record mem
	[[ $stderr == *'a recording needs a file: -o'* ]] || fail 'the sentence'
	expect 0 "$UNCORE" --source "$SIM_SPR" record -o c.uncore --dry-run link
	[ ! -e c.uncore ] || fail 'a dry run writes a file'
}

@test "the file has the session, the machine and the counters" {
	record a.uncore -M 'memory.*' --interval-count 130
	is a.uncore 'PRAGMA application_id' $((0x756e6372))
	is a.uncore 'PRAGMA user_version' 1
	is a.uncore 'SELECT first_tick, interval_ns, sample_ns, end FROM session' '0|1000000|0|complete'
	is a.uncore "SELECT value FROM meta WHERE key = 'source'" "$SIM_SPR"
	is a.uncore "SELECT value FROM meta WHERE key = 'simulated'" 1
	is a.uncore 'SELECT count(*), min(id), max(id), max(monotonic_ns) FROM tick' '131|0|130|130000000000'
	is a.uncore "SELECT group_concat(id) FROM (SELECT id FROM tick WHERE hex(substr(readings, 1, 1)) = '01' ORDER BY id)" 0,64,128
	sql a.uncore "SELECT value FROM meta WHERE key = 'snapshot'" | sed '$d' >machine.txt
	"$UNCORE" --root machine.txt list metrics >there
	"$UNCORE" --root "$SPR" list metrics | diff - there
	"$UNCORE" --source "$SIM_SPR" record -o none -M 'memory.*' --dry-run |
		awk 'NR > 2 {print $1 "|" $2}' | diff - <(sql a.uncore 'SELECT event, pmu FROM counter ORDER BY id')
	[ ! -e a.uncore-wal ] || fail 'more than one file'
}

@test "a file that exists is not overwritten, and only a recording of the same counters is added to" {
	echo 'not to be lost' >text
	: >empty
	record a.uncore mem --interval-count 2
	expect 2 record text mem --interval-count 1
	[[ $stderr == *'text: the file exists and is no recording: it is not overwritten'* ]] || fail 'the sentence'
	expect 2 record text mem --append --interval-count 1
	[ "$(cat text)" = 'not to be lost' ]
	expect 2 record a.uncore mem --interval-count 1
	[[ $stderr == *'a.uncore: the file exists: choose another one, or add to it with --append'* ]] || fail 'the sentence'
	expect 1 record /dev/null mem --interval-count 1
	[[ $stderr == *'must be a regular file'* ]] || fail 'the sentence'
	expect 0 record empty mem --interval-count 1
	expect 0 record a.uncore mem --append --interval-count 2
	is a.uncore 'SELECT group_concat(id) FROM (SELECT id FROM tick ORDER BY id)' 0,1,2,64,65,66
	is a.uncore 'SELECT group_concat(first_tick) FROM session' 0,64
	expect 1 "$UNCORE" --source "$SIM_SPR" record -o a.uncore mem --append -I 2ms --interval-count 2
	[[ $stderr == *'--append needs the interval of the recording'* ]] || fail 'the sentence'
	expect 1 record a.uncore link --append --interval-count 2
	[[ $stderr == *'--append needs the counters of the recording, and these are others'* ]] || fail 'the sentence'
	expect 1 record a.uncore --per-socket -M memory.bandwidth --append --interval-count 2
	is a.uncore 'SELECT count(*) FROM tick' 6
	record c.uncore -M memory.bandwidth --interval-count 2
	expect 1 record c.uncore -M memory.read.bandwidth,memory.write.bandwidth --append --interval-count 2
	[[ $stderr == *'--append needs the '*' of the recording, and these are others'* ]] || fail 'the sentence'
}

# SQLite has names that are no files, and Debian's takes addresses.
@test "a file may have any name" {
	local name

	for name in ':memory:' 'file:x?mode=memory' 'file::memory:?cache=shared' '%20'; do
		record "$name" mem --interval-count 2
		[ "$(sqlite3 "./$name" 'SELECT count(*) FROM tick')" -eq 3 ] || fail "$name has no ticks"
		expect 0 "$UNCORE" report "$name" mem
	done
}

@test "a recording that cannot begin leaves no file" {
	local found=0

	(trap '' XFSZ && ulimit -f 4 && record full mem --interval-count 2) >out 2>&1 || found=$?
	[ ! -e full ] || fail "the file is there: $(cat out)"
	expect 0 record full mem --interval-count 2
}

@test "a second process that records into the same file is refused" {
	begin a.uncore -I 10ms mem
	expect 1 record a.uncore mem --append --interval-count 1
	[[ $stderr == *'a.uncore: another process records into this file'* ]] || fail 'the sentence'
	kill "$pid"
	wait "$pid"
	is a.uncore 'SELECT end FROM session' complete
}

@test "signals end a recording with its last interval, in one file" {
	local signal

	for signal in TERM INT HUP; do
		# A background process of a shell without job control ignores SIGINT.
		rm -f a.uncore
		begin a.uncore -I 1s mem
		if [ $signal = INT ]; then
			kill -TERM "$pid"
		else
			kill -$signal "$pid"
		fi
		wait "$pid" || fail "$signal: $(cat messages)"
		grep -q 'a.uncore: recorded [0-9]* intervals* in 1 file$' messages
		is a.uncore 'SELECT end FROM session' complete
		[ "$(ls a.uncore*)" = a.uncore ] || fail 'more than one file'
		chmod a-w a.uncore
		is a.uncore 'PRAGMA integrity_check' ok
	done
}

@test "a signal before the first interval says so, and leaves no file" {
	local signal child plain=${UNCORE_PLAIN:-$UNCORE}

	# Reading the machine takes seconds here. SIGHUP may be ignored, as under nohup.
	for signal in TERM:0x4000 HUP:0x1; do
		LD_PRELOAD="$UNCORE_BUILD_ROOT/tests/delay-read.so" DELAY_READ_PER_CENT=100 DELAY_READ_US=60000 \
			env --default-signal=HUP "$plain" record -o a.uncore -e software/cpu-clock/ -I 1s --timeout 20s 2>messages &
		child=$!
		until catches "$child" "${signal#*:}"; do
			kill -0 "$child" || fail "$(cat messages)"
		done
		kill "-${signal%:*}" "$child"
		! wait "$child" || fail 'the process has not died of the signal'
		grep -qx 'uncore: ended by a signal before counting began: nothing was recorded' messages || fail "$(cat messages)"
		! ls a.uncore* || fail 'a file'
	done
	# While the delay passes, there is a file.
	"$UNCORE" --source "$SIM_SPR" record -o a.uncore mem -I 1s -D 20s 2>messages &
	child=$!
	until [ -s a.uncore ]; do kill -0 "$child"; done
	kill -TERM "$child"
	wait "$child" || fail "$(cat messages)"
	grep -qx 'uncore: a.uncore: nothing was recorded: no interval has ended' messages || fail "$(cat messages)"
	! ls a.uncore* || fail 'a file'
}

@test "committed intervals survive SIGKILL" {
	local seen

	for _ in $(seq "${UNCORE_KILLS:-5}"); do
		rm -f a.uncore*
		begin a.uncore -I 20ms mem
		sleep $((RANDOM % 2)).$((RANDOM % 1000))
		seen=$(sqlite3 -readonly a.uncore 'SELECT max(id) FROM tick')
		kill -KILL "$pid"
		wait "$pid" || true
		is a.uncore "SELECT max(id) >= $seen, max(id) + 1 = count(*) FROM tick" '1|1'
		is a.uncore 'PRAGMA integrity_check' ok
		is a.uncore 'SELECT end IS NULL FROM session' 1
	done
	expect 0 "$UNCORE" --source "$SIM_SPR" record -o a.uncore mem --append -I 20ms --interval-count 1
	is a.uncore 'SELECT count(*) FROM session' 2
}

@test "a full disk ends the recording with an error, and committed intervals can be read" {
	local recorded

	# A file may not grow further: 1 MiB, of blocks of 1 KiB. Intervals of 1 s commit one by one.
	run --separate-stderr bash -c "ulimit -f 1024; exec '$UNCORE' --source '$SIM_SPR' record -o a.uncore -M '*' -I 4ms"
	[ "$status" -eq 1 ] || fail 'the exit status'
	no_sanitizer_report
	[[ $stderr == *'a.uncore: '* ]] || fail 'the sentence'
	is a.uncore 'PRAGMA integrity_check' ok
	recorded=$(sed -n 's/.*recorded \([0-9]*\) interval.*/\1/p' <<<"$stderr")
	is a.uncore 'SELECT max(0, count(*) - 1) FROM tick' "${recorded:-0}"
}

@test "network file systems: a note, a rollback journal, and an exclusive lock from the start on" {
	local plain=${UNCORE_PLAIN:-$UNCORE} magic

	for magic in 0x6969 0xff534d42 0x0bd00bd0 0x65735546; do
		rm -f a.uncore
		expect 0 env LD_PRELOAD="$UNCORE_BUILD_ROOT/tests/delay-read.so" DELAY_READ_PER_CENT=0 FILE_SYSTEM=$magic \
			"$plain" --source "$SIM_SPR" record -o a.uncore mem -I 20ms -- sh -c \
			'until [ -s a.uncore ]; do :; done; ls; sqlite3 -readonly a.uncore "SELECT count(*) FROM tick" 2>&1; exit 0'
		[[ $stderr == *'note: a.uncore is on '*', where file locks may not exclude other writers'* ]] || fail 'the note'
		[[ $output != *a.uncore-wal* ]] || fail 'a write-ahead log'
		[[ $output == *locked* ]] || fail 'no lock'
		is a.uncore 'SELECT end FROM session' complete
	done
	expect 0 env LD_PRELOAD="$UNCORE_BUILD_ROOT/tests/delay-read.so" DELAY_READ_PER_CENT=0 FILE_SYSTEM=0xef53 \
		"$plain" --source "$SIM_SPR" record -o b.uncore mem -I 20ms -- true
	[[ $stderr != *'file locks'* ]] || fail 'a note for ext4'
}

@test "files are rotated by age and size, and no interval is missing between them" {
	record a.uncore mem --interval-count 100 --rotate-age 30s --keep 2
	[ "$(echo a.uncore*)" = 'a.uncore a.uncore.1 a.uncore.2' ] || fail "$(echo a.uncore*)"
	is a.uncore.2 'SELECT min(monotonic_ns) / 1000000000, max(monotonic_ns) / 1000000000, end FROM tick, session' '30|60|rotated'
	is a.uncore.1 'SELECT min(monotonic_ns) / 1000000000, max(monotonic_ns) / 1000000000, end FROM tick, session' '60|90|rotated'
	is a.uncore 'SELECT min(monotonic_ns) / 1000000000, max(monotonic_ns) / 1000000000, end FROM tick, session' '90|100|complete'
	is a.uncore.1 "SELECT count(*) FROM meta WHERE key = 'snapshot'" 1
	is a.uncore.1 'SELECT count(*) = (SELECT count(*) FROM row) * 30 FROM samples' 1
	# A run that ends with a full file begins no further one.
	record d.uncore mem --interval-count 60 --rotate-age 30s
	[ "$(echo d.uncore*)" = 'd.uncore d.uncore.1' ] || fail "$(echo d.uncore*)"
	is d.uncore 'SELECT min(monotonic_ns) / 1000000000, max(monotonic_ns) / 1000000000, end FROM tick, session' '30|60|complete'
	record b.uncore mem --interval-count 500 --rotate-size 200kB
	[ -e b.uncore.2 ] || fail "$(ls -l)"
	[ "$(stat -c %s b.uncore.1)" -ge 200000 ] && [ "$(stat -c %s b.uncore.1)" -lt 300000 ] || fail "$(ls -l)"
	expect 2 "$UNCORE" record -o c.uncore --rotate-size 5
	[[ $stderr == *"--rotate-size: '5' does not end in a unit of sizes"* ]] || fail 'the sentence'
}

@test "the rows of rotated files are those of one file" {
	# Also those of a counter that cannot be opened.
	cat >lost.yaml <<-END
		sim: lost
		machine: spr
		rates:
		  - {pmu: uncore_imc_0, event: cas_count_read, constant: 1e6, refuse: EBUSY}
		  - {pmu: uncore_imc, event: cas_count_read, constant: 1e6}
	END
	"$UNCORE" --source sim:./lost.yaml,step=1s record -o a.uncore -I 1ms --interval-count 6 --rotate-age 3s \
		-M memory.read.bandwidth --per-channel
	"$UNCORE" --source sim:./lost.yaml,step=1s record -o whole.uncore -I 1ms --interval-count 6 \
		-M memory.read.bandwidth --per-channel
	"$UNCORE" report a.uncore.1 a.uncore stat -j -I 1s | jq -c 'del(.source, .time)' >parts
	"$UNCORE" report whole.uncore stat -j -I 1s | jq -c 'del(.source, .time)' >whole
	[ -s whole ]
	cmp parts whole
}

@test "files that are read while they are renamed keep the data of their write-ahead logs" {
	local file reader

	mkfifo go
	begin a.uncore -I 20ms mem --rotate-age 4s
	# A reader from before most intervals were committed: what is younger cannot be moved into the file.
	# A file that has just begun, 80 ms after the one before, has no table yet, or is locked.
	for _ in {1..50}; do
		{
			printf '%s\n' '.bail on' 'BEGIN; SELECT count(*) FROM tick;' '.shell touch reading'
			cat go
		} | sqlite3 -readonly a.uncore >seen 2>&1 3>&- &
		reader=$!
		until [ -e reading ] || ! kill -0 "$reader" 2>/dev/null; do sleep 0.01; done
		[ ! -e reading ] || break
		echo >go
		wait "$reader" || true
	done
	for _ in {1..600}; do
		[ ! -e a.uncore.1 ] || [ ! -e reading ] || break
		sleep 0.1
	done
	echo >go
	wait "$reader" || fail "$(<seen)"
	kill "$pid"
	wait "$pid" || fail "$(cat messages)"
	for file in a.uncore.?; do
		is "$file" 'PRAGMA integrity_check' ok
		is "$file" 'SELECT count(*) = max(id) + 1, sum(t.interval_ns) >= 4000000000, end FROM tick t, session' '1|1|rotated'
	done
}

@test "a command's exit status is the result" {
	expect 3 "$UNCORE" --source "$SIM_SPR" record -o a.uncore mem -I 20ms -- sh -c 'sleep 0.2; exit 3'
	is a.uncore 'SELECT count(*) > 1, end FROM tick, session' '1|complete'
	[[ $(sql a.uncore 'SELECT command_line FROM session') == \
		"uncore --source $SIM_SPR record -o a.uncore mem -I 20ms -- sh -c 'sleep 0.2; exit 3'" ]]
}

@test "short samples: their distribution of each interval" {
	cat >burst.yaml <<-END
		sim: burst
		machine: skx
		rates:
		  - {pmu: uncore_imc, event: cas_count_read, burst: {low: 20e6, high: 200e6, period: 100ms, duty: 0.03}, phase: 0}
		  - {pmu: uncore_imc, event: cas_count_write, constant: 20e6}
		  - {pmu: uncore_imc, event: clockticks, constant: 1.2e9}
	END
	expect 0 "$UNCORE" --source sim:burst.yaml,step=1ms --memory-peak 100GB/s record -o a.uncore -M memory.bandwidth,memory.read.bandwidth \
		-I 500ms --sample 1ms --above 50 --interval-count 2
	is a.uncore "SELECT count(*), min(samples) > 100, round(min(max) / 76.8e9, 3), round(min(p50) / 7.68e9, 1)
		FROM short_samples WHERE name = 'memory.read.bandwidth' AND socket IS NULL AND channel IS NULL" '2|1|1.0|1.0'
	is a.uncore "SELECT count(*) FROM short_samples WHERE name = 'memory.bandwidth' AND socket IS NULL
		AND abs(longest_burst_s - 0.003) < 1e-5 AND above_s >= longest_burst_s" 2
	is a.uncore "SELECT sample_ns FROM session" 1000000
	expect 0 "$UNCORE" --source sim:burst.yaml,step=1ms --memory-peak 100GB/s record -o a.uncore -M memory.bandwidth,memory.read.bandwidth \
		-I 500ms --sample 1ms --above 50 --interval-count 2 --append
	is a.uncore "SELECT count(*), sum(tick >= (SELECT max(first_tick) FROM session)), min(samples) > 100 FROM short_samples
		WHERE name = 'memory.read.bandwidth' AND socket IS NULL AND channel IS NULL" '4|2|1'
}

@test "--append needs the share of --above, where that is known" {
	local append='mem --append --interval-count 1'

	# Sessions without short samples have none.
	record a.uncore mem --interval-count 1
	is a.uncore "SELECT count(*) FROM meta WHERE key = 'above'" 0
	# shellcheck disable=SC2086 # words
	{
		expect 0 record a.uncore $append --sample 500us --above 50
		is a.uncore "SELECT value FROM meta WHERE key = 'above'" 50
		expect 1 record a.uncore $append --sample 500us
		[[ $stderr == *'a.uncore: --append needs the share of the recording: --above 50'* ]] || fail 'the sentence'
		is a.uncore 'SELECT count(*) FROM session' 2
		expect 0 record a.uncore $append --sample 500us --above 50
		expect 0 record a.uncore $append
		is a.uncore 'SELECT count(*) FROM session' 4

		record b.uncore mem --interval-count 1 --sample 500us
		is b.uncore "SELECT value FROM meta WHERE key = 'above'" 80
		# As older versions wrote it: what is not known is not made up.
		sql b.uncore "DELETE FROM meta WHERE key = 'above'"
		expect 0 record b.uncore $append --sample 500us --above 70
		is b.uncore "SELECT count(*) FROM meta WHERE key = 'above'" 0
	}
	expect 0 "$UNCORE" report b.uncore mem
}

# fly OPTION...: bursts of 3 ms every 100 ms, read every simulated millisecond.
fly() {
	cat >burst.yaml <<-END
		sim: burst
		machine: skx
		rates:
		  - {pmu: uncore_imc, event: cas_count_read, burst: {low: 20e6, high: 200e6, period: 100ms, duty: 0.03}, phase: 0.5}
		  - {pmu: uncore_imc, event: cas_count_write, constant: 20e6}
		  - {pmu: uncore_imc, event: clockticks, constant: 1.2e9}
	END
	"$UNCORE" --source sim:burst.yaml,step=1ms --memory-peak 100GB/s record -o f.uncore -M memory.read.bandwidth -I 1ms "$@"
}

@test "a ceiling that changes between intervals: the whole histogram is stored" {
	local block

	"$UNCORE" demo-block demo >out 3>&- &
	block=$!
	for _ in {1..600}; do
		[ ! -s out ] || break
		sleep 0.1
	done
	run --separate-stderr "$UNCORE" --source regs:demo/block.yaml record -o a.uncore -I 2ms --interval-count 70
	kill "$block"
	[ "$status" -eq 0 ] || fail "$stderr"
	is a.uncore 'SELECT count(*), end FROM tick, session' '71|complete'
	is a.uncore 'SELECT count(*) = 70 * (SELECT count(*) FROM row) FROM samples' 1
	# The block is in no snapshot.
	expect 3 "$UNCORE" report a.uncore
	[[ $stderr == *'a.uncore: recordings of regs:demo/block.yaml cannot be computed again'*'FROM samples'* ]] || fail "$stderr"
	eval "$(sed -n "s/.*: \(sqlite3 .*\)/\1/p" <<<"$stderr")" | grep -q 'demo.bandwidth.*B/s|measured' || fail 'the sentence'"'"'s command'
}

@test "the flight recorder writes the time before a burst, at a condition" {
	local file

	expect 0 fly --flight 100ms --when 'memory.read.bandwidth > 70 % for 2ms' --interval-count 300
	[[ $stderr == *'f.uncore: written (memory.read.bandwidth > 70 % for 2ms)'* ]] || fail 'the sentence'
	# Three bursts of 3 intervals; a file for each.
	[ "$(echo f.uncore*)" = 'f.uncore f.uncore.1 f.uncore.2' ] || fail "$(echo f.uncore*)"
	for file in f.uncore*; do
		is "$file" 'PRAGMA application_id' $((0x756e6372))
		is "$file" 'SELECT s.end, s.first_tick = min(t.id), max(t.id) - min(t.id) + 1 = count(*) FROM session s, tick t' 'flight|1|1'
		is "$file" 'SELECT row_values IS NULL, hex(substr(readings, 1, 1)) FROM tick ORDER BY id LIMIT 1' '1|01'
		# The last two intervals are those of the burst.
		is "$file" "SELECT group_concat(round(value / 76.8e9)) FROM (SELECT value FROM samples
			WHERE channel IS NULL AND socket IS NULL ORDER BY tick DESC LIMIT 3)" 1.0,1.0,0.0
	done
	is f.uncore 'SELECT max(monotonic_ns) - min(monotonic_ns) BETWEEN 100000000 AND 230000000 FROM tick' 1
	is f.uncore 'SELECT max(monotonic_ns) FROM tick' 252000000
	rm f.uncore*
	# And the time after it, at the end of the recording less of it.
	expect 0 fly --flight 100ms --after 150ms --when 'memory.read.bandwidth > 70 % for 2ms' --interval-count 300
	[ "$(echo f.uncore*)" = 'f.uncore f.uncore.1' ] || fail "$(echo f.uncore*)"
	is f.uncore.1 'SELECT max(monotonic_ns), min(monotonic_ns) FROM tick' '202000000|0'
	is f.uncore 'SELECT max(monotonic_ns), min(monotonic_ns) BETWEEN 24000000 AND 152000000 FROM tick' '300000000|1'
	rm f.uncore*
	expect 0 fly --flight 50ms --when 'memory.read.bandwidth > 70% for 4ms' --interval-count 250
	[ ! -e f.uncore ] || fail 'a burst of 3 ms lasts 4 ms'
	expect 0 fly --flight 50ms --when 'memory.read.bandwidth < 1e10' --interval-count 20
	is f.uncore 'SELECT max(monotonic_ns) FROM tick' 1000000
}

# above READ PERIOD PEAK: values above the ceiling, each with a sentence that has the number in it. It writes after half
# a PERIOD.
above() {
	cat >above.yaml <<-END
		sim: above
		machine: skx
		rates:
		  - {pmu: uncore_imc, event: cas_count_read, $1}
		  - {pmu: uncore_imc, event: cas_count_write, burst: {low: 20e6, high: 200e6, period: $2ms, duty: 0.03}, phase: 0.5}
		  - {pmu: uncore_imc, event: clockticks, constant: 1.2e9}
	END
	rm -f f.uncore
	expect 0 "$UNCORE" --source sim:above.yaml,step=1ms --memory-peak "$3" record -o f.uncore -I 1ms --flight 50ms \
		-M memory.read.bandwidth,memory.write.bandwidth,memory.bandwidth \
		--when 'memory.write.bandwidth > 5e10' --interval-count $(($2 / 2 + 20))
	is f.uncore "SELECT max(monotonic_ns) BETWEEN $2 * 500000 AND $2 * 500000 + 9000000, min(id) > 0 FROM tick" '1|1'
	is f.uncore 'SELECT count(*) FROM tick WHERE quality NOT IN (SELECT id FROM quality)' 0
	is f.uncore "SELECT count(*) FROM samples WHERE substr(reason, 1, 4) <> substr(printf('%.0f', value), 1, 4)" 0
}

@test "the flight recorder keeps no more texts than it needs" {
	above 'sine: {mean: 100e6, amplitude: 50e6, period: 9973ms}' 2000 1GB/s
	is f.uncore 'SELECT count(*) FROM reason' 1000
	is f.uncore 'SELECT (SELECT count(*) FROM quality) <= count(*), count(*) < 250 FROM tick' '1|1'
	# A new reason is left out.
	is f.uncore "SELECT max(tick) = (SELECT max(id) FROM tick) FROM samples WHERE reason IS NULL AND quality = 'suspect'" 1
	# Two texts that change all the time stay, and one comes again that was deleted meanwhile.
	above 'burst: {low: 20e6, high: 90e6, period: 40ms, duty: 0.5}' 600 1GB/s
	is f.uncore 'SELECT count(*) > 1 FROM quality' 1
	above 'burst: {low: 20e6, high: 90e6, period: 300ms, duty: 0.03}, phase: 0.5' 920 20GB/s
	is f.uncore "SELECT count(*) BETWEEN 5 AND 20 FROM samples WHERE name = 'memory.read.bandwidth' AND reason IS NOT NULL" 1
}

@test "the flight recorder writes at SIGUSR2" {
	"$UNCORE" --source "$SIM_SPR" record -o f.uncore mem -I 10ms --flight 10s 2>messages &
	for _ in {1..600}; do
		! catches $! 0x800 || kill -USR2 $! # else it would end it
		sleep 0.1
		! grep -q written messages || break
	done
	kill $!
	wait $! || fail "$(cat messages)"
	grep -q 'f.uncore: written (SIGUSR2)' messages
	is f.uncore 'SELECT count(*) >= 2, end FROM tick, session' '1|flight'
}

@test "invalid conditions and options are refused" {
	local text

	for text in '' memory.bandwidth 'memory.bandwidth = 5' 'memory.bandwidth > x' 'memory.bandwidth > 5 GB/s 3' \
		'memory.bandwidth > 5 % for' 'memory.bandwidth > 5 for 2ms 3' 'memory.bandwidth > nan' \
		'memory.bandwidth < NAN(1)' 'memory.bandwidth > inf' 'memory.bandwidth > -infinity %' \
		'memory.bandwidth > 1e400' 'memory.bandwidth > 0x10' 'memory.bandwidth > +-1' 'memory.bandwidth > -1' \
		'memory.bandwidth > 1.2.3' 'memory.bandwidth > 1e' 'memory.bandwidth > '; do
		expect 2 fly --flight 1s --when "$text" --interval-count 1
		[[ $stderr == *"--when: '$text' is not METRIC > VALUE"* ]] || fail "$text"
	done
	for text in 2parsecs 1.2.3s nan 1e3s 0x10s; do
		expect 2 fly --flight 1s --when "memory.bandwidth > 5 for $text" --interval-count 1
		[[ $stderr == *"for: '$text' "* ]] || fail "$text"
	done
	expect 2 fly --flight 1s --when 'other.bandwidth > 5' --interval-count 1
	[[ $stderr == *"no metric of the catalogue is named 'other.bandwidth'"* ]] || fail 'the sentence'
	expect 2 "$UNCORE" --source "$SIM_SPR" record -o l.uncore -I 1ms -M memory.read.latency --interval-count 1 \
		--flight 1s --when 'memory.read.latency > 5 %'
	[[ $stderr == *"no row of 'memory.read.latency' has a ceiling"* ]] || fail 'the sentence'
	expect 2 fly --when 'memory.bandwidth > 5' --interval-count 1
	expect 2 fly --after 1s --interval-count 1
	expect 2 fly --flight 1s --append --interval-count 1
	echo text >f.uncore
	expect 2 fly --flight 1s --interval-count 1
	[ "$(cat f.uncore)" = text ]
}

@test "500 counters take at most 10 bytes each, and each interval is one reading of each" {
	local counters bytes before

	record a.uncore -M '*' --interval-count 1
	before=$(stat -c %s a.uncore)
	counters=$(sql a.uncore 'SELECT count(*) FROM counter')
	[ "$counters" -ge 500 ] || fail "$counters counters"
	rm a.uncore
	record a.uncore -M '*' --interval-count 301
	bytes=$((($(stat -c %s a.uncore) - before) / 300))
	echo "$bytes bytes an interval, $counters counters"
	[ "$bytes" -le $((counters * 10)) ]
}

@test "pandas: the example of uncore-recording(5)" {
	local python

	for python in python3 /usr/bin/python3 ''; do
		[ -z "$python" ] || ! "$python" -c 'import pandas' 2>/dev/null || break
	done
	[ -n "$python" ] || skip 'python3-pandas is not installed: tools/setup pandas'
	record run.uncore mem --interval-count 20
	sed -n '/^import sqlite3$/,/^print/p' "$UNCORE_SOURCE_ROOT/man/uncore-recording.5.scd" >script
	expect 0 "$python" script
	is run.uncore "SELECT count(*) = 20 AND abs(avg(value) / $output - 1) < 1e-9 FROM samples
		WHERE name = 'memory.bandwidth' AND socket IS NULL AND channel IS NULL" 1
}

@test "the statement of uncore-recording(5) gives one line for each metric" {
	record run.uncore mem --interval-count 20
	sed -n '/^SELECT/,/;$/p' "$UNCORE_SOURCE_ROOT/man/uncore-recording.5.scd" >statement
	[ "$(sqlite3 run.uncore <statement | grep -c '^memory\.')" -ge 5 ]
}

@test "recordings of all formats can be opened" {
	local count=0 file

	for file in "$UNCORE_SOURCE_ROOT"/tests/recordings/v*.uncore; do
		is "$file" 'SELECT count(*) > 0, count(DISTINCT tick) >= 3 FROM samples' '1|1'
		count=$((count + 1))
	done
	[ $count -ge 2 ]
}
