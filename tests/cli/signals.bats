#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Ctrl-C, kill, and readers that stop reading.

load helpers

@test "SIGINT, SIGTERM and SIGHUP end an interval cleanly and print it" {
	helper signals intervals INT
	helper signals intervals TERM
	helper signals intervals HUP
}

@test "SIGINT, SIGTERM and SIGHUP end a single window and print it" {
	helper signals window INT
	helper signals window TERM
	helper signals window HUP
}

@test "signals to uncore alone are passed on to the command" {
	helper signals command INT
	helper signals command TERM
}

@test "registers are restored when any signal ends the process" {
	local name

	for name in INT TERM HUP QUIT ABRT ALRM USR1 USR2 VTALRM PROF XCPU IO PWR 16 RTMIN RTMAX; do
		helper signals programmed "$name"
	done
}

@test "registers are restored when a signal ends the command" {
	helper signals released USR1
	helper signals released QUIT
	helper signals released XCPU
}

@test "Ctrl-C at a terminal: the command decides what it does" {
	helper signals terminal
}

@test "SIGINT works where the shell has it ignored" {
	helper signals ignored
}

@test "Ctrl-C before the delay is over" {
	helper signals delay
}

@test "Ctrl-C works when the reader has stopped reading" {
	helper signals stalled
}
