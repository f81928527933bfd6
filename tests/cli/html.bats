#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --html: a page that loads nothing, has the numbers of -j, and in which no name is markup.

load helpers

# page --source SOURCE COMMAND ARGUMENT...: the page of a run, parsed, as JSON; `drawn` is what its script makes of it.
page() {
	expect 0 "$UNCORE" "${@:1:3}" --html -o "$BATS_TEST_TMPDIR/page.html" "${@:4}"
	[ -z "$output" ] || fail 'text beside the file'
	node "$BATS_TEST_DIRNAME/draw-page.js" "$BATS_TEST_TMPDIR/page.html" >"$BATS_TEST_TMPDIR/drawn.html" ||
		fail 'the script of the page'
	helper read-page "$BATS_TEST_TMPDIR/page.html" "$BATS_TEST_TMPDIR/drawn.html" >"$BATS_TEST_TMPDIR/page.json" ||
		fail 'the page'
}

# check EXPRESSION: true of the page.
check() {
	[ "$(jq "$1" "$BATS_TEST_TMPDIR/page.json")" = true ] || fail "not $1"
}

# equal ARGUMENT...: the page and JSON of the same run have the same values, times and qualities.
equal() {
	page "$@"
	jq -S '.windows as $all | [$all | to_entries[] | .value as $w | range(0; $w.values | length) as $i |
		select($all[0].rows[$i].extra | not) | {name: $all[0].rows[$i].name, time: $w.time, total: $w.total, value: $w.values[$i],
		quality: (([$all[:.key + 1][] | .quality // empty] | last | map(select(.[0] == $i)) | first | .[1]) //
		"measured")}]' "$BATS_TEST_TMPDIR/page.json" >"$BATS_TEST_TMPDIR/of-page"
	expect 0 "$UNCORE" "$@" --summary -j
	jq -S -s 'map({name, time, total, value, quality})' <<<"$output" >"$BATS_TEST_TMPDIR/of-json"
	[ "$(jq length "$BATS_TEST_TMPDIR/of-json")" -gt 10 ] || fail 'few rows'
	cmp "$BATS_TEST_TMPDIR/of-page" "$BATS_TEST_TMPDIR/of-json" || fail 'other numbers'
}

@test "the page has the values and qualities of -j" {
	equal --source "$SIM_SPR" stat -I 10ms --interval-count 3
	equal --source "$SIM_T410" mem -I 10ms --interval-count 3 --per-socket
	equal --source "$SIM_ZEN4" pcie -I 10ms --interval-count 3
	equal --source "sim:t410,step=1s" stat -M 'memory.*' -I 10ms --interval-count 3 --per-channel
}

@test "the map of a recording has the ports that were recorded" {
	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without SQLite'
	cd "$BATS_TEST_TMPDIR" || return
	expect 0 "$UNCORE" --source "$SIM_SPR" record -o recording -I 1s --interval-count 3
	page --source replay:recording stat
	check '.windows[0].screen.lines | map(.kind) | index("port") and index("channel") and index("machine")'
	check '.windows[0] as $w | [$w.screen.lines[] | select(.kind == "port") | .rows.in] | length > 2 and all($w.values[.] > 0)'
	check '.drawn.places > 12'
}

@test "the script draws a chart for each metric with a line for each place, in the units of the tables" {
	page --source "$SIM_SPR" mem -I 10ms --interval-count 5 --per-channel
	check '.drawn.h2 == (.windows[0].rows | map(select(.extra | not).name) | unique | length) and .drawn.h2 > 2'
	check '.drawn.svg == .drawn.h2 and .drawn.lines == (.windows[0].rows | map(select(.extra | not)) | length)'
	# What C printed in the table, and what the script prints of the same numbers.
	check '.cells == .drawn.cells and (.cells | length) > 10'
}

@test "events are drawn as rates; one window has a table and no charts" {
	page --source "$SIM_T410" stat -I 10ms --interval-count 3 -e nvidia_ucf_pmu_0/cycles/
	check '.windows[0] | .rows[0].unit == "1/s" and .rows[0].event and .rates[0] == .values[0] / .interval'
	page --source "$SIM_SPR" mem
	check '(.windows | length) == 1 and (.cells | length) > 3'
}

@test "short samples: percentiles of the whole time, and the largest of each interval" {
	page --source sim:spr,step=1ms mem -I 10ms --interval-count 4 --sample 1ms
	check '.windows | last | .total and (.distributions | all(.samples >= 1 and .p50 != null))'
	check '.windows[:-1] | all(has("distributions") | not)'
	check '.windows | all((.most | length) == (.values | length))'
	grep -q 'Short samples' "$BATS_TEST_TMPDIR/drawn.html"
	check '.drawn.histograms == .drawn.h2 and .drawn.h2 > 2'
	# One window has histograms, too, and no charts.
	page --source sim:spr,step=1ms mem --timeout 20ms --sample 1ms
	check '.drawn.histograms == .drawn.h2 and .drawn.svg == .drawn.h2'
}

@test "a histogram: a bar as high as its share, at its value; percentiles; a table of the same" {
	# shellcheck disable=SC2016 # of JavaScript
	node -e '
		const page = require(process.argv[1]);
		const row = (bins, more) => ({name: "m", unit: "B/s", place: "all", distribution: {bins, p50: 2 ** 10, p90: 2 ** 10,
			p99: 2 ** 15, max: 2 ** 15, ...more}});
		const rects = (drawn) => [...drawn.matchAll(/<rect [^>]*x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"/g)]
			.map((m) => m.slice(1).map(Number));
		const is = (right, what) => { if (!right) throw new Error(what); };
		// 5 octaves apart, 97 and 3 % of the time.
		let drawn = page.histogram([row([[320, 970, 0.97], [480, 30, 0.03]])], 600), [low, high] = rects(drawn);
		is(rects(drawn).length === 2 && low[0] < high[0] && low[3] > high[3], "bars");
		is(Math.abs((low[3] - high[3]) / (104 / 2) - Math.log10(0.97 / 0.03)) < 0.02, "heights");
		is(/970 samples, 97.00 % of the time/.test(drawn) && /<td>3.000 %</.test(drawn), "table");
		is(/>p50 p90</.test(drawn) && />p99 max</.test(drawn), "names");
		const marks = [...drawn.matchAll(/class="mark" d="M([\d.]+)/g)].map((m) => +m[1]);
		is(marks.length === 4 && Math.abs(marks[3] - high[0] - high[2]) < 3, `marks ${marks}`);
		// Many bins are joined: no time is lost.
		const all = Array.from({length: 640}, (_, i) => [i - 300, 2, 0.002]);
		drawn = page.histogram([row(all)], 300);
		is(rects(drawn).every(([, , width]) => width > 2) && rects(drawn).length > 30, "width");
		is([...drawn.matchAll(/: (\d+) samples/g)].reduce((sum, m) => sum + +m[1], 0) === 1280, "samples");
		// 0 has a bar at the left; a row of 0 alone; a strip for each of several rows; rows without a value.
		drawn = page.histogram([row([[null, 5, 0.5], [320, 5, 0.5]])], 600);
		is(rects(drawn)[0][0] < rects(drawn)[1][0] && /0 or less: 5 samples, 50.00 %/.test(drawn), "zero");
		is(rects(page.histogram([row([[null, 9, 1]], {p50: 0, p90: 0, p99: 0, max: 0})], 600)).length === 1, "only zero");
		drawn = page.histogram([row([[1, 1, 1]]), row([], {p50: null}), row([[40, 1, 1]])], 600);
		is(rects(drawn).length === 2 && rects(drawn)[1][1] > rects(drawn)[0][1] + 30, "strips");
		is(page.histogram([row([]), {name: "m", unit: ""}], 600) === "", "nothing");
	' "$UNCORE_SOURCE_ROOT/web/page.js"
}

@test "drawings of unusual data contain only finite numbers" {
	# shellcheck disable=SC2016 # of JavaScript
	node -e '
		const page = require(process.argv[1]);
		const rows = (n) => Array.from({length: n}, (_, i) => ({name: "m", unit: i % 2 ? "B/s" : "", place: `port ${i}`}));
		const bins = {bins: [[null, 1, 0.1], [-5, 1, 0.1]], samples: 2, p50: 0, p90: 0.9, p99: 0.9, max: 0.9, min: -3, mean: 0.1};
		const draw = (name, values, count, more = {}) => {
			const windows = values.map((of, i) => ({time: i + 1, interval: 1, wall_ns: i * 1e9, rows: rows(count),
				values: Array(count).fill(of), quality: of === null ? rows(count).map((_, k) => [k, "unavailable", "why"]) : [], ...more}));
			const {charts, intervals, totals, rows: all} = page.collect(windows);
			const drawn = charts.map((c) => page.metric(c, intervals, 0) + page.metric(c, intervals, 390) + page.readout(c, intervals, 0)).join("") +
				totals.map((t) => page.samples(all, t)).join("");
			if (/NaN|Infinity|undefined|null|\[object/.test(drawn) || drawn.length > 6e5)
				throw new Error(`${name}: ${drawn.length} ${drawn.match(/.{60}(NaN|Infinity|undefined|null|\[object).{60}/)}`);
			return drawn;
		};
		draw("one interval", [1], 2);
		if (!/no value: unavailable: why/.test(draw("all unavailable", [null, null, null], 3))) throw new Error("no reason");
		draw("zero", [0, 0, 0], 1);
		draw("negative", [-1, 5, -1e12], 1);
		draw("equal", [7, 7], 1);
		draw("many rows", Array.from({length: 50}, (_, i) => i), 100);
		draw("samples", [1, 2], 100, {distributions: Array(100).fill(bins), least: Array(100).fill(-3), most: Array(100).fill(4)});
		draw("a sample", [1], 1, {distributions: [bins]});
		draw("no sample", [null], 1, {distributions: [{samples: 0, bins: [], p50: null}]});
	' "$UNCORE_SOURCE_ROOT/web/page.js"
}

# bats test_tags=slow
@test "a long run: later windows have more intervals, their means and extremes, and the sum stays" {
	local of=(--source "sim:spr,step=1ms" stat -M memory.read.bandwidth -e uncore_imc/cas_count_read/ -I 1ms --interval-count 2500)

	page "${of[@]}"
	check '.windows[:-1] | length == 2250 and ([.[].intervals] | unique) == [1, 2] and ([.[].intervals] | add) == 2500'
	check '.windows[:2000] | all(.intervals == 1 and (has("most") | not))'
	grep -q 'means of up to 2 intervals' "$BATS_TEST_TMPDIR/drawn.html"
	check '.windows | last.interval as $all | (map(select(.total | not).interval) | add) - $all | fabs < 1e-9'
	# Simulated time passes by readings: the same values come again.
	expect 0 "$UNCORE" "${of[@]}" -j
	jq -s --slurpfile page "$BATS_TEST_TMPDIR/page.json" '
		def near(a; b): (a - b | fabs) <= (b | fabs) * 1e-9;
		# Rows for the map are not in JSON.
		[$page[0].windows[0].rows | to_entries[] | select(.value.extra | not).key] as $own |
		[group_by(.time * 1)[2000:] | . as $all | range(0; 250) | [$all[2 * .], $all[2 * . + 1]] | transpose] as $pairs |
		[range(0; 250) | $page[0].windows[2000 + .] as $w | $pairs[.] | to_entries[] | .key as $i | (.value | map(.rate // .value)) as $v |
			$own[$i] as $r | near($w.least[$r]; $v | min) and near($w.most[$r]; $v | max) and
			near(($w.rates[$r] // $w.values[$r]); ($v | add) / 2)] | length == 500 and all' <<<"$output" >"$BATS_TEST_TMPDIR/same"
	[ "$(<"$BATS_TEST_TMPDIR/same")" = true ] || fail 'other means or extremes'
}

@test "the page has the documents of topo and doctor" {
	# JSON of documents has 17 digits, that of windows 15.
	local rounded='walk(if type == "number" then . * 1000 | round else . end)'

	page --source "$SIM_SPR" mem
	jq -S ".about.topology | $rounded" "$BATS_TEST_TMPDIR/page.json" >"$BATS_TEST_TMPDIR/topology"
	expect 0 "$UNCORE" --source "$SIM_SPR" topo -j
	jq -S "$rounded" <<<"$output" | cmp - "$BATS_TEST_TMPDIR/topology"
	jq -S ".about.findings | $rounded" "$BATS_TEST_TMPDIR/page.json" >"$BATS_TEST_TMPDIR/findings"
	"$UNCORE" --source "$SIM_SPR" doctor -j | jq -S "$rounded" | cmp - "$BATS_TEST_TMPDIR/findings"
	grep -q 'SIMULATED' "$BATS_TEST_TMPDIR/page.html"
	# The tree has all root ports, devices with a name and memory channels.
	for each in $(jq -r '.about.topology | .root_ports[].address, (.devices[] | select(.names != []) | .address, .names[])' \
		"$BATS_TEST_TMPDIR/page.json") 'uncore_imc_{0-7}' 'SMBIOS' 'socket 0'; do
		grep -q "$each" "$BATS_TEST_TMPDIR/drawn.html" || fail "$each"
	done
}

@test "names with markup are shown as text" {
	local folder="$BATS_TEST_TMPDIR/<img src=x onerror=alert(1)>&\"'<!--"
	local begin='</script><script>alert(1)</script><!--<script>'

	mkdir "$folder"
	# The sentence of an unavailable row has the path.
	cat >"$folder/sim.yaml" <<-END
		sim: evil
		machine: skx
		rates:
		  - {pmu: uncore_imc, event: cas_count_read, constant: 2e7}
		  - {pmu: uncore_imc, event: cas_count_write, constant: 2e7}
	END
	page --source "sim:$folder/sim.yaml,step=1s" stat -M 'memory.*bandwidth' -I 1s -- true "$begin"
	# A shell reads the command line as it was typed.
	eval "set -- $(jq -r .facts.command "$BATS_TEST_TMPDIR/page.json")"
	[ "$*" = "uncore --source sim:$folder/sim.yaml,step=1s stat --html -o $BATS_TEST_TMPDIR/page.html -M memory.*bandwidth -I 1s -- true $begin" ] || fail "$*"
	[ $# -eq 14 ]
	check '.facts.source | test("<img src=x onerror=alert\\(1\\)>&\"")'
	check '[.windows[].quality // [] | .[][2]] | any(. != null and test("<img src=x"))'
	! grep -q '<img' "$BATS_TEST_TMPDIR/drawn.html" || fail 'markup of a name'
	grep -q '&#60;img' "$BATS_TEST_TMPDIR/drawn.html" || fail 'the name is not there'
}

@test "more than 2,000 points are reduced, with extremes and gaps kept" {
	# shellcheck disable=SC2016 # of JavaScript
	node -e '
		const page = require(process.argv[1]);
		const values = Array.from({length: 100000}, (_, i) => Math.sin(i));
		values[54321] = 99; values[54322] = -99; values[777] = null;
		const {kept, span} = page.reduce(values);
		for (const i of [54321, 54322, 777])
			if (!kept.includes(i)) throw new Error(`${i} is not kept`);
		if (span !== 100 || kept.length > 2001) throw new Error(`${span}: ${kept.length}`);
		if (kept.some((v, i) => i && v <= kept[i - 1])) throw new Error("order");
		if (page.reduce(values.slice(0, 2000)).kept.length !== 2000) throw new Error("reduced");
		const rows = [{name: "m", unit: "B/s", place: "all", values, least: [], most: [], quality: values.map(() => null)}];
		const drawn = page.chart(rows, values.map((_, i) => ({time: i + 1, interval: 1, wall_ns: 0})), 600);
		if (!/smallest and largest of 100 intervals/.test(drawn)) throw new Error(drawn.slice(0, 300));
		if (drawn.match(/M[\d. ]+h0/g).length !== 2) throw new Error("the gap is not drawn");
	' "$UNCORE_SOURCE_ROOT/web/page.js"
}

@test "between sessions of a recording there is a gap of the wall clock's length" {
	# shellcheck disable=SC2016 # of JavaScript
	node -e '
		const page = require(process.argv[1]);
		const windows = [[1, 1e9], [2, 2e9], [1, 12e9], [2, 13e9]].map(([time, wall_ns]) =>
			({time, interval: 1, wall_ns, values: [time], rows: [{name: "m", unit: "", place: "all"}]}));
		const {intervals, charts, totals} = page.collect(windows), [[row]] = charts;
		const equal = (a, b) => { if (JSON.stringify(a) !== b) throw new Error(JSON.stringify(a)); };
		equal(intervals.map((w) => [w.time, w.interval]), "[[1,1],[2,1],[11,9],[12,1],[13,1]]");
		equal(row.values, "[1,2,null,1,2]");
		equal(row.quality[2], "[\"unavailable\",\"not recorded\"]");
		equal(totals, JSON.stringify(windows.slice(-1)));
		if (page.chart([row], intervals, 600).match(/M[\d. ]+h0/g).length !== 2) throw new Error("no gap");
	' "$UNCORE_SOURCE_ROOT/web/page.js"
}

@test "zoom: the part of the time that is shown, its points, and the labels of a clock" {
	# shellcheck disable=SC2016 # of JavaScript
	TZ=UTC node -e '
		const page = require(process.argv[1]);
		const equal = (a, b) => { if (JSON.stringify(a) !== b) throw new Error(`${JSON.stringify(a)}, not ${b}`); };
		const intervals = Array.from({length: 100}, (_, i) => ({time: i + 1, interval: 1, wall_ns: (1e9 + i + 1) * 1e9}));
		const row = {name: "m", unit: "B/s", place: "all", values: intervals.map((_, i) => i), least: [], most: [], quality: intervals.map(() => null)};
		const cut = page.part([row], intervals, 10, 20);
		equal([cut.first, cut.intervals.map((w) => w.time), cut.rows[0].values], "[10,[11,12,13,14,15,16,17,18,19,20],[10,11,12,13,14,15,16,17,18,19]]");
		equal(page.part([row], intervals, 200, 300).rows[0].values, "[]");
		equal(page.span(intervals, {}), `{"begin":0,"end":100}`);
		equal(page.span(intervals, {range: 30}), `{"begin":70,"end":100}`);
		equal(page.span(intervals.slice(0, 10), {range: 300}), `{"begin":-50,"end":10}`);
		equal(page.span(intervals, {range: 30, frozen: 90}), `{"begin":60,"end":90}`);
		equal(page.span(intervals, {range: 30, zoom: [3, 7]}), `{"begin":3,"end":7}`);
		equal(page.zoomed(intervals, {}, 40, 0.5), "[20,70]");
		equal(page.zoomed(intervals, {zoom: [0, 20]}, 5, 2), "[0,40]");
		equal(page.zoomed(intervals, {zoom: [20, 70]}, 40, 2), "null");
		equal(page.zoomed(intervals, {zoom: [20, 22]}, 21, 0.5), "[20,22]");
		const drawn = page.chart([row], intervals, 600, {clock: 1e9});
		equal([...drawn.matchAll(/>(\d\d:\d\d:\d\d)</g)].map((m) => m[1]), `["01:47:00","01:47:30","01:48:00"]`);
	' "$UNCORE_SOURCE_ROOT/web/page.js"
}

@test "histograms of several intervals are summed bin by bin, and percentiles are those of the sum" {
	# shellcheck disable=SC2016 # of JavaScript
	node -e '
		const page = require(process.argv[1]);
		const one = {samples: 10, min: -1, max: 2 ** 10, bins: [[null, 1, 0.1], [320, 9, 0.9]]};
		const two = {samples: 90, min: 2 ** 9, max: 2 ** 15, bins: [[320, 80, 8], [480, 10, 1]]};
		const sum = page.joined([one, null, two, undefined]);
		const is = (right, what) => { if (!right) throw new Error(`${what}: ${JSON.stringify(sum)}`); };
		is(JSON.stringify(sum.bins) === "[[null,1,0.1],[320,89,8.9],[480,10,1]]" && sum.samples === 100, "bins");
		is(sum.min === -1 && sum.max === 2 ** 15, "bounds");
		is(sum.p50 === 2 ** (319.5 / 32) && sum.p90 === sum.p50 && sum.p99 === 2 ** (479.5 / 32), "percentiles");
		is(page.joined([sum, two]).samples === 190, "again");
	' "$UNCORE_SOURCE_ROOT/web/page.js"
}

@test "the live page: windows that are kept, places, and names with markup" {
	"$UNCORE" --source "$SIM_T410" topo -j >"$BATS_TEST_TMPDIR/topology.json"
	# shellcheck disable=SC2016 # of JavaScript
	node -e '
		const live = require(process.argv[1] + "/web/live.js");
		const equal = (a, b) => { if (JSON.stringify(a) !== b) throw new Error(`${JSON.stringify(a)}, not ${b}`); };
		const evil = "<img src=x onerror=alert(1)>\"\u0027";
		const row = (name, more) => ({name, family: "f", unit: "B/s", event: false, place: "all", role: null, filter: null, ceiling: 10,
			socket: null, node: null, channel: null, port: null, pmu: null, ...more});
		const rows = [row("memory.bandwidth", {socket: 0, place: "socket 0"}), row("pcie.inbound.read.bandwidth", {port: "0001:00:00.0", place: "port 0001:00:00.0"}),
			row("link.in.read.latency", {socket: 1, role: evil}), row("matrix.cpu.memory.read.bandwidth"), row("cycles", {family: null, pmu: "nvidia_ucf_pmu_1", place: evil})];

		// Numbers that are there already are dropped; one that is missing is a gap as long as the wall clock says.
		const data = live.empty(rows), send = (n, time, wall) => live.take(data, {time, interval: 1, wall_ns: wall * 1e9, values: rows.map(() => n)}, n, 5);
		live.marked(data, [[1, "suspect", evil]]);
		equal([[0, 1, 1], [1, 2, 2], [1, 2, 2], [0, 1, 1], [2, 3.0001, 3]].map((w) => send(...w)), "[true,true,false,false,true]");
		equal(data.intervals.map((w) => w.time), "[1,2,3]");
		send(5, 6, 6);
		equal(data.intervals.map((w) => w.time), "[1,2,3,5,6]");
		equal(data.rows[0].values, "[0,1,2,null,5]");
		equal(data.rows[1].quality[4], JSON.stringify(["suspect", evil]));
		send(6, 7, 7);
		equal([data.intervals.length, data.rows[0].values, data.rows[0].quality.length], "[5,[1,2,null,5,6],5]");

		// Histograms are summed, those that are there already are not; the oldest are dropped.
		for (const n of [6, 6, 7, 8])
			live.sum(data, rows.map(() => ({samples: 1, min: 1, max: 1, bins: [[0, 1, 1]]})), n, 700);
		equal([data.blocks.length, data.blocks[0].of[0].samples], "[1,3]");
		for (let n = 9; n < 900; n++)
			live.sum(data, [{samples: 1, min: 1, max: 1, bins: [[0, 1, 1]]}], n, 700);
		equal([data.blocks.length, data.blocks[0].count], "[10,70]");

		// The map: places by socket, what is idle folded, no share without a ceiling, and names with markup.
		const picture = require(process.argv[1] + "/web/words.js").map, t = JSON.parse(require("fs").readFileSync(process.argv[2]));
		const at = (v, more) => ({...row("pcie.inbound.read.bandwidth", more), values: [v], quality: [more?.bad ? ["suspect", evil] : null], least: [], most: []});
		const all = [at(9e9, {ceiling: 10e9, socket: 0}), at(3e9, {ceiling: null, socket: 1, bad: true}), at(0, {ceiling: 10e9, socket: 1}), at(5e9, {socket: null})];
		const line = (i, more) => ({view: 0, kind: "port", parent: 3, label: `nvme${i}`, detail: evil, socket: i ? 1 : 0, device: null, rows: {in: i}, ...more});
		const m = picture.model({views: [{name: "devices", title: "Devices", screen: "pcie", columns: {in: "TO DEVICE"}}],
			lines: [line(0), line(1, {label: evil}), line(2), line(3, {kind: "machine", parent: null, socket: null})]}, all, t);
		equal(m.sockets.map((s) => s.devices.map((each) => each.line.i)), "[[0],[1,2]]");
		equal(m.lines.map(picture.shareOf), "[0.9,null,0,500000000]");
		equal([...picture.search(m, "SOCKET 1, nvme")], `["2","3"]`);
		equal(picture.hottest({...m, lines: m.lines.slice(0, 3)}), `"0"`);
		const drawn = picture.draw(m, 900, {chosen: "0"}), words = picture.words(m) + picture.totals(m);
		if (!/1 idle: nvme2/.test(drawn) || /data-place="2"/.test(drawn) || !/data-place="2"/.test(picture.draw(m, 900, {idle: true}))) throw new Error("idle");
		if (!/class="box edge s2"/.test(drawn) || !/class="box edge sx"/.test(drawn) || !/class="hatch"/.test(drawn)) throw new Error("colours");
		if (!/Socket 0, nvme0<\/button>:<\/span> 9.00.GB\/s to device, <b>90.%/.test(words) || !/<b>1 suspect<\/b>/.test(words)) throw new Error(words);
		equal(picture.chartsOf(m, "0").map((each) => [each.title, each.rows.map((r) => r.shown)]), `[["To device",["to device"]]]`);

		const markup = drawn + words + live.tableOf(data.rows) + data.rows.map((r) => live.explainMarkup([r], {title: evil, formula: evil, evidence: evil})).join("");
		if (/<img|NaN|undefined|null|\[object/.test(markup) || !/&#60;img/.test(markup)) throw new Error(markup);
		if (!/60 %<\/small/.test(markup)) throw new Error("share of the ceiling");
	' "$UNCORE_SOURCE_ROOT" "$BATS_TEST_TMPDIR/topology.json"
}

@test "a page is one run: --append, -r, --summary and --dry-run are refused" {
	for options in "--append -o x" "-r 2 -- true" "-I 1s --summary" --dry-run; do
		# shellcheck disable=SC2086 # words are meant
		expect 2 "$UNCORE" --source "$SIM_SPR" stat --html $options
	done
}

@test "words above the map: a dead channel, the fullest link, what is read, and CXL beside DRAM" {
	# shellcheck disable=SC2016 # of JavaScript
	node -e '
		const picture = require(process.argv[1]).map, rows = [], lines = [], columns = {in: "READ", out: "WRITE", total: "TOTAL"};
		const row = (value, ceiling, q) => rows.push({name: `m${rows.length}`, family: "f", unit: "B/s", place: "x", ceiling, values: [value], quality: [q ?? null], least: [], most: []}) - 1;
		const line = (view, kind, label, parent, cells) => lines.push({view, kind, parent, label, detail: "", socket: 0, device: null, rows: cells}) - 1;
		const all = line(0, "machine", "machine", null, {in: row(30e9, 80e9), out: row(10e9, 80e9), total: row(40e9, 80e9)});
		for (const [i, v] of [20e9, 20e9, 0, 0.1e9].entries())
			line(0, "channel", `socket 0, channel ${i}`, all, {in: row(v * 0.75), out: row(v * 0.25), total: row(v)});
		line(1, "machine", "machine", null, {in: row(3e9), out: row(1e9), total: row(4e9)});
		line(2, "port", "nvme0", null, {in: row(1e9, 10e9), out: row(8.1e9, 10e9)});
		line(2, "port", "nvme1", null, {in: row(9.5e9, 10e9), out: row(1e9, 10e9)});
		line(2, "port", "eth0", null, {in: row(12e9, 50e9), out: row(0, 50e9)});
		line(2, "port", "sda", null, {in: row(null, null, ["unavailable", "division by zero: no events in this interval"]), out: row(0, 10e9)});
		const views = [["memory", "Memory"], ["cxl", "CXL memory"], ["devices", "Devices"]].map(([name, title], i) => ({name, title, screen: i < 2 ? "memory" : "pcie", columns}));
		const limits = {...picture.limits}, other = picture.model({views, lines, warn: 0.6, bad: 0.96}, rows, null);
		if (!/under 60 % of.*60 to 96 %.*96 % and more/.test(picture.key()) || /Near the ceiling/.test(picture.words(other)))
			throw new Error("limits of the screen");
		Object.assign(picture.limits, limits);
		const said = picture.words(picture.model({views, lines}, rows, {sockets: [{id: 0, cpus: [0], nodes: [0]}]})).replace(/<[^>]*>/g, "").replace(/\u00a0/g, " ");
		for (const part of ["Hottest nvme1: 9.50 GB/s read, 95 % of its peak.", "Memory 40.0 GB/s, 75 % read; 50 % of the peak. Under 1 % of the mean of the socket: Channel 2, Channel 3.",
			"CXL memory 4.00 GB/s, 75 % read; the peak is unknown.", "eth0 moves most: 12.0 GB/s in both directions; 12.0 GB/s read, 24 % of its link. Near the ceiling of the link: nvme1, 95 %; nvme0, 81 %.",
			"Quality All values are measured."])
			if (!said.includes(part))
				throw new Error(`${part}: ${said}`);
	' "$UNCORE_SOURCE_ROOT/web/words.js"
}

# words SCRIPT: with `said(views, lines)`, what the page says of lines [view, kind, label, socket, parent, {column: value}], and `drawn()`.
words() {
	# shellcheck disable=SC2016 # of JavaScript
	node -e '
		const picture = require(process.argv[1]).map, columns = {in: "IN", out: "OUT", total: "TOTAL"};
		const model = (views, list, rows = []) => picture.model({views: views.map(([title, screen]) => ({name: title, title, screen, columns})),
			lines: list.map(([view, kind, label, socket, parent, cells]) => ({view, kind, parent, label, detail: "", socket, device: null,
				rows: Object.fromEntries(Object.entries(cells).map(([name, v]) => [name, rows.push({name, family: "f", unit: "B/s", place: label, ceiling: null, now: v, values: [v],
					nowQuality: v === null ? ["unavailable", "why"] : null, quality: [v === null ? ["unavailable", "why"] : null], least: [], most: []}) - 1]))}))}, rows, null);
		const plain = (markup) => markup.replace(/<[^>]*>/g, " ").replace(/\u00a0/g, " ").replace(/ +/g, " ").replace(/ ([,:;.])/g, "$1");
		const said = (views, list) => plain(picture.words(model(views, list))) + plain(picture.totals(model(views, list)));
		const is = (all, part, not) => { if (!all.includes(part) || (not && not.test(all))) throw new Error(`${part}, not ${not}: ${all}`); };
		'"$1" "$UNCORE_SOURCE_ROOT/web/words.js"
}

@test "words above the map: an unknown value is unknown, not 0" {
	# shellcheck disable=SC2016 # of JavaScript
	words '
		const memory = [["Memory", "memory"]], channels = (socket, ...list) => list.map((v, i) => [0, "channel", `socket ${socket}, channel ${i}`, socket, null, {in: v, out: v}]);
		// A channel without a value moves an unknown amount, and sums without it are lower limits.
		let all = said(memory, channels(0, 5e9, 5e9, null, 5e9));
		is(all, "Memory at least 30.0 GB/s; the peak is unknown. The traffic of 1 of 4 channels is unknown.", /Under 1 %|All 4|idle/);
		is(said(memory, channels(0, null, null)), "Memory unknown; the peak is unknown. The traffic of all channels is unknown.", /0 B|Under|idle/);
		is(said(memory, channels(0, null, null)), "Hottest The traffic of all is unknown. No ceiling is known.");
		is(said(memory, channels(0, 0, null)), "Hottest The traffic of 1 is unknown; all others are idle.");
		is(said(memory, channels(0, 0, 0)), "Hottest All is idle.", /The traffic/);
		is(said(memory, []), "", /idle|measured/);
		// One direction of a device is unknown: so is its traffic.
		const devices = (...list) => list.map(([i, o], k) => [0, "port", `nvme${k}`, 0, null, {in: i, out: o}]);
		all = said([["Devices", "pcie"]], devices([1e9, 1e9], [9e9, null]));
		is(all, "nvme0 moves most: 2.00 GB/s in both directions", /All are idle/);
		is(all, "No ceiling of a link is known. The traffic of 1 is unknown.");
		is(said([["Devices", "pcie"]], devices([null, null], [0, 0])), "Devices The traffic of 1 is unknown; all others are idle.");
		// Between sockets, and memory beside it.
		const links = (a, b, whole) => [[1, "machine", "machine", null, null, {total: whole}], [0, "socket", "socket 0", 0, null, {in: a}], [0, "socket", "socket 1", 1, null, {in: b}]];
		const views = [["Links", "links"], ["Memory", "memory"]];
		is(said(views, links(1e9, 2e9, 30e9)), "Links From other sockets: 3.00 GB/s, beside 30.0 GB/s of memory (10 %).");
		is(said(views, links(1e9, null, 30e9)), "Links From other sockets: at least 1.00 GB/s, beside 30.0 GB/s of memory.");
		is(said(views, links(null, null, null)), "Links From other sockets: unknown.");
		// The sum over the devices of a guest.
		is(said([["GPUs", "pcie"]], [0, 1].map((i) => [0, "device", `gpu${i}`, null, null, {in: i ? null : 1e9}])), "≥ 1.00 GB/s", /^0 B/);
		// A latency that could not be counted is not measured.
		is(said(memory, [[0, "machine", "machine", null, null, {total: 1e9, latency: null}]]), "Quality 1 unavailable: why.");
		// The picture: no bar is not 0, and both directions of which one is unknown.
		const m = model(memory, channels(0, ...Array(20).fill(5e9), null)), drawn = picture.draw(m, 500, {});
		is(drawn, ">?</text>");
		is(plain(drawn), "≥ 200 GB/s");
		const pair = picture.chartsOf(model(memory, [[0, "channel", "channel 0", 0, null, {in: null, out: 5e9}]]), "0")[0].rows[2];
		if (pair.now !== null) throw new Error(`both: ${pair.now}`);
	'
}

@test "words above the map: a dead channel is one of its socket and view" {
	# shellcheck disable=SC2016 # of JavaScript
	words '
		const channels = (view, socket, ...list) => list.map((v, i) => [view, "channel", `socket ${socket}, channel ${i}`, socket, null, {total: v}]);
		const views = [["Memory", "memory"], ["CXL", "memory"]];
		// Socket 1 has little traffic, and the channels of CXL, too: none is dead.
		let all = said(views, [...channels(0, 0, 400e9, 400e9), ...channels(0, 1, 1.5e9, 1.5e9), ...channels(1, 0, 2e9, 2e9)]);
		is(all, "All 4 channels are in use.", /Under 1 %/);
		// On a busy machine the mean of all would hide a dead one of a socket that moves less.
		all = said(views, [...channels(0, 0, 400e9, 400e9), ...channels(0, 1, 8e9, 0.01e9)]);
		is(all, "Under 1 % of the mean of its socket: Socket 1, channel 1.", /channel 0\./);
		// A socket that moves nothing has no dead channels, and not all are in use.
		is(said(views, [...channels(0, 0, 4e9, 4e9), ...channels(0, 1, 0, 0)]), "Memory 8.00 GB/s", /Under|in use/);
	'
}
