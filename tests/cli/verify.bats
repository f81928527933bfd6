#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore verify`: verdicts on readings of reports, with and without planted faults. What moves the data is tested by
# tests/unit/test-verify.c, and counting in virtual machines.
# shellcheck disable=SC2030,SC2031 # $output is that of run

load helpers

# report FAULT [NOISE]: in $PWD/FAULT.uncore a snapshot with the readings of two sockets with six channels, of which each
# counts `others` beside what is moved.
report() {
	python3 -S - "$SPR" "$1" "${2-0}" >"$1.uncore" <<-'PYTHON'
		import random, sys
		machine, fault, noise = sys.argv[1], sys.argv[2], float(sys.argv[3])
		random.seed(16)
		directions, sockets, channels, largest = ("read", "write"), 2, 6, 1 << 30
		counted = 1 if fault in ("alone", "alone-both") else sockets
		cells = [(s, d, c) for d in directions for s in range(counted) for c in range(-1, channels)]

		def share(node, moved, s, d, c):
		    """What a channel counts of a byte that is moved."""
		    here, same = s == node or fault == "alone-both", d == moved
		    if fault == "sockets": here = not here
		    if fault == "directions": same = not same
		    if fault == "allocate" and d == "read" and moved == "write": same = True
		    if fault == "astray" and node == 0 and same:
		        return (0.95 if here else 0.05) / channels
		    if not here or not same: return 0
		    factor = {"half": 0.5, "double": 2, "units": 1.024 ** 3, "times-64": 64, "over-64": 1 / 64, "loss": 0.97}
		    if (fault, c) == ("twice", 2): return 2 / channels
		    if (fault, c, s) == ("dead", 4, 1): return 0
		    return factor.get(fault, 1) / channels

		print(open(machine).read(), end="")
		print("uncore/verify:\n\tversion 1\n\tuncore 0.1.0\n\tdate 2026-12-01\n\tcache 33554432")
		for s, d, c in cells:
		    print(f"\tcell memory.{d}.bandwidth intel-imc socket {s} channel {c}")
		for node in range(sockets):
		    for moved in directions:
		        elsewhere = 7 if fault == "pages" else 0
		        print(f"\tseries {moved} node {node} socket {node} cpu {node} of {node} memory 134217728 elsewhere {elsewhere}")
		        for amount in (0, 4, 1, 2, 2, 0, 4, 1, 4, 2, 0, 1):
		            bytes, seconds = amount * largest // 4, 0.5 + random.random() / 1000
		            values = {}
		            for s, d, c in cells:
		                if c >= 0:
		                    others = noise * 1e8 * seconds * random.gauss(1, 0.02)
		                    values[s, d, c] = share(node, moved, s, d, c) * bytes + others
		                    values[s, d, -1] = values.get((s, d, -1), 0) + values[s, d, c]
		            lost = fault == "multiplexed" and amount != 4
		            print(f"\tround {bytes}", *("-" if lost else f"{values[cell]:.0f}@{seconds:.9f}" for cell in cells))
	PYTHON
}

# found FAULT STATUS SENTENCE: the fault is named, and no other.
found() {
	expect "$2" "$UNCORE" verify --show "$1.uncore"
	shows "$3" || return 1
	expect "$2" "$UNCORE" verify --show "$1.uncore" -j
	[ "$(jq -r 'select(.channel == null and .fault) | .fault' <<<"$output" | sort -u | wc -l)" -le 1 ] ||
		fail 'several faults'
}

# As short as verify allows for reads of each node: for tests of what becomes of a report.
nodes=(/sys/devices/system/node/node[0-9]*)
brief=$((600 * ${#nodes[@]}))ms

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	# Reports are kept here, by root and by other users.
	export STATE_DIRECTORY=$PWD/system XDG_STATE_HOME=$PWD/state
	system=$STATE_DIRECTORY own=$XDG_STATE_HOME/uncore/$(uname -n)
	[ "$(id -u)" = 0 ] && kept=$system || kept=$own
}

@test "a clean report is proved, also with other traffic" {
	report clean
	expect 0 "$UNCORE" verify --show clean.uncore
	shows ' 0  read +memory.read +socket 0  5.637 GB   1.0000  ±0.0000  proved' " +channels' shares 1.000 to 1.000" \
		' 1  write +memory.write +socket 1 ' '28 proved, 0 off, 0 cannot tell \(on 2026-12-01, by uncore 0.1.0\)'
	report noisy 1
	expect 0 "$UNCORE" verify --show noisy.uncore
	shows '28 proved, 0 off, 0 cannot tell'
}

@test "planted faults are named, and the status is 1" {
	local noise fault

	for noise in 0 0.5; do
		for fault in sockets directions twice dead half double units times-64 over-64 loss astray; do
			report $fault $noise
		done
		found sockets 1 "socket 1's counters count node 0"
		found directions 1 'reads are counted as writes'
		found twice 1 'channel 2 counts twice'
		found dead 1 'channel 4 counts nothing'
		found half 1 'one of two PMUs is missing'
		found double 1 'two PMUs count the same'
		found units 1 'decimal and binary units are confused: 1.024\^3'
		found times-64 1 'bytes are taken for lines'
		found over-64 1 'lines are taken for bytes'
		found loss 1 'the factor is 0.9[67]..: [23].. % too little'
		found astray 1 '[45].. % of what node 0 reads is counted as reads of socket 1'
	done
	# The channel itself, and none beside it.
	expect 1 "$UNCORE" verify --show dead.uncore -j
	[ "$(jq -rs 'map(select(.channel != null and .verdict == "off") | [.socket, .channel]) | unique | tojson' <<<"$output")" = '[[1,4]]' ]
}

@test "no conclusion: the status is 3, and the reason is printed" {
	report allocate
	found allocate 3 'each write also reads its line'
	report busy 300
	found busy 3 'other programs moved 18[0-9]\.[0-9]+ GB/s here: a verdict needs less than about [0-9.]+ .?B/s'
	report pages
	found pages 3 '7 pages of the moved memory were on other nodes'
	report multiplexed
	found multiplexed 3 'all counters ran all the time in only 3 of 12 rounds'
}

@test "a socket without counters: a verdict from counts of its node elsewhere" {
	report alone
	expect 3 "$UNCORE" verify --show alone.uncore
	shows ' 1  read +memory.read +socket 1  5.637 GB +- +-  cannot tell' ' +socket 1 has no counters of this metric' \
		'14 proved, 0 off, 2 cannot tell'
	report alone-both
	found alone-both 1 '100.0 % of what node 1 reads is counted as reads of socket 0'
	expect 1 "$UNCORE" verify --show alone-both.uncore -j
	helper check-schema <<<"$output"
	[ "$(jq -c 'select(.verdict != "proved") | [.node, .socket, .direction, .counted]' <<<"$output" | tr '\n' ' ')" = \
		'[1,1,"read",null] [1,1,"write",null] ' ]
}

@test "a report with multiplexed series of an earlier version is refused" {
	report clean
	sed '/^\tseries/s/$/ coverage 0.2000/' clean.uncore >multiplexed.uncore
	refuses 2 "$UNCORE" verify --show multiplexed.uncore
	says 'line [0-9]*: multiplexed counters, which this uncore cannot judge'
}

@test "JSON conforms to the schema, CSV has the same values" {
	report dead
	expect 1 "$UNCORE" verify --show dead.uncore -j
	helper check-schema <<<"$output"
	[ "$(jq -s length <<<"$output")" = 28 ]
	[ "$(jq -rs '.[21] | [.node, .direction, .socket, .channel, .rounds, .moved, .verdict, .fault] | tojson' <<<"$output")" = \
		'[1,"write",1,null,12,5637144576,"off","channel dead"]' ]
	[ "$(jq -s '.[21].counted * 600 | round' <<<"$output")" = 500 ]
	[ "$(jq -cs 'map([.requests, .latency_ns, .load_ns]) | unique' <<<"$output")" = '[[null,null,null]]' ]
	expect 1 "$UNCORE" verify --show dead.uncore --csv
	[ "$(wc -l <<<"$output")" = 29 ]
	shows '^source,kind,date,name,family,node,cpu,far,direction,socket,channel,rounds,moved,counted,error,others,share,verdict,fault,reason'
	refuses 2 "$UNCORE" verify --show dead.uncore --csv=wide
	refuses 2 "$UNCORE" verify --show dead.uncore --html
}

@test "a report is a snapshot: --root takes it" {
	report clean
	mkdir plain
	cp "$SPR" plain/clean.uncore
	for command in 'list --all -j' topo 'topo -j' 'explain *' 'explain * -j' doctor; do
		set -f
		# shellcheck disable=SC2086 # words
		expect 0 env -C plain "$UNCORE" --root clean.uncore $command
		expected=$output
		# shellcheck disable=SC2086
		expect 0 "$UNCORE" --root clean.uncore $command
		set +f
		# What the report adds is in lines of its own.
		case $command in
		'explain *') output=$(grep -v '^  verified  proved on this machine' <<<"$output") ;;
		'explain * -j') output=$(jq '.metrics[].verified = null' <<<"$output") expected=$(jq . <<<"$expected") ;;
		doctor) output=$(grep -v '^ok  *verified: ' <<<"$output") ;;
		esac
		[ "$output" = "$expected" ] || fail "$command differs"
	done
}

