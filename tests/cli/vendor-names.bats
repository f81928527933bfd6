#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Events by their vendors' names. tests/judge/names.py compares all of them with perf's.

load helpers

# words MACHINE EVENT: PMUs and first configuration words that would be opened, sorted.
words() {
	expect 0 "$UNCORE" --root "$1" stat --dry-run -j -e "$2"
	jq -r '"\(.pmu) \(.config[0]) \(.config[1])"' <<<"$output" | sort -uV
}

# opens MACHINE EVENT COUNT PMU WORD WORD: on so many PMUs, this one first.
opens() {
	local found

	found=$(words "$1" "$2")
	[ "$(head -n1 <<<"$found")" = "$4 $5 $6" ] || fail "$2: $found"
	[ "$(wc -l <<<"$found")" -eq "$3" ] || fail "$2: $found"
}

@test "vendors' names on five machines, on every PMU that has them" {
	opens "$SPR" UNC_M_CAS_COUNT.RD 8 uncore_imc_0 0xcf05 0x0
	opens "$SPR" UNC_CHA_TOR_INSERTS.IA_MISS_DRD 8 uncore_cha_0 0xc817fe00000135 0x0
	opens "$MACHINES/intel-icx-1socket.txt" UNC_M_CAS_COUNT.RD 8 uncore_imc_0 0xf04 0x0
	opens "$MACHINES/intel-ivt-1socket.txt" UNC_Q_TxL_FLITS_G0.DATA 2 uncore_qpi_0 0x200 0x0
	opens "$MACHINES/intel-ivt-1socket.txt" UNC_P_POWER_STATE_OCCUPANCY.CORES_C6 1 uncore_pcu 0xc080 0x0
	opens "$MACHINES/intel-skx-1socket.txt" UNC_IIO_DATA_REQ_OF_CPU.MEM_READ.PART1 6 uncore_iio_0 0x702000000483 0x0
	opens "$MACHINES/amd-zen4-1socket.txt" umc_cas_cmd.rd 12 amd_umc_0 0x10a 0x0
}

