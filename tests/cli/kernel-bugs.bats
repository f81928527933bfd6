#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Rows of events that this machine's kernel counts wrongly are suspect, and every command says so.
# shellcheck disable=SC2030,SC2031 # $output is that of run, in the test that reads it

load helpers

# Loops over kernels differ in a version only: without sanitizers. The other command lines run with them.
PLAIN=${UNCORE_PLAIN:-$UNCORE}

# machine NAME KERNEL [PMU/TERMS...]: a machine of tests/machines under this kernel ('': not known), and a
# simulation of it: the built-in one, or of these events.
machine() {
	local event

	ROOT=$BATS_TEST_TMPDIR/$1-$2.txt SIM=$BATS_TEST_TMPDIR/$1-$2.yaml
	cp "$MACHINES/$1.txt" "$ROOT"
	[ -z "$2" ] || echo "proc/sys/kernel/osrelease = $2" >>"$ROOT"
	sed "s|^machine:.*|machine: $ROOT|" "$UNCORE_SOURCE_ROOT/data/sim/spr.yaml" >"$SIM"
	[ $# -eq 2 ] || printf 'sim: x\nmachine: %s\nrates:\n' "$ROOT" >"$SIM"
	for event in "${@:3}"; do
		echo "  - {pmu: ${event%%/*}, event: \"${event#*/}\", constant: 1e6}"
	done >>"$SIM"
}

# rows WHAT...: the qualities of the rows, each once, in $quality; their reasons in $reason.
rows() {
	local found

	expect 0 "$UNCORE" --source "sim:$SIM,step=1s" stat -j --timeout 1 "$@"
	found=$(jq -rs '[map(.quality), map(.reason)] | map(map(tostring) | unique | join("\n")) | join("\u001f")' <<<"$output")
	quality=${found%$'\x1f'*} reason=${found#*$'\x1f'}
}

# are QUALITY WHAT...
are() {
	rows "${@:2}"
	[ "$quality" = "$1" ] || fail "$* is $quality"
}

UPI='uses the registers of link 0'

@test "links of Sapphire Rapids are suspect since Linux 6.11" {
	local kernel command

	for kernel in '' 6.1.0-44-amd64 6.10.9; do
		machine intel-spr-1socket "$kernel"
		are measured -M 'link.*.bandwidth'
		for command in doctor topo 'explain link.in.bandwidth'; do
			# shellcheck disable=SC2086 # words
			expect 0 "$UNCORE" --root "$ROOT" $command
			[[ $(tr -s '\n ' ' ' <<<"$output") != *"$UPI"* ]] || fail "$kernel: $command"
		done
	done
	for kernel in 6.11 6.12.117+deb13-amd64 7.2.12-amd64; do
		machine intel-spr-1socket "$kernel"
		# As with the bug: the same on all links.
		sed -i '/pmu: uncore_upi$/,/spread/{s/ramp:.*/constant: 100e6/; /spread/d}' "$SIM"
		are suspect -M 'link.*'
		[[ $reason == "a bug of kernel $kernel: every uncore_upi_N $UPI"* ]] || fail "$reason"
		are suspect -M 'link.*' --per-socket
		are suspect -e 'uncore_upi/event=0x02,umask=0x0f/' --no-merge
		are measured -M 'memory.bandwidth,cache.hit.ratio'
	done
	for command in doctor topo 'explain link.in.bandwidth' 'doctor -j' 'topo -j' 'explain -j link.in.bandwidth'; do
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" --root "$ROOT" $command
		[[ $(tr -s '\n ' ' ' <<<"$output") == *"a bug of kernel 7.2.12-amd64: every uncore_upi_N $UPI"* ]] ||
			fail "$command"
	done
	expect 0 "$UNCORE" --root "$ROOT" explain memory.bandwidth
	[[ $output != *'a bug of'* ]] || fail 'another family'
}

@test "links with different counts are not suspect, with any version" {
	for kernel in 6.1.0-44-amd64 6.12.117+deb13-amd64 7.2.12-amd64; do
		machine intel-spr-1socket "$kernel"
		are measured -M 'link.in.*,link.out.bandwidth,link.clock.*,power.link.out.*' --no-merge
		are measured -e 'uncore_upi/event=0x02,umask=0x0f/' --no-merge
	done
	# One link alone cannot show it, nor an event that is equal on all links.
	are suspect -e 'uncore_upi_0/event=0x02,umask=0x0f/'
	are suspect -M link.clock.frequency
	[[ $reason == *'counts of PMUs that differ by more than an eighth show that it is fixed'* ]] || fail "$reason"
}

# A machine (with another CPU model: family/model), a family, kernels with the bug and without, its effect, and
# words of its title.
BUGS='
intel-spr-1socket        intel-upi   6.2.16  6.3.1   missing the discovery table is broken
intel-spr-1socket        intel-m3upi 6.2.16  6.3.1   missing the discovery table is broken
intel-spr-1socket        intel-upi   6.12.108 6.12.109 missing with numa=off
intel-spr-1socket:6/207  intel-m3upi 6.19.9  7.0.1   missing with numa=off
intel-spr-1socket        intel-upi   6.1.68  6.1.69  missing warn at boot
intel-skx-1socket        intel-upi   6.1.187 6.1.188 missing in MSRs or MMIO
intel-spr-1socket        intel-cxlcm 6.10.9  6.11.1  missing uncore_type_12_N
intel-spr-1socket:6/207  intel-cxldp 6.10.9  6.11.1  missing uncore_type_13_N
intel-spr-1socket:19/1   intel-iio-free-running 6.19.9 7.0.1 note quotes in them
intel-spr-1socket        intel-cha   6.1.30  6.1.31  suspect slices are missing
intel-spr-1socket:6/207  intel-cha   6.1.52  6.1.53  suspect slices are missing
intel-icx-1socket        intel-upi   6.6.13  6.6.14  note upi_fill_topology
intel-spr-1socket        intel-cha   6.12.96 6.12.97 note on machines of several sockets
intel-spr-1socket        intel-cha   6.1.174 6.1.175 note a socket are offline
intel-spr-1socket        intel-upi   6.12.116 6.12.117 note removing a PCI device
amd-zen4-1socket         amd-umc     6.12.33 6.12.34 note stop at their highest value
amd-zen3-1socket         amd-df      6.12.109 6.12.110 note never counts
amd-zen4-1socket         amd-df      6.12.96 6.12.97 note by package and not by node
amd-zen3-1socket:23/1    amd-df      6.12.96 6.12.97 suspect one die of each package
amd-zen3-1socket:23/8    amd-df      6.7.1   6.6.117 suspect one die of each package
amd-zen4-1socket         amd-umc     6.12.96 6.12.97 note by package and not by node
amd-zen3-1socket         amd-df      6.1.187 6.1.188 note the driver refuses
intel-skx-1socket        intel-iio   5.15.4  5.15.5  suspect cannot count them
intel-skx-1socket        intel-iio   5.9.1   5.9.2   suspect the root bus of a stack
intel-icx-1socket        intel-iio   5.14.3  5.14.4  suspect the root bus of a stack
amd-zen3-1socket:23/49   amd-l3      5.9.4   5.9.5   suspect not all slices
intel-spr-1socket        intel-upi   7.3.4   6.10.9  suspect the registers of link 0
'

# asked FAMILY WORDS: notes this question, and what doctor says of the machine, for `answers`: one jq for all.
asked() {
	expect 0 "$PLAIN" --root "$ROOT" doctor -j
	printf '{"family": "%s", "words": "%s", "doctor": %s}\n' "$1" "$2" "$output" >>"$BATS_TEST_TMPDIR/asked"
}

# answers FORMAT: a line for each question: the findings of the family with the words, as FORMAT has them.
answers() {
	jq -r ". as \$q | [.doctor.findings[] | select(.subject == \$q.family and (.found | contains(\$q.words))) | $1] |
		join(\"|\")" "$BATS_TEST_TMPDIR/asked"
}

@test "the bugs of the documents: model, version, effect" {
	local name family broken fixed effect words kernel found cases=()

	while read -r name family broken fixed effect words; do
		[ -n "$name" ] || continue
		for kernel in "$broken" "$fixed"; do
			machine "${name%:*}" "$kernel"
			if [[ $name == *:* ]]; then
				sed -i -E "s|^(\tcpu family\s*:).*|\1 $(cut -d: -f2 <<<"${name%/*}")|; s|^(\tmodel\s*:).*|\1 ${name##*/}|" \
					"$ROOT"
			fi
			[ "$effect" != missing ] || sed -i -E '/^sys.bus.event_source.devices.uncore_(m3)?upi_/d' "$ROOT"
			asked "$family" "$words"
		done
		cases+=("$effect: $name $broken $words" "fixed: $name $fixed $words")
	done <<<"$BUGS"
	while IFS= read -r found; do
		case ${cases[0]%%:*} in
		fixed) [ -z "$found" ] ;;
		suspect) [ "$found" = 'note true' ] ;;
		*) [ "$found" = 'note false' ] ;;
		esac || fail "${cases[0]}: '$found'"
		cases=("${cases[@]:1}")
	done < <(answers '"\(.verdict) \(.why // "" | startswith("suspect are all events"))"')
	[ "${#cases[@]}" -eq 0 ] || fail "no answer: ${cases[0]}"
}

