/* SPDX-License-Identifier: MIT */
/* Text: sentences of errors, characters, growing buffers, numbers without the locale; names: lists,
 * patterns, near ones. */
#include "base/text.h"
#include "uncore.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <unistd.h>

#define LONGEST 95 /* longer names are compared by their beginning */
#define OFFERED 3
#define FAR 1000U
#define FIRST_READ 4096 /* what sysfs gives at most, with rare exceptions */

/* ---- errors ---- */

void unc_error_put(struct unc_error *e, bool append, const char *fmt, ...)
{
	char text[sizeof(e->text)] =
		""; /* the arguments may point into the sentence they replace */
	size_t at;
	va_list args;

	if (!e)
		return;
	at = append ? strlen(e->text) : 0;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text) - at, fmt, args);
	va_end(args);
	memcpy(e->text + at, text, strlen(text) + 1);
}

/* glibc before 2.32 has no strerrorname_np(). */
#define E(name) [name] = #name
/* clang-format off */
static const char *const errors[] = {
	[0] = "0", E(EPERM), E(ENOENT), E(ESRCH), E(EINTR), E(EIO), E(ENXIO), E(E2BIG), E(ENOEXEC),
	E(EBADF), E(ECHILD), E(EAGAIN), E(ENOMEM), E(EACCES), E(EFAULT), E(ENOTBLK), E(EBUSY),
	E(EEXIST), E(EXDEV), E(ENODEV), E(ENOTDIR), E(EISDIR), E(EINVAL), E(ENFILE), E(EMFILE),
	E(ENOTTY), E(ETXTBSY), E(EFBIG), E(ENOSPC), E(ESPIPE), E(EROFS), E(EMLINK), E(EPIPE),
	E(EDOM), E(ERANGE), E(EDEADLK), E(ENAMETOOLONG), E(ENOLCK), E(ENOSYS), E(ENOTEMPTY),
	E(ELOOP), E(ENOMSG), E(EIDRM), E(ECHRNG), E(EL2NSYNC), E(EL3HLT), E(EL3RST), E(ELNRNG),
	E(EUNATCH), E(ENOCSI), E(EL2HLT), E(EBADE), E(EBADR), E(EXFULL), E(ENOANO), E(EBADRQC),
	E(EBADSLT), E(EBFONT), E(ENOSTR), E(ENODATA), E(ETIME), E(ENOSR), E(ENONET), E(ENOPKG),
	E(EREMOTE), E(ENOLINK), E(EADV), E(ESRMNT), E(ECOMM), E(EPROTO), E(EMULTIHOP), E(EDOTDOT),
	E(EBADMSG), E(EOVERFLOW), E(ENOTUNIQ), E(EBADFD), E(EREMCHG), E(ELIBACC), E(ELIBBAD),
	E(ELIBSCN), E(ELIBMAX), E(ELIBEXEC), E(EILSEQ), E(ERESTART), E(ESTRPIPE), E(EUSERS),
	E(ENOTSOCK), E(EDESTADDRREQ), E(EMSGSIZE), E(EPROTOTYPE), E(ENOPROTOOPT),
	E(EPROTONOSUPPORT), E(ESOCKTNOSUPPORT), E(EOPNOTSUPP), E(EPFNOSUPPORT), E(EAFNOSUPPORT),
	E(EADDRINUSE), E(EADDRNOTAVAIL), E(ENETDOWN), E(ENETUNREACH), E(ENETRESET), E(ECONNABORTED),
	E(ECONNRESET), E(ENOBUFS), E(EISCONN), E(ENOTCONN), E(ESHUTDOWN), E(ETOOMANYREFS),
	E(ETIMEDOUT), E(ECONNREFUSED), E(EHOSTDOWN), E(EHOSTUNREACH), E(EALREADY), E(EINPROGRESS),
	E(ESTALE), E(EUCLEAN), E(ENOTNAM), E(ENAVAIL), E(EISNAM), E(EREMOTEIO), E(EDQUOT),
	E(ENOMEDIUM), E(EMEDIUMTYPE), E(ECANCELED), E(ENOKEY), E(EKEYEXPIRED), E(EKEYREVOKED),
	E(EKEYREJECTED), E(EOWNERDEAD), E(ENOTRECOVERABLE), E(ERFKILL), E(EHWPOISON),
};
/* clang-format on */
#undef E
#define ERROR_COUNT (sizeof(errors) / sizeof(errors[0]))

