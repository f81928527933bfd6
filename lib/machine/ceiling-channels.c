/* SPDX-License-Identifier: MIT */
/*
 * Which memory modules share a channel. Firmware writes that into texts of no fixed form:
 *
 *   locator          bank locator               told by
 *   DIMM 1           P0 CHANNEL A               the word
 *   P1-DIMMA1        P0_Node0_Channel0_Dimm0    the word, and the letter
 *   CPU0_C0D0        NODE 0                     C and D
 *   CPU1_DIMM_A1     NODE 1                     the letter
 *   A1               Not Specified              nothing: here the letter is a socket
 *   PROC 1 DIMM 7    Not Specified              nothing
 *
 * A reading counts only when it holds for every module and puts no more of them on a channel than
 * there is room for, and when two of them hold they must agree.
 */
#include "base/ascii.h"
#include "machine/ceiling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MOST 3 /* of one channel, on any machine so far */
#define PARTS_MOST 16
#define NO_SOCKET (-1)
#define ALL_SOCKETS (-2)

/* "Node0" of "P0_Node0_Channel0": a word and the number behind it. */
struct part {
	char word[12]; /* in capitals; cut when longer */
	int number;    /* -1: none */
	bool apart;    /* no letter or digit right before it */
};

struct name {
	struct part parts[PARTS_MOST];
	size_t count;
};

enum reading { BY_WORD, BY_LETTER, READINGS };

/* Where one module is. */
struct place {
	uint64_t channel[READINGS]; /* hash of all that tells it; 0: not told */
	int socket;                 /* NO_SOCKET: not told */
	bool by_node;               /* told as a NUMA node, which may be a socket */
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static struct name split(const char *text)
{
	struct name name = {.count = 0};

	for (const char *at = text; *at && name.count < PARTS_MOST;) {
		struct part *p = &name.parts[name.count];
		const char *digits;
		size_t len = 0;

		if (!is_letter(*at)) {
			at++;
			continue;
		}
		p->number = -1;
		p->apart = at == text || (!is_letter(at[-1]) && !unc_is_digit(at[-1]));
		for (; is_letter(*at); at++)
			if (len + 1 < sizeof(p->word))
				p->word[len++] = (char)(*at & ~0x20);
		digits = at + strspn(at, " _-#:");
		for (; unc_is_digit(*digits) && p->number < 100000; at = ++digits)
			p->number = (p->number < 0 ? 0 : p->number) * 10 + (*digits - '0');
		name.count++;
	}
	return name;
}

static bool is_any(const struct part *p, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(p->word, *words) == 0)
			return p->number >= 0;
	return false;
}

/* ---- readings: a channel's number, above 0; or 0 ---- */

static int letter_of(const struct part *p, const char *before)
{
	size_t len = strlen(before);

	if (strncmp(p->word, before, len) != 0 || strlen(p->word) != len + 1)
		return 0;
	return p->word[len] - 'A' + 1;
}

static int by_word(const struct name *name)
{
	for (size_t i = 0; i < name->count; i++) {
		const struct part *p = &name->parts[i];
		const struct part *next = i + 1 < name->count ? p + 1 : NULL;
		bool numbered = p->number >= 0;

		if (numbered && (strcmp(p->word, "CHANNEL") == 0 || strcmp(p->word, "CH") == 0))
			return p->number + 1;
		if (numbered && strcmp(p->word, "C") == 0 && next && strcmp(next->word, "D") == 0)
			return p->number + 1;
		if (letter_of(p, "CHANNEL"))
			return letter_of(p, "CHANNEL");
		if (strcmp(p->word, "CHANNEL") == 0 && next && letter_of(next, ""))
			return letter_of(next, "");
	}
	return 0;
}

/* The letter at the end: "A1", "DIMMA1", "DIMM_A". */
static int by_letter(const struct name *name)
{
	const struct part *last = &name->parts[name->count ? name->count - 1 : 0];

	if (!name->count || !last->apart || by_word(name))
		return 0;
	if (letter_of(last, ""))
		return letter_of(last, "");
	return letter_of(last, letter_of(last, "DIMM") ? "DIMM" : "SODIMM");
}

/* FNV-1a */
static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static const char *const socket_words[] = {"P", "CPU", "PROC", "PROCESSOR", "SOCKET", NULL};
static const char *const node_words[] = {"NODE", "N", NULL};
static const char *const controller_words[] = {"CONTROLLER", "MC", "IMC", NULL};

