#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What people type before they have read the manual: it works, or one line has the right command.

load helpers

# answers STATUS PATTERN ARGUMENTS...: one line, which matches.
answers() {
	local status=$1 pattern=$2

	shift 2
	refuses "$status" "$UNCORE" --root "$SPR" "$@" || return 1
	# shellcheck disable=SC2154 # set by refuses
	[ "$(wc -l <<<"$stderr")" -eq 1 ] || fail "not one line: $*"
	[[ $stderr =~ $pattern ]] || fail "does not match '$pattern': $*"
}

# same ARGUMENTS... - ARGUMENTS...: both print the same.
same() {
	local first=()

	while [ "$1" != - ]; do
		first+=("$1")
		shift
	done
	shift
	expect 0 "$UNCORE" --source "$SIM_SPR" "${first[@]}"
	wanted=$output
	expect 0 "$UNCORE" --source "$SIM_SPR" "$@"
	[ "$output" = "$wanted" ] || fail "$* differs from ${first[*]}" "$wanted"
}

@test "other names of options" {
	same stat -M memory.bandwidth -j -I 10ms --interval-count 2 - \
		stat --metrics memory.bandwidth --json --interval 10ms --count 2
	same mem -j -I 10ms --interval-count 2 - mem --format json -I 10 -n 2
	same mem --csv=wide 0.01 1 - mem --format=csv=wide 0.01 1
	same mem --timeout 10ms - mem --duration 10ms
	same list -j metrics - list --format json metrics
	answers 2 "--format: 'yaml' is not one of: csv, json, html$" mem --format yaml
	answers 2 "--format: 'csv' is not one of: json, html$|is not one of: json$" topo --format csv
	refuses 2 "$UNCORE" stat --interval 1s -I 2s
	says "-I is given twice: '1s' and '2s'"
	refuses 2 "$UNCORE" stat -I 1s --interval 2s
	says "--interval is given twice: '1s' and '2s'"
	refuses 2 "$UNCORE" mem --timeout 2m
	says "--timeout: '2m' could be milliseconds or minutes: write ms or min"
	# With perf's names milliseconds, with others perhaps seconds.
	answers 2 "^uncore: --interval: '2' has no unit: write --interval 2s or --interval 2ms$" mem --interval 2
	answers 2 '--duration 10s or' mem --duration 10
	expect 0 "$UNCORE" mem --help
	shows '-n, --interval-count=N, --count=N' '--timeout=TIME, --duration=TIME'
}

@test "a small time without a unit is not silently milliseconds" {
	answers 2 "^uncore: -I: '2' without a unit would be 2 milliseconds, as in perf: write -I 2s or -I 2ms$" mem -I 2
	answers 2 'write -I 9s or -I 9ms$' stat --interval-print=9
	expect 0 "$UNCORE" --source "$SIM_SPR" mem -I 60 -n 1
	says '^uncore: note: -I 60 is 60 milliseconds, as in perf; for seconds write -I 60s'
	expect 0 "$UNCORE" --source "$SIM_SPR" mem --timeout 5
	says '^uncore: note: --timeout 5 is 5 milliseconds, as in perf; for seconds write --timeout 5s'
	expect 0 "$UNCORE" --source "$SIM_SPR" mem -D 5 --timeout 5ms
	[[ $stderr == 'uncore: note: -D 5 is 5 milliseconds'* ]] || fail 'the note'
	for arguments in 'mem -I 2ms -n 1' 'mem -I 100 -n 1' 'mem --timeout 100' 'mem 0.01 1' 'mem -D 0 --timeout 5ms'; do
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" --source "$SIM_SPR" $arguments
		[[ $stderr != *note:* ]] || fail "$arguments"
	done
	# Options that perf does not have need the unit.
	answers 2 "--sample: '1' has no unit: write --sample 1s or --sample 1ms$" stat -I 1s --sample 1
	answers 2 "--time: '30' has no unit" verify --time 30
	if [[ $("$UNCORE" --help) == *' record '* ]]; then
		answers 2 "--flight: '60' has no unit: write --flight 60s" record --flight 60 -o "$BATS_TEST_TMPDIR/f"
		answers 2 "--rotate-age: '24' has no unit" record --rotate-age 24 -o "$BATS_TEST_TMPDIR/f"
		answers 2 "--after: '5' has no unit" record --flight 60s --after 5 -o "$BATS_TEST_TMPDIR/f"
	fi
	if [[ $("$UNCORE" --help) == *' serve '* ]]; then
		answers 2 "--textfile-interval: '15' has no unit" serve --textfile x.prom --textfile-interval 15
		answers 2 "--otlp-interval: '15' has no unit" serve --otlp-interval 15
	fi
}

