#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# uncore serve where nothing scrapes it: the file for node_exporter.

load helpers

setup() {
	[[ $("$UNCORE" --help) == *' serve '* ]] || skip 'built without libmicrohttpd'
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	local process

	for process in "${server-}" "${other-}"; do
		[ -z "$process" ] || { kill -KILL "$process" && wait "$process"; } 2>/dev/null || true
	done
}

# serve OPTION...: in the background, until it has counted an interval; sets $server, and $address if it listens.
serve() {
	: >errors
	# Directories of tests are root's.
	"$UNCORE" "$@" --user root 2>errors 3>&- &
	server=$!
	until grep -q ' series of ' errors; do
		kill -0 "$server" 2>/dev/null || fail "it has ended: $(<errors)" || return 1
		sleep 0.05
	done
	address=$(sed -n 's/^uncore: listening on //p' errors)
}

# stop SIGNAL: ends it, with status 0 and without a report of a sanitizer.
stop() {
	local code=0

	kill "-$1" "$server"
	wait "$server" || code=$?
	server=
	[ "$code" -eq 0 ] || fail "exit status $code: $(<errors)"
	[[ $(<errors) != *Sanitizer* && $(<errors) != *'runtime error:'* ]] || fail "$(<errors)"
}

# within_time COMMAND...: until it succeeds, while the server runs, for half a minute.
within_time() {
	local end=$((SECONDS + 30))

	until "$@"; do
		kill -0 "$server" && [ $SECONDS -lt $end ] || fail "not in time: $*" "$(<errors)" || return 1
		sleep 0.05
	done
}

# told TEXT: waits until the server says so.
told() {
	within_time grep -q "$1" errors
}

scrape() {
	python3 -S "$BATS_TEST_DIRNAME/scrape.py" "$@"
}

# ---- --textfile ----

@test "--textfile: the samples of /metrics, without those that node_exporter has of itself" {
	serve --source "$SIM_SPR" serve --listen unix:socket --textfile uncore.prom --textfile-interval 10ms -I 1s \
		--sample 100ms mem pcie link
	until scrape get "$address" >scraped && cp uncore.prom text && scrape get "$address" >again &&
		[ "$(grep ^uncore_intervals_total scraped)" = "$(grep ^uncore_intervals_total again)" ] &&
		[ "$(grep ^uncore_intervals_total scraped)" = "$(grep ^uncore_intervals_total text)" ]; do :; done
	stop TERM
	diff text scraped >difference || true
	! grep '^<' difference || fail 'samples that /metrics has not'
	grep '^> [^#]' difference | sed 's/^> //; s/ .*//' >missing
	diff missing - <<-'END'
		uncore_exposition_seconds_total
		uncore_scrapes_total
		uncore_refused_requests_total
		uncore_cut_connections_total
		process_cpu_seconds_total
		process_resident_memory_bytes
		process_start_time_seconds
	END
	grep -q '^uncore_memory_read_sample_mean_bytes_per_second_bucket' text || fail "$(<text)"
	! command -v promtool >/dev/null || promtool check metrics <text
}

@test "--textfile: node_exporter serves all of its samples" {
	local at

	command -v prometheus-node-exporter >/dev/null || skip 'prometheus-node-exporter is not installed: tools/setup promtool'
	mkdir collected
	serve --source "$SIM_SPR" serve --textfile uncore.prom --textfile-interval 10ms -I 50ms --sample 10ms mem pcie link
	cp uncore.prom collected
	stop TERM
	: >log
	prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.textfile.directory="$PWD/collected" \
		--web.listen-address=127.0.0.1:0 2>log 3>&- &
	other=$!
	until at=$(sed -n 's/.*address=\(127.0.0.1:[0-9]*\).*/\1/p' log | head -n 1) && [ -n "$at" ]; do
		kill -0 "$other" || fail "$(<log)"
		sleep 0.05
	done
	curl -sS -m 60 -f "http://$at/metrics" >served
	grep -qx 'node_textfile_scrape_error 0' served || fail "$(<log)"
	grep -q '^node_textfile_mtime_seconds{file=".*/uncore.prom"}' served
	python3 -S - <<-'PYTHON'
		import re
		def samples(file):
		    found = {}
		    for line in open(file):
		        if line.startswith("uncore_"):
		            key, value = line.rsplit(" ", 1)
		            name, _, labels = key.partition("{")
		            # It writes each label that a series of the name has, and numbers in another form.
		            labels = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)
		            found[name, frozenset((k, float(v) if k == "le" else v) for k, v in labels if v)] = float(value)
		    return found
		mine, theirs = samples("collected/uncore.prom"), samples("served")
		assert mine.keys() == theirs.keys() and len(mine) > 300, list(mine.keys() ^ theirs.keys())[:9]
		for key, value in mine.items():
		    # A count of a summary is a whole number there.
		    assert abs(theirs[key] - value) <= (1 if key[0].endswith("_count") else 1e-9 * abs(value)), (key, value, theirs[key])
		    assert not key[0].endswith("_count") or not value or value > 1000 or "sample_mean" in key[0], key
	PYTHON
}