@test "--root REPORT: doctor and explain print its verdicts, on any machine" {
	report clean
	expect 0 "$UNCORE" --root clean.uncore doctor
	shows 'ok +verified: on 2026-12-01: 28 proved, 0 off, 0 cannot tell'
	expect 0 "$UNCORE" --root clean.uncore doctor -j
	[ "$(jq -c '.findings[-1]' <<<"$output")" = \
		'{"verdict":"ok","subject":"verified","found":"on 2026-12-01: 28 proved, 0 off, 0 cannot tell","why":null,"fix":null}' ]
	expect 0 "$UNCORE" --root clean.uncore explain memory.read.bandwidth
	shows '  verified  proved on this machine on 2026-12-01, within 0.1 %'
	expect 0 "$UNCORE" --root clean.uncore explain memory.utilization
	[[ ! $output =~ verified ]]
	report loss
	expect 0 "$UNCORE" --root loss.uncore explain 'memory.*.bandwidth' -j
	helper check-schema <<<"$output"
	[ "$(jq -c '[.metrics[] | select(.family == "intel-imc") | [.name, .verified.verdict, .verified.date]]' <<<"$output")" = \
		'[["memory.read.bandwidth","off","2026-12-01"],["memory.write.bandwidth","off","2026-12-01"]]' ]
	[ "$(jq '.metrics[] | select(.family == "intel-imc").verified.deviation * 100 | round' <<<"$output" | sort -u)" = 3 ]
	report sockets
	expect 0 "$UNCORE" --root sockets.uncore explain memory.write.bandwidth
	shows "verified  off on this machine on 2026-12-01: socket 1's counters count node 0 \(and 1 more\)"
	expect 0 "$UNCORE" --root sockets.uncore doctor
	shows "note +verified: on 2026-12-01: 0 proved, [0-9]+ off, [0-9]+ cannot tell" \
		"memory.read.bandwidth \(intel-imc\): off: socket 1's counters count node 0" \
		'fix: uncore verify --show sockets.uncore'
	report busy 300
	expect 0 "$UNCORE" --root busy.uncore explain memory.read.bandwidth
	shows 'verified +cannot tell on this machine on 2026-12-01: other programs moved'
	# Neither the machine without the readings nor a simulation has verdicts.
	for machine in "--root $SPR" "--source $SIM_SPR"; do
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" $machine explain memory.read.bandwidth
		[[ ! $output =~ verified ]] || fail "$machine"
		# shellcheck disable=SC2086
		expect 0 "$UNCORE" $machine doctor
		[[ ! $output =~ verif ]] || fail "$machine"
	done
	sed 's/^\tround .*/\tround many/' clean.uncore >damaged.uncore
	expect 0 "$UNCORE" --root damaged.uncore doctor
	shows 'note +verified: no report' 'a report was not read: damaged.uncore: line [0-9]+: a round without its amount'
}

@test "files that are no reports, and damaged ones, are refused with their line" {
	local line

	refuses 2 "$UNCORE" verify --show none.uncore
	says 'none.uncore: No such file'
	refuses 2 "$UNCORE" verify --show "$SPR"
	says 'not a report of uncore verify: it has no readings'
	report clean
	line=$(grep -n $'^\tround' clean.uncore | sed -n '5s/:.*//p')
	sed "${line}s/@/ /" clean.uncore >damaged.uncore
	refuses 2 "$UNCORE" verify --show damaged.uncore
	says "damaged.uncore: line $line: a round needs a reading of each cell"
	sed 's/^\tversion 1/\tversion 3/' clean.uncore >later.uncore
	refuses 2 "$UNCORE" verify --show later.uncore
	says 'written by a later uncore'
	# No more is read than a report may have; a pipe is.
	refuses 2 timeout 60 "$UNCORE" verify --show /dev/zero
	says '/dev/zero: larger than 64 MiB'
	{
		cat clean.uncore
		seq -f $'\tcell memory.read.bandwidth planted socket 0 channel %g' 100000
	} >many.uncore
	refuses 2 "$UNCORE" verify --show many.uncore
	says 'more places than a machine can have'
	refuses 2 "$UNCORE" verify --show .
	says '\.: Is a directory'
	expect 0 "$UNCORE" verify --show <(cat clean.uncore)
	head -n "$((line - 5))" clean.uncore >empty.uncore
	expect 3 "$UNCORE" verify --show empty.uncore
}

@test "other sources and roots, and options that do not fit, are refused" {
	refuses 2 "$UNCORE" --source "$SIM_SPR" verify
	says 'verify needs the counters of this machine: sim:spr,step=1s does not count data'
	refuses 2 "$UNCORE" --root "$SPR" verify
	refuses 2 "$UNCORE" --source replay:none verify
	refuses 2 "$UNCORE" verify --show a --nice
	refuses 2 "$UNCORE" verify --show a -o b
	refuses 2 "$UNCORE" verify --show a --time 1s
	refuses 2 "$UNCORE" verify more
}

