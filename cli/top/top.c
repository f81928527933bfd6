/* SPDX-License-Identifier: MIT */
/* The screen of `uncore top`: keys, and a sink with a ticker of its own, since keys can end an
 * interval. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/replay.h"
#include "commands/documents.h"
#include "loop/loop.h"
#include "loop/ticker.h"
#include "top/screen.h"
#include "top/top.h"

struct top {
	struct cli *cli;
	const struct request *request;
	const struct uncore_monitor *monitor;
	struct top_view view;
	char title[160];
	struct buffer missing;
	struct top_canvas canvas;
	int tick_fd;
	uint64_t interval_ns, end_ns; /* 0: no end */
	uint64_t samples;             /* short samples of this interval */
	bool open;                    /* the screen was opened */
	bool changed;                 /* the screen must be drawn */
	bool due;                     /* the counters must be read */
	bool quit;
};

/* ---- texts instead of the list ---- */

static const char help[] =
	"Up Down j k   move, also with PgUp, PgDn, Home, End\n"
	"Right Enter   open a row: sockets, channels, ports, devices\n"
	"Left Enter    close it, or go to the row above\n"
	"a             open all rows, or close them\n"
	"s             sort: catalogue, value, share of the ceiling, name\n"
	"/             filter: a part of a name or place, or a pattern\n"
	"p             pause; p again goes on\n"
	"space         read now, also in a pause\n"
	"m             with --sample: maximum, 99th percentile or mean of the short samples\n"
	"u             unit: GB/s (1e9), GiB/s (2^30), B/s\n"
	"+ -           longer, shorter interval\n"
	"e             explain the metric: formula, events, evidence\n"
	"n             notes: PMUs left out, groups that were split\n"
	"? F1          this help\n"
	"q F10         quit\n"
	"Mouse         click: select and open, or sort in the line of titles; wheel: scroll\n"
	"\n"
	"The percentage and the bar are the share of the ceiling: the peak of the memory, or the capacity of "
	"the link in one direction. Green is below 50 %, yellow below 80 %, red above. Ratios have a bar "
	"without colour. The line at the right is the last minute of a row relative to its maximum.\n"
	"\n"
	"~ scaled: the kernel multiplexed the counters\n"
	"! partial or suspect: the reason is below the list\n"
	"- unavailable: the reason is below the list\n"
	"^ bursts: a short sample (--sample) was above the share of the ceiling (--above)\n";

static void show_text(struct top_view *v, char *text)
{
	free(v->text);
	v->text = text;
	v->text_first = v->text_lines = 0;
}

static void show_notes(struct top *t)
{
	struct buffer text = {0};

	for (size_t i = 0; i < uncore_monitor_note_count(t->monitor); i++)
		buffer_printf(&text, "%s\n", uncore_monitor_note_at(t->monitor, i));
	show_text(&t->view, text.len ? text.data : cli_copy("There are no notes.\n"));
}

/* Shows the text of `uncore explain` for the metric at the cursor. */
static void show_explanation(struct top *t)
{
	const struct top_model *m = &t->view.model;
	size_t node = m->cursor;
	const struct uncore_row *row;
	const struct uncore_metric *metric;
	struct buffer text = {0};

	while (node != TOP_NONE && m->nodes[node].parent != TOP_NONE)
		node = m->nodes[node].parent;
	if (node == TOP_NONE)
		return;
	row = top_row(m, node);
	metric = cli_metric(t->cli->u, row->query);
	if (metric)
		explain_text(t->cli, &metric, 1, &text);
	else
		buffer_printf(&text, "%s is an event, not a metric: uncore explain PMU/EVENT/\n",
			      row->query->name);
	show_text(&t->view, text.data);
}

/* ---- keys ---- */

