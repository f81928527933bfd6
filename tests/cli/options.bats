#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Options and arguments: what is refused, and what does what perf's users expect.

load helpers

stat_refuses() {
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run "$@"
}

@test "an unknown command: exit 2, and the nearest one" {
	refuses 2 "$UNCORE" stats
	says "^uncore: unknown command 'stats'; did you mean 'stat'\?$"
	refuses 2 "$UNCORE" mme
	says "did you mean 'mem'"
	refuses 2 "$UNCORE" explian
	says "did you mean 'explain'"
	# "record" has more mistakes.
	refuses 2 "$UNCORE" repor
	says "did you mean 'report'"
	refuses 2 "$UNCORE" frobnicate
	says "unknown command 'frobnicate'; commands: stat, top, .*, matrix$"
}

@test "an unknown option: exit 2" {
	refuses 2 "$UNCORE" --frobnicate
	refuses 2 "$UNCORE" stat --frobnicate
	says frobnicate
	refuses 2 "$UNCORE" list --frobnicate
	refuses 2 "$UNCORE" mem --frobnicate
}

@test "an option without its argument: exit 2" {
	refuses 2 "$UNCORE" stat -e
	refuses 2 "$UNCORE" --root
}

@test "options that may be given only once: exit 2, naming both values" {
	refuses 2 "$UNCORE" --source regs:generic-pmon --source kernel stat 1 1
	says "--source is given twice: 'regs:generic-pmon' and 'kernel'"
	refuses 2 "$UNCORE" --source kernel list --source sim:t410
	says "'kernel' and 'sim:t410'"
	refuses 2 "$UNCORE" --root "$SPR" stat --dry-run --root "$T410"
	says '--root is given twice' "$SPR" "$T410"
	stat_refuses -e uncore_imc_0/event=1/ -o one -o two
	says "-o is given twice: 'one' and 'two'"
	refuses 2 "$UNCORE" --memory-peak 1GB/s list --memory-peak 2GB/s
	says '--memory-peak is given twice'
	stat_refuses -I 1s -I 2s
	says "-I is given twice: '1s' and '2s'"
	stat_refuses --timeout 1s --timeout=2s
	stat_refuses -I 1s --interval-count 2 --interval-count 3
	stat_refuses -r 2 -r 3 -- true
	stat_refuses -D 1 -D 2
	stat_refuses -x , -x ';'
	refuses 2 "$UNCORE" demo-block --width 64 --width 32 "$BATS_TEST_TMPDIR/none"
}

@test "--help prints to standard output and exits with 0, for every command" {
	local command

	expect 0 "$UNCORE" --help
	shows list stat explain doctor mem pcie link cache
	for command in list stat explain doctor mem pcie link cache; do
		expect 0 "$UNCORE" "$command" --help
		[ -n "$output" ] && [ -z "$stderr" ] || fail "$command --help"
		shows "$command" --root --source --help
	done
}

