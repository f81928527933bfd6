#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# uncore serve: what clients get is right, whoever asks and how often; and what clients cannot do.

load helpers

setup() {
	[[ $("$UNCORE" --help) == *' serve '* ]] || skip 'built without libmicrohttpd'
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	[ -z "${server-}" ] || kill -KILL "$server" 2>/dev/null || true
	rm -f run
}

# has TEXT SAMPLE VALUE
has() {
	local value

	value=$(scrape value "$2" <"$1") || fail "no $2 in: $(<"$1")" || return 1
	[ "$value" = "$3" ] || fail "$2 is $value and not $3"
}

# A python with prometheus_client, if there is one.
parser() {
	local python

	for python in "${PYTHON:-python3}" /usr/bin/python3; do
		if "$python" -c 'import prometheus_client.openmetrics.parser' 2>/dev/null; then
			echo "$python"
			return
		fi
	done
}

@test "both formats are valid, without duplicates, on each simulated machine" {
	local python source

	python=$(parser)
	for source in "$SIM_T410" "$SIM_GRACE" "$SIM_SPR" "$SIM_ZEN4"; do
		serve --source "$source" serve --listen unix:socket -I 1s --sample 10ms mem pcie link cache
		scrape wait "$address" 2 >/dev/null
		"${python:-python3}" "$BATS_TEST_DIRNAME/scrape.py" check "$address" ${python:+parser}
		stop TERM
	done
	[ -n "$python" ] || skip 'python3-prometheus-client is not installed: checked without it'
}

@test "clients that take gzip get the same text" {
	local encoding

	command -v curl >/dev/null || skip 'curl is not installed: tools/setup test'
	serve --source "$SIM_SPR" serve --listen unix:socket -I 1min mem pcie
	for encoding in '' identity 'gzip;q=0' 'gzip2, deflate'; do
		curl -sS --unix-socket socket -D headers -H "Accept-Encoding: $encoding" http://localhost/metrics >plain
		! grep -qi '^content-encoding' headers || fail "$encoding: $(<headers)"
		grep -q ^uncore_build_info plain
	done
	for encoding in gzip 'deflate, gzip;q=1.0' 'br;q=1, gzip ; q=0.1, *;q=0'; do
		curl -sS --unix-socket socket -D headers -H "Accept-Encoding: $encoding" http://localhost/metrics >compressed
		grep -qi '^content-encoding: gzip' headers || fail "$encoding: $(<headers)"
		gzip -dc <compressed >text
		diff <(grep -v ^uncore_scrapes plain) <(grep -v ^uncore_scrapes text)
	done
	curl -sS --unix-socket socket --compressed -H 'Accept: application/openmetrics-text' http://localhost/metrics | grep -q '^# EOF'
	stop TERM
}

@test "promtool accepts the text" {
	command -v promtool >/dev/null || skip 'promtool is not installed: tools/setup promtool'
	serve --source "$SIM_SPR" serve --listen unix:socket -I 100ms --sample 10ms mem pcie link cache
	scrape wait "$address" 2 >text
	promtool check metrics <text
	stop TERM
}

@test "totals are the sums of the intervals that stat prints" {
	local count text

	serve --source "$SIM_T410" serve --listen unix:socket -I 50ms --per-socket -M 'memory.*bandwidth,link.*'
	for count in 4 9; do
		scrape wait "$address" "$count" >"text$count"
	done
	stop TERM
	for text in text4 text9; do
		count=$(scrape value uncore_intervals_total <$text)
		has $text uncore_interval_seconds_total "$count"
		"$UNCORE" --source "$SIM_T410" stat -I 1ms --interval-count "$count" --per-socket \
			-M 'memory.*bandwidth,link.*' -j 2>/dev/null >rows
		python3 -S - $text "$BATS_TEST_DIRNAME" <<-'PYTHON'
			import collections, json, sys
			sums, compared = collections.Counter(), 0
			for line in open("rows"):
			    row = json.loads(line)
			    if row["unit"] in ("B/s", "1/s") and row["value"] is not None:
			        labels = f'family="{row["family"]}",socket="{row["socket"]}"'
			        labels += f',role="{row["role"]}"' if row["role"] else ""
			        name = row["name"].replace(".bandwidth", "_bytes").replace(".", "_")
			        sums[f"uncore_{name}_total{{{labels}}}"] += row["value"]
			for line in open(sys.argv[1]):
			    name, _, value = line.rpartition(" ")
			    if name in sums:
			        assert abs(float(value) / sums[name] - 1) < 1e-13, (name, value, sums[name])
			        compared += 1
			assert compared == len(sums) > 10, (compared, len(sums))
		PYTHON
	done
}

