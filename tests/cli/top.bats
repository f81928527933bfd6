#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# uncore top in a terminal of tmux. Intervals are an hour: samples are taken by the key that reads now, and each is a
# second of simulated time, so that a screen depends on keys only.

load helpers

SIM_SKX=sim:skx,step=1s
# The time of simulated machines is that of 1970, and nothing is remembered from one test to the next.
export TZ=UTC XDG_CONFIG_HOME=/proc/none
SKX=(--source "$SIM_SKX" --memory-peak 128GB/s)

setup() {
	command -v tmux >/dev/null || skip 'there is no tmux here'
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	mux kill-server 2>/dev/null || true
	end_program
}

# A program whose terminal has gone ends by itself. The sanitizers may then look for leaks for ever, and keep a CPU from
# all tests that follow.
end_program() {
	local id

	[ -s "$BATS_TEST_TMPDIR/pid" ] || return 0
	id=$(<"$BATS_TEST_TMPDIR/pid")
	[[ $(cat "/proc/$id/comm" 2>/dev/null) != uncore* ]] || kill -KILL "$id" || true
}

mux() {
	tmux -u -f /dev/null -S "$BATS_TEST_TMPDIR/socket" "$@" 3>&-
}

# terminal WIDTHxHEIGHT COMMAND...: it runs there; `pid` and `status` are its files. The terminal's modes before and
# after are in `before` and `after`. In an $interactive shell the command can be stopped; the shell writes `stopped`
# then, and waits for `continue`.
terminal() {
	local size=$1

	shift
	end_program
	rm -f pid status before after
	{
		echo 'stty -g >before'
		printf 'sh -c '\''echo $$ >pid; exec "$@"'\'' sh'
		printf ' %q' "$@"
		cat <<-'END'

			status=$?
			while [ $status = 148 ]; do
				: >stopped
				until [ -e continue ]; do sleep 0.1; done
				fg >/dev/null
				status=$?
			done
			echo $status >status
			stty -g >after
			sleep 10000
		END
	} >script
	mux new-session -d -x "${size%x*}" -y "${size#*x}" "bash --norc --noprofile ${interactive-} script 2>errors"
}

keys() {
	local key

	for key in "$@"; do
		mux send-keys "$key"
	done
}

screen() {
	mux capture-pane -p "$@"
}

# until_true FUNCTION...: for as long as a very slow machine may take.
until_true() {
	local count

	for ((count = 0; count < 1000; count++)); do
		"$@" && return
		sleep 0.03
	done
	return 1
}

has() {
	screen | grep -q -- "$1"
}

# lacks REGEX: it is not on the screen, sooner or later.
lacks() {
	until_true has_not "$1" || fail "on the screen: $1"
}

has_not() {
	! has "$1"
}

# sees REGEX...: each is on the screen, sooner or later.
sees() {
	local words

	for words in "$@"; do
		until_true has "$words" || {
			echo "not on the screen: $words"
			screen
			cat errors
			return 1
		}
	done
}

only_ascii() {
	[ "$(LC_ALL=C grep -c '[^ -~]')" -eq 0 ]
}

is_golden() {
	screen | golden "$1" >/dev/null
}

# A screen as it is when nothing is drawn any more.
sees_golden() {
	[ -z "${UPDATE-}" ] || sleep 2
	until_true is_golden "$1" || screen | golden "$1"
}

# top WIDTHxHEIGHT OPTION...: and what it shows first.
top() {
	terminal "$1" "$UNCORE" top 1h "${@:2}"
	sees 'Waiting for the end of the first interval'
}

ended() {
	[ -s after ]
}

# The terminal is as it was, the screen before is back, and the status is 0.
restored() {
	until_true ended
	cmp before after
	[ "$(cat status)" -eq 0 ]
	[ -z "$(screen)" ] || { screen; fail 'the screen is still there'; }
}

# devices: the machines of make-devices, in the test's directory.
devices() {
	mkdir devices
	"$MACHINES/make-devices" devices
}

