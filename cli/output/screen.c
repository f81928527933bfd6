/* SPDX-License-Identifier: MIT */
#include "output/screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/devices.h"
#include "output/place.h"

#define NAMES_SHOWN 3        /* devices in the label of a port */
#define IDLE_SHARE 0.001     /* of the ceiling */
#define IDLE_BANDWIDTH 100e3 /* B/s */

static const char *const columns[UNCORE_COLUMNS] = {"in", "out", "total", "share", "latency"};
static const char *const kinds[] = {"machine", "socket", "node", "channel",
				    "port",    "device", "link", "unit"};

/* ---- lines of rows ---- */

/* What is known of a line only while lines are made. */
struct draft {
	struct screen_line line;
	unsigned ranks[UNCORE_TABLE_COLUMNS];
	const char *metric; /* of its first row */
	size_t at;          /* its number in the screen */
	const struct draft *above;
	bool dropped;
};

struct maker {
	struct uncore *u;
	const struct screen_rows *rows;
	struct draft *drafts;
	size_t count;
};

static enum screen_kind kind_of(const struct uncore_row_place *place)
{
	return place->port                     ? SCREEN_PORT
	       : devices_is_device(place)      ? SCREEN_DEVICE
	       : place->channel >= 0           ? SCREEN_CHANNEL
	       : place->pmu || place->cpu >= 0 ? SCREEN_UNIT
	       : place->role                   ? SCREEN_LINK
	       : place->node >= 0              ? SCREEN_NODE
	       : place->socket >= 0            ? SCREEN_SOCKET
					       : SCREEN_MACHINE;
}

/* A port or a device is on a socket, also where its row does not say so. */
static int socket_of(const struct uncore_row_place *place)
{
	return place->socket >= 0 ? place->socket
	       : place->port      ? place->port->socket
	       : place->device    ? place->device->socket
				  : -1;
}

/* Several PMUs can count one port, one of them reads and the other one writes. */
static bool same_line(const struct draft *d, const struct uncore_view *view, int number,
		      const struct uncore_row_place *place)
{
	const struct uncore_row_place *p = d->line.place;

	if (d->line.view != view || d->line.number != number || !cli_same(p->role, place->role) ||
	    p->channel != place->channel)
		return false;
	return place->port || p->port ? p->port == place->port : out_same_place(p, place);
}

/* The view that shows the metric; NULL: none. */
static const struct uncore_view *find_view(const struct maker *m, const char *metric,
					   enum uncore_column *column, unsigned *rank, int *number)
{
	const struct uncore_view *view = NULL;

	if (!m->rows->table)
		return uncore_view_find(m->u, metric, &view, column, rank, number) < 0 ? NULL
										       : view;
	for (size_t i = 0; i < uncore_view_count(m->u); i++) {
		view = uncore_view_at(m->u, i);
		if (strcmp(uncore_view_table(view), m->rows->table) == 0 &&
		    uncore_view_has(view, metric, column, rank, number))
			return view;
	}
	return NULL;
}

static void take_row(struct maker *m, size_t i)
{
	const struct uncore_row *row = m->rows->at(m->rows->context, i);
	enum uncore_column column;
	struct draft *d = m->drafts;
	unsigned rank;
	int number;
	const struct uncore_view *view = find_view(m, row->query->name, &column, &rank, &number);

	if (!view)
		return;
	while (d < m->drafts + m->count && !same_line(d, view, number, row->place))
		d++;
	if (d == m->drafts + m->count) {
		m->drafts = cli_realloc(m->drafts, m->count + 1, sizeof(*m->drafts));
		d = &m->drafts[m->count++];
		*d = (struct draft){.line = {.view = view,
					     .kind = kind_of(row->place),
					     .parent = SCREEN_NONE,
					     .number = number,
					     .place = row->place,
					     .device = row->place->port ? row->place->port
									: row->place->device},
				    .metric = row->query->name,
				    .at = SCREEN_NONE};
		for (int k = 0; k < UNCORE_TABLE_COLUMNS; k++)
			d->line.rows[k] = SCREEN_NONE;
	}
	/* In a recording a row of the level that is asked for may lack what ports have. */
	if (d->line.rows[column] == SCREEN_NONE || rank < d->ranks[column] ||
	    (rank == d->ranks[column] && row->extra)) {
		d->line.rows[column] = i;
		d->ranks[column] = rank;
	}
}