static void set_interval(struct top *t, uint64_t interval_ns)
{
	/* A recording has its short samples in its intervals. */
	const bool samples = t->request->sample_ns && !t->cli->replay;
	const uint64_t tick_ns = samples ? t->request->sample_ns : interval_ns;
	const struct timespec tick = cli_time_of(tick_ns);
	const struct itimerspec spec = {.it_value = tick, .it_interval = tick};

	t->interval_ns = interval_ns;
	t->view.interval = (double)interval_ns / 1e9;
	if (t->cli->replay)
		t->cli->replay->group_ns = interval_ns;
	timerfd_settime(t->tick_fd, 0, &spec, NULL);
}

static void step_interval(struct top *t, bool longer)
{
	static const uint64_t steps[] = {100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000};
	size_t count = sizeof(steps) / sizeof(*steps);

	for (size_t i = 0; i < count; i++) {
		uint64_t step = steps[longer ? i : count - 1 - i] * NS_PER_MS;

		if (longer ? step > t->interval_ns : step < t->interval_ns) {
			set_interval(t, step);
			return;
		}
	}
}

#define ESCAPE 27
#define IS_ENTER(key) ((key) == '\r' || (key) == '\n' || (key) == KEY_ENTER)

static void type_filter(struct top_view *v, int key)
{
	size_t len = strlen(v->model.filter);

	v->typing = v->typing && !IS_ENTER(key) && key != ESCAPE;
	if (key == ESCAPE)
		len = 0;
	else if ((key == KEY_BACKSPACE || key == 8 || key == 127) && len)
		len--;
	else if (key >= ' ' && key < 127 && len + 1 < sizeof(v->model.filter))
		v->model.filter[len++] = (char)key;
	v->model.filter[len] = '\0';
	top_arrange(&v->model);
}

static void toggle(struct top_model *m)
{
	if (m->cursor != TOP_NONE)
		top_open(m, !m->nodes[m->cursor].open);
}

static void sort_next(struct top_model *m)
{
	m->sort = (m->sort + 1) % TOP_SORTS;
	top_arrange(m);
}

static void click(struct top *t, int y)
{
	size_t node = top_line_at(&t->view, t->canvas.height, y);

	if (y == top_head_lines(&t->view) - 1 && !t->view.text)
		sort_next(&t->view.model);
	if (node == TOP_NONE)
		return;
	t->view.model.cursor = node;
	toggle(&t->view.model);
}

/* Moves the list or the text. False: the key is for something else. */
static bool scroll_by(struct top *t, int key)
{
	const long page = top_list_height(&t->view, t->canvas.height);
	const struct {
		int key;
		long lines;
	} moves[] = {
		{KEY_UP, -1},         {'k', -1},          {KEY_DOWN, 1},      {'j', 1},
		{KEY_SR, -3},         {KEY_SF, 3},        {KEY_PPAGE, -page}, {KEY_NPAGE, page},
		{KEY_HOME, -1000000}, {KEY_END, 1000000},
	};
	long *at = &t->view.text_first;

	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		if (moves[i].key != key)
			continue;
		if (t->view.text)
			*at = *at + moves[i].lines < 0 ? 0 : *at + moves[i].lines;
		else
			top_move(&t->view.model, moves[i].lines);
		return true;
	}
	return false;
}

/* At the end of a recording its last interval stays on the screen. */
static void read_now(struct top *t)
{
	const struct replay *replay = t->cli->replay;

	if (replay && !replay->gap && !replay->more && t->view.model.nodes)
		t->view.paused = true;
	else
		t->due = true;
}

/* Keys of the list. */
static void act(struct top *t, int key)
{
	struct top_model *m = &t->view.model;

	switch (key) {
	case KEY_RIGHT:
	case KEY_LEFT:
		top_open(m, key == KEY_RIGHT);
		break;
	case '\r':
	case '\n':
	case KEY_ENTER:
		toggle(m);
		break;
	case 'a':
		top_open_all(m);
		break;
	case 's':
		sort_next(m);
		break;
	case 'm':
		if (t->request->sample_ns)
			t->view.shown = (t->view.shown + TOP_SHOWN - 1) % TOP_SHOWN;
		break;
	case '/':
		t->view.typing = true;
		break;
	case ESCAPE:
		type_filter(&t->view, key);
		break;
	case 'p':
		t->view.paused = !t->view.paused;
		break;
	case ' ':
		read_now(t);
		break;
	case 'u':
		t->view.units = (t->view.units + 1) % UNITS_COUNT;
		break;
	case '+':
	case '=':
	case '-':
		step_interval(t, key != '-');
		break;
	case 'e':
		show_explanation(t);
		break;
	case 'n':
		show_notes(t);
		break;
	default:
		break;
	}
}