@test "a number of intervals alone means seconds" {
	local first

	same mem -j -I 1s -n 2 - mem -j -n 2
	same stat -M memory.bandwidth -j -I 1s -n 2 - stat -M memory.bandwidth -j --count 2
	same latency -j -I 1s -n 1 - latency -j -n 1
}

@test "names of options are whole, and a mistyped one is answered with the right one" {
	answers 2 '^uncore: there is no option --interval-p; did you mean --interval-print\?$' stat --interval-p 1s
	answers 2 'did you mean --metrics\?$' stat --metr memory.bandwidth
	answers 2 'did you mean --metrics\?$' stat --metrcis=memory.bandwidth
	answers 2 'did you mean --per-socket\?$' mem --per-sokcet
	answers 2 'did you mean --json\?$' list --jsn
	answers 2 "there is no option --frobnicate; 'uncore mem --help' lists the options$" mem --frobnicate
	answers 2 "there is no option -Z; 'uncore mem --help'" mem -Z
	answers 2 'there is no option -I before a command; write it behind: uncore stat -I' -I 2000 -n 10
	# The command's own options are its own.
	expect 0 "$UNCORE" --source "$SIM_SPR" stat -M memory.bandwidth -- true --metr
	expect 0 "$UNCORE" --source "$SIM_SPR" stat -M memory.bandwidth true --metr
	# A value is no option.
	answers 2 "--color: '--metr' is not|there is no metric|no metric" stat -M --metr
}

@test "an option that would mean something else is refused" {
	answers 2 '--socket N counts one socket, and --bind-cpu N runs' stat --cpu 0
	answers 2 'write --timeout 1s' mem --time 1
	answers 2 'uncore stat -- COMMAND' stat --pid 1
	expect 0 "$UNCORE" --source "$SIM_SPR" stat --bind-cpu 0 -M memory.bandwidth --timeout 10ms
	if [[ $("$UNCORE" --help) == *' serve '* ]]; then
		answers 2 "^uncore: '24100' would be an interval of 24100 seconds: for a port write --port 24100, for this interval 24100s$" \
			serve 24100
		answers 2 '127.0.0.1:99999' serve --port 99999
		refuses 2 "$UNCORE" serve --port 9100 --listen :9100
		says '--port and --listen exclude each other'
		refuses 2 "$UNCORE" --root "$SPR" serve --port 0000:ff:01.0 mem
		says '0000:ff:01.0'
	fi
}

