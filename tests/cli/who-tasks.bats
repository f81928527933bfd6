#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Whose tasks are in the groups of `uncore who`: with other programs that change groups at the same time, with tasks that begin, and
# with keys of one name.
# shellcheck disable=SC2154 # stderr is set by expect, who and begun by resctrl.bash

load helpers
load resctrl

@test "a task that another program takes meanwhile stays there, also when a group gets other tasks" {
	local by theirs=$RESCTRL/sys/fs/resctrl/mon_groups/theirs

	# With lists only, the next group's tasks; with /proc, the next task.
	for by in process unit; do
		rm -rf "$RESCTRL"
		machine 16
		group mon_groups/theirs
		process 100 first /system.slice/a.service 0.9 1000000000 0 0 0
		process 101 second /system.slice/a.service 0.5 2000000000 0 0 0
		[ $by = process ] || say_groups 100 101
		echo '100 group 101 mon_groups/theirs' >"$RESCTRL/steal"
		expect 0 "${who[@]}" -I 200ms -n 2 -j --by $by
		grep -q steal "$RESCTRL/log" || fail
		! grep 'move mon_groups/uncore-[0-9]*-[0-9]* 101' "$RESCTRL/log" || fail "$by: it was moved"
		[ "$(<"$theirs/tasks")" = 101 ] || fail "$by"
		near "$(jq -s 'map(select(.role == "/theirs" and .name == "group.memory.bandwidth" and .socket == null)) | last | .value' <<<"$output")" 2e9
	done
	# Two units have one group in turn: the tasks of one go back to the default group.
	rm -rf "$RESCTRL"
	machine 16
	group mon_groups/theirs
	process 100 first /system.slice/a.service 0.9 1000000000 0 0 0
	process 101 second /system.slice/a.service 0.5 1000000000 0 0 0
	process 102 third /system.slice/b.service 0.5 1000000000 0 0 0
	say_groups 100 101 102
	echo '100 top 101 mon_groups/theirs' >"$RESCTRL/steal"
	expect 0 "${who[@]}" -I 200ms -n 3 -j --by unit --groups 1
	grep -q steal "$RESCTRL/log" || fail
	! sed -n '/steal/,$p' "$RESCTRL/log" | sed 1,2d | grep ' 101$' || fail 'it was moved'
	[ "$(<"$theirs/tasks")" = 101 ] || fail
	no_group_left
}

@test "lists of others: an error stops it with the reason; a large one is read to its end; pseudo-locked groups have none" {
	local top=$RESCTRL/sys/fs/resctrl

	machine 16
	group web
	mkdir "$top/web/mon_groups"
	process 100 own / 0.5 1000000000 0 0 0
	process 101 theirs / 0.5 2000000000 0 0 0
	seq 2000000 2150000 >"$top/web/tasks"
	echo 101 >>"$top/web/tasks"
	expect 0 "${who[@]}" -I 100ms -n 1 -j
	! grep ' 101$' "$RESCTRL/log" || fail 'it was moved'
	# What no kernel writes: it is not known who else is there.
	echo 'word' >>"$top/web/tasks"
	: >"$RESCTRL/log"
	expect 1 "${who[@]}" -I 100ms -n 1
	[[ $stderr == *'/sys/fs/resctrl/web/tasks cannot be read: '*'So it is not known which tasks belong to others, and none is moved'* ]] || fail
	! grep move "$RESCTRL/log" || fail
	no_group_left
	rm "$top/web/tasks"
	mkdir "$top/web/tasks"
	expect 1 "${who[@]}" -I 100ms -n 1
	[[ $stderr == *'/sys/fs/resctrl/web/tasks cannot be read: Is a directory'* ]] || fail
	echo pseudo-locked >"$top/web/mode"
	expect 0 "${who[@]}" -I 100ms -n 1
	no_group_left
}