static void press(struct top *t, int key, int y)
{
	struct top_view *v = &t->view;

	if (v->typing)
		type_filter(v, key);
	else if (key == 'q' || key == KEY_F(10))
		t->quit = true;
	else if (key == KEY_MOUSE)
		click(t, y);
	else if (key == '?' || key == 'h' || key == KEY_F(1))
		show_text(v, cli_copy(help));
	else if (!scroll_by(t, key) && !v->text)
		act(t, key);
	else if (v->text && (key == ESCAPE || IS_ENTER(key)))
		show_text(v, NULL);
}

/* ---- the ticker ---- */

static void draw(struct top *t)
{
	int width, height;

	screen_size(&width, &height);
	if (width != t->canvas.width || height != t->canvas.height)
		top_resize(&t->canvas, width, height);
	top_draw(&t->canvas, &t->view);
	screen_show(&t->canvas);
	t->changed = false;
}

/* The rest of --timeout in milliseconds; -1: there is no limit. */
static int rest(const struct top *t)
{
	uint64_t now = cli_now_ns();

	if (!t->end_ns)
		return -1;
	return now >= t->end_ns ? 0 : (int)((t->end_ns - now) / NS_PER_MS % INT32_MAX) + 1;
}

/* Reads the timer. WAKE_SAMPLE: a short sample must be read; WAKE_TICK: go on waiting, unless an
 * interval is `due`. */
static enum wake take_tick(struct top *t)
{
	uint64_t ticks;

	if (read(t->tick_fd, &ticks, sizeof(ticks)) <= 0 || t->view.paused)
		return WAKE_TICK;
	t->samples += ticks;
	if (t->request->sample_ns && !t->cli->replay &&
	    t->samples * t->request->sample_ns < t->interval_ns)
		return WAKE_SAMPLE;
	t->changed = true;
	read_now(t);
	return WAKE_TICK;
}

/* Waits until an interval is due, or the user, a signal or an option ends counting. */
static enum wake watch(struct ticker *ticker)
{
	struct top *t = ticker->context;
	struct pollfd fds[] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = t->tick_fd, .events = POLLIN},
		{.fd = ticker->signals.stop_fd, .events = POLLIN},
	};
	enum wake wake = WAKE_TICK;
	int key, y = 0;

	while (!t->quit && !t->due && wake == WAKE_TICK) {
		if (t->changed)
			draw(t);
		/* The signal of a resize interrupts poll(), and ncurses returns it as a key. */
		if (poll(fds, 3, rest(t)) < 0)
			memset(&fds[1].revents, 0, sizeof(fds[1].revents));
		while (!t->quit && !t->due && (key = screen_key(&y)) != ERR) {
			press(t, key, y);
			t->changed = true;
		}
		if (!t->quit && !t->due)
			wake = take_tick(t);
		t->quit = t->quit || signals_take(&ticker->signals).stop || rest(t) == 0 ||
			  (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL));
	}
	if (t->quit)
		return WAKE_END;
	return t->due && t->cli->replay && t->cli->replay->gap ? WAKE_RESUME : wake;
}

/* A signal that ended the process at once would not restore the terminal. */
static int open_ticker(struct ticker *ticker)
{
	return signals_open(&ticker->signals, true);
}

static int start(struct ticker *ticker, bool again)
{
	struct top *t = ticker->context;
	uint64_t timeout_ns = t->request->when.timeout_ns;

	if (again)
		return CLI_OK;
	t->end_ns = timeout_ns ? cli_now_ns() + timeout_ns : 0;
	set_interval(t, t->request->when.interval_ns);
	return CLI_OK;
}

