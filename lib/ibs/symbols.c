/* SPDX-License-Identifier: MIT */
/* Symbols of ELF files (System V ABI, "Object files") and of the kernel. Files are not trusted:
 * each length is compared with the size of the file before it is used. */
#define _GNU_SOURCE
#include "ibs/symbols.h"

#include <elf.h>
#include <unistd.h>

#define SEGMENTS_BYTES 65536 /* the kernel runs no program with a larger table of segments */
#define NOTES_MOST ((uint64_t)64 << 10)
#define PAGE_BYTES 4096

/* Flags of a symbol. */
#define NO_SIZE 1u     /* its size is the most that it can have, until the next symbol is known */
#define NO_FUNCTION 2u /* only ends the one before it */

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

/* Takes bytes from the limit for all files. */
static int charge(const struct unc_bytes *from, uint64_t size)
{
	uint64_t used = from->used ? *from->used : 0;

	if (size > UNC_SYMBOLS_MOST || used > UNC_SYMBOLS_MOST - size)
		return -EFBIG;
	if (from->used)
		*from->used += size;
	return 0;
}

/* Copies a part of the file into new memory, with a NUL behind it. */
static int take_part(const struct unc_bytes *from, uint64_t offset, uint64_t size, char **out)
{
	char *bytes;

	if (offset > from->size || size > from->size - offset)
		return -EBADMSG;
	if (charge(from, size) < 0)
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
	char *table = NULL;
	int ret = h->e_phnum > SEGMENTS_BYTES / sizeof(Elf64_Phdr) ? -EBADMSG : 0;

	if (ret == 0 && h->e_phnum)
		ret = take_part(from, h->e_phoff, h->e_phnum * sizeof(Elf64_Phdr), &table);
	for (unsigned i = 0; ret == 0 && i < h->e_phnum; i++) {
		Elf64_Phdr p;

		memcpy(&p, table + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD && s->segment_count == UNC_SEGMENTS_MOST)
			ret = -EBADMSG;
		else if (p.p_type == PT_LOAD)
			ret = UNC_ADD(&s->segments, &s->segment_count,
				      (&(struct unc_segment){p.p_offset, p.p_filesz, p.p_vaddr}));
		else if (p.p_type == PT_NOTE && !s->build_id_size)
			ret = read_notes(s, from, &p);
	}
	free(table);
	return ret;
}

/* ---- symbols ---- */

static int compare_symbols(const void *a, const void *b)
{
	const struct unc_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* If a function has several names, one with a size is found: the first one. */
	if ((x->flags & NO_SIZE) != (y->flags & NO_SIZE))
		return x->flags & NO_SIZE ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->name > y->name ? -1 : x->name < y->name;
}

/* Ends symbols without a size where the next one begins. */
static void sort_symbols(struct unc_symbols *s)
{
	uint64_t next = UINT64_MAX;

	qsort(s->items, s->count, sizeof(*s->items), compare_symbols);
	for (size_t i = s->count; i--;) {
		struct unc_symbol *one = &s->items[i];

		if (i + 1 < s->count && one[1].start != one->start)
			next = one[1].start;
		if (one->flags & NO_SIZE && one->size > next - one->start)
			one->size = next - one->start;
	}
}

/* The sections of a file. */
struct sections {
	const char *bytes;
	size_t count;
};

static bool section_at(const struct sections *all, size_t i, Elf64_Shdr *out)
{
	if (i >= all->count)
		return false;
	memcpy(out, all->bytes + i * sizeof(*out), sizeof(*out));
	return true;
}

/* The bytes from a function to the end of its section; without one, to the end of its page. */
static uint64_t longest(const struct sections *all, const Elf64_Sym *symbol)
{
	uint64_t at = symbol->st_value;
	Elf64_Shdr s;

	if (section_at(all, symbol->st_shndx, &s) && at >= s.sh_addr && at - s.sh_addr < s.sh_size)
		return s.sh_size - (at - s.sh_addr);
	return PAGE_BYTES - at % PAGE_BYTES;
}

