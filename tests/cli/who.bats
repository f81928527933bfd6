#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore who` with groups of plain files, see resctrl.bash. who-tasks.bats has whose tasks they are; tests/vm has the kernel's own
# groups.
# shellcheck disable=SC2154 # stderr is set by expect

load helpers
load resctrl

@test "bytes of each process, local and remote, by socket; what no group has" {
	local other='1 process and the kernel'

	machine 16
	process 100 alpha / 0.5 4000000000 3000000000 0 0
	process 101 beta / 0.5 1000000000 0 500000000 500000000
	process 102 quiet / 0 20000000 20000000 0 0
	expect 0 "${who[@]}" -I 300ms -n 2 -j
	near "$(value 'alpha (100)' group.memory.bandwidth null)" 4e9
	near "$(value 'alpha (100)' group.memory.local.bandwidth 0)" 3e9
	near "$(value 'alpha (100)' group.memory.remote.bandwidth null)" 1e9
	near "$(value 'beta (101)' group.memory.bandwidth 1)" 0.5e9
	near "$(value 'beta (101)' group.memory.bandwidth null)" 1.5e9
	near "$(value "$other" group.memory.bandwidth null)" 20e6 10 # of 5.5 GB/s, less what is counted a moment later
	[ "$(value 'alpha (100)' group.memory.bandwidth 1)" = 0 ] || fail
	# They are counted for their whole interval from the first one on.
	near "$(jq -rs '[.[] | select(.names == "alpha (100)" and .name == "group.memory.bandwidth" and .socket == null)] | first |
		.value' <<<"$output")" 4e9
	[ "$(jq -rs 'map(select(.name == "group.memory.bandwidth") | .role) | unique | join(" ")' <<<"$output" |
		sed 's/uncore-[0-9]*/uncore-PID/g')" = '/uncore-PID-0 /uncore-PID-1 other' ] || fail "$output"
	# Lines of the cache are those of tasks before, for a while.
	[ "$(jq -rs 'map(select(.name == "group.cache.occupancy") | .quality) | unique | join(" ")' <<<"$output")" = suspect ] || fail
	[ "$(jq -rs 'map(select(.name != "group.cache.occupancy") | .quality) | unique | join(" ")' <<<"$output")" = measured ] || fail
	no_group_left
	expect 0 "${who[@]}" -I 300ms -n 1
	[[ $output =~ WHO\ +MEMORY\ +SHARE\ +LOCAL\ +REMOTE\ +CACHE\ +SOCKET\ 0\ +SOCKET\ 1 ]] || fail
	[[ $output =~ alpha\ \(100\)\ +[34]\.[0-9]+\ GB/s\ +7[12]\.[0-9]+\ % && $output == *"other: $other"* ]] || fail
	[[ $output == *'The memory controllers cannot be counted here'* ]] || fail
	expect 0 "${who[@]}" -I 300ms -n 1 --top 1
	[[ $output =~ 1\ more\ with\ groups\ +1\.[45][0-9]*\ GB/s && $output != *'beta (101)'* ]] || fail
	expect 0 "${who[@]}" -I 300ms -n 1 --csv
	[[ $output == *',alpha (100)'* ]] || fail
}

@test "many sockets: eight have a column; a line says where the others are" {
	local cpus=$RESCTRL/sys/devices/system/cpu cpu

	machine 16
	process 100 alpha / 0.5 0 0 4000000000 0
	# Each CPU is a socket. The second cache that counts is in socket 7, then in socket 8.
	for cpu in 2 3 4 5 6 7 8; do
		cp -r "$cpus/cpu1" "$cpus/cpu$cpu"
		cp -r "$RESCTRL/sys/devices/system/node/node1" "$RESCTRL/sys/devices/system/node/node$cpu"
		echo $cpu | tee "$cpus/cpu$cpu/topology/physical_package_id" "$RESCTRL/sys/devices/system/node/node$cpu/cpulist" \
			>"$cpus/cpu$cpu/cache/index3/id"
	done
	echo 0-8 | tee "$cpus/present" >"$cpus/online"
	echo 7 >"$cpus/cpu1/cache/index3/id"
	echo 1 >"$cpus/cpu7/cache/index3/id"
	expect 0 "${who[@]}" -I 300ms -n 1
	[[ $output =~ SOCKET\ 0\ +SOCKET\ 7 && $output != *'no column'* ]] || fail
	[[ $output =~ alpha\ \(100\)\ .*\ 0\ B/s\ +[34]\.[0-9]+\ GB/s$'\n' ]] || fail
	echo 7 >"$cpus/cpu7/cache/index3/id"
	echo 1 >"$cpus/cpu8/cache/index3/id"
	expect 0 "${who[@]}" -I 300ms -n 1
	[[ $output != *'SOCKET 7'* && $output == *$'\n''Sockets from 8 on have no column; -j prints their rows.'* ]] || fail
	expect 0 "${who[@]}" -I 300ms -n 1 -j
	near "$(value 'alpha (100)' group.memory.bandwidth 8)" 4e9
}

