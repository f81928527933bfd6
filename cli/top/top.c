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
#include "top/display.h"
#include "top/top.h"
#include "top/view.h"
#include "top/who.h"

struct top {
	struct cli *cli;
	const struct request *request;
	struct top_start start;
	const struct uncore_monitor *monitor;
	struct top_view view;
	struct buffer missing;
	struct top_canvas canvas;
	int tick_fd;
	uint64_t interval_ns, end_ns; /* 0: no end */
	uint64_t samples;             /* short samples of this interval */
	size_t remembered;            /* the screen of the settings */
	bool open;                    /* the screen was opened */
	bool changed;                 /* the screen must be drawn */
	bool due;                     /* the counters must be read */
	bool quit;
	struct top_who who;
	const struct signals *signals;
};

/* ---- texts instead of the list ---- */

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

static void explain(struct top *t, const struct uncore_row *const *rows, size_t count)
{
	const struct uncore_metric *metrics[UNCORE_COLUMNS];
	struct buffer text = {0};
	size_t known = 0;

	for (size_t i = 0; i < count; i++) {
		const struct uncore_metric *metric = cli_metric(t->cli->u, rows[i]->query);

		if (metric)
			metrics[known++] = metric;
		else
			buffer_printf(&text,
				      "%s is an event, not a metric: uncore explain "
				      "PMU/EVENT/\n",
				      rows[i]->query->name);
	}
	if (known)
		explain_text(t->cli, metrics, known, &text);
	if (text.len)
		show_text(&t->view, text.data);
}

/* Shows the text of `uncore explain` for the metrics of the selected line. */
static void show_explanation(struct top *t)
{
	const struct top_view *v = &t->view;
	const struct top_model *m = &v->tree;
	const struct uncore_row *rows[UNCORE_COLUMNS];
	size_t count = 0;

	if (!v->data.sample)
		return;
	if (view_has_tree(v)) {
		rows[0] = top_row(m, top_metric(m, m->cursor));
		explain(t, rows, rows[0] != NULL);
		return;
	}
	for (int k = 0; v->line < v->data.screen.count && k < UNCORE_COLUMNS; k++) {
		rows[count] = data_row(&v->data, v->data.screen.lines[v->line].rows[k]);
		count += rows[count] != NULL;
	}
	explain(t, rows, count);
}

/* A recording is made by another process, so that it goes on when this one ends. */
static void show_record(struct top *t)
{
	struct buffer text = {0};

	buffer_puts(&text, "To record the same values until Ctrl-C, in another terminal:\n\n    "
			   "uncore");
	if (t->cli->source)
		buffer_printf(&text, " --source '%s'", t->cli->source);
	buffer_puts(&text, " record -o recording.uncore");
	for (size_t i = 0; i < t->request->query_count; i++)
		buffer_printf(&text, " %s '%s'", t->request->queries[i].metric ? "-M" : "-e",
			      t->request->queries[i].text);
	if (t->request->preset && t->request->preset->name)
		buffer_printf(&text, " %s", t->request->preset->name);
	else if (t->request->preset)
		buffer_printf(&text, " -M '%s'", t->request->preset->metrics);
	buffer_printf(&text,
		      " %gs\n\nAnd to watch it again:\n\n    uncore --source "
		      "replay:recording.uncore top\n",
		      t->view.interval);
	show_text(&t->view, text.data);
}

/* The tables of `uncore who`, by the next key with `next`. */
static void show_who(struct top *t, bool next)
{
	t->who.by += next;
	if (!who_open(&t->who, t->cli, &t->signals->old, t->interval_ns, t->canvas.width))
		snprintf(t->view.said, sizeof(t->view.said), "uncore who cannot be started: %s",
			 strerror(errno));
	else
		show_text(&t->view, cli_copy("Waiting for the first interval of uncore who\n"));
}

/* Keeps the place in the text, which is of the same kind. */
static void read_who(struct top *t)
{
	char *text = who_read(&t->who);

	if (!text)
		return;
	free(t->view.text);
	t->view.text = text;
	t->changed = true;
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
			snprintf(t->view.said, sizeof(t->view.said), "every %g s",
				 t->view.interval);
			return;
		}
	}
}

#define ESCAPE 27
#define IS_ENTER(key) ((key) == '\r' || (key) == '\n' || (key) == KEY_ENTER)

