# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of the command share. UNCORE is the command, UNCORE_SOURCE_ROOT the sources.

bats_require_minimum_version 1.5.0

# Bats notes the place of every command before it runs, which is most of the work of a test. Here it looks for the
# place when a command has failed. (A bats that works otherwise does not say the place.)
set +T
bats_error_trap() {
	bats_check_status_from_trap
	[ "$BATS_DEBUG_LAST_STACK_TRACE_IS_VALID" ] || bats_capture_stack_trace
	BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=yes
}

: "${UNCORE:?the path of the command under test}"
: "${UNCORE_SOURCE_ROOT:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
export UNCORE UNCORE_SOURCE_ROOT
MACHINES=$UNCORE_SOURCE_ROOT/tests/machines
GOLDEN=$UNCORE_SOURCE_ROOT/tests/golden
T410=$MACHINES/nvidia-t410-1socket.txt
GRACE=$MACHINES/nvidia-grace-1socket.txt
SPR=$MACHINES/intel-spr-1socket.txt
ZEN3=$MACHINES/amd-zen3-1socket.txt
ZEN4=$MACHINES/amd-zen4-1socket.txt
# Names of PCI devices do not depend on the machine that runs the tests.
export UNCORE_PCI_IDS=$MACHINES/pci.ids
# Nor does what was verified on it.
export STATE_DIRECTORY=/proc/none XDG_STATE_HOME=/proc/none
# One second per reading, whatever the clock says: results repeat to the byte.
SIM_T410=sim:t410,step=1s
SIM_GRACE=sim:grace,step=1s
SIM_SPR=sim:spr,step=1s
SIM_ZEN3=sim:zen3,step=1s
SIM_ZEN4=sim:zen4,step=1s
SIM_ZEN5=sim:zen5,step=1s

# The interpreter itself: in the path may be a script that looks for one (pyenv), which takes ten times as long.
python3() {
	"${PYTHON:-$(type -P python3)}" "$@"
}

# From 1.7 on jq prints a number as its text is, 200.0 instead of 200, unless it has computed it. JQ_IS_OLDER says
# that this one does not: to compute all numbers takes as long as to read them.
jq() {
	local options=() plain='def plain: if type == "number" then . + 0
		elif type == "array" or type == "object" then map_values(plain) else . end;'

	if [ -n "${JQ_IS_OLDER-}" ]; then
		command jq "$@"
		return
	fi
	while [[ ${1-} == -* ]]; do
		case $1 in
		--arg | --argjson | --slurpfile) options+=("${@:1:3}") && shift 3 ;;
		*) options+=("$1") && shift ;;
		esac
	done
	command jq "${options[@]}" "$plain plain | $1" "${@:2}"
}

# unpack MACHINE DIRECTORY: the files of a machine, for tests that change them.
unpack() {
	python3 -S "$MACHINES/snapshot.py" unpack "$1" "$2"
}

# Nor do tables on the terminal that runs them.
unset COLUMNS NO_COLOR

# Python writes no caches into the sources.
export PYTHONDONTWRITEBYTECODE=1

helper() {
	python3 -S "$BATS_TEST_DIRNAME/$1.py" "${@:2}"
}

fail() {
	printf '%s\n' "$@"
	# shellcheck disable=SC2154 # set by run
	printf -- '--- status\n%s\n--- stdout\n%s\n--- stderr\n%s\n' "$status" "${output:0:4000}" \
		"${stderr:0:4000}"
	return 1
}

no_sanitizer_report() {
	case $stderr in
	*Sanitizer* | *'runtime error:'*) fail 'a sanitizer has found something' ;;
	esac
}

# without_waits COMMAND...: runs it. Simulations with a step do not wait: skip-waits.c.
without_waits() {
	UNCORE_SKIP_WAITS=${SKIP_WAITS-} "$@"
}

# expect STATUS COMMAND...: runs it at once; $output, of which $lines are the lines, and $stderr are what it wrote.
# `run` of bats takes four times as long.
expect() {
	status=0
	output=$(without_waits "${@:2}" 2>"$BATS_TEST_TMPDIR.stderr") || status=$?
	stderr=$(<"$BATS_TEST_TMPDIR.stderr")
	# shellcheck disable=SC2034 # for tests
	mapfile -t lines <<<"$output"
	no_sanitizer_report || return 1
	[ "$status" -eq "$1" ] || fail "exit status $status and not $1: ${*:2}"
}

# eventually FUNCTION...: a measurement that a busy machine can spoil, repeated until it is right. Within the
# function nothing ends it but its status.
eventually() {
	local count

	for count in {1..20}; do
		"$@" && return
		echo "not right, $count times: $*"
	done
	return 1
}

# What a failing command must keep to: the status, nothing on standard output, and sentences that
# begin with the name of the command.
refuses() {
	expect "$@" || return 1
	[ -z "$output" ] || fail 'a failing command wrote to standard output' || return 1
	case $stderr in
	uncore:* | 'uncore '*:*) ;;
	*) fail 'the sentence does not begin with the name of the command' ;;
	esac
}