/* ---- lines that say nothing new ---- */

static bool has_traffic(const struct draft *d)
{
	bool any = false;

	for (int k = 0; k < UNCORE_TABLE_COLUMNS; k++)
		any |= (k <= UNCORE_COLUMN_TOTAL || k >= UNCORE_COLUMN_MORE) &&
		       d->line.rows[k] != SCREEN_NONE;
	return any;
}

static bool is_sum(const struct draft *d)
{
	return d->line.kind == SCREEN_MACHINE || d->line.kind == SCREEN_SOCKET;
}

/* A sum over devices that count themselves contains only those, and not the machine's traffic. */
static bool sums_devices(const struct maker *m, const struct draft *d)
{
	bool devices = false;

	for (int k = 0; k < UNCORE_COLUMNS; k++)
		devices |= d->line.rows[k] != SCREEN_NONE &&
			   m->rows->at(m->rows->context, d->line.rows[k])->query->of_device;
	return devices;
}

/* A sum over what was counted for each root port lacks the traffic that passes none, such as that
 * of accelerators in the chip. */
static bool sums_ports(const struct maker *m, const struct draft *d)
{
	bool extra = false, ports = false;

	for (int k = 0; k < UNCORE_COLUMNS; k++)
		extra |= d->line.rows[k] != SCREEN_NONE &&
			 m->rows->at(m->rows->context, d->line.rows[k])->extra;
	for (size_t i = 0; extra && i < m->count; i++)
		ports |= m->drafts[i].line.view == d->line.view &&
			 m->drafts[i].line.kind == SCREEN_PORT;
	return ports;
}

/* The number of lines of this kind in the view and on the socket, with the same role and
 * number. */
static size_t siblings(const struct maker *m, const struct draft *d, enum screen_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < m->count; i++)
		count += !m->drafts[i].dropped && m->drafts[i].line.view == d->line.view &&
			 m->drafts[i].line.kind == kind &&
			 m->drafts[i].line.place->socket == d->line.place->socket &&
			 m->drafts[i].line.number == d->line.number &&
			 cli_same(m->drafts[i].line.place->role, d->line.place->role);
	return count;
}

static bool is_below(const struct draft *d, const struct uncore_device *device)
{
	return !device->is_bridge && device->port &&
	       devices_port_counted(d->line.place, device->port);
}

/* Whether the PMU counts devices, which the label names. */
static bool has_devices(const struct maker *m, const struct draft *d)
{
	for (size_t i = 0; i < uncore_device_count(m->u); i++)
		if (is_below(d, uncore_device_at(m->u, i)))
			return true;
	return false;
}

/* Whether the view has such a line for the number. */
static bool has_kind(const struct maker *m, const struct draft *d, enum screen_kind kind)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->drafts[i].line.view == d->line.view && m->drafts[i].line.kind == kind &&
		    m->drafts[i].line.number == d->line.number)
			return true;
	return false;
}

/* Whether another line has the same numbers: a channel has one beside its PMU, the only PMU of a
 * socket is the socket, and the only socket the machine. */
static bool is_double(const struct maker *m, const struct draft *d)
{
	if (is_sum(d) &&
	    ((sums_devices(m, d) && (!m->rows->table || has_kind(m, d, SCREEN_DEVICE))) ||
	     sums_ports(m, d)))
		return true;
	/* "Link 3" of all sockets is no place. */
	if (d->line.kind == SCREEN_MACHINE && d->line.number >= 0)
		return m->rows->table && has_kind(m, d, SCREEN_SOCKET);
	if (d->line.kind == SCREEN_SOCKET)
		return !m->rows->table && uncore_socket_count(m->u) == 1;
	if (d->line.kind != SCREEN_UNIT)
		return false;
	return siblings(m, d, SCREEN_CHANNEL) ||
	       ((m->rows->table || !d->line.place->role) && siblings(m, d, SCREEN_UNIT) == 1 &&
		!has_devices(m, d));
}

/* ---- the tree ---- */