@test "without counters of memory: the error lists the requirements" {
	if "$UNCORE" list metrics memory.read.bandwidth | grep -q memory.read.bandwidth; then
		skip 'this machine counts memory'
	fi
	refuses 3 "$UNCORE" verify -M 'memory.*,link.*' -o none.uncore
	says 'there is nothing to verify: verify needs PMUs of memory channels or controllers'
	[ ! -e none.uncore ]
	if "$UNCORE" list metrics clock.tsc.frequency | grep -q clock.tsc.frequency; then
		run --separate-stderr "$UNCORE" verify --time 2s -j
		says 'note: neither memory nor links can be verified here: memory.read.bandwidth' \
			'verify runs computations on CPU [0-9, ]+, for about 2 s in all'
	fi
}

@test "the time-stamp counter of this machine is proved" {
	"$UNCORE" list metrics clock.tsc.frequency | grep -q clock.tsc.frequency || skip 'it has none'
	expect 0 "$UNCORE" verify -M clock.tsc.frequency --time 2s -o tsc.uncore
	shows ' 0 +spin +clock.tsc.frequency +socket 0 .* 1.000[0-9] .* proved' 'RDTSC: [0-9.]+ GHz, difference 0.0[0-9] %'
	grep -q $'^\tcell clock.tsc.frequency rdtsc socket 0 channel -1$' tsc.uncore
	expect 0 "$UNCORE" verify --show tsc.uncore -j
	helper check-schema <<<"$output"
	[ "$(jq -c '[.direction, .unit, .basis, .verdict, (.counted - 1 | fabs | . < 0.001)]' <<<"$output")" = \
		'["spin","Hz","rdtsc","proved",true]' ]
	# The ticks of two CPUs, and of a counter that stands.
	awk '/^\tround/ {split($3, r, "@"); $3 = 2 * r[1] "@" r[2]; $0 = "\tround " $2 " " $3 " " $4} {print}' OFMT=%.0f CONVFMT=%.0f tsc.uncore >two.uncore
	expect 1 "$UNCORE" verify --show two.uncore
	shows ' off' '2 times RDTSC: the ticks of 2 CPUs are added up'
}

# busy METRIC FAMILY IDLE BUSY FACTOR WITNESS FACTS...: in busy.uncore a series of a busy CPU. IDLE is counted in each
# second and BUSY more in those that the CPU is busy. The counter has FACTOR of it and the witness all, if there is one.
busy() {
	python3 -S - "$SPR" "$@" >busy.uncore <<-'PYTHON'
		import random, sys
		machine, metric, family, idle, busy, factor, witness, *facts = sys.argv[1:]
		random.seed(16)
		print(open(machine).read(), end="")
		print("uncore/verify:\n\tversion 1\n\tuncore 0.1.0\n\tdate 2026-12-01\n\tcache 33554432")
		for fact in facts:
		    print(f"\t{fact}")
		for name in (family, witness):
		    if name != "-":
		        print(f"\tcell {metric} {name} socket 0 channel -1")
		print("\tseries spin node 0 socket 0 cpu 1 of 0 memory 0 elsewhere 0")
		for amount in (0, 4, 1, 2, 2, 0, 4, 1, 4, 2, 0, 1):
		    seconds, spun = 0.5 + random.random() / 1000, amount / 16
		    all = float(idle) * seconds + float(busy) * spun
		    print(f"\tround {spun * 1e9:.0f} {all * float(factor):.9g}@{seconds:.9f}",
		          *[f"{all:.9g}@{seconds:.9f}"] * (witness != "-"))
	PYTHON
}

@test "power is proved by powercap, and its faults are named" {
	busy power.package power 40 8 1 powercap 'limit 250'
	expect 0 "$UNCORE" verify --show busy.uncore
	shows '^NODE +DIRECTION +METRIC ' ' 0 +spin +power.package +socket 0 +1.3.. s +1.0000 .*proved' \
		'powercap: 41...+ W; 8.0.+ W more when a CPU is busy' 'For clocks and power: the counted value divided by the known one.'
	expect 0 "$UNCORE" verify --show busy.uncore -j
	helper check-schema <<<"$output"
	[ "$(jq -c '[(.counted * 1e6 | round), .unit, .basis, .others, .value == .known]' <<<"$output")" = '[1000000,"W","powercap",null,true]' ]
	busy power.package power 40 8 1e6 powercap
	found busy 1 'microjoules are taken for joules'
	busy power.package power 40 8 2 powercap
	found busy 1 'two dies or packages are added up'
	busy power.memory power 3 0 4 powercap
	found busy 1 'memory has units of 15.3 uJ'
	busy power.package power 40 8 0.9 powercap
	found busy 1 'the factor is 0.9000: powercap counts 11.1 % more'
	busy power.package power 40 8 0 powercap
	found busy 1 'nothing is counted'
	# What stands still in a virtual machine, and what nothing else tells, is no fault.
	busy power.package power 0 0 1 - 'hypervisor KVM'
	found busy 3 'in a virtual machine \(KVM\) energy is often not counted'
	busy power.package power 40 8 1 -
	found busy 3 'the unit cannot be checked'
	busy power.package power 40 0 1 powercap
	found busy 3 'adds only'
}

@test "the clock of memory is half of its transfers, and other clocks are named" {
	busy memory.clock.frequency intel-imc 2.4e9 0 1 - 'modules 4800.000 configured'
	expect 0 "$UNCORE" verify --show busy.uncore
	shows ' 0 +spin +memory.clock.frequency +socket 0 .* 1.0000 .*proved' 'modules at 4800 MT/s, difference 0.00 %'
	busy memory.clock.frequency intel-imc 2.4e9 0 0.5 - 'modules 4800.000 configured'
	found busy 1 "half of the clock of modules at 4800 MT/s: HCLK, or the controllers' clock of gear 2, is taken"
	busy memory.clock.frequency intel-imc 2.4e9 0 2 - 'modules 4800.000 configured'
	found busy 1 'twice the clock of modules at 4800 MT/s'
	busy memory.clock.frequency intel-imc 2e9 0 1 - 'modules 4800.000 rated'
	found busy 3 'modules rated 4800 MT/s may run slower'
	busy memory.clock.frequency intel-imc 2.4e9 0 1 -
	found busy 3 'the speed of the memory modules is unknown'
}

# block: counters of reads that count nothing, in $PWD; `verify` with them takes the way of all others.
block() {
	cat >block.yaml <<-'YAML'
		block: planted
		title: reads of memory
		instance: controller
		evidence: a file of a test
		pmu: planted_{port}
		space: mmio
		access: 64
		size: 8
		window: free-running
		clock: host
		quantity: memory.read
		counters:
		  bytes:
		    title: bytes
		    offset: 0
		    width: 64
		    role: bytes
	YAML
	truncate -s 4096 map
	planted=(--source "regs:./block.yaml,at=$PWD/map")
}