@test "golden screens: the overview" {
	devices
	top 120x40 --source sim:devices/spr-devices.yaml,step=1s
	keys Space Space Space
	sees '00:00:03'
	keys Down Down
	sees_golden top-spr-120x40.txt
	mux resize-window -x 60 -y 15
	sees_golden top-spr-60x15.txt
	mux resize-window -x 200 -y 50
	sees_golden top-spr-200x50.txt
	mux resize-window -x 120 -y 40
	keys q
	restored
	mux kill-server
	top 80x24 --source "$SIM_T410"
	keys Space Space Space
	sees_golden top-t410-80x24.txt
	keys z
	mux resize-window -x 120 -y 40
	sees_golden top-t410-120x40.txt
}

@test "golden screens: memory with its channels, devices with what they count themselves" {
	devices
	top 100x30 --source sim:devices/zen4-devices.yaml,step=1s
	keys Space Space Space 2
	sees_golden top-zen4-memory.txt
	keys 3
	sees_golden top-zen4-pcie.txt
}

@test "golden screens: all metrics, closed, open, sorted, filtered" {
	top 80x24 "${SKX[@]}"
	keys Space Space Space 7 s s
	sees_golden top-skx-80x24.txt
	mux resize-window -x 60 -y 15
	keys a s s
	sees_golden top-skx-60x15.txt
	mux resize-window -x 200 -y 50
	keys s
	sees_golden top-skx-200x50.txt
	keys / i i o _ 0 Enter
	mux resize-window -x 80 -y 24
	sees_golden top-skx-filter.txt
	keys q
	restored
}

@test "golden screens: metrics of ports with their devices" {
	top 80x24 --source "$SIM_T410" -M 'pcie.inbound.*.bandwidth'
	keys Space Space s s s Right Down Right Down Right
	sees_golden top-t410-ports.txt
}

@test "golden screens: ASCII" {
	top 80x24 "${SKX[@]}" --ascii
	keys Space Space Space Down
	sees_golden top-skx-ascii.txt
	only_ascii <<<"$(screen)"
}

@test "a locale without UTF-8 gets ASCII" {
	LC_ALL=C top 80x24 "${SKX[@]}"
	keys Space Space Space Down
	sees_golden top-skx-ascii.txt
}

# same_numbers SOURCE: every number on every screen is one of stat in the same interval, which a recording has.
same_numbers() {
	local level key

	rm -f recording.uncore rows screens
	"$UNCORE" --source "$1" record mem pcie link -o recording.uncore -I 1ms --interval-count 2 2>messages
	for level in -v --per-socket --per-channel --per-port --no-merge; do
		"$UNCORE" --source replay:recording.uncore stat -j "$level" 2>messages >>rows || [ $? -eq 3 ]
	done
	# All columns and details have room.
	top 300x80 --source replay:recording.uncore
	keys Space z
	sees '00:00:02'
	for key in 1 2 3 4 5 6; do
		keys "$key"
		sleep 0.5
		screen >>screens
	done
	keys q
	restored
	mux kill-server
	expect 0 helper top-numbers screens rows "$UNCORE_SOURCE_ROOT/data/names/views.yaml"
}

@test "the same numbers as stat" {
	"$UNCORE" --help | grep -q '^ *record ' || skip 'built without SQLite'
	devices
	same_numbers sim:devices/spr-devices.yaml,step=1s
	same_numbers sim:devices/zen4-devices.yaml,step=1s
	same_numbers "$SIM_T410"
	# Numbers of two devices that change places are found, though each of them is counted.
	cp screens changed
	python3 -S - <<-'END'
		import re
		lines = open("changed", encoding="utf-8").read().split("\n")
		one, other = [next(i for i, line in enumerate(lines) if re.match(f" +{name} ", line)) for name in ("nvme0", "nvme1")]
		a, b = [re.search(r"[\d.]+ [MG]B/s", lines[i])[0] for i in (one, other)]
		lines[one], lines[other] = lines[one].replace(a, b), lines[other].replace(b, a)
		open("changed", "w", encoding="utf-8").write("\n".join(lines))
	END
	run ! cmp screens changed
	run ! helper top-numbers changed rows "$UNCORE_SOURCE_ROOT/data/names/views.yaml"
}