@test "means are those of all requests, not of intervals" {
	local count source

	for source in "$SIM_T410" "$SIM_SPR"; do
		serve --source "$source" serve --listen unix:socket -I 50ms -M "*"
		scrape wait "$address" 4 >text
		stop TERM
		count=$(scrape value uncore_intervals_total <text)
		"$UNCORE" --source "$source" stat -I 1ms --interval-count "$count" --summary --per-socket -M "*" -j \
			2>/dev/null >rows
		python3 -S - "$count" <<-'PYTHON'
			import json, re, sys
			sums, found = {}, 0
			for line in open("text"):
			    match = re.match(r'(uncore_\w+)_(sum|count)({.*}) (.*)', line)
			    if match:
			        sums.setdefault((match.group(1), match.group(3)), {})[match.group(2)] = float(match.group(4))
			endings = {"s": "_seconds", "ratio": "_ratio", "cycle": "_cycles", "1/cycle": ""}
			rows = [json.loads(line) for line in open("rows")]
			for row in (r for r in rows if r["total"] and r["unit"] in endings and r["value"]):
			    name = "uncore_" + row["name"].replace(".", "_")
			    name = name.removesuffix(endings[row["unit"]]) + endings[row["unit"]]
			    labels = f'{{family="{row["family"]}",socket="{row["socket"]}"'
			    labels += f',role="{row["role"]}"}}' if row["role"] else "}"
			    mean = sums[name, labels]
			    # More than the seconds: requests or cycles.
			    assert mean["count"] > 1000 * int(sys.argv[1]), (name, mean)
			    assert abs(mean["sum"] / mean["count"] / row["value"] - 1) < 1e-4, (name, mean, row["value"])
			    found += 1
			assert found > 10, found
		PYTHON
	done
}

@test "histograms have each short sample in its bucket" {
	local count

	serve --source "$SIM_T410" serve --listen unix:socket -I 100ms --sample 5ms -M 'memory.*,cache.*'
	scrape wait "$address" 5 >text
	stop TERM
	# A reading of a simulation is a second.
	count=$(scrape value uncore_interval_seconds_total <text)
	"$UNCORE" --source "$SIM_T410" stat -I 1ms --interval-count "$count" --per-socket -M 'memory.*,cache.*' -j \
		2>/dev/null >rows
	python3 -S - "$count" <<-'PYTHON'
		import collections, json, re, sys
		buckets, values = collections.defaultdict(list), collections.defaultdict(list)
		for line in open("text"):
		    match = re.match(r'uncore_(\w+)_sample_mean_(\w+)_bucket{(.*),le="(.*)"} (\d+)$', line)
		    if match:
		        name, unit, labels, limit, count = match.groups()
		        buckets[name, unit, labels].append((float(limit), int(count)))
		units = {"B/s": "bytes_per_second", "s": "seconds", "ratio": "ratio", "1/s": "per_second"}
		for row in map(json.loads, open("rows")):
		    if row["unit"] in units and row["value"] is not None:
		        labels = f'family="{row["family"]}",socket="{row["socket"]}"'
		        labels += f',role="{row["role"]}"' if row["role"] else ""
		        name = re.sub(r"\.(bandwidth|ratio|rate)$", "", row["name"]).replace(".", "_")
		        values[name, units[row["unit"]], labels].append(row["value"])
		assert values.keys() <= buckets.keys() and len(values) > 10, values.keys() - buckets.keys()
		for key, found in values.items():
		    assert len(buckets[key]) > 10 and buckets[key][-1] == (float("inf"), len(found)), (key, buckets[key])
		    assert len(found) == int(sys.argv[1]) > 5, (key, len(found))
		    for limit, count in buckets[key]:
		        assert count == sum(value <= limit for value in found), (key, limit, count)
	PYTHON
}

@test "several clients at different intervals see the same sums, and none is lost" {
	serve --source "$SIM_SPR" serve --listen unix:socket -I 10ms
	scrape race "$address" 50
	stop INT
}

# write_counts NUMBER: of a machine whose traffic this test decides.
write_counts() {
	local cpu=root/sys/devices/system/cpu at=root/sys/fs/resctrl/mon_data/mon_L3_00

	mkdir -p $cpu/cpu0/topology $cpu/cpu0/cache/index3 root/sys/devices/system/node/node0 root/proc $at
	echo 0 | tee $cpu/present $cpu/online $cpu/cpu0/topology/physical_package_id $cpu/cpu0/cache/index3/id \
		>root/sys/devices/system/node/node0/cpulist
	[ -e $at/llc_occupancy ] || echo 4096 | tee $at/llc_occupancy >$at/mbm_local_bytes
	# In one piece: it is read meanwhile.
	echo "$1" 1<>$at/mbm_total_bytes
}

# counted: waits for two more intervals, and puts the text into `text`.
counted() {
	local now

	now=$(scrape get "$address" | scrape value uncore_intervals_total)
	scrape wait "$address" $((now + 2)) >text
}

@test "a gap: the counter does not advance, coverage and quality show it; later counts are added" {
	local row name=uncore_group_memory_bytes

	write_counts 00000001000
	serve --root root --resctrl serve --listen unix:socket -I 20ms -M group.memory.bandwidth,group.cache.occupancy
	counted
	row=$(sed -n "s/^${name}_total{\(.*\)} .*/\1/p" text)
	has text "${name}_total{$row}" 0
	write_counts 00000005000
	counted
	has text "${name}_total{$row}" 4000
	has text "uncore_coverage_ratio{series=\"$name\",$row}" 1
	has text "uncore_group_cache_occupancy_bytes{$row}" 4096
	! grep -q unavailable text || fail "$(<text)"

	write_counts Unavailable
	counted
	has text "${name}_total{$row}" 4000
	has text "uncore_coverage_ratio{series=\"$name\",$row}" 0
	grep -q "^uncore_quality_seconds_total{series=\"$name\",$row,quality=\"unavailable\"} [0-9]" text || fail "$(<text)"

	write_counts 00000020000
	counted
	write_counts 00000020500
	counted
	has text "${name}_total{$row}" 4500
	has text "uncore_coverage_ratio{series=\"$name\",$row}" 1
	stop TERM
}