static void add_symbols(struct unc_symbols *s, const struct sections *all, const char *table,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym symbol;
		struct unc_symbol *added = &s->items[s->count];
		unsigned type;

		memcpy(&symbol, table + i * sizeof(symbol), sizeof(symbol));
		type = ELF64_ST_TYPE(symbol.st_info);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_name >= s->names_size)
			continue;
		*added = (struct unc_symbol){symbol.st_value, symbol.st_size, symbol.st_name, 0};
		if (symbol.st_size == 0) {
			added->size = longest(all, &symbol);
			added->flags = NO_SIZE;
		}
		s->count++;
	}
	sort_symbols(s);
}

/* Reads a table of symbols, and the table of its names. */
static int read_table(struct unc_symbols *s, const struct unc_bytes *from,
		      const struct sections *all, const Elf64_Shdr *section)
{
	size_t count = (size_t)(section->sh_size / sizeof(Elf64_Sym));
	char *table = NULL;
	Elf64_Shdr names;
	int ret;

	if (section->sh_entsize != sizeof(Elf64_Sym) || !section_at(all, section->sh_link, &names))
		return -EBADMSG;
	ret = take_part(from, section->sh_offset, section->sh_size, &table);
	if (ret == 0)
		ret = take_part(from, names.sh_offset, names.sh_size, &s->names);
	if (ret == 0)
		ret = charge(from, count * sizeof(*s->items));
	if (ret == 0) {
		s->names_size = (size_t)names.sh_size;
		s->items = calloc(count + 1, sizeof(*s->items));
		ret = s->items ? 0 : -ENOMEM;
	}
	if (ret == 0)
		add_symbols(s, all, table, count);
	free(table);
	return ret;
}

static int read_symbols(struct unc_symbols *s, const struct unc_bytes *from, const Elf64_Ehdr *h)
{
	Elf64_Shdr section, best = {.sh_type = SHT_NULL};
	struct sections all = {.count = h->e_shnum};
	char *bytes = NULL;
	int ret =
		h->e_shnum ? take_part(from, h->e_shoff, h->e_shnum * sizeof(section), &bytes) : 0;

	all.bytes = bytes;
	for (size_t i = 0; ret == 0 && section_at(&all, i, &section); i++)
		if (section.sh_type == SHT_SYMTAB ||
		    (section.sh_type == SHT_DYNSYM && best.sh_type == SHT_NULL))
			best = section;
	if (ret == 0 && best.sh_type != SHT_NULL)
		ret = read_table(s, from, &all, &best);
	free(bytes);
	return ret;
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

/* ---- the kernel ---- */

/* "[MODULE]" at the end of a name; "": the kernel itself. */
static const char *module_of(const struct unc_symbols *s, const struct unc_symbol *symbol)
{
	const char *found = strchr(s->names + symbol->name, '[');

	return found ? found : "";
}

/* Between the kernel and its modules is nothing that belongs to the last function before. */
static void bound_kernel(struct unc_symbols *s)
{
	size_t kept = 0;

	sort_symbols(s);
	for (size_t i = 0, next = 0; i < s->count; i++) {
		struct unc_symbol *one = &s->items[i];
		uint64_t page = PAGE_BYTES - one->start % PAGE_BYTES;

		while (next < s->count && s->items[next].start == one->start)
			next++;
		if (one->size > page &&
		    (next == s->count ||
		     strcmp(module_of(s, one), module_of(s, &s->items[next])) != 0))
			one->size = page;
	}
	for (size_t i = 0; i < s->count; i++)
		if (!(s->items[i].flags & NO_FUNCTION))
			s->items[kept++] = s->items[i];
	s->count = kept;
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
		if (address && type != 'a') /* not one of no place (absolute) */
			s.items[s.count++] = (struct unc_symbol){
				address, UINT64_MAX, (uint32_t)(at + 3 - text),
				NO_SIZE | (type == 't' || type == 'w' ? 0 : NO_FUNCTION)};
	}
	bound_kernel(&s);
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
	size_t count = unc_count_up_to(s->items, s->count, sizeof(*s->items), address);
	const struct unc_symbol *found;

	if (count == 0)
		return NULL;
	found = &s->items[count - 1];
	return address - found->start < found->size ? found : NULL;
}

const char *unc_symbols_name(const struct unc_symbols *s, const struct unc_symbol *symbol)
{
	return s->names + symbol->name;
}