@test "every key" {
	top 80x24 "${SKX[@]}"
	keys Space 7
	sees '00:00:01' '▸ memory.bandwidth'
	keys s s
	sees 'by name'
	keys s
	sees 'by catalogue'
	keys Home Enter
	sees '▾ memory.bandwidth' 'socket 0, channel 5'
	keys Down
	sees 'memory.bandwidth, socket 0, channel 0: .* measured'
	keys s
	sees 'socket 0, channel 5'
	keys s s s u
	sees 'GiB/s'
	keys u
	sees ' B/s'
	keys u p
	sees 'PAUSED' 'Left Right back in time'
	keys p - -
	sees 'every 30 s'
	keys e
	sees 'memory.bandwidth: ' 'formula ' 'perf stat'
	keys Escape
	sees 'socket 0, channel 5'
	keys n
	sees 'Arrows: scroll'
	keys Escape '?'
	sees 'screens: overview'
	keys End
	sees 'scaled: the kernel multiplexed'
	keys Home Escape r
	sees "uncore --source '$SIM_SKX' record -o recording.uncore 30s"
	keys Escape / p c i e
	sees 'Filter: pcie_' '▸ pcie.inbound.read.bandwidth'
	keys Escape
	sees '▾ memory.bandwidth'
	keys End
	sees '^link\.[a-z.]*: '
	keys PageUp Home Left Left
	sees '▸ memory.bandwidth'
	keys q
	restored
}

@test "screens, and Enter on a line of the overview" {
	top 100x30 --source "$SIM_T410"
	keys Space
	sees '^Memory ' '^Devices ' '^Reads on links'
	keys Down Down Down Down Enter
	sees '^ *socket 1 *[0-9]'
	lacks '^Memory '
	keys 4
	sees '^Reads on links'
	lacks '^Devices '
	keys 6
	sees "Nothing of this screen is counted. 'uncore top power' counts it"
	keys 7
	sees 'METRIC, PLACE'
	keys 1 / n v m e Enter
	sees '^ nvme0 ' '^ nvme1 '
	lacks '^ mlx5_2 '
	keys Escape 3 End
	lacks 'port 0002:a0:00.0'
	keys z
	sees '^ *nvidia_pcie_pmu_0_rc_4 .* 0 B/s'
	keys Home
	keys ']' ']'
	sees ' 15min'
	keys '['
	sees ' 5min'
	keys e
	sees 'formula '
}

@test "back in time" {
	top 100x30 "${SKX[@]}"
	keys Space Space Space
	sees '00:00:03'
	screen | grep '^ machine' | head -n 1 >third
	keys Space
	sees '00:00:04'
	lacks "$(cut -c 1-60 third)"
	keys p Left
	sees '1 s ago' '00:00:03'
	screen | grep -F "$(cut -c 1-60 third)"
	keys Left Left Left Left Left
	sees '3 s ago' '00:00:01'
	keys PageDown
	sees '00:00:04'
	keys PageUp p
	sees '00:00:04'
	lacks PAUSED
	keys Space
	sees '00:00:05'
}