@test "the label of a channel or a controller does not depend on what a data file calls it" {
	mkdir renamed
	for family in intel-imc nxp-imx93-ddr; do
		sed 's/^instance: memory/instance: port of a controller of a/; s/^instance: .* controller$/instance: unit/' \
			"$UNCORE_SOURCE_ROOT/data/$family.yaml" >"renamed/$family.yaml"
	done
	serve --source "$SIM_SPR" --data renamed serve --listen unix:socket -I 20ms --per-channel -M memory.read.bandwidth
	scrape wait "$address" 2 >text
	stop TERM
	grep -q '^uncore_memory_read_bytes_total{.*,channel="0",' text || fail "$(<text)"
	! grep -q controller= text || fail "$(<text)"
	serve --source "sim:imx93,step=1s" --data renamed serve --listen unix:socket -I 20ms \
		--per-channel -M memory.read.bandwidth
	scrape wait "$address" 2 >text
	stop TERM
	grep -q '^uncore_memory_read_bytes_total{.*,controller="0",' text || fail "$(<text)"
	! grep -q channel= text || fail "$(<text)"
}

@test "devices and links of root ports, when series have them" {
	local port

	serve --source "$SIM_T410" serve --listen unix:socket -I 50ms pcie
	scrape wait "$address" 1 >text
	stop TERM
	# A port whose rate has a limit has a known link.
	grep -o '^uncore_pcie_inbound_read_ceiling_bytes_per_second{.*port="[0-9a-f.:]*"' text | sed 's/.*port="//; s/"//' >ports
	[ -s ports ] || fail "$(<text)"
	while read -r port; do
		grep -q "^uncore_pcie_link_bytes_per_second{port=\"$port\"} [1-9]" text || fail "no link of $port"
		grep -q "^uncore_pcie_link_max_bytes_per_second{port=\"$port\"} [1-9]" text || fail "no link of $port"
	done <ports
	port=$(sed -n 's/^uncore_pcie_device_info{port="\([^"]*\)",address="[0-9a-f:.]*",id="10de:.*names="[^"]*"} 1$/\1/p' text | head -n 1)
	grep -qx "$port" ports || fail "no device with a name"
	serve --source "$SIM_T410" serve --listen unix:socket -I 50ms
	scrape wait "$address" 1 >text
	stop TERM
	! grep uncore_pcie_device text || fail 'devices without series of ports'
}

@test "the rate of a link follows the link, which is slow while it is idle" {
	local link=machine/sys/devices/pci0003:00/0003:00:00.0/current_link_speed name intervals

	name='uncore_pcie_link_bytes_per_second{port="0003:00:00.0"}'
	unpack "$MACHINES/nvidia-t410-2socket.txt" machine
	sed "s|^machine:.*|machine: $PWD/machine|" "$UNCORE_SOURCE_ROOT/data/sim/t410.yaml" >sim.yaml
	echo '2.5 GT/s PCIe' >$link
	chmod -R a+rX "$BATS_TEST_TMPDIR"
	serve --source "sim:$PWD/sim.yaml,step=15s" serve --listen unix:socket -I 50ms pcie
	scrape wait "$address" 2 >text
	[ "$(scrape value "$name" <text)" = 4000000000 ] || fail "$(<text)"
	echo '32.0 GT/s PCIe' >$link
	intervals=$(scrape value uncore_intervals_total <text)
	scrape wait "$address" $((intervals + 3)) >text
	[ "$(scrape value "$name" <text)" = 63015384615.3846 ] || fail "$(scrape value "$name" <text)"
	stop TERM
}

@test "a metric that cannot be counted has no sample, but a coverage of 0" {
	cat >sim.yaml <<-END
		sim: refused
		machine: $MACHINES/nvidia-t410-1socket.txt
		rates:
		  - {pmu: nvidia_ucf_pmu, event: mem_bytes_rd, constant: 1, refuse: EBUSY}
		  - {pmu: nvidia_ucf_pmu, event: mem_bytes_wr, constant: 1e6}
	END
	serve --source "sim:$PWD/sim.yaml,step=1s" serve --listen unix:socket -I 50ms \
		-M memory.read.bandwidth,memory.write.bandwidth
	scrape wait "$address" 2 >text
	stop TERM
	! grep '^uncore_memory_read_bytes_total' text || fail "$(<text)"
	grep '^uncore_memory_write_bytes_total' text || fail "$(<text)"
	grep '^uncore_coverage_ratio{series="uncore_memory_read_bytes",.*} 0$' text || fail "$(<text)"
}

@test "a mean over no events was counted: no value, but its coverage" {
	cat >sim.yaml <<-END
		sim: idle
		machine: $MACHINES/nvidia-t410-1socket.txt
		rates:
		  - {pmu: nvidia_pcie_pmu_0_rc_0, event: cycles, constant: 1e9}
		  - {pmu: nvidia_pcie_pmu_0_rc_0, event: rd_req, constant: 0}
		  - {pmu: nvidia_pcie_pmu_0_rc_0, event: rd_cum_outs, constant: 0}
	END
	serve --source "sim:$PWD/sim.yaml,step=1s" serve --listen unix:socket -I 50ms -M pcie.inbound.read.latency --no-merge
	scrape wait "$address" 2 >text
	stop TERM
	grep '^uncore_coverage_ratio{.*pmu="nvidia_pcie_pmu_0_rc_0"} 1$' text || fail "$(<text)"
	! grep '^uncore_pcie_inbound_read_latency_seconds_' text || fail "$(<text)"
	# The simulation has no rate for the others.
	grep '^uncore_coverage_ratio{.*pmu="nvidia_pcie_pmu_0_rc_1"} 0$' text || fail "$(<text)"
}

