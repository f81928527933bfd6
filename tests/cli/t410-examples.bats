#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Every command of the kernel's nvidia-tegra410-pmu.rst, with uncore in the place of perf, must come to
# the configuration words that the driver expects. t410-examples.txt has both.

load helpers

TWO=$MACHINES/nvidia-t410-2socket.txt
EXAMPLES=$BATS_TEST_DIRNAME/t410-examples.txt

# encodes COMMAND WORDS: a line for each counter, in order, all in one group.
encodes() {
	local argv found

	eval "argv=($1)"
	expect 0 "$UNCORE" --root "$TWO" stat --dry-run -j "${argv[@]:2}" || return 1
	found=$(jq -r '"\(.pmu) \(.config[:3] | join(" "))"' <<<"$output")
	[ "$found" = "$2" ] || fail "$1 should be" "$2" || return 1
	[ "$(jq -s -c 'map(.config[3]) | unique' <<<"$output")" = '["0x0"]' ] || fail 'config3' ||
		return 1
	[ "$(jq -r .group <<<"$output" | sort -u | wc -l)" -eq 1 ] || fail 'more than one group' ||
		return 1
	[ "$(jq -s -c 'map(.leader) | [.[0], any(.[1:][]; .)]' <<<"$output")" = '[true,false]' ] ||
		fail 'the first counter must lead its group, and no other'
}

# All 20 are there: how many the document has for each kind of PMU.
@test "none is left out" {
	[ "$(sed -n 's/^perf stat -a -e [^a-z]*nvidia_\([a-z0-9_]*\)_pmu_.*/\1/p' "$EXAMPLES" | uniq -c | tr -s ' \n' ' ')" = \
		' 3 ucf 5 pcie 2 pcie_tgt 1 cmem_latency 6 nvlink_c2c 2 nvclink 1 nvdlink ' ]
	[ "$(grep -c '^[^#	]' "$EXAMPLES")" -eq 20 ]
}

@test "each is encoded as the driver wants it" {
	local command='' words='' line count=0

	while IFS= read -r line; do
		case $line in
		'#'*) continue ;;
		$'\t'*)
			words+=${words:+$'\n'}${line#$'\t'}
			continue
			;;
		esac
		[ -z "$command" ] || encodes "$command" "$words"
		command=$line words='' count=$((count + 1))
	done < <(cat "$EXAMPLES" && echo end)
	[ "$count" -eq 21 ]
}
