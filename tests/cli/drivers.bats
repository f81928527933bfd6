# SPDX-License-Identifier: MIT
# Machines whose files do not show what the driver does: tests/drivers, made from public reports of real ones. Each test says
# where the right value is from.

load helpers

# on NAME COMMAND...: runs it on the simulation of that machine.
on() {
	expect 0 "$UNCORE" --source "sim:$UNCORE_SOURCE_ROOT/tests/drivers/$1.yaml,step=1s" "${@:2}"
}

# Each row of JSON: quality, socket, channel, value.
rows() {
	jq -r 'select(.name) | [.quality, .socket // "-", .channel // "-", .value // "-"] | join(" ")' <<<"$output"
}

@test "energy of a package is counted once, whatever CPUs its mask has" {
	# linux 8d72eba1cf8c: from 6.9 to 6.11.5 the mask has a CPU of each core complex of AMD
	on rapl-die-scope stat -j -M power.package 1 1
	[ "$(rows)" = 'measured - - 200' ]
	# linux 525e0064f3d8: from 7.0 on it has all CPUs
	on rapl-all-cpus stat -j -M 'power.*' --per-socket 1 1
	[ "$(rows)" = $'measured 0 - 200\nmeasured 1 - 200\nmeasured 0 - 20\nmeasured 1 - 20' ]
	on rapl-all-cpus stat -j -e power/energy-pkg/ 1 1
	[ "$(rows)" = 'measured - - 400' ]
	expect 3 "$UNCORE" --root "$UNCORE_SOURCE_ROOT/tests/drivers/rapl-all-cpus.txt" doctor # other PMUs are missing
	[[ $(xargs -d '\n' <<<"$output") =~ has\ 8\ CPUs\ for\ 2\ +registers:\ one\ CPU\ of\ each\ package ]]
}

# linux Documentation/admin-guide/kernel-parameters.txt, numa=off: one node has the CPUs of all sockets.
@test "the only node of two sockets has the sum of both" {
	local tree=$BATS_TEST_TMPDIR/numa

	unpack "$UNCORE_SOURCE_ROOT/tests/drivers/rapl-all-cpus.txt" "$tree"
	rm -r "$tree"/sys/devices/system/node/node1
	echo 0-7 >"$tree/sys/devices/system/node/node0/cpulist"
	sed "s|^machine:.*|machine: $tree|" "$UNCORE_SOURCE_ROOT/tests/drivers/rapl-all-cpus.yaml" >"$tree.yaml"
	expect 0 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -j -M power.package --per-node 1 1
	[ "$(jq -r 'select(.name) | "\(.quality) \(.socket) \(.node) \(.value)"' <<<"$output")" = 'measured null 0 400' ]
}

@test "a PMU that cannot be counted is not fixed by the driver of other PMUs" {
	local tree=$BATS_TEST_TMPDIR/empty

	unpack "$UNCORE_SOURCE_ROOT/tests/drivers/rapl-all-cpus.txt" "$tree"
	: >"$tree/sys/bus/event_source/devices/power/cpumask"
	refuses 3 "$UNCORE" --root "$tree" stat --dry-run -M power.package
	says 'its cpumask is empty'
	[[ $(<"$BATS_TEST_TMPDIR.stderr") != *fix:* ]] # amd_uncore, whose PMUs are missing, too
}

@test "Ice Lake has eight channels, and a driver that registers twelve" {
	# linux 496a18f09374: three channels of each controller, of which two are active
	expect 0 "$UNCORE" --root "$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.txt" topo
	shows '8 memory channels: uncore_imc_\{0,1,3,4,6,7,9,10\}' 'peak 204.8 GB/s, 8 channels' \
		'PMUs without hardware: uncore_imc_\{2,5,8,11\}'
	on icx-12-imc stat -j -M memory.utilization --per-channel 1 1
	[ "$(rows)" = "$(for i in {0..7}; do echo "measured 0 $i 0.35"; done)" ]
	on icx-12-imc stat -j -M memory.utilization 1 1
	[ "$(rows)" = 'measured - - 0.35' ]
	on icx-12-imc mem 1 1
	[[ $output != *'!'* ]]
	refuses 3 "$UNCORE" --source "sim:$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.yaml,step=1s" stat \
		-e uncore_imc_2/event=0/ 1 1
	says 'uncore_imc_2 has no hardware'
}