@test "reasons that are known before counting: a port that no PMU counts, documents that differ" {
	serve --source sim:hip09,step=1s serve --listen unix:socket -I 50ms pcie
	scrape wait "$address" 1 >text
	stop TERM
	grep -q '^uncore_known_problem_info{series="uncore_pcie_inbound_read_bytes",.*port="0000:90:00.0",reason=".*no PMU names this root port"} 1$' text ||
		fail "$(<text)"
	[ "$(grep -c '^uncore_known_problem_info' text)" -eq 2 ] || fail "$(<text)"
	serve --source sim:zen4,step=1s serve --listen unix:socket -I 50ms -M memory.read.latency,memory.read.latency.cycles
	scrape wait "$address" 1 >text
	stop TERM
	[ "$(grep -c '^uncore_known_problem_info{series="uncore_memory_read_latency_.*Zen 5' text)" -eq 2 ] || fail "$(<text)"
}

@test "the real msr PMU" {
	needs_msr
	serve serve --listen unix:socket -I 20ms -e msr/tsc/ -M clock.tsc.frequency
	scrape wait "$address" 3 >before
	scrape wait "$address" 20 >after
	scrape check "$address"
	python3 -S - <<-'PYTHON'
		import re
		def values(file):
		    text = open(file).read()
		    return [float(re.search(rf"^{name}(?:{{.*}})? (.*)$", text, re.M).group(1)) for name in
		            ("uncore_events_total", "uncore_clock_tsc_cycles_total", "uncore_interval_seconds_total")]
		before, after = values("before"), values("after")
		events, cycles, seconds = (b - a for a, b in zip(before, after))
		assert 1e8 < cycles / seconds < 1e11, (cycles, seconds)
		assert 0.5 < events / cycles < 10000, (events, cycles)
	PYTHON
	stop TERM
}

@test "root becomes another user that keeps CAP_PERFMON alone" {
	local status

	[ "$(id -u)" -eq 0 ] || skip 'only for root'
	serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 -I 50ms
	scrape wait "$address" 2 >/dev/null
	status=$(</proc/"$server"/status)
	[[ $status =~ Uid:[[:space:]]+65534[[:space:]]+65534[[:space:]]+65534 ]] || fail "$status"
	[[ $status =~ CapPrm:[[:space:]]+0000004000000000 && $status =~ CapEff:[[:space:]]+0000004000000000 ]] || fail "$status"
	[[ $status =~ Groups:[[:space:]]*$'\n' && $status =~ NoNewPrivs:[[:space:]]+1 ]] || fail "$status"
	stop TERM
	serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 --user root
	grep -q '^Uid:.0' "/proc/$server/status"
	stop TERM
	expect 2 "$UNCORE" --source "$SIM_SPR" serve --listen 127.0.0.1:0 --user no-such-user
}

answers() {
	local wanted=$1 answer

	# shellcheck disable=SC2059 # with escapes
	answer=$(printf "$2" | scrape raw "$address")
	[[ $answer =~ $wanted ]] || fail "'$answer' and not '$wanted': ${2:0:200}"
}

@test "only GET and HEAD, known paths and known hosts; nothing malformed ends it" {
	local long host close='Connection: close\r\n\r\n'

	serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 --host metrics.example,other -I 50ms
	answers ' 200 ' "GET /metrics HTTP/1.1\r\nHost: localhost\r\n$close"
	answers ' 200 ' "HEAD /metrics HTTP/1.0\r\n\r\n"
	answers ' 200 ' "GET /metrics?name=value HTTP/1.1\r\nHost: [::1]:9065\r\n$close"
	for host in 127.0.0.1:9065 LOCALHOST "$(uname -n):1" metrics.example other:80; do
		answers ' 200 ' "GET /metrics HTTP/1.1\r\nHost: $host\r\n$close"
	done
	for host in evil.example localhost.evil.example 127.0.0.1.evil.example example; do
		answers ' 421 ' "GET /metrics HTTP/1.1\r\nHost: $host\r\n$close"
	done
	for path in /none /metrics/ /metrics/x /../etc/passwd //metrics '/%%2e%%2e/etc/passwd'; do
		answers ' 404 ' "GET $path HTTP/1.1\r\nHost: localhost\r\n$close"
	done
	for method in POST PUT DELETE OPTIONS TRACE get X; do
		answers ' 405 ' "$method /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n$close"
	done
	long=$(printf 'x%.0s' {1..40000})
	answers ' 4[0-9][0-9] |closed' "GET /$long HTTP/1.1\r\nHost: localhost\r\n$close"
	answers ' 4[0-9][0-9] |closed' "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: $long\r\n$close"
	answers ' 4[0-9][0-9] |closed' 'GET\r\n\r\n'
	answers ' 4[0-9][0-9] |5[0-9][0-9] |closed' 'GET /metrics HTTP/9.9\r\n\r\n'
	answers ' 4[0-9][0-9] |closed' '\001\377\000\r\n\r\n'
	answers ' 4[0-9][0-9] |closed' 'POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n'
	head -c 100000 /dev/urandom | scrape raw "$address" >/dev/null
	answers ' 200 ' "GET /metrics HTTP/1.1\r\nHost: localhost\r\n$close"
	stop TERM
}

# bats test_tags=slow
@test "a client that sends its headers slowly is disconnected, while others are served" {
	serve --source "$SIM_SPR" serve --listen unix:socket -I 50ms
	python3 -S - <<-'PYTHON'
		import socket, time
		slow = [socket.socket(socket.AF_UNIX) for _ in range(20)]
		for s in slow:
		    s.connect("socket")
		while slow:
		    for s in list(slow):
		        try:
		            s.sendall(b"G")
		        except OSError:
		            slow.remove(s)
		    good = socket.socket(socket.AF_UNIX)
		    good.connect("socket")
		    good.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
		    assert good.recv(12) == b"HTTP/1.1 200", "not served"
		    time.sleep(0.2)
	PYTHON
	counted
	has text uncore_cut_connections_total 20
	stop TERM
}

# bats test_tags=slow
@test "clients that do not read keep few old texts in memory" {
	# The sanitizer keeps what is freed.
	# shellcheck disable=SC2034 # of serve()
	program=${UNCORE_PLAIN:-$UNCORE}
	serve --source "$SIM_SPR" serve --listen unix:socket -I 10ms -A -M '*'
	scrape wait "$address" 3 >text
	python3 -S - "$server" "$(wc -c <text)" <<-'PYTHON'
		import re, socket, sys, time
		def resident():
		    return int(re.search(r"VmRSS:\s*(\d+)", open(f"/proc/{sys.argv[1]}/status").read()).group(1)) * 1024
		# The page keeps windows meanwhile, also without clients.
		begin = resident()
		time.sleep(5)
		before, clients = resident(), []
		for _ in range(100):
		    clients.append(socket.socket(socket.AF_UNIX))
		    clients[-1].connect("socket")
		    clients[-1].sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
		    time.sleep(0.05)
		grown, text = resident() - before - (before - begin), int(sys.argv[2])
		assert text > 200000 and grown < 20 * text, (grown, before - begin, text)
	PYTHON
	stop TERM
}

@test "clients that disconnect within a request do not count against the limit of their address" {
	serve --source "$SIM_SPR" serve --listen 127.0.0.1:0 -I 50ms
	python3 -S - "$(cut -d : -f 3 <<<"${address%/metrics}")" <<-'PYTHON'
		import socket, sys
		def connect(request):
		    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		    s.sendall(request)
		    return s
		for _ in range(200):
		    connect(b"GET /metrics HTTP/1.1\r\nHost:").close()
		assert connect(b"GET /metrics HTTP/1.0\r\n\r\n").recv(12) == b"HTTP/1.1 200", "not served"
	PYTHON
	stop TERM
}

# bats test_tags=slow
@test "more clients than the limit: when they are gone, others are served" {
	serve --source "$SIM_SPR" serve --listen unix:socket -I 50ms
	python3 -S - <<-'PYTHON'
		import errno, resource, socket, time
		hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
		resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2500), hard))
		def connect():
		    s = socket.socket(socket.AF_UNIX)
		    s.setblocking(False)
		    while s.connect_ex("socket") == errno.EAGAIN:
		        time.sleep(0.05)
		    s.settimeout(60)
		    return s
		many = [connect() for _ in range(min(2200, hard - 100))]
		for s in many:
		    s.close()
		time.sleep(3)
		good = connect()
		good.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
		assert good.recv(12) == b"HTTP/1.1 200", "not served"
	PYTHON
	stop TERM
}