static void type_filter(struct top_view *v, int key)
{
	size_t len = strlen(v->filter);

	v->typing = v->typing && !IS_ENTER(key) && key != ESCAPE;
	if (key == ESCAPE)
		len = 0;
	else if ((key == KEY_BACKSPACE || key == 8 || key == 127) && len)
		len--;
	else if (key >= ' ' && key < 127 && len + 1 < sizeof(v->filter))
		v->filter[len++] = (char)key;
	v->filter[len] = '\0';
}

static void go_to(struct top_view *v, size_t screen)
{
	if (screen >= v->screens.count)
		return;
	v->screen = screen;
	v->first = 0;
}

/* Enter: opens a row of the tree, or the screen that the selected line belongs to. */
static void open_line(struct top_view *v)
{
	struct top_model *m = &v->tree;
	const char *screen;

	if (view_has_tree(v)) {
		if (m->cursor != TOP_NONE)
			top_open(m, !m->nodes[m->cursor].open);
		return;
	}
	if (v->line >= v->data.screen.count)
		return;
	screen = uncore_view_screen(v->data.screen.lines[v->line].view);
	if (v->screen == TOP_OVERVIEW)
		go_to(v, cli_word(v->screens.names, screen));
}

static void sort_next(struct top_view *v)
{
	v->sort = (v->sort + 1) % TOP_SORTS;
}

/* A click on a row of the tree opens it, on another line selects it, and opens it if it is
 * selected. */
static void click(struct top *t, int y)
{
	struct top_view *v = &t->view;
	struct layout l = view_layout(v, t->canvas.height);
	size_t at = v->first + (size_t)(y - l.list);
	bool inside = y >= l.list && y < l.list + l.list_height && !v->text;

	if (inside && view_has_tree(v)) {
		if (y == l.list)
			sort_next(v);
		else if (at - 1 < v->tree.line_count) {
			v->tree.cursor = v->tree.lines[at - 1];
			open_line(v);
		}
	} else if (inside && at < v->entry_count && v->entries[at].kind == ENTRY_LINE) {
		if (v->line == v->entries[at].line)
			open_line(v);
		v->line = v->entries[at].line;
	} else if (inside && at < v->entry_count && v->entries[at].kind == ENTRY_HEAD) {
		sort_next(v);
	}
}

/* Moves the list or the text, or goes back in time. False: the key is for something else. */
static bool scroll_by(struct top *t, int key)
{
	struct top_view *v = &t->view;
	const long page =
		v->text ? t->canvas.height - 3 : view_layout(v, t->canvas.height).list_height;
	const struct {
		int key;
		long lines;
	} moves[] = {
		{KEY_UP, -1},         {'k', -1},          {KEY_DOWN, 1},      {'j', 1},
		{KEY_SR, -3},         {KEY_SF, 3},        {KEY_PPAGE, -page}, {KEY_NPAGE, page},
		{KEY_HOME, -1000000}, {KEY_END, 1000000},
	};
	long *at = &v->text_first;

	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		if (moves[i].key != key)
			continue;
		if (v->text)
			*at = *at + moves[i].lines < 0 ? 0 : *at + moves[i].lines;
		else
			view_move(v, moves[i].lines);
		return true;
	}
	return false;
}

/* In a pause. False: the key is for something else. */
static bool go_in_time(struct top_view *v, int key)
{
	long step = v->data.step;
	long by = key == KEY_LEFT    ? step
		  : key == KEY_RIGHT ? -step
		  : key == KEY_PPAGE ? 60
		  : key == KEY_NPAGE ? -60
				     : 0;

	if (!v->paused || v->text || !by)
		return false;
	data_show(&v->data, (long)v->data.ago + by);
	return true;
}

/* At the end of a recording its last interval stays on the screen. */
static void read_now(struct top *t)
{
	const struct replay *replay = t->cli->replay;

	if (replay && !replay->gap && !replay->more && t->view.data.sample)
		t->view.paused = true;
	else
		t->due = true;
}

static void pause_or_go_on(struct top_view *v)
{
	v->paused = !v->paused;
	if (!v->paused)
		data_show(&v->data, 0);
}