# linux arch/x86/events/intel/uncore.c: INTEL_ICELAKE_D has icx_uncore_init, too. Intel's product page of the Xeon D-2700: four
# channels, two modules each.
@test "a Xeon D has the PMUs of eight channels: modules do not show how many it has" {
	local tree=$BATS_TEST_TMPDIR/icxd

	unpack "$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.txt" "$tree"
	sed -i -E 's/^(model\s*: ).*/\1108/' "$tree/proc/cpuinfo"
	sed -E -e "s|^machine:.*|machine: $tree|" -e '/pmu: uncore_imc_([6-9]|1[01]),/s/constant: .*/constant: 0}/' \
		"$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.yaml" >"$tree.yaml"
	expect 0 "$UNCORE" --root "$tree" topo
	shows 'at most 12 memory channels' 'peak unknown: no PMU for each memory channel'
	expect 0 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -j -M memory.utilization 1 1
	[ "$(rows)" = 'measured - - 0.35' ]
	expect 0 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -j -M memory.bandwidth 1 1
	[ "$(rows)" = 'measured - - 35840000000' ]
}

@test "a stuck clock of a channel with a module makes the sum suspect" {
	local tree=$BATS_TEST_TMPDIR/icx

	unpack "$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.txt" "$tree"
	sed -e "s|^machine:.*|machine: $tree|" -e '/pmu: uncore_imc_10,/s/constant: .*/constant: 0}/' \
		"$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.yaml" >"$tree.yaml"
	expect 0 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -j -M memory.bandwidth 1 1
	[ "$(jq -r '"\(.quality) \(.reason)"' <<<"$output")" = \
		'suspect the clock of uncore_imc_10, CPU 0 did not move, so that the PMU does not count: 1 of 8 PMUs' ]
}

# Whether drivers find channels without modules is not known: the modules show which clocks have nothing to count.
@test "channels without modules are left out if the same number of clocks does not move" {
	local tree=$BATS_TEST_TMPDIR/skx still result

	unpack "$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.txt" "$tree"
	sed -i -E 's/^(model\s*: ).*/\185/' "$tree/proc/cpuinfo"
	rm -r "$tree"/sys/bus/event_source/devices/uncore_imc_{2,5,8,9,10,11}
	echo "E:MEMORY_DEVICE_0_LOCATOR=A
$(for i in 0 1 2; do printf 'E:MEMORY_DEVICE_%d_%s\n' $i SIZE=1 $i DATA_WIDTH=64 $i TYPE=DDR4 $i SPEED_MTS=2666 $i CONFIGURED_SPEED_MTS=2666; done)" >"$BATS_TEST_TMPDIR/udev"
	rm "$tree/sys/firmware/dmi/tables/DMI"
	mkdir -p "$tree/run/udev/data"
	cp "$BATS_TEST_TMPDIR/udev" "$tree/run/udev/data/+dmi:id"
	for still in 1 1,4,7; do
		{
			printf 'sim: x\nmachine: %s\nrates:\n' "$tree"
			for i in 0 1 3 4 6 7; do
				result=$([[ ,$still, == *,$i,* ]] && echo 0 || echo 1e8)
				printf '  - {pmu: uncore_imc_%d, event: "%s", constant: %s}\n' $i event=0x04,umask=0x03 "$result" \
					$i event=0x04,umask=0x0c "$result" $i event=0x00 "$result"
			done
		} >"$tree.yaml"
		expect 0 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -j -M memory.bandwidth 1 1
		result=$(rows)
		[ "${result%% *}" = "$([ "$still" = 1 ] && echo suspect || echo measured)" ]
	done
}

# Which CPUs read one register is then not known: a sum would be 800 W in place of 400.
@test "energy is not counted if the package of a CPU in the mask is unknown" {
	local tree=$BATS_TEST_TMPDIR/rapl

	unpack "$UNCORE_SOURCE_ROOT/tests/drivers/rapl-all-cpus.txt" "$tree"
	rm "$tree"/sys/devices/system/cpu/cpu{1,5}/topology/physical_package_id
	sed "s|^machine:.*|machine: $tree|" "$UNCORE_SOURCE_ROOT/tests/drivers/rapl-all-cpus.yaml" >"$tree.yaml"
	refuses 1 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -M power.package 1 1
	says 'the package of CPU 1 is not known'
}