/* Channel 0 of one controller is not that of another. */
static uint64_t mix_owners(uint64_t hash, const struct name *name)
{
	for (size_t i = 0; i < name->count; i++) {
		const struct part *p = &name->parts[i];

		if (!is_any(p, socket_words) && !is_any(p, node_words) &&
		    !is_any(p, controller_words))
			continue;
		hash = mix(hash, p->word, strlen(p->word) + 1);
		hash = mix(hash, &p->number, sizeof(p->number));
	}
	return hash;
}

static int first_number(const struct name *a, const struct name *b, const char *const *words)
{
	for (size_t i = 0; i < a->count; i++)
		if (is_any(&a->parts[i], words))
			return a->parts[i].number;
	for (size_t i = 0; i < b->count; i++)
		if (is_any(&b->parts[i], words))
			return b->parts[i].number;
	return NO_SOCKET;
}

static struct place place_of(const struct unc_module *m)
{
	struct name locator = split(m->locator), bank = split(m->bank);
	struct place place = {.socket = first_number(&locator, &bank, socket_words)};
	uint64_t owners = mix_owners(mix_owners(0, &locator), &bank);
	int found[READINGS] = {by_word(&locator), by_letter(&locator)};

	if (place.socket == NO_SOCKET) {
		place.socket = first_number(&locator, &bank, node_words);
		place.by_node = true;
	}
	if (!found[BY_WORD])
		found[BY_WORD] = by_word(&bank);
	for (int i = 0; i < READINGS; i++)
		if (found[i])
			place.channel[i] = mix(owners, &found[i], sizeof(found[i])) | 1;
	return place;
}

/* ---- counting ---- */

struct map {
	const struct unc_module *modules;
	struct place *places; /* one for each */
	size_t count;
	size_t present;
	size_t sockets;
	enum reading by;
	bool by_socket; /* each module tells its socket */
};

/* Channels with a module; of all sockets or of one. */
static size_t count_channels(const struct map *map, int socket)
{
	const struct place *p = map->places;
	size_t count = 0;

	for (size_t i = 0; i < map->count; i++) {
		size_t k = 0;

		if (!map->modules[i].present || (socket != ALL_SOCKETS && p[i].socket != socket))
			continue;
		while (k < i &&
		       (!map->modules[k].present || p[k].channel[map->by] != p[i].channel[map->by]))
			k++;
		count += k == i;
	}
	return count;
}

static bool first_of_socket(const struct map *map, size_t i)
{
	size_t k = 0;

	while (k < i &&
	       (!map->modules[k].present || map->places[k].socket != map->places[i].socket))
		k++;
	return k == i && map->modules[i].present;
}

/* Sockets that modules tell of; 0: not every one does. */
static size_t count_sockets(const struct map *map)
{
	const struct place *p = map->places;
	size_t count = 0;

	for (size_t i = 0; i < map->count; i++) {
		if (map->modules[i].present &&
		    (p[i].socket == NO_SOCKET || p[i].by_node != p[0].by_node))
			return 0;
		count += first_of_socket(map, i);
	}
	return p[0].by_node && count != map->sockets ? 0 : count;
}

/* Channels of all sockets by one reading; 0: it does not hold. */
static size_t read_channels(struct map *map, enum reading by, size_t pmus)
{
	const struct place *p = map->places;
	size_t count;

	map->by = by;
	for (size_t i = 0; i < map->count; i++) {
		size_t slots = 0;

		if (!p[i].channel[by] && map->modules[i].present)
			return 0;
		for (size_t k = 0; k < map->count && p[i].channel[by]; k++)
			slots += p[k].channel[by] == p[i].channel[by];
		if (slots > SLOTS_MOST)
			return 0;
	}
	count = count_channels(map, ALL_SOCKETS);
	return pmus && count > pmus * map->sockets ? 0 : count;
}

/* Where the texts tell nothing: a module alone has a channel of its own; and where all channels can
 * have equally many, they do, as vendors demand it. */
static int spread_evenly(struct map *map, size_t pmus, size_t *channels, struct unc_error *e)
{
	const struct unc_module *one = map->modules;

	while (!one->present)
		one++;
	if (map->present == map->sockets)
		*channels = map->present;
	else if (pmus && map->present % (pmus * map->sockets) == 0)
		*channels = pmus * map->sockets;
	else
		return unc_fail(e, ENODATA,
				"it is not told which of the %zu modules share a channel (the "
				"first is at '%s', bank '%s')",
				map->present, one->locator, one->bank);
	for (size_t i = 0; i < map->count; i++)
		map->places[i].channel[map->by] = i + 1;
	return 0;
}

