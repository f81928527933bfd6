#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # set by run
# uncore report and uncore diff.

load helpers

SPR=sim:spr,step=20ms

setup() {
	"$UNCORE" --help | grep -q '^ *record ' || skip 'built without SQLite'
	cd "$BATS_TEST_TMPDIR" || return 1
}

# record FILE INTERVALS OPTION...: simulated seconds, which are not waited for.
record() {
	local file=$1 intervals=$2

	shift 2
	"$UNCORE" --source "$SPR" record -o "$file" -I 1ms --interval-count "$intervals" "$@"
}

@test "report prints the same as the view with the recording as source" {
	local view

	record a 10 mem pcie
	for view in 'stat' 'mem' 'mem -I 40ms' 'pcie -j' 'stat --csv -M memory.bandwidth -I 20ms' 'list' 'topo' \
		'explain memory.bandwidth'; do
		# shellcheck disable=SC2086 # words
		cmp <("$UNCORE" --source replay:a $view) <("$UNCORE" report a $view) || fail "$view"
	done
	cmp <("$UNCORE" --source replay:a stat) <("$UNCORE" report a --no-merge) && fail 'other rows'
	cmp <("$UNCORE" --source replay:a stat --no-merge) <("$UNCORE" report a --no-merge)
	cmp <("$UNCORE" --source replay:a stat -j -I 40ms) <("$UNCORE" report a -j -I 40ms)
	cmp <("$UNCORE" --source replay:a,begin=+40ms,end=+80ms mem -j) \
		<("$UNCORE" report --begin +40ms a --end=+80ms mem -j)
}