@test "the screen as text, and its rows as CSV" {
	top 100x30 "${SKX[@]}"
	keys Space
	sees '^ machine'
	keys w
	sees 'Written: uncore-top-.*txt'
	diff <(screen | sed '$d') <(sed '$d' uncore-top-*.txt)
	keys c
	sees 'Written: uncore-top-.*csv'
	head -n 1 uncore-top-*.csv | grep -x 'view,place,detail,in,out,total,share,latency,unit,quality,reason'
	expect 0 "$UNCORE" stat "${SKX[@]}" -j -I 1ms --interval-count 1 -M memory.read.bandwidth,memory.bandwidth
	python3 -S - <(printf '%s' "$output") uncore-top-*.csv <<-'END'
		import csv, json, sys
		rows = {row["name"]: row for row in map(json.loads, open(sys.argv[1]))}
		line = next(line for line in csv.DictReader(open(sys.argv[2])) if line["place"] == "machine")
		assert float(line["in"]) == rows["memory.read.bandwidth"]["value"], line
		both = rows["memory.bandwidth"]
		assert abs(float(line["share"]) - both["value"] / both["ceiling"]) < 1e-9, line
		assert (line["unit"], line["quality"]) == ("B/s", "measured"), line
	END
	rm uncore-top-*.csv
	keys 7 c
	sees 'Written: uncore-top-.*csv'
	head -n 1 uncore-top-*.csv | grep -x 'name,place,value,ceiling,unit,quality,reason'
	grep '^memory.read.bandwidth,all,[0-9]*,[0-9]*,B/s,measured,$' uncore-top-*.csv
	# Nothing is written where that is not allowed.
	rm uncore-top-*
	[ "$(id -u)" -eq 0 ] || { chmod a-w . && keys w && sees 'Permission denied'; }
}

@test "settings are remembered, and choices of the command line are not" {
	export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
	mkdir config
	top 100x30 "${SKX[@]}"
	keys Space 2 s z ']' u
	sees 'GiB/s' 'by share' ' 5min'
	keys q
	restored
	diff config/uncore/top - <<-'END'
		screen memory
		sort share
		idle show
		range 5min
		units iec
	END
	[ "$(ls -A config/uncore)" = top ]
	mux kill-server
	top 100x30 "${SKX[@]}" pcie
	keys Space
	sees 'by share' 'GiB/s' '^Devices '
	keys 4 q
	restored
	grep -qx 'screen memory' config/uncore/top
	mux kill-server
	# A screen of another machine: the overview.
	echo 'screen gpus' >config/uncore/top
	top 100x30 "${SKX[@]}"
	keys Space
	sees '^Memory .*READ' '^Devices .*TO DEVICE'
	keys q
	restored
	mux kill-server
	# What is no setting is ignored.
	printf 'screen x\nsort\nunits raw\n\377\n' >config/uncore/top
	top 100x30 "${SKX[@]}"
	keys Space
	sees '[0-9]\{6,\} B/s' '^Memory .*READ'
	keys q
	restored
}

@test "a preset, or the name of a screen" {
	top 100x30 --source "$SIM_T410" pcie
	keys Space
	sees '^Devices ' '   card0 '
	lacks '^Memory '
	mux kill-server
	devices
	top 100x30 --source sim:devices/spr-devices.yaml,step=1s gpu
	keys Space
	sees '^Memory of GPUs' 'nvidia_gpu_1 .*35\.\|nvidia_gpu_1 .* 23\.'
	mux kill-server
	top 100x30 --source "$SIM_T410" cache
	keys Space
	sees 'METRIC, PLACE' 'cache.hit.ratio'
	refuses 2 "$UNCORE" top "${SKX[@]}" nonsense
	says "'nonsense' is not one of: mem, pcie, link, cache, power, matrix, memory, links"
	refuses 3 "$UNCORE" top --source "$SIM_T410" gpus
	says 'no metric of the screen'
	expect 0 "$UNCORE" top --source "$SIM_T410" pcie -I 1ms --interval-count 1
	shows 'ROOT PORT|PORT' 'nvme0'
}

# A guest without PMUs, whose devices count themselves.
@test "devices of a machine without PMUs" {
	devices
	{
		printf '%s\n' 'sim: guest' 'title: x' "machine: $PWD/guest.txt" 'seed: 1' 'rates:'
		grep 'pmu: \(enp97\|nvme0\|nvidia_gpu_0\)' devices/zen4-devices.yaml
	} >guest.yaml
	sed '/event_source\/devices\/amd/d' devices/zen4-devices.txt >guest.txt
	top 100x24 --source "sim:$PWD/guest.yaml,step=1s"
	keys Space Space
	sees '^Devices' '^ nvidia_gpu_0 .*GB/s' '^ nvme0 '
}