/* How well a line suits as the sum or the port above another one; 0: it does not. */
static int rank_above(const struct draft *above, const struct draft *d)
{
	const struct uncore_row_place *p = above->line.place, *q = d->line.place;

	if (above->dropped || above->line.view != d->line.view || above == d ||
	    (above->line.number >= 0 && above->line.number != d->line.number))
		return 0;
	switch (above->line.kind) {
	case SCREEN_PORT:
	case SCREEN_UNIT:
		return d->line.kind == SCREEN_DEVICE && q->device && q->device->port &&
				       devices_port_counted(p, q->device->port)
			       ? 6
			       : 0;
	case SCREEN_LINK:
		if (!cli_same(p->role, q->role) || (p->socket >= 0 && p->socket != q->socket) ||
		    (d->line.kind == SCREEN_LINK && (p->socket >= 0 || q->socket < 0)))
			return 0;
		return 4 + (p->socket >= 0);
	case SCREEN_SOCKET:
		return d->line.kind > SCREEN_SOCKET && p->socket == socket_of(q) ? 3 : 0;
	case SCREEN_MACHINE:
		return d->line.kind > SCREEN_MACHINE ? 2 : 0;
	default:
		return 0;
	}
}

static const struct draft *find_above(const struct maker *m, const struct draft *d)
{
	const struct draft *best = NULL;
	int best_rank = 0;

	for (size_t i = 0; i < m->count; i++) {
		int rank = rank_above(&m->drafts[i], d);

		if (rank > best_rank) {
			best_rank = rank;
			best = &m->drafts[i];
		}
	}
	return best;
}

/* ---- labels ---- */

/* "nvme0, eth0": the first name of each device below the port or PMU, and "?" if it is uncertain
 * which PMU counts them; "" without a device. The only device stands for the port. */
static void put_devices(struct maker *m, struct draft *d, struct buffer *label)
{
	const struct uncore_device *only = NULL;
	size_t all = 0, shown = 0;

	for (size_t i = 0; i < uncore_device_count(m->u); i++)
		all += is_below(d, uncore_device_at(m->u, i));
	for (size_t i = 0; i < uncore_device_count(m->u); i++) {
		const struct uncore_device *device = uncore_device_at(m->u, i);
		const char *name = device->names ? device->names : device_name(device);

		if (!is_below(d, device))
			continue;
		only = device;
		d->line.uncertain |= device->port->doubt && !d->line.place->port;
		if (shown == NAMES_SHOWN)
			continue;
		buffer_puts(label, shown++ ? ", " : "");
		if (name)
			buffer_add(label, name, device->names ? strcspn(name, " ") : strlen(name));
		else
			buffer_puts(label, device->address);
	}
	if (all > shown)
		buffer_printf(label, " and %zu more", all - shown);
	buffer_puts(label, d->line.uncertain ? "?" : "");
	if (all == 1)
		d->line.device = only;
}

/* The word in front of the number in a metric's name: "complex" in
 * "pcie.inbound.complex3.bandwidth", "link" in "link.3.in.bandwidth". */
static void put_number(struct buffer *label, const char *metric, int number)
{
	const char *digit = metric + strcspn(metric, "0123456789"), *from = digit;

	while (from > metric && from[-1] == '.')
		from--;
	digit = from;
	while (from > metric && from[-1] != '.')
		from--;
	buffer_printf(label, "%s%.*s %d", label->len ? ", " : "", (int)(digit - from), from,
		      number);
}

/* `above` NULL: the line does not stand below another one. */
static void put_place(const struct maker *m, struct buffer *label, const struct draft *d,
		      const struct draft *above)
{
	const struct uncore_row_place *place = d->line.place;
	bool below = above && above->line.place->socket == place->socket;
	bool known = below || (!m->rows->table && uncore_socket_count(m->u) == 1);
	auto_buffer text = {0};
	const char *comma;

	if (d->line.kind == SCREEN_MACHINE) {
		buffer_puts(label, "machine");
		return;
	}
	if (d->line.kind == SCREEN_LINK) {
		if (place->socket >= 0 && !below)
			buffer_printf(label, "socket %d, ", place->socket);
		buffer_puts(label, place->role);
		return;
	}
	out_place(&text, place);
	/* "channel 3" is enough below "socket 0", or where there is no other socket. */
	comma = known && d->line.kind == SCREEN_CHANNEL ? strstr(text.data, ", ") : NULL;
	buffer_puts(label, comma ? comma + 2 : text.data);
	if (place->role && !below)
		buffer_printf(label, ", %s", place->role);
}

