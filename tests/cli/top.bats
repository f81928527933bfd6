#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# uncore top in a terminal of tmux. Intervals are an hour: samples are taken by the key that reads now, and each is a
# second of simulated time, so that a screen depends on keys only.

load helpers

SIM_SKX=sim:skx,step=1s
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

# eventually_true FUNCTION...: for as long as a very slow machine may take.
until_true() {
	local count

	for ((count = 0; count < 300; count++)); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

has() {
	screen | grep -q -- "$1"
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
	[ -z "$(screen)" ] || fail 'the screen is still there'
}

@test "golden screens: closed, open, sorted, filtered" {
	top 80x24 "${SKX[@]}"
	keys Space Space Space
	sees_golden top-skx-80x24.txt
	mux resize-window -x 60 -y 15
	keys a s
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

@test "golden screens: sockets, ports with their devices" {
	top 80x24 --source "$SIM_T410" -M 'pcie.inbound.*.bandwidth'
	keys Space Space Right Down Right Down Right
	sees_golden top-t410-ports.txt
}

@test "golden screens: ASCII" {
	top 80x24 "${SKX[@]}" --ascii
	keys Space Space Space a
	sees_golden top-skx-ascii.txt
	only_ascii <<<"$(screen)"
}

@test "a locale without UTF-8 gets ASCII" {
	LC_ALL=C top 80x24 "${SKX[@]}"
	keys Space Space Space a
	sees_golden top-skx-ascii.txt
}

@test "the same numbers as stat" {
	local name value

	top 120x50 "${SKX[@]}"
	keys Space Space Space u u
	sees 'at 3.000 s' ' B/s'
	screen >shown
	expect 0 "$UNCORE" stat "${SKX[@]}" -j -I 1ms --interval-count 3
	jq -r 'select(.time == 3) | "\(.name) \(.value)"' <<<"$output" >counted
	[ "$(wc -l <counted)" -ge 8 ]
	while read -r name value; do
		# Raw values have five digits and more.
		awk -v name="$name" -v value="$value" '$2 == name {
			d = $3 / value - 1
			found = d < 1e-4 && d > -1e-4
		} END { exit !found }' <(grep -v % shown) || grep -q "^. $name .* %" shown ||
			fail "$name is not $value: $(grep "$name" shown)"
	done <counted
}

@test "every key" {
	top 80x24 "${SKX[@]}"
	keys Space
	sees 'at 1.000 s' '▸ memory.bandwidth'
	keys Enter
	sees '▾ memory.bandwidth' 'socket 0, channel 5'
	keys Down
	sees 'memory.bandwidth, socket 0, channel 0: .* measured'
	keys s
	sees 'by value'
	keys s s s u
	sees 'GiB/s'
	keys u
	sees ' B/s'
	keys u p
	sees 'PAUSED'
	keys p +
	sees 'every 3600 s'
	keys - -
	sees 'every 30 s'
	keys e
	sees 'memory.bandwidth: ' 'formula ' 'perf stat'
	keys Escape
	sees 'socket 0, channel 5'
	keys n
	sees 'Arrows: scroll'
	keys Escape '?'
	sees 'Up Down j k'
	keys End
	sees 'scaled: the kernel multiplexed'
	keys Home Escape / p c i e
	sees 'Filter: pcie_' '▸ pcie.inbound.read.bandwidth'
	keys Escape
	sees '▾ memory.bandwidth'
	keys End
	sees 'link.in.bandwidth: '
	keys PageUp Home Left Left
	sees '▸ memory.bandwidth'
	keys q
	restored
}

@test "the mouse selects and opens" {
	top 80x24 "${SKX[@]}"
	keys Space
	sees 'memory.read.bandwidth'
	mux send-keys -l $'\e[M !%' # button 1, column 1, line 5
	sees '▾ memory.read.bandwidth' 'memory.read.bandwidth: '
	mux send-keys -l $'\e[M#!%\e[M !#' # released, and pressed on the titles
	sees ' by value '
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
	sees 'LAST MIN'
	mux resize-window -x 50 -y 10
	sees '50x10 is too small: 60x15 is needed'
	mux resize-window -x 60 -y 15
	sees 'MINUTE' 'q quit'
	keys q
	restored
}

@test "colours, and none with NO_COLOR or --color=never" {
	top 80x24 "${SKX[@]}"
	keys Space
	sees '39.9 %\|[0-9] %'
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
	sees 'memory.bandwidth'
	modes -icanon
	keys C-z
	until_true test -e stopped
	[ "$(screen | grep -c memory.bandwidth)" -eq 0 ]
	modes icanon
	modes echo
	: >'continue'
	until_true modes -icanon
	sees 'memory.bandwidth'
	keys Space
	sees 'at 2.000 s'
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

@test "a guest: what its devices count, and below the title what cannot be counted" {
	local tree=$BATS_TEST_TMPDIR/tree disk

	unpack "$MACHINES/nvidia-h200-guest.txt" "$tree"
	for disk in "$tree"/sys/block/vd*; do echo 1000 0 8000 10 1000 0 8000 10 0 10 20 >"$disk/stat"; done
	terminal 100x20 "$UNCORE" --root "$tree" --source files top -M 'storage.*.bandwidth' 1h
	sees 'Not counted in this virtual machine (KVM; see .uncore doctor.): intel-imc'
	keys Space
	sees 'storage.read.bandwidth  *0'
	[ "$(screen | sed -n 4p | grep -c 'storage\.read\.bandwidth')" = 1 ] || fail 'the list begins below that line'
	# On a host nothing is said about it.
	mux kill-server
	top 100x20 --source "$SIM_T410"
	run ! has 'Not counted'
}

@test "the screen in README is the picture made by tools/screens" {
	top 100x24 --source "$SIM_T410"
	keys Space Space Space Space Space Space Space Space Space Space Space Space Right
	keys Down Down Down Down Down Down Right Down Right s Down Right
	sees_golden top-readme.txt
	"$UNCORE_SOURCE_ROOT/tools/screens" --text "$UNCORE_SOURCE_ROOT/docs/screens/top.svg" | diff "$GOLDEN/top-readme.txt" -
}