@test "data are moved and counted, and a report is written" {
	local file lines

	block
	expect 3 "$UNCORE" "${planted[@]}" verify --time 1s --memory 16MiB -o report.uncore
	says 'verify moves data for about 1 s with CPU [0-9, ]+, on one node after another; it takes up to 16.00 MiB'
	shows ' read +memory.read +socket 0 ' 'cannot tell' 'caches of [0-9]+ MiB may hold the loaded data'
	verdicts=$output
	expect 3 "$UNCORE" verify --show report.uncore
	[ "$output" = "$verdicts" ]
	# With small caches it would be judged: nothing of it was counted.
	sed 's/^\tcache .*/\tcache 1/' report.uncore >small.uncore
	expect 1 "$UNCORE" verify --show small.uncore
	shows ' off' ' nothing is counted'
	# Three rounds of each amount.
	[ "$(sed -n 's/^\tround \([0-9]*\) .*/\1/p' small.uncore | head -n 12 | sort -n | uniq -c | awk '{print $1}' | xargs)" = '3 3 3 3' ]
	grep -q $'^\tseries read node 0 socket 0 cpu [0-9]* of 0 memory 16777216 elsewhere 0$' small.uncore
	expect 0 "$UNCORE" --root report.uncore topo
	run ! grep -F "$(uname -n)" <(sed -n '/^uncore\/verify/,$p' report.uncore)
	# Cut at the end of any line it is no report.
	[ "$(tail -n 2 report.uncore)" = $'\tend\n# end' ]
	for lines in $(seq "$(sed -n '/^uncore.verify:/=' report.uncore)" "$(($(wc -l <report.uncore) - 2))"); do
		head -n "$lines" report.uncore >cut.uncore
		refuses 2 "$UNCORE" verify --show cut.uncore
		says 'the report is truncated: its last line'
	done
	# What cannot be written is told before data are moved.
	for file in none/report.uncore .; do
		refuses 1 "$UNCORE" "${planted[@]}" verify --time 60s -o "$file"
		says "cannot open '$file' for writing"
	done
	refuses 2 "$UNCORE" "${planted[@]}" verify --time 20ms
	says '--time: [0-9]+ series of rounds need at least'
}

@test "the last report stays on the machine, and a failure to keep it is a note" {
	block
	expect 3 "$UNCORE" "${planted[@]}" verify --time "$brief" --memory 16MiB -o report.uncore
	says "note: the report is kept on this machine, for doctor and explain: $kept/verified-regs.uncore"
	cmp report.uncore "$kept/verified-regs.uncore"
	[ "$(ls -A "$kept")" = verified-regs.uncore ]
	[ "$(stat -c %a "$kept/verified-regs.uncore")" = 644 ]
	# One that tells nothing does not replace it.
	expect 3 "$UNCORE" "${planted[@]}" verify --time "$brief" --memory 16MiB
	says "note: the last report is kept on this machine, since all verdicts of this one are 'cannot tell': $kept/verified-regs.uncore"
	cmp report.uncore "$kept/verified-regs.uncore"
	# The next one replaces it, and does not write into the file that is there: nothing of what it moved is counted.
	ln "$kept/verified-regs.uncore" before.uncore
	expect 1 "$UNCORE" "${planted[@]}" verify --time 1s
	cmp report.uncore before.uncore
	run ! cmp -s report.uncore "$kept/verified-regs.uncore"
	# One that judges a part of the metrics does not: it would say less.
	cp "$kept/verified-regs.uncore" before.uncore
	expect 3 "$UNCORE" "${planted[@]}" verify --time "$brief" --memory 16MiB -M 'memory.read*,link.*'
	cmp "$kept/verified-regs.uncore" before.uncore
	refuses 2 "$UNCORE" "${planted[@]}" verify --metrics power
	says "--metrics 'power': verify can judge memory.read.bandwidth, memory.write.bandwidth, "
	expect 1 "$UNCORE" verify --show "$kept/verified-regs.uncore"
	# Nowhere to write, a link to elsewhere, a directory of all users.
	STATE_DIRECTORY=/proc/none XDG_STATE_HOME=/proc expect 3 "$UNCORE" "${planted[@]}" verify --time "$brief" --memory 16MiB
	says 'note: the report is not kept on this machine'
	mkdir elsewhere
	mv "$kept" "$kept.old"
	ln -s "$PWD/elsewhere" "$kept"
	expect 3 "$UNCORE" "${planted[@]}" verify --time "$brief" --memory 16MiB
	says 'note: the report is not kept on this machine'
	rm "$kept"
	mkdir -m 777 "$kept"
	expect 3 "$UNCORE" "${planted[@]}" verify --time "$brief" --memory 16MiB
	says 'note: the report is not kept on this machine.*Operation not permitted'
	[ -z "$(find elsewhere "$kept" -type f)" ]
}

@test "other traffic is not in the slope" {
	block
	# 100 MB/s, whatever is moved.
	coproc others { python3 -S -c '
import os, select, struct, sys, time
fd, begin = os.open("map", os.O_WRONLY), time.monotonic()
while not select.select([sys.stdin], [], [], 0.001)[0]:
    os.pwrite(fd, struct.pack("<Q", int((time.monotonic() - begin) * 1e8)), 0)'; }
	pid=$others_PID
	expect 3 "$UNCORE" "${planted[@]}" verify --time 2s --memory 16MiB -j
	eval "exec ${others[1]}>&-"
	wait "$pid"
	helper check-schema <<<"$output"
	[ "$(jq -s '.[0].others / 1e8 | . > 0.7 and . < 1.3' <<<"$output")" = true ] || fail 'not 100 MB/s'
	[ "$(jq -s '.[0].counted | . > -0.2 and . < 0.2' <<<"$output")" = true ] || fail 'some of it is in the slope'
}

# peak RATE: a verdict of this machine, alone: other runs of verify have the lock, and others use the memory.
peak() {
	run --separate-stderr "$UNCORE" --memory-peak "$1" verify -M memory.peak --time 2s -o own.uncore -j
	no_sanitizer_report
}

@test "this machine: a peak below and far above what its CPUs read" {
	peak 10MB/s
	[ "$status" = 1 ]
	says 'verify reads with all CPUs of a socket together \([0-9]+\), for 0.4 s on each socket, from up to [0-9.]+ .iB of memory: it may slow down other programs'
	[[ $stderr != *'moves data'* ]]
	helper check-schema <<<"$output"
	[ "$(jq -r 'select(.basis != "user" or .rounds != 3 or .fault != "peak too low")' <<<"$output")" = '' ]
	stream=$(jq -s 'map(.value) | max' <<<"$output")
	# It is a bandwidth of memory, and --show judges the readings alike.
	jq -en "$stream > 2e8 and $stream < 2e12" >/dev/null
	verdicts=$(jq -c '[.name, .verdict, .fault, .rounds, (.value / 1e6 | round)]' <<<"$output")
	expect 1 "$UNCORE" verify --show own.uncore -j
	[ "$(jq -c '[.name, .verdict, .fault, .rounds, (.value / 1e6 | round)]' <<<"$output")" = "$verdicts" ]
	[ ! -e "$kept/verified.uncore" ]
	peak 100TB/s
	[ "$status" = 3 ]
	[ "$(jq -r .reason <<<"$output" | grep -c 'usable CPUs')" -gt 0 ]
	# As many as it may use.
	run --separate-stderr taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" "$UNCORE" --memory-peak 10MB/s verify -M memory.peak --time 2s
	[ "$status" = 1 ]
	says 'together \(1\)'
}

# unbound COMMAND...: with a kernel that refuses to bind memory, as it does outside of the nodes that a container may use.
unbound() {
	python3 -S -c '
import ctypes, os, platform, struct, sys
mbind, invalid = {"x86_64": 237, "aarch64": 235}[platform.machine()], 22
code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, mbind, 0x06, 0, 0, 0x50000 + invalid, 0x06, 0, 0, 0x7fff0000)
kept, libc = ctypes.create_string_buffer(code), ctypes.CDLL(None)
program = struct.pack("HxxxxxxP", 4, ctypes.addressof(kept))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0): sys.exit("no seccomp")
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