@test "--textfile: a reader finds a whole file at any time; it goes with the process" {
	umask 077
	serve --source "$SIM_SPR" serve --textfile uncore.prom --textfile-interval 1ms -I 1ms
	python3 -S - <<-'PYTHON'
		import os, time
		last, seen, end = "", set(), time.monotonic() + 1
		while time.monotonic() < end or len(seen) < 20:
		    with open("uncore.prom") as file:
		        assert os.fstat(file.fileno()).st_mode & 0o7777 == 0o644
		        lines = file.read().splitlines()
		    last = last or lines[-1].split()[0]
		    assert lines[-1].split()[0] == last and lines[0].startswith("# HELP uncore_build_info "), lines
		    seen.add(next(line for line in lines if line.startswith("uncore_intervals_total ")))
	PYTHON
	stop TERM
	[ -z "$(ls -- *.prom*)" ] || fail "$(ls)"
}

@test "--textfile: it is written at most every --textfile-interval, and no port is open" {
	local time

	serve --source "$SIM_SPR" serve --textfile uncore.prom -I 10ms
	! readlink "/proc/$server/fd/"* | grep -q socket || fail 'it has a socket'
	time=$(stat -c %y uncore.prom)
	sleep 0.5
	[ "$(stat -c %y uncore.prom)" = "$time" ] || fail 'it is written again'
	grep -qx 'uncore_intervals_total 1' uncore.prom
	stop TERM
}

@test "--textfile: an error is told once, and that it is over; at the start it ends the process" {
	mkdir there
	serve --source "$SIM_SPR" serve --textfile there/uncore.prom --textfile-interval 10ms -I 10ms
	mv there away
	told 'cannot write there/uncore.prom: No such file'
	sleep 0.2
	mv away there
	told 'there/uncore.prom is written again'
	[ "$(grep -c 'cannot write' errors)" -eq 1 ] || fail "$(<errors)"
	stop TERM

	expect 1 "$UNCORE" --source "$SIM_SPR" serve --user root --textfile none/uncore.prom
	[[ $stderr == 'uncore: --textfile: cannot write none/uncore.prom: No such file or directory' ]] || fail "$stderr"
	expect 2 "$UNCORE" --source "$SIM_SPR" serve --textfile uncore.txt
	expect 2 "$UNCORE" --source "$SIM_SPR" serve --textfile there/.prom
	echo old >there/uncore.prom
	# shellcheck disable=SC2016 # expanded by the inner shell
	expect 1 bash -c '(ulimit -f 0; exec "$@") 2>&1 | cat >&2; exit ${PIPESTATUS[0]}' - "$UNCORE" --source "$SIM_SPR" serve --user root --textfile there/uncore.prom
	[[ $stderr == *': File too large' ]] || fail "$stderr"
	[ "$(ls there)$(<there/uncore.prom)" = uncore.promold ] || fail "$(ls there)"
	[ "$(id -u)" -eq 0 ] || return 0
	chmod 755 . there
	expect 4 "$UNCORE" --source "$SIM_SPR" serve --textfile there/uncore.prom
	[[ $stderr == *'writable for the user of --user' ]] || fail "$stderr"
	chmod 1777 there
	ln -s "$PWD/other" there/uncore.prom.new
	expect 1 "$UNCORE" --source "$SIM_SPR" serve --textfile there/uncore.prom
	[ ! -e other ] || fail 'it was written through a link'
}
