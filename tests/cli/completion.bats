#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Completion of command lines: the words that the command prints, and that bash, zsh and fish use them.

load helpers

SCRIPTS=$UNCORE_SOURCE_ROOT/completions

setup() {
	export PATH=${UNCORE%/*}:$PATH
}

teardown() {
	mux kill-server 2>/dev/null || true
}

mux() {
	tmux -u -f /dev/null -S "$BATS_TEST_TMPDIR/socket" "$@" 3>&-
}

# words LINE...: without what they mean, in one line. The last word is completed.
words() {
	expect 0 "$UNCORE" complete "$@"
	cut -f 1 <<<"$output" | sort -u | paste -sd ' '
}

# is EXPECTED GOT
is() {
	[ "$1" = "$2" ] || fail "'$2' and not '$1'"
}

@test "commands, options and their values are the same as in --help" {
	local command

	is "$(words '')" "$("$UNCORE" --help | sed -n 's/^  \([a-z-]\{3,\}\)  .*/\1/p' | cat - <(echo help) | sort -u | paste -sd ' ')"
	for command in stat pcie latency list doctor; do
		is "$(words "$command" --)" "$("$UNCORE" "$command" --help |
			grep -E '^ {2,6}-' | sed -E 's/^ +//; s/  .*//' | grep -oE -- '--[a-z-]+' | sort -u | paste -sd ' ')"
	done
	is "$(words help to)" 'top topo'
	is "$(words --color '')" 'always auto never'
	is "$(words stat --units=)" '--units=iec --units=raw --units=si'
	is "$(words pcie --sort '')" 'in latency out place share traffic'
	is "$(words --source s)" 'sim:'
	is "$(words --source sim:zen)" 'sim:zen3 sim:zen4 sim:zen5'
	is "$(words stat --source=regs:t)" '--source=regs:template'
	is "$(words stat --csv=)" '--csv=wide'
	is "$(words stat --csv --metr)" '--metrics'
	is "$(words stat --format '')" 'csv html json'
	is "$(words stat --inter)" '--interval --interval-count --interval-print'
	# Options that do not suit the command.
	is "$(words mem --devi)" ''
	is "$(words list '')" 'events metrics pmus'
	is "$(words top '')" 'cache link matrix mem pcie power'
	is "$(words stat -- '')" ''
	is "$(words snapshot '')" ''
	is "$(words doctor nothing-like-it --json '')" ''
}

@test "names of metrics, events and devices are the machine's" {
	is "$(words --source sim:spr explain cache.h)" 'cache.hit.ratio'
	is "$(words --source=sim:zen4 stat -M memory.utilization,cache.h)" 'memory.utilization,cache.hit.ratio'
	is "$(words stat --source sim:grace --metrics=link.c)" '--metrics=link.clock.frequency'
	is "$(words --source sim:spr stat -e uncore_upi_)" 'uncore_upi_0/ uncore_upi_1/ uncore_upi_2/ uncore_upi_3/'
	is "$(words --source sim:spr stat -e '{uncore_imc_0/cas_rd/,uncore_imc_1/cas_w')" \
		'{uncore_imc_0/cas_rd/,uncore_imc_1/cas_wr/'
	is "$(words --source sim:spr stat -e UNC_M_CAS_COUNT.R)" \
		'UNC_M_CAS_COUNT.RD UNC_M_CAS_COUNT.RD_PRE_REG UNC_M_CAS_COUNT.RD_PRE_UNDERFILL UNC_M_CAS_COUNT.RD_REG UNC_M_CAS_COUNT.RD_UNDERFILL'
	is "$(words --root "$T410" pcie --device nvme)" 'nvme0'
	is "$(words --root "$T410" pcie --check=0002:80)" '--check=0002:80:00.0'
	# A machine that cannot be read: nothing on standard output.
	run --separate-stderr "$UNCORE" --root /nonexistent complete explain ''
	[ -z "$output" ]
}

# completes COMMAND... - SETUP LINE WANTED: in the shell, the key completes the line.
completes() {
	local shell=() program

	while [ "$1" != - ]; do
		shell+=("$1")
		shift
	done
	for program in "${shell[0]}" tmux; do
		command -v "$program" >/dev/null || skip "$program is not here"
	done
	mux new-session -d -x 150 -y 20 "${shell[@]}"
	mux send-keys "$2; PS1='ready '" Enter
	seen '^ready'
	mux send-keys -l "$3"
	mux send-keys Tab
	seen "$4"
	mux kill-server
	# A server that ends does not take a new session.
	while mux list-sessions &>/dev/null; do sleep 0.1; done
	rm -f "$BATS_TEST_TMPDIR/socket"
}

# seen PATTERN: on the screen, however slow the machine is.
seen() {
	local count

	for ((count = 0; count < 600; count++)); do
		! mux capture-pane -p | grep -q -- "$1" || return 0
		sleep 0.1
	done
	fail "$(mux capture-pane -p)"
}

@test "bash" {
	local use="source '$SCRIPTS/uncore.bash'"

	completes bash --norc --noprofile - "$use" 'uncore --source=sim:spr explain memory.persistent.read.l' \
		'explain memory.persistent.read.latency$'
	completes bash --norc --noprofile - "$use" 'uncore --units=ie' '--units=iec$'
	completes bash --norc --noprofile - "$use" 'uncore --source sim:t410 pcie --check 0002:80' ' 0002:80:00.0$'
	# Files, where the command has no words.
	completes bash --norc --noprofile - "$use; cd '$UNCORE_SOURCE_ROOT'" 'uncore snapshot HACK' 'HACKING.md$'
}

@test "zsh" {
	local use="fpath=('$SCRIPTS' \$fpath); autoload -Uz compinit; compinit -u -D"

	completes zsh -f - "$use" 'uncore --source=sim:spr explain memory.persistent.read.l' \
		'explain memory.persistent.read.latency$'
	completes zsh -f - "$use; cd '$UNCORE_SOURCE_ROOT'" 'uncore snapshot HACK' 'HACKING.md$'
}

@test "fish" {
	command -v fish >/dev/null || skip 'fish is not here'
	cd "$UNCORE_SOURCE_ROOT" || return
	export HOME=$BATS_TEST_TMPDIR
	run fish --no-config -c "source '$SCRIPTS/uncore.fish'; complete -C 'uncore --source=sim:spr explain memory.persistent.read.l'
		complete -C 'uncore mem --per-s'; complete -C 'uncore to'; complete -C 'uncore snapshot HACK'"
	is "$(cut -f 1 <<<"$output" | paste -sd ' ')" 'memory.persistent.read.latency --per-socket top topo HACKING.md'
	[[ ${lines[1]} == *$'\t'One\ row\ for\ each\ socket ]]
}