static void put_detail(struct buffer *detail, const struct draft *d, const char *label)
{
	const struct uncore_device *device = d->line.device, *port = d->line.place->port;
	const char *name = device && !device->is_port ? device_name(device) : NULL;
	char link[LINK_ROOM];

	if (name && strcmp(name, label) != 0)
		buffer_puts(detail, name);
	if (device)
		buffer_printf(detail, "%s%s", detail->len ? ", " : "", device->address);
	if (port) {
		link_text(link, sizeof(link), port);
		buffer_printf(detail, ", %s", link);
	} else if (d->line.kind == SCREEN_UNIT && d->line.place->pmu &&
		   strncmp(label, uncore_pmu_name(d->line.place->pmu),
			   strlen(uncore_pmu_name(d->line.place->pmu))) != 0) {
		buffer_printf(detail, "%s%s%s", detail->len ? ", " : "",
			      uncore_pmu_name(d->line.place->pmu),
			      d->line.uncertain ? " (uncertain)" : "");
	}
}

static char *clean(struct buffer *text)
{
	if (!text->data)
		return cli_copy("");
	text->len = cli_clean(text->data, text->len, "");
	text->data[text->len] = '\0';
	return text->data;
}

static void put_label(struct maker *m, struct draft *d, const struct draft *above)
{
	struct buffer label = {0}, detail = {0};

	if (d->line.kind == SCREEN_PORT || d->line.kind == SCREEN_UNIT)
		put_devices(m, d, &label);
	if (!label.len)
		put_place(m, &label, d, m->rows->table ? NULL : above);
	if (d->line.number >= 0)
		put_number(&label, d->metric, d->line.number);
	d->line.label = clean(&label);
	put_detail(&detail, d, d->line.label);
	d->line.detail = clean(&detail);
}

/* ---- the screen ---- */

static void add_lines(struct screen *s, struct maker *m, const struct uncore_view *view,
		      const struct draft *above)
{
	for (size_t i = 0; i < m->count; i++) {
		struct draft *d = &m->drafts[i];

		if (d->dropped || d->line.view != view || d->above != above)
			continue;
		put_label(m, d, above);
		d->line.parent = above ? above->at : SCREEN_NONE;
		d->line.depth = above ? above->line.depth + 1 : 0;
		d->at = s->count;
		s->lines[s->count++] = d->line;
		add_lines(s, m, view, d);
	}
}

void screen_make(struct screen *s, struct uncore *u, const struct screen_rows *rows)
{
	struct maker m = {.u = u, .rows = rows};

	*s = (struct screen){0};
	for (size_t i = 0; i < rows->count; i++)
		take_row(&m, i);
	/* Units without traffic have only a part of a latency or of a share. */
	for (size_t i = 0; i < m.count; i++)
		m.drafts[i].dropped =
			m.drafts[i].line.kind == SCREEN_UNIT && !has_traffic(&m.drafts[i]);
	for (size_t i = 0; i < m.count; i++)
		m.drafts[i].dropped = m.drafts[i].dropped || is_double(&m, &m.drafts[i]);
	for (size_t i = 0; i < m.count; i++)
		m.drafts[i].above = m.drafts[i].dropped ? NULL : find_above(&m, &m.drafts[i]);
	s->lines = cli_realloc(NULL, m.count + 1, sizeof(*s->lines));
	for (size_t i = 0; i < uncore_view_count(u); i++)
		add_lines(s, &m, uncore_view_at(u, i), NULL);
	free(m.drafts);
}

void screen_free(struct screen *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->lines[i].label);
		free(s->lines[i].detail);
	}
	free(s->lines);
	*s = (struct screen){0};
}

/* ---- numbers of an interval ---- */

const struct uncore_row *screen_row(const struct screen_line *line, const struct screen_rows *rows,
				    enum uncore_column column)
{
	size_t i = line->rows[column];

	return i < rows->count ? rows->at(rows->context, i) : NULL;
}

static double value_of(const struct screen_line *line, const struct screen_rows *rows,
		       enum uncore_column column)
{
	const struct uncore_row *row = screen_row(line, rows, column);

	return row ? row->value : NAN;
}

