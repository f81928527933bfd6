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

@test "names on five machines, on every PMU that has them" {
	opens "$SPR" UNC_M_CAS_COUNT.RD 8 uncore_imc_0 0xcf05 0x0
	opens "$SPR" UNC_CHA_TOR_INSERTS.IA_MISS_DRD 8 uncore_cha_0 0xc817fe00000135 0x0
	opens "$MACHINES/intel-icx-1socket.txt" UNC_M_CAS_COUNT.RD 12 uncore_imc_0 0xf04 0x0
	opens "$MACHINES/intel-ivt-1socket.txt" UNC_Q_TxL_FLITS_G0.DATA 2 uncore_qpi_0 0x200 0x0
	opens "$MACHINES/intel-ivt-1socket.txt" UNC_P_POWER_STATE_OCCUPANCY.CORES_C6 1 uncore_pcu 0xc080 0x0
	opens "$MACHINES/intel-skx-1socket.txt" UNC_IIO_DATA_REQ_OF_CPU.MEM_READ.PART1 6 uncore_iio_0 0x702000000483 0x0
	opens "$MACHINES/amd-zen4-1socket.txt" umc_cas_cmd.rd 12 amd_umc_0 0x10a 0x0
}

@test "any case, one PMU, further terms" {
	opens "$SPR" unc_m_cas_count.rd 8 uncore_imc_0 0xcf05 0x0
	opens "$SPR" imc/UNC_M_CAS_COUNT.rd/ 8 uncore_imc_0 0xcf05 0x0
	opens "$SPR" uncore_imc_3/UNC_M_CAS_COUNT.RD/ 1 uncore_imc_3 0xcf05 0x0
	opens "$SPR" imc_3/unc_m_cas_count.rd,umask=0xc1/ 1 uncore_imc_3 0xc105 0x0
}

@test "the stepping tells Cascade Lake from Skylake" {
	local machine=$BATS_TEST_TMPDIR/machine

	unpack "$MACHINES/intel-skx-1socket.txt" "$machine"
	sed -i 's/^\(stepping[[:space:]]*:\).*/\1 4/' "$machine/proc/cpuinfo"
	expect 3 "$UNCORE" --root "$machine" stat --dry-run -e UNC_M_PMM_RPQ_INSERTS
	sed -i 's/^\(stepping[[:space:]]*:\).*/\1 7/' "$machine/proc/cpuinfo"
	opens "$machine" UNC_M_PMM_RPQ_INSERTS 6 uncore_imc_0 0xe3 0x0
}

@test "an unknown name gets the nearest ones" {
	expect 3 "$UNCORE" --root "$SPR" stat --dry-run -e UNC_CHA_TOR_INSERTS.IA_MIS_DRD
	says 'did you mean UNC_CHA_TOR_INSERTS.IA_MISS_DRD'
	expect 2 "$UNCORE" --root "$SPR" stat --dry-run -e imc/unc_m_cas_cout.rd/
	says 'did you mean UNC_M_CAS_COUNT.RD'
}

@test "list events finds them by a part of the name, and leaves them out without one" {
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
