#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Memory or file descriptors run out: the command fails, and prints why.

load helpers

# bats test_tags=slow
@test "status 0 means complete output, whichever allocation fails" {
	[ -n "${UNCORE_FAIL_ALLOC-}" ] || skip 'UNCORE_FAIL_ALLOC names no library'
	# By hand: UNCORE_FAIL_COUNT=5000
	expect 0 helper allocations "${UNCORE_FAIL_COUNT:-200}"
}

@test "registers are restored, whichever allocation fails while counting" {
	[ -n "${UNCORE_FAIL_ALLOC-}" ] || skip 'UNCORE_FAIL_ALLOC names no library'
	expect 0 helper allocations 120 "$BATS_TEST_TMPDIR"
}

@test "file descriptors that run out are the reason" {
	local uncore=${UNCORE_PLAIN:-$UNCORE}
	local few=(bash -c 'exec prlimit --nofile=4 "$@" 3>&- 4>&-' few)

	for command in list doctor 'topo -j' 'stat --timeout 10ms'; do
		# shellcheck disable=SC2086 # several words
		refuses 1 "${few[@]}" "$uncore" $command
		says 'out of file descriptors: .*ulimit -n'
	done
	refuses 1 "${few[@]}" "$uncore" --root "$SPR" list
	says 'Too many open files'
}
