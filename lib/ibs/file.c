/* SPDX-License-Identifier: MIT */
/* perf.data: its header, the event that is ibs_op, and where its samples are. */
#include "ibs/ibs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Numbers of the parts behind the data, tools/perf/util/header.h. */
enum { FEATURE_PMUS = 16, FEATURE_COMPRESSED = 27 };

struct section {
	uint64_t offset, size;
};

/* As perf writes it, in the byte order of the machine: that of AMD's. */
struct header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, types;
	uint64_t features[4];
};

/* The part of perf_event_attr that every version has. */
struct attr {
	uint32_t type, size;
	uint64_t config, period, sample_type;
};

struct reader {
	const char *bytes;
	size_t size;
	struct header h;
	struct unc_error *e;
};

static int broken(const struct reader *r, const char *what)
{
	return unc_fail(r->e, EBADMSG, "no recording of perf that can be read: %s", what);
}

/* Copies bytes of the file; false: the file is too short. */
static bool take(const struct reader *r, uint64_t offset, void *into, size_t size)
{
	if (offset > r->size || size > r->size - offset)
		return false;
	memcpy(into, r->bytes + offset, size);
	return true;
}

static bool is_inside(const struct reader *r, const struct section *s)
{
	return s->offset <= r->size && s->size <= r->size - s->offset;
}

/* A part behind the data, of which there is one for each bit that is set. */
static bool find_feature(const struct reader *r, unsigned bit, struct section *out)
{
	uint64_t at = r->h.data.offset + r->h.data.size;

	if (!(r->h.features[0] >> bit & 1))
		return false;
	for (unsigned i = 0; i < bit; i++)
		at += (r->h.features[0] >> i & 1) * sizeof(*out);
	return take(r, at, out, sizeof(*out)) && is_inside(r, out);
}

/* The type number that ibs_op had on that machine. For each PMU: its type, the length of its name, the name. */
static int find_type(const struct reader *r, uint32_t *type)
{
	static const char ibs_op[] = "ibs_op";
	struct section s = {0};
	uint32_t count, number, size;
	uint64_t at;

	if (!find_feature(r, FEATURE_PMUS, &s) || !take(r, s.offset, &count, sizeof(count)))
		return broken(r, "it does not say which PMUs the machine had");
	for (at = s.offset + sizeof(count); count; count--, at += size) {
		if (!take(r, at, &number, sizeof(number)) ||
		    !take(r, at + sizeof(number), &size, sizeof(size)))
			break;
		at += sizeof(number) + sizeof(size);
		if (size > r->size - at)
			break;
		if (size < sizeof(ibs_op) || memcmp(r->bytes + at, ibs_op, sizeof(ibs_op)) != 0)
			continue;
		*type = number;
		return 0;
	}
	return broken(r, "the machine had no PMU ibs_op");
}

/* What stands before the raw data of each sample must be of one size: words, in the order of the bits
 * but for the identifier, which is first. */
static int find_raw(const struct reader *r, uint64_t type, struct unc_ibs_layout *out)
{
	static const uint64_t before_id =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
	static const uint64_t words = before_id | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID |
				      PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;

	if (!(type & PERF_SAMPLE_RAW))
		return broken(r, "its samples have no raw data; record with --raw-samples");
	if (type & (PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN))
		return broken(r, "its samples have call chains or counts; record without -g");
	out->skip = 8 * (size_t)__builtin_popcountll(type & words);
	if (!(type & PERF_SAMPLE_IDENTIFIER))
		out->id_at = 8 * (size_t)__builtin_popcountll(type & before_id);
	if (out->ids && !(type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID)))
		return broken(r, "its samples do not say of which event they are");
	return 0;
}

/* The event of that type, among several. */
static int find_event(const struct reader *r, uint32_t type, struct unc_ibs_file *out)
{
	const struct section *s = &r->h.attrs;
	uint64_t size = r->h.attr_size;
	struct section ids = {0};
	struct attr a = {0};

	if (size < sizeof(a) + sizeof(ids) || !is_inside(r, s) || s->size % size)
		return broken(r, "its list of events makes no sense");
	for (uint64_t at = 0; at < s->size; at += size) {
		take(r, s->offset + at, &a, sizeof(a));
		take(r, s->offset + at + size - sizeof(ids), &ids, sizeof(ids));
		if (a.type != type)
			continue;
		if (!is_inside(r, &ids))
			return broken(r, "its list of events makes no sense");
		if (s->size != size) {
			out->layout.ids = r->bytes + ids.offset;
			out->layout.id_count = ids.size / sizeof(uint64_t);
		}
		return find_raw(r, a.sample_type, &out->layout);
	}
	return broken(r, "none of its events is one of ibs_op");
}

int unc_ibs_file_parse(struct unc_ibs_file *out, const void *bytes, size_t size,
		       struct unc_error *e)
{
	struct reader r = {.bytes = bytes, .size = size, .e = e};
	struct unc_ibs_file f = {0};
	struct section s;
	uint32_t type = 0;
	int ret;

	if (!take(&r, 0, &r.h, sizeof(r.h)) || memcmp(r.h.magic, "PERFILE2", 8) != 0)
		return broken(&r, "its first bytes are not those of perf.data");
	if (!is_inside(&r, &r.h.data) || r.h.data.size == 0)
		return broken(&r, "its data is truncated or empty");
	if (find_feature(&r, FEATURE_COMPRESSED, &s))
		return broken(&r, "it is compressed; record without -z");
	ret = find_type(&r, &type);
	if (ret == 0)
		ret = find_event(&r, type, &f);
	if (ret < 0)
		return ret;
	f.records = r.bytes + r.h.data.offset;
	f.size = r.h.data.size;
	*out = f;
	return 0;
}

int unc_ibs_file_read(struct unc_ibs *into, const char *path, struct unc_error *e)
{
	struct unc_ibs_file f = {0};
	struct unc_error why = {0};
	void *bytes = MAP_FAILED;
	struct stat st = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size == 0))
		ret = unc_fail(&why, EBADMSG, "not a regular file, or empty");
	else if (fd >= 0)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (ret == 0 && bytes == MAP_FAILED)
		ret = unc_fail(&why, errno, "%s", unc_errno_text(errno));
	if (fd >= 0)
		close(fd);
	if (ret == 0)
		ret = unc_ibs_file_parse(&f, bytes, (size_t)st.st_size, &why);
	if (ret == 0)
		ret = unc_ibs_add(into, &f.layout, f.records, f.size, &why);
	if (bytes != MAP_FAILED)
		munmap(bytes, (size_t)st.st_size);
	return ret < 0 ? unc_fail(e, -ret, "%s: %s", path, why.text) : 0;
}