# Each argument is a regular expression that standard error must match.
says() {
	local words

	for words in "$@"; do
		[[ $stderr =~ $words ]] || fail "standard error does not match: $words" || return 1
	done
}

shows() {
	local words

	for words in "$@"; do
		[[ $output =~ $words ]] || fail "standard output does not match: $words" || return 1
	done
}

root_only() {
	[ "$(id -u)" -eq 0 ] || skip 'needs root'
}

# The kernel's own counters, which any x86 machine and guest has.
needs_msr() {
	[ -e /sys/bus/event_source/devices/msr/events/tsc ] || skip 'this machine has no msr PMU'
	if [ "$(id -u)" -ne 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ]; then
		skip 'counting system-wide needs root here'
	fi
}

needs_perf() {
	command -v perf >/dev/null || skip 'there is no perf here'
	perf stat -a -e msr/tsc/ -x, -- true >/dev/null 2>&1 || skip 'perf does not work here'
}

# An object over many lines, in the order of the names. Not by jq, which prints 1.0 as 1 up to 1.6.
sorted_json() {
	python3 -S -m json.tool --sort-keys --no-ensure-ascii --indent 2
}

SESSION=${BATS_TEST_TMPDIR-}/session

# session_of ARGUMENTS...: runs the command; `golden NAME` of "$SESSION" compares all command lines of a test at once.
session_of() {
	expect 0 "$UNCORE" "$@"
	add_to_session "$@"
}

# add_to_session ARGUMENTS...: the command line that gave $output, as a person would see both.
add_to_session() {
	# A busy machine may miss an interval; simulated time does not.
	[ -z "$stderr" ] || [[ $stderr =~ interval(\ was|s\ were)\ late\ by ]] || fail 'a word on standard error'
	printf '$ uncore %s\n%s\n\n' "${*//"$MACHINES/"/}" "$output" >>"$SESSION"
}

# Compares standard input with tests/golden/NAME; UPDATE=1 takes it over instead.
golden() {
	local name=$1 file=$GOLDEN/$1

	if [ -n "${UPDATE-}" ]; then
		mkdir -p "$GOLDEN"
		cat >"$file"
		return
	fi
	[ -e "$file" ] || { echo "tests/golden/$name is missing: UPDATE=1 makes it"; return 1; }
	diff -u --label "tests/golden/$name" --label 'the command' "$file" - || {
		echo "differs from tests/golden/$name; when that is right: UPDATE=1 meson test --suite cli"
		return 1
	}
}

# ---- a server ----

# serve OPTION...: in the background; sets $server and $address. $program: in place of $UNCORE.
serve() {
	: >errors
	"${program:-$UNCORE}" "$@" 2>errors 3>&- &
	server=$!
	until address=$(sed -n 's/^uncore: listening on //p' errors) && [ -n "$address" ]; do
		kill -0 "$server" 2>/dev/null || fail "it has ended: $(<errors)" || return 1
		sleep 0.05
	done
}

# stop SIGNAL: ends it.
stop() {
	kill "-$1" "$server"
	ended
}

# ended: it ends, with status 0 and without a report of a sanitizer.
ended() {
	local code=0

	wait "$server" || code=$?
	server=
	[ "$code" -eq 0 ] || fail "exit status $code: $(<errors)"
	[[ $(<errors) != *Sanitizer* && $(<errors) != *'runtime error:'* ]] || fail "$(<errors)"
}

scrape() {
	python3 -S "$BATS_TEST_DIRNAME/scrape.py" "$@"
}

# ---- a collector of OpenTelemetry ----

needs_otlp() {
	[[ $("$UNCORE" --source "$SIM_SPR" serve --otlp http://localhost --dry-run 2>&1) != *'built without libcurl'* ]] || skip 'built without libcurl'
}

# collector ANSWER...: in the background; sets $receiver, and $url.
collector() {
	mkdir -p collected
	rm -f collected/*
	# Not the function, whose process would be another.
	"${PYTHON:-$(type -P python3)}" -S "$BATS_TEST_DIRNAME/otlp.py" collect collected "$@" 3>&- &
	receiver=$!
	until [ -e collected/port ]; do
		kill -0 "$receiver" || return 1
		sleep 0.05
	done
	url=http://127.0.0.1:$(<collected/port)
}

# otlp FILE: a request as samples of Prometheus.
otlp() {
	python3 -S "$BATS_TEST_DIRNAME/otlp.py" text "$1"
}

# hide_vmd DIR: Skylake's simulation DIR/sim.yaml, on whose machine nothing says on which root bus the VMD device is.
hide_vmd() {
	mkdir -p "$1"
	sed -e 's|pci0000:5d/0000:5d:05.5/pci10000|pci10000|' -e '/domain ->/d' "$MACHINES/intel-skx-1socket.txt" >"$1/machine.txt"
	unpack "$1/machine.txt" "$1/machine"
	sed "s|^machine:.*|machine: $1/machine|" "$UNCORE_SOURCE_ROOT/data/sim/skx.yaml" >"$1/sim.yaml"
}