@test "40 busy processes and 8 ids: the five largest in their order, what had no group is partial" {
	local i

	machine 9
	for ((i = 1; i <= 40; i++)); do
		process $((100 + i)) "load$i" / 0.3 $((i * 10000000)) $((i * 10000000)) 0 0
	done
	expect 0 "${who[@]}" -I 300ms -n 13 -j
	[ "$(jq -rs 'map(select(.name == "group.memory.bandwidth" and .socket == null)) | (last | .time) as $t |
		map(select(.time == $t and .role != "other")) | sort_by(-.value) | .[0:5] | map(.names) | join(" ")' <<<"$output")" = \
		'load40 (140) load39 (139) load38 (138) load37 (137) load36 (136)' ] || fail
	# With each group and the other one together nothing is lost: 40 * 41 / 2 * 10 MB/s.
	near "$(jq -rs 'map(select(.name == "group.memory.bandwidth" and .socket == null)) | (last | .time) as $t |
		map(select(.time == $t) | .value) | add' <<<"$output")" 8.2e9
	jq -es 'map(select(.role == "other" and .name == "group.memory.bandwidth" and .socket == null)) | last |
		.quality == "partial" and (.reason | startswith("33 of 40 busy processes had no group"))' <<<"$output" || fail
	# Each was measured, with what it moved since it had a group.
	jq -es 'all(.[] | select(.names // "" | startswith("load")) | select(.name == "group.memory.bandwidth" and .socket == null);
		.value / ((.names | ltrimstr("load") | split(" ")[0] | tonumber) * 1e7) | . > 0.98 and . < 1.02)' <<<"$output" || fail
	[ "$(jq -rs 'map(select(.role != "other" and .name == "group.memory.bandwidth") | .names) | unique | length' <<<"$output")" -eq 40 ] ||
		fail
	# One id stays free.
	[ "$(grep -c mkdir "$RESCTRL/log")" -eq 7 ] || fail
	no_group_left
}

@test "keys: cgroups, units, containers, jobs and users" {
	local id=4f8d1c0b2a3e5f60718293a4b5c6d7e8f90123456789abcdef0123456789abcd

	machine 16
	process 100 a "/system.slice/docker-$id.scope" 0.5 1000000000 0 0 0 7
	process 101 b "/system.slice/docker-$id.scope" 0.5 2000000000 0 0 0 7
	process 102 c /system.slice/slurmstepd.scope/job_42/step_0 0.5 4000000000 0 0 0 8
	expect 0 "${who[@]}" -I 200ms -n 1 -j --by container
	near "$(value "docker ${id:0:12}" group.memory.bandwidth null)" 3e9
	near "$(value '1 process and the kernel' group.memory.bandwidth null)" 4e9
	expect 0 "${who[@]}" -I 200ms -n 1 -j --by job
	near "$(value 'job 42' group.memory.bandwidth null)" 4e9
	expect 0 "${who[@]}" -I 200ms -n 1 -j --by unit
	near "$(value slurmstepd.scope group.memory.bandwidth null)" 4e9
	near "$(value "docker-$id.scope" group.memory.bandwidth null)" 3e9
	expect 0 "${who[@]}" -I 200ms -n 1 -j --by cgroup
	near "$(value /system.slice/slurmstepd.scope/job_42/step_0 group.memory.bandwidth null)" 4e9
	expect 0 "${who[@]}" -I 200ms -n 1 -j --by user
	near "$(value 'user 7' group.memory.bandwidth null)" 3e9
	expect 2 "${who[@]}" --by pod
	[[ $stderr == *'it is not process, cgroup, unit, container, job or user'* ]] || fail
}