static int find_channels(struct map *map, size_t pmus, size_t *channels, struct unc_error *e)
{
	size_t words = read_channels(map, BY_WORD, pmus);
	size_t letters = read_channels(map, BY_LETTER, pmus);

	if (words && letters && words != letters)
		return unc_fail(e, ENODATA,
				"the modules' names tell of %zu memory channels and of %zu", words,
				letters);
	map->by = words ? BY_WORD : BY_LETTER;
	*channels = words ? words : letters;
	return *channels ? 0 : spread_evenly(map, pmus, channels, e);
}

static bool is_even(const struct map *map)
{
	size_t all = count_channels(map, ALL_SOCKETS);

	for (size_t i = 0; map->by_socket && i < map->count; i++)
		if (first_of_socket(map, i) &&
		    count_channels(map, map->places[i].socket) * map->sockets != all)
			return false;
	return true;
}

/* Channels of one socket. */
static int share_channels(struct map *map, size_t pmus, unsigned *out, struct unc_error *e)
{
	size_t channels = 0, named = count_sockets(map);
	int r;

	if (named && named < map->sockets)
		return unc_fail(e, ENODATA, "only %zu of the %zu sockets have memory modules",
				named, map->sockets);
	map->by_socket = named;
	if (named)
		map->sockets = named; /* one may have no CPU online */
	r = find_channels(map, pmus, &channels, e);
	if (r < 0)
		return r;
	if (channels % map->sockets || !is_even(map))
		return unc_fail(e, ENODATA,
				"the %zu memory channels are not evenly spread over %zu sockets",
				channels, map->sockets);
	*out = (unsigned)(channels / map->sockets);
	return 0;
}

/* ---- what they can move ---- */

/* Bits for error correction are no data, even where firmware counts them in. */
static unsigned data_width(const struct unc_module *m)
{
	return m->width == 72 || m->width == 80 ? 64 : m->width;
}

/* Firmware before SMBIOS 3.2 may tell the clock, of which each cycle has two transfers; no module
 * runs at just half of what it is made for. */
static double transfers(const struct unc_module *m)
{
	double configured = m->configured;

	if (m->rated && configured * 2 > m->rated * 0.99 && configured * 2 < m->rated * 1.01)
		return m->rated;
	return m->configured ? configured : m->rated;
}

static int check_modules(const struct unc_modules *m, struct unc_channels *out, struct unc_error *e)
{
	const struct unc_module *first = NULL;

	for (size_t i = 0; i < m->count; i++) {
		const struct unc_module *one = &m->items[i];

		if (!one->present)
			continue;
		first = first ? first : one;
		if (one->kind != first->kind)
			return unc_fail(e, ENODATA, "the modules are of different kinds (%s, %s)",
					unc_module_kind(first->kind), unc_module_kind(one->kind));
		if (!one->width || data_width(one) != data_width(first))
			return unc_fail(e, ENODATA, "the width of the module at '%s' is %s",
					one->locator,
					one->width ? "another than the others'" : "not told");
		if (transfers(one) <= 0)
			return unc_fail(e, ENODATA, "the speed of the module at '%s' is not told",
					one->locator);
		if (!out->modules++ || transfers(one) < out->transfers)
			out->transfers = transfers(one);
		out->rated = out->rated || !one->configured;
		out->width = data_width(one);
	}
	return first ? 0 : unc_fail(e, ENODATA, "no memory module is told");
}

int unc_modules_channels(const struct unc_modules *m, size_t sockets, size_t pmus,
			 struct unc_channels *out, struct unc_error *e)
{
	struct unc_channels found = {.modules = 0};
	struct map map = {.modules = m->items, .count = m->count, .sockets = sockets};
	int r = check_modules(m, &found, e);

	if (r < 0)
		return r;
	map.present = found.modules;
	map.places = calloc(m->count + 1, sizeof(*map.places));
	if (!map.places)
		return unc_nomem(e);
	for (size_t i = 0; i < m->count; i++)
		map.places[i] = place_of(&m->items[i]);
	r = share_channels(&map, pmus, &found.channels, e);
	free(map.places);
	if (r == 0)
		*out = found;
	return r;
}
