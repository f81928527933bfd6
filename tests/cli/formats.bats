#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# CSV that every reader takes, JSON lines without NaN, text that fits; also where values miss.

load helpers

# Counters that work, that do not, and that are scaled: every quality there is.
setup_file() {
	cat >"$BATS_FILE_TMPDIR/mixed.yaml" <<-YAML
		sim: mixed
		machine: spr
		rates:
		  - {pmu: uncore_imc_0, event: "event=0x05,umask=0xcf", constant: 1e8, refuse: EINVAL}
		  - {pmu: uncore_imc, event: "event=0x05,umask=0xcf", constant: 1e8}
		  - {pmu: uncore_imc, event: "event=0x05,umask=0xf0", constant: 1e8, running: 0.5}
		  - {pmu: uncore_imc, event: clockticks, constant: 1e9, running: 0}
		  - {pmu: uncore_m2m, event: event=0x1, constant: 0}
	YAML
}

mixed() {
	cd "$BATS_FILE_TMPDIR" || return 1 # reasons name the file: a short name
	expect 0 "$UNCORE" --source sim:mixed.yaml,step=1s stat --timeout 1 \
		-e 'uncore_imc/event=0x05,umask=0xcf,name=partial/' \
		-e 'uncore_imc/event=0x05,umask=0xf0,name=scaled/' \
		-e 'uncore_imc/clockticks,name=never/' \
		-e 'uncore_m2m/event=0x1,name=zero/' \
		-e 'uncore_upi/event=0x1,name=none/' "$@"
}

# wide ARGUMENT...: the table and the rows of one run are the same.
wide() {
	expect 0 "$UNCORE" "$@" --csv
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/long.csv"
	expect 0 "$UNCORE" "$@" --csv=wide
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/wide.csv"
	helper check-wide "$BATS_TEST_TMPDIR/long.csv" "$BATS_TEST_TMPDIR/wide.csv" || fail "$*"
}

@test "JSON: all qualities with their reasons; null, not 0, for an unknown value" {
	mixed -j
	helper check-rows json N=5 simulated <<<"$output"
	[ "$(jq -s -r 'map(.name + "=" + .quality) | join(" ")' <<<"$output")" = \
		'partial=partial scaled=scaled never=unavailable zero=measured none=unavailable' ] ||
		fail 'the qualities'
	[ "$(jq -c 'select(.name == "never") | [.value, .count, .rate, (.reason | length > 9)]' \
		<<<"$output")" = '[null,null,null,true]' ] || fail 'a counter that never ran'
	[ "$(jq -c 'select(.name == "zero") | [.value == 0, .count == 0, .reason]' \
		<<<"$output")" = '[true,true,null]' ] ||
		fail 'a counter that stood still'
	# 8 counters, half of the time.
	[ "$(jq -c 'select(.name == "scaled") | [.count == 4e8, .value == 8e8, .coverage == 0.5]' \
		<<<"$output")" = '[true,true,true]' ] || fail 'a scaled counter'
	[ "$(jq -c 'select(.name == "partial") | [.count == 7e8, (.reason | length > 9)]' \
		<<<"$output")" = '[true,true]' ] || fail 'a partial sum'
}

@test "CSV: the same columns in each row, an empty cell for an unknown value" {
	mixed --csv
	helper check-rows csv N=5 simulated <<<"$output"
	[ "$(grep -c 'nan\|inf' <<<"$output")" -eq 0 ] || fail 'nan'
	[[ $output =~ ,never,,,,,,, ]] || fail 'a counter that never ran has a value'
}

@test "text: a hyphen and the reason for an unknown value" {
	mixed
	[[ $output =~ never\ +all\ +-\ +unavailable ]] || fail 'a counter that never ran'
	[[ $output =~ scaled\ +all\ +800,000,000\ +scaled\ 50\ % ]] || fail 'a scaled counter'
	[[ $output =~ zero\ +all\ +0\ +measured ]] || fail 'a counter that stood still'
	[ "$(awk 'length > 100' <<<"$output" | wc -l)" -eq 0 ] || fail 'lines of more than 100 columns'
	[ "$(grep -c ' $' <<<"$output")" -eq 0 ] || fail 'lines that end in spaces'
}

@test "the kernel's scale and unit: applied to the value, not to the count" {
	expect 0 "$UNCORE" --source "$SIM_SPR" stat -j --timeout 1 -e uncore_imc/cas_count_read/
	helper check-rows json N=1 <<<"$output"
	# Mebibytes: 64 bytes over 2^20.
	[ "$(jq -c '[.unit, (.value / .count - 6.103515625e-5 | fabs) < 1e-15, .count > 1e9, .rate == .count * 64]' \
		<<<"$output")" = '["MiB",true,true,true]' ] || fail 'the scale'
}