@test "groups of others: their tasks stay, their traffic has their name, their files are as before" {
	local before

	machine 16
	group web
	group batch
	mkdir -p "$RESCTRL/sys/fs/resctrl"/{web,batch}/mon_groups
	group web/mon_groups/db
	group mon_groups/pqos
	process 100 own / 0.5 1000000000 0 0 0
	process 101 web / 0.5 2000000000 0 0 0
	process 102 db / 0.5 3000000000 0 0 0
	process 103 watched / 0.5 4000000000 0 0 0
	printf '101\n102\n' >"$RESCTRL/sys/fs/resctrl/web/tasks"
	echo 102 >"$RESCTRL/sys/fs/resctrl/web/mon_groups/db/tasks"
	echo 103 >"$RESCTRL/sys/fs/resctrl/mon_groups/pqos/tasks"
	before=$(cd "$RESCTRL/sys/fs/resctrl" && find web batch mon_groups -type f | sort | xargs md5sum)
	expect 0 "${who[@]}" -I 300ms -n 2 -j
	near "$(jq -s 'map(select(.role == "web" and .name == "group.memory.bandwidth" and .socket == null)) | last | .value' <<<"$output")" 5e9
	near "$(jq -s 'map(select(.role == "web/db" and .name == "group.memory.bandwidth" and .socket == null)) | last | .value' <<<"$output")" 3e9
	near "$(jq -s 'map(select(.role == "/pqos" and .name == "group.memory.bandwidth" and .socket == null)) | last | .value' <<<"$output")" 4e9
	near "$(value 'own (100)' group.memory.bandwidth null)" 1e9
	# The groups are read one after another.
	jq -e '. < 1e6' <<<"$(value '0 processes and the kernel' group.memory.bandwidth null)" || fail
	[ "$(cd "$RESCTRL/sys/fs/resctrl" && find web batch mon_groups -type f | sort | xargs md5sum)" = "$before" ] || fail 'files changed'
	! grep -E 'move .* 10[123]$' "$RESCTRL/log" || fail 'a task was moved'
	# The sum of all has each byte once.
	expect 0 "${who[@]}" -I 300ms -n 1
	[[ $output =~ 'group /pqos'\ +[34]\.[0-9]+\ GB/s\ +(39|40)\.[0-9]+\ % ]] || fail
	no_group_left
}

@test "threads follow their process; a child is counted with it, and then has its own key" {
	local pid

	machine 16
	process 100 server / 0.5 1000000000 0 0 0
	mkdir "$RESCTRL/proc/100/task/201"
	printf '201 0 3000000000 0 0 0\n300 0.9 0 0 0 0\n' >>"$RESCTRL/loads"
	"${who[@]}" -I 500ms -n 5 -j >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	for ((i = 0; i < 100; i++)); do [ -s "$BATS_TEST_TMPDIR/out" ] && break; sleep 0.05; done
	process 300 child / 0.9 0 0 0 0
	sed -i 's/ R 1 / R 100 /' "$RESCTRL/proc/300/stat"
	wait "$pid"
	output=$(<"$BATS_TEST_TMPDIR/out")
	near "$(value 'server (100)' group.memory.bandwidth null)" 4e9
	jq -es 'any(.[]; .names == "server (100)" and (.reason // "" | startswith("processes that it started are in it")))' \
		<<<"$output" || fail
	jq -es 'any(.[]; .names == "child (300)")' <<<"$output" || fail
	grep -q 'move mon_groups/uncore-[0-9]*-1 300' "$RESCTRL/log" || fail
	no_group_left
}

@test "a group without a count: no value; the kernel leaves it out of the default group, and sums are partial" {
	machine 16
	process 100 alpha / 0.5 4000000000 3000000000 0 0
	process 101 beta / 0.4 1000000000 0 0 0
	echo Unavailable >"$RESCTRL/word"
	expect 0 "${who[@]}" -I 200ms -n 2 -j
	jq -es 'map(select(.names == "alpha (100)" and .name == "group.memory.bandwidth" and .socket == null)) | last |
		.value == null and .quality == "unavailable" and (.reason | contains("Unavailable"))' <<<"$output" || fail
	jq -es 'map(select(.role == "other" and .name == "group.memory.bandwidth" and .socket == null)) | last |
		.quality == "partial" and (.reason | contains("leaves out monitor groups"))' <<<"$output" || fail
	near "$(value 'beta (101)' group.memory.bandwidth null)" 1e9
	expect 0 "${who[@]}" -I 200ms -n 1
	[[ $output =~ alpha\ \(100\)\ +-\ +- && $output =~ beta\ \(101\)\ +[0-9.]+\ [GM]B/s && $output != *' %'* ]] || fail
	[[ $output =~ 'All groups '[0-9.]+\ [MG]'B/s: 1 of the groups has no count, so that the sum is partial.' ]] || fail
	[[ $output != *devices* ]] || fail
	expect 0 "${who[@]}" -I 200ms -n 1 --top 1
	[[ $output =~ '1 more with groups '\ +- ]] || fail
	rm "$RESCTRL/loads"
	process 100 alpha / 0.5 4000000000 3000000000 0 0
	rm -r "$RESCTRL/proc/101"
	expect 0 "${who[@]}" -I 200ms -n 1
	[[ $output == *'All groups -: 1 of the groups has no count, so that the sum is partial.'* ]] || fail
}