@test "the mouse selects and opens" {
	top 80x24 "${SKX[@]}"
	keys Space
	sees '^Memory ' '^Devices '
	mux send-keys -l $'\e[M !&' # button 1, column 1, line 6
	sees '^Devices: machine: '
	mux send-keys -l $'\e[M#!&\e[M !&' # released, and pressed again: its screen
	sees '^Devices '
	lacks '^Memory '
	keys 7
	sees 'METRIC, PLACE'
	mux send-keys -l $'\e[M#!%\e[M !%'
	sees '▾ [a-z.]*bandwidth'
	mux send-keys -l $'\e[M#!%\e[M !#' # released, and pressed on the titles
	sees ' by share '
}

@test "--sample: bursts are marked, and the maximum, the percentile and the mean are shown" {
	# A machine's first 3 ms of every 100.
	printf '%s\n' 'sim: burst' 'machine: skx' 'rates:' '  - {pmu: uncore_imc, event: cas_count_read, phase: 0,
		burst: {low: 20e6, high: 200e6, period: 100ms, duty: 0.03}}' >burst.yaml
	top 150x24 --source "sim:$PWD/burst.yaml,step=1ms" --memory-peak 100GB/s -M memory.read.bandwidth \
		--sample 1ms --above 50
	keys Space
	sees ' MAX ' 'memory.read.bandwidth  *76\.8[0-9]* GB/s *^' 'p50 .* max 76\.8[0-9]* GB/s' \
		'longest [0-9.]* ms'
	keys m
	sees ' P99 '
	keys m
	sees ' VALUE '
	keys q
	restored
}

@test "any size, and a sentence below 60x15" {
	top 80x24 "${SKX[@]}"
	keys Space
	sees 'LAST MINUTE'
	mux resize-window -x 50 -y 10
	sees '50x10 is too small: 60x15 is needed'
	mux resize-window -x 60 -y 15
	sees '^Memory ' 'F10 quit'
	keys q
	restored
}

@test "colours, and none with NO_COLOR or --color=never" {
	top 80x24 "${SKX[@]}"
	keys Space
	sees '[0-9] %'
	screen -e | grep -q $'\e\[[0-9;]*3[1-7]m'
	mux kill-server
	NO_COLOR=1 top 80x24 "${SKX[@]}"
	keys Space
	sees '[0-9] %'
	[ "$(screen -e | grep -c $'\e\[[0-9;]*[34][0-7]m')" -eq 0 ]
	mux kill-server
	top 80x24 "${SKX[@]}" --color=never
	keys Space
	sees '[0-9] %'
	[ "$(screen -e | grep -c $'\e\[[0-9;]*[34][0-7]m')" -eq 0 ]
}

@test "signals: the terminal is restored" {
	local sig

	for sig in INT TERM HUP QUIT USR1; do
		top 80x24 "${SKX[@]}"
		kill -s "$sig" "$(cat pid)"
		restored
		mux kill-server
	done
}

modes() {
	stty -a -F "$(mux display-message -p '#{pane_tty}')" | grep -q -- " $1"
}

@test "after SIGTSTP the terminal is usable, after SIGCONT the screen is back" {
	interactive=-i top 80x24 "${SKX[@]}"
	keys Space
	sees '^Memory '
	modes -icanon
	keys C-z
	until_true test -e stopped
	[ "$(screen | grep -c '^Memory ')" -eq 0 ]
	modes icanon
	modes echo
	: >'continue'
	until_true modes -icanon
	sees '^Memory '
	keys Space
	sees '00:00:02'
	keys q
	restored
}

gone() {
	! kill -0 "$1" 2>/dev/null
}

@test "top ends when its terminal is closed" {
	local process

	top 80x24 "${SKX[@]}"
	process=$(cat pid)
	mux kill-server
	until_true gone "$process"
}

@test "--interval-count and --timeout end it" {
	terminal 80x24 "$UNCORE" top "${SKX[@]}" -I 1ms --interval-count 3
	restored
	mux kill-server
	terminal 80x24 "$UNCORE" top "${SKX[@]}" --timeout 10ms
	restored
}