@test "the kernel's counters: CSV and JSON, intervals and totals, every level" {
	local how second=smi

	needs_msr
	[ -e /sys/bus/event_source/devices/msr/events/smi ] || second=tsc
	for how in '' --per-socket --no-merge '-I 10 --interval-count 3 --summary'; do
		# shellcheck disable=SC2086 # words are meant
		expect 0 "$UNCORE" stat -e "{msr/tsc/,msr/$second/}" --timeout 60 $how -j
		helper check-rows json real <<<"$output"
		# shellcheck disable=SC2086 # words are meant
		expect 0 "$UNCORE" stat -e "{msr/tsc/,msr/$second/}" --timeout 60 $how --csv
		helper check-rows csv real <<<"$output"
	done
}

@test "every metric of this machine, in CSV and JSON" {
	needs_msr
	expect 0 "$UNCORE" stat --timeout 20 -j
	helper check-rows json real <<<"$output"
	expect 0 "$UNCORE" stat --timeout 20 --csv
	helper check-rows csv real <<<"$output"
}

@test "names with separators, quotes and odd bytes keep CSV and JSON whole" {
	local name

	for name in 'a"b' 'a;b' $'a\tb' 'ä€' $'a\xffb' 'a b' '"'; do
		run --separate-stderr "$UNCORE" --source "$SIM_T410" stat --timeout 1 --csv \
			-e "nvidia_ucf_pmu_0/cycles,name=$name/"
		no_sanitizer_report
		[ "$status" -eq 0 ] || { [ "$status" -eq 2 ] && continue; } || fail "$name"
		PYTHONIOENCODING=utf-8:surrogateescape helper check-rows csv N=1 <<<"$output"
		expect 0 "$UNCORE" --source "$SIM_T410" stat --timeout 1 -j \
			-e "nvidia_ucf_pmu_0/cycles,name=$name/"
		helper check-rows json N=1 <<<"$output"
		expect 0 "$UNCORE" --source "$SIM_T410" stat --timeout 1 -x ';' \
			-e "nvidia_ucf_pmu_0/cycles,name=$name/"
		PYTHONIOENCODING=utf-8:surrogateescape helper check-rows csv ';' N=1 <<<"$output"
	done
}

@test "control characters are replaced wherever they are in a name" {
	local pad='' control events=() names=() wanted=

	for _ in {1..10}; do
		for control in $'\x01' $'\x1f' $'\x7f' $'\xc2\x9b' $'\xff'; do
			events+=(-e "nvidia_ucf_pmu_0/cycles,name=$pad${control}abcdefgh/")
			wanted+="$pad?abcdefgh "
		done
		pad+=x
	done
	run "$UNCORE" --source "$SIM_T410" stat --timeout 1ms --csv "${events[@]}"
	mapfile -t names < <(cut -d, -f7 <<<"$output" | tail -n +2)
	[ "${names[*]} " = "$wanted" ] || fail "${names[*]@Q}"
}

@test "titles in data files change no word of a place" {
	local case sim

	mkdir "$BATS_TEST_TMPDIR/renamed"
	for case in 'skx intel-imc channel' 'yitian710 alibaba-drw sub-channel' \
		'imx93 nxp-imx93-ddr controller'; do
		# shellcheck disable=SC2086 # words
		set -- $case
		sed 's/^instance: .*/instance: port of a controller of a channel/' "$UNCORE_SOURCE_ROOT/data/$2.yaml" \
			>"$BATS_TEST_TMPDIR/renamed/$2.yaml"
		sim=(--source "sim:$1,step=1s" --data "$BATS_TEST_TMPDIR/renamed" stat -M memory.read.bandwidth --per-channel -I 1s
			--interval-count 1)
		expect 0 "$UNCORE" "${sim[@]}"
		shows "socket 0, $3 0 "
		expect 0 "$UNCORE" "${sim[@]}" --csv=wide
		shows "socket 0 $3 0 "
	done
}

# bats test_tags=slow
@test "--csv=wide: a line for each interval, a column for each metric and place" {
	local command sim count=0

	for command in 'mem --per-channel' 'mem --per-socket' 'mem --from cpu' 'pcie' 'pcie --ddio' link 'matrix' \
		'stat -M * --no-merge' 'stat -M * --per-node' 'stat -M * --per-port' top latency; do
		set -f
		for sim in spr t410 zen4; do
			# shellcheck disable=SC2086 # words are meant
			"$UNCORE" --source "sim:$sim,step=1s" $command -I 1ms --interval-count 1 --csv >/dev/null 2>&1 || continue
			# shellcheck disable=SC2086 # words are meant
			wide --source "sim:$sim,step=1s" $command -I 1ms --interval-count 2
			count=$((count + 1))
		done
		set +f
	done
	[ "$count" -ge 25 ] || fail "only $count of 36 commands"
	wide --source "$SIM_SPR" stat --timeout 1 -e uncore_imc/cas_count_read/,uncore_upi/tx_data/ -A
}

@test "--csv=wide: cells without value are empty, and do not change the quality" {
	mixed --csv=wide
	[[ ${lines[0]} == *',reason,partial (count),scaled (count),never (count),zero (count),none (count)' ]] ||
		fail 'the columns'
	[[ ${lines[1]} == *,700000000,800000000,,0, ]] || fail 'the values'
	[[ $output == *,partial,'partial: '* || $output == *,partial,'"partial: '* ]] || fail 'the quality'
}