@test "--resctrl: the count of a control group is partial without a monitor group, and none where that comes or goes" {
	local stat pid i

	machine 16
	group mon_groups/db-0
	process 100 db / 0.5 1000000000 0 0 0
	process 101 other / 0.5 500000000 0 0 0
	echo 100 >"$RESCTRL/sys/fs/resctrl/mon_groups/db-0/tasks"
	stat=("${who[@]}")
	unset 'stat[-1]'
	"${stat[@]}" --resctrl stat -j -I 300ms -n 9 -M group.memory.bandwidth >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	for ((i = 0; i < 100; i++)); do [ -s "$BATS_TEST_TMPDIR/out" ] && break; sleep 0.05; done
	echo Unassigned >"$RESCTRL/word"
	sleep 1
	rm "$RESCTRL/word"
	wait "$pid"
	output=$(<"$BATS_TEST_TMPDIR/out")
	# What it has: 1.5 GB/s, then nothing while the sum loses the group, then 0.5 GB/s, and back.
	[ "$(jq -rs 'map(select(.role == "/" and .socket == null) | if .value == null then "none" else .quality end) |
		reduce .[] as $q ([]; if last == $q then . else . + [$q] end) | join(" ")' <<<"$output")" = \
		'measured none partial none measured' ] || fail "$output"
	jq -es 'all(.[] | select(.role == "/" and .socket == null and .value != null);
		.value / (if .quality == "partial" then 0.5e9 else 1.5e9 end) | . > 0.98 and . < 1.02)' <<<"$output" || fail "$output"
	jq -es 'any(.[]; .role == "/" and .quality == "partial" and (.reason | contains("leaves out monitor groups")))' <<<"$output" || fail
}

@test "counters that the kernel assigns (ABMC): only as many groups as get one for each event" {
	local info

	machine 16
	info=$RESCTRL/sys/fs/resctrl/info/L3_MON
	process 100 alpha / 0.5 1000000000 0 0 0
	printf '[mbm_event]\ndefault\n' >"$info/mbm_assign_mode"
	printf 'llc_occupancy\nmbm_total_bytes\nmbm_total_bytes_config\nmbm_local_bytes\n' >"$info/mon_features"
	echo '0=9;1=7' >"$info/available_mbm_cntrs"
	echo 1 >"$info/mbm_assign_on_mkdir"
	expect 0 "${who[@]}" -I 100ms -n 1 -v
	[ "$(grep -c mkdir "$RESCTRL/log")" -eq 3 ] || fail
	[[ $stderr == *'note: 3 groups were made: the hardware has no more counters that could be assigned'* ]] || fail
	no_group_left
	echo '0=32;1=1' >"$info/available_mbm_cntrs"
	expect 1 "${who[@]}" -n 1
	[[ $stderr == *'a group takes 2 in each cache, and 1 are left'*mbm_L3_assignments* ]] || fail
	echo '0=32;1=32' >"$info/available_mbm_cntrs"
	echo 0 >"$info/mbm_assign_on_mkdir"
	expect 1 "${who[@]}" -n 1
	[[ $stderr == *'As root: echo 1 >/sys/fs/resctrl/info/L3_MON/mbm_assign_on_mkdir'* ]] || fail
	# The other mode has no counters of groups.
	printf 'mbm_event\n[default]\n' >"$info/mbm_assign_mode"
	: >"$RESCTRL/log"
	expect 0 "${who[@]}" -I 100ms -n 1
	[ "$(grep -c mkdir "$RESCTRL/log")" -eq 14 ] || fail
}

@test "ids of groups that were removed just before: waits for them" {
	local pid start

	machine 4
	process 100 alpha / 0.5 1000000000 0 0 0
	process 101 beta / 0.5 1000000000 0 0 0
	echo 1.5 >"$RESCTRL/limbo"
	expect 0 "${who[@]}" -I 100ms -n 1
	: >"$RESCTRL/log"
	expect 0 "${who[@]}" -I 100ms -n 1 -v
	[[ $stderr == *'note: waits up to 3 s: the ids (RMIDs) that are left are those of removed groups'* ]] || fail
	[[ $stderr == *'note: 2 groups were made: the hardware has no more ids (RMIDs) for groups of tasks'* ]] || fail
	[ "$(grep -c mkdir "$RESCTRL/log")" -eq 2 ] || fail
	# One is free, and the other one not for long.
	rm "$RESCTRL/limbo-ends"
	echo 60 >"$RESCTRL/limbo"
	expect 0 "${who[@]}" -I 100ms -n 1 --groups 1
	: >"$RESCTRL/log"
	expect 0 "${who[@]}" -I 100ms -n 1 -v
	[[ $stderr == *'note: 1 groups were made: the ids (RMIDs) that are left'* || $(grep -c mkdir "$RESCTRL/log") -eq 2 ]] || fail
	expect 1 "${who[@]}" -I 100ms -n 1
	[[ $stderr == *'the ids (RMIDs) that are left are those of removed groups whose lines are still in the cache: try again later'* ]] ||
		fail
	start=$SECONDS
	"${who[@]}" -I 100ms &
	pid=$!
	sleep 0.7
	kill -TERM $pid
	wait $pid || true
	[ $((SECONDS - start)) -le 2 ] || fail 'it did not end'
	no_group_left
}