@test "metrics that docs/judges.md leaves out can be counted by the vendor's names there" {
	local event machine count=0

	while read -r event machine; do
		[ "$machine" != - ] || continue
		expect 0 "${UNCORE_PLAIN:-$UNCORE}" --source "sim:$machine" stat --dry-run -j -e "$event"
		count=$((count + 1))
	done < <(awk -F'|' '/^## / { there = $0 == "## Left out" } there && /^\| / && !/^\| quantity/ {
		gsub(/[` ]/, "", $4); gsub(/ /, "", $5); print $4, $5 }' "$UNCORE_SOURCE_ROOT/docs/judges.md")
	[ "$count" -ge 10 ]
}

@test "names in any case, with one PMU, with further terms" {
	opens "$SPR" unc_m_cas_count.rd 8 uncore_imc_0 0xcf05 0x0
	opens "$SPR" imc/UNC_M_CAS_COUNT.rd/ 8 uncore_imc_0 0xcf05 0x0
	opens "$SPR" uncore_imc_3/UNC_M_CAS_COUNT.RD/ 1 uncore_imc_3 0xcf05 0x0
	opens "$SPR" imc_3/unc_m_cas_count.rd,umask=0xc1/ 1 uncore_imc_3 0xc105 0x0
}

@test "the stepping distinguishes Cascade Lake from Skylake" {
	local machine=$BATS_TEST_TMPDIR/machine

	unpack "$MACHINES/intel-skx-1socket.txt" "$machine"
	sed -i 's/^\(stepping[[:space:]]*:\).*/\1 4/' "$machine/proc/cpuinfo"
	expect 3 "$UNCORE" --root "$machine" stat --dry-run -e UNC_M_PMM_RPQ_INSERTS
	sed -i 's/^\(stepping[[:space:]]*:\).*/\1 7/' "$machine/proc/cpuinfo"
	opens "$machine" UNC_M_PMM_RPQ_INSERTS 6 uncore_imc_0 0xe3 0x0
	sed -i 's/^\(stepping[[:space:]]*:\).*/\1 unknown/' "$machine/proc/cpuinfo" # as the kernel writes it
	expect 3 "$UNCORE" --root "$machine" stat --dry-run -e UNC_M_CLOCKTICKS
}

@test "an unknown name gets the nearest ones" {
	expect 3 "$UNCORE" --root "$SPR" stat --dry-run -e UNC_CHA_TOR_INSERTS.IA_MIS_DRD
	says 'did you mean UNC_CHA_TOR_INSERTS.IA_MISS_DRD'
	expect 2 "$UNCORE" --root "$SPR" stat --dry-run -e imc/unc_m_cas_cout.rd/
	says 'did you mean UNC_M_CAS_COUNT.RD'
}

@test "list events shows vendors' names only with a pattern" {
	expect 0 "$UNCORE" --root "$SPR" list events tor_inserts
	shows 'uncore_cha/UNC_CHA_TOR_INSERTS.IA_MISS_DRD/ +vendor'
	expect 0 "$UNCORE" --root "$SPR" list events --all
	[ "$(grep -c ' vendor' <<<"$output")" -gt 1900 ]
	expect 0 "$UNCORE" --root "$SPR" list events
	[ "$(grep -c ' vendor' <<<"$output")" -eq 0 ]
	expect 0 "$UNCORE" --root "$SPR" list -j events unc_m_cas_count.wr
	[ "$(jq -c '.pmus[] | select(.name == "uncore_imc_0").events[] |
		select(.name == "UNC_M_CAS_COUNT.WR") | [.terms, .evidence]' <<<"$output")" = \
		'["event=0x5,umask=0xf0","linux pmu-events"]' ]
}

# A copy of the vendor's JSON, as small as can be: $1/mapfile.csv and a file of events of the two CPUs.
make_perfmon() {
	mkdir -p "$1/SPR" "$1/linux"
	cat >"$1/mapfile.csv" <<-'EOF'
		Family-model,Version,Filename,EventType
		GenuineIntel-6-8F,V1,/SPR/core.json,core,,,
		GenuineIntel-6-8F,V1,/SPR/uncore.json,uncore,,,
		GenuineIntel-6-55-[01234],V1,linux,core
	EOF
	cat >"$1/SPR/uncore.json" <<-'EOF'
		{"Header": {"Info": "made up"}, "Events": [
		{"Unit": "CHA", "EventCode": "0x35", "UMask": "0x01", "UMaskExt": "0xC817FE", "PortMask": "0x00", "Filter": "na",
		 "EventName": "UNC_CHA_MADE_UP.ONE", "BriefDescription": "words of the vendor", "CounterType": "PGMABLE"},
		{"Unit": "iMC", "EventCode": "0xff", "UMask": "0x20", "EventName": "UNC_M_FREE", "CounterType": "FREERUN"},
		{"Unit": "IIO", "EventCode": "0x83,0x84", "UMask": "0x04", "PortMask": "0x0002", "FCMask": "0x07", "ExtSel": "0",
		 "EventName": "UNC_IIO_MADE_UP"}]}
	EOF
	echo '[{"Unit": "CHA", "EventCode": "0x35", "UMask": "0x21", "EventName": "UNC_CHA_OTHER", "Filter": "thresh=0x2"}]' \
		>"$1/linux/uncore-cache.json"
}

@test "--perfmon: names and descriptions of the user's copy, by mapfile.csv or of one directory" {
	local dir=$BATS_TEST_TMPDIR/perfmon

	make_perfmon "$dir"
	expect 0 "$UNCORE" --root "$SPR" --perfmon "$dir" list events UNC_
	shows 'uncore_cha/UNC_CHA_MADE_UP.ONE/ +vendor' 'words of the vendor' 'uncore_iio/UNC_IIO_MADE_UP/'
	[ "$(grep -c ' vendor' <<<"$output")" -eq 2 ]
	expect 0 "$UNCORE" --root "$SPR" --perfmon "$dir" stat --dry-run -j -e unc_cha_made_up.one,UNC_IIO_MADE_UP
	[ "$(jq -r '.config[0]' <<<"$output" | sort -u | xargs)" = '0x7002000000483 0xc817fe00000135' ]
	expect 0 "$UNCORE" --root "$MACHINES/intel-skx-1socket.txt" --perfmon "$dir/linux" stat --dry-run -j -e unc_cha_other
	[ "$(jq -r '.config[0]' <<<"$output" | sort -u)" = 0x2002135 ]
}

@test "--perfmon: patterns that would exhaust stack or memory, and invalid files" {
	local dir=$BATS_TEST_TMPDIR/perfmon open

	make_perfmon "$dir"
	open=$(printf '(%.0s' {1..20000})
	for pattern in "$open" 'a{255}{255}{255}' '['; do
		printf 'Family-model,Version,Filename,EventType\n%s,V1,/a.json,uncore\n' "$pattern" >"$dir/mapfile.csv"
		refuses 1 "$UNCORE" --root "$SPR" --perfmon "$dir" list
		says 'perfmon/mapfile.csv:2: .* is no pattern of CPU models'
	done
	rm "$dir/mapfile.csv"
	mkfifo "$dir/mapfile.csv"
	refuses 1 timeout 20 "$UNCORE" --root "$SPR" --perfmon "$dir" list
	says 'perfmon/mapfile.csv: not a regular file'
	rm "$dir/mapfile.csv"
	mkfifo "$dir/x.json"
	refuses 1 timeout 20 "$UNCORE" --root "$SPR" --perfmon "$dir" list
	says 'perfmon/x.json: not a regular file'
}

@test "--perfmon: an event with a long name, one with long terms, one without a name" {
	local dir=$BATS_TEST_TMPDIR/perfmon long terms

	mkdir "$dir"
	long=UNC_CHA_$(printf 'A%.0s' {1..600})
	terms=$(printf 'thresh=0x2,%.0s' {1..60})inv=0x1
	cat >"$dir/cha.json" <<-EOF
		[{"Unit": "CHA", "EventCode": "0x35", "UMask": "0x01", "EventName": "UNC_CHA_FIRST", "Filter": "$terms"},
		{"Unit": "CHA", "EventCode": "0x36", "UMask": "0x02", "EventName": ""},
		{"Unit": "CHA", "EventCode": "0x37", "UMask": "0x04", "EventName": "$long"}]
	EOF
	expect 0 "$UNCORE" --root "$SPR" --perfmon "$dir" list -j events UNC_
	jq -e --arg long "$long" --arg terms "$terms" '[.pmus[] | select(.name == "uncore_cha_0").events[] |
		select(.name | startswith("UNC_")) | [.name, .terms]] ==
		[[$long, "event=0x37,umask=0x4"], ["UNC_CHA_FIRST", "event=0x35,umask=0x1," + $terms]]' <<<"$output"
}

@test "--perfmon: no events for this CPU, no such directory, no JSON" {
	local dir=$BATS_TEST_TMPDIR/perfmon

	make_perfmon "$dir"
	expect 3 "$UNCORE" --root "$MACHINES/intel-icx-1socket.txt" --perfmon "$dir" list events
	says 'has no uncore events for this CPU \(GenuineIntel-6-6A-'
	expect 1 "$UNCORE" --root "$SPR" --perfmon "$dir/none" list events
	says 'none: No such file'
	echo '{' >"$dir/SPR/uncore.json"
	expect 1 "$UNCORE" --root "$SPR" --perfmon "$dir" list events
	says 'uncore.json:'
}
