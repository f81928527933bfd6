#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore explain` of what this machine has not; tests/golden has what it has.

load helpers

@test "a metric of other machines: exit 3, where to look here, and which families have it" {
	local form

	for form in '' -j; do
		refuses 3 "$UNCORE" --source "$SIM_T410" explain $form memory.utilization
		says 'nothing on this machine' "machine: uncore list metrics 'memory\.\*'" \
			'families that have it.*: amd-umc, intel-imc, intel-knl-imc'$
		[ "$(wc -l <<<"$stderr")" -eq 3 ]
	done
}

@test "a pattern of other machines: nothing is like it here" {
	refuses 3 "$UNCORE" --source "$SIM_T410" explain 'power.*'
	says 'nothing on this machine' 'intel-pcu, intel-qpi, intel-upi, power'
	[[ ! $stderr =~ related ]]
}

@test "FAMILY/METRIC of another machine is explained, without encodings" {
	expect 0 "$UNCORE" --source "$SIM_T410" explain intel-knl-imc/memory.utilization
	shows 'family +intel-knl-imc' 'missing +.*not for this CPU model'
	[[ ! $output =~ 'intel-imc' ]]
}

@test "an event of the catalogue, of the driver, and of neither" {
	expect 0 "$UNCORE" --root "$SPR" explain uncore_imc/cas_rd/
	shows 'uncore_imc/cas_rd/: DRAM read' 'family +intel-imc' 'terms +event=0x05,umask=0xcf' \
		'evidence .*cas_count_read' "perf .*'uncore_imc/event=0x05,umask=0xcf,name=cas_rd/'"
	expect 0 "$UNCORE" --root "$SPR" explain -j uncore_imc_0/cas_count_read/
	[ "$(jq -r '.events[0] | .unit, .pmu_count, .evidence' <<<"$output")" = $'MiB\n8\nnull' ]
	refuses 2 "$UNCORE" --root "$SPR" explain uncore_imc/cas_rdd/
	says 'did you mean cas_rd'
	refuses 3 "$UNCORE" --root "$SPR" explain uncore_imc/event=0x5/
	says 'neither the driver nor the catalogue'
}

@test "a name that exists nowhere: exit 2, and the nearest" {
	refuses 2 "$UNCORE" --source "$SIM_T410" explain memory.utilizatio
	says 'did you mean memory.utilization'
}