@test "--csv=wide: equal events have columns of their own" {
	expect 0 "$UNCORE" --source "$SIM_SPR" stat -I 1ms --interval-count 1 --csv=wide \
		-e uncore_upi_0/tx_data/,uncore_upi_0/tx_data/,uncore_upi_1/tx_data/,uncore_upi_0/tx_data/
	[[ ${lines[0]} == *',uncore_upi_0/tx_data/ (count),uncore_upi_0/tx_data/ (count) #2,uncore_upi_1/tx_data/ (count),uncore_upi_0/tx_data/ (count) #3' ]] ||
		fail 'the columns'
}

@test "--csv=wide: refused with --summary, --append, -r, --sample, --dry-run and -j" {
	local arguments

	for arguments in '-I 1ms --summary' '-o x --append' '-r 2 -- true' '-I 1s --sample 10ms' --dry-run -j; do
		# shellcheck disable=SC2086 # words are meant
		expect 2 "$UNCORE" --source "$SIM_SPR" stat --csv=wide $arguments
		[ -z "$output" ] || fail "$arguments"
	done
	expect 2 "$UNCORE" --source "$SIM_SPR" latency --ibs --csv=wide
	expect 2 "$UNCORE" --source "$SIM_SPR" mem --csv=tall
	[[ $stderr == *"--csv: 'tall' is not wide"* ]] || fail 'the sentence'
}

@test "separators: a tab, a word, and a character of numbers" {
	local separator

	expect 0 "$UNCORE" --source "$SIM_T410" mem --timeout 1 -x '\t'
	helper check-rows csv $'\t' <<<"$output"
	for separator in ';' '|' ' ' '.' '1' ':'; do
		expect 0 "$UNCORE" --source "$SIM_T410" mem --timeout 1 -x "$separator"
		helper check-rows csv "$separator" <<<"$output"
	done
	expect 0 "$UNCORE" --source "$SIM_T410" mem --timeout 1 -x ' <> '
	helper check-rows csv ' <> ' <<<"$output"
}

@test "counts above 2^53 keep every digit in JSON" {
	local file=$BATS_TEST_TMPDIR/large.yaml

	cat >"$file" <<-YAML
		sim: large
		machine: t410
		rates:
		  - {pmu: nvidia_ucf_pmu, event: cycles, constant: 5e13}
	YAML
	expect 0 "$UNCORE" --source "sim:$file,step=1.000000001s" stat -j --timeout 5 -I 1ms \
		--interval-count 1 -e nvidia_ucf_pmu/cycles/ --summary
	helper check-rows json <<<"$output"
	# 5e13 a second for 200.000000007 s, in a window of its own.
	expect 0 "$UNCORE" --source "sim:$file,step=200.000000007s" stat -j --timeout 1 \
		-e nvidia_ucf_pmu/cycles/
	[ "$(grep -o '"count":[0-9]*' <<<"$output")" = '"count":10000000000350000' ] ||
		fail 'digits are lost'
	expect 0 "$UNCORE" --source "sim:$file,step=200.000000007s" stat --csv --timeout 1 \
		-e nvidia_ucf_pmu/cycles/
	[[ $output =~ ,10000000000350000, ]] || fail 'digits are lost'
}

@test "all JSON conforms to the installed schema" {
	local sim command

	for sim in "$SIM_SPR" "$SIM_T410" "$SIM_ZEN4"; do
		set -f
		for command in list topo doctor 'explain *' 'stat -M * --dry-run' 'stat -M * --timeout 1' \
			'stat -M memory.* --per-channel --timeout 1' 'pcie --timeout 1' 'stat -M * --no-merge -I 1ms --interval-count 2 --summary'; do
			# shellcheck disable=SC2086 # words
			expect 0 "$UNCORE" --source "$sim" $command -j
			echo "$output" >"$BATS_TEST_TMPDIR/$sim $command"
		done
		set +f
	done
	helper check-schema "$BATS_TEST_TMPDIR"/sim:* "$GOLDEN"/*.json*
	needs_msr
	expect 0 "$UNCORE" stat -e msr/tsc/ -j --timeout 10
	helper check-schema <<<"$output"
	[ "$(jq -r .host <<<"$output")" = "$(uname -n)" ] || fail 'the name of the host'
	jq -e '.wall_ns * 1 > 1.7e18 and (.date | length) == 24' <<<"$output"
}

# What a reader may rely on must be refused when it is not there.
@test "the schema refuses rows without a member, or with one of another kind" {
	local row

	expect 0 "$UNCORE" --source "$SIM_SPR" stat -j --timeout 1 -M memory.bandwidth
	row=$output
	run -1 helper check-schema <<<"$(jq -c 'del(.wall_ns)' <<<"$row")"
	run -1 helper check-schema <<<"$(jq -c '.quality = "good"' <<<"$row")"
	run -1 helper check-schema <<<"$(jq -c '.date = "yesterday"' <<<"$row")"
	run -1 helper check-schema <<<"$(jq -c '.more = 1' <<<"$row")"
}
