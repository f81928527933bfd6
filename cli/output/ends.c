/* SPDX-License-Identifier: MIT */
/* `pcie --ends` and `link --ends`: what a root port or a link counts beside what its devices count
 * themselves, as a table, and as fields of the port's records. It is no struct view, since a line
 * has rows of several places. */
#include <math.h>
#include <string.h>

#include "base/cli.h"
#include "output/devices.h"
#include "output/output.h"

#define AGREE 0.02     /* of the port; descriptors and completions are part of its traffic */
#define IDLE 1e6       /* B/s at both ends, below which a ratio says nothing */
#define OTHERS_SHOWN 3 /* devices that do not count themselves and are named */

/* The traffic of one kind at the two ends. */
struct pair {
	/* The row of a root port, of a PMU that counts several, or of the first PMU of a link. */
	const struct uncore_row *port;
	double value;              /* the sum over the PMUs of a link */
	enum uncore_quality worst; /* of these */
	bool link;                 /* it is one of a link, not of PCIe */
	bool socket;               /* this PMU counts all devices of a socket */
	/* The sum over the devices that count themselves. Where several families count a device,
	 * the largest of them is in `sum`, and all of them in `most`. Bounds contain the
	 * uncertainty. */
	double sum, most, low, high;
	size_t valued;                  /* devices with a value */
	enum uncore_quality quality;    /* the worst of theirs */
	bool switched;                  /* one of them is behind a switch */
	struct buffer names, valueless; /* all of them, and those without a value */
};

/* Whether the row of the port has the device's traffic. */
static bool counts(const struct out *out, const struct pair *p, const struct uncore_device *d)
{
	int socket = p->port->place->socket;

	if (d->port && devices_port_counted(p->port->place, d->port))
		return true;
	return p->socket && (d->socket == socket || uncore_socket_count(out->setup.machine) == 1);
}

/* Whether it is what a device of the pair counts: `d`, or (NULL) any. */
static bool is_part(const struct out *out, const struct pair *p, const struct uncore_row *row,
		    const struct uncore_device *d)
{
	const struct uncore_device *own = NULL;

	if (cli_same(row->query->at_port, p->port->query->name))
		own = row->place->device;
	return own && (!d || own == d) && counts(out, p, own);
}

static void put_name(struct buffer *to, const struct uncore_row *row)
{
	buffer_printf(to, "%s%s", to->len ? ", " : "", uncore_pmu_name(row->place->pmu));
}

/* What a family counts of the device, of which `first` is its first row. */
static struct pair sum_family(const struct out *out, const struct pair *p,
			      const struct uncore_device *d, size_t first)
{
	const char *family = out->rows[first].row->query->family;
	struct pair sum = {0};

	for (size_t i = first; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;

		if (!is_part(out, p, row, d) || !cli_same(row->query->family, family))
			continue;
		put_name(&sum.names, row);
		if (!isfinite(row->value)) {
			put_name(&sum.valueless, row);
			continue;
		}
		sum.valued++;
		sum.sum += row->value;
		sum.low += isfinite(row->low) ? row->low : row->value;
		sum.high += isfinite(row->high) ? row->high : row->value;
		sum.quality = row->quality > sum.quality ? row->quality : sum.quality;
	}
	return sum;
}

static void add_names(struct buffer *to, const struct buffer *names)
{
	if (names->len)
		buffer_printf(to, "%s%s", to->len ? ", " : "", names->data);
}

/* Whether the row is the first one of its family that counts a part of the device. */
static bool begins_family(const struct out *out, const struct pair *p,
			  const struct uncore_device *d, size_t i)
{
	const struct uncore_row *row = out->rows[i].row;
	bool begins = is_part(out, p, row, d);

	for (size_t k = 0; k < i && begins; k++)
		begins = !is_part(out, p, out->rows[k].row, d) ||
			 !cli_same(out->rows[k].row->query->family, row->query->family);
	return begins;
}

/* Adds what the device counts. Several families may count it, each all its bytes or a part of
 * them, as the kernel's traffic and that of RDMA: whether they count a byte twice is not known, so
 * that the truth is between the largest and the sum. */
static void add_device(const struct out *out, struct pair *p, const struct uncore_device *d)
{
	size_t families = 0;
	double largest = 0, low = 0;

	for (size_t i = 0; i < out->row_count; i++)
		families += begins_family(out, p, d, i);
	for (size_t i = 0; i < out->row_count; i++) {
		struct pair one;

		if (!begins_family(out, p, d, i))
			continue;
		one = sum_family(out, p, d, i);
		if (families > 1)
			buffer_printf(&one.names, " (%s)", out->rows[i].row->query->family);
		largest = fmax(largest, one.sum);
		low = fmax(low, one.low);
		p->most += one.sum;
		p->high += one.high;
		p->valued += one.valued;
		p->quality = one.quality > p->quality ? one.quality : p->quality;
		add_names(&p->names, &one.names);
		add_names(&p->valueless, &one.valueless);
		buffer_free(&one.names);
		buffer_free(&one.valueless);
	}
	p->sum += largest;
	p->low += low;
	p->switched |= d->port && d->parent != d->port;
}