/* What is shown. False: the key is for something else. */
static bool choose(struct top *t, int key)
{
	struct top_view *v = &t->view;

	if (key >= '1' && key <= '9')
		go_to(v, (size_t)(key - '1'));
	else if (key == 'a' && view_has_tree(v))
		top_open_all(&v->tree);
	else if (key == 's')
		sort_next(v);
	else if (key == 'z')
		v->idle = !v->idle;
	else if (key == '[' && v->range)
		v->range--;
	else if (key == ']' && v->range + 1 < VIEW_RANGES)
		v->range++;
	else if (key == 'm' && t->request->sample_ns)
		v->shown = (v->shown + TOP_SHOWN - 1) % TOP_SHOWN;
	else if (key == '/')
		v->typing = true;
	else if (key == ESCAPE)
		type_filter(v, key);
	else if (key == 'u')
		v->units = (v->units + 1) % UNITS_COUNT;
	else
		return false;
	return true;
}

static void act(struct top *t, int key)
{
	struct top_view *v = &t->view;

	if (choose(t, key))
		return;
	if ((key == KEY_RIGHT || key == KEY_LEFT) && view_has_tree(v))
		top_open(&v->tree, key == KEY_RIGHT);
	else if (IS_ENTER(key))
		open_line(v);
	else if (key == 'p')
		pause_or_go_on(v);
	else if (key == ' ')
		read_now(t);
	else if (key == '+' || key == '=' || key == '-')
		step_interval(t, key != '-');
	else if (key == 'e')
		show_explanation(t);
	else if (key == 'n')
		show_notes(t);
	else if (key == 'r')
		show_record(t);
	else if (key == 'W')
		show_who(t, false);
	else if (key == 'w')
		save_screen(v, &t->canvas);
	else if (key == 'c')
		save_rows(v, t->canvas.height);
}

static void press(struct top *t, int key, int y)
{
	struct top_view *v = &t->view;

	*v->said = '\0';
	if (v->typing)
		type_filter(v, key);
	else if (key == 'q' || key == KEY_F(10))
		t->quit = true;
	else if (key == KEY_MOUSE)
		click(t, y);
	else if (key == '?' || key == 'h' || key == KEY_F(1))
		show_text(v, cli_copy(view_help));
	else if (go_in_time(v, key) || scroll_by(t, key))
		return;
	else if (!v->text)
		act(t, key);
	else if (key == 'b' && t->who.open)
		show_who(t, true);
	else if (key == ESCAPE || IS_ENTER(key))
		show_text(v, NULL);
	if (!v->text || key == '?' || key == 'h' || key == KEY_F(1))
		who_close(&t->who);
}

/* ---- the ticker ---- */

static void draw(struct top *t)
{
	int width, height;

	display_size(&width, &height);
	if (width != t->canvas.width || height != t->canvas.height)
		canvas_resize(&t->canvas, width, height);
	view_draw(&t->canvas, &t->view);
	display_show(&t->canvas);
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
		{.fd = -1, .events = POLLIN},
	};
	enum wake wake = WAKE_TICK;
	int key, y = 0;

	while (!t->quit && !t->due && wake == WAKE_TICK) {
		if (t->changed)
			draw(t);
		fds[3].fd = t->who.open ? t->who.self.fd : -1;
		/* The signal of a resize interrupts poll(), and ncurses returns it as a key. */
		if (poll(fds, 4, rest(t)) < 0)
			memset(&fds[1].revents, 0, sizeof(fds[1].revents));
		if (fds[3].revents)
			read_who(t);
		while (!t->quit && !t->due && (key = display_key(&y)) != ERR) {
			press(t, key, y);
			view_arrange(&t->view, t->canvas.height);
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
	struct top *t = ticker->context;

	t->signals = &ticker->signals;
	return signals_open(&ticker->signals, true);
}

static int start_ticks(struct ticker *ticker, bool again)
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
	.start = start_ticks,
	.wait = watch,
	.took = took,
	.close = close_ticker,
};

/* ---- the sink ---- */