@test "this machine: a series that fails is a note, and others are judged" {
	"$UNCORE" list metrics clock.tsc.frequency | grep -q clock.tsc.frequency || skip 'it has none'
	run --separate-stderr unbound "$UNCORE" --memory-peak 10MB/s verify -M 'memory.peak,clock.tsc.frequency' --time 2s -j
	no_sanitizer_report
	says 'note: node [0-9]+: cannot move data: Invalid argument: its verdicts are left out'
	[ "$(jq -r '[.name, .verdict] | join(" ")' <<<"$output" | sort -u)" = 'clock.tsc.frequency proved' ]
	[ "$status" = 3 ]
}

@test "this machine: a signal stops all CPUs at once, --nice applies to all" {
	local code=0 task tasks=()

	"$UNCORE" --memory-peak 100TB/s verify -M memory.peak --time 60s --nice >shown 2>said 3>&- &
	# The thread that waits, and those that read.
	until [ "${#tasks[@]}" -gt 1 ]; do
		kill -0 $!
		sleep 0.02
		tasks=("/proc/$!/task/"*)
	done
	for task in "${tasks[@]}"; do
		[ "$(sed 's/.*) //' "$task/stat" | cut -d ' ' -f 17)" = 19 ]
	done
	kill -TERM $!
	wait $! || code=$?
	[ "$code" = 143 ]
	grep -q 'stopped before the end: nothing is judged' said
	[ ! -s shown ]
}

@test "an unknown peak: a line says why" {
	run --separate-stderr "$UNCORE" verify -M memory.peak --time 1s
	[[ $stderr != *'reads with all CPUs'* ]] || skip 'this machine has one'
	[ "$status" = 3 ]
	says 'there is nothing to verify: .*(SMBIOS|hsmp|module)'
}

@test "a signal stops it at once, and two at once refuse each other" {
	local code=0

	block
	"$UNCORE" "${planted[@]}" verify --time 60s --memory 16MiB -o report.uncore 2>said >shown 3>&- &
	until grep -q 'moves data' said; do
		kill -0 $!
		sleep 0.05
	done
	refuses 1 "$UNCORE" "${planted[@]}" verify --time 1s
	says 'another uncore verify is running'
	kill -TERM $!
	SECONDS=0
	wait $! || code=$?
	[ "$code" = 143 ]
	[ "$SECONDS" -lt 10 ]
	grep -q 'stopped before the end: nothing is judged' said
	[ ! -s shown ] && [ ! -e report.uncore ]
}

@test "a signal ends a report that waits for a reader" {
	local code=0 tries

	block
	mkfifo report.uncore
	"$UNCORE" "${planted[@]}" verify --time "$brief" --memory 16MiB -o report.uncore 2>said >shown 3>&- &
	# It is kept before it is written.
	until grep -q 'the report is kept' said; do
		kill -0 $!
		sleep 0.05
	done
	sleep 0.5
	kill -TERM $!
	for tries in {1..100}; do
		kill -0 $! 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL $! 2>/dev/null || true
	wait $! || code=$?
	[ "$code" = 143 ] || fail "$tries tries: $code"
}

# latencies: counters of latencies that count nothing, in $PWD.
latencies() {
	cat >block.yaml <<-'YAML'
		block: planted
		title: latencies of memory
		instance: controller
		evidence: a file of a test
		pmu: planted_{port}
		space: mmio
		access: 64
		size: 32
		window: free-running
		clock: {hz: 1000000000}
		quantity: memory.read
		counters:
		  bin_{n}:
		    title: reads within bin {n}
		    offset: 0
		    count: 3
		    width: 64
		    role: bin
		histogram:
		  listed: [0, 64, 128]
		  last: 160
	YAML
	truncate -s 4096 map
	planted=(--source "regs:./block.yaml,at=$PWD/map")
}

@test "loads are chased and counted, and a report is written" {
	latencies
	expect 3 "$UNCORE" "${planted[@]}" verify --time "$brief" --memory 16MiB -o report.uncore
	shows ' chase +memory.read.latency +socket 0 +[0-9,]+ loads' 'cannot tell' 'four times as much memory is needed'
	grep -E $'^\tseries chase node 0 socket 0 cpu [0-9]+ of 0 memory 16777216 elsewhere 0 ns [0-9]+\.[0-9]{3}$' report.uncore
	# Three rounds of each amount; without requests there is no latency, and that is counted all the same.
	[ "$(sed -n 's/^\tround \([0-9]*\) 0@[0-9.]*$/\1/p' report.uncore | sort -n | uniq -c | awk '{print $1}' | xargs)" = '3 3 3 3' ]
	sed 's/^\tcache .*/\tcache 1/' report.uncore >small.uncore
	expect 1 "$UNCORE" verify --show small.uncore
	shows ' off' 'none of the loads is counted'
	# Nothing else is done for it, and queues only if they are asked for.
	[ "$(grep -c $'^\tseries' report.uncore)" = 1 ]
	refuses 3 "$UNCORE" "${planted[@]}" verify -M dram.read.queue.latency
	says 'there is nothing to verify'
}

