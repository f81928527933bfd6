/* SPDX-License-Identifier: MIT */
/* Symbols of ELF files (System V ABI, "Object files") and of the kernel. Files are not trusted:
 * each length is compared with the size of the file before it is used. */
#define _GNU_SOURCE
#include "ibs/symbols.h"

#include <elf.h>
#include <unistd.h>

#define TABLE_MOST ((uint64_t)256 << 20) /* bytes of a table that is read */
#define NOTES_MOST ((uint64_t)64 << 10)

/* Copies bytes of the file. Returns false if the file is too short. */
static bool take(const struct unc_bytes *from, uint64_t offset, void *into, size_t size)
{
	size_t done = 0;

	if (offset > from->size || size > from->size - offset)
		return false;
	if (from->fd < 0) {
		memcpy(into, from->bytes + offset, size);
		return true;
	}
	while (done < size) {
		ssize_t got =
			pread(from->fd, (char *)into + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* Copies a part of the file into new memory, with a NUL behind it. */
static int take_part(const struct unc_bytes *from, uint64_t offset, uint64_t size, char **out)
{
	char *bytes;

	if (offset > from->size || size > from->size - offset)
		return -EBADMSG;
	if (size > TABLE_MOST)
		return -EFBIG;
	bytes = malloc((size_t)size + 1);
	if (!bytes)
		return -ENOMEM;
	if (!take(from, offset, bytes, (size_t)size)) {
		free(bytes);
		return -EBADMSG;
	}
	bytes[size] = '\0';
	*out = bytes;
	return 0;
}

/* ---- segments and the build id ---- */

/* Each note is three words, a name and a description; the latter two fill whole words. */
static int read_notes(struct unc_symbols *s, const struct unc_bytes *from, const Elf64_Phdr *p)
{
	uint64_t size = p->p_filesz < NOTES_MOST ? p->p_filesz : NOTES_MOST;
	char *notes = NULL;
	int ret = take_part(from, p->p_offset, size, &notes);

	for (uint64_t at = 0; ret == 0 && size - at >= sizeof(Elf64_Nhdr);) {
		Elf64_Nhdr n;
		uint64_t name = at + sizeof(n), text, end;

		memcpy(&n, notes + at, sizeof(n));
		text = name + ((uint64_t)n.n_namesz + 3) / 4 * 4;
		end = text + ((uint64_t)n.n_descsz + 3) / 4 * 4;
		if (end > size)
			break;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    memcmp(notes + name, "GNU", 4) == 0) {
			s->build_id_size =
				n.n_descsz < UNC_BUILD_ID_MOST ? n.n_descsz : UNC_BUILD_ID_MOST;
			memcpy(s->build_id, notes + text, s->build_id_size);
		}
		at = end;
	}
	free(notes);
	return ret;
}

static int read_segments(struct unc_symbols *s, const struct unc_bytes *from, const Elf64_Ehdr *h)
{
	for (unsigned i = 0; i < h->e_phnum; i++) {
		Elf64_Phdr p;
		int ret = 0;

		if (!take(from, h->e_phoff + (uint64_t)i * sizeof(p), &p, sizeof(p)))
			return -EBADMSG;
		if (p.p_type == PT_LOAD)
			ret = UNC_ADD(&s->segments, &s->segment_count,
				      (&(struct unc_segment){p.p_offset, p.p_filesz, p.p_vaddr}));
		else if (p.p_type == PT_NOTE)
			ret = read_notes(s, from, &p);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* ---- symbols ---- */

static int compare_symbols(const void *a, const void *b)
{
	const struct unc_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* If a function has several names, one with a size is found: the first one. */
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->name > y->name ? -1 : x->name < y->name;
}

static void add_symbols(struct unc_symbols *s, const char *table, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym symbol;
		unsigned type;

		memcpy(&symbol, table + i * sizeof(symbol), sizeof(symbol));
		type = ELF64_ST_TYPE(symbol.st_info);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_name >= s->names_size)
			continue;
		s->items[s->count++] =
			(struct unc_symbol){symbol.st_value, symbol.st_size, symbol.st_name};
	}
	qsort(s->items, s->count, sizeof(*s->items), compare_symbols);
}

/* Reads a table of symbols, and the table of its names. */
static int read_table(struct unc_symbols *s, const struct unc_bytes *from, const Elf64_Ehdr *h,
		      const Elf64_Shdr *section)
{
	size_t count = (size_t)(section->sh_size / sizeof(Elf64_Sym));
	char *table = NULL;
	Elf64_Shdr names;
	int ret;

	if (section->sh_entsize != sizeof(Elf64_Sym) || section->sh_link >= h->e_shnum ||
	    !take(from, h->e_shoff + (uint64_t)section->sh_link * sizeof(names), &names,
		  sizeof(names)))
		return -EBADMSG;
	ret = take_part(from, section->sh_offset, section->sh_size, &table);
	if (ret == 0)
		ret = take_part(from, names.sh_offset, names.sh_size, &s->names);
	if (ret == 0) {
		s->names_size = (size_t)names.sh_size;
		s->items = calloc(count + 1, sizeof(*s->items));
		ret = s->items ? 0 : -ENOMEM;
	}
	if (ret == 0)
		add_symbols(s, table, count);
	free(table);
	return ret;
}

static int read_symbols(struct unc_symbols *s, const struct unc_bytes *from, const Elf64_Ehdr *h)
{
	Elf64_Shdr section, best = {.sh_type = SHT_NULL};

	for (unsigned i = 0; i < h->e_shnum; i++) {
		if (!take(from, h->e_shoff + (uint64_t)i * sizeof(section), &section,
			  sizeof(section)))
			return -EBADMSG;
		if (section.sh_type == SHT_SYMTAB ||
		    (section.sh_type == SHT_DYNSYM && best.sh_type == SHT_NULL))
			best = section;
	}
	return best.sh_type == SHT_NULL ? 0 : read_table(s, from, h, &best);
}

int unc_symbols_read(struct unc_symbols *out, const struct unc_bytes *from)
{
	struct unc_symbols s = {0};
	Elf64_Ehdr h;
	int ret = -EBADMSG;

	if (take(from, 0, &h, sizeof(h)) && memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 &&
	    h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_ident[EI_DATA] == ELFDATA2LSB &&
	    (h.e_phnum == 0 || h.e_phentsize == sizeof(Elf64_Phdr)) &&
	    (h.e_shnum == 0 || h.e_shentsize == sizeof(Elf64_Shdr)))
		ret = read_segments(&s, from, &h);
	if (ret == 0)
		ret = read_symbols(&s, from, &h);
	if (ret == 0)
		*out = s;
	else
		unc_symbols_finish(&s);
	return ret;
}

/* A line is "ADDRESS TYPE NAME", with a tab and "[MODULE]" for a module. */
int unc_symbols_kernel(struct unc_symbols *out, char *text, size_t size)
{
	struct unc_symbols s = {.names = text, .names_size = size + 1};
	size_t lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	s.items = size <= UINT32_MAX ? calloc(lines, sizeof(*s.items)) : NULL;
	if (!s.items) {
		free(text);
		return -ENOMEM;
	}
	for (char *line = text, *end; line < text + size; line = end + 1) {
		const char *at = line;
		uint64_t address = 0;
		char type;

		end = memchr(line, '\n', (size_t)(text + size - line));
		end = end ? end : text + size;
		if (!unc_take_digits(&at, 16, 16, &address) || at[0] != ' ' || end - at < 4)
			continue;
		type = unc_lower(at[1]);
		*end = '\0';
		line[strcspn(line, "\t")] = ' '; /* the tab, or the NUL, which is set again */
		*end = '\0';
		if (address && (type == 't' || type == 'w'))
			s.items[s.count++] =
				(struct unc_symbol){address, 0, (uint32_t)(at + 3 - text)};
	}
	qsort(s.items, s.count, sizeof(*s.items), compare_symbols);
	*out = s;
	return 0;
}

void unc_symbols_finish(struct unc_symbols *s)
{
	free(s->items);
	free(s->names);
	free(s->segments);
	*s = (struct unc_symbols){0};
}

bool unc_symbols_address(const struct unc_symbols *s, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < s->segment_count; i++) {
		const struct unc_segment *g = &s->segments[i];

		if (offset >= g->offset && offset - g->offset < g->size) {
			*address = g->address + (offset - g->offset);
			return true;
		}
	}
	return false;
}

const struct unc_symbol *unc_symbols_find(const struct unc_symbols *s, uint64_t address)
{
	size_t low = 0, high = s->count;
	const struct unc_symbol *found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	found = &s->items[low - 1];
	return found->size == 0 || address - found->start < found->size ? found : NULL;
}

const char *unc_symbols_name(const struct unc_symbols *s, const struct unc_symbol *symbol)
{
	return s->names + symbol->name;
}
