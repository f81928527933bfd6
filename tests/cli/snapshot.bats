#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore snapshot`: the same machine from its file, and nothing in it that names one machine.

load helpers

# bats test_tags=slow
@test "a snapshot of every machine gives the same list, topo, doctor, pcie and explain" {
	local machine command words file=$BATS_TEST_TMPDIR/file.txt plain=$BATS_TEST_TMPDIR/plain.txt

	for machine in "$MACHINES"/*.txt; do
		if grep -q ^uncore/verify: "$machine"; then
			sed '/^uncore\/verify:/,/^\tend/d' "$machine" >"$plain" # verdicts are the report's, not the snapshot's
			machine=$plain
		fi
		expect 0 "$UNCORE" --root "$machine" snapshot "$file"
		[ -z "$output$stderr" ] || fail "$machine"
		for command in 'list --json' 'topo --json' doctor pcie 'explain *'; do
			read -ra words <<<"$command"
			diff <("$UNCORE" --root "$machine" "${words[@]}" 2>&1) \
				<("${UNCORE_PLAIN:-$UNCORE}" --root "$file" "${words[@]}" 2>&1) || fail "$machine: $command"
		done
		# A snapshot of the snapshot is the same file.
		expect 0 "$UNCORE" --root "$file" snapshot -
		diff "$file" <(echo "$output") || fail "$machine"
	done
}

@test "the PMU that has the name of a directory of the kernel's power management: its events" {
	local pmu=$BATS_TEST_TMPDIR/machine/sys/bus/event_source/devices/power

	mkdir -p "$pmu/events" "$pmu/format" "$pmu/power"
	echo 11 >"$pmu/type"
	echo 0 >"$pmu/cpumask"
	echo config:0-7 >"$pmu/format/event"
	echo event=0x02 >"$pmu/events/energy-pkg"
	echo auto >"$pmu/power/control"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/machine" snapshot -
	shows '/power/events/energy-pkg = event=0x02' '/power/format/event = config:0-7'
	[[ $output != *power/power/control* ]] || fail 'power management'
}

@test "this machine: the same from its file" {
	expect 0 "$UNCORE" snapshot "$BATS_TEST_TMPDIR/here.txt"
	python3 "$MACHINES/snapshot.py" unpack "$BATS_TEST_TMPDIR/here.txt" "$BATS_TEST_TMPDIR/here"
	for command in 'list --json' 'topo --json'; do
		# shellcheck disable=SC2086 # words are meant
		diff <("$UNCORE" $command) <("$UNCORE" --root "$BATS_TEST_TMPDIR/here.txt" $command)
	done
}

# no WORD...: not in $BATS_TEST_TMPDIR/file.txt, in any case.
no() {
	local word

	for word in "$@"; do
		! grep -iF -- "$word" "$BATS_TEST_TMPDIR/file.txt" || fail "the snapshot has '$word'"
	done
}

@test "this machine: no serial number, UUID, MAC address, name of the host or of users" {
	local file word

	expect 0 "$UNCORE" snapshot "$BATS_TEST_TMPDIR/file.txt"
	for file in /sys/class/net/*/address /sys/class/dmi/id/*serial /sys/class/dmi/id/*uuid \
		/sys/class/dmi/id/*asset_tag; do
		word=$(tr -d '\0' 2>/dev/null <"$file") || continue
		case ${word,,} in
		'' | 00:00:00:00:00:00 | none | 'not specified' | 'not available' | default* | 'to be filled'*) continue ;;
		esac
		[ "${#word}" -ge 4 ] || continue
		no "$word" "${word//:/}"
	done
	word=$(uname -n)
	[ "${#word}" -lt 4 ] || no "$word" "${word%%.*}"
	# SERIALIZE is an instruction, and a flag in /proc/cpuinfo.
	! sed 's/\<serialize\>//' "$BATS_TEST_TMPDIR/file.txt" |
		grep -E '^proc/(self|[0-9])|/address|serial|uuid|hostname' || fail
	while read -r word; do
		! grep -qw -- "$word" "$BATS_TEST_TMPDIR/file.txt" || fail "the snapshot has '$word'"
	done < <(awk -F: '$3 >= 1000 && $3 < 65534 && length($1) > 3 {print $1}' /etc/passwd)
}

@test "data that a snapshot omits, on a machine with all kinds of hardware" {
	local root=$BATS_TEST_TMPDIR/root device net

	unpack "$T410" "$root"
	device=$root/sys/bus/pci/devices/0002:80:00.0
	# The first extended capability of this port, at 0x100, becomes a device serial number.
	printf '\003\000\001\024\122\064\126\376\377\171\232\274' |
		dd of="$device/config" bs=1 seek=256 conv=notrunc status=none
	net=$(echo "$root"/sys/devices/pci0002:80/*/*/*/0002:83:00.0/net)
	mkdir "$net/enx0c42a1345678"
	helper smbios write spr "$root"
	mkdir -p "$root/run/udev/data"
	printf '%s\n' I:123 E:ID_SERIAL=TopSecret1 E:MEMORY_DEVICE_0_TYPE=DDR5 \
		E:MEMORY_DEVICE_0_SERIAL_NUMBER=TopSecret2 E:MEMORY_DEVICE_0_ASSET_TAG=TopSecret3 \
		>"$root/run/udev/data/+dmi:id"
	printf 'Serial\t\t: 00000000deadbeef\nHardware\t: board\n' >>"$root/proc/cpuinfo"
	echo TopSecret4 >"$root/sys/bus/event_source/devices/nvidia_ucf_pmu_0/serial_number"
	echo 00:11:22:33:44:55 >"$root/sys/bus/event_source/devices/nvidia_ucf_pmu_0/address"
	expect 0 "$UNCORE" --root "$root" snapshot "$BATS_TEST_TMPDIR/file.txt"
	no TopSecret deadbeef 0c42a1345678 'fe ff 79 9a' 00:11:22:33:44:55 maker
	grep -q '0002:83:00.0/net/enx000000000001/' "$BATS_TEST_TMPDIR/file.txt"
	grep -q nvidia_ucf_pmu_0/cpumask "$BATS_TEST_TMPDIR/file.txt"
	# The peak of the memory is the same, and so are ports and their PMUs, but that of the broken list.
	for command in doctor 'topo --json'; do
		# shellcheck disable=SC2086 # words are meant
		diff <("$UNCORE" --root "$root" $command | sed s/enx[0-9a-f]*/enx/) \
			<("$UNCORE" --root "$BATS_TEST_TMPDIR/file.txt" $command | sed s/enx[0-9a-f]*/enx/)
	done
}