/* If the terminal cannot show a screen, the error ends the loop, and top_run() tells its caller. */
static int open_screen(void *context, const struct uncore_monitor *m)
{
	struct top *t = context;
	const char *host = cli_host(t->cli);
	struct buffer title = {0};
	char sockets[SOCKETS_ROOM], cpu[CPU_ROOM];

	t->monitor = m;
	t->open = display_open(&t->view.ascii);
	if (!t->open)
		return CLI_RUNTIME;
	cli_before_error(display_close);
	buffer_printf(&title, "%s%s%s, %s", host ? host : "", host ? "  " : "",
		      cli_cpu(t->cli->u, cpu), cli_sockets(t->cli->u, sockets));
	title.len = cli_clean(title.data, title.len, "");
	t->view.title = title.data;
	t->view.missing = t->missing.data;
	t->view.simulated = uncore_is_simulated(t->cli->u) ? uncore_source(t->cli->u) : NULL;
	t->changed = true;
	return CLI_OK;
}

/* The screen that shows the first metric of a preset; the metrics if no other one does. */
static size_t screen_of_preset(const struct top_view *v)
{
	const char *name =
		uncore_sample_count(v->data.sample) ? data_row(&v->data, 0)->query->name : "";
	const struct uncore_view *view = cli_view_cell(v->data.machine, name).view;
	size_t screen = view ? cli_word(v->screens.names, uncore_view_screen(view)) : SIZE_MAX;

	return screen < v->screens.count ? screen : v->screens.count - 1;
}

/* Whether anything on the screen is counted. */
static bool has_lines(const struct top_view *v, size_t screen)
{
	const struct screen *s = &v->data.screen;

	for (size_t i = 0; i < s->count; i++)
		if (screen == TOP_OVERVIEW ||
		    strcmp(uncore_view_screen(s->lines[i].view), v->screens.names[screen]) == 0)
			return true;
	return false;
}

static int take(void *context, const struct frame *f)
{
	struct top *t = context;
	struct top_view *v = &t->view;
	bool first = !v->data.sample;

	data_take(&v->data, t->cli->u, f->sample);
	top_update(&v->tree, &v->data);
	if (!first)
		return CLI_OK;
	if (t->request->level != UNCORE_LEVEL_MACHINE)
		top_open_all(&v->tree);
	if (t->start.preset)
		v->screen = screen_of_preset(v);
	/* A screen that was remembered may be of another machine. */
	if (!t->start.screen && !view_has_tree(v) && !has_lines(v, v->screen))
		v->screen = has_lines(v, TOP_OVERVIEW) ? TOP_OVERVIEW : v->screens.count - 1;
	return CLI_OK;
}

static int close_screen(void *context)
{
	struct top *t = context;

	who_close(&t->who);
	display_close();
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

static void find_screens(struct top_screens *s, struct uncore *u)
{
	s->names[s->count++] = "overview";
	for (size_t i = 0; i < uncore_view_count(u) && s->count < TOP_SCREENS - 1; i++) {
		const char *name = uncore_view_screen(uncore_view_at(u, i));

		if (name && !s->names[cli_word(s->names, name)])
			s->names[s->count++] = name;
	}
	s->names[s->count++] = "metrics";
}

static void begin(struct top *t)
{
	struct top_view *v = &t->view;

	find_screens(&v->screens, t->cli->u);
	v->tree.filter = v->filter;
	settings_load(v);
	t->remembered = v->screen;
	if (t->start.screen)
		go_to(v, cli_word(v->screens.names, t->start.screen));
}

int top_run(struct cli *cli, const struct request *request, const struct top_start *start,
	    bool *shown)
{
	struct top t = {.cli = cli,
			.request = request,
			.start = *start,
			.view = {.ascii = start->ascii,
				 .shown = request->sample_ns ? TOP_MOST : TOP_MEAN,
				 .sort = TOP_BY_VALUE,
				 .line = SCREEN_NONE,
				 .tree.cursor = TOP_NONE},
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

	begin(&t);
	if (!status)
		status = loop_plan(cli, request, sinks, &m);
	if (!status)
		status = loop_run(cli, request, sinks, m);
	refused = t.monitor && !t.open;
	*shown = !refused;
	/* A screen that the command line has chosen is not remembered. */
	if (start->screen || start->preset)
		t.view.screen = t.remembered;
	if (t.open)
		settings_save(&t.view);
	close(t.tick_fd);
	buffer_free(&t.missing);
	view_free(&t.view);
	free(t.canvas.cells);
	return refused ? CLI_OK : status;
}
