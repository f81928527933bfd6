#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Where results go: files, full disks, closed pipes. Never half a line, never silence about a loss.
# shellcheck disable=SC2030,SC2031 # each test is a process of its own

load helpers

SMALL= # what a test has mounted

teardown() {
	[ -z "$SMALL" ] || umount "$SMALL" || umount -l "$SMALL"
}

# Something to count that works on every machine.
count() {
	"$UNCORE" --source "$SIM_T410" stat -M 'memory.*' --timeout 1 "$@"
}

@test "-o writes to the file, and nothing to standard output" {
	local file=$BATS_TEST_TMPDIR/out.csv

	expect 0 count --csv -o "$file"
	[ -z "$output" ]
	helper check-rows csv <"$file"
}

@test "-o empties the file first, --append does not and keeps one header" {
	local file=$BATS_TEST_TMPDIR/out.csv rows

	expect 0 count --csv -o "$file"
	rows=$(($(wc -l <"$file") - 1))
	expect 0 count --csv -o "$file"
	helper check-rows csv "N=$rows" <"$file"
	expect 0 count --csv --append -o "$file"
	expect 0 count --csv --append -o "$file"
	helper check-rows csv "N=$((3 * rows))" <"$file"
}

@test "--append to a file that is not there makes it, with a header" {
	expect 0 count --csv --append -o "$BATS_TEST_TMPDIR/new.csv"
	helper check-rows csv <"$BATS_TEST_TMPDIR/new.csv"
}

@test "a mistake in usage leaves an older file alone" {
	local file=$BATS_TEST_TMPDIR/precious

	echo precious >"$file"
	refuses 2 "$UNCORE" --source "$SIM_T410" stat -o "$file" -e nvidia_ucf_pmu_0/nothing/
	[ "$(cat "$file")" = precious ]
}

@test "-o that cannot be opened: the file, why, exit 1; the command is not started" {
	local started=$BATS_TEST_TMPDIR/started

	refuses 1 count -o /nonexistent/out
	says /nonexistent/out 'No such file'
	refuses 1 count -o "$BATS_TEST_TMPDIR"
	says 'directory'
	refuses 1 "$UNCORE" --source sim:t410 stat -M 'memory.*' -o /nonexistent/out -- touch "$started"
	[ ! -e "$started" ]
}

@test "a full device behind -o: the file, why, exit 1" {
	refuses 1 count -o /dev/full
	says /dev/full 'No space left'
	refuses 1 count --csv -o /dev/full
	refuses 1 count -j -o /dev/full
	refuses 1 "$UNCORE" --root "$T410" stat --dry-run -o /dev/full -M 'memory.*'
}

@test "a full device behind standard output: every command says so, exit 1" {
	local command

	for command in 'list' 'list --json' 'explain memory.read.bandwidth' 'doctor' '--help' \
		'list --help' '--version' 'stat -M memory.* --timeout 1' 'mem -j --timeout 1'; do
		# shellcheck disable=SC2086 # words are meant
		refuses 1 to_full "$UNCORE" --source "$SIM_T410" $command
		says 'No space left'
	done
}

to_full() {
	"$@" >/dev/full
}

@test "an error of the output does not hide behind the command's success" {
	refuses 1 "$UNCORE" --source sim:t410 stat -M 'memory.*' -o /dev/full -- true
}

@test "a closed standard output is an error, and no counter gets its descriptor" {
	refuses 1 to_closed count -j
}

to_closed() {
	"$@" >&-
}

@test "a closed pipe ends counting at once, without a message" {
	run --separate-stderr bash -c '"$@" | head -n 1; exit "${PIPESTATUS[0]}"' _ \
		timeout 20 "$UNCORE" --source "$SIM_T410" stat -M 'memory.*' -j -I 10ms
	no_sanitizer_report
	[ "$status" -eq 1 ] || fail 'exit status'
	# A busy machine may miss an interval.
	[ -z "$stderr" ] || [[ $stderr =~ interval(\ was|s\ were)\ late\ by ]] ||
		fail 'a closed pipe is no news'
	helper check-rows json N=1 <<<"$output"
}