@test "a group that another program removes: the reason in its interval, then it is made again" {
	local pid i

	machine 16
	process 100 alpha / 0.5 4000000000 0 0 0
	"${who[@]}" -I 300ms -n 8 -j >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	for ((i = 0; i < 100; i++)); do [ -s "$BATS_TEST_TMPDIR/out" ] && break; sleep 0.05; done
	rm -r "$RESCTRL/sys/fs/resctrl/mon_groups/uncore-$(pgrep -P $pid || echo $pid)-0" ||
		rm -r "$RESCTRL"/sys/fs/resctrl/mon_groups/uncore-*-0
	wait "$pid"
	output=$(<"$BATS_TEST_TMPDIR/out")
	[ "$(jq -rs 'map(select(.names == "alpha (100)" and .name == "group.memory.bandwidth" and .socket == null) | .value != null) |
		reduce .[] as $q ([]; if last == $q then . else . + [$q] end) | map(tostring) | join(" ")' <<<"$output")" = \
		'true false true' ] || fail "$output"
	[ "$(jq -rs 'map(select(.names == "alpha (100)" and .name == "group.memory.bandwidth" and .socket == null and .value == null)) |
		length' <<<"$output")" -eq 1 ] || fail "$output"
	jq -es 'any(.[]; .names == "alpha (100)" and (.reason // "" | contains("its group was removed")))' <<<"$output" || fail
	near "$(value 'alpha (100)' group.memory.bandwidth null)" 4e9
	no_group_left
	# Its id is not free for long: it is in "other", which says so.
	: >"$BATS_TEST_TMPDIR/out"
	echo 3 >"$RESCTRL/sys/fs/resctrl/info/L3_MON/num_rmids"
	echo 60 >"$RESCTRL/limbo"
	"${who[@]}" -I 200ms -n 8 -j >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	for ((i = 0; i < 100; i++)); do [ -s "$BATS_TEST_TMPDIR/out" ] && break; sleep 0.05; done
	echo 2 >"$RESCTRL/sys/fs/resctrl/info/L3_MON/num_rmids"
	rm -r "$RESCTRL"/sys/fs/resctrl/mon_groups/uncore-*-0
	wait "$pid"
	output=$(<"$BATS_TEST_TMPDIR/out")
	jq -es 'map(select(.role == "other" and .name == "group.memory.bandwidth" and .socket == null)) | last |
		.quality == "partial" and (.reason | contains("another program has removed 1 group of uncore"))' <<<"$output" || fail "$output"
}

@test "its own process has a group only if it is a top user; inputs of rows; a mark for what was started" {
	local pid i

	machine 16
	process 100 alpha / 0.5 4000000000 3000000000 0 0
	process 101 uncore / 0.05 0 0 0 0
	ln -s 101 "$RESCTRL/proc/self"
	expect 0 "${who[@]}" -I 300ms -n 2 -j
	[[ $output != *'uncore (101)'* ]] || fail
	# From the inputs a reader can calculate the value again; what is left has none of its own.
	jq -es 'all(.[] | select(.names == "alpha (100)" and .name == "group.memory.remote.bandwidth" and .socket == null);
		(.inputs | map({(.name): .value}) | add) as $in |
		(($in.mbm_total_bytes - $in.mbm_local_bytes) / .interval / .value) | . > 0.95 and . < 1.05)' <<<"$output" || fail
	jq -es 'all(.[] | select(.role == "other"); .inputs == null)' <<<"$output" || fail
	sed -i 's/^101 .*/101 0.5 0 0 0 0/' "$RESCTRL/loads"
	expect 0 "${who[@]}" -I 300ms -n 2 -j
	[[ $output == *'uncore (101)'* ]] || fail
	"${who[@]}" -I 400ms -n 5 >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	for ((i = 0; i < 100; i++)); do [ -s "$BATS_TEST_TMPDIR/out" ] && break; sleep 0.05; done
	process 300 child / 0.9 0 0 0 0
	sed -i 's/ R 1 / R 100 /' "$RESCTRL/proc/300/stat"
	wait "$pid"
	output=$(<"$BATS_TEST_TMPDIR/out")
	[[ $output =~ 'alpha (100) *'\ +[34] && $output == *'* with processes that it started, until the end'* ]] || fail
	[[ $output != *'is measured'* ]] || fail
}

@test "a mount that is read-only" {
	machine 16
	process 100 alpha / 0.5 1000000000 0 0 0
	: >"$RESCTRL/read-only"
	expect_any() { run --separate-stderr "${who[@]}" -n 1; }
	expect_any
	[[ $stderr == *'a group cannot be made in /sys/fs/resctrl/mon_groups: resctrl is mounted read-only. As root: mount -o remount,rw /sys/fs/resctrl'* ]] ||
		fail
	[ "$status" -ne 0 ] || fail
}

@test "a killed one is cleaned up by the next, or by --clean; two at once" {
	local first i

	machine 20
	process 100 own / 0.5 1000000000 0 0 0
	"${who[@]}" -I 100ms --groups 3 >"$BATS_TEST_TMPDIR/first" &
	first=$!
	for ((i = 0; i < 100; i++)); do [ -s "$BATS_TEST_TMPDIR/first" ] && break; sleep 0.05; done
	# The groups of one that lives are not touched, nor is its task.
	expect 0 "${who[@]}" --clean
	[[ $output == 'No group of an ended process is left.' ]] || fail
	expect 0 "${who[@]}" -I 100ms -n 1 -j --groups 2
	[ "$(find "$RESCTRL/sys/fs/resctrl/mon_groups" -name 'uncore-*' | wc -l)" -eq 3 ] || fail
	kill -KILL "$first"
	wait "$first" || true
	[ "$(find "$RESCTRL/sys/fs/resctrl/mon_groups" -name 'uncore-*' | wc -l)" -eq 3 ] || fail
	mkdir "$RESCTRL/sys/fs/resctrl/mon_groups/uncore-web"
	expect 0 "${who[@]}" --clean --dry-run
	[[ $output == *'3 groups of processes that have ended would be removed.' ]] || fail
	[ "$(find "$RESCTRL/sys/fs/resctrl/mon_groups" -name 'uncore-*' | wc -l)" -eq 4 ] || fail
	expect 0 "${who[@]}" --clean
	[[ $output == *"uncore-"*"-2"*'3 groups of processes that have ended removed.' ]] || fail
	# A name that only begins like that is not of uncore.
	[ -d "$RESCTRL/sys/fs/resctrl/mon_groups/uncore-web" ] || fail
	rmdir "$RESCTRL/sys/fs/resctrl/mon_groups/uncore-web"
	"${who[@]}" -I 100ms --groups 3 >"$BATS_TEST_TMPDIR/first" &
	first=$!
	for ((i = 0; i < 100; i++)); do [ -s "$BATS_TEST_TMPDIR/first" ] && break; sleep 0.05; done
	kill -KILL "$first"
	wait "$first" || true
	expect 0 "${who[@]}" -I 100ms -n 1
	no_group_left
}

@test "signals and a closed pipe: groups are removed" {
	local signal pid i

	machine 20
	process 100 own / 0.5 1000000000 0 0 0
	for signal in INT TERM HUP QUIT USR1; do
		: >"$BATS_TEST_TMPDIR/out"
		# Without job control bash lets background processes ignore SIGINT.
		"${PYTHON:-$(type -P python3)}" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL); signal.signal(signal.SIGQUIT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])' \
			"${who[@]}" -I 50ms >"$BATS_TEST_TMPDIR/out" &
		pid=$!
		for ((i = 0; i < 100; i++)); do [ -s "$BATS_TEST_TMPDIR/out" ] && break; sleep 0.05; done
		[ -n "$(find "$RESCTRL/sys/fs/resctrl/mon_groups" -name 'uncore-*')" ] || fail 'it made no groups'
		kill "-$signal" $pid
		wait $pid || true
		no_group_left
	done
	"${who[@]}" -I 20ms -j | head -n 3 >/dev/null
	no_group_left
}