# A machine (with another CPU model), a family, a kernel that has the bug by its version, what makes the files those of a kernel
# that has it, and words of the title.
SIGNS='
intel-spr-1socket        intel-iio-free-running 6.12.24 /bw_in_port0.scale/s/=.*/=@3.814697266e-6/ an eighth of the right one
intel-icx-1socket        intel-iio-free-running 6.1.134 /bw_in_port0.scale/s/=.*/=@3.814697266e-6/ an eighth of the right one
intel-icx-1socket        intel-imc-free-running 5.9.4 /free_running.*read.scale/s/=.*/=@3.814697266e-6/ the scale of the aliases
intel-spr-1socket        intel-cha   6.1.102 /cha_.*format.umask/s/=.*/=@config:8-15,32-57/ lacks its upper bits
intel-spr-1socket:6/207  intel-cha   6.1.8   s/uncore_cha_/uncore_type_0_/ names by number
intel-spr-1socket:6/221  intel-cha   5.15.152-velinux s/uncore_cha_/uncore_type_0_/ names by number
intel-spr-1socket        intel-hbm   6.10.9  s/uncore_hbm_/uncore_type_14_/ names by number
intel-icx-1socket        intel-m2m   5.10.43 /m2m_.*format.umask/s/=.*/=@config:8-15/ has 8 bits
intel-icx-1socket        intel-imc   5.16.4  /cas_count_read.=/s/=.*/=@event=0x04,umask=0x03/ masks of earlier CPUs
intel-spr-1socket:6/173  intel-imc   6.12.77 /cas_count_read_sch0/d cas_count_read_sch0
'