# linux drivers/powercap/intel_rapl_common.c, rapl_pmu_event_init(): a domain that a package lacks is counted as 0.
@test "energy that never moves is not a measured 0: as a metric, as an event, and in short intervals" {
	local dir=$BATS_TEST_TMPDIR

	sed -e "s|^machine: \./|machine: $UNCORE_SOURCE_ROOT/tests/drivers/|" -e '/energy-ram/s/constant: .*/constant: 0}/' \
		"$UNCORE_SOURCE_ROOT/tests/drivers/rapl-all-cpus.yaml" >"$dir/rapl.yaml"
	cp -r "$UNCORE_SOURCE_ROOT/tests/drivers/rapl-all-cpus.txt" "$dir"
	for what in '-M power.memory' '-e power/energy-ram/'; do
		# shellcheck disable=SC2086 # two words
		expect 0 "$UNCORE" --source "sim:$dir/rapl.yaml,step=1s" stat -j $what 1 1
		[ "$(jq -r '.quality + " " + .reason' <<<"$output")" = \
			"suspect '$(sed "s/.* //; s/power.memory/energy_ram/" <<<"$what")' did not move in 1000 ms: the counter is stuck" ]
		# shellcheck disable=SC2086
		expect 0 "$UNCORE" --source "sim:$dir/rapl.yaml,step=40ms" stat -j $what -I 40ms --interval-count 4
		[ "$(jq -r .quality <<<"$output" | xargs)" = 'measured measured suspect suspect' ]
	done
	expect 0 "$UNCORE" --source "sim:$dir/rapl.yaml,step=1s" stat -j -e power/energy-pkg/ 1 1
	[ "$(jq -r .quality <<<"$output")" = measured ]
}

@test "energy of a socket that is offline is unavailable, and the sum of the machine partial" {
	local tree=$BATS_TEST_TMPDIR/rapl

	unpack "$UNCORE_SOURCE_ROOT/tests/drivers/rapl-all-cpus.txt" "$tree"
	rm -r "$tree"/sys/devices/system/cpu/cpu[4-7]/topology
	echo 0-3 | tee "$tree/sys/devices/system/cpu/online" >"$tree/sys/bus/event_source/devices/power/cpumask"
	sed "s|^machine:.*|machine: $tree|" "$UNCORE_SOURCE_ROOT/tests/drivers/rapl-all-cpus.yaml" >"$tree.yaml"
	expect 0 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -j -M power.package --per-socket 1 1
	[ "$(rows)" = $'measured 0 - 200\nunavailable 1 - -' ]
	expect 0 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -j -M power.package 1 1
	[ "$(rows)" = 'partial - - 200' ]
}

# linux drivers/perf/arm_cspmu/arm_cspmu.c: all CPUs are associated where the firmware names none.
@test "a PMU that is associated with the CPUs of both sockets belongs to neither socket" {
	local tree=$BATS_TEST_TMPDIR/t410

	unpack "$MACHINES/nvidia-t410-2socket.txt" "$tree"
	for pmu in "$tree"/sys/bus/event_source/devices/nvidia_ucf_pmu_*; do
		echo 0-7 >"$pmu/associated_cpus"
	done
	sed "s|^machine:.*|machine: $tree|" "$UNCORE_SOURCE_ROOT/data/sim/t410.yaml" >"$tree.yaml"
	expect 0 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -j -M memory.bandwidth --per-socket 1 1
	[ "$(jq -r .quality <<<"$output" | sort -u)" = unavailable ]
	[[ $output == *'the firmware does not say which CPUs it belongs to'* ]]
	expect 0 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -j -M memory.bandwidth 1 1
	[ "$(jq -r .quality <<<"$output")" = measured ]
}

@test "the eight PMUs that older kernels have for Ice Lake are all channels" {
	local i

	sed '/uncore_imc_\(8\|9\|10\|11\)\//d' "$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.txt" >"$BATS_TEST_TMPDIR/old.txt"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/old.txt" topo
	shows '8 memory channels: uncore_imc_\{0-7\}'
	[[ $output != *'without hardware'* ]]
}

@test "a Broadwell of one controller has four channels, and a PMU of a fifth" {
	# Intel's data sheet of the Xeon E5-2630 v4: four channels
	expect 0 "$UNCORE" --root "$UNCORE_SOURCE_ROOT/tests/drivers/bdx-5-imc.txt" topo
	shows '4 memory channels: uncore_imc_\{0-3\}' 'peak [0-9.]* GB/s, 4 channels'
	on bdx-5-imc stat -j -M memory.bandwidth --per-channel 1 1
	[ "$(rows)" = "$(for s in 0 1; do for i in {0..3}; do echo "measured $s $i 9600000000"; done; done)" ]
	on bdx-5-imc mem 1 1
	[[ $output != *'!'* ]]
}

@test "if the driver reads all controllers from one CPU, their socket is unknown" {
	# linux drivers/perf/arm_dmc620_pmu.c: the CPU that probes the device
	on dmc620-two-sockets stat -j -M memory.requests 1 1
	[ "$(rows)" = 'measured - - 400000000' ]
	for level in --per-socket --per-node; do
		on dmc620-two-sockets stat -j -M memory.requests "$level" 1 1
		[ "$(rows)" = $'unavailable 0 - -\nunavailable 1 - -' ]
		jq -e 'select(.name) | .reason | contains("its driver reads it from one CPU")' <<<"$output"
	done
	on dmc620-two-sockets stat -j -M memory.requests --per-channel 1 1
	[ "$(rows)" = $'measured - - 100000000\nmeasured - - 300000000' ]
	expect 0 "$UNCORE" --root "$UNCORE_SOURCE_ROOT/tests/drivers/dmc620-two-sockets.txt" topo
	shows 'socket unknown.*2 memory channels: arm_dmc620'
	expect 0 "$UNCORE" --root "$UNCORE_SOURCE_ROOT/tests/drivers/dmc620-two-sockets.txt" topo -j
	[ "$(jq -c '[.memory[].socket]' <<<"$output")" = '[null,null]' ]
}

@test "channels of two dies of a package have twelve numbers, and each die has its node" {
	# Cascade Lake AP: channel i of each die moves i + 1 times 960 MB/s
	on two-dies stat -j -M memory.bandwidth --per-channel 1 1
	[ "$(rows)" = "$(for s in 0 1; do for i in {0..11}; do echo "measured $s $i $(((i % 6 + 1) * 960000000))"; done; done)" ]
	on two-dies stat -j -M memory.bandwidth --per-node 1 1
	[ "$(jq -r 'select(.name) | "\(.node) \(.value)"' <<<"$output")" = \
		"$(for n in {0..3}; do echo "$n 20160000000"; done)" ]
	expect 0 "$UNCORE" --root "$UNCORE_SOURCE_ROOT/tests/drivers/two-dies.txt" topo
	shows '12 memory channels: uncore_imc_\{0-5\}'
}

@test "a sum does not include a controller whose clock does not move" {
	local metric

	for metric in memory.bandwidth memory.read.bandwidth memory.write.bandwidth; do
		on dead-controller stat -j -M "$metric" 1 1
		jq -e 'select(.name) | .quality == "suspect" and (.reason | contains("clock of uncore_imc_0, CPU 0"))' \
			<<<"$output"
		on dead-controller stat -j -M "$metric" --per-channel 1 1
		[ "$(rows | cut -d' ' -f1-3)" = $'suspect 0 0\nmeasured 0 1' ]
	done
	on dead-controller stat -j -M 'memory.*' 1 1
	[ "$(rows | grep -c suspect)" -ge 4 ]
}

@test "a channel that may have no modules is left out, with one note" {
	# Of Haswell the driver registers each PCI function, and does not look at modules.
	sed 's/^\tmodel\t\t: 85/\tmodel\t\t: 63/' "$UNCORE_SOURCE_ROOT/tests/drivers/dead-controller.txt" \
		>"$BATS_TEST_TMPDIR/hsx.txt"
	sed 's/^machine: .*/machine: .\/hsx.txt/' "$UNCORE_SOURCE_ROOT/tests/drivers/dead-controller.yaml" >"$BATS_TEST_TMPDIR/hsx.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/hsx.yaml,step=1s" stat -j -M memory.bandwidth --per-channel -I 1s \
		--interval-count 3
	[ "$(rows | sort | uniq -c | xargs)" = '3 measured 0 1 13440000000' ]
	[ "$(grep -c 'left out: uncore_imc_0' <<<"$stderr")" -eq 1 ]
}

@test "explain has the facts about the driver, in sentences and records" {
	expect 0 "$UNCORE" --root "$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.txt" explain memory.bandwidth
	shows 'driver +One PMU counts one channel.' 'Units 2 5 8 11 have none'
	expect 0 "$UNCORE" --root "$UNCORE_SOURCE_ROOT/tests/drivers/dmc620-two-sockets.txt" explain -j memory.requests
	[ "$(jq -c '.metrics[0].drivers[0] | [.cpu, .each, .absent]' <<<"$output")" = '["reader","machine",null]' ]
}

@test "docs/drivers.md agrees with the data files" {
	python3 "$UNCORE_SOURCE_ROOT/tools/drivers" >"$BATS_TEST_TMPDIR/drivers.md"
	diff -u "$UNCORE_SOURCE_ROOT/docs/drivers.md" "$BATS_TEST_TMPDIR/drivers.md"
}
