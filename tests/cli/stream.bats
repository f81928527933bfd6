#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the page of uncore serve is made of: /api/v1.

load helpers

setup() {
	[[ $("$UNCORE" --help) == *' serve '* ]] || skip 'built without libmicrohttpd'
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	[ -z "${server-}" ] || kill -KILL "$server" 2>/dev/null || true
}

# compare FILE-OF-EVENTS FILE-OF-ROWS: windows are intervals of JSON, to six digits; all qualities and reasons.
compare() {
	python3 -S - "$@" <<-'PYTHON'
		import json, sys
		windows, quality, rows = [], {}, None
		for event in map(json.loads, open(sys.argv[1])):
		    if event["event"] == "start":
		        rows = [(i, row) for i, row in enumerate(event["data"]["rows"]) if "extra" not in row]
		    elif event["event"] == "quality":
		        quality = {i: (name, reason) for i, name, reason in event["data"]}
		    elif event["event"] == "window":
		        windows.append((event, quality))
		truth = [json.loads(line) for line in open(sys.argv[2])]
		truth = [r for r in truth if not r["total"]]
		assert len(truth) == len(windows) * len(rows) > 10, (len(truth), len(windows), len(rows))
		for number, (event, quality) in enumerate(windows):
		    assert event["id"].endswith(f"-{number}"), event["id"]
		    for at, (i, name) in enumerate(rows):
		        right, value = truth[number * len(rows) + at], event["data"]["values"][i]
		        for key in "name", "family", "socket", "channel", "port", "role", "filter":
		            assert name[key] == right[key], (name, right)
		        assert (value is None) == (right["value"] is None), (number, name, value, right)
		        assert value is None or abs(value - right["value"]) <= 5.1e-6 * abs(right["value"]), (value, right)
		        assert quality.get(i, ("measured", None)) == (right["quality"], right["reason"]), (number, right)
	PYTHON
}

@test "the stream has the values and qualities of stat" {
	local source

	for source in "$SIM_T410" "$SIM_SPR"; do
		serve --source "$source" serve --listen unix:socket -I 50ms --per-channel -M '*'
		scrape stream "$address" 4 >events
		stop TERM
		"$UNCORE" --source "$source" stat -I 1ms --interval-count 4 --per-channel -M '*' -j 2>/dev/null >rows
		compare events rows
	done
	# The formula of each metric.
	jq -se '.[0].data as $d | ($d.rows | map(.family + .name) | unique) == ($d.metrics | map(.family + .name) | unique)
		and ($d.metrics | all(.formula and .evidence and .title))' events
}

@test "a client that reconnects continues after its last interval, unless the server was restarted" {
	local last

	serve --source "$SIM_T410" serve --listen unix:socket -I 50ms
	scrape stream "$address" 3 >first
	last=$(jq -r 'select(.id) | .id' first | tail -n 1)
	sleep 0.3
	scrape stream "$address" 3 "$last" >second
	[ "$(cat first second | jq -r 'select(.id) | .id' | cut -d - -f 2 | xargs)" = '0 1 2 3 4 5' ] || fail "$(<second)"
	jq -se 'map(.event) | .[:3] == ["start", "quality", "window"]' second
	scrape stream "$address" 1 "other-7" >third
	jq -se 'map(select(.id))[0].id | endswith("-0")' third
	scrape stream "$address" 1 "${last%-*}-99999999999999999999999" >third
	stop TERM
}

@test "the last interval and the machine as documents" {
	serve --source "$SIM_SPR" serve --listen unix:socket -I 50ms mem pcie
	scrape stream "$address" 3 >events
	scrape body "$address" /api/v1/values >values
	scrape body "$address" /api/v1/machine >machine
	stop TERM
	helper check-schema values machine
	# The places of the map, which need no counter of their own.
	jq -e '(.rows | any(.extra)) and (.rows as $r | .screen.lines | length > 10 and all(.rows | all(. < ($r | length))))
		and (.screen.lines | map(.kind) | unique) == ["channel", "machine", "port", "unit"]' values
	"$UNCORE" --source "$SIM_SPR" serve --listen unix:other --dry-run mem pcie >counters
	"$UNCORE" --source "$SIM_SPR" serve --textfile x.prom --dry-run mem pcie | diff counters -
	jq -se --slurpfile v values '(.[0].data | .run, .rows, .metrics) == ($v[0] | .run, .rows, .metrics)' events
	"$UNCORE" --source "$SIM_SPR" topo -j | jq -S . >topo.json
	jq -S .topology machine | cmp - topo.json
	"$UNCORE" --source "$SIM_SPR" doctor -j | jq -S '.findings | map(.subject)' >doctor.json
	jq -S '.findings.findings | map(.subject)' machine | cmp - doctor.json
}