static int took(struct ticker *ticker, const struct uncore_monitor *m, struct frame *f, bool total)
{
	struct top *t = ticker->context;

	(void)m;
	(void)total;
	if (f) {
		t->due = false;
		t->samples = 0;
	}
	return CLI_OK;
}

static void close_ticker(struct ticker *ticker)
{
	signals_close(&ticker->signals);
}

static const struct ticker_kind top_ticker = {
	.open = open_ticker,
	.start = start,
	.wait = watch,
	.took = took,
	.close = close_ticker,
};

/* ---- the sink ---- */

/* If the terminal cannot show a screen, the error ends the loop, and top_run() tells its caller. */
static int open_screen(void *context, const struct uncore_monitor *m)
{
	struct top *t = context;
	char sockets[SOCKETS_ROOM];

	t->monitor = m;
	t->open = screen_open(&t->view.ascii);
	if (!t->open)
		return CLI_RUNTIME;
	cli_before_error(screen_close);
	snprintf(t->title, sizeof(t->title), "%s, %s", uncore_cpu_model(t->cli->u),
		 cli_sockets(t->cli->u, sockets));
	t->view.title = t->title;
	t->view.missing = t->missing.data;
	t->view.simulated = uncore_is_simulated(t->cli->u) ? uncore_source(t->cli->u) : NULL;
	t->changed = true;
	return CLI_OK;
}

static int take(void *context, const struct frame *f)
{
	struct top *t = context;
	bool first = !t->view.model.nodes;

	top_update(&t->view.model, t->cli->u, f->sample);
	if (first && t->request->level != UNCORE_LEVEL_MACHINE)
		top_open_all(&t->view.model);
	return CLI_OK;
}

static int close_screen(void *context)
{
	(void)context;
	screen_close();
	cli_before_error(NULL);
	return CLI_OK;
}

/* The PMUs that a guest does not have: rows are then what its devices count. Before the monitor is
 * made, since findings read more families. */
static int find_missing(struct top *t)
{
	struct uncore *u = t->cli->u;
	const char *hypervisor = uncore_hypervisor(u);
	int err = hypervisor ? uncore_diagnose(u) : 0;

	if (err)
		return cli_fail(t->cli, err);
	for (size_t i = 0; hypervisor && i < uncore_finding_count(u); i++) {
		const struct uncore_finding *f = uncore_finding_at(u, i);

		if (f->verdict != UNCORE_VERDICT_MISSING)
			continue;
		if (t->missing.len)
			buffer_printf(&t->missing, ", %s", f->subject);
		else
			buffer_printf(
				&t->missing,
				"Not counted in this virtual machine (%s; see 'uncore doctor'): %s",
				hypervisor, f->subject);
	}
	return CLI_OK;
}

int top_run(struct cli *cli, const struct request *request, bool ascii, bool *shown)
{
	struct top t = {.cli = cli,
			.request = request,
			.view = {.ascii = ascii,
				 .shown = request->sample_ns ? TOP_MOST : TOP_MEAN,
				 .model.cursor = TOP_NONE},
			.tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
	struct sink sink = {.context = &t,
			    .ticker = &top_ticker,
			    .notes = true,
			    .opened = open_screen,
			    .take = take,
			    .end = close_screen};
	struct sink *sinks[] = {&sink, NULL};
	struct uncore_monitor *m;
	bool refused;
	int status = find_missing(&t);

	if (!status)
		status = loop_plan(cli, request, sinks, &m);
	if (!status)
		status = loop_run(cli, request, sinks, m);
	refused = t.monitor && !t.open;
	*shown = !refused;
	close(t.tick_fd);
	top_free(&t.view.model);
	buffer_free(&t.missing);
	free(t.view.text);
	free(t.canvas.cells);
	return refused ? CLI_OK : status;
}