# nic ROOT FUNCTION NAME [LINE...]: a network interface with hardware, and more lines for its file uevent.
nic() {
	local device=$1/sys/devices/pci0000:00/0000:00:0$2.0/net/$3

	mkdir -p "$device/statistics" "$1/sys/class/net"
	echo 1 | tee "$device/statistics/"{r,t}x_{bytes,packets} >/dev/null
	ln -s ../.. "$device/device"
	printf '%s\n' "INTERFACE=$3" IFINDEX=2 "${@:4}" >"$device/uevent"
	ln -s "../../devices/pci0000:00/0000:00:0$2.0/net/$3" "$1/sys/class/net/$3"
}

@test "names of network interfaces with an address: anywhere in a name, and each has a number" {
	local root=$BATS_TEST_TMPDIR/root name n=0

	unpack "$SPR" "$root"
	for name in enx0c42a1123457 enx0c42a1123456 br-wlx0c42a1123458.100 enX0 \
		enx0c42a1123456np0 rocex525400c0fe123455 0x0123456789abcdef lan; do
		nic "$root" $((++n)) "$name"
	done
	expect 0 "$UNCORE" --root "$root" snapshot "$BATS_TEST_TMPDIR/file.txt"
	diff <("$UNCORE" --root "$BATS_TEST_TMPDIR/file.txt" list --json network |
		jq -r '.pmus[] | select(.family == "network").name') - <<-'.'
		0x0123456789abcdef
		br-wlx000000000001.100
		enX0
		enx000000000002
		enx000000000002np0
		enx000000000003
		lan
		rocex0000000000000004
	.
	no 0c42a1123456 0c42a1123457 0c42a1123458 525400c0fe123455
	grep -q 'INTERFACE=enx000000000002np0$' "$BATS_TEST_TMPDIR/file.txt"
	# The same number in a link and in its target.
	grep -q '^sys/class/net/enx000000000003 -> .*/net/enx000000000003$' "$BATS_TEST_TMPDIR/file.txt"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/file.txt" snapshot -
	diff "$BATS_TEST_TMPDIR/file.txt" <(echo "$output")
}