@test "--dry-run names groups and tasks, and makes nothing" {
	machine 4
	process 100 alpha / 0.5 4000000000 0 0 0
	process 101 beta / 0.9 1000000000 0 0 0
	process 102 quiet / 0 1 0 0 0
	expect 0 "${who[@]}" --dry-run
	[[ $output =~ 'GROUP'\ +WHO\ +PROCESSES\ +CPU.*uncore-PID-0\ +beta\ \(101\)\ +1\ +(8[5-9]|9[0-5])\ % ]] || fail
	[[ $output =~ 'uncore-PID-1 '\ +alpha && $output != *uncore-PID-2* ]] || fail
	[[ $output == *'Tasks in groups of others stay there'* ]] || fail
	[ ! -s "$RESCTRL/log" ] || fail
	no_group_left
	expect 2 "${who[@]}" --dry-run -j
	[[ $stderr == *'--dry-run and --clean print text to standard output: they exclude other outputs'* ]] || fail
	expect 2 "${who[@]}" --clean -o "$BATS_TEST_TMPDIR/file"
	# Groups that a killed one has left take all ids; a run removes them before.
	begin -I 100ms
	kill -KILL "$begun"
	wait "$begun" || true
	[ "$(find "$RESCTRL/sys/fs/resctrl/mon_groups" -name 'uncore-*' | wc -l)" -eq 2 ] || fail
	: >"$RESCTRL/log"
	expect 0 "${who[@]}" --dry-run
	[[ $output == *uncore-PID-1* && $output != *uncore-PID-2* ]] || fail
	[ ! -s "$RESCTRL/log" ] || fail
	# One more of another program: one is left.
	group mon_groups/theirs
	expect 0 "${who[@]}" --dry-run
	[[ $output == *uncore-PID-0* && $output != *uncore-PID-1* ]] || fail "$output"
}