@test "options in a file, one in a line; options of the command line replace them" {
	cat >conf <<-END
		# a node
		--listen  unix:first

		-M memory.read.bandwidth
		   --per-channel
		--source sim:t410
		--memory-peak 1GB/s
	END
	serve --memory-peak 2GB/s --source "$SIM_SPR" serve --config conf --listen unix:second -I 50ms
	[ "$address" = unix:second ] || fail "$address"
	scrape wait "$address" 1 >metrics
	grep -q '^uncore_memory_read_bytes_total{family="intel.*channel="7"' metrics || fail "$(cat metrics)"
	stop TERM
	# Also in a directory where the user that root has become can remove nothing.
	[ ! -e second ] || fail 'the socket is still there'
	serve --source "$SIM_SPR" serve --config conf --listen unix:second
	kill -KILL "$server"
	# What a killed process leaves does not prevent the next start.
	until ! kill -0 "$server" 2>/dev/null; do sleep 0.05; done
	serve --source "$SIM_SPR" serve --config conf --listen unix:second
	stop TERM
	[ ! -e second ] || fail 'the socket is still there'
	echo --lisen >conf
	expect 2 "$UNCORE" --source "$SIM_SPR" serve --config conf
	[[ $stderr == *"conf:1: there is no option"* ]] || fail "$stderr"
	expect 1 "$UNCORE" --source "$SIM_SPR" serve --config none
	expect 2 "$UNCORE" --source "$SIM_SPR" serve -- true
}

@test "addresses: in use, of other machines, or none" {
	serve --source "$SIM_SPR" serve --listen 127.0.0.1:0
	expect 1 "$UNCORE" --source "$SIM_SPR" serve --listen "$(cut -d / -f 3 <<<"$address")"
	[[ $stderr == *'Address already in use; another program has this port'* ]] || fail "$stderr"
	stop HUP
	expect 2 "$UNCORE" --source "$SIM_SPR" serve --listen 0.0.0.0:0
	[[ $stderr == *'--insecure'* ]] || fail "$stderr"
	expect 2 "$UNCORE" --source "$SIM_SPR" serve --listen :0
	for text in '' 9065 localhost localhost: localhost:x 127.0.0.1:70000 unix:; do
		expect 2 "$UNCORE" --source "$SIM_SPR" serve --listen "$text"
	done
	serve --source "$SIM_SPR" serve --listen :0 --insecure
	stop TERM
}