@test "a closed pipe ends the other commands as quietly" {
	local command

	for command in 'list --json' 'list' 'explain memory.*' 'doctor' '--help'; do
		# shellcheck disable=SC2086 # words are meant
		run --separate-stderr bash -c '"$@" | true' _ "$UNCORE" --root "$SPR" $command
		no_sanitizer_report
		[ -z "$stderr" ] || fail "$command"
	done
}

@test "a small full file system: whole lines, and the error says how much was written" {
	local dir=$BATS_TEST_TMPDIR/small kind

	root_only
	mkdir "$dir"
	mount -t tmpfs -o size=16k uncore-test "$dir" 2>/dev/null || skip 'mounting is not allowed here'
	SMALL=$dir
	for kind in -j --csv; do
		run --separate-stderr timeout 30 "$UNCORE" --source sim:t410,step=1ms stat -M 'memory.*' \
			"$kind" -I 1ms --interval-count 500 -o "$dir/out"
		cp "$dir/out" "$BATS_TEST_TMPDIR/out$kind"
		no_sanitizer_report && [ "$status" -eq 1 ] || break
	done
	no_sanitizer_report
	[ "$status" -eq 1 ] || fail 'exit status'
	says "$dir/out" 'No space left' '[0-9]+'
	helper check-rows json <"$BATS_TEST_TMPDIR/out-j"
	helper check-rows csv <"$BATS_TEST_TMPDIR/out--csv"
	[ "$(wc -c <"$BATS_TEST_TMPDIR/out-j")" -gt 12000 ] || fail 'too little was kept'
}

# needs_zstd: a build without it says so, and leaves the file alone.
needs_zstd() {
	local file=$BATS_TEST_TMPDIR/needs.csv.zst

	! "$UNCORE" --root "$T410" stat --dry-run -M 'memory.*' -o "$file" || return 0
	refuses 1 count -o "$file"
	says 'needs\.csv\.zst.*this build has no zstd'
	[ ! -e "$file" ]
	skip 'built without zstd'
}

@test "a reader of FILE.zst that is slow gets all of it" {
	local dir=$BATS_TEST_TMPDIR

	needs_zstd
	mkfifo "$dir/slow.zst"
	python3 -S - "$dir" <<-'PYTHON' &
		import fcntl, sys, time
		reader = open(sys.argv[1] + "/slow.zst", "rb")
		fcntl.fcntl(reader, 1031, 4096)  # F_SETPIPE_SZ
		time.sleep(3)  # longer than uncore waits for a reader once it is to end
		open(sys.argv[1] + "/slow", "wb").write(reader.read())
	PYTHON
	expect 0 "$UNCORE" --source sim:spr,step=20ms stat --timeout 20 -M '*' --no-merge -j -o "$dir/slow.zst"
	wait
	zstd -q --test <"$dir/slow" || fail 'the frame is cut'
}

@test "-o FILE.zst is what FILE would be, compressed" {
	local dir=$BATS_TEST_TMPDIR format
	local -a command=("$UNCORE" --source "$SIM_T410" stat -M 'memory.*' -I 1ms --interval-count 50)

	needs_zstd
	for format in --csv --csv=wide -j --verbose; do
		expect 0 "${command[@]}" "$format" -o "$dir/plain"
		expect 0 "${command[@]}" "$format" -o "$dir/packed.zst"
		zstd -q --test "$dir/packed.zst"
		zstd -dc "$dir/packed.zst" | cmp - "$dir/plain" || fail "$format"
		[ "$(($(wc -c <"$dir/packed.zst") * 3))" -lt "$(wc -c <"$dir/plain")" ] || fail "$format: little is saved"
	done
	refuses 1 count -o /nonexistent/out.zst
	says /nonexistent/out.zst 'No such file'
}

@test "--append adds to a whole FILE.zst, and not to one without its end" {
	local file=$BATS_TEST_TMPDIR/out.csv.zst rows

	needs_zstd
	: >"$file"
	expect 0 count --csv --append -o "$file"
	rows=$(($(zstd -dc "$file" | wc -l) - 1))
	expect 0 count --csv --append -o "$file"
	zstd -dc "$file" >"$BATS_TEST_TMPDIR/out"
	helper check-rows csv "N=$((2 * rows))" <"$BATS_TEST_TMPDIR/out"
	truncate -s -5 "$file"
	cp "$file" "$BATS_TEST_TMPDIR/before"
	refuses 1 count --csv --append -o "$file"
	says 'out\.csv\.zst.*not a complete zstd file'
	cmp "$file" "$BATS_TEST_TMPDIR/before"
}