@test "short samples: extremes of each interval, and the histogram for connected clients" {
	serve --source sim:spr,step=1ms serve --listen unix:socket -I 100ms --sample 1ms mem
	scrape stream "$address" 15 >events
	scrape body "$address" '/api/v1/samples?row=0' >samples
	printf 'GET /api/v1/samples?row=5 HTTP/1.0\r\n\r\n' >request
	[[ $(scrape raw "$address" <request) == *' 404 '* ]] || fail 'samples of no row'
	stop TERM
	helper check-schema samples
	# The mean of those of an interval is its value.
	python3 -S - <<-'PYTHON'
		import json
		events = [json.loads(line) for line in open("events")]
		assert len(events[0]["data"]["rows"]) == 5
		windows = [e["data"] for e in events if e["event"] == "window"]
		kept, compared = json.load(open("samples")), 0
		samples = list(zip(kept["ends"], kept["ends"][1:], kept["values"][1:]))
		for w in windows:
		    inside = [(b - a, v) for a, b, v in samples if w["time"] - w["interval"] < (a + b) / 2 < w["time"]]
		    # A busy machine may have one in an interval, which says nothing.
		    if len(inside) > 1 and abs(sum(length for length, _ in inside) - w["interval"]) < 1e-6:
		        mean = sum(length * v for length, v in inside) / w["interval"]
		        assert abs(mean / w["values"][0] - 1) < 1e-5, (mean, w["values"][0])
		        compared += 1
		assert compared > 5, compared
	PYTHON
	jq -se 'map(select(.event == "window").data) | all((.least | length) == (.values | length) and
		([.least, .values, .most] | transpose | all(.[0] == null or (.[0] <= .[1] * 1.00001 and .[1] <= .[2] * 1.00001))))' events
	jq -se '(.[0].data.rows | length) as $n | map(select(.event == "distributions").data) | length > 0 and
		all(length == $n and all(.samples > 0 and .p99 >= .p50 and (.bins | length) > 0))' events
}

@test "clients follow until the server ends, and do not delay it" {
	serve --source "$SIM_T410" serve --listen unix:socket -I 50ms
	python3 -S - "$server" "$BATS_TEST_DIRNAME" <<-'PYTHON'
		import os, sys
		sys.path.insert(0, sys.argv[2])
		from scrape import events, open_stream
		clients = [open_stream("unix:socket") for _ in range(50)]
		silent = [open_stream("unix:socket") for _ in range(10)]
		for s, lines in clients:
		    following = events(lines)
		    while "id" not in next(following):
		        pass
		os.kill(int(sys.argv[1]), 15)
		for s, lines in clients:
		    for _ in lines:
		        pass
	PYTHON
	ended
}

@test "a recording: all of it, once, and no /metrics" {
	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without SQLite'
	expect 0 "$UNCORE" --source "$SIM_SPR" record -o recording -I 1s --interval-count 7 mem
	serve --source replay:recording serve --listen unix:socket mem
	scrape stream "$address" 99 >events
	[ "$(jq -s 'map(select(.event == "window")) | length' events)" -eq 7 ] || fail "$(<events)"
	jq -se '.[0].data.live == false and last.event == "end"' events
	"$UNCORE" --source replay:recording mem -I 1s --per-socket -j | grep '"level":"socket"' >rows
	compare events rows
	printf 'GET /metrics HTTP/1.0\r\n\r\n' >request
	[[ $(scrape raw "$address" <request) == *' 404 '* ]] || fail 'metrics of a recording'
	stop TERM
	# Longer intervals than the default.
	expect 0 "$UNCORE" --source "$SIM_SPR" record -o long -I 3s --interval-count 1 -M memory.bandwidth
	# The host is the recorded one, which a simulation does not have.
	sqlite3 long "INSERT OR REPLACE INTO meta (key, value) VALUES ('host', 'node7')"
	serve --source replay:long serve --listen unix:socket -M memory.bandwidth
	scrape body "$address" /api/v1/machine >machine
	jq -e '.host == "node7"' machine
	scrape stream "$address" 99 >events
	jq -se 'map(select(.event == "window").data.interval) | length == 1' events
	stop INT
}