@test "what prevents it, each with one sentence" {
	local top=$RESCTRL/sys/fs/resctrl

	machine 2
	process 100 own / 0.5 1000000000 0 0 0
	# One id for the default group, and one that stays free.
	expect 1 "${who[@]}" -n 1
	[[ $stderr == *'ids (RMIDs) for 2 groups, and 1 exist, the default one included: none is left'* ]] || fail
	echo 16 >"$top/info/L3_MON/num_rmids"
	if [ "$(id -u)" -ne 0 ]; then
		chmod a-w "$top/mon_groups"
		expect 4 "${who[@]}" -n 1
		[[ $stderr == *'a group cannot be made in /sys/fs/resctrl/mon_groups: Permission denied. It needs root'* ]] || fail
		chmod u+w "$top/mon_groups"
	fi
	expect 3 "$UNCORE" --source "$SIM_SPR" who
	[[ $stderr == *'has no groups of tasks'* ]] || fail
	expect 3 "$UNCORE" --root "$GRACE" who
	[[ $stderr == *'resctrl is not mounted. As root: mount -t resctrl resctrl /sys/fs/resctrl'* ]] || fail
	# Another program holds the lock.
	flock "$top" sleep 20 &
	sleep 0.2
	expect 1 "${who[@]}" -n 1
	[[ $stderr == *'another program has locked /sys/fs/resctrl'* ]] || fail
	kill $!
	rm -r "$top/mon_data"
	expect 3 "${who[@]}" -n 1
	[[ $stderr == *'resctrl has no mon_data here'* ]] || fail
	expect 2 "${who[@]}" --groups 5000
	expect 2 "${who[@]}" word
	expect 2 "${who[@]}" --html
	expect 2 "${who[@]}" --csv=wide
	[[ $stderr == *'other rows in each interval'* ]] || fail
}

@test "doctor: whether resctrl is mounted, can monitor, and may be written" {
	machine 16
	expect_any() { run --separate-stderr "$UNCORE" --root "$RESCTRL" doctor; }
	expect_any
	[[ $output == *'ok       resctrl: mounted, 1 group of at most 16 (RMIDs)'* ]] || fail
	if [ "$(id -u)" -ne 0 ]; then
		chmod a-w "$RESCTRL/sys/fs/resctrl/tasks"
		expect_any
		[[ $output == *'note     resctrl: mounted'*'Permission denied'* ]] || fail
	fi
	rm -r "$RESCTRL/sys/fs/resctrl/mon_data"
	expect_any
	[[ $output == *'note     resctrl: mounted, but it cannot monitor'*'rdt=!mbmtotal'* ]] || fail
	rm -r "$RESCTRL/sys/fs/resctrl"
	mkdir "$RESCTRL/sys/fs/resctrl"
	expect_any
	[[ $output == *'note     resctrl: not mounted'*'fix: mount -t resctrl resctrl /sys/fs/resctrl'* ]] || fail
	rmdir "$RESCTRL/sys/fs/resctrl"
	expect_any
	[[ $output != *resctrl* ]] || fail
}

@test "--io: bytes of storage beside those of memory, by the same keys" {
	local pid by

	machine 16
	process 100 reader /system.slice/a.service 0.5 4000000000 0 0 0
	process 101 writer /system.slice/a.service 0 0 0 0 0
	process 102 quiet / 0 0 0 0 0
	for by in process unit; do
		io 100 1000000 0
		io 101 0 5000000
		io 102 7 7
		: >"$BATS_TEST_TMPDIR/out"
		"${who[@]}" --io --by $by -I 500ms -n 3 -j >"$BATS_TEST_TMPDIR/out" &
		pid=$!
		for ((i = 0; i < 100; i++)); do [ -s "$BATS_TEST_TMPDIR/out" ] && break; sleep 0.05; done
		io 100 301000000 0
		io 101 0 45000000
		wait "$pid"
		output=$(<"$BATS_TEST_TMPDIR/out")
		# 300 MB and 40 MB in an interval of half a second.
		jq -es --arg who "$([ $by = unit ] && echo a.service || echo 'reader (100)')" 'map(select(.names == $who and .value > 0)) |
			map(select(.name == "task.storage.read.bandwidth")) | length == 1 and
			(.[0] | .value > 400e6 and .value < 610e6 and .quality == "measured" and .unit == "B/s")' <<<"$output" || fail
		jq -es --arg who "$([ $by = unit ] && echo a.service || echo 'writer (101)')" 'map(select(.names == $who and .value > 0)) |
			map(select(.name == "task.storage.write.bandwidth")) | length == 1 and
			(.[0] | .value > 50e6 and .value < 82e6)' <<<"$output" || fail
		jq -es 'all(.[]; .names != "quiet (102)")' <<<"$output" || fail
		near "$(value "$([ $by = unit ] && echo a.service || echo 'reader (100)')" group.memory.bandwidth null)" 4e9
	done
	expect 0 "${who[@]}" --io -I 100ms -n 1
	[[ $output == *'All processes read 0 B/s and wrote 0 B/s.'* && $output == *'memory controllers cannot be counted'* ]] || fail
	if without_rights; then
		chmod a-r "$RESCTRL/proc/101/io"
		expect 0 "${who[@]}" --io -I 100ms -n 1
		[[ $output == *'1 process cannot be read: that needs root, or CAP_SYS_PTRACE'* ]] || fail
		# No row has a value; then some do.
		[[ $output == *'The processes that can be read have read - and written -.'* ]] || fail
		begin --io -I 400ms -n 2
		io 100 601000000 0
		finish
		[[ $output =~ 'The processes that can be read have read '[1-9][0-9.]*\ [MG]'B/s and written 0 B/s.' ]] || fail "$output"
	fi
	no_group_left
}