@test "systemd: its socket is served, it learns when the service is ready, and of each interval" {
	cat >systemd.py <<-'PY'
		import os, socket, sys, urllib.request
		notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		name = "uncore-test-%d" % os.getpid()
		notify.bind("\0" + name)
		notify.settimeout(60)
		listener = socket.create_server(("127.0.0.1", 0))
		pid = os.fork()
		if pid == 0:
		    os.dup2(listener.fileno(), 3, inheritable=True)
		    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", NOTIFY_SOCKET="@" + name,
		                      WATCHDOG_USEC="1000000")
		    os.execv(sys.argv[1], sys.argv[1:])
		try:
		    print(notify.recv(100).decode().split("\n"))
		    print({notify.recv(100).decode() for _ in range(3)})
		    url = "http://127.0.0.1:%d/metrics" % listener.getsockname()[1]
		    print(urllib.request.urlopen(url, timeout=60).status)
		finally:
		    os.kill(pid, 15)
		    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	PY
	run python3 -S systemd.py "$UNCORE" --source sim:skx serve mem -I 500ms
	[ "$status" -eq 0 ] || fail "$output"
	# Three intervals are more than the second of the unit.
	[[ $output == *"['READY=1', 'WATCHDOG_USEC=1500000']"*"{'WATCHDOG=1'}"*200*0 ]] || fail "$output"
}

@test "systemd: a socket that no client can connect to is refused with a sentence" {
	cat >handed.py <<-'PY'
		import os, socket, sys
		handed = {"udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM), "pair": lambda: socket.socketpair()[0],
		          "bound": lambda: socket.socket(), "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
		          "file": lambda: open("/dev/null"), "two": lambda: socket.create_server(("127.0.0.1", 0))}[sys.argv[1]]()
		os.dup2(handed.fileno(), 3, inheritable=True)
		os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2" if sys.argv[1] == "two" else "1")
		os.execv(sys.argv[2], sys.argv[2:])
	PY
	while read -r kind line; do
		expect 2 timeout 60 "${PYTHON:-python3}" -S handed.py "$kind" "$UNCORE" --source "$SIM_SPR" serve
		[[ $stderr == "uncore: the socket of systemd (LISTEN_FDS="?"): $line"* ]] || fail "$kind: $stderr"
	done <<-'END'
		udp it has no connections
		pair it does not listen
		bound it does not listen
		netlink it is neither of TCP nor
		file it is no socket
		two there must be one ListenStream=
	END
}

@test "a request with a body, of which the length may be said twice, is refused and the connection ends" {
	local request

	serve --source "$SIM_SPR" serve --listen unix:socket
	for request in 'Content-Length: 5\r\n\r\nabcde' 'Content-Length: 0\r\nContent-Length: 0\r\n\r\n' \
		'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' \
		'Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n' 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'; do
		[[ $(printf %b "GET /metrics HTTP/1.1\r\nHost: localhost\r\n$request" | scrape raw "$address") == *' 400 '* ]] ||
			fail "$request"
		printf %b "GET /x HTTP/1.1\r\nHost: localhost\r\n${request}GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" >pipelined
		python3 -S - "${address#unix:}" <<-'PY' || fail "$request"
			import socket, sys
			s = socket.socket(socket.AF_UNIX)
			s.connect(sys.argv[1])
			s.settimeout(30)
			s.sendall(open("pipelined", "rb").read())
			answer = b""
			try:
			    while piece := s.recv(65536):
			        answer += piece
			except ConnectionError:
			    pass
			assert answer.count(b"HTTP/1.1 ") == 1, answer
		PY
	done
	[[ $(printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' |
		scrape raw "$address") == *' 200 '* ]]
	stop TERM
}