@test "report without a view: the statistics of each metric and place, and when the maximum was" {
	record a 40
	expect 0 "$UNCORE" report a
	shows '^SIMULATED' 'Recorded  1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.800Z, 800.0 ms in 40 intervals of 20.00 ms, 0 missed' \
		'Memory +MEAN +P50 +P99 +MAX +MAX AT' 'Devices +MEAN' 'Links +MEAN' 'pcie.outbound.read.bandwidth' \
		'channel 7 +TOTAL' 'suspect, 40 of 40 intervals'
	cmp <("$UNCORE" report a) <("$UNCORE" report a summary)
	# The sum of the ports, then the busiest of them.
	[ "$(awk '/^Devices/ {getline; print $1; getline; getline; print $1}' <<<"$output" | xargs)" = 'sum uncore_iio_0' ] || fail 'the order'
	# The same from the recorded intervals.
	"$UNCORE" report a -j >summary
	helper check-schema summary
	[ "$(jq -s '[.[] | select(.role == "sum" and .name == "pcie.inbound.read.bandwidth")] | length' summary)" -eq 1 ]
	"$UNCORE" report a mem -I 20ms -j >intervals
	"$UNCORE" report a pcie -I 20ms -j >>intervals
	expect 0 helper check-summary summary intervals
	[ "${output%% *}" -ge 30 ] || fail 'too few rows were compared'
	# A wrong value is found.
	sed '0,/"p99": *[0-9]/s//&7/' summary >wrong
	! cmp -s summary wrong || fail 'nothing was changed'
	expect 1 helper check-summary wrong intervals
	# CSV has the same rows.
	"$UNCORE" report a --csv >csv
	[ "$(wc -l <csv)" -eq $(($(wc -l <summary) + 1)) ]
	diff <(python3 -S -c 'import csv
for row in csv.DictReader(open("csv")): print(row["name"], "%.6g" % float(row["mean"] or 0), row["max_date"])') \
		<(python3 -S -c 'import json
for row in map(json.loads, open("summary")): print(row["name"], "%.6g" % float(row["mean"] or 0), row["max_date"] or "")')
	# A part, several files, and the levels of the recording.
	expect 0 "$UNCORE" report --begin +100ms --end +300ms a
	shows '200.0 ms in 10 intervals'
	cp a b
	[ "$("$UNCORE" report a b --csv | grep -c '^source,')" -eq 1 ]
	[ "$("$UNCORE" report a b -j | jq -s 'map(.source) | unique | length')" -eq 2 ]
	refuses 2 "$UNCORE" report a summary --html
	says 'a summary is text, JSON or CSV'
	expect 0 "$UNCORE" --source sim:t410,step=20ms record -o t -I 1ms --interval-count 3
	expect 0 "$UNCORE" report t
	[[ $output != *'not in the recording'* ]] || fail 'a level that was not recorded'
	shows 'Reads on links +MEAN'
	expect 0 "$UNCORE" report --as-recorded a summary
	shows 'Memory +MEAN'
}

@test "a default recording gives the numbers of the live presets" {
	local sim view live

	for sim in spr zen4 t410; do
		"$UNCORE" --source "sim:$sim,step=20ms" record -o "$sim" -I 1ms --interval-count 4
		for view in mem pcie link power; do
			live=$("$UNCORE" --source "sim:$sim,step=20ms" $view -I 1ms --interval-count 4) || {
				# A preset that the simulation does not have is not in the recording either.
				expect 3 "$UNCORE" report "$sim" $view -I 20ms
				continue
			}
			expect 0 "$UNCORE" report "$sim" $view -I 20ms
			[[ $live =~ [0-9]\ +(.B/s|.?/s|W) ]] || fail "$sim $view: no value"
			diff <(sed '/^SIMULATED/d' <<<"$live") <(sed '/^SIMULATED/d' <<<"$output") || fail "$sim $view"
		done
	done
	# The overview has the recorded ports, and no sum that lacks some of them.
	expect 0 "$UNCORE" --source replay:spr
	[[ $output != *'not in the recording'* && $output != *Other* ]] || fail 'a partial sum'
	shows 'uncore_iio_0 +[0-9.]+ GB/s' 'uncore_upi_1 +[0-9.]+ GB/s' 'machine +[0-9.]+ GB/s'
	# Whole PMUs have other counters than their ports: the reason names the option.
	expect 0 "$UNCORE" report spr stat -M pcie.inbound.read.bandwidth
	shows 'partial' 'it is not in the recording, which has each port: --per-port'
	expect 3 "$UNCORE" report t410 stat -M pcie.inbound.read.bandwidth
	says 'nvidia-t410-pcie/pcie.inbound.read.bandwidth \(--per-port\)'
}

@test "records of several recordings are in the order of their time" {
	record a 4 mem
	record b 6 mem
	"$UNCORE" report a b stat -M memory.bandwidth -I 20ms -j >both
	[ "$(jq -s length both)" -eq 10 ]
	[ "$(jq -s 'map(.wall_ns * 1) | . == sort' both)" = true ]
	[ "$(jq -s -c 'map(.source)[:4]' both)" = '["replay:a","replay:b","replay:a","replay:b"]' ]
	"$UNCORE" report a b stat -M memory.bandwidth -I 20ms --csv >both
	[ "$(wc -l <both)" -eq 11 ] && [ "$(grep -c '^time,' both)" -eq 1 ]
	head -n 1 both | grep -q '^time,'
	"$UNCORE" report a b stat -M memory.bandwidth -I 20ms --csv -o file
	cmp both file
	# Tables follow each other.
	expect 0 "$UNCORE" report a b mem
	[[ $output == *replay:a*'Counted for 80.00 ms'*replay:b*'Counted for 120.0 ms'* ]]
}

@test "a recording without an interval, or that cannot be read, does not hide the others" {
	local files form alone

	command -v sqlite3 >/dev/null || skip 'sqlite3 is not installed: tools/setup test'
	record a 4 mem
	# As one that has just begun.
	cp a empty
	sqlite3 empty 'DELETE FROM tick; UPDATE session SET end = NULL'
	for form in -j --csv; do
		expect 0 "$UNCORE" report a stat -M memory.bandwidth -I 20ms $form
		alone=$output
		for files in 'a empty' 'empty a' 'empty a empty'; do
			# shellcheck disable=SC2086 # words
			expect 0 "$UNCORE" report $files stat -M memory.bandwidth -I 20ms $form
			[ "$output" = "$alone" ] || fail "$files $form"
			says 'uncore: empty: the recording has no intervals'
		done
		expect 0 "$UNCORE" report empty a stat -M memory.bandwidth -I 20ms $form -o "file$form"
		[ "$(<"file$form")" = "$alone" ] || fail "$form -o"
		# What cannot be read is an error, but not that of the others.
		expect 1 "$UNCORE" report missing a "$UNCORE_SOURCE_ROOT/README.md" stat -M memory.bandwidth -I 20ms $form
		[ "$output" = "$alone" ] || fail "missing $form"
		says 'uncore: missing: ' 'README.md: not a recording'
	done
	expect 0 "$UNCORE" report empty a mem
	[[ $output == 'SIMULATED'*'Counted for 80.00 ms'* ]] || fail 'a table'
	refuses 1 "$UNCORE" report empty empty mem
	refuses 1 "$UNCORE" report empty mem
	refuses 1 "$UNCORE" report --begin 2090-01-01 a a mem -j
	says 'uncore: a: the recording has no intervals in this time'
	# A later recording, of which a part is requested.
	cp a later
	sqlite3 later 'UPDATE tick SET wall_ns = wall_ns + 3600 * 1000000000'
	expect 0 "$UNCORE" report --begin 1970-01-01T00:30 a later stat -M memory.bandwidth -I 20ms --csv
	[ "${#lines[@]}" -eq 5 ] || fail 'four intervals of one file'
	says 'uncore: a: the recording has no intervals in this time'
	# A region that one of them has.
	sqlite3 later "INSERT INTO mark SELECT min(wall_ns), min(monotonic_ns), 'x' FROM tick;
		INSERT INTO mark SELECT max(wall_ns), max(monotonic_ns), 'end x' FROM tick"
	expect 0 "$UNCORE" report --region x a later stat -M memory.bandwidth -I 20ms --csv
	[ "${#lines[@]}" -eq 5 ] || fail 'four intervals of the region'
	says "uncore: a: it has no region 'x' in this time"
	refuses 2 "$UNCORE" report --region x a a stat -j
	expect 1 "$UNCORE" report --regions missing later
	[[ $output == *later*x* ]] || fail 'the regions'
}

@test "usage of report" {
	record a 3 mem
	# Their columns and rows are those of one machine.
	expect 2 "$UNCORE" report a a --html
	for option in --html=x -j --summary; do
		refuses 2 "$UNCORE" --units raw report $option a
		says "report has no option $option; options of VIEW come after FILE: uncore report FILE $option"
	done
	expect 0 "$UNCORE" report --color=never --begin=+0s a stat
	expect 2 "$UNCORE" report a a --csv=wide
	expect 2 "$UNCORE" report
	expect 2 "$UNCORE" --source sim:spr report a
	expect 2 "$UNCORE" report --begin tomorrow a
	expect 1 "$UNCORE" report missing mem
	[[ $stderr == *'missing: '* ]]
	expect 1 "$UNCORE" report "$UNCORE_SOURCE_ROOT/README.md" mem
	[[ $stderr == *'not a recording'* ]]
}

@test "a signal ends a report at once" {
	local status

	record a 300 mem
	# It waits for the reader of the pipe.
	timeout --preserve-status -s INT 2 "$UNCORE" report a stat -j -I 20ms | (
		sleep 4
		cat >/dev/null
	)
	status=${PIPESTATUS[0]}
	[ "$status" -eq 130 ] || fail "$status"
}

@test "--as-recorded: a formula that was corrected later does not change recorded values" {
	local values='select(.family) | [.time, .name, .channel, .quality, .reason, (.value | if . then (. / 1e7 | round) else . end)]'

	mkdir data
	sed 's/cas_rd \* 64 \/ seconds/cas_rd * 32 \/ seconds/' "$UNCORE_SOURCE_ROOT/data/intel-imc.yaml" >data/intel-imc.yaml
	"$UNCORE" --data data --source "$SPR" record -o a -I 1ms --interval-count 3 mem
	"$UNCORE" --data data report a -I 20ms -j | jq -c "$values" >before
	"$UNCORE" report a -I 20ms -j | jq -c "$values" >today
	cmp -s before today && fail 'both formulas give the same'
	# Recorded values have six digits.
	"$UNCORE" report --as-recorded a -j | jq -c "$values" | diff before - || fail 'other values than then'
	"$UNCORE" report --as-recorded a --csv | diff - <("$UNCORE" --source replay:a,as-recorded stat --csv -I 20ms)

	# Metrics and places that were not recorded are told; counts of events are those of the readings.
	run "$UNCORE" report --as-recorded a -M memory.utilization --per-socket
	[[ $output == *'it was not shown when this was recorded'* ]] || fail "$output"
	for options in '-I 40ms' '--summary -I 20ms' '--sample 20ms' '--html'; do
		# shellcheck disable=SC2086 # words
		run "$UNCORE" report --as-recorded a stat $options
		[ "$status" -eq 2 ] && [[ $output == *'each recorded interval: use -I 20.00ms, without a total'* ]] || fail "$options: $output"
	done
}

@test "recordings of earlier versions can be opened" {
	local file

	for file in "$UNCORE_SOURCE_ROOT"/tests/recordings/*.uncore; do
		[ -e "$file" ] || skip 'there are none'
		cp "$file" kept
		expect 0 "$UNCORE" report kept stat -j
		[ "$(jq -s 'map(select(.quality == "measured")) | length > 0' <<<"$output")" = true ] || fail "$file"
	done
}

# simulate NAME READS: a simulation with a load of its own, whose waves are shorter than the recording.
simulate() {
	cat >"$1.yaml" <<-END
		sim: $1
		title: A load
		machine: t410
		seed: $3
		rates:
		  - {pmu: nvidia_ucf_pmu_0, event: mem_bytes_rd, sine: {mean: $2, amplitude: 20e9, period: 137ms}}
		  - {pmu: nvidia_ucf_pmu_0, event: mem_bytes_wr, sine: {mean: 30e9, amplitude: 10e9, period: 71ms}}
	END
	"$UNCORE" --source "sim:$1.yaml,step=20ms" record -o "$1" -I 1ms --interval-count 400 \
		-e nvidia_ucf_pmu_0/mem_bytes_rd/,nvidia_ucf_pmu_0/mem_bytes_wr/
}

# verdict A B EVENT
verdict() {
	"$UNCORE" diff "$1" "$2" -j | jq -r ".changes[] | select(.name | contains(\"$3\")) | .verdict"
}

@test "diff finds a change of 3 %, and none in the same load" {
	simulate a 80e9 1
	simulate b 80e9 2
	simulate c 82.4e9 3
	[ "$(verdict a b mem_bytes_rd)" = 'no change' ] || fail "$("$UNCORE" diff a b)"
	[ "$(verdict a c mem_bytes_rd)" = changed ] || fail "$("$UNCORE" diff a c)"
	[ "$(verdict a c mem_bytes_wr)" = 'no change' ] || fail "$("$UNCORE" diff a c)"
	[ "$("$UNCORE" diff a c -j | jq '.changes[0] | (.change - 0.03 | fabs) <= .error')" = true ]
	expect 0 "$UNCORE" diff a c -j
	expect 0 helper check-schema <<<"$output"
	expect 0 "$UNCORE" diff a c
	[[ $output == *'A is a, B is c'*mem_bytes_rd*'changed'* ]]
	expect 2 "$UNCORE" diff a
	expect 1 "$UNCORE" diff a missing
	expect 3 "$UNCORE" diff a b -e nvidia_ucf_pmu_0/event=0x99/
}

# halves NAME SEED [MORE]: two sockets; MORE is of what the second one counts.
halves() {
	cat >"$1.yaml" <<-END
		sim: $1
		title: Two sockets
		machine: t410-2socket
		seed: $2
		rates:
		  - {pmu: nvidia_ucf_pmu_0, event: mem_bytes_rd, sine: {mean: 80e9, amplitude: 20e9, period: 137ms}}
		  - {pmu: nvidia_ucf_pmu_1, event: mem_bytes_rd, ${3-}sine: {mean: 80e9, amplitude: 20e9, period: 71ms}}
	END
	"$UNCORE" --source "sim:$1.yaml,step=20ms" record -o "$1" -I 1ms --interval-count 400 -e nvidia_ucf_pmu/mem_bytes_rd/
}

@test "diff: a sum that lacks a part in one recording is no change" {
	halves a 1
	halves b 2 'running: 0, '
	halves c 3 'running: 0, '
	expect 0 "$UNCORE" diff a b
	shows '-50\.[0-9]+ % .* cannot tell' $'\ncannot tell: the values of B are partial or suspect in 400 of 400 intervals: 1 of 2 missing: nvidia_ucf_pmu_1'
	expect 0 "$UNCORE" diff a b -j
	expect 0 helper check-schema <<<"$output"
	expect 0 "$UNCORE" diff b a -j
	[ "$(jq -r '.changes[] | "\(.a.doubtful) \(.b.doubtful) \(.verdict)"' <<<"$output")" = '400 0 cannot tell' ]
	# The same part of both is compared.
	[ "$(verdict b c mem_bytes_rd)" = 'no change' ]
}

# bios DIR VERSION SPEED: the simulated Sapphire Rapids with a BIOS of this version, and a card whose link has this speed.
bios() {
	local link

	unpack "$MACHINES/intel-spr-1socket.txt" "$1/machine"
	mkdir -p "$1/machine/sys/class/dmi/id" "$1/machine/proc/sys/kernel"
	echo "$2" >"$1/machine/sys/class/dmi/id/bios_version"
	echo S3CRET >"$1/machine/sys/class/dmi/id/product_serial"
	echo 6.12.1-amd64 >"$1/machine/proc/sys/kernel/osrelease"
	link=$(find "$1/machine/sys/devices" -path '*27:00.0/current_link_speed')
	echo "$3" >"$link"
	sed "s|^machine:.*|machine: $PWD/$1/machine|" "$UNCORE_SOURCE_ROOT/data/sim/spr.yaml" >"$1.yaml"
	"$UNCORE" --source "sim:$1.yaml,step=20ms" record -o "$1.uncore" -I 1ms --interval-count 30
}

@test "diff begins with what differs between the machines" {
	bios a 2.1.8 '32.0 GT/s PCIe'
	bios b 2.3.0 '16.0 GT/s PCIe'
	expect 0 "$UNCORE" diff a.uncore b.uncore
	shows 'BIOS +2.1.8 +2.3.0' 'PCIe 0000:27:00.0 +10de:2331 card0, 32 GT/s x16 +10de:2331 card0, 16 GT/s x16' \
		$'\nSame:.*CPU.*kernel.*NUMA nodes'
	[[ $output != *$'\n'kernel* ]] || fail 'what is the same is in the table'
	[[ $output == *MACHINE*NAME* ]] || fail 'the order'
	# Whole PMUs were not recorded: no partial sum is compared.
	shows 'pcie.inbound.read.bandwidth +port 0000:26:01.0'
	! grep -q 'pcie.inbound.read.bandwidth *all ' <<<"$output" || fail 'a partial sum'
	"$UNCORE" diff a.uncore b.uncore -j >changes
	helper check-schema changes
	[ "$(jq -c '[.machines[] | select(.differs) | .name]' changes)" = '["BIOS","PCIe 0000:27:00.0"]' ]
	expect 0 "$UNCORE" diff a.uncore a.uncore
	[[ $output != *MACHINE* ]] || fail 'a machine differs from itself'
	# The snapshot has the version, and no serial number.
	expect 0 "$UNCORE" --root a/machine snapshot -
	shows bios_version 2.1.8
	[[ $output != *S3CRET* ]] || fail 'a serial number'
}

@test "diff of two families: metrics of the same name are compared, others have a reason" {
	local sim

	for sim in spr zen4; do
		"$UNCORE" --source "sim:$sim,step=20ms" record -o "$sim" -I 1ms --interval-count 30 mem link
	done
	expect 0 "$UNCORE" diff spr zen4
	shows 'CPU +Intel Xeon, Sapphire Rapids +AMD EPYC-Genoa, Zen 4' 'memory.bandwidth +all +[0-9.]+ GB/s +[0-9.]+ GB/s' \
		'ONLY IN A' 'link.in.bandwidth' 'ONLY IN B' 'link.0.out.bandwidth'
	[[ $output != *'fewer than 20 intervals'* ]] || fail 'an untrue reason'
	"$UNCORE" diff spr zen4 -j >changes
	helper check-schema changes
	[ "$(jq -c '.changes[] | select(.name == "memory.bandwidth") | [.family, .family_b]' changes)" = '["intel-imc","amd-umc"]' ]
	[ "$(jq '[.changes[] | select((.a.intervals > 0) != (.b.intervals > 0)) | .reason] | length > 3 and all(length > 10)' changes)" = true ]
	# What the other machine has, but did not record.
	"$UNCORE" --source sim:spr,step=20ms record -o one -I 1ms --interval-count 30 -M memory.bandwidth
	expect 0 "$UNCORE" diff spr one
	shows 'memory.read.bandwidth +all.*' 'the other machine has this metric, but it was not recorded there'
}

@test "a region of several parts: the intervals that its recorder missed are counted in all of them" {
	record a 30 -M memory.bandwidth
	# x lasts from tick 3 to 10 and from 15 to 22. Two intervals before ticks 5 and 6 were missed, and two before 18.
	sqlite3 a "UPDATE tick SET interval_ns = 3 * interval_ns WHERE id IN (5, 6, 18);
		INSERT INTO mark SELECT wall_ns, monotonic_ns, CASE WHEN id IN (3, 15) THEN 'x' ELSE 'end x' END
		FROM tick WHERE id IN (3, 10, 15, 22) ORDER BY id"
	"$UNCORE" report --region x a stat -j >rows 2>said
	jq -se 'length > 0 and all(.missed == 6)' rows || fail "$(jq -c '[.name, .interval, .missed]' rows)"
	grep -q '^uncore: 6 intervals were missed when this was recorded' said || fail "$(<said)"
}

# shows_missed: a row has intervals that were missed, and is longer by them.
shows_missed() {
	"$UNCORE" report a stat -M memory.bandwidth -I 50ms -j >rows 2>said &&
		jq -se 'any(.missed >= 15)' rows
}

@test "a recorder that was stopped for a second: report says how many intervals it missed" {
	local recorder tries

	"$UNCORE" --source sim:spr record -o a -I 50ms -M memory.bandwidth 3>&- &
	recorder=$!
	until [ -s a ] && [ "$("$UNCORE" report a -j -I 50ms 2>/dev/null | wc -l)" -ge 3 ]; do
		kill -0 "$recorder" || fail 'it has ended'
		sleep 0.05
	done
	kill -STOP "$recorder"
	sleep 1
	kill -CONT "$recorder"
	for ((tries = 0; tries < 200; tries++)); do
		! shows_missed || break
		sleep 0.1
	done
	kill -INT "$recorder" && wait "$recorder"
	shows_missed || fail "$(jq -c '[.interval, .missed]' rows)"
	# Another interval is missed from the last quarter of its time on.
	jq -se 'all(.missed == 0 or (.interval / 0.05 - .missed | . > 0.7 and . < 1.8))' rows ||
		fail "$(jq -c '[.interval, .missed]' rows)"
	grep -qF "$(jq -s 'map(.missed) | add' rows) intervals were missed when this was recorded" said || fail "$(<said)"
}

# A mean of latencies is one of requests, and of bandwidths one of time, as in the summary: not of intervals.
@test "diff: means are those of the summary, a reason is printed once, and unknown facts are not the same" {
	local wanted

	record_sim() {
		expect 0 "$UNCORE" --source "$SIM_SPR" record "$1" mem -I 1s -n 3
	}

	record_sim a.db
	record_sim b.db
	expect 0 "$UNCORE" report a.db -j
	wanted=$(jq -r 'select(.name and .channel == null and .socket == null) | "\(.name) \(.mean | log * 1e6 | round)"' <<<"$output" | sort -u)
	[[ $wanted == *memory.read.latency* ]] || fail 'no latency'
	expect 0 "$UNCORE" diff a.db b.db -j
	[ "$(jq -r '.changes[] | "\(.name) \(.a.mean | log * 1e6 | round)"' <<<"$output" | sort -u)" = "$wanted" ] || fail "$wanted"
	expect 0 "$UNCORE" diff a.db b.db
	[ "$(grep -c 'fewer than 20 intervals have a value' <<<"$output")" -eq 1 ] || fail 'once'
	shows $'\ncannot tell: fewer than 20' $'\nSame: CPU, [^\n]*NUMA nodes' $'\nUnknown of both: kernel, BIOS, '
	[[ $output != *'(unknown)'* ]]
}