@test "--textfile: sums of each owner never go back, also when it loses its group; labels by key" {
	local file=$BATS_TEST_TMPDIR/who.prom pid i first last

	machine 5
	for ((i = 1; i <= 8; i++)); do
		process $((100 + i)) "load (x) $i" "/system.slice/u$i.service" 0.3 $((i * 100000000)) 0 0 0
	done
	group web
	process 200 web / 0.5 2000000000 0 0 0
	echo 200 >"$RESCTRL/sys/fs/resctrl/web/tasks"
	"${who[@]}" --textfile "$file" --by unit -I 200ms >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	for ((i = 0; i < 100; i++)); do [ -s "$file" ] && break; sleep 0.05; done
	first=$(<"$file")
	sleep 2
	last=$(<"$file")
	kill "$pid"
	wait "$pid" || true
	[ ! -s "$BATS_TEST_TMPDIR/out" ] || fail 'a table was printed'
	[ ! -e "$file" ] || fail 'the file is left'
	no_group_left
	# Each unit has had one of the three groups. A series of the first file is there in the last one, with no smaller value.
	for ((i = 1; i <= 8; i++)); do
		[[ $last == *"uncore_who_memory_bytes_total{unit=\"u$i.service\"}"* ]] || fail "$last"
	done
	awk '/_total/ { if (NR == FNR) { before[$1 " "] = $NF; next } seen[$1 " "] = 1; if ($NF < before[$1 " "]) exit 1 }
		END { for (i in before) if (!(i in seen)) exit 1 }' <(echo "$first") <(echo "$last") || fail 'a sum went back'
	# What it moved in the time in which it had a group.
	awk '/^uncore_who_memory_bytes_total\{unit=/ { split($1, a, "\""); bytes[a[2]] = $2 }
		/^uncore_who_measured_seconds_total\{unit=/ { split($1, a, "\""); seconds[a[2]] = $2 }
		END { for (u in bytes) { n = substr(u, 2) + 0; r = bytes[u] / seconds[u] / n / 1e8; if (r < 0.98 || r > 1.02) exit 1 } }' \
		<<<"$last" || fail "$last"
	[[ $last == *'uncore_who_memory_bytes_total{group="web"}'* && $last == *'uncore_who_memory_bytes_total{kind="other"}'* ]] || fail
	[[ $last =~ uncore_who_without_group\ [5-6] ]] || fail "$last"
	if [ -n "$(type -P promtool)" ]; then promtool check metrics <<<"$last" || fail; fi
	for i in container:'runtime="docker",container="4f8d1c0b2a3e"' process:'process="load (x) 1",pid="101"' user:'user="user 0"|user="root",uid="0"' \
		job:'slurm_job="42"'; do
		echo "0::/system.slice/slurmstepd.scope/job_42/docker-4f8d1c0b2a3e5f60718293a4b5c6d7e8f90123456789abcdef0123456789abcd.scope" \
			>"$RESCTRL/proc/101/cgroup"
		"${who[@]}" --textfile "$file" --by "${i%%:*}" --groups 2 -I 100ms >/dev/null &
		pid=$!
		for ((k = 0; k < 40; k++)); do
			[ -s "$file" ] && last=$(<"$file") && [[ $last =~ ${i#*:} || $last == *"${i#*:}"* ]] && break
			sleep 0.05
		done
		kill "$pid"
		wait "$pid" || true
		[[ $last =~ ${i#*:} || $last == *"${i#*:}"* ]] || fail "${i#*:}: $last"
	done
	expect 2 "${who[@]}" --textfile "$BATS_TEST_TMPDIR/who.txt"
	expect 2 "${who[@]}" --textfile prom
	(cd "$BATS_TEST_TMPDIR" && expect 0 "${who[@]}" --textfile=.prom -I 100ms -n 1) || fail
	expect 1 "${who[@]}" --textfile "$BATS_TEST_TMPDIR/none/who.prom" -I 100ms -n 1
	no_group_left
}