@test "an error is printed on the restored terminal" {
	terminal 80x24 "$UNCORE" top "${SKX[@]}" -M nonsense.metric
	until_true ended
	cmp before after
	[ "$(cat status)" -eq 2 ]
	grep -q 'nonsense.metric' errors
}

@test "without a terminal, or one that cannot show a screen: lines as stat prints them" {
	expect 0 "$UNCORE" top "${SKX[@]}" -I 1ms --interval-count 2
	shows 'memory.bandwidth +all' '2.000000'
	expect 0 "$UNCORE" top --source "$SIM_T410" -I 1ms --interval-count 1
	shows 'memory.bandwidth +socket 1'
	expect 0 "$UNCORE" top "${SKX[@]}" -j -I 1ms --interval-count 1
	[ "$(jq -r .name <<<"$output" | head -n 1)" = memory.bandwidth ]
	terminal 80x24 env TERM=dumb "$UNCORE" top "${SKX[@]}" -I 1ms --interval-count 2
	sees '2.000000 .* memory.bandwidth'
	mux kill-server
	terminal 80x24 env TERM=unknown-terminal "$UNCORE" top "${SKX[@]}" -I 1ms --interval-count 2
	sees '2.000000 .* memory.bandwidth'
}

@test "usage" {
	refuses 2 "$UNCORE" top "${SKX[@]}" -- sleep 1
	says 'top cannot run a command'
	refuses 2 "$UNCORE" top --nonsense
}

@test "a guest: what its devices count, and what cannot be counted" {
	local tree=$BATS_TEST_TMPDIR/tree disk

	unpack "$MACHINES/nvidia-h200-guest.txt" "$tree"
	for disk in "$tree"/sys/block/vd*; do echo 1000 0 8000 10 1000 0 8000 10 0 10 20 >"$disk/stat"; done
	terminal 100x20 "$UNCORE" --root "$tree" --source files top -M 'storage.*.bandwidth' 1h
	sees 'Not counted in this virtual machine (KVM; see .uncore doctor.): intel-imc'
	keys Space
	sees 'storage.read.bandwidth  *0'
	sees 'Not counted in this virtual machine'
	# On a host nothing is said about it.
	mux kill-server
	top 100x20 --source "$SIM_T410"
	run ! has 'Not counted'
}

@test "the screen in README is the picture made by tools/screens" {
	local count

	top 100x30 --source "$SIM_T410"
	for count in {1..60}; do
		keys Space
	done
	keys Down Down Down Down
	sees '00:01:00'
	sees_golden top-readme.txt
	"$UNCORE_SOURCE_ROOT/tools/screens" --text "$UNCORE_SOURCE_ROOT/docs/screens/top.svg" | diff "$GOLDEN/top-readme.txt" -
}

# The processes that top has started.
started() {
	pgrep -P "$(<pid)" -f ' who ' >/dev/null
}

not_started() {
	! started
}

@test "W: the tables of uncore who, in a process that ends with its screen" {
	top 100x30 "${SKX[@]}"
	keys Space W
	# A simulation has no processes: its sentence stays on the screen.
	sees 'By process; b: other keys' 'has no groups of tasks'
	keys Escape
	lacks 'has no groups of tasks'
	keys q
	restored
	"$UNCORE" who -I 100ms -n 1 >/dev/null 2>&1 || skip 'nothing can be counted here'
	mux kill-server
	terminal 100x30 "$UNCORE" top 1s
	sees '1  *overview'
	keys W
	sees 'By process; b: other keys' '^WHO  .*READ  .*WRITTEN' 'rocesses .*read '
	started || fail 'no process'
	# Each interval has the titles again.
	sees '^[3-9]\.[0-9]* s$' '^WHO  .*READ  .*WRITTEN'
	keys b
	sees 'By cgroup; b: other keys' '^WHO  .*READ  .*WRITTEN'
	keys Escape
	lacks 'b: other keys'
	until_true not_started || fail 'it is still there'
	keys W
	sees 'By cgroup; b: other keys' '^WHO  '
	keys q
	restored
}