static void add_devices(const struct out *out, struct pair *p)
{
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_device *d;
		bool first = is_part(out, p, out->rows[i].row, NULL);

		d = out->rows[i].row->place->device;
		for (size_t k = 0; first && k < i; k++)
			first = !is_part(out, p, out->rows[k].row, d);
		if (first)
			add_device(out, p, d);
	}
}

/* The devices of the pair that do not count themselves. */
static void put_others(struct buffer *to, const struct out *out, const struct pair *p)
{
	const struct uncore *u = out->setup.machine;
	size_t others = 0;

	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);
		bool counted = d->is_bridge || !d->port || !counts(out, p, d);

		for (size_t k = 0; !counted && k < out->row_count; k++)
			counted = is_part(out, p, out->rows[k].row, d);
		if (!counted && others++ < OTHERS_SHOWN)
			buffer_printf(to, "%s%s", to->len ? ", " : "",
				      d->names ? d->names : d->address);
	}
	if (others > OTHERS_SHOWN)
		buffer_printf(to, " and %zu more", others - OTHERS_SHOWN);
}

/* The verdict, and as a note what may be the reason. */
static const char *judge(const struct out *out, const struct pair *p, struct buffer *note)
{
	double port = p->value;
	auto_buffer others = {0};

	if (!isfinite(port)) {
		buffer_puts(note, "the port has no value");
		return "cannot tell";
	}
	if (p->low > port * (1 + AGREE) + IDLE) {
		buffer_puts(note,
			    p->link ? "CPUs access the device, which the port does not count, "
				      "or one of them is wrong"
			    : p->switched ? "peer-to-peer traffic below the switch"
					  : "peer-to-peer traffic, small packets, or one of "
					    "them is wrong");
		return "device more";
	}
	if (p->valueless.len) {
		buffer_printf(note, "no value of %s", p->valueless.data);
		return "cannot tell";
	}
	if (port < IDLE && p->most < IDLE)
		return "idle";
	if (p->high >= port * (1 - AGREE) - IDLE)
		return "agree";
	put_others(&others, out, p);
	if (others.len)
		buffer_printf(note, "other devices %s: %s",
			      p->socket ? "of the socket" : "below it", others.data);
	else
		buffer_puts(note, "descriptors, traffic that the device does not count, or one of "
				  "them is wrong");
	return "port more";
}

static double ratio_of(const struct pair *p)
{
	return p->value > 0 && p->valued ? p->sum / p->value : NAN;
}

/* Whether several families count something of a device. */
static bool is_range(const struct pair *p)
{
	return p->valued && p->most > p->sum * (1 + 1e-9);
}

static void put_devices(struct table *t, const struct pair *p)
{
	const struct uncore_row_query query = {.unit = "B/s"};
	const struct uncore_row devices = {.query = &query,
					   .value = p->valued ? p->sum : NAN,
					   .quality = p->valued && p->valueless.len ? UNCORE_PARTIAL
										    : p->quality};
	const char *mark = out_mark(devices.quality);
	if (is_range(p))
		table_cell(t, "%s to %s%s%s", human(p->sum, "B/s").text, human(p->most, "B/s").text,
			   *mark ? " " : "", mark);
	else
		out_value(t, &devices);
	if (isfinite(ratio_of(p)) && is_range(p))
		table_cell(t, "%.3f to %.3f", ratio_of(p), p->most / p->value);
	else if (isfinite(ratio_of(p)))
		table_cell(t, "%.3f", ratio_of(p));
	else
		table_cell(t, "-");
}

static void put_pair(struct out *out, const struct pair *p)
{
	const struct uncore_row_place *place = p->port->place;
	struct uncore_row port = *p->port;
	struct table *t = &out->table;
	auto_buffer note = {0};
	const char *verdict = judge(out, p, &note);

	port.value = p->value;
	port.quality = p->worst;
	if (place->port)
		table_cell(t, "%s", place->port->address);
	else if (p->link && place->socket >= 0)
		table_cell(t, "socket %d", place->socket);
	else
		out_place_cell(t, place);
	table_cell(t, "%s", strstr(p->port->query->name, ".read.") ? "read" : "write");
	out_value(t, &port);
	put_devices(t, p);
	table_cell(t, "%s", verdict);
	table_cell(t, "%s", p->names.data);
	table_end_row(t, note.data);
}

static void put_legend(struct out *out, size_t pairs, size_t devices, bool links, bool ranges)
{
	if (!pairs) {
		buffer_puts(out->to,
			    devices ? "No device that counts itself is below a root port or link "
				      "whose bytes are counted: there is nothing to compare.\n"
				    : "No device here counts what a port or link counts, too.\n");
		return;
	}
	out_once(out, "read, write: devices read or write memory. RATIO: devices / port.");
	if (links)
		out_once(out, "The devices also count what CPUs read and write in them.");
	else
		out_once(out, "The port also counts descriptors and completions.");
	if (ranges)
		out_once(out, "A to B: the largest count of a device's families, and their sum, "
			      "since they may count the same bytes.");
	if (out->frame.round_count > 1)
		out_once(out, "The rounds were counted one after another: where traffic changes, "
			      "the ends differ.");
}