@test "threads and processes that begin while it runs: born in the group they stay there; else the row is partial" {
	local group

	machine 16
	process 100 server /system.slice/a.service 0.5 1000000000 0 0 0
	process 200 other /system.slice/b.service 0.5 1000000000 0 0 0
	begin -I 400ms -n 6 -j --by unit
	group=$(echo "$RESCTRL"/sys/fs/resctrl/mon_groups/uncore-*-0)
	# A thread of 100 that the lists of /proc do not have yet, a child, and a process that init starts in the unit.
	printf '205\n301\n' >>"$group/tasks"
	process 301 child /system.slice/a.service 0.1 0 0 0 0
	sed -i 's/ R 1 / R 100 /' "$RESCTRL/proc/301/stat"
	process 302 started /system.slice/b.service 0.1 0 0 0 0
	finish
	! grep 'move  205' "$RESCTRL/log" || fail 'a thread was expelled'
	! grep ' 301$' "$RESCTRL/log" || fail 'a child was moved'
	jq -es 'all(.[] | select(.names == "a.service" and .name == "group.memory.bandwidth"); .quality == "measured")' <<<"$output" || fail
	jq -es 'map(select(.names == "b.service" and .name == "group.memory.bandwidth" and .socket == null)) |
		(map(select(.quality == "partial")) | length == 1 and (.[0].reason | contains("began outside of its group"))) and
		(last | .quality == "measured")' <<<"$output" || fail
	no_group_left
}

@test "a process that runs another program has the name of that" {
	machine 16
	process 100 bash / 0.5 1000000000 0 0 0
	begin -I 300ms -n 6 -j
	sed -i 's/(bash)/(dd)/' "$RESCTRL/proc/100/stat"
	finish
	near "$(value 'bash (100)' group.memory.bandwidth null)" 1e9
	near "$(value 'dd (100)' group.memory.bandwidth null)" 1e9
	# Never both.
	jq -es 'map(select(.name == "group.memory.bandwidth" and .socket == null and .role != "other")) | length == 6 and
		all(.[]; .quality == "measured") and last.names == "dd (100)"' <<<"$output" || fail "$output"
	no_group_left
}

@test "a process that is moved to another cgroup: seen within 16 s with long intervals; its group loses it at once" {
	machine 16
	# Its turn is in the next scan with intervals of 2.5 s, and long after that with 16 of them.
	process 103 moves /system.slice/a.service 0.5 2000000000 0 0 0
	begin --by unit -I 2500ms -n 4 -j
	for ((i = 0; i < 100; i++)); do
		[ "$(jq -rs 'map(.time) | unique | length' "$BATS_TEST_TMPDIR/out")" -ge 2 ] && break
		sleep 0.05
	done
	echo 0::/system.slice/b.service >"$RESCTRL/proc/103/cgroup"
	finish
	near "$(value b.service group.memory.bandwidth null)" 2e9
	# The new unit gets no group: 100 keeps the only one.
	rm -r "$RESCTRL"
	machine 16
	process 100 stays /system.slice/a.service 0.9 4000000000 0 0 0
	process 108 moves /system.slice/a.service 0 2000000000 0 0 0
	begin --by unit --groups 1 -I 300ms -n 4 -j
	echo 0::/system.slice/b.service >"$RESCTRL/proc/108/cgroup"
	finish
	near "$(value a.service group.memory.bandwidth null)" 4e9
	no_group_left
}