@test "serve --port" {
	[[ $("$UNCORE" --help) == *' serve '* ]] || skip 'built without serve'
	cd "$BATS_TEST_TMPDIR" || return
	serve --source "$SIM_SPR" serve mem --port 0
	# shellcheck disable=SC2154 # set by serve
	[[ $address == http://127.0.0.1:* ]] || fail "$address"
	stop TERM
}

@test "a subject is answered with the command that shows it" {
	answers 2 "^uncore: unknown command 'ddio'; for that use: uncore pcie --ddio$" ddio
	answers 2 'uncore link$' upi
	answers 2 'uncore pcie --device gpu$' gpu
	answers 2 'uncore pcie --device nvme$' nvme
	answers 2 'for that use: uncore mem$' cxl
	answers 2 'uncore mem --per-node$' numa
	answers 2 'uncore power$' watts
	answers 2 'uncore mem$' imbalance
	answers 2 'uncore list metrics write$' write
	answers 2 "did you mean 'mem'\?$" memory
	answers 2 "did you mean 'stat'\?$" status
	answers 2 "^uncore: 'upi' is not an interval; for that use: uncore link$" mem upi
	answers 2 'did you mean link\.\*\?' stat -M upi
}

@test "the first word of metrics stands for all of them" {
	same stat -M 'memory.*' 0.01 1 - stat -M memory 0.01 1
	same explain 'fabric.*' - explain fabric
	answers 2 "no metric of the catalogue is named 'membry'" stat -M membry
}

@test "words of the output are explained" {
	expect 0 "$UNCORE" --root /nonexistent explain scaled
	shows '^scaled: the kernel multiplexed the counter' coverage
	expect 0 "$UNCORE" help quality
	shows $'\nmeasured: ' $'\nsuspect: ' $'\nunavailable: '
	expect 0 "$UNCORE" help Suspect
	shows '^suspect: '
}

@test "devices and files are arguments" {
	same pcie --device nvme0 0.01 1 - pcie nvme0 0.01 1
	same pcie --device 0000:38:00.0 0.01 1 - pcie 0000:38:00.0 0.01 1
	answers 2 "there is no PCI device 'nvem0'" pcie nvem0
	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without record'
	cd "$BATS_TEST_TMPDIR" || return
	expect 0 "$UNCORE" --source "$SIM_SPR" record night.db mem 0.01 2
	expect 0 "$UNCORE" report night.db
	refuses 2 "$UNCORE" --source "$SIM_SPR" record other.db -o night.db
	refuses 2 "$UNCORE" --source "$SIM_SPR" record other.db third.db
	refuses 2 "$UNCORE" --source "$SIM_SPR" record mme
	[ ! -e mme ]
}

@test "the name of a file selects the format" {
	cd "$BATS_TEST_TMPDIR" || return
	expect 0 "$UNCORE" --source "$SIM_SPR" mem 0.01 1 -o x.csv
	helper check-rows csv <x.csv
	expect 0 "$UNCORE" --source "$SIM_SPR" mem 0.01 1 -o x.json
	helper check-rows json <x.json
	expect 0 "$UNCORE" --source "$SIM_SPR" mem 0.01 1 -o x.html
	grep -q '<html' x.html
	expect 0 "$UNCORE" --source "$SIM_SPR" mem 0.01 1 -o x.txt
	grep -q '^Memory ' x.txt
	expect 0 "$UNCORE" --source "$SIM_SPR" mem 0.01 1 -j -o y.csv
	helper check-rows json <y.csv
}

@test "--timestamp" {
	expect 0 "$UNCORE" --source "$SIM_SPR" stat -M memory.bandwidth 0.01 2 --timestamp
	shows $'\n1970-01-01T00:00:01\.000Z ' $'\n1970-01-01T00:00:02\.000Z '
	expect 0 "$UNCORE" --source "$SIM_SPR" mem 0.01 2 --timestamp
	shows $'\n1970-01-01T00:00:01\.000Z\n' $'\n1970-01-01T00:00:02\.000Z\n'
	expect 0 "$UNCORE" --source "$SIM_SPR" mem --timestamp
	shows 'Counted for 1.000 s, until 1970-01-01T00:00:01\.000Z'
}

@test "--help has the options that suit the command" {
	expect 0 "$UNCORE" mem --help
	shows '--per-channel' '--from'
	for option in --gpu --link --port --device --address --per-port; do
		[[ $output != *"$option"* ]] || fail "mem --help has $option"
	done
	expect 0 "$UNCORE" pcie --help
	shows '--device' '--sort'
	[[ $output != *--per-channel* ]] || fail 'pcie --help has --per-channel'
	# They are still taken, so that the reason is printed.
	refuses 3 "$UNCORE" --source "$SIM_T410" mem --gpu 0
	says 'cannot be restricted by .gpu.'
}

@test "mem --sort, and the imbalance of channels" {
	local key wanted wanted_order

	expect 0 "$UNCORE" --source "$SIM_SPR" mem -j 0.01 1 --per-channel
	# The largest over the mean of the socket's channels, from the rows.
	wanted=$(jq -rs '[.[] | select(.name == "memory.bandwidth" and .level == "channel")] | (map(.value) | add / length) as $mean | max_by(.value) |
		"\(.value / $mean * 1000 | round / 1000) times the mean of its socket, at socket \(.socket), channel \(.channel)."' <<<"$output")
	wanted_order=$(jq -rs '[.[] | select(.name == "memory.write.bandwidth" and .level == "channel")] | sort_by(-.value) | map(.channel) | join(" ")' <<<"$output")
	expect 0 "$UNCORE" --source "$SIM_SPR" mem 0.01 1
	shows $'\nIMBALANCE: '"$wanted"
	expect 0 "$UNCORE" --source "$SIM_SPR" mem 0.01 1 --sort write
	[ "$(sed -n 's/^socket 0, channel \([0-9]*\) .*/\1/p' <<<"$output" | paste -sd ' ')" = "$wanted_order" ] || fail "$wanted_order"
	shows $'\nsocket 0 .*\nmachine '
	# The same lines in every order.
	wanted=$(sort <<<"$output")
	for key in place read total share latency; do
		expect 0 "$UNCORE" --source "$SIM_SPR" mem 0.01 1 --sort $key
		[ "$(sort <<<"$output")" = "$wanted" ] || fail "--sort $key"
	done
	answers 2 "'in' is not one of: place, read, write, total, share, latency" mem --sort in
	answers 2 '--sort applies to the tables of mem and pcie' link --sort in
	# One channel has nothing to be compared with, and sockets without channels have none.
	expect 0 "$UNCORE" --source "$SIM_T410" mem 0.01 1
	[[ $output != *IMBALANCE* ]]
}

# What a performance engineer types: each has a command as its answer, or is one.
@test "words of the field are answered with a command" {
	local word plain=${UNCORE_PLAIN:-$UNCORE} commands

	commands=$("$plain" --help)
	for word in watch link temp temperature csv timestamp why nvlink cxl bandwidth bw dram ddr hbm llc l3 qpi upi xgmi infinity mesh \
		iio ddio rdma ib roce ssd disk net nic gpu h100 mi300 c2c grace numa remote socket channel dimm imbalance peak \
		saturated utilization busy who process container pid throttle freq clocks watts energy rapl power pcie5 gen5 lanes \
		width replay aer errors tlp top10 hot record prometheus grafana exporter json jq excel perf pcm likwid latency alert \
		before scaled permission vm interval html event counter pmu kubernetes smmu iotlb mmio occupancy rdt optane snoop \
		node memory nvme hca bottleneck frequency thermal watts speed x16 baseline dashboard log history vmstat iostat; do
		[[ $commands != *$'\n  '"$word "* ]] || continue
		status=0
		stderr=$("$plain" --root "$SPR" "$word" 2>&1) || status=$?
		[ "$status" -eq 2 ] || fail "$word: $status: $stderr"
		[[ $stderr == "uncore: unknown command '$word'; "@(for that use: |did you mean \'|for metrics of that: |for its meaning use: )* &&
			$stderr != *$'\n'* ]] || fail "$word: $stderr"
	done
	answers 2 'for that use: uncore top link$' watch link
	# Words behind it, numbers, and words as options
	answers 2 "^uncore: unknown command 'which'; for that use: uncore pcie --device nvme$" which nvme
	answers 2 "for that use: uncore mem --per-socket$" mem socket1
	answers 2 "^uncore: there is no option --numa; for that use: uncore mem --per-node$" mem --numa 0
	answers 2 "for that use: uncore mem -I 1s --when" mem --alert 80%
	answers 2 "for that use: uncore pcie --device nvme$" pcie --nvme
	answers 2 "for that use: uncore mem --per-channel$" mem --per-dimm
	answers 2 "for that use: uncore mem 2 10$" mem --every 2s
	answers 2 "^uncore: there is no option -i: the interval is -I 2s, or an argument" mem -i 2 -c 10
	answers 2 "^uncore: there is no option -s: one socket is --socket N" mem -s 1
	answers 2 "^uncore: there is no option -T: the time of day is --timestamp" mem -T
	# The name of a format is no file, and a file no format.
	answers 2 "^uncore: -o: 'json' would be the name of a file: for this format write --json, for the file -o ./json$" mem -o json
	answers 2 "'out.csv' is not an interval; to write into this file: -o out.csv$" mem --csv out.csv
	refuses 2 "$UNCORE" mem --csv=out.csv
	says 'to write into a file use -o FILE'
	answers 2 'for that use: uncore pcie -n 10 --csv=wide$' csv pcie
	answers 2 'for that use: uncore record night.db mem$' log mem
	answers 2 "'nvme0' is not an interval; for this device use: uncore pcie nvme0$" mem nvme0
	answers 2 'for this device use: uncore pcie nvme0$' nvme0
}

# suggested: each command of the catalogue's words, once, in a form that ends soon.
suggested() {
	sed -n "s/^    see: uncore //p" "$UNCORE_SOURCE_ROOT/data/names/words.yaml" | sort -u | sed -E '
		s/-n 10/-n 2 -I 10ms/; s/-n 1$/& -I 10ms/; s/-I 1s/-n 1 -I 10ms/; s/COMMAND/true/; s/mem 2 10/mem 0.01 2/
		s/^top$/top -n 1 -I 10ms/; s/^serve$/serve --port 0 --timeout 10ms/; s/^verify$/verify --help/
		s/^record .*$/& -n 1 -I 10ms/; s/^stat$/stat --timeout 10ms/; s/^(--resctrl )?(mem|pcie|link|cache|power|latency|matrix)( --[a-z-]+( (gpu|nic|nvme))?)?$/& --timeout 10ms/'
}

# suggestions_work MACHINE...: the commands that words suggest exist and can be used there.
suggestions_work() {
	local machine line words

	[[ $("$UNCORE" --help) == *' record '*' serve '* ]] || skip 'built without record or serve'
	cd "$BATS_TEST_TMPDIR" || return
	suggested >commands
	[ "$(wc -l <commands)" -ge 25 ] || fail 'too few'
	for machine; do
		rm -f ./*.db
		"$UNCORE" --source "sim:$machine,step=1s" record night.db -n 1 -I 10ms 2>/dev/null
		cp night.db before.db
		cp night.db after.db
		while read -r line; do
			[[ $line != record* ]] || rm night.db
			words=()
			eval "words=($line)"
			# Recordings have their own source.
			[[ $line == @(report|diff)* ]] || words=(--source "sim:$machine,step=1s" "${words[@]}")
			[[ $line != *--resctrl* ]] || words=(--root "$SPR" "${words[@]:2}")
			status=0
			stderr=$(without_waits timeout 60 "$UNCORE" "${words[@]}" 2>&1 >/dev/null </dev/null) || status=$?
			no_sanitizer_report
			[ "$status" -eq 0 ] || { [ "$status" -eq 3 ] && [ -n "$stderr" ]; } || fail "$machine: $line: $status $stderr"
		done <commands
	done
}

@test "the commands that words suggest exist and can be used" {
	suggestions_work spr
}

# bats test_tags=slow
@test "the commands that words suggest exist and can be used on other machines, too" {
	suggestions_work zen4 t410
}

@test "what a filter cannot restrict is answered with what works" {
	local sim=$SIM_SPR

	refuses 3 "$UNCORE" --source "$sim" mem --device nvme0
	says 'does not distinguish root ports; this works here: uncore mem, uncore pcie --device nvme0$'
	expect 0 "$UNCORE" --source "$sim" pcie --device nvme0 --timeout 10ms
	refuses 3 "$UNCORE" --source "$sim" pcie --ddio --device nvme0
	says 'this works here: uncore pcie --ddio, uncore pcie --device nvme0$'
	refuses 3 "$UNCORE" --source "$SIM_ZEN4" pcie --ddio
	says 'nothing on this machine can count it.*; this works here: uncore pcie$'
	refuses 3 "$UNCORE" --source "$sim" latency --device nvme0
	says 'this works here: uncore latency, uncore pcie --device nvme0$'
	refuses 3 "$UNCORE" --source "$sim" stat -M memory.bandwidth --device nvme0 -n 1
	says 'this works here: uncore pcie --device nvme0$'
	refuses 3 "$UNCORE" --source "$sim" record mem --link port0 -o file
	says "cannot be restricted by 'link'; this works here: uncore record mem$"
	refuses 3 "$UNCORE" --source "$sim" link --gpu 0
	says 'this works here: uncore link, uncore pcie --device gpu$'
	refuses 3 "$UNCORE" --source "$SIM_T410" mem --gpu 0
	says 'this works here: uncore mem, uncore link --gpu 0$'
	expect 0 "$UNCORE" --source "$SIM_T410" link --gpu 0 --timeout 10ms
	refuses 3 "$UNCORE" --source "$SIM_ZEN4" pcie --device gpu
	says 'root port .* is not counted: .*; this works here: uncore pcie$'
	refuses 3 "$UNCORE" --source "$sim" pcie --device 'foo*'
	says "has no PCI device 'foo\*'; 'uncore topo' shows its devices$"
}