/* Whether it is what a port counts. */
static bool is_port(const struct uncore_row *row)
{
	return !row->query->at_port && (row->place->port || row->place->pmu);
}

static const char *kind_of(const struct uncore_row *row)
{
	return row->place->port || !row->place->pmu ? NULL : uncore_pmu_place(row->place->pmu);
}

/* Whether two PMUs count parts of the traffic of one link. */
static bool is_same_link(const struct uncore_row *a, const struct uncore_row *b)
{
	return cli_same(kind_of(a), "link") && cli_same(kind_of(b), "link") &&
	       a->place->socket == b->place->socket && out_same_query(a, b);
}

/* Makes the pair of a row. False: no device counts this traffic itself, or the row has no pair of
 * its own. The names are to be freed. */
static bool make_pair(const struct out *out, const struct uncore_row *row, struct pair *p)
{
	const char *kind = kind_of(row);

	*p = (struct pair){.port = row,
			   .value = row->value,
			   .worst = row->quality,
			   .link = cli_same(kind, "link"),
			   .socket = cli_same(kind, "link") || cli_same(kind, "fabric") ||
				     cli_same(kind, "socket")};
	if (!is_port(row))
		return false;
	for (size_t i = 0; i < out->row_count && p->link; i++) {
		const struct uncore_row *other = out->rows[i].row;

		if (!is_same_link(other, row) || other == row)
			continue;
		if (other->number < row->number)
			return false;
		p->value += other->value;
		p->worst = other->quality > p->worst ? other->quality : p->worst;
	}
	add_devices(out, p);
	return p->names.len;
}

static void free_pair(struct pair *p)
{
	buffer_free(&p->names);
	buffer_free(&p->valueless);
}

/* Puts a line if a device below counts itself, too. */
static bool put_row(struct out *out, const struct uncore_row *row, bool *ranges)
{
	struct pair p;
	bool is_pair = make_pair(out, row, &p);

	if (is_pair)
		put_pair(out, &p);
	*ranges |= is_pair && is_range(&p);
	free_pair(&p);
	return is_pair;
}

void ends_add_fields(const struct out *out, const struct uncore_row *row, struct field *fields,
		     struct buffer *texts)
{
	const char *verdict = NULL;
	struct pair p;
	size_t names, reason;
	bool is_pair = make_pair(out, row, &p);
	auto_buffer note = {0};

	if (is_pair)
		verdict = judge(out, &p, &note);
	names = texts->len;
	buffer_add(texts, is_pair ? p.names.data : "", p.names.len + 1);
	reason = texts->len;
	buffer_add(texts, buffer_text(&note), note.len + 1);
	while (fields->name)
		fields++;
	*fields++ = (struct field){"verdict", value_text(verdict)};
	*fields++ = (struct field){"ratio", value_real(is_pair ? ratio_of(&p) : NAN)};
	*fields++ = (struct field){"port_value", value_real(is_pair ? p.value : NAN)};
	*fields++ = (struct field){"devices_value", value_real(p.valued ? p.sum : NAN)};
	*fields++ = (struct field){"devices_low", value_real(p.valued ? p.low : NAN)};
	*fields++ = (struct field){"devices_high", value_real(p.valued ? p.high : NAN)};
	*fields++ = (struct field){"devices", value_text(is_pair ? texts->data + names : NULL)};
	*fields++ = (struct field){"verdict_reason",
				   value_text(note.len ? texts->data + reason : NULL)};
	free_pair(&p);
}

/* Whether a row before it is of the same port. */
static bool is_later(const struct out *out, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_port(out->rows[k].row) &&
		    out_same_port(out->rows[k].row->place, out->rows[i].row->place))
			return true;
	return false;
}

void ends_output_window(struct out *out)
{
	static const struct table_column columns[] = {{"PORT", 0},
						      {"DIRECTION", 0},
						      {"AT THE PORT", TABLE_RIGHT | TABLE_RATE},
						      {"AT THE DEVICES", TABLE_RIGHT | TABLE_RATE},
						      {"RATIO", TABLE_RIGHT},
						      {"VERDICT", 0},
						      {"DEVICES", 0},
						      {NULL, 0}};
	size_t pairs = 0, devices = 0;
	bool links = false, ranges = false;

	out_text_header(out);
	out_text_time(out);
	out_table(out, &out->table, columns);
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;

		devices += row->query->at_port != NULL;
		links |= cli_same(kind_of(row), "link");
		if (!is_port(row) || is_later(out, i))
			continue;
		for (size_t k = i; k < out->row_count; k++)
			if (is_port(out->rows[k].row) &&
			    out_same_port(out->rows[k].row->place, row->place))
				pairs += put_row(out, out->rows[k].row, &ranges);
	}
	table_print(&out->table, out->to);
	put_legend(out, pairs, devices, links, ranges);
	out_reasons(out, NULL);
}