@test "two keys of one name: each has its own label, its own bytes and its own series" {
	local file=$BATS_TEST_TMPDIR/who.prom digits=4f8d1c0b2a3e id

	id=${digits}5f60718293a4b5c6d7e8f90123456789abcdef0123456789abcd
	machine 16
	process 100 sshd /a.slice/sshd.service 0.5 1000000000 0 0 0
	process 101 sshd /b.slice/sshd.service 0.5 2000000000 0 0 0
	process 102 sshd "/system.slice/docker-$id.scope/system.slice/sshd.service" 0.5 4000000000 0 0 0
	process 103 c "/system.slice/docker-$digits${id:12:51}0.scope" 0.5 3000000000 0 0 0
	expect 0 "${who[@]}" -I 300ms -n 1 -j --by unit
	near "$(value sshd.service group.memory.bandwidth null)" 1e9
	near "$(value 'sshd.service [/b.slice/sshd.service]' group.memory.bandwidth null)" 2e9
	near "$(value "sshd.service of docker-$id.scope" group.memory.bandwidth null)" 4e9
	expect 0 "${who[@]}" -I 300ms -n 1 -j --by container
	near "$(value "docker $digits" group.memory.bandwidth null)" 4e9
	near "$(value "docker $digits [$digits${id:12:51}0]" group.memory.bandwidth null)" 3e9
	# With one group, which they have in turn, nothing of one is in the sums of another.
	"${who[@]}" --textfile "$file" --by container --groups 1 -I 200ms >/dev/null &
	for ((i = 0; i < 100; i++)); do
		[ -s "$file" ] && [ "$(grep -c 'memory_bytes_total{runtime' "$file")" = 2 ] && break
		sleep 0.05
	done
	sleep 1
	cp "$file" "$file.kept"
	kill $!
	wait $! || true
	awk -v id="$digits${id:12:51}0" '/^uncore_who_memory_bytes_total\{runtime/ { bytes[index($1, id) > 0] = $2; n++ }
		/^uncore_who_measured_seconds_total\{runtime/ { seconds[index($1, id) > 0] = $2 }
		END { exit !(n == 2 && bytes[0] / seconds[0] > 3.9e9 && bytes[1] / seconds[1] < 3.1e9) }' "$file.kept" || fail "$(<"$file.kept")"
	grep -q "runtime=\"docker\",container=\"$digits\",id=\"$digits${id:12:51}0\"" "$file.kept" || fail
	no_group_left
}

@test "groups that others make and remove while it runs are counted, and are gone" {
	machine 16
	group mon_groups/old
	process 100 own / 0.5 1000000000 0 0 0
	process 101 theirs / 0.5 2000000000 0 0 0
	echo 101 >"$RESCTRL/sys/fs/resctrl/mon_groups/old/tasks"
	begin -I 400ms -n 32 -j
	group mon_groups/new
	echo 101 >"$RESCTRL/sys/fs/resctrl/mon_groups/new/tasks"
	rm -r "$RESCTRL/sys/fs/resctrl/mon_groups/old"
	finish
	jq -es 'map(select(.role == "other" and .name == "group.memory.bandwidth" and .socket == null)) |
		any(.[]; .quality == "partial" and (.reason // "" | contains("others have made or removed groups"))) and (last | .quality == "measured")' \
		<<<"$output" || fail "$output"
	jq -es '(last | .time) as $t | any(.[]; .time == $t and .role == "/new") and all(.[]; .time != $t or .role != "/old")' <<<"$output" ||
		fail "$output"
	near "$(value 'own (100)' group.memory.bandwidth null)" 1e9
	no_group_left
}

@test "a task that may not be moved: its row says so, and the others are counted" {
	machine 16
	mkdir "$RESCTRL/denied" "$RESCTRL/ended"
	process 100 server /a.service 0.5 1000000000 0 0 0
	process 101 helper /a.service 0.5 2000000000 0 0 0
	process 102 foreign /b.service 0.5 4000000000 0 0 0
	process 103 ended /c.service 0.5 1000000000 0 0 0
	: >"$RESCTRL/denied/101"
	: >"$RESCTRL/denied/102"
	: >"$RESCTRL/ended/103"
	expect 0 "${who[@]}" -I 300ms -n 2 -j --by unit
	jq -es 'map(select(.names == "a.service" and .name == "group.memory.bandwidth" and .socket == null)) | last |
		.quality == "partial" and (.reason | contains("1 of its 2 tasks may not be moved into the group"))' <<<"$output" || fail "$output"
	near "$(value a.service group.memory.bandwidth null)" 1e9
	jq -es 'map(select(.names == "b.service" and .name == "group.memory.bandwidth" and .socket == null)) | last |
		.quality == "unavailable" and .value == null and (.reason | contains("none of its tasks may be moved"))' <<<"$output" || fail "$output"
	no_group_left
}

@test "a process that cannot be read is in 'other', which says so" {
	machine 16
	without_rights || skip 'root may read all'
	process 100 own / 0.5 1000000000 0 0 0
	process 101 hidden / 0.5 9000000000 0 0 0
	io 100 0 0
	chmod 000 "$RESCTRL/proc/101/stat"
	expect 0 "${who[@]}" --io -I 300ms -n 1 -j
	jq -es 'map(select(.role == "other" and .name == "group.memory.bandwidth" and .socket == null)) | last |
		.value > 8.9e9 and .quality == "partial" and .reason == "1 process cannot be read in /proc, and what it moves is in it"' \
		<<<"$output" || fail "$output"
	jq -es 'map(select(.role == "other" and .name == "task.storage.read.bandwidth")) | last | .names == "0 processes, 1 that cannot be read"' \
		<<<"$output" || fail "$output"
	expect 0 "${who[@]}" -I 100ms -n 1
	[[ $output =~ 'other: 0 processes and the kernel '\ +[0-9.]+\ [MG]B/s\ ! ]] || fail "$output"
}

@test "a task of another key that may not leave the group: its row says so until it ends" {
	machine 16
	mkdir "$RESCTRL/denied"
	process 200 stays /system.slice/a.service 0.5 1000000000 0 0 0
	# Its turn is in the second interval.
	process 204 moves /system.slice/a.service 0.1 2000000000 0 0 0
	begin --by unit -I 200ms -n 20 -j
	: >"$RESCTRL/denied/204"
	echo 0::/system.slice/b.service >"$RESCTRL/proc/204/cgroup"
	for ((i = 0; i < 100; i++)); do grep -q 'tasks of others are in the group' "$BATS_TEST_TMPDIR/out" && break; sleep 0.05; done
	rm -r "$RESCTRL/proc/204"
	sed -i /204/d "$RESCTRL"/sys/fs/resctrl/mon_groups/uncore-*-0/tasks
	finish
	[ "$(jq -rs 'map(select(.names == "a.service" and .name == "group.memory.bandwidth" and .socket == null) | .quality) |
		reduce .[] as $q ([]; if last == $q then . else . + [$q] end) | join(" ")' <<<"$output")" = 'measured suspect measured' ] ||
		fail "$(jq -rs 'map(select(.names == "a.service" and .name == "group.memory.bandwidth" and .socket == null) | [.time,.quality,.reason])[]|tostring' <<<"$output")"
}

@test "a group of its name that another program has made in its place stays, and none of its tasks is moved" {
	local group

	machine 16
	process 100 alpha / 0.5 4000000000 0 0 0
	process 101 theirs / 0 0 0 0 0
	begin -I 300ms -n 8 -j
	group=$(basename "$RESCTRL"/sys/fs/resctrl/mon_groups/uncore-*-0)
	rm -r "$RESCTRL/sys/fs/resctrl/mon_groups/$group"
	group "mon_groups/$group"
	echo 101 >"$RESCTRL/sys/fs/resctrl/mon_groups/$group/tasks"
	: >"$RESCTRL/log"
	finish
	[ -d "$RESCTRL/sys/fs/resctrl/mon_groups/$group" ] || fail 'it was removed'
	! grep -E "move|rmdir mon_groups/$group\$" "$RESCTRL/log" || fail
	jq -es 'map(select(.role == "other" and .name == "group.memory.bandwidth" and .socket == null)) | last |
		.quality == "partial" and (.reason | contains("another program has removed 1 group of uncore"))' <<<"$output" || fail "$output"
	rm -r "$RESCTRL/sys/fs/resctrl/mon_groups/$group"
}

@test "--io: GPU time that a driver does not have is unknown, and not 0" {
	machine 16
	process 100 own / 0.5 1000000000 0 0 0
	io 100 0 0
	mkdir -p "$RESCTRL/sys/class/drm" "$RESCTRL/proc/100"/{fd,fdinfo}
	ln -s /dev/dri/renderD128 "$RESCTRL/proc/100/fd/3"
	printf 'drm-client-id:\t7\ndrm-pdev:\t0000:00:02.0\ndrm-total-vram:\t4 KiB\n' >"$RESCTRL/proc/100/fdinfo/3"
	expect 0 "${who[@]}" --io -I 200ms -n 1 -j
	jq -es 'any(.[]; .name == "task.gpu.busy" and .value == null and .quality == "unavailable" and (.reason | contains("no count at two readings")))' \
		<<<"$output" || fail "$output"
	[ "$(value 'own (100)' task.gpu.memory null)" = 4096 ] || fail "$output"
}

@test "--io: processes that NVIDIA's library lists, with their memory and the mean of their samples" {
	machine 16
	process 100 own / 0.5 1000000000 0 0 0
	process 101 idle / 0.1 1000000 0 0 0
	process 102 none / 0.1 1000000 0 0 0
	nvidia 'runs 100 4096 40' 'runs 101 -1 0' 'draws 100 4096' 'runs 777 5 5'
	expect 0 "${who[@]}" -I 200ms -n 2 -j
	[ -z "$stderr" ] || fail "$stderr"
	[ "$(gpu 'own (100)' task.gpu.busy)" = '0.4 sampled' ] || fail "$output"
	[ "$(gpu 'own (100)' task.gpu.memory)" = '4096 measured' ] || fail "$output"
	[ "$(gpu 'idle (101)' task.gpu.busy)" = '0 sampled' ] || fail "$output"
	[ "$(gpu 'idle (101)' task.gpu.memory)" = 'null unavailable' ] || fail "$output"
	[ -z "$(gpu 'none (102)' task.gpu.memory)" ] || fail "$output"
	# By cgroup: of two, the memory of one is known.
	expect 0 "${who[@]}" -I 200ms -n 1 -j --by cgroup
	[ "$(gpu / task.gpu.busy)" = '0.4 sampled' ] || fail "$output"
	[ "$(gpu / task.gpu.memory)" = '4096 partial' ] || fail "$output"
	# What the library does not have is unknown, and not 0.
	nvidia_says 'mig 0' 'runs 100 4096 40'
	expect 0 "${who[@]}" -I 200ms -n 1 -j
	[ "$(gpu 'own (100)' task.gpu.busy)" = 'null unavailable' ] || fail "$output"
	[ "$(gpu 'own (100)' task.gpu.memory)" = '4096 measured' ] || fail "$output"
	shows 'the GPU is partitioned \(MIG\)'
	nvidia_says 'crash 0'
	expect 0 "${who[@]}" -I 200ms -n 2 -j
	[ "$stderr" = 'uncore: note: processes of GPUs are not shown: the process uncore-nvml has ended, since NVIDIA'"'"'s library failed' ] || fail "$stderr"
	[ -z "$(gpu 'own (100)' task.gpu.memory)" ] || fail "$output"
}

@test "--io: in a container, only processes with an open file of NVIDIA's driver are taken for those of its list" {
	machine 16
	process 100 own / 0.5 1000000000 0 0 0
	process 101 wrong / 0.5 1000000000 0 0 0
	nvidia 'runs 100 4096 40' 'runs 101 4096 40'
	ln -sf 'pid:[4026532000]' "$RESCTRL/proc/self/ns/pid"
	mkdir "$RESCTRL/proc/100/fd" "$RESCTRL/proc/101/fd"
	ln -s /dev/nvidia0 "$RESCTRL/proc/100/fd/3"
	expect 0 "${who[@]}" -I 200ms -n 1 -j
	[ "$stderr" = "uncore: note: processes of GPUs are not shown: some have ids of another namespace than this container's" ] || fail "$stderr"
	[ "$(gpu 'own (100)' task.gpu.memory)" = '4096 measured' ] || fail "$output"
	[ -z "$(gpu 'wrong (101)' task.gpu.memory)" ] || fail "$output"
}
