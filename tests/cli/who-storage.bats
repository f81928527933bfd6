#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore who` without resctrl on this machine. who.bats has made files, tests/unit/test-who-usage.c processes that end, and GPUs.

load helpers

@test "three processes write 32 MiB each with O_DIRECT: their sums, and the disk's own count" {
	local dir=$BATS_TEST_TMPDIR pid i written

	[ "$(stat -f -c %T "$dir")" != tmpfs ] || skip 'the directory of the test is in memory'
	dd if=/dev/zero of="$dir/probe" bs=1M count=1 oflag=direct 2>/dev/null || skip 'no O_DIRECT here'
	"$UNCORE" who -I 200ms -j >"$dir/out" 2>/dev/null &
	pid=$!
	for ((i = 0; i < 100; i++)); do [ -s "$dir/out" ] && break; sleep 0.05; done
	[ -s "$dir/out" ] || skip 'nothing is counted here'
	for i in 1 2 3; do
		bash -c 'dd if=/dev/zero of="$1" bs=1M count=32 oflag=direct 2>/dev/null; sleep 0.5; :' dd-parent "$dir/$i" &
	done
	wait %2 %3 %4
	sleep 0.4
	kill "$pid"
	wait "$pid" || true
	# Bytes of each dd and of the shell that waited for it: each byte once.
	written=$(jq -s 'map(select(.name == "task.storage.write.bandwidth" and (.names // "" | test("^(dd|bash) "))) | .value * .interval) |
		add' "$dir/out")
	awk -v w="$written" 'BEGIN { e = 3 * 32 * 1048576; exit !(w > e * 0.9 && w < e * 1.15) }' || fail "$written"
	# The disk has them, too, and what others wrote.
	jq -es --argjson w "$written" 'map(select(.name == "storage.write.bandwidth") | .value * .interval) | add // $w | . > 0.85 * $w' \
		"$dir/out" || fail
}

@test "in a PID namespace: what processes outside of it do is not seen, and 'other' says so" {
	"$UNCORE" who -I 100ms -n 1 -j >"$BATS_TEST_TMPDIR/out" 2>/dev/null || skip 'nothing is counted here'
	unshare -Urpf --mount-proc true || skip 'no namespaces here'
	if [ "$(stat -Lc %i /proc/self/ns/pid)" = $((0xEFFFFFFC)) ]; then
		! grep 'PID namespace' "$BATS_TEST_TMPDIR/out" || fail
	fi
	expect 0 unshare -Urpf --mount-proc "$UNCORE" who -I 100ms -n 1 -j
	jq -es 'any(.[]; .role == "other" and .quality != "measured" and (.reason | contains("with a PID namespace of its own")))' <<<"$output" || fail
}