@test "the files of PMUs decide, not the version" {
	local name family kernel script words version found cases=()

	while read -r name family kernel script words; do
		[ -n "$name" ] || continue
		for version in "$kernel" 7.3.1; do
			machine "${name%:*}" "$version"
			if [[ $name == *:* ]]; then
				sed -i -E "s|^(\tcpu family\s*:).*|\1 $(cut -d: -f2 <<<"${name%/*}")|; s|^(\tmodel\s*:).*|\1 ${name##*/}|" \
					"$ROOT"
			fi
			sed -i 's|/uncore_mdf_|/uncore_hbm_|; /imc_.*cas_count_read.=/{p; s|cas_count_read|cas_count_read_sch0|}' "$ROOT"
			# The newer kernel has the files of one with the bug, the older has those of one without.
			[ "$version" != 7.3.1 ] || sed -i "${script//@/ }" "$ROOT"
			asked "$family" "$words"
			cases+=("$name $version $words")
		done
	done <<<"$SIGNS"
	while IFS= read -r found; do
		[ "$found" = "$([[ ${cases[0]} != *' 7.3.1 '* ]] || echo 'a bug of kernel 7.3.1')" ] || fail "${cases[0]}: '$found'"
		cases=("${cases[@]:1}")
	done < <(answers '.found | split(":")[0]')
	[ "${#cases[@]}" -eq 0 ] || fail "no answer: ${cases[0]}"
}

@test "a kernel of a distribution may have corrections; its rows remain suspect" {
	machine intel-spr-1socket 6.1.30-velinux
	rows -M cache.hit.ratio
	[[ $quality == suspect && $reason == 'kernel 6.1.30-velinux may have a bug: slices are missing'* ]] || fail "$quality $reason"
}

@test "inv of CXL links of Diamond Rapids" {
	local kernel quality reason

	for kernel in 7.2.12 7.2.13; do
		machine intel-spr-1socket "$kernel" uncore_cxlcm_0/event=0x41,umask=0x10,thresh=1,inv=1 \
			uncore_cxlcm_0/event=0x41,umask=0x10
		sed -i -E 's|^(\tcpu family\s*:).*|\1 19|; s|^(\tmodel\s*:).*|\1 1|; s|/uncore_mdf_|/uncore_cxlcm_|' "$ROOT"
		rows -e uncore_cxlcm_0/event=0x41,umask=0x10,thresh=1,inv=1/
		case $kernel in
		7.2.12) [[ $quality == suspect && $reason == *'inv is wrong in the driver'* ]] ;;
		*) [ "$quality" = measured ] ;;
		esac || fail "$kernel: $quality $reason"
		are measured -e uncore_cxlcm_0/event=0x41,umask=0x10/
	done
}