@test "contents of files: no MAC address, GUID, UUID or address of a host" {
	local root=$BATS_TEST_TMPDIR/root pmu

	unpack "$SPR" "$root"
	nic "$root" 1 eth7 ID_NET_NAME_MAC=enx0c42a1123456 NVME_TRADDR=192.168.1.7 HOST=TopSecret1
	pmu=$root/sys/bus/event_source/devices/uncore_imc_0
	printf '%s\n' 0C:42:A1:12:34:56 0c-42-a1-12-34-57 0c42:a103:0012:3458 \
		GPU-8e8a3f2c-1122-3344-5566-0c42a1123459 0000:83:00.0 00:00:00:00:00:00 0003:046D:C52B.0001 \
		00000000,0000ffff 12:34:56 >"$pmu/notes"
	# A device of Hyper-V, and its link.
	mkdir -p "$root/sys/devices/000d3af9-9a1b-000d-3af9-9a1b000d3af9"
	mv "$root/sys/devices/pci0000:00/0000:00:01.0/net" "$root/sys/devices/000d3af9-9a1b-000d-3af9-9a1b000d3af9/net"
	ln -nsf ../../devices/000d3af9-9a1b-000d-3af9-9a1b000d3af9/net/eth7 "$root/sys/class/net/eth7"
	expect 0 "$UNCORE" --root "$root" snapshot "$BATS_TEST_TMPDIR/file.txt"
	no 0c42a1 0c:42 0c-42 0c42:a1 9a1b 8e8a3f2c 192.168 TopSecret
	sed -n '/uncore_imc_0\/notes:/,/^[^\t]/p' "$BATS_TEST_TMPDIR/file.txt" | grep $'^\t' | diff - <(printf '\t%s\n' \
		00:00:00:00:00:01 00-00-00-00-00-02 0000:0000:0000:0003 GPU-00000000-0000-0000-0000-000000000004 \
		0000:83:00.0 00:00:00:00:00:00 0003:046D:C52B.0001 00000000,0000ffff 12:34:56)
	diff <("$UNCORE" --root "$root" topo --json) <("$UNCORE" --root "$BATS_TEST_TMPDIR/file.txt" topo --json)
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/file.txt" list --json
	shows '"eth7"'
}

@test "files that are refused and machines that cannot be scanned" {
	local root=$BATS_TEST_TMPDIR/root

	mkdir -p "$root/sys/devices/system/cpu" "$root/sys/bus/event_source/devices/box"
	echo 9 >"$root/sys/bus/event_source/devices/box/type"
	expect 0 "$UNCORE" --root "$root" snapshot -
	shows 'devices/box/type = 9'
	refuses 3 "$UNCORE" --root "$root" list
	[ "$(id -u)" -ne 0 ] || return 0
	unpack "$T410" "$root/t410"
	chmod 0 "$root/t410/sys/bus/event_source/devices/nvidia_ucf_pmu_0/identifier"
	expect 0 "$UNCORE" --root "$root/t410" snapshot -
	shows 'nvidia_ucf_pmu_0/identifier ! EACCES'
}

@test "wrong usage, and files that are not snapshots" {
	refuses 2 "$UNCORE" snapshot
	says 'a file is missing'
	refuses 2 "$UNCORE" snapshot a b
	says 'one file'
	refuses 1 "$UNCORE" --root "$SPR" snapshot /nonexistent/file
	says /nonexistent/file
	refuses 1 "$UNCORE" --root "$SPR" snapshot /dev/full
	says 'No space'
	echo 'uncore snapshot 9' >"$BATS_TEST_TMPDIR/nine.txt"
	refuses 2 "$UNCORE" --root "$BATS_TEST_TMPDIR/nine.txt" list
	says 'nine.txt:1: a snapshot of version 9'
	printf 'uncore snapshot 1\na = 1\nb\n' >"$BATS_TEST_TMPDIR/bad.txt"
	refuses 2 "$UNCORE" --root "$BATS_TEST_TMPDIR/bad.txt" list
	says 'bad.txt:3: '
}