double screen_share(const struct screen_line *line, const struct screen_rows *rows)
{
	double share = NAN;

	for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++) {
		const struct uncore_row *row = screen_row(line, rows, (enum uncore_column)k);

		if (row && row->ceiling > 0)
			share = fmax(share, row->value / row->ceiling);
	}
	return isfinite(share) ? share : value_of(line, rows, UNCORE_COLUMN_SHARE);
}

double screen_traffic(const struct screen_line *line, const struct screen_rows *rows)
{
	double in = value_of(line, rows, UNCORE_COLUMN_IN),
	       out = value_of(line, rows, UNCORE_COLUMN_OUT);

	if (line->rows[UNCORE_COLUMN_TOTAL] != SCREEN_NONE)
		return value_of(line, rows, UNCORE_COLUMN_TOTAL);
	return line->rows[UNCORE_COLUMN_IN] == SCREEN_NONE    ? out
	       : line->rows[UNCORE_COLUMN_OUT] == SCREEN_NONE ? in
							      : in + out;
}

enum uncore_quality screen_quality(const struct screen_line *line, const struct screen_rows *rows,
				   const char **reason)
{
	enum uncore_quality worst = UNCORE_MEASURED;

	*reason = NULL;
	for (int k = 0; k < UNCORE_COLUMNS; k++) {
		const struct uncore_row *row = screen_row(line, rows, (enum uncore_column)k);

		if (!row || row->quality <= worst ||
		    (row->quality == UNCORE_UNAVAILABLE && k > UNCORE_COLUMN_TOTAL))
			continue;
		worst = row->quality;
		*reason = row->reason;
	}
	return worst;
}

bool screen_is_idle(const struct screen_line *line, const struct screen_rows *rows)
{
	double share = screen_share(line, rows), traffic = screen_traffic(line, rows);

	if (isfinite(share))
		return share < IDLE_SHARE;
	if (line->place->port && !line->place->port->width && !(traffic >= IDLE_BANDWIDTH))
		return true; /* no link, or an unknown one */
	for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++) {
		const struct uncore_row *row = screen_row(line, rows, (enum uncore_column)k);

		if (row && strcmp(row->query->unit, "B/s") != 0)
			return traffic == 0; /* watts, requests */
	}
	return isfinite(traffic) && traffic < IDLE_BANDWIDTH;
}

bool screen_is_sum(const struct screen_line *line)
{
	return line->kind <= SCREEN_NODE && line->number < 0;
}

bool screen_is_double(const struct screen *s, size_t i)
{
	const struct screen_line *line = &s->lines[i], *above, *other;
	const char *pmu = line->place->pmu ? uncore_pmu_name(line->place->pmu) : "";

	if (line->parent == SCREEN_NONE)
		return false;
	above = &s->lines[line->parent];
	if (line->kind == SCREEN_DEVICE)
		return (above->kind == SCREEN_PORT || above->kind == SCREEN_UNIT) &&
		       above->device == line->device && !above->uncertain;
	/* One that is named after devices tells more. */
	if (line->kind != SCREEN_UNIT || strncmp(line->label, pmu, strlen(pmu)) != 0)
		return false;
	for (size_t k = line->parent + 1; k < s->count; k++) {
		other = &s->lines[k];
		if (other->view == line->view && other != line && other->kind == SCREEN_UNIT &&
		    other->number == line->number)
			return false;
	}
	return true;
}

static bool counts_bytes(const struct screen_line *line, const struct screen_rows *rows)
{
	bool bytes = false;

	for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++) {
		const struct uncore_row *row = screen_row(line, rows, (enum uncore_column)k);

		bytes |= row && isfinite(row->value) && strcmp(row->query->unit, "B/s") == 0;
	}
	return bytes;
}

bool screen_moves_elsewhere(const struct screen *s, const struct screen_line *line,
			    const struct screen_rows *rows)
{
	bool moves = false;

	for (size_t i = 0; i < s->count && line->kind == SCREEN_DEVICE; i++)
		moves |= s->lines[i].place->pmu == line->place->pmu &&
			 counts_bytes(&s->lines[i], rows) && !screen_is_idle(&s->lines[i], rows);
	return moves;
}