@test "explain describes bugs, and notes that distributions may have corrections" {
	machine intel-spr-1socket 6.1.30
	expect 0 "$UNCORE" --root "$ROOT" explain memory.read.latency
	shows '  suspect +a bug of kernel 6.1.30: slices are missing'
	machine intel-spr-1socket 6.1.0-44-amd64
	expect 0 "$UNCORE" --root "$ROOT" explain memory.read.latency
	shows '  kernel +kernel 6.1.0-44-amd64 may have a bug: slices are missing'
	are measured -M memory.read.latency
	expect 0 "$UNCORE" --root "$ROOT" explain -j memory.read.latency
	jq -e '.metrics[0] | .kernel_bug == null and (.kernel_note | contains("may have a bug"))' <<<"$output" || fail
}

@test "branches without a known correction may have the bug" {
	local name family kernel word words found cases=()

	while read -r name family kernel word words; do
		machine "$name" "$kernel"
		asked "$family" "$words"
		cases+=("$kernel $word $name")
	done <<-'END'
		amd-zen4-1socket amd-umc 6.12.33 has stop at their highest value
		amd-zen4-1socket amd-umc 6.12.35 none stop at their highest value
		amd-zen4-1socket amd-umc 6.13.1 unknown stop at their highest value
		amd-zen4-1socket amd-umc 6.15.9 unknown stop at their highest value
		amd-zen4-1socket amd-umc 6.11.1 has by package and not by node
		amd-zen4-1socket amd-umc 6.18.3 unknown by package and not by node
		amd-zen4-1socket amd-df 6.18.3 unknown by package and not by node
		amd-zen3-1socket amd-df 6.18.3 unknown never counts
		amd-zen3-1socket amd-df 6.6.50 may the driver refuses
		intel-icx-1socket intel-upi 6.7.2 unknown upi_fill_topology
		intel-icx-1socket intel-m2m 5.13.1 none has 8 bits
	END
	while IFS= read -r found; do
		read -r kernel word name <<<"${cases[0]}"
		case $word in
		none) [ -z "$found" ] ;;
		may) [[ $found == "kernel $kernel may have a bug: "* ]] ;;
		unknown) [[ $found == "kernel $kernel may have a bug: "*'which later ones have the correction is not known' ]] ;;
		*) [[ $found == "a bug of kernel $kernel: "* ]] ;;
		esac || fail "$name $kernel $word: '$found'"
		cases=("${cases[@]:1}")
	done < <(answers '"\(.found) \(.fix)"')
	[ "${#cases[@]}" -eq 0 ] || fail "no answer: ${cases[0]}"
}

@test "aliases of Ice Lake with the masks of earlier CPUs" {
	machine intel-icx-1socket 5.16.4 uncore_imc/event=0x04,umask=0x0c uncore_imc/event=0x04,umask=0x30
	sed -i '/cas_count_read.=/s/=.*/= event=0x04,umask=0x03/' "$ROOT"
	are suspect -e 'uncore_imc/event=0x04,umask=0x0c/'
	are measured -e 'uncore_imc/event=0x04,umask=0x30/'
	machine intel-icx-1socket 5.16.5 uncore_imc/event=0x04,umask=0x0c
	are measured -e 'uncore_imc/event=0x04,umask=0x0c/'
	machine intel-skx-1socket 5.15.4 uncore_cha/event=0x34,umask=0x11,filter_tid=2,tid_en=1
	are suspect -e 'uncore_cha/event=0x34,umask=0x11,filter_tid=2,tid_en=1/'
}

@test "events with terms that the driver cuts off" {
	machine intel-skx-1socket 7.2.12-amd64 uncore_upi/event=0x02,umask=0x0f uncore_upi/event=0x02,umask=0x10f \
		uncore_upi/event=0x03,umask=0x0f uncore_pcu/event=0x0b,filter_band0=5 uncore_pcu/event=0x0c,filter_band1=5
	are measured -e 'uncore_upi/event=0x02,umask=0x0f/'
	are suspect -e 'uncore_upi/event=0x02,umask=0x10f/'
	are measured -M link.in.bandwidth
	are measured -e 'uncore_pcu/event=0x0b,filter_band0=5/'
	are suspect -e 'uncore_pcu/event=0x0c,filter_band1=5/'
	machine intel-icx-1socket 7.2.12-amd64 uncore_m2m/event=0x37,umask=0x04 uncore_m2m/event=0x37,umask=0x704
	are measured -e 'uncore_m2m/event=0x37,umask=0x04/'
	are suspect -e 'uncore_m2m/event=0x37,umask=0x704/'
	machine intel-ivt-1socket 7.2.12-amd64 uncore_pcu/event=0x0c,filter_band1=5 uncore_ubox/event=0x44,inv=1
	are measured -e 'uncore_pcu/event=0x0c,filter_band1=5/'
	are suspect -e 'uncore_ubox/event=0x44,inv=1/'
}