@test "a snapshot that was cut at the end of a line is refused, and one without some lines is not" {
	local file=$BATS_TEST_TMPDIR/file.txt lines

	expect 0 "$UNCORE" --root "$SPR" snapshot "$file"
	[ "$(tail -n 1 "$file")" = '# end' ]
	lines=$(wc -l <"$file")
	head -n 600 "$file" >"$BATS_TEST_TMPDIR/cut.txt"
	refuses 2 "$UNCORE" --root "$BATS_TEST_TMPDIR/cut.txt" topo
	says 'cut.txt: it was cut after line 600: '
	head -n $((lines - 1)) "$file" >"$BATS_TEST_TMPDIR/cut.txt"
	refuses 2 "$UNCORE" --root "$BATS_TEST_TMPDIR/cut.txt" topo
	grep -v /numa_node "$file" >"$BATS_TEST_TMPDIR/less.txt"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/less.txt" topo
}

# full COMMAND...: on a disk that is full after 16 KiB.
full() {
	(
		trap '' XFSZ
		ulimit -f 16
		"$@"
	)
}

@test "a snapshot for which the disk is too small: no file, and the old one stays" {
	local dir=$BATS_TEST_TMPDIR/disk

	mkdir "$dir"
	refuses 1 full "$UNCORE" --root "$SPR" snapshot "$dir/new.txt"
	says "cannot write '.*/new.txt': File too large"
	echo old >"$dir/old.txt"
	chmod 600 "$dir/old.txt"
	refuses 1 full "$UNCORE" --root "$SPR" snapshot "$dir/old.txt"
	[ "$(cat "$dir/old.txt")" = old ]
	[ "$(ls "$dir")" = old.txt ]
	# With room the file has the mode that it had, and a new one that of the umask.
	expect 0 "$UNCORE" --root "$SPR" snapshot "$dir/old.txt"
	(umask 027 && "$UNCORE" --root "$SPR" snapshot "$dir/new.txt")
	[ "$(stat -c %a "$dir/old.txt" "$dir/new.txt" | xargs)" = '600 640' ]
	cmp "$dir/old.txt" "$dir/new.txt"
	# What is no regular file stays what it is.
	ln -s old.txt "$dir/link.txt"
	echo old >"$dir/old.txt"
	expect 0 "$UNCORE" --root "$SPR" snapshot "$dir/link.txt"
	[ -L "$dir/link.txt" ]
	cmp "$dir/old.txt" "$dir/new.txt"
	mkfifo "$dir/fifo"
	cat "$dir/fifo" >"$dir/read.txt" &
	expect 0 "$UNCORE" --root "$SPR" snapshot "$dir/fifo"
	wait $!
	cmp "$dir/read.txt" "$dir/new.txt"
	expect 0 "$UNCORE" --root "$SPR" snapshot /dev/stdout
	[ "$output" = "$(<"$dir/new.txt")" ]
}

@test "errors about a file as the root speak of a file" {
	printf 'uncore snapshot 1\na = 1\n' >"$BATS_TEST_TMPDIR/small.txt"
	refuses 3 "$UNCORE" --root "$BATS_TEST_TMPDIR/small.txt" topo
	says "small.txt has no entry 'sys/devices/system/cpu'"
	[[ $stderr != *mounted* ]] || fail 'nothing is mounted in a file'
	refuses 2 "$UNCORE" --root - topo
	says "there is no directory '-': a snapshot is read from a file, not from standard input"
	refuses 3 "$UNCORE" --root "$SPR" stat -M memory.bandwidth 1 1
	says 'not on one that is a directory or a snapshot'
}

@test "doctor suggests a snapshot" {
	run --separate-stderr "$UNCORE" doctor
	shows 'uncore snapshot machine.txt'
	run --separate-stderr "$UNCORE" --root "$SPR" doctor
	[[ ! $output =~ 'uncore snapshot' ]] || fail
}