# change CHOICE ON [HEADER...]: the status and the answer.
change() {
	local body="{\"choice\":\"$1\",\"on\":$2}" headers='Content-Type: application/json\r\n' header

	shift 2
	[ $# = 0 ] || headers=
	for header; do headers+="$header\r\n"; done
	printf %b "POST /api/v1/choices HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n$headers" >request
	printf 'Content-Length: %d\r\n\r\n%s' "${#body}" "$body" >>request
	scrape whole "$address" <request
}

# Waits until the choice is counted, or no longer: `on` or `refused` has this value.
settled() {
	for _ in {1..100}; do
		scrape body "$address" /api/v1/choices >choices
		jq -e --arg name "$1" ".choices[] | select(.choice == \$name) | $2" choices >/dev/null && return
		sleep 0.05
	done
	fail "$(<choices)"
}

@test "--choices: what a client switches on is in the page's rows, and no series of /metrics is added, goes back or counts twice" {
	local key='.rows[] | [.name, .socket, .channel, .pmu] | @csv' before after

	"$MACHINES/make-devices" "$BATS_TEST_TMPDIR"
	serve --source "sim:$BATS_TEST_TMPDIR/spr-devices.yaml,step=100ms" serve --listen unix:socket -I 100ms --choices 'mem,cache.*,power'
	scrape wait "$address" 3 >first
	scrape body "$address" /api/v1/choices >choices
	jq -e '[.choices[].on] == [false, false, false]' choices
	"${PYTHON:-python3}" "$UNCORE_SOURCE_ROOT/tests/cli/check-schema.py" choices
	scrape body "$address" /api/v1/values >values
	before=$(jq -r .run values)
	jq -r "$key" values >rows
	[[ $(<rows) != *cache* ]] || fail "$(<rows)"
	# Nothing is listed for a request before it is counted.
	[[ $(change 'cache.*' true) == *' 202 '*'"choice":"cache.*","title":null,"on":false,"wanted":true'* ]]
	settled 'cache.*' .on
	[[ $(change mem true) == *' 202 '* ]]
	settled mem .on
	sleep 0.3
	scrape body "$address" /api/v1/values >values
	jq -r "$key" values >rows-now
	grep -q cache rows-now || fail "$(<rows-now)"
	# Rows of before have not gone; the run is another one, which names the one before it.
	[ -z "$(comm -23 <(sort -u rows) <(sort -u rows-now))" ] || fail "$(comm -23 <(sort -u rows) <(sort -u rows-now))"
	after=$(jq -r .run values)
	[ "$before" != "$after" ]
	jq -e '.continues | type == "string"' values
	scrape get "$address" >second
	cmp <(sed '/^#/d; s/ [^ ]*$//' first | grep -v '^uncore_.*{.*quality=' | grep -E '_(bytes|seconds)_(total|sum)' | sort) \
		<(sed '/^#/d; s/ [^ ]*$//' second | grep -v '^uncore_.*{.*quality=' | grep -E '_(bytes|seconds)_(total|sum)' | sort)
	# The memory of this GPU moves 1.2 TB/s in all intervals, and once.
	python3 - first second <<-'PY'
		import re, sys
		texts = [open(name).read() for name in sys.argv[1:]]
		value = lambda text, name: float(re.search(rf"^{name}(?:{{[^}}]*pmu=\"nvidia_gpu_0\"[^}}]*}})? (\S+)$", text, re.M)[1])
		old, new = ({name: value(text, name) for name in ("uncore_device_memory_bytes_total", "uncore_interval_seconds_total")} for text in texts)
		for each in old, new:
		    ratio = each["uncore_device_memory_bytes_total"] / each["uncore_interval_seconds_total"]
		    assert abs(ratio / 1.2e12 - 1) < 1e-6, ratio
		assert new["uncore_interval_seconds_total"] > old["uncore_interval_seconds_total"]
	PY
	[[ $(change 'cache.*' false) == *' 202 '* ]]
	settled 'cache.*' '.on | not'
	sleep 0.3
	[[ $(scrape body "$address" /api/v1/values | jq -r "$key") != *cache* ]] || fail 'it is still counted'
	stop TERM
}

@test "--choices: what cannot be counted is refused with the reason, and counting goes on" {
	serve --source "$SIM_SPR" serve --listen unix:socket -I 50ms --choices 'device.c2c.*'
	scrape wait "$address" 2 >first
	[[ $(change 'device.c2c.*' true) == *' 202 '* ]]
	settled 'device.c2c.*' '.refused'
	jq -e '.choices[0] | (.on or .wanted | not)' choices
	scrape wait "$address" 12 >second
	stop TERM
}

@test "--choices: six changes a minute; what is counted already, and what is undone in its interval, is no change" {
	local i

	serve --source "$SIM_SPR" serve --listen unix:socket -I 1h --choices mem,power,cache.*,clock.*,link.*,pcie,memory.*
	for i in {1..8}; do
		[[ $(change mem true) == *' 202 '* ]] || fail "$i"
		[[ $(change mem true) == *' 202 '* ]] || fail "again $i"
		[[ $(change mem false) == *' 202 '* ]] || fail "undone $i"
	done
	# Changes that wait count, too, and make room when they are undone.
	for i in mem power 'cache.*' 'clock.*' 'link.*' pcie; do
		[[ $(change "$i" true) == *' 202 '* ]] || fail "$i"
	done
	[[ $(change "memory.*" true) == *' 429 '*'Retry-After: 60'* ]] || fail 'a seventh'
	[[ $(change mem false) == *' 202 '* ]]
	[[ $(change "memory.*" true) == *' 202 '* ]]
	[[ $(change mem true) == *' 429 '* ]] || fail 'a seventh after an undone one'
	stop TERM
	# Changes that were made stay changes when they are undone.
	serve --source "$SIM_SPR" serve --listen unix:socket -I 50ms --choices mem
	for i in true false true false true false; do
		[[ $(change mem $i) == *' 202 '* ]] || fail "$i"
		settled mem ".on == $i"
	done
	[[ $(change mem true) == *' 429 '* ]] || fail 'a seventh, made'
	stop TERM
}

# bats test_tags=slow
@test "--choices: a client that sends its change slowly is disconnected" {
	serve --source "$SIM_SPR" serve --listen unix:socket --choices mem
	python3 - socket <<-'PY'
		import socket, sys, time
		s, begin = socket.socket(socket.AF_UNIX), time.monotonic()
		s.connect(sys.argv[1])
		s.sendall(b"POST /api/v1/choices HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 250\r\n\r\n")
		try:
		    while time.monotonic() < begin + 20:
		        s.sendall(b" ")
		        s.settimeout(0.2)
		        try:
		            if not s.recv(100):
		                break
		        except TimeoutError:
		            pass
		except ConnectionError:
		    pass
		assert 4 < time.monotonic() - begin < 12, time.monotonic() - begin
	PY
	stop TERM
}

@test "devices that count themselves have series of their own with each preset" {
	local preset

	"$MACHINES/make-devices" .
	for preset in pcie power matrix; do
		serve --source sim:spr-devices.yaml serve --listen unix:socket -I 50ms "$preset"
		scrape wait "$address" 1 >text
		grep '^uncore_device_p.*_total{' text >devices
		[ "$(grep -c 'pmu="nvidia_gpu_[01]"' devices)" -eq "$(wc -l <devices)" ] || fail "$preset: $(<devices)"
		stop TERM
	done
	serve --source sim:spr-devices.yaml serve --listen unix:socket -I 50ms power --per-socket
	scrape wait "$address" 1 >text
	grep -q '^uncore_device_power_joules_total{family="nvidia-gpu",socket="0"}' text || fail 'an option does not add them up'
	stop TERM
}

@test "presets that nothing here counts are left out, unless nothing else is counted" {
	local note='note: presets that nothing here counts are left out:'

	expect 0 "$UNCORE" --source "$SIM_ZEN3" serve --dry-run mem pcie power
	[[ $stderr == *"$note pcie power"* ]] || fail 'no note'
	"$UNCORE" --source "$SIM_ZEN3" serve --dry-run mem | diff - <(echo "$output")
	expect 0 "$UNCORE" --source "$SIM_ZEN3" serve --dry-run pcie -M memory.bandwidth
	[[ $stderr == *"$note pcie"* ]] || fail 'no note'
	expect 3 "$UNCORE" --source "$SIM_ZEN3" serve --dry-run pcie power
	[[ $stderr == *'nothing on this machine can count it'* && $stderr != *"$note"* ]] || fail 'not the reason alone'
	expect 0 "$UNCORE" --source "$SIM_T410" serve --dry-run mem link --gpu 0
	[[ $stderr == *'note: presets that cannot be counted with these filters are left out: mem'* ]] || fail 'not the filter'
}

@test "--choices: a page of another site, a form, a wrong or long body and other methods are refused" {
	local json='Content-Type: application/json' i answer

	serve --source "$SIM_SPR" serve --listen unix:socket --choices mem
	answer=$(change mem true 'Content-Type: text/plain') && [[ $answer == *' 415 '* ]] || fail "$answer"
	answer=$(change mem true 'X: y') && [[ $answer == *' 415 '* ]] || fail "$answer"
	for header in 'Origin: http://evil.example' 'Origin: null' 'Origin: http://localhost:8080' 'Origin: http://localhost.evil.example' \
		'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site' 'Sec-Fetch-Site: none'; do
		answer=$(change mem true "$json" "$header") && [[ $answer == *' 403 '* ]] || fail "$header: $answer"
	done
	answer=$(change pcie true) && [[ $answer == *' 404 '* ]] || fail "$answer"
	answer=$(change mem 1) && [[ $answer == *' 400 '* ]] || fail "$answer"
	answer=$(change "$(printf 'x%.0s' {1..300})" true) && [[ $answer == *' 413 '* ]] || fail "$answer"
	# It is not waited for: only the headers are sent.
	for length in 257 99999999999 18446744073709551616; do
		answer=$(printf 'POST /api/v1/choices HTTP/1.1\r\nHost: localhost\r\n%s\r\nContent-Length: %s\r\n\r\n' "$json" "$length" | scrape raw "$address")
		[[ $answer == *' 413 '* ]] || fail "$length: $answer"
	done
	answer=$(change mem true "$json" 'Content-Length: 5') && [[ $answer == *' 400 '* ]] || fail "$answer"
	answer=$(change mem true "$json" 'Transfer-Encoding: chunked') && [[ $answer == *' 400 '* ]] || fail "$answer"
	for method in PUT DELETE OPTIONS PATCH; do
		answer=$(printf '%s /api/v1/choices HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n' "$method" | scrape whole "$address")
		[[ $answer == *' 405 '* ]] || fail "$method: $answer"
	done
	answer=$(printf 'POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n' | scrape whole "$address")
	[[ $answer == *' 405 '* ]] || fail "$answer"
	jq -e '.choices == [{"choice": "mem", "title": .choices[0].title, "on": false, "wanted": false, "refused": null}]' \
		<(scrape body "$address" /api/v1/choices)
	answer=$(change mem true "$json; charset=utf-8" 'Origin: https://localhost' 'Sec-Fetch-Site: same-origin') && [[ $answer == *' 202 '* ]] || fail "$answer"
	stop TERM
	# Without the option there is nothing to change.
	serve --source "$SIM_SPR" serve --listen unix:socket
	answer=$(change mem true) && [[ $answer == *' 405 '* ]] || fail "$answer"
	[[ $(printf 'GET /api/v1/choices HTTP/1.0\r\n\r\n' | scrape whole "$address") == *' 404 '* ]]
	stop TERM
	expect 2 "$UNCORE" --source "$SIM_SPR" serve --listen unix:socket --choices mem,none
	[[ $stderr == *"--choices: 'none' is neither a preset nor a metric"* ]] || fail "$stderr"
	expect 2 "$UNCORE" --source "$SIM_SPR" serve --choices mem --when 'memory.bandwidth > 80 %' --exec true
	[[ $stderr == *'--choices and --when exclude each other'* ]] || fail "$stderr"
}
