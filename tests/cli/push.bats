#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# uncore serve where nothing scrapes it: the file for node_exporter, and OTLP.

load helpers

setup() {
	[[ $("$UNCORE" --help) == *' serve '* ]] || skip 'built without libmicrohttpd'
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	local process

	for process in "${server-}" "${other-}" "${receiver-}"; do
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

@test "--textfile: the samples of /metrics, except those that node_exporter also has" {
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

@test "--textfile: a reader finds a complete file at any time; it is removed at the end" {
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

@test "--textfile: an error and its end are reported once; at the start it ends the process" {
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

# ---- --otlp ----

# received N: waits for the request of this number.
received() {
	within_time [ -e "collected/$1.json" ]
}

@test "--otlp: requests are OTLP, and have the samples of /metrics by the same names" {
	local number tries

	needs_otlp
	collector 200
	serve --source "$SIM_SPR" serve --listen unix:socket --otlp "$url" --otlp-interval 10ms -I 1s --sample 100ms -M '*' -M memory.clock.frequency \
		--per-port -e msr/tsc/
	# Each interval is one request.
	for tries in {1..20}; do
		scrape get "$address" >scraped
		number=$(($(scrape value uncore_intervals_total <scraped) - 1))
		received $number
		otlp collected/$number.json >pushed
		grep "^uncore_intervals_total $((number + 1))$" pushed && break
		[ "$tries" -lt 20 ] || fail "it is never request $number that has this number of intervals"
	done
	stop TERM
	sed '/^#/d; /^process_/d; /^uncore_exposition_seconds_total /d; /^uncore_scrapes_total /d; /^uncore_refused_/d; /^uncore_cut_/d' \
		scraped | sort >expected
	[ "$(wc -l <expected)" -gt 500 ] || fail "$(<expected)"
	for kind in counter gauge summary histogram; do
		grep -q "^# TYPE .* $kind" scraped || fail "no $kind"
	done
	# A count of a summary is a whole number there.
	python3 -S - <<-'PYTHON'
		def read(file):
		    return {key: float(value) for key, value in (line.rsplit(" ", 1) for line in open(file))}
		pushed, expected = read("pushed"), read("expected")
		assert pushed.keys() == expected.keys(), sorted(pushed.keys() ^ expected.keys())[:9]
		for key, value in expected.items():
		    assert pushed[key] == value or "_count" in key and abs(pushed[key] - value) <= 0.5, (key, value, pushed[key])
	PYTHON
	grep -q '^POST /v1/metrics' collected/0.headers
	grep -qi '^content-type: application/json' collected/0.headers
	jq -e '.resourceMetrics[0].scopeMetrics[0].metrics | map({(.name): .unit}) | add |
		."uncore.memory.read" == "By" and ."uncore.memory.read.latency" == "s" and ."uncore.pcie.inbound.read.ceiling" == "By/s" and
		."uncore.memory.utilization.ratio" == "1" and ."uncore.memory.clock.cycles" == "{cycle}"' collected/0.json
}

@test "--otlp: credentials and attributes from the environment; sums go on over requests, the last one at the end" {
	local count

	needs_otlp
	collector 200
	export OTEL_EXPORTER_OTLP_HEADERS='authorization=Basic%20c2VjcmV0, x-tenant = a%2Cb' OTEL_SERVICE_NAME=counters
	export OTEL_RESOURCE_ATTRIBUTES='deployment.environment=test%20bed,host.name=other,broken'
	serve --source "$SIM_T410" serve --otlp "$url/some/path" --otlp-interval 1h -I 20ms
	received 0
	sleep 0.3
	[ ! -e collected/1.json ] || fail 'it is sent again'
	stop TERM
	[ -e collected/1.json ] || fail 'no last request'
	grep -q '^POST /some/path' collected/0.headers
	grep -qi '^authorization: Basic c2VjcmV0' collected/0.headers
	grep -qi '^x-tenant: a,b' collected/0.headers
	jq -e '.resourceMetrics[0].resource.attributes | map({(.key): .value.stringValue}) | add |
		."service.name" == "counters" and ."deployment.environment" == "test bed" and ."host.name" == "other" and
		(."service.version" | length) > 0 and ."service.instance.id" != null' collected/0.json
	otlp collected/0.json | grep -qx 'uncore_intervals_total 1'
	count=$(otlp collected/1.json | sed -n 's/^uncore_intervals_total //p')
	[ "$count" -gt 5 ] || fail "$count"
	! jq -r '.. | .startTimeUnixNano? // empty' collected/0.json collected/1.json | sort -u | grep -vx "$(jq -r \
		'first(.. | .startTimeUnixNano? // empty)' collected/0.json)" || fail 'another start'
	expect 2 "$UNCORE" --source "$SIM_SPR" serve --otlp http://user:secret@127.0.0.1:4318
	expect 2 "$UNCORE" --source "$SIM_SPR" serve --otlp 127.0.0.1:4318
}

@test "--otlp: temporary errors are retried, and reported once" {
	needs_otlp
	collector 503 '429 {"message":"slow down"}' '200 {}'
	serve --source "$SIM_T410" serve --otlp "$url" --otlp-interval 1h -I 20ms
	told 'accepts the sums again'
	cmp <(otlp collected/0.json) <(otlp collected/2.json)
	[ ! -e collected/3.json ] || fail 'it is sent again'
	[ "$(grep -c 'HTTP status' errors)" -eq 1 ] || fail "$(<errors)"
	grep -q "otlp: $url/v1/metrics: HTTP status 503" errors
	stop TERM
}

@test "--otlp: other errors and refused values are reported with the collector's message, and not retried" {
	needs_otlp
	collector '400 {"message":"no such tenant"}' '200 {"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}' '200 {}'
	serve --source "$SIM_T410" serve --otlp "$url" --otlp-interval 1500ms -I 20ms
	told 'HTTP status 400: no such tenant'
	sleep 0.3
	[ ! -e collected/1.json ] || fail 'it is tried again'
	told 'accepts the sums again'
	stop TERM
	[ "$(grep -c otlp errors)" -eq 2 ] || fail "$(<errors)"
}

@test "--otlp: counting continues while the collector does not answer or does not exist" {
	local count

	needs_otlp
	collector never
	serve --source "$SIM_T410" serve --listen unix:socket --otlp "$url" --otlp-interval 10ms -I 20ms
	received 0
	count=$(scrape get "$address" | scrape value uncore_intervals_total)
	sleep 1
	scrape get "$address" >text
	[ "$(scrape value uncore_intervals_total <text)" -ge $((count + 25)) ] || fail "$count, $(<text)"
	[ "$(scrape value uncore_missed_ticks_total <text)" -le 10 ] || fail "$(<text)"
	stop TERM
	kill "$receiver"
	wait "$receiver" || true
	serve --source "$SIM_T410" serve --listen unix:socket --otlp "$url" --otlp-interval 10ms -I 20ms
	told 'otlp: http://127.0.0.1:.* connect'
	scrape wait "$address" 30 >/dev/null
	[ "$(grep -c otlp: errors)" -eq 1 ] || fail "$(<errors)"
	stop TERM
}

@test "--otlp: over TLS, to a collector whose certificate is known" {
	needs_otlp
	command -v openssl >/dev/null || skip 'openssl is not installed'
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=collector \
		-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem 2>/dev/null
	export CERTIFICATE=certificate.pem KEY=key.pem
	collector 200
	serve --source "$SIM_T410" serve --otlp "${url/http/https}" --otlp-interval 10ms -I 20ms
	told 'otlp: https://.*certificate'
	stop TERM
	[ ! -e collected/0.json ] || fail 'the certificate is not checked'
	OTEL_EXPORTER_OTLP_CERTIFICATE=certificate.pem serve --source "$SIM_T410" serve --otlp "${url/http/https}" -I 20ms
	received 0
	stop TERM
}

@test "--otlp: a file of certificates that would block each request is refused" {
	local file

	needs_otlp
	mkfifo fifo
	for file in fifo . /dev/zero none; do
		OTEL_EXPORTER_OTLP_CERTIFICATE=$file expect 1 timeout 60 "$UNCORE" --source "$SIM_T410" serve --otlp https://127.0.0.1:1
		[[ $stderr == "uncore: OTEL_EXPORTER_OTLP_CERTIFICATE: $file: "* ]] || fail "$stderr"
	done
}
