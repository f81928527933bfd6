#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # set by run
# Commands while it counts (--control, uncore mark), and regions of recordings.

load helpers

setup() {
	command -v sqlite3 >/dev/null || skip 'sqlite3 is not installed: tools/setup test'
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

@test "unknown commands are reported once, and unread answers do not block" {
	begin stat -M memory.bandwidth -I 1h -j
	for _ in {1..10000}; do
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

@test "--control: descriptors, and invalid ones" {
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

@test "a mark before the end of the first interval has the time at which it came" {
	local now before

	before=$(date +%s%N)
	"$UNCORE" --source sim:spr record -o a -I 1h mem 2>messages &
	pid=$!
	for _ in {1..600}; do
		"$UNCORE" mark -o a first 2>/dev/null && break
		sleep 0.1
	done
	now=$(date +%s%N)
	kill "$pid"
	finished 0
	is a "SELECT text FROM mark WHERE wall_ns BETWEEN $before AND $now" first
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
	# The interval is that of -I, however late the first one was.
	"$UNCORE" report a stat -I 40ms -j >/dev/null
	# Both clocks belong together: the difference is that of the ticks, but for steps of the wall clock.
	is a "SELECT abs((SELECT wall_ns - monotonic_ns FROM mark WHERE text = 'last') -
		(SELECT avg(wall_ns - monotonic_ns) FROM tick)) < 1e9" 1
}

@test "the command snapshot writes the intervals in memory" {
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

# recording FILE MARK...: 100 simulated intervals of 20 ms, and marks as MILLISECONDS:TEXT.
recording() {
	local file=$1 mark

	shift
	cat >load.yaml <<-END
		sim: load
		title: A load
		machine: t410
		rates:
		  - {pmu: nvidia_ucf_pmu_0, event: mem_bytes_rd, sine: {mean: 80e9, amplitude: 20e9, period: 137ms}}
	END
	"$UNCORE" --source sim:load.yaml,step=20ms record -o "$file" -I 1ms --interval-count 100 \
		-e nvidia_ucf_pmu_0/mem_bytes_rd/
	for mark; do
		sqlite3 "$file" "INSERT INTO mark VALUES (${mark%%:*} * 1000000, ${mark%%:*} * 1000000, '${mark#*:}')"
	done
}

MARKS=(100:a 200:b '310:c' '405:end c' 500:a 600:outer 700:inner '800:end inner' 850:x 855:y '900:end outer' 1000:end)

@test "a region ends at its end, or at the next mark" {
	recording r "${MARKS[@]}"
	is r "SELECT group_concat(format('%s %d %d', region, begin_wall_ns / 1000000, end_wall_ns / 1000000)) FROM regions" \
		'a 100 200,b 200 310,c 310 405,a 500 600,outer 600 900,inner 700 800,x 850 855,y 855 900'
	# The last one lasts to the end of the recording, and an end behind the next one of the same text is not its own.
	recording s 0:a 100:b 200:a '300:end a' 400:b
	is s "SELECT group_concat(format('%s %d %d', region, begin_wall_ns / 1000000, end_wall_ns / 1000000)) FROM regions" \
		'a 0 100,b 100 200,a 200 300,b 400 2000'
	# A mark behind the last interval, as in a file that is full, begins a region without time.
	recording late 0:a 2000:b
	sqlite3 late "UPDATE mark SET wall_ns = wall_ns + 5000000 WHERE text = 'b'"
	is late "SELECT group_concat(format('%s %d %d', region, begin_wall_ns / 1000000, end_wall_ns / 1000000)) FROM regions" \
		'a 0 2005,b 2005 2005'
	expect 0 "$UNCORE" report --regions late
	grep -qE '^b +1 .* 0.0' <<<"$output"
	expect 0 "$UNCORE" report --regions r
	grep -qE '^a +2 +1970-01-01T00:00:00.100Z +200.0 ms +100.0 %$' <<<"$output"
	grep -qE '^c +1 +1970-01-01T00:00:00.310Z +95.00 ms +84.2 %$' <<<"$output"
	grep -qE '^x +1 .* 0.0 %$' <<<"$output"
	[ "$(wc -l <<<"$output")" -eq 8 ]
}

# sum FIRST LAST: what was counted in the intervals that end at these times.
sum() {
	sqlite3 r "SELECT CAST(sum(value) AS INTEGER) FROM samples WHERE wall_ns / 1000000 BETWEEN $1 AND $2 AND socket IS NULL"
}

# near VALUE VALUE: values of samples have six digits.
near() {
	jq -ne "($1 - $2 | fabs) <= 1e-5 * $2" >/dev/null || fail "$1 is not $2"
}

@test "report by region has the complete intervals of all its parts" {
	recording r "${MARKS[@]}"
	expect 0 "$UNCORE" report --region a r stat -j
	[[ $stderr == *"region 'a': 2 times, 200.0 ms in all, of which complete intervals cover 100.0 %"* ]] || fail 'coverage'
	[ "$(jq '.interval * 1000 | round' <<<"$output")" -eq 200 ]
	near "$(jq .value <<<"$output")" $(($(sum 120 200) + $(sum 520 600)))
	expect 0 "$UNCORE" report --region c r stat -j
	[[ $stderr == *'complete intervals cover 84.2 %'* ]] || fail 'coverage'
	near "$(jq .value <<<"$output")" "$(sum 340 400)"
	expect 0 "$UNCORE" report --region outer r stat -j -I 20ms --summary
	[ "$(jq -s -c 'map(.interval * 1000 | round)' <<<"$output")" = '[20,20,20,20,20,20,20,20,20,20,20,20,20,20,20,300]' ] || fail 'intervals'
	[ "$(jq -s '(.[:15] | map(.value) | add) - .[15].value | fabs < 100' <<<"$output")" = true ]
	# Two parts do not share an interval; part of the time.
	[ "$("$UNCORE" report --region a r stat -j -I 80ms | jq -s -c 'map(.interval * 1000 | round)')" = '[80,20,80,20]' ]
	[ "$("$UNCORE" report --region=a --begin +300ms r stat -j | jq '.interval * 1000 | round')" -eq 100 ]
	cmp <("$UNCORE" --source replay:r,region=a stat) <("$UNCORE" report r --region a stat)
	expect 3 "$UNCORE" report --region x r
	[[ $stderr == *"region 'x' has no complete interval: it lasts 5.000 ms, and an interval 20.00 ms"* ]]
	expect 2 "$UNCORE" report --region none r
	[[ $stderr == *"it has no region 'none'"* ]]
	expect 2 "$UNCORE" report --regions r mem
}

@test "a region continues while counting is disabled, and in an appended session" {
	recording r 1900:late
	"$UNCORE" --source sim:load.yaml,step=20ms record -o r -I 1ms --interval-count 100 --append \
		-e nvidia_ucf_pmu_0/mem_bytes_rd/
	sqlite3 r "UPDATE tick SET wall_ns = wall_ns + 5000000000 WHERE id >= 128; INSERT INTO mark VALUES (5100000000, 0, 'end late')"
	expect 0 "$UNCORE" report --region late r stat -j
	[[ $stderr == *"1 time, 3.200 s in all, of which complete intervals cover 6.2 %"* ]] || fail 'coverage'
	[ "$(jq -s -c 'map(.interval * 1000 | round)' <<<"$output")" = '[100,100]' ]
}

@test "diff by region" {
	recording r 0:a 500:b 1000:c
	expect 0 "$UNCORE" diff r --region a --region b -j
	[ "$(jq -c '[.a, .b, .changes[0].a.intervals, .changes[0].b.intervals]' <<<"$output")" = '["r,region=a","r,region=b",25,25]' ]
	near "$(jq '.changes[0].b.mean' <<<"$output")" "$(($(sum 520 1000) * 2))"
	expect 0 "$UNCORE" diff r r --region a -j
	[ "$(jq '.changes[0].change * 1 == 0' <<<"$output")" = true ]
	expect 0 helper check-schema <<<"$output"
	expect 2 "$UNCORE" diff r --region a
	expect 2 "$UNCORE" diff r r --region a --region b --region c
}

@test "Slurm's prolog and epilog record a job" {
	local scripts=$UNCORE_SOURCE_ROOT/contrib/slurm group

	mkdir bin
	ln -s "$UNCORE" bin/uncore
	[ "$UID" -eq 0 ] && group=65534 || group=$(id -g)
	export PATH=$PWD/bin:$PATH SLURM_JOB_ID=17 SLURM_JOB_UID=$UID SLURM_JOB_GID=$group UNCORE_RECORDINGS=$PWD/jobs
	export UNCORE_OPTIONS="-I 20ms --source sim:spr mem"
	"$scripts/prolog.sh" 8>&- 7>&-
	pid=$(cat jobs/17.uncore.pid)
	echo 'mark solve' >jobs/17.control
	uncore mark -o jobs/17.uncore write
	"$scripts/epilog.sh"
	is jobs/17.uncore "SELECT group_concat(text) FROM (SELECT text FROM mark ORDER BY text)" 'end job 17,job 17,solve,write'
	is jobs/17.uncore 'SELECT end FROM session' complete
	expect 0 ls jobs
	[ "$output" = $'17.uncore\n17.uncore.log' ] || fail 'files'
	[ "$(stat -c '%a %g' jobs/17.uncore)" = "640 $group" ] || fail 'who reads the recording'
	grep -q 'recorded .* intervals in 1 file' jobs/17.uncore.log
	# Requeued; and a recorder that ends at once does not hold the job up.
	"$scripts/prolog.sh" 8>&- 7>&-
	"$scripts/epilog.sh"
	is jobs/17.uncore 'SELECT group_concat(end) FROM session' complete,complete
	UNCORE_OPTIONS='-M none.such' "$scripts/prolog.sh" 8>&- 7>&-
	[ ! -e jobs/17.control ]
	"$scripts/epilog.sh"
	pid=
}

# The address of a recording has no owner: any user can take it first.
@test "a mark is not sent to a process of another user" {
	[ "$(id -u)" -eq 0 ] || skip 'this must be root to become somebody else'
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR/.." "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.."
	setpriv --reuid 65534 --regid 65534 --clear-groups "$PYTHON" - "$PWD/a" >heard <<-'EOF' 7>&- 8>&- &
		import os, socket, sys

		folder, name = os.path.split(sys.argv[1])
		number = 0xcbf29ce484222325
		for c in name.encode():
		    number = (number ^ c) * 0x100000001b3 % 2**64
		stat = os.stat(folder)
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(f"\0uncore-record:{stat.st_dev:x}:{stat.st_ino:x}:{number:x}")
		s.settimeout(30)
		print("listening", flush=True)
		while True:
		    text, sender = s.recvfrom(4096)
		    print(text.decode(), flush=True)
		    s.sendto(b"ack\n\0", sender)
	EOF
	squatter=$!
	until grep -q listening heard; do sleep 0.05; done
	begin record -o a -I 1h -M memory.bandwidth
	grep -q 'uncore mark will not reach this recording: another process has the address' messages || fail "$(cat messages)"
	expect 1 "$UNCORE" mark -o a secret
	says "a: the process that answers for its recorder is another user's: nothing is sent to it"
	kill "$squatter"
	! grep -q secret heard || fail 'the other user has the text'
	tell stop
	finished 0
}