@test "--version" {
	expect 0 "$UNCORE" --version
	[[ $output =~ ^uncore\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "invalid intervals: 0, negative, too short, not a number, too long" {
	local interval

	for interval in 0 -1 1us 999us 1e99 1e3 nan inf x '' 10x 0x10 '1 s' 99999999999999999999; do
		stat_refuses -e uncore_imc_0/event=1/ -I "$interval"
		says "-I|'$interval'"
	done
}

@test "invalid counts: --interval-count, -r, COUNT" {
	local count

	for count in 0 -1 x '' 1.5 99999999999; do
		stat_refuses -e uncore_imc_0/event=1/ -I 10 --interval-count "$count"
		says interval-count
		stat_refuses -e uncore_imc_0/event=1/ -r "$count" -- true
		says '-r'
	done
	stat_refuses -e uncore_imc_0/event=1/ 1 0
	says COUNT
	stat_refuses -e uncore_imc_0/event=1/ 1 2 3
	stat_refuses -e uncore_imc_0/event=1/ 0
	says INTERVAL
}

# lax OPTION VALUE... -- COMMAND...: each value is refused with the name of the option.
lax() {
	local option=$1 values=() value

	shift
	while [ "$1" != -- ]; do
		values+=("$1")
		shift
	done
	shift
	for value in "${values[@]}"; do
		refuses 2 "${UNCORE_PLAIN:-$UNCORE}" "$@" "$option=$value"
		[[ $stderr == *"$option: '$value' "* || $stderr == *"-I: '$value' "* ]] || fail "$option=$value"
	done
}

@test "durations, sizes, rates and counts are plain decimal numbers" {
	local number=(1.2.3 nan inf 1e400 0x10 +-1 ' 1' 1. '' 99999999999999999999999999999999999999999999999)
	local times=("${number[@]/%/s}" 1e400 0x10 '' '5 s' 5m) sizes=("${number[@]/%/MB}" 0x10 '' 5) option

	for option in --interval-print --timeout --sample; do
		lax $option "${times[@]}" -- stat -e uncore_imc_0/event=1/
	done
	lax --interval-count "${number[@]}" 1.5 -- stat -e uncore_imc_0/event=1/
	lax --above "${number[@]}" 1.5 -- stat -e uncore_imc_0/event=1/
	lax --memory-peak "${number[@]/%/GB/s}" 0x10 '' 5 5GB -- topo
	lax --min-latency "${number[@]}" 1.5 -- latency --ibs
	lax --timeout "${times[@]}" -- latency
	if [[ $("$UNCORE" --help) == *' record '* ]]; then
		for option in --rotate-age --flight --after; do
			lax $option "${times[@]}" -- record -o "$BATS_TEST_TMPDIR/f" mem
		done
		lax --rotate-size "${sizes[@]}" -- record -o "$BATS_TEST_TMPDIR/f" mem
		lax --keep "${number[@]}" 1.5 -- record -o "$BATS_TEST_TMPDIR/f" mem
	fi
	if [[ $("$UNCORE" --help) == *' serve '* ]]; then
		lax --otlp-interval "${times[@]}" -- serve mem
		lax --textfile-interval "${times[@]}" -- serve mem
	fi
	lax --time "${times[@]}" -- verify
	lax --memory "${sizes[@]}" -- verify
	lax --rate "${number[@]}" 1.5 -- demo-block "$BATS_TEST_TMPDIR/none"
	lax --timeout "${times[@]}" -- demo-block "$BATS_TEST_TMPDIR/none"
	for option in 1.2.3s 1e3s nans infs 0x10 +1s -1s '1 s' 1m 0s ''; do
		refuses 2 "$UNCORE" --source "sim:spr,step=$option" list
		says "step must be a duration such as 20ms or 1s, not '"
	done
	expect 0 "$UNCORE" --root "$SPR" stat --dry-run -M memory.bandwidth -I 1d
	expect 0 "$UNCORE" --root "$SPR" stat --dry-run -M memory.bandwidth -I .5s
	refuses 2 "$UNCORE" --root "$SPR" stat -M memory.bandwidth -I 1s --sample 50us
	says "--sample: '50us' is shorter than 100 us"
}

@test "options that do not go together" {
	refuses 2 "$UNCORE" --root "$T410" --source sim:t410 list
	stat_refuses -e uncore_imc_0/event=1/ -j --csv
	stat_refuses -e uncore_imc_0/event=1/ --per-socket --no-merge
	stat_refuses -e uncore_imc_0/event=1/ --append
	stat_refuses -e uncore_imc_0/event=1/ -r 3
}

@test "invalid separators" {
	local separator

	for separator in '' '"' $'\n' 12345678901234567; do
		refuses 2 "$UNCORE" --root "$SPR" stat -e uncore_imc_0/event=1/ -x "$separator"
	done
}

@test "-- without a command: exit 2" {
	stat_refuses -e uncore_imc_0/event=1/ --
	says --
}

@test "--root: no such directory, a file, an empty directory" {
	refuses 2 "$UNCORE" --root /nonexistent list
	says /nonexistent
	refuses 2 "$UNCORE" --root /etc/passwd list
	says /etc/passwd
	mkdir "$BATS_TEST_TMPDIR/empty"
	refuses 3 "$UNCORE" --root "$BATS_TEST_TMPDIR/empty" list pmus
	says sys/devices/system/cpu
}

@test "--source: no such source, no such simulation, a broken one" {
	refuses 2 "$UNCORE" --source frobnicate list
	says frobnicate kernel sim
	refuses 2 "$UNCORE" --source sim:t411 list
	says t411 t410
	refuses 2 "$UNCORE" --source sim:t410,step=0 list
	refuses 2 "$UNCORE" --source sim:t410,stop=1s list
	refuses 2 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/none.yaml" list
	says none.yaml
}

@test "--data with a broken file: file:line:col" {
	local dir=$BATS_TEST_TMPDIR/data

	mkdir "$dir"
	printf 'family: broken\ntitle: Broken\nfrobnicate: 1\n' >"$dir/broken.yaml"
	refuses 1 "$UNCORE" --root "$SPR" --data "$dir" list metrics
	says 'broken\.yaml:3:1' frobnicate
	printf 'family: broken\n  title: [\n' >"$dir/broken.yaml"
	refuses 1 "$UNCORE" --root "$SPR" --data "$dir" list metrics
	says 'broken\.yaml:[0-9]+:[0-9]+'
	: >"$dir/broken.yaml"
	refuses 1 "$UNCORE" --root "$SPR" --data "$dir" list metrics
	says 'broken\.yaml'
	refuses 2 "$UNCORE" --data /nonexistent list metrics
	says /nonexistent
}

@test "--data replaces a built-in family of the same name" {
	local dir=$BATS_TEST_TMPDIR/data

	mkdir "$dir"
	sed 's/DRAM read bandwidth/Another title/' "$UNCORE_SOURCE_ROOT/data/intel-imc.yaml" \
		>"$dir/intel-imc.yaml"
	expect 0 "$UNCORE" --root "$SPR" --data "$dir" list --json metrics memory.read.bandwidth
	shows 'Another title'
}

@test "no decimal commas in any locale" {
	local here

	# A locale of our own: nothing but a comma.
	printf 'LC_NUMERIC\ndecimal_point ","\nthousands_sep "."\ngrouping 3;3\nEND LC_NUMERIC\n' \
		>"$BATS_TEST_TMPDIR/source"
	unset LC_ALL
	export LOCPATH=$BATS_TEST_TMPDIR
	localedef -c -i "$LOCPATH/source" -f UTF-8 "$LOCPATH/commas" >/dev/null 2>&1 || true
	[ -d "$LOCPATH/commas" ] || skip 'localedef cannot make a locale here'
	[ "$(LC_NUMERIC=commas bash -c 'printf %.1f 1')" = 1,0 ] || skip 'the locale does not work'

	expect 0 "$UNCORE" --source "$SIM_T410" mem --timeout 1
	here=$output
	export LC_NUMERIC=commas
	expect 0 "$UNCORE" --source "$SIM_T410" mem --timeout 1
	[ "$output" = "$here" ] || fail 'the locale changes the text' "$here"
	expect 0 "$UNCORE" --source "$SIM_T410" mem --timeout 1 -j
	helper check-rows json <<<"$output"
	expect 0 "$UNCORE" --source "$SIM_T410" mem --timeout 1 --csv
	helper check-rows csv <<<"$output"
	expect 0 "$UNCORE" --source sim:t410,step=0.5s mem -j -I 0.05s --interval-count 1
	[ "$(jq -s '.[0].interval' <<<"$output")" = 0.5 ] || fail 'the step was not read'
}

@test "the time zone and a locale that does not exist change nothing" {
	expect 0 "$UNCORE" --source "$SIM_T410" mem --timeout 1 -j
	local here=$output

	expect 0 env TZ=Pacific/Auckland LC_ALL=xx_XX.UTF-8 LANG=xx "$UNCORE" \
		--source "$SIM_T410" mem --timeout 1 -j
	[ "$output" = "$here" ]
}

@test "options may stand before and after the command's name" {
	expect 0 "$UNCORE" --root "$SPR" list pmus
	local before=$output

	expect 0 "$UNCORE" list --root "$SPR" pmus
	[ "$output" = "$before" ]
	expect 0 "$UNCORE" list pmus --root "$SPR"
	[ "$output" = "$before" ]
	expect 0 "$UNCORE" --memory-peak 300GB/s stat --source "$SIM_SPR" -j --timeout 1 -M memory.bandwidth
	wanted=$output
	expect 0 "$UNCORE" stat --memory-peak 300GB/s --source "$SIM_SPR" -j --timeout 1 -M memory.bandwidth
	[ "$output" = "$wanted" ]
	shows '"ceiling":300000000000'
}

@test "help [COMMAND] is --help" {
	local help

	expect 0 "$UNCORE" --help
	help=$output
	expect 0 "$UNCORE" help
	[ "$output" = "$help" ]
	expect 0 "$UNCORE" help help
	[ "$output" = "$help" ]
	expect 0 "$UNCORE" pcie --help
	[[ ! $output =~ headline ]]
	help=$output
	expect 0 "$UNCORE" help pcie
	[ "$output" = "$help" ]
	# Not the words with which the command chooses among patterns.
	[[ ! $output =~ ,else|else, ]]
	refuses 2 "$UNCORE" help nonsense
	says "unknown command 'nonsense'"
	refuses 2 "$UNCORE" help mem pcie
}

@test "a mistyped argument of a preset is not run as a command" {
	local command

	for command in mem link cache matrix; do
		refuses 2 "$UNCORE" "$command" abc
		says "uncore $command: 'abc' is not an interval; put -- before a command"
	done
	expect 0 "$UNCORE" --source "$SIM_SPR" mem -- true
}

@test "latency takes INTERVAL, COUNT and --per-socket" {
	expect 0 "$UNCORE" --source "$SIM_T410" latency 0.01 3 --per-socket -j
	[ "$(jq -r 'select(.name == "memory.read.latency") | .socket' <<<"$output" | paste -s -d ' ')" = 'null 0 1 null 0 1 null 0 1' ]
	refuses 2 "$UNCORE" latency abc
	refuses 2 "$UNCORE" latency --ibs --per-socket
}