# decodes FILE: its rows, of a run that may have had no time to end it.
decodes() {
	zstd -dc "$1" 2>/dev/null >"$BATS_TEST_TMPDIR/decoded" || true
	[ -s "$BATS_TEST_TMPDIR/decoded" ]
}

@test "FILE.zst of a run that was killed has the intervals until then" {
	local file=$BATS_TEST_TMPDIR/out.json.zst count=0 counter

	needs_zstd
	"$UNCORE" --source "$SIM_T410" stat -M 'memory.*' -j -I 10 -o "$file" 3>&- &
	counter=$!
	# What a minute has compressed would fit into the memory of the compressor.
	while [ "$count" -lt 20 ]; do
		kill -0 "$counter" || fail 'it has ended'
		sleep 0.1
		# The last row may be half written: then once more.
		decodes "$file" && count=$(jq -s 'map(.time) | unique | length' "$BATS_TEST_TMPDIR/decoded") || count=0
	done
	kill -KILL "$counter"
	wait "$counter" || true
	decodes "$file"
	# A row may have been cut while it was written.
	[ -z "$(tail -c 1 "$BATS_TEST_TMPDIR/decoded")" ] || sed -i '$d' "$BATS_TEST_TMPDIR/decoded"
	helper check-rows json <"$BATS_TEST_TMPDIR/decoded"
	[ "$(jq -s 'map(.time) | unique | length' "$BATS_TEST_TMPDIR/decoded")" -ge "$count" ]
}

@test "FILE.zst on a full disk: the error names it, and the intervals before are there" {
	local dir=$BATS_TEST_TMPDIR/small

	needs_zstd
	ln -s /dev/full "$BATS_TEST_TMPDIR/full.zst"
	refuses 1 count -o "$BATS_TEST_TMPDIR/full.zst"
	says full.zst 'No space left' ' 0 complete'
	root_only
	mkdir "$dir"
	mount -t tmpfs -o size=16k uncore-test "$dir" 2>/dev/null || skip 'mounting is not allowed here'
	SMALL=$dir
	run --separate-stderr timeout 60 "$UNCORE" --source "$SIM_T410" stat -M 'memory.*' -j -I 1ms \
		--interval-count 5000 -o "$dir/out.zst"
	no_sanitizer_report
	[ "$status" -eq 1 ] || fail 'exit status'
	says "$dir/out.zst" 'No space left' '[0-9]+ complete intervals'
	decodes "$dir/out.zst"
	helper check-rows json <"$BATS_TEST_TMPDIR/decoded"
	[[ $stderr =~ ([0-9]+)' complete' ]]
	[ "$(jq -s 'map(.time) | unique | length' "$BATS_TEST_TMPDIR/decoded")" -eq "${BASH_REMATCH[1]}" ]
}

@test "two processes at once do not disturb each other" {
	needs_msr
	undisturbed() {
		"$UNCORE" stat -e msr/tsc/ -j -I 20 --interval-count 20 >"$BATS_TEST_TMPDIR/one" 3>&- &
		"$UNCORE" stat -e msr/tsc/ -j -I 20 --interval-count 20 >"$BATS_TEST_TMPDIR/two"
		wait $!
		helper check-rows json N=20 real <"$BATS_TEST_TMPDIR/one" &&
			helper check-rows json N=20 real <"$BATS_TEST_TMPDIR/two" &&
			jq -se 'all(.quality == "measured")' "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/two"
	}
	eventually undisturbed
}

@test "control characters in names do not reach the terminal" {
	unpack "$SPR" "$BATS_TEST_TMPDIR/tree"
	expect 0 helper planted "$BATS_TEST_TMPDIR/tree"
}

@test "with a command, text has what was counted in all" {
	expect 0 "$UNCORE" --source sim:spr,step=500ms stat -M memory.bandwidth,memory.read.latency -- true
	shows 'NAME +PLACE +VALUE +UNIT +QUALITY +IN ALL'
	# Half a second of it.
	awk '$1 == "memory.bandwidth" { n++; if ($4 != "GB/s" || $7 != "GB" || $3 - 2 * $6 > 0.2 || 2 * $6 - $3 > 0.2) exit 1 }
		$1 == "memory.read.latency" && NF != 5 { exit 1 } END { exit n != 1 }' <<<"$output" || fail 'half of the value'
	expect 0 "$UNCORE" --source sim:spr,step=500ms stat -M memory.bandwidth 1 1
	[[ $output != *'IN ALL'* ]]
}