@test "other requests are not in the latency" {
	latencies
	# Two million requests each second of 96 cycles, whatever is loaded; and none of the loads.
	coproc others { python3 -S -c '
import os, select, struct, sys, time
fd, begin = os.open("map", os.O_WRONLY), time.monotonic()
while not select.select([sys.stdin], [], [], 0.001)[0]:
    os.pwrite(fd, struct.pack("<Q", int((time.monotonic() - begin) * 2e6)), 8)'; }
	pid=$others_PID
	run --separate-stderr "$UNCORE" "${planted[@]}" verify --time 2s --memory 16MiB -j
	eval "exec ${others[1]}>&-"
	wait "$pid"
	helper check-schema <<<"$output"
	# As ns in each second.
	[ "$(jq -s '.[0].others / (2e6 * 95.5) | . > 0.7 and . < 1.3' <<<"$output")" = true ] || fail 'not two million'
	[ "$(jq -s '.[0].load_ns | . > 0' <<<"$output")" = true ] || fail 'no time'
}

# keep DIRECTORY FAULT [NOISE]: a report of this machine, with the readings of other counters, as the last one there.
keep() {
	report "${@:2}"
	local version

	version=$("$UNCORE" --version)
	version=${version#* }
	mkdir -p "$1"
	{
		"$UNCORE" snapshot - | grep -v '^#'
		sed -n '/^uncore\/verify:/,$p' "$2.uncore" | sed "s/intel-imc/planted/; s/0\.1\.0/$version/"
	} >"$1/verified-regs.uncore"
}

# cited SENTENCE: what explain says of the planted counters, in one line.
cited() {
	expect 0 "$UNCORE" "${planted[@]}" explain memory.read.bandwidth
	output=$(tr -s '\n ' ' ' <<<"$output")
	shows "$1"
}

@test "doctor and explain: never verified, proved, off, and what has changed since" {
	block
	expect 0 "$UNCORE" "${planted[@]}" doctor
	shows 'note +verified: uncore verify has not run here' 'fix: uncore verify'
	expect 0 "$UNCORE" "${planted[@]}" explain memory.read.bandwidth
	[[ ! $output =~ '  verified' ]]
	keep "$kept" clean
	cited ' verified proved on this machine on 2026-12-01, within 0.1 %'
	# Writes are of counters that are not here.
	expect 0 "$UNCORE" "${planted[@]}" doctor
	shows 'ok +verified: on 2026-12-01: 14 proved, 0 off, 0 cannot tell'
	expect 0 "$UNCORE" "${planted[@]}" explain memory.read.bandwidth -j
	[ "$(jq -c '.metrics[0].verified | del(.deviation)' <<<"$output")" = \
		'{"date":"2026-12-01","verdict":"proved","reason":null,"changed":null}' ]
	# The kernel's counters have a report of their own, and other sources none.
	mv "$kept/verified-regs.uncore" "$kept/verified.uncore"
	expect 0 "$UNCORE" "${planted[@]}" doctor
	shows 'uncore verify has not run here'
	keep "$kept" clean
	sed -i -e 's/^\tuncore .*/\tuncore 0.0.1/' -e 's/^\(proc.sys.kernel.osrelease = \).*/\14.18.0-old/' "$kept/verified-regs.uncore"
	cited "changed since: the kernel \(4.18.0-old then, $(uname -r) now\), uncore \(0.0.1 then"
	expect 0 "$UNCORE" "${planted[@]}" doctor
	shows 'note +verified: on 2026-12-01: 14 proved' 'changed since: the kernel' 'fix: uncore verify'
	keep "$kept" clean
	sed -i '/^proc.cpuinfo:/,/^[^\t]/s/^\t\(model\|cpu family\|CPU part\)\t*: .*/\t\1\t: 99/' "$kept/verified-regs.uncore"
	cited 'changed since: the CPU \([a-z0-9/]+ then, [a-z0-9/]+ now\)'
	keep "$kept" clean
	sed -i '/^sys.devices.system.node.node[0-9]*.cpulist = /d' "$kept/verified-regs.uncore"
	cited 'changed since: the number of NUMA nodes \(0 then, [1-9][0-9]* now\)'
	keep "$kept" sockets
	cited "off on this machine on 2026-12-01: socket 1's counters count node 0 \\(and 1 more\\)"
}

@test "the newer of the user's and root's report is used" {
	block
	keep "$system" clean
	keep "$own" sockets
	touch -d 2025-12-01 "$system/verified-regs.uncore"
	touch -d 2025-12-02 "$own/verified-regs.uncore"
	cited 'off on this machine'
	touch -d 2025-12-03 "$system/verified-regs.uncore"
	cited 'proved on this machine'
	# One that cannot be read is no obstacle.
	echo >"$system/verified-regs.uncore"
	cited 'off on this machine'
	expect 0 "$UNCORE" "${planted[@]}" doctor
	output=$(tr -s '\n ' ' ' <<<"$output")
	shows "a report was not read: $system/verified-regs.uncore: not a report of uncore verify"
}

@test "a kept report that others can write, that is no file or damaged, is a note" {
	local file=$kept/verified-regs.uncore at

	block
	ignored() {
		expect 0 "$UNCORE" "${planted[@]}" explain memory.read.bandwidth
		[[ ! $output =~ '  verified' ]] || fail 'it was read' || return 1
		expect 0 timeout 10 "$UNCORE" "${planted[@]}" doctor
		shows 'note +verified: uncore verify has not run here'
		[[ $(tr -s '\n ' ' ' <<<"$output") == *"$1"* ]] || fail "not said: $1"
	}
	keep "$kept" clean
	cited 'proved on this machine'
	chmod g+w "$file"
	ignored 'users other than root and you can write it'
	if [ "$(id -u)" = 0 ]; then
		chmod 644 "$file"
		chown 65534 "$file"
		ignored 'users other than root and you can write it'
	fi
	mv "$file" elsewhere.uncore
	ln -s "$PWD/elsewhere.uncore" "$file"
	ignored 'a report was not read'
	rm "$file"
	mkfifo "$file"
	ignored 'not a regular file'
	rm "$file"
	mkdir "$file"
	ignored 'not a regular file'
	rmdir "$file"
	truncate -s 65M "$file"
	ignored 'larger than 64 MiB'
	head -c 100000 /dev/urandom >"$file"
	ignored 'not a report of uncore verify'
	# Cut anywhere: read or refused.
	keep "$kept" clean
	cp "$file" whole.uncore
	for at in $(seq 1 400 "$(stat -c %s whole.uncore)"); do
		head -c "$at" whole.uncore >"$file"
		expect 0 "$UNCORE" "${planted[@]}" doctor
	done
	# More places than there can be.
	{
		sed '/^\tcell/,$d' whole.uncore
		seq -f $'\tcell memory.read.bandwidth planted socket 0 channel %g' 100000
		for at in {1..1000}; do printf '\tseries read node 0 socket 0 cpu 0 of 0 memory 1 elsewhere 0\n'; done
	} >"$file"
	ignored 'more places than a machine can have'
}

# read_again FILE: its verdicts are still those that its comments have, whatever the words around them are.
read_again() {
	local said read

	said=$(sed -n 's/^# //p' "$1" | verdicts_of)
	run --separate-stderr "$UNCORE" verify --show "$1"
	no_sanitizer_report || return 1
	[[ $status =~ ^[013]$ ]] || fail "$1" || return 1
	read=$(verdicts_of <<<"$output")
	[ -n "$said" ] || fail "$1: no verdicts" || return 1
	[ "$said" = "$read" ] || fail "$1: other verdicts: $said"
}

# The verdict of each line of the table, and their numbers.
verdicts_of() {
	grep -oE '^ +[0-9]+ +.*(proved|off|cannot tell)( |$)|^[0-9]+ proved, [0-9]+ off, [0-9]+ cannot tell' |
		sed -E 's/ +$//; s/.* (proved|off|cannot tell)$/\1/'
}

# contribute FILE: the report FILE as verify writes it, with the verdicts as comments.
contribute() {
	{
		head -n 1 "$1"
		"$UNCORE" verify --show "$1" | LC_ALL=C tr -d '\200-\377' | sed 's/^\(.*\)$/# \1/'
		tail -n +2 "$1"
	} >"$1.txt"
	mv "$1.txt" "$1"
}

@test "contributed reports are machines, and have the verdicts that they had" {
	local file count=0

	for file in "$MACHINES"/*.txt; do
		grep -q ^uncore/verify: "$file" || continue
		read_again "$file"
		count=$((count + 1))
	done
	echo "$count reports"
	# As none may be there: one of each kind.
	block
	expect 3 "$UNCORE" "${planted[@]}" verify --time "$brief" --memory 16MiB -o here.uncore
	read_again here.uncore
	report clean
	contribute clean.uncore
	read_again clean.uncore
	report sockets
	contribute sockets.uncore
	read_again sockets.uncore
	for file in clean sockets; do
		expect 0 "$UNCORE" --root $file.uncore list --json
		helper check-list $file.uncore <<<"$output"
		expect 0 "$UNCORE" --root $file.uncore topo --json
		helper check-topo $file.uncore <<<"$output"
	done
	# Changed comments, and changed readings.
	sed 's/^\(# .* \)off\( .*\)*$/\1proved\2/' sockets.uncore >changed.uncore
	run -1 read_again changed.uncore
	shows "other verdicts"
	{
		sed '/^uncore\/verify:/,$d' clean.uncore
		sed -n '/^uncore\/verify:/,$p' sockets.uncore
	} >changed.uncore
	run -1 read_again changed.uncore
	shows "other verdicts"
}

@test "docs/proved.md agrees with the contributed reports" {
	diff "$UNCORE_SOURCE_ROOT/docs/proved.md" <(python3 -S "$UNCORE_SOURCE_ROOT/tools/proved" "$UNCORE")
}

# has LINE...: the document has these lines.
has() {
	local line

	for line in "$@"; do
		grep -qxF -- "$line" proved.md || fail "proved.md lacks: $line" || return 1
	done
}

@test "tools/proved: verdicts by machine, their bounds, and contradictions" {
	local name within

	mkdir machines
	cp "$SPR" "$ZEN4" machines
	python3 -S "$UNCORE_SOURCE_ROOT/tools/proved" "$UNCORE" machines >proved.md
	has 'No report of hardware has been contributed yet. So no metric is proved on hardware, and none is contradicted. The method'
	run ! grep '^|' proved.md
	for name in clean astray allocate; do
		report $name
	done
	report noisy 1
	for name in clean astray allocate noisy; do
		mv $name.uncore machines/$name.txt
	done
	python3 -S "$UNCORE_SOURCE_ROOT/tools/proved" "$UNCORE" machines >proved.md
	run ! grep 'No report' proved.md
	expect 0 "$UNCORE" verify --show machines/noisy.txt -j
	within=$(jq -s 'map(select(.channel == null and .direction == "read").counted - 1 | fabs) | max * 1000 | ceil / 10' <<<"$output")
	# Three results of reads are proved; one of writes has another doubt.
	has '| `clean` | intel/6/143 | - | 0.1.0 | 2026-12-01 | 28 | 0 | 0 |' \
		'| `allocate` | intel/6/143 | - | 0.1.0 | 2026-12-01 | 14 | 0 | 14 |' \
		"| \`memory.read.bandwidth\` | \`intel-imc\` | intel/6/143 | 3 | $(printf %.1f "$within") % | \`allocate\`, \`clean\`, \`noisy\` |" \
		'| `memory.read.bandwidth` | `intel-imc` | intel/6/143 | `astray` | 1 of 14 | 5.0 % of what node 0 reads is counted as reads of socket 1 |'
	grep -E '^\| `memory.write.bandwidth` .* 2 \| [0-9.]+ % \| `clean`, `noisy` \|$' proved.md
	grep -E '^\| `memory.write.bandwidth` .* `allocate` \| 14 of 14 \| each write also reads its line' proved.md
	# The directory of reports is read whole: a damaged one is no reason to leave it out.
	sed -i '/^uncore.verify:/,$s/@/ /' machines/clean.txt
	run -1 --separate-stderr python3 -S "$UNCORE_SOURCE_ROOT/tools/proved" "$UNCORE" machines
	says 'machines/clean.txt: line [0-9]+: a round needs a reading'
}

# device_report FAULT: in $PWD/FAULT.uncore readings of a disk's data: stacks with two ports on each of two sockets, and
# caches, of which the last level had 70 %.
device_report() {
	python3 -S - "$SPR" "$1" >"$1.uncore" <<-'PYTHON'
		import random, sys
		machine, fault = sys.argv[1:]
		random.seed(16)
		own, device, largest = "0000:17:00.0", "0000:18:00.0", 1 << 30
		ports = {0: ("", own, "0000:17:02.0"), 1: ("", "0000:85:00.0", "uncore_iio_4")}
		inbound = ("pcie.inbound.write.bandwidth", "pcie.inbound.read.bandwidth")
		look_ups = ("pcie.inbound.write.llc.bandwidth", "pcie.inbound.read.llc.bandwidth",
		            "pcie.inbound.write.llc.hit.bandwidth", "pcie.inbound.read.llc.hit.bandwidth")
		cells = [(m, "intel-iio", s, p) for m in inbound for s in (0, 1) for p in ports[s]]
		cells += [(m, "intel-cha", s, "") for m in look_ups for s in (0, 1)]
		cells += [(f"memory.{d}.bandwidth", "intel-imc", s, "") for d in ("read", "write") for s in (0, 1)]
		factor = {"half": 0.5, "words": 0.25, "lines": 16, "loss": 0.96, "none": 0}.get(fault, 1)

		def share(load, metric, socket, port):
		    """What a place counts of a byte that the device moves."""
		    if metric.startswith("memory"): return 0.3
		    if (".write." in metric) != ((load == "file-read") != (fault == "directions")): return 0
		    if socket == (0 if fault == "socket" else 1): return 0
		    if ".hit." in metric: return 0.7
		    if ".llc." in metric: return 0.3 if fault == "misses" else 1
		    if fault == "stray" and port: return 0.92 if port == own else 0.08
		    at = {"port": "0000:17:02.0", "socket": "uncore_iio_4"}.get(fault, own)
		    return factor if port in ("", at) else 0

		print(open(machine).read(), end="")
		print("uncore/verify:\n\tversion 1\n\tuncore 0.1.0\n\tdate 2026-12-01\n\tcache 33554432")
		for metric, family, socket, port in cells:
		    print(f"\tcell {metric} {family} socket {socket} channel -1" + (f" port {port}" if port else ""))
		for load in ("file-read", "file-write"):
		    disk = 0.25 if fault == "cached" else 1.0001
		    port = "-" if fault == "chip" else own
		    print(f"\tseries {load} node 0 socket 0 cpu 1 of 0 memory 2097152 elsewhere 0 device {device} port {port} disk {disk}")
		    for amount in (0, 4, 1, 2, 2, 0, 4, 1, 4, 2, 0, 1):
		        bytes, seconds = amount * largest // 4, 0.5 + random.random() / 1000
		        counts = [share(load, m, s, p) * bytes + 1e6 * seconds * random.random() for m, f, s, p in cells]
		        print(f"\tround {bytes}", *(f"{count:.0f}@{seconds:.9f}" for count in counts))
	PYTHON
}

@test "data of a device: verdicts on socket and root port, and the share of the caches" {
	device_report clean
	expect 0 "$UNCORE" verify --show clean.uncore
	shows ' 0  file-read +pcie.inbound.write +socket 0 +5.637 GB +1.000[0-9] +±0.000[0-9] +proved' \
		' 0  file-read +pcie.inbound.write +socket 0, port 0000:17:00.0 ' \
		' 0  file-write +pcie.inbound.read.llc +socket 0 ' \
		'DDIO: the last-level cache had 70.0 % of what 0000:18:00.0 wrote' \
		'6 proved, 0 off, 0 cannot tell'
	expect 0 "$UNCORE" verify --show clean.uncore -j
	helper check-schema <<<"$output"
	[ "$(jq -rs 'map([.name, .direction, .port, .device, (.share // 0 | . * 10 | round)] | join(" ")) | .[]' <<<"$output")" = \
		"pcie.inbound.write.bandwidth file-read  0000:18:00.0 0
pcie.inbound.write.bandwidth file-read 0000:17:00.0 0000:18:00.0 0
pcie.inbound.write.llc.bandwidth file-read  0000:18:00.0 7
pcie.inbound.read.bandwidth file-write  0000:18:00.0 0
pcie.inbound.read.bandwidth file-write 0000:17:00.0 0000:18:00.0 0
pcie.inbound.read.llc.bandwidth file-write  0000:18:00.0 7" ]
	expect 0 "$UNCORE" --root clean.uncore topo
	device_report chip
	expect 0 "$UNCORE" verify --show chip.uncore
	shows '4 proved, 0 off, 0 cannot tell'
}

@test "planted faults of devices' counters are named" {
	local fault

	for fault in port socket directions half words lines loss none stray misses cached; do
		device_report $fault
	done
	found port 1 'the data of 0000:18:00.0 are counted at root port 0000:17:02.0'
	shows '"socket":0,.*"verdict":"proved"' '"port":"0000:17:00.0"' || return 1
	expect 1 "$UNCORE" verify --show socket.uncore
	shows 'the data of 0000:18:00.0 are counted at socket 1' 'the data of 0000:18:00.0 are counted at uncore_iio_4'
	found directions 1 'writes of devices are counted as reads of devices'
	found half 1 'half of it is counted: one of two PMUs is missing'
	found words 1 '4 times too little: units of 4 bytes are taken for bytes'
	found lines 1 '16 times too much: units of 4 bytes are taken for lines of 64'
	found loss 1 'the factor is 0.9600: 4.0 % too little'
	found none 1 'nothing is counted'
	found stray 1 '8.0 % of the data of 0000:18:00.0 is counted as writes of devices at root port 0000:17:02.0'
	found misses 1 'the factor is 0.3000: 70.0 % too little'
	found cached 3 "by the kernel's count the disk moved 25.0 % of the data"
}

# device_block DIRECTION: `block`, as a counter of what devices read or write.
device_block() {
	block
	sed -i "s/^quantity: .*/quantity: pcie.inbound.$1/" block.yaml
}

# need_disk: a directory $on_disk, and the block device of it as $disk, its directory in sysfs; skips without one that
# belongs to a PCI device. The directory of the test may be in memory.
need_disk() {
	on_disk=$(mktemp -d "$UNCORE_BUILD_ROOT/verify-XXXXXX")
	disk=$(readlink -f "/sys/dev/block/$(stat -c %Hd:%Ld "$on_disk")") || skip 'no disk'
	if [[ ! $disk =~ /pci ]] || [ ! -e "$disk/stat" ]; then
		skip 'no disk of a PCI device'
	fi
}

teardown() {
	[ -z "${on_disk-}" ] || rm -r "$on_disk"
}

# mirror FIELD: puts what the kernel says that the disk has moved into the planted counter, until its input ends.
mirror() {
	python3 -S -c '
import mmap, os, select, struct, sys
counter, stat = mmap.mmap(os.open("map", os.O_RDWR), 4096), open(sys.argv[1] + "/stat")
while not select.select([sys.stdin], [], [], 0.001)[0]:
    stat.seek(0)
    counter[:8] = struct.pack("<Q", 512 * int(stat.read().split()[int(sys.argv[2])]))' "$disk" "$1"
}

# moves OPTION VALUE FIELD: the kernel counts what verify says that it moves past the page cache.
moves() {
	local tries counted

	coproc watcher { mirror "$3"; }
	pid=$watcher_PID
	for tries in {1..5}; do
		run --separate-stderr "$UNCORE" "${planted[@]}" verify "$1" "$2" --time 3s -j
		no_sanitizer_report || return 1
		[ "$status" != 0 ] || break
	done
	eval "exec ${watcher[1]}>&-"
	wait "$pid"
	helper check-schema <<<"$output"
	counted=$(jq '.counted * 100 | round' <<<"$output")
	# Other programs use the disk, too.
	[ "$(jq -r .verdict <<<"$output")" != off ]
	[ "$counted" -ge 98 ] || fail "$tries tries: $counted %"
	says "it is on ${disk##*/}: device 0000:"
}

@test "a file is read past the page cache: the kernel's count of the disk, taken for a counter, is proved" {
	need_disk
	device_block write
	head -c 8M /dev/urandom >"$on_disk/file"
	moves --read "$on_disk/file" 2
	says 'verify reads .*/file \(8.000 MiB\) repeatedly, at most 3.125 GiB in all'
}

@test "the file that is written has no name, and is removed at the end" {
	need_disk
	device_block read
	own=$on_disk/own
	mkdir "$own"
	moves --write "$own" 6
	says 'verify writes a temporary file in .*/own \([0-9.]+ MiB, removed at the end\), at most [0-9.]+ .iB in all'
	[ -z "$(ls -A "$own")" ]
	"$UNCORE" "${planted[@]}" verify --write "$own" --time 60s 2>said >shown 3>&- &
	until grep -q 'moves data' said; do
		kill -0 $!
		sleep 0.05
	done
	until readlink /proc/$!/fd/* | grep -q "$own/.*(deleted)"; do
		kill -0 $!
		sleep 0.05
	done
	[ -z "$(ls -A "$own")" ]
	kill -KILL $!
	wait $! || true
	[ -z "$(ls -A "$own")" ]
}

@test "files whose data no device moves, and metrics that do not fit, are refused" {
	device_block write
	refuses 2 "$UNCORE" "${planted[@]}" verify --read .
	says '--read .: neither a file nor a block device'
	refuses 2 "$UNCORE" "${planted[@]}" verify --read /dev/null
	[ "$(stat -f -c %T /dev/shm)" = tmpfs ] || skip 'no tmpfs'
	head -c 2M /dev/zero >"/dev/shm/uncore-$$"
	run --separate-stderr "$UNCORE" "${planted[@]}" verify --read "/dev/shm/uncore-$$"
	rm "/dev/shm/uncore-$$"
	[ "$status" = 3 ]
	says 'the kernel has no block device for it \(0:[0-9]+\); it is on tmpfs'
	refuses 2 "$UNCORE" "${planted[@]}" verify -M 'memory.*' --read file
	says "--metrics 'memory.\*': none of them counts the data of --read"
	refuses 2 "$UNCORE" "${planted[@]}" verify -M 'pcie.*'
	says 'counters of devices need --read FILE, --write DIRECTORY or --gpu ADDRESS'
	refuses 3 "$UNCORE" "${planted[@]}" verify --write .
	says '--write: nothing counts the data of its device'
	device_block read
	touch file
	refuses 2 "$UNCORE" "${planted[@]}" verify --write file
	says 'not a directory: verify writes only to a temporary file that it makes itself'
	[ ! -s file ]
	refuses 3 "$UNCORE" "${planted[@]}" verify --write /dev/shm
	refuses 2 "$UNCORE" verify --show a --read b
	need_disk
	device_block write
	touch "$on_disk/file"
	refuses 3 "$UNCORE" "${planted[@]}" verify --read "$on_disk/file"
	says 'less than 1 MiB'
	truncate -s 8M "$on_disk/file"
	refuses 3 "$UNCORE" "${planted[@]}" verify --read "$on_disk/file"
	says 'the file has holes or compressed parts'
}
