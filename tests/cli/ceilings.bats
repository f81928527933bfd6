#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2030,SC2031 # $tree is of the test that sets it
# The peak of the memory, by tables that others read, too: dmidecode is the judge of the tables, and
# dmi_memory_id of systemd writes udev's form of them.

load helpers

# tells WORDS: the finding of the machine in $tree.
tells() {
	local code=0

	run --separate-stderr "$UNCORE" --root "$tree" doctor -j
	no_sanitizer_report || return 1
	[ "$(jq -r '.findings[] | select(.subject == "memory peak") |
		if .why then .why else .found end' <<<"$output")" = "$1" ] || fail "should tell: $1"
}

# machine NAME READ: a server with eight memory controllers and the table of that name, which
# dmidecode reads as "MODULES WIDTH RATED CONFIGURED".
machine() {
	tree=$BATS_TEST_TMPDIR/$1
	unpack "$SPR" "$tree"
	helper smbios write "$1" "$tree"
	command -v dmidecode >/dev/null || return 0
	[ "$(helper smbios judge "$tree")" = "$2" ] || fail "dmidecode reads $(helper smbios judge "$tree")"
}

# By what udev has read of the same table.
without_table() {
	local code=0

	helper smbios udev "$tree" || code=$?
	[ "$code" -ne 77 ] || skip 'there is no dmi_memory_id here'
	[ "$code" -eq 0 ] && rm -r "$tree/sys/firmware"
}

@test "one module on each of eight channels" {
	machine spr '8 64 4800 4800'
	tells '8 channels of 64 bits x 4800 MT/s = 307.20 GB/s per socket (SMBIOS)'
	expect 0 "$UNCORE" --root "$tree" topo -j
	jq -e '.memory_peak | .from == "SMBIOS" and .used == null' <<<"$output" || fail 'what is in use is not known'
	without_table
	tells '8 channels of 64 bits x 4800 MT/s = 307.20 GB/s per socket (udev)'
}

@test "two modules of a channel count once, and the slowest module sets the speed" {
	machine twice '16 64 4800 4000,4400'
	tells '8 channels of 64 bits x 4000 MT/s = 256.00 GB/s per socket (SMBIOS)'
	without_table
	tells '8 channels of 64 bits x 4000 MT/s = 256.00 GB/s per socket (udev)'
}

@test "empty slots, ROM, persistent and CXL memory do not count as channels" {
	machine half '7 64,8 4800,Unknown 4800,Unknown'
	tells '4 channels of 64 bits x 4800 MT/s = 153.60 GB/s per socket (SMBIOS)'
	without_table # in which nothing says that a module is on a CXL card
	tells 'the 5 modules of a socket are not evenly spread over its 8 memory channels'
}

@test "two modules for each memory PMU, or a different number for each" {
	machine filled '16 64 4800 4800'
	tells '8 channels of 64 bits x 4800 MT/s = 307.20 GB/s per socket (SMBIOS)'
	machine untold '15 64 4800 4800'
	tells 'the 15 modules of a socket are not evenly spread over its 8 memory channels'
	expect 0 "$UNCORE" --root "$tree" doctor
	shows 'note +memory peak: unknown' 'fix: uncore --memory-peak RATE'
}

@test "firmware that gives a clock as the speed, and bits of error correction as data" {
	machine clock '8 72 2133 1067'
	tells '8 channels of 64 bits x 2133 MT/s = 136.51 GB/s per socket (SMBIOS)'
	without_table
	tells '8 channels of 64 bits x 2133 MT/s = 136.51 GB/s per socket (udev)'
}

# DDR4 has no speed below 1600 MT/s (JESD79-4D): 1333 is the clock of 2666.
@test "clocks of modules that run below their rating; a number that is not a speed of the memory type" {
	machine slowed '8 64 2666,3200 1333'
	tells '8 channels of 64 bits x 2666 MT/s = 170.62 GB/s per socket (SMBIOS)'
	without_table
	tells '8 channels of 64 bits x 2666 MT/s = 170.62 GB/s per socket (udev)'
	machine impossible '8 64 3200 700'
	tells 'the firmware says 700 MT/s of a DDR4 module, and nothing shows whether that is its speed or its clock'
}

# The table of a Dell R630: slots A1 to A12 and B1 to B12, modules in A3 and A4 only.
@test "modules in only one of two sockets; a snapshot has the names of slots" {
	tree=$BATS_TEST_TMPDIR/r630
	unpack "$MACHINES/intel-hsx-modules.txt" "$tree"
	tells 'the 2 memory modules are not evenly spread over 2 sockets'
	expect 0 "$UNCORE" --root "$tree" snapshot "$BATS_TEST_TMPDIR/copy"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/copy" topo
	[ "$(grep -c 'the 2 memory modules are not evenly spread over 2 sockets' <<<"$output")" = 2 ] ||
		fail 'a socket has a peak'
}

@test "modules that only dmi-sysfs shows; a snapshot of them has no serial numbers" {
	machine twice '16 64 4800 4000,4400'
	helper smbios entries "$tree"
	tells '8 channels of 64 bits x 4000 MT/s = 256.00 GB/s per socket (SMBIOS)'
	expect 0 "$UNCORE" --root "$tree" snapshot "$BATS_TEST_TMPDIR/copy"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/copy" topo
	shows '8 channels with a module, 4000 MT/s .SMBIOS.'
	! grep -q maker "$BATS_TEST_TMPDIR/copy" || fail 'the maker of the modules is in the snapshot'
}

@test "speeds of more than 16 bits" {
	machine fast '8 64 65536 65536'
	tells '8 channels of 64 bits x 65536 MT/s = 4194.30 GB/s per socket (SMBIOS)'
}

@test "Grace: one wide entry, and no configured speed" {
	machine grace '1 480 8532 Unknown'
	tells '1 channel of 480 bits x 8532 MT/s (as rated) = 511.92 GB/s per socket (SMBIOS)'
	without_table
	tells '1 channel of 480 bits x 8532 MT/s (as rated) = 511.92 GB/s per socket (udev)'
}

@test "a guest without modules" {
	machine guest '1 Unknown Unknown Unknown'
	tells "the width of a module is not known"
	machine none '0   '
	tells 'the firmware lists no memory module'
}

# same_snapshot: topo prints for a snapshot what it prints for the tree.
same_snapshot() {
	expect 0 "$UNCORE" --root "$tree" topo
	echo "$output" >"$BATS_TEST_TMPDIR/topo"
	expect 0 "$UNCORE" --root "$tree" snapshot "$BATS_TEST_TMPDIR/copy"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/copy" topo
	diff "$BATS_TEST_TMPDIR/topo" <(echo "$output")
}

# bats test_tags=slow
@test "a broken table: the error names the structure, on the machine and in its snapshot" {
	local table size

	machine spr '8 64 4800 4800'
	table=$tree/sys/firmware/dmi/tables/DMI
	cp "$table" "$BATS_TEST_TMPDIR/whole"
	truncate -s 200 "$table"
	tells 'the SMBIOS structure with handle 0x1101 (type 17) is cut off' # the second module
	for size in 1 3 4 20 40 90 91 169 170 171 172 173 180 200 260 261 262; do
		truncate -s "$size" "$table" && dd if="$BATS_TEST_TMPDIR/whole" of="$table" bs=1 count="$size" conv=notrunc status=none
		same_snapshot || fail "$size bytes"
	done
	for size in 1 2 3; do # a length in the header of the first structure that is shorter than that
		cp "$BATS_TEST_TMPDIR/whole" "$table"
		# shellcheck disable=SC2059 # an octal escape
		printf "\\$size" | dd of="$table" bs=1 seek=1 conv=notrunc status=none
		same_snapshot || fail "a length of $size"
	done
}

@test "a broken entry of dmi-sysfs: the error names the file, on the machine and in its snapshot" {
	local raw size

	machine spr '8 64 4800 4800'
	helper smbios entries "$tree"
	raw=$tree/sys/firmware/dmi/entries/17-3/raw
	cp "$raw" "$BATS_TEST_TMPDIR/whole"
	for size in 2 10 92; do
		cp "$BATS_TEST_TMPDIR/whole" "$raw"
		truncate -s "$size" "$raw"
		same_snapshot || fail "$size bytes"
	done
	tells 'the SMBIOS structure with handle 0x1103 (type 17) has texts without an end (sys/firmware/dmi/entries/17-3/raw)'
}

@test "a table that only root may read" {
	[ "$(id -u)" -eq 0 ] || skip 'this must be root to become somebody else'
	machine spr '8 64 4800 4800'
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR/.." "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.."
	chmod 400 "$tree/sys/firmware/dmi/tables/DMI"
	# The command itself, and not the program that chooses one.
	command=${UNCORE_BUILT:-$UNCORE}
	cp "$command" "$(dirname "$command")"/libuncore.so* "$BATS_TEST_TMPDIR" 2>/dev/null || true
	expect 0 setpriv --reuid 65534 --regid 65534 --clear-groups \
		env LD_LIBRARY_PATH="$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/uncore" --root "$tree" doctor
	shows 'only root may read the SMBIOS table .sys/firmware/dmi/tables/DMI., and udev has no'
}

@test "--memory-peak: the user's value, and invalid values" {
	local rate

	machine spr '8 64 4800 4800'
	for rate in 250GB/s '250 GB/s' 250000MB/s 0.25TB/s 250000000kB/s 250000000000B/s; do
		expect 0 "$UNCORE" --memory-peak "$rate" --root "$tree" doctor
		shows 'ok +memory peak: 250.00 GB/s per socket .the user.'
	done
	expect 0 "$UNCORE" --root "$tree" doctor --memory-peak 1GiB/s
	shows 'memory peak: 1.07 GB/s per socket'
	for rate in 250 250GB 250Gb/s x -1GB/s 1e9B/s '250  GB/s'; do
		refuses 2 "$UNCORE" "--memory-peak=$rate" doctor
		says "--memory-peak: '$rate' (is not a rate; write 307.2GB/s|does not end in a unit)"
	done
	refuses 2 "$UNCORE" --memory-peak 0GB/s doctor
	says 'must be more than zero'
	refuses 2 "$UNCORE" --memory-peak 9999999TB/s doctor
	says 'is more than any memory can transfer'
}

# shellcheck disable=SC2030 # each test has an output of its own
@test "a value over the peak is suspect, with both numbers" {
	expect 0 "$UNCORE" --source "$SIM_T410" --memory-peak 100GB/s stat -j --timeout 1 \
		-M nvidia-t410-cmem/memory.dram.read.bandwidth
	[ "$(jq -r '[.quality, .reason, (.ceiling | round)] | join("|")' <<<"$output")" = \
		'suspect|519864268224 B/s are more than the ceiling of 200000000000 B/s|200000000000' ] || fail
	# In text as the row prints them.
	expect 0 "$UNCORE" --source "$SIM_T410" --memory-peak 100GB/s --units iec stat --timeout 1 \
		-M nvidia-t410-cmem/memory.dram.read.bandwidth
	shows '484\.2  GiB/s  suspect' '484\.2 GiB/s are more than the ceiling of 186\.3 GiB/s'
	expect 0 "$UNCORE" --source "$SIM_T410" --memory-peak 300GB/s stat -j --timeout 1 \
		-M nvidia-t410-cmem/memory.dram.read.bandwidth
	[ "$(jq -r '[.quality, .reason, (.ceiling | round)] | join("|")' <<<"$output")" = 'measured||600000000000' ] || fail
}

@test "other titles and instances in data files change no value, word or quality" {
	local files=$BATS_TEST_TMPDIR/renamed name what count=0

	mkdir "$files"
	cp "$UNCORE_SOURCE_ROOT"/data/*.yaml "$files"
	sed -i -E 's/^( *)title: .*/\1title: renamed/; s/^instance: .*/instance: renamed/; s/\{title: ("[^"]*"|[^,]*),/{title: renamed,/' \
		"$files"/*.yaml
	for name in grace spr t410 zen4; do
		for what in 'stat -M * --timeout 1 --per-socket -j' \
			'stat -M * --timeout 1 --no-merge -j' 'topo -j' 'mem --timeout 1 -j' 'list metrics -j'; do
			count=$((count + 1))
			set -f # '*' is a pattern of metrics
			# shellcheck disable=SC2086 # words are meant
			# A peak that every memory exceeds, so that ceilings are compared, too.
			expect 0 "$UNCORE" --source "sim:$name,step=1s" --memory-peak 1GB/s $what
			printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/$count.before"
			[[ $what != *stat*per-socket* || $output == *'more than the ceiling'* ]] ||
				fail "$name: no ceiling is compared"
			# shellcheck disable=SC2086 # words are meant
			expect 0 "${UNCORE_PLAIN:-$UNCORE}" --source "sim:$name,step=1s" --memory-peak 1GB/s --data "$files" $what
			printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/$count.after"
			set +f
		done
	done
	cd "$BATS_TEST_TMPDIR"
	python3 -S - "$count" <<-'PYTHON'
		import json, sys

		def without_texts(pairs):
		    return {name: value for name, value in pairs if name not in ("title", "instance", "time", "timestamp")}

		def objects(file):
		    text, decoder = open(file).read().strip(), json.JSONDecoder(object_pairs_hook=without_texts)
		    while text:
		        found, end = decoder.raw_decode(text)
		        yield found
		        text = text[end:].lstrip()

		for number in range(1, int(sys.argv[1]) + 1):
		    before, after = list(objects(f"{number}.before")), list(objects(f"{number}.after"))
		    assert before and len(before) == len(after), f"{number}: {len(before)} and {len(after)} objects"
		    for old, new in zip(before, after):
		        assert old == new, f"{number}: {json.dumps(old)[:1000]}\n{json.dumps(new)[:1000]}"
	PYTHON
}

# hsmp FILE VALUE...: of the first socket.
hsmp() {
	local dir=$tree/sys/devices/platform/AMDI0097:00

	mkdir -p "$dir"
	while [ $# -gt 0 ]; do
		echo "$2" >"$dir/$1"
		shift 2
	done
}

@test "EPYC: peak, memory clock and bandwidth in use, by the driver hsmp" {
	tree=$BATS_TEST_TMPDIR/zen4
	unpack "$ZEN4" "$tree"
	hsmp ddr_max_bw 460 mclk_input 2400 ddr_utilised_bw_input 37 ddr_utilised_bw_perc_input 8
	tells '12 channels of 64 bits x 4800 MT/s = 460.80 GB/s per socket (hsmp, unit inferred)'
	expect 0 "$UNCORE" --root "$tree" topo
	shows 'peak 460\.8 GB/s, 12 channels, 4800 MT/s \(hsmp, unit inferred\); 37\.00 GB/s in use \(hsmp\)'
	expect 0 "$UNCORE" --root "$tree" topo -j
	jq -e '.memory_peak | .used == 37e9 and .peak == 460.8e9 and .from == "hsmp, unit inferred"' <<<"$output" || fail
	# As the header of the kernel has it, in Gbit/s: this one does not have 96 channels.
	hsmp ddr_max_bw 3686 ddr_utilised_bw_input 296
	tells '12 channels of 64 bits x 4800 MT/s = 460.80 GB/s per socket (hsmp, unit inferred)'
	expect 0 "$UNCORE" --root "$tree" topo -j
	jq -e '.memory_peak.used == 37e9' <<<"$output" || fail
	# A snapshot has the files.
	expect 0 "$UNCORE" --root "$tree" snapshot "$BATS_TEST_TMPDIR/zen4.txt"
	tree=$BATS_TEST_TMPDIR/zen4.txt
	tells '12 channels of 64 bits x 4800 MT/s = 460.80 GB/s per socket (hsmp, unit inferred)'
}

@test "EPYC: invalid values of hsmp, or values without a clear unit" {
	local most mclk used peak reason

	tree=$BATS_TEST_TMPDIR/zen4
	unpack "$ZEN4" "$tree"
	# 921 Gbit/s are three channels; as 24 channels they would be more than the PMUs. 307 are eight channels or one.
	while read -r most mclk used peak reason; do
		hsmp ddr_max_bw "$most" mclk_input "$mclk" ddr_utilised_bw_input "$used"
		expect 0 "$UNCORE" --root "$tree" topo -j
		jq -e --argjson peak "$peak" --arg reason "$reason" '.memory_peak | .peak == $peak and .used == null and
			(.unknown // "" | contains($reason))' <<<"$output" || fail "$most: $(jq -c .memory_peak <<<"$output")"
	done <<-'END'
		921 2400 5000 115.2e9
		460 2400 5000 460.8e9
		307 2400 100 null in GB/s or in Gbit/s
		99999999999999 1 0 null no whole number of channels
		500 2400 0 null no whole number of channels
		460 0 0 null no whole number of channels
	END
	hsmp ddr_max_bw 921 mclk_input 2400
	expect 0 "$UNCORE" --root "$tree" topo
	shows 'peak 115\.2 GB/s, 3 channels, 4800 MT/s \(hsmp, unit inferred\)'
}

# The peak of 307 is eight channels in GB/s and one in Gbit/s; 153 is four, which the modules contradict.
@test "EPYC: with known modules hsmp gives the bandwidth in use, in the unit that matches their channels" {
	local number most used peak i

	tree=$BATS_TEST_TMPDIR/zen4
	unpack "$ZEN4" "$tree"
	mkdir -p "$tree/run/udev/data"
	while read -r number most used peak; do
		for ((i = 0; i < number; i++)); do
			printf "E:MEMORY_DEVICE_${i}_%s\n" SIZE=17179869184 TYPE=DDR5 DATA_WIDTH=64 SPEED_MTS=4800
		done >"$tree/run/udev/data/+dmi:id"
		hsmp ddr_max_bw "$most" mclk_input 2400 ddr_utilised_bw_input 100
		expect 0 "$UNCORE" --root "$tree" topo -j
		jq -e --argjson peak "$peak" --argjson used "$used" '.memory_peak |
			.peak == $peak and .used == $used and .from == "udev"' <<<"$output" ||
			fail "$number: $(jq -c .memory_peak <<<"$output")"
	done <<-'END'
		1 307 12.5e9 38.4e9
		12 153 null 460.8e9
		12 460 100e9 460.8e9
	END
}

@test "EPYC: the bandwidth in use needs hsmp of all sockets" {
	local cpu

	tree=$BATS_TEST_TMPDIR/zen4
	unpack "$ZEN4" "$tree"
	for cpu in "$tree"/sys/devices/system/cpu/cpu[1-9]*; do
		echo 1 >"$cpu/topology/physical_package_id"
	done
	hsmp ddr_max_bw 460 mclk_input 2400 ddr_utilised_bw_input 100
	expect 0 "$UNCORE" --root "$tree" topo -j
	jq -e '.memory_peak.used == null' <<<"$output" || fail
	mkdir "$tree/sys/devices/platform/AMDI0097:01"
	echo 50 >"$tree/sys/devices/platform/AMDI0097:01/ddr_utilised_bw_input"
	expect 0 "$UNCORE" --root "$tree" topo -j
	jq -e '.memory_peak.used == 150e9' <<<"$output" || fail
}

@test "EPYC: the peak and the memory clock of hsmp are compared with counts" {
	local sim=$BATS_TEST_TMPDIR/over.yaml

	tree=$BATS_TEST_TMPDIR/zen4
	unpack "$ZEN4" "$tree"
	hsmp ddr_max_bw 460 mclk_input 2400
	printf '%s\n' 'sim: over' "machine: $tree" 'rates:' \
		'  - {pmu: amd_umc, event: "event=0x0a,rdwrmask=0x1", constant: 700e6}' \
		'  - {pmu: amd_umc, event: "event=0x0a,rdwrmask=0x2", constant: 0}' \
		'  - {pmu: amd_umc, event: event=0x00, constant: 4.8e9}' >"$sim"
	expect 0 "$UNCORE" --source "sim:$sim,step=1s" stat -j --timeout 1 -M memory.bandwidth,memory.clock.frequency
	jq -se 'all(.[]; .quality == "suspect") and length == 2 and
		any(.[]; .reason | contains("460800000000 B/s")) and any(.[]; .reason | contains("memory modules"))' <<<"$output" || fail
	sed -i 's/700e6/300e6/; s/4.8e9/2.4e9/' "$sim"
	expect 0 "$UNCORE" --source "sim:$sim,step=1s" stat -j --timeout 1 -M memory.bandwidth,memory.clock.frequency
	jq -se 'all(.[]; .quality == "measured")' <<<"$output" || fail
}