size_t screen_hottest(const struct screen *s, const struct screen_rows *rows)
{
	size_t hottest = SCREEN_NONE;
	double most = -INFINITY;

	for (size_t i = 0; i < s->count; i++) {
		double share = screen_share(&s->lines[i], rows);

		if (s->lines[i].kind == SCREEN_MACHINE || !(share > most))
			continue;
		most = share;
		hottest = i;
	}
	return hottest;
}

/* ---- order ---- */

struct order {
	const struct screen *screen;
	const struct screen_rows *rows;
};

/* The line above both, or the line itself: its siblings are compared. */
static size_t at_depth(const struct screen *s, size_t i, unsigned depth)
{
	while (s->lines[i].depth > depth)
		i = s->lines[i].parent;
	return i;
}

/* The busiest place first, each before the places below it. Sockets are in their order. */
static int compare(const void *a, const void *b, void *context)
{
	const struct order *o = context;
	const struct screen *s = o->screen;
	size_t i = *(const size_t *)a, k = *(const size_t *)b, x, y;
	unsigned depth = 0;
	double p, q;

	for (x = at_depth(s, i, 0), y = at_depth(s, k, 0);
	     x == y && depth < s->lines[i].depth && depth < s->lines[k].depth;) {
		depth++;
		x = at_depth(s, i, depth);
		y = at_depth(s, k, depth);
	}
	if (x == y)
		return s->lines[i].depth < s->lines[k].depth ? -1 : i != k;
	p = screen_traffic(&s->lines[x], o->rows);
	q = screen_traffic(&s->lines[y], o->rows);
	if (p != q && s->lines[x].kind > SCREEN_CHANNEL && s->lines[y].kind > SCREEN_CHANNEL &&
	    (isfinite(p) || isfinite(q)))
		return !isfinite(q) || p > q ? -1 : 1;
	return x < y ? -1 : 1;
}

void screen_sort(const struct screen *s, const struct screen_rows *rows, size_t *lines,
		 size_t count)
{
	struct order order = {s, rows};

	qsort_r(lines, count, sizeof(*lines), compare, &order);
}

/* ---- for the pages ---- */

static json_t *view_object(const struct uncore_view *v)
{
	json_t *titles = json_object();
	const struct field fields[] = {{"name", value_text(uncore_view_name(v))},
				       {"title", value_text(uncore_view_title(v))},
				       {"screen", value_text(uncore_view_screen(v))},
				       {"columns", value_json(titles)},
				       {0}};

	for (int k = 0; titles && k < UNCORE_COLUMNS; k++) {
		const char *title = uncore_view_column_title(v, (enum uncore_column)k);

		if (title)
			json_object_set_new(titles, columns[k], json_text(title));
	}
	return json_record(fields);
}

static json_t *line_object(const struct screen_line *line, size_t view)
{
	json_t *rows = json_object();
	const struct field fields[] = {
		{"view", value_count(view)},
		{"kind", value_text(kinds[line->kind])},
		{"parent", line->parent == SCREEN_NONE ? value_none() : value_count(line->parent)},
		{"label", value_text(line->label)},
		{"detail", value_text(line->detail)},
		{"socket", value_id(socket_of(line->place))},
		{"device", value_text(line->device ? line->device->address : NULL)},
		{"rows", value_json(rows)},
		{0}};

	for (int k = 0; rows && k < UNCORE_COLUMNS; k++)
		if (line->rows[k] != SCREEN_NONE)
			json_object_set_new(rows, columns[k],
					    json_integer((json_int_t)line->rows[k]));
	return json_record(fields);
}

json_t *screen_document(const struct screen *s)
{
	json_t *views = json_array(), *lines = json_array();
	const struct uncore_view *view = NULL;

	for (size_t i = 0; i < s->count; i++) {
		if (s->lines[i].view != view)
			json_push(views, view_object(s->lines[i].view));
		view = s->lines[i].view;
		json_push(lines, line_object(&s->lines[i], json_array_size(views) - 1));
	}
	return json_record((const struct field[]){{"views", value_json(views)},
						  {"lines", value_json(lines)},
						  {"warn", value_real(SHARE_WARN)},
						  {"bad", value_real(SHARE_BAD)},
						  {"idle_share", value_real(IDLE_SHARE)},
						  {"idle_bandwidth", value_real(IDLE_BANDWIDTH)},
						  {0}});
}