@test "PMUs without metrics" {
	machine intel-spr-1socket 7.2.12-amd64 uncore_m3upi/event=0x01 uncore_m2pcie/event=0x01
	are suspect -e 'uncore_m3upi/event=0x01/'
	are measured -e 'uncore_m2pcie/event=0x01/'
	expect 0 "$UNCORE" --root "$ROOT" list pmus --json
	jq -e '.pmus[] | select(.name == "uncore_m3upi_0") | .family == null' <<<"$output" || fail
	machine amd-zen4-1socket 7.2.12-amd64
	printf 'sys/bus/event_source/devices/amd_iommu_0/%s\n' 'type = 99' 'cpumask = 0' 'format/csource = config:0-7' >>"$ROOT"
	printf 'sim: x\nmachine: %s\nrates:\n  - {pmu: amd_iommu_0, event: csource=1, constant: 1}\n' "$ROOT" >"$SIM"
	are suspect -e 'amd_iommu_0/csource=1/'
	printf '  - {pmu: amd_iommu_0, event: csource=%s, constant: %s}\n' 0x06 900 0x07 100 0x05 1000 >>"$SIM"
	are suspect -M 'iommu.*'
	[ "$(jq -r '"\(.name) \(.value * 1)"' <<<"$output" | sort | paste -sd ' ')" = \
		'iommu.iotlb.miss.ratio 0.1 iommu.requests 1000' ] || fail
}

@test "a driver that adds its register at each reading: the excess is subtracted" {
	local plain=${UNCORE_PLAIN:-$UNCORE} add hertz

	# A machine that stands between the two readings makes the row suspect for another reason.
	is_right() {
		env LD_PRELOAD="$UNCORE_BUILD_ROOT/tests/delay-read.so" DELAY_READ_PER_CENT=0 ${1:+"$1"} "$plain" \
			--data "$BATS_TEST_TMPDIR/data" stat -M clock.tsc.frequency -j -I 100ms --interval-count 5 \
			--summary >"$BATS_TEST_TMPDIR/rows"
		jq -s -e --argjson hertz "$hertz" 'length == 6 and all(.[]; .quality == "suspect" and
			(.reason | contains("it adds")) and .value / $hertz > 0.9 and .value / $hertz < 1.1)' \
			"$BATS_TEST_TMPDIR/rows"
	}
	hertz=$("$plain" stat -M clock.tsc.frequency -j --timeout 300ms | jq .value)
	[[ $hertz != null ]] || skip 'the TSC is not counted here'
	mkdir "$BATS_TEST_TMPDIR/data"
	sed '/^metrics:/i kernel_bugs:\n  - {title: it adds, adds_at_reads: true, evidence: a test}' \
		"$UNCORE_SOURCE_ROOT/data/msr.yaml" >"$BATS_TEST_TMPDIR/data/msr.yaml"
	# With a driver that does not add, too.
	for add in '' ADD_AT_READS=1; do
		is_right "$add" || is_right "$add" || is_right "$add" || fail "$add: $(cat "$BATS_TEST_TMPDIR/rows")"
	done
	# Without the library's second reading the values are far too high.
	LD_PRELOAD=$UNCORE_BUILD_ROOT/tests/delay-read.so ADD_AT_READS=1 "$plain" stat -M clock.tsc.frequency -j \
		-I 100ms --interval-count 5 | jq -s -e --argjson hertz "$hertz" '.[4].value / $hertz > 3' || fail
}

@test "an address filter of Tegra410 with base 0 and mask 0" {
	local pmu=nvidia_pcie_tgt_pmu_0_rc_4 range=dst_addr_en=1,dst_addr_base=0x1000,dst_addr_mask=0xf000

	machine nvidia-t410-1socket 7.2.12-arm64 "$pmu/rd_bytes" "$pmu/rd_bytes,$range" "$pmu/rd_bytes,dst_addr_en=1"
	are measured -e "$pmu/rd_bytes,$range/"
	are measured -e "$pmu/rd_bytes/"
	are suspect -e "$pmu/rd_bytes,dst_addr_en=1/"
}

@test "a snapshot has the kernel's version" {
	machine intel-spr-1socket 7.2.12-amd64
	expect 0 "$UNCORE" --root "$ROOT" snapshot "$BATS_TEST_TMPDIR/copy.txt"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/copy.txt" topo
	[[ $output == *'a bug of kernel 7.2.12-amd64'* ]] || fail
}