@test "a separator of CSV may be a control character" {
	expect 0 "$UNCORE" --source "$SIM_T410" stat -x $'\x1f' --timeout 1ms -M memory.bandwidth
	shows $'schema|time\x1finterval\x1f'
}

# bats test_tags=slow
@test "no line is longer than a terminal of 40 or 80 columns, whatever the command and the machine" {
	local sim command commands columns uncore widest said=$BATS_TEST_TMPDIR/said stderr

	for sim in "$UNCORE_SOURCE_ROOT"/data/sim/*.yaml; do
		sim=$(basename "$sim" .yaml)
		commands=('stat -M * --timeout 1 --no-merge' 'stat -M * --dry-run' 'pcie --timeout 1' list topo 'explain *'
			doctor 'mem -I 1ms --interval-count 2' 'link --timeout 1')
		uncore=${UNCORE_PLAIN:-$UNCORE}
		case $sim in
		# The overview takes a second a round.
		spr | t410 | zen4) commands+=('') uncore=$UNCORE ;;
		esac
		for command in "${commands[@]}"; do
			for columns in 40 80; do
				set -f
				# shellcheck disable=SC2086 # words
				widest=$(COLUMNS="$columns" UNCORE_AT_ONCE=yes "$uncore" --source "sim:$sim,step=1s" $command 2>"$said" | wc -L)
				set +f
				stderr=$(<"$said") # there are hundreds of these: without run
				no_sanitizer_report
				[ "$widest" -le "$columns" ] || fail "$sim: $command has a line of $widest columns"
				[ "$widest" -gt 20 ] || [ -n "$stderr" ] || fail "$sim: $command shows nothing"
			done
		done
	done
}

@test "columns that do not fit go below their row, from the last on, with their title" {
	expect 0 env COLUMNS=60 "$UNCORE" --source "$SIM_SPR" mem --timeout 1
	shows $'\n'Memory' +READ +WRITE +TOTAL'$'\n''socket 0, channel 0 [^'$'\n'']* GB/s'$'\n'' +OF PEAK [0-9.]+ %'$'\n'
	expect 0 env COLUMNS=40 "$UNCORE" --source "$SIM_SPR" pcie --per-socket --timeout 1
	shows $'\n'PLACE' +IN READ +IN WRITE'$'\n''socket 0'$'\n'' +[0-9.]+ GB/s [^O]*'$'\n''    OUT READ [0-9.]+ MB/s, OUT WRITE [0-9.]+'$'\n'
}

@test "a long name is printed on a line of its own, once for all its rows" {
	expect 0 env COLUMNS=70 "$UNCORE" --source "$SIM_T410" stat -M 'memory.read.latency*,link.clock.frequency' -A --timeout 1
	shows $'\nmemory.read.latency\n +nvidia_cmem_latency_pmu_0 +[^\n]*\n +nvidia_cmem_latency_pmu_1 +[^\n]*\nmemory.read.latency.cycles\n'
}

# The load begins in the third interval.
@test "columns stay where they are from interval to interval, titles and legends come once" {
	local event title

	cd "$BATS_TEST_TMPDIR"
	{
		printf 'sim: idle\nmachine: spr\nrates:\n'
		for event in 0x83,umask=0x01 0x83,umask=0x04 0xc0,umask=0x01 0xc0,umask=0x04; do
			printf '  - {pmu: uncore_iio, event: "event=%s,ch_mask=0xff,fc_mask=0x07", phase: 0.5, ' "$event"
			echo 'burst: {low: 0, high: 2e9, period: 4s, duty: 0.5}}'
		done
	} >idle.yaml
	expect 0 "$UNCORE" --source sim:idle.yaml,step=1s pcie --per-socket -I 1ms --interval-count 4
	shows 'socket 0 +0 B/s .*socket 0 +[0-9.]+ GB/s'
	for title in 'PLACE' 'IN: devices'; do
		[ "$(grep -c "^$title" <<<"$output")" -eq 1 ] || fail "$title"
	done
	# Where the units end, line by line.
	awk '/^socket/ { ends = ""; for (at = 0; (n = index(substr($0, at + 1), "B/s")); ) ends = ends " " (at += n + 2); print ends }' \
		<<<"$output" >ends
	[ "$(wc -l <ends) $(sort -u ends | wc -l) $(head -n 1 ends | wc -w)" = '4 1 4' ] || fail "$(cat ends)"
}

@test "a wide terminal has all columns in one line; a narrow one folds text, not JSON" {
	expect 0 env COLUMNS=80 "$UNCORE" --source "$SIM_T410" pcie --timeout 1
	shows '000b:00:00\.0 .* 24\.33 %'$'\n'' +LINK 64 GT/s x16; 000b:01:00\.0 mlx5_2'
	expect 0 env COLUMNS=200 "$UNCORE" --source "$SIM_T410" pcie --timeout 1
	shows '000b:00:00\.0  64 GT/s x16 .* 24\.33 % +000b:01:00\.0 mlx5_2'
	expect 0 env COLUMNS=80 "$UNCORE" --source "$SIM_T410" stat -M 'link.*' --timeout 1
	shows $'\n'nvidia-t410-nvclink/link.in.read.latency$'\n +all, CPU socket'
	# JSON has no lines to fold.
	expect 0 env COLUMNS=80 "$UNCORE" --source "$SIM_T410" list -j
	jq -e . >/dev/null <<<"$output"
	[ "$(wc -L <<<"$output")" -gt 80 ]
}

@test "--color: by quality and load; never in a file unless requested" {
	local red=$'\e\\[31m' green=$'\e\\[32m'

	expect 0 "$UNCORE" --source "$SIM_T410" --color always pcie --timeout 1
	shows "${green}24\.33 %"
	expect 0 "$UNCORE" --source "$SIM_ZEN4" mem --all --timeout 1 --color=always
	shows "${red}400\.0 cycle !" "${red}suspect"
	for how in auto never; do
		expect 0 "$UNCORE" --source "$SIM_T410" --color "$how" pcie --timeout 1
		[[ $output != *$'\e'* ]] || fail 'colours in a pipe'
	done
	expect 0 "$UNCORE" --source "$SIM_T410" --color always pcie -j --timeout 1
	[[ $output != *$'\e'* ]] || fail 'colours in JSON'
	refuses 2 "$UNCORE" mem --color sometimes
	says "--color: 'sometimes' is not auto, always or never"
}

@test "--units: powers of 1000 or of 1024, or none" {
	expect 0 "$UNCORE" --source "$SIM_SPR" mem --timeout 1
	shows 'machine +74\.08 GB/s'
	expect 0 "$UNCORE" --source "$SIM_SPR" mem --timeout 1 --units iec
	shows 'machine +68\.99 GiB/s' '91\.76 ns'
	expect 0 "$UNCORE" --source "$SIM_SPR" --units raw mem --timeout 1
	shows 'machine +740[0-9]{8} B/s'
	refuses 2 "$UNCORE" list --units kB
	says "--units: 'kB' is not si, iec or raw"
}

@test "the locale C has ASCII characters only" {
	expect 0 env LC_ALL=C "$UNCORE" --source sim:spr,step=10us stat -e msr/tsc/ --timeout 1ms
	shows 'Counted for 10\.00 us'
	expect 0 env LC_ALL=C.UTF-8 "$UNCORE" --source sim:spr,step=10us stat -e msr/tsc/ --timeout 1ms
	shows 'Counted for 10\.00 µs'
}

@test "global options behind a command are not taken for its own" {
	refuses 2 "$UNCORE" --source "$SIM_T410" mem --timeout 1 --data "$BATS_TEST_TMPDIR/none"
	says 'there is no directory'
	expect 0 "$UNCORE" --source "$SIM_ZEN4" mem --timeout 1 --memory-peak 1TB/s
	shows 'OF PEAK: of 1\.000 TB/s'
}

# on_terminal VARIABLES ARGUMENT...: what a terminal of 10 lines gets from the command.
on_terminal() {
	local variables=$1

	shift
	TERM=xterm script -qec "stty rows 10 cols 80; $variables '$UNCORE' $*" /dev/null </dev/null | tr -d '\r'
}

@test "messages on standard error are folded on a terminal only" {
	local shown

	shown=$(on_terminal '' --source sim:nothing)
	[[ $shown == 'uncore: there is no simulation '*$'\n        '* ]] || fail "$shown"
	[ "$(wc -L <<<"$shown")" -le 80 ] || fail "$shown"
	refuses 2 "$UNCORE" --source sim:nothing
	[ "$(tr -s ' \n' ' ' <<<"$shown")" = "$stderr " ] || fail "$shown"
	# A long word is cut between characters.
	shown=$(on_terminal '' --source "$SIM_SPR" stat -M "$(printf 'µ%.0s' {1..90})")
	iconv -f UTF-8 <<<"$shown" >/dev/null && [[ $shown == *µ$'\n        µ'* ]] || fail "$shown"
	# An event and the caret below it stay.
	shown=$(on_terminal '' --source "$SIM_SPR" stat -e uncore_imc/cas_count_read)
	[[ $shown == *$'\n  '*uncore_imc/*$'\n  '*^* ]] || fail "$shown"
}

@test "only text that is longer than the terminal goes through the pager" {
	local by_pager="UNCORE_PAGER='sed s/^/paged:/'" arguments

	for arguments in "--source $SIM_SPR list" 'stat --help'; do
		[[ $(on_terminal "$by_pager" "$arguments") == paged:* ]] || fail "$arguments"
		[[ $(on_terminal "PAGER='sed s/^/paged:/'" "$arguments") == paged:* ]] || fail "PAGER: $arguments"
		[[ $(on_terminal "$by_pager" "--no-pager $arguments") != *paged:* ]] || fail "--no-pager $arguments"
		# One that is not there, or is none.
		[[ $(on_terminal 'UNCORE_PAGER=no-such-pager' "$arguments") == *[a-z]*$'\n'*$'\n'* ]] || fail 'no such pager'
		[[ $(on_terminal 'PAGER=cat' "$arguments") == *[a-z]*$'\n'*$'\n'* ]] || fail 'cat'
		expect 0 env UNCORE_PAGER='sed s/^/paged:/' bash -c "'$UNCORE' $arguments"
		[[ $output != *paged:* ]] || fail "not a terminal: $arguments"
	done
	[[ $(on_terminal "$by_pager" --version) == uncore* ]] || fail 'a short text'
	[[ $(on_terminal "$by_pager" "--source $SIM_SPR list -j") != *paged:* ]] || fail 'JSON'
}

@test "on a terminal a progress message is shown for an interval of 1 s or more, and removed" {
	local erase=$'\033[K' arguments shown

	shown=$(on_terminal '' "--source $SIM_SPR mem")
	[[ $shown == "counting for 1.000 s$erase"'SIMULATED'* ]] || fail "mem: $shown"
	shown=$(on_terminal '' "--source $SIM_SPR matrix --timeout 1s")
	[[ $shown == *'round 1 of '*"$erase"'counting for 1.000 s, round 2 of '*"${erase}Counted"* ]] || fail "matrix: $shown"
	shown=$(on_terminal 'TERM=dumb' "--source $SIM_SPR mem")
	[[ $shown == SIMULATED* ]] || fail "dumb: $shown"
	for arguments in 'mem --timeout 10ms' 'mem 1s 1' 'mem -- sleep 1'; do
		[[ $(on_terminal '' "--source $SIM_SPR $arguments") != *'counting for'* ]] || fail "$arguments"
	done
	expect 0 "$UNCORE" --source "$SIM_SPR" mem
	[[ $output$stderr != *'counting for'* ]]
}

# bats test_tags=slow
@test "JSON: a metric's row has the inputs of its value" {
	local source

	for source in sim:skx,step=1s "$SIM_SPR" "$SIM_T410" "$SIM_ZEN4"; do
		expect 0 "$UNCORE" --source "$source" list metrics -j
		echo "$output" >"$BATS_TEST_TMPDIR/metrics"
		expect 0 "$UNCORE" --source "$source" stat -M '*' --per-socket -j --timeout 1s
		helper check-inputs "$BATS_TEST_TMPDIR/metrics" <<<"$output"
	done
	# The members of an event.
	expect 0 "$UNCORE" --source "$SIM_SPR" stat -e uncore_imc/cas_count_read/ -j --timeout 1s
	[[ $output != *'"inputs"'* ]]
}