@test "a recording with as-recorded: the values of then" {
	local value

	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without SQLite'
	mkdir data
	sed 's/cas_rd \* 64 \/ seconds/cas_rd * 32 \/ seconds/' "$UNCORE_SOURCE_ROOT/data/intel-imc.yaml" >data/intel-imc.yaml
	expect 0 "$UNCORE" --data data --source "$SIM_SPR" record -o recording -I 1s --interval-count 1 --per-socket -M memory.read.bandwidth
	serve --source replay:recording,as-recorded serve --listen unix:socket -I 1s --per-socket -M memory.read.bandwidth
	scrape stream "$address" 99 >events
	value=$("$UNCORE" --data data --source replay:recording stat -j -I 1s --per-socket -M memory.read.bandwidth | jq -s 'map(select(.socket == 0)) | first.value')
	jq -se --argjson value "$value" '(first.data.rows | map(.socket) | index(0)) as $i |
		map(select(.event == "window")) | length == 1 and ((first.data.values[$i] / $value - 1) | fabs < 1e-5)' events
	stop TERM
}

@test "the server ends while clients send requests" {
	for _ in 1 2 3 4 5; do
		serve --source "$SIM_T410" serve --listen unix:socket -I 50ms
		python3 -S - "$server" <<-'PYTHON'
			import os, socket, sys, threading, time
			def ask():
			    try:
			        s = socket.socket(socket.AF_UNIX)
			        s.connect("socket")
			        while True:
			            s.sendall(b"GET /api/v1/machine HTTP/1.1\r\nHost: localhost\r\n\r\n")
			            if not s.recv(1 << 20):
			                return
			    except OSError:
			        pass
			threads = [threading.Thread(target=ask) for _ in range(8)]
			for thread in threads:
			    thread.start()
			time.sleep(0.3)
			os.kill(int(sys.argv[1]), 15)
			for thread in threads:
			    thread.join()
		PYTHON
		ended
	done
}

# bats test_tags=slow
@test "abandoned streams and unread documents do not lock out other clients" {
	# The sanitizer keeps what is freed.
	# shellcheck disable=SC2034 # of serve()
	program=${UNCORE_PLAIN:-$UNCORE}
	serve --source sim:spr,step=1ms serve --listen 127.0.0.1:0 -I 1h --sample 1ms mem
	python3 -S - "$(cut -d : -f 3 <<<"${address%/metrics}")" <<-'PYTHON'
		import socket, sys, time
		def ask(path):
		    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
		    s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
		    return s
		for _ in range(2):
		    streams = [ask("/api/v1/stream") for _ in range(60)]
		    for s in streams:
		        s.recv(1 << 16)
		        s.close()
		    time.sleep(3)
		assert ask("/metrics").recv(12) == b"HTTP/1.1 200", "not served"
	PYTHON
	stop TERM
	serve --source sim:spr,step=1ms serve --listen unix:socket -I 1s --sample 1ms mem
	scrape wait "$address" 8 >/dev/null
	python3 -S - "$server" <<-'PYTHON'
		import re, socket, sys, time
		def resident():
		    return int(re.search(r"VmRSS:\s*(\d+)", open(f"/proc/{sys.argv[1]}/status").read()).group(1)) / 1024
		def ask(path):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect("socket")
		    s.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
		    return s
		before, clients = resident(), [ask("/api/v1/samples?row=0") for _ in range(300)]
		begin = time.monotonic()
		assert ask("/metrics").recv(12) == b"HTTP/1.1 200", "not served"
		assert time.monotonic() - begin < 30 and resident() - before < 100, (time.monotonic() - begin, resident() - before)
	PYTHON
	stop TERM
}

@test "no short sample covers the time in which counting was disabled" {
	mkfifo -m 666 control
	exec 4<>control
	serve --source "$SIM_SPR" serve --listen unix:socket -I 200ms --sample 20ms --control fifo:control mem
	scrape wait "$address" 3 >/dev/null
	echo disable >&4
	sleep 0.3
	echo enable >&4
	scrape stream "$address" 9 >/dev/null
	scrape body "$address" '/api/v1/samples?row=0' >samples
	stop TERM
	exec 4>&-
	jq -e '[.ends, .values] | transpose | map(.[1] == null) | any' samples
}