static const char *error_name(int err)
{
	return (unsigned)abs(err) < ERROR_COUNT ? errors[abs(err)] : NULL;
}

const char *unc_errno_text(int err)
{
	/* strerror() would translate. */
	locale_t c_locale =
		error_name(err) ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : (locale_t)0;
	const char *text = c_locale ? strerror_l(abs(err), c_locale) : "unknown error";

	if (c_locale)
		freelocale(c_locale);
	return text;
}

const char *unc_errno_name(int err)
{
	const char *name = error_name(err);

	return name ? name : "an unknown error";
}

int unc_errno_number(const char *name)
{
	for (size_t err = 1; err < ERROR_COUNT; err++)
		if (errors[err] && strcmp(errors[err], name) == 0)
			return -(int)err;
	return 0;
}

/* ---- characters, buffers, names, numbers ---- */

bool unc_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

char unc_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int unc_digit_value(char c)
{
	c = unc_lower(c);
	if (unc_is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void *unc_append(void *array, size_t *count, size_t size)
{
	size_t n = *count;
	char *items, *grown;

	memcpy(&items, array, sizeof(items));
	/* The room is the next power of two. */
	if ((n & (n - 1)) == 0) {
		grown = reallocarray(items, n ? 2 * n : 1, size);
		if (!grown)
			return NULL;
		items = grown;
		memcpy(array, &items, sizeof(items));
	}
	*count = n + 1;
	return memset(items + n * size, 0, size);
}

int unc_add(void *array, size_t *count, const void *entry, size_t size)
{
	void *added = unc_append(array, count, size);

	return added ? memcpy(added, entry, size), 0 : -ENOMEM;
}

size_t unc_count_up_to(const void *items, size_t count, size_t size, uint64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t at;

		memcpy(&at, (const char *)items + middle * size, sizeof(at));
		if (at <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void unc_text_add(struct unc_text *t, const char *fmt, ...)
{
	size_t room = t->room ? t->room : 64;
	char *data = t->data;
	va_list args;
	int len;

	if (t->failed)
		return;
	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	while (len >= 0 && room - t->len <= (size_t)len)
		room *= 2;
	if (len >= 0 && room > t->room)
		data = realloc(data, room);
	if (len < 0 || !data) {
		t->failed = true;
		return;
	}
	t->data = data;
	t->room = room;
	va_start(args, fmt);
	vsnprintf(data + t->len, room - t->len, fmt, args);
	va_end(args);
	t->len += (size_t)len;
}

char *unc_text_take(struct unc_text *t)
{
	char *data = NULL;

	if (!t->failed) {
		data = t->data ? t->data : strdup("");
		t->data = NULL;
	}
	unc_text_finish(t);
	return data;
}

void unc_text_finish(struct unc_text *t)
{
	free(t->data);
	*t = (struct unc_text){0};
}

int unc_read_fd(int fd, size_t max, char **out, size_t *out_len)
{
	size_t room = max < FIRST_READ ? max : FIRST_READ, len = 0;
	char *data = malloc(room + 1), *grown = data;
	int err = data ? 0 : -ENOMEM;
	ssize_t n = 1;

	while (!err && n && len < max) {
		if (len == room) {
			room = room * 2 < max ? room * 2 : max;
			grown = realloc(data, room + 1);
		}
		if (!grown) {
			err = -ENOMEM;
			break;
		}
		data = grown;
		n = read(fd, data + len, room - len);
		if (n > 0)
			len += (size_t)n;
		else if (n < 0 && errno != EINTR)
			err = -errno;
	}
	if (err) {
		free(data);
		return err;
	}
	data[len] = '\0';
	*out = data;
	*out_len = len;
	return 0;
}

const char *unc_names_take(struct unc_names *n, char *name)
{
	char **item = name ? unc_append(&n->items, &n->count, sizeof(*item)) : NULL;

	if (!item) {
		free(name);
		return NULL;
	}
	return *item = name;
}

int unc_names_add(struct unc_names *n, const char *name)
{
	return unc_names_take(n, strdup(name)) ? 0 : -ENOMEM;
}

bool unc_names_has(const struct unc_names *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++)
		if (strcmp(n->items[i], name) == 0)
			return true;
	return false;
}

static int compare_items(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

void unc_names_sort(struct unc_names *n)
{
	if (n->count > 1)
		qsort(n->items, n->count, sizeof(*n->items), compare_items);
}

void unc_names_finish(struct unc_names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->items[i]);
	free(n->items);
	*n = (struct unc_names){0};
}

int unc_parse_u64(const char *text, uint64_t *out)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = text + (hex ? 2 : 0);
	size_t n = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
	uint64_t value;

	if (!n || digits[n])
		return -EINVAL;
	errno = 0;
	value = strtoull(digits, NULL, hex ? 16 : 10);
	if (errno)
		return -ERANGE;
	*out = value;
	return 0;
}

int unc_number_after(const char *name, const char *prefix, int most)
{
	size_t len = strlen(prefix);
	uint64_t number;

	if (strncmp(name, prefix, len) != 0 || unc_parse_u64(name + len, &number) < 0 ||
	    number > (uint64_t)most)
		return -1;
	return (int)number;
}

int unc_compare_ints(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

size_t unc_take_digits(const char **text, unsigned base, size_t most, uint64_t *out)
{
	size_t n = 0;

	for (*out = 0; n < most && (unsigned)unc_digit_value(**text) < base; n++)
		*out = *out * base + (unsigned)unc_digit_value(*(*text)++);
	return n;
}

int unc_scan_double(const char *text, const char **end, double *out)
{
	static const char word[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
	locale_t c_locale;
	double value;
	char *after;
	int err;

	/* Neither a sign nor hexadecimal nor inf nor nan, all of which strtod() knows. */
	if (!unc_is_digit(text[*text == '.']) || (text[0] == '0' && unc_lower(text[1]) == 'x'))
		return -EINVAL;
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale)
		return -ENOMEM;
	errno = 0;
	value = strtod_l(text, &after, c_locale);
	err = errno;
	freelocale(c_locale);
	/* 12ab, 1.2.3 and 1e are mistakes, not a number with something after it. */
	if (strspn(after, word))
		return -EINVAL;
	if (err == ERANGE || !isfinite(value))
		return -ERANGE;
	*end = after;
	*out = value;
	return 0;
}

int unc_parse_double(const char *text, double *out)
{
	bool negative = *text == '-';
	const char *end;
	double value;
	int err;

	if (*text == '-' || *text == '+')
		text++;
	err = unc_scan_double(text, &end, &value);
	if (err)
		return err;
	if (*end)
		return -EINVAL;
	*out = negative ? -value : value;
	return 0;
}

int uncore_duration_parse(const char *text, uint64_t plain_ns, uint64_t *ns)
{
	static const char digits[] = "0123456789";
	static const struct {
		const char *unit;
		double ns;
	} units[] = {
		{"ns", 1},  {"us", 1e3},   {"µs", 1e3},   {"ms", 1e6},
		{"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9},
	};
	size_t len = strspn(text, digits), fraction;
	double value, unit = 0;
	char number[40];

	if (text[len] == '.') {
		fraction = strspn(text + len + 1, digits);
		len = fraction ? len + 1 + fraction : 0;
	}
	if (!len)
		return -EINVAL;
	if (len >= sizeof(number))
		return -ERANGE;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(text + len, units[i].unit) == 0)
			unit = units[i].ns;
	if (!text[len])
		unit = (double)plain_ns;
	if (unit == 0)
		return -EDOM;
	memcpy(number, text, len);
	number[len] = '\0';
	if (unc_parse_double(number, &value) < 0 || !(value * unit <= 1e18))
		return -ERANGE;
	*ns = (uint64_t)(value * unit + 0.5);
	return 0;
}

bool unc_take_function(const char **text, char between, uint64_t *out)
{
	uint64_t domain, bus, device, function;

	if (!unc_take_digits(text, 16, 8, &domain) || *(*text)++ != between ||
	    !unc_take_digits(text, 16, 2, &bus) || *(*text)++ != between ||
	    !unc_take_digits(text, 16, 2, &device) || *(*text)++ != '.' ||
	    !unc_take_digits(text, 16, 1, &function) || device > 31 || function > 7)
		return false;
	*out = domain << 16 | bus << 8 | device << 3 | function;
	return true;
}

bool unc_pattern_value(const char *pattern, const char *name, const char *word, uint64_t *value)
{
	while (*pattern) {
		if (*pattern == '{') {
			size_t len = strcspn(++pattern, "}");
			unsigned base = strncmp(pattern, "sbdf}", 5) == 0 ? 16 : 10;
			bool is_function = strncmp(pattern, "pci}", 4) == 0;
			uint64_t number;

			if (!pattern[len] ||
			    !(is_function ? unc_take_function(&name, '_', &number)
					  : unc_take_digits(&name, base, SIZE_MAX, &number) > 0))
				return false;
			if (word && strlen(word) == len && memcmp(pattern, word, len) == 0)
				*value = number;
			pattern += len + 1;
		} else if (*pattern == '*' && !pattern[1]) {
			return true;
		} else if (*pattern++ != *name++) {
			return false;
		}
	}
	return !*name;
}

char *unc_trim(char *text)
{
	size_t len;

	text += strspn(text, UNC_SPACES);
	len = strlen(text);
	while (len && strchr(UNC_SPACES, text[len - 1]))
		len--;
	text[len] = '\0';
	return text;
}

const char *unc_find_value(const char *text, const char *key, size_t *len)
{
	size_t key_len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *at;

		line += *line == '\n';
		at = line + key_len;
		if (strncmp(line, key, key_len) != 0)
			continue;
		at += strspn(at, " \t");
		if (*at != ':' && *at != '=')
			continue;
		at += 1 + strspn(at + 1, " \t");
		*len = strcspn(at, "\n");
		return at;
	}
	return NULL;
}

static bool has_word(const char *text, const char *word, size_t word_len)
{
	for (;;) {
		size_t len;

		text += strspn(text, " \t");
		len = strcspn(text, " \t\n");
		if (!len)
			return false;
		if (len == word_len && memcmp(text, word, len) == 0)
			return true;
		text += len;
	}
}

bool unc_has_word(const char *text, const char *word)
{
	return has_word(text, word, strlen(word));
}

bool unc_has_one_of(const char *text, const char *words)
{
	for (size_t len; *(words += strspn(words, " ")); words += len) {
		len = strcspn(words, " ");
		if (has_word(text, words, len))
			return true;
	}
	return false;
}

/* ---- names near to a mistyped one ---- */

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Copies at most LONGEST characters in lower case and returns their number. */
static size_t fold(char into[LONGEST + 1], const char *name)
{
	size_t len = 0;

	while (len < LONGEST && name[len]) {
		into[len] = unc_lower(name[len]);
		len++;
	}
	into[len] = '\0';
	return len;
}

/* Edits (insert, delete, replace, swap of neighbours) between the names; FAR when they are not
 * similar. */
static unsigned distance(const char *typed, const char *name)
{
	char a[LONGEST + 1], b[LONGEST + 1];
	size_t la = fold(a, typed), lb = fold(b, name);
	unsigned limit = la < 6 ? 1 : (unsigned)la / 3, edits;
	unsigned rows[3][LONGEST + 1]; /* the row being filled and the two before it */

	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *up = rows[(i + 2) % 3];
		const unsigned *upper = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			row[j] = up[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = smaller(row[j], smaller(up[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = smaller(row[j], upper[j - 2] + 1);
		}
	}
	edits = rows[la % 3][lb];
	if (edits <= limit && edits < la)
		return edits;
	/* A part of the name, or the name with something around it, is the least similar. */
	if (la >= 3 && lb >= 3 && (strstr(b, a) || strstr(a, b)))
		return limit + 1;
	return FAR;
}

bool unc_error_suggest(struct unc_error *e, const char *typed, const void *names, size_t stride,
		       size_t count)
{
	struct match {
		const char *name;
		unsigned distance;
	} near[OFFERED + 1]; /* room for one more while it is sorted */
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		const char *const *name = (const void *)((const char *)names + i * stride);
		struct match m = {*name, distance(typed, *name)};
		size_t at = found;
		bool known = false;

		for (size_t k = 0; k < found; k++)
			known = known || strcmp(near[k].name, m.name) == 0;
		if (known || m.distance == FAR)
			continue;
		for (; at; near[at] = near[at - 1], at--)
			if (m.distance > near[at - 1].distance ||
			    (m.distance == near[at - 1].distance &&
			     strverscmp(m.name, near[at - 1].name) >= 0))
				break;
		near[at] = m;
		found += found < OFFERED;
	}
	/* Beside a very similar name the others only distract. */
	while (found > 1 && near[found - 1].distance > near[0].distance + 1)
		found--;
	for (size_t i = 0; i < found; i++)
		unc_error_append(e, "%s%s",
				 i == 0           ? " (did you mean "
				 : i + 1 == found ? " or "
						  : ", ",
				 near[i].name);
	if (found)
		unc_error_append(e, "?)");
	return found;
}

/* ---- patterns: fnmatch() depends on the locale, and on some patterns takes for ever ---- */

/* Moves past one element of the pattern, and returns whether `c` matches it. */
static bool take_element(const char **pattern, char c)
{
	const char *at = *pattern, *member = at + 1, *end;
	bool negated = *member == '!' || *member == '^', found = false;

	member += *at == '[' && negated;
	/* A ']' as the first is a member. Without an end it is no set. */
	end = *at == '[' && *member ? strchr(member + 1, ']') : NULL;
	if (!end) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '?')
			c = *at;
		*pattern = at + 1;
		return *at == c;
	}
	for (; member < end; member++) {
		char first = *member;

		if (member[1] == '-' && member + 2 < end)
			member += 2;
		found = found || (c >= first && c <= *member);
	}
	*pattern = end + 1;
	return found != negated;
}

/* Where in the name the pattern behind a star may match, from here on: at its first character,
 * unless that has a meaning. NULL: nowhere. */
static const char *next_try(const char *pattern, const char *name)
{
	return *pattern && !strchr("*?[\\", *pattern) ? strchr(name, *pattern) : name;
}

/* Only the last star seen ever needs another try. */
bool unc_glob_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *retry = NULL;

	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = name = next_try(star, name);
		} else if (!*name) {
			return !*pattern;
		} else if (!*pattern || !take_element(&pattern, *name++)) {
			if (!star)
				return false;
			pattern = star;
			retry = name = next_try(star, retry + 1);
		}
		if (!name)
			return false;
	}
}

bool unc_globs_match(const char *globs, const char *name)
{
	static const char blanks[] = " \t\n";
	char glob[128];
	size_t len;

	for (const char *at = globs; at && *(at += strspn(at, blanks)); at += len) {
		len = strcspn(at, blanks);
		len = len < sizeof(glob) ? len : sizeof(glob) - 1;
		memcpy(glob, at, len);
		glob[len] = '\0';
		if (unc_glob_matches(glob, name))
			return true;
	}
	return false;
}
