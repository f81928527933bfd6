/* SPDX-License-Identifier: MIT */
/* Symbols of ELF files and of the kernel. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "ibs/symbols.h"

/* A program whose text, at 0x1000 of the file, is loaded at 0x401000. */
struct file {
	Elf64_Ehdr h;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[5];
	char names[32];
	struct {
		Elf64_Nhdr h;
		char name[4];
		unsigned char id[8];
	} note;
};

#define FUNCTION ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define OBJECT ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)

static struct file make_file(void)
{
	return (struct file){
		.h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
		      .e_phoff = offsetof(struct file, segments),
		      .e_phentsize = sizeof(Elf64_Phdr),
		      .e_phnum = 2,
		      .e_shoff = offsetof(struct file, sections),
		      .e_shentsize = sizeof(Elf64_Shdr),
		      .e_shnum = 4},
		.segments = {{.p_type = PT_LOAD,
			      .p_offset = 0x1000,
			      .p_vaddr = 0x401000,
			      .p_filesz = 0x1000},
			     {.p_type = PT_NOTE,
			      .p_offset = offsetof(struct file, note),
			      .p_filesz = sizeof(((struct file *)0)->note)}},
		.sections = {{.sh_type = SHT_NULL},
			     {.sh_type = SHT_SYMTAB,
			      .sh_offset = offsetof(struct file, symbols),
			      .sh_size = 5 * sizeof(Elf64_Sym),
			      .sh_entsize = sizeof(Elf64_Sym),
			      .sh_link = 2},
			     {.sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(struct file, names),
			      .sh_size = 32},
			     {.sh_type = SHT_PROGBITS, .sh_addr = 0x401000, .sh_size = 0x280}},
		.symbols =
			{{.st_name = 1,
			  .st_info = FUNCTION,
			  .st_shndx = 1,
			  .st_value = 0x401100,
			  .st_size = 16},
			 {.st_name = 5,
			  .st_info = FUNCTION,
			  .st_shndx = 1,
			  .st_value = 0x401000,
			  .st_size = 32},
			 {.st_name = 9,
			  .st_info = OBJECT,
			  .st_shndx = 1,
			  .st_value = 0x401040,
			  .st_size = 99},
			 {.st_name = 1, .st_info = FUNCTION, .st_shndx = SHN_UNDEF},
			 {.st_name = 13, .st_info = FUNCTION, .st_shndx = 3, .st_value = 0x401200}},
		.names = "\0two\0one\0dat\0asm",
		.note = {{4, 8, NT_GNU_BUILD_ID}, "GNU", {1, 2, 3, 4, 5, 6, 7, 8}},
	};
}

static int read_bytes(struct unc_symbols *out, const void *bytes, size_t size)
{
	const struct unc_bytes from = {.fd = -1, .bytes = bytes, .size = size};

	return unc_symbols_read(out, &from);
}

static const char *name_at(const struct unc_symbols *s, uint64_t offset)
{
	uint64_t address = 0;
	const struct unc_symbol *found =
		unc_symbols_address(s, offset, &address) ? unc_symbols_find(s, address) : NULL;

	return found ? unc_symbols_name(s, found) : "?";
}

static void symbols_of_a_program(void **state)
{
	const struct file f = make_file();
	struct unc_symbols s = {0};

	(void)state;
	assert_int_equal(read_bytes(&s, &f, sizeof(f)), 0);
	assert_int_equal(s.count, 3);
	assert_string_equal(name_at(&s, 0x1000), "one");
	assert_string_equal(name_at(&s, 0x101f), "one");
	assert_string_equal(name_at(&s, 0x1020), "?");
	assert_string_equal(name_at(&s, 0x1041), "?"); /* data are no functions */
	assert_string_equal(name_at(&s, 0x110f), "two");
	assert_string_equal(name_at(&s, 0x1110), "?");
	/* A function without a size ends with its section. */
	assert_string_equal(name_at(&s, 0x127f), "asm");
	assert_string_equal(name_at(&s, 0x1280), "?");
	assert_string_equal(name_at(&s, 0x2000), "?"); /* not loaded */
	assert_string_equal(name_at(&s, 0xfff), "?");
	assert_int_equal(s.build_id_size, 8);
	assert_int_equal(s.build_id[7], 8);
	unc_symbols_finish(&s);
}

static void functions_without_a_size(void **state)
{
	struct file f = make_file();
	struct unc_symbols s = {0};

	(void)state;
	/* Up to the next one. */
	f.symbols[1].st_size = 0;
	f.symbols[1].st_shndx = 3;
	assert_int_equal(read_bytes(&s, &f, sizeof(f)), 0);
	assert_string_equal(name_at(&s, 0x10ff), "one");
	assert_string_equal(name_at(&s, 0x1100), "two");
	unc_symbols_finish(&s);
	/* Of no section: with its page. */
	f.symbols[4].st_shndx = SHN_ABS;
	assert_int_equal(read_bytes(&s, &f, sizeof(f)), 0);
	assert_string_equal(name_at(&s, 0x1fff), "asm");
	unc_symbols_finish(&s);
	/* A second name with a size is the one that counts. */
	f.symbols[1] = f.symbols[4];
	f.symbols[1].st_name = 5;
	f.symbols[1].st_size = 4;
	assert_int_equal(read_bytes(&s, &f, sizeof(f)), 0);
	assert_string_equal(name_at(&s, 0x1203), "one");
	assert_string_equal(name_at(&s, 0x1204), "?");
	unc_symbols_finish(&s);
}

/* What one file takes is missing for the next one. */
static void files_share_a_limit(void **state)
{
	const struct file f = make_file();
	uint64_t used = 0, one;
	const struct unc_bytes from = {
		.fd = -1, .bytes = (const char *)&f, .size = sizeof(f), .used = &used};
	struct unc_symbols s = {0};

	(void)state;
	assert_int_equal(unc_symbols_read(&s, &from), 0);
	unc_symbols_finish(&s);
	one = used;
	assert_true(one >= sizeof(f.symbols) + sizeof(f.names));
	used = UNC_SYMBOLS_MOST - one;
	assert_int_equal(unc_symbols_read(&s, &from), 0);
	unc_symbols_finish(&s);
	assert_true(used == UNC_SYMBOLS_MOST);
	assert_int_equal(unc_symbols_read(&s, &from), -EFBIG);
	used = UNC_SYMBOLS_MOST - one + 1;
	assert_int_equal(unc_symbols_read(&s, &from), -EFBIG);
	assert_null(s.items);
}

static void files_that_make_no_sense(void **state)
{
	const size_t many_size = sizeof(struct file) + (UNC_SEGMENTS_MOST + 1) * sizeof(Elf64_Phdr);
	struct file f = make_file();
	struct unc_symbols s = {0};
	char *many;

	(void)state;
	for (size_t size = 0; size < sizeof(f); size++) {
		char *cut = malloc(size + !size);

		assert_non_null(cut);
		memcpy(cut, &f, size);
		if (read_bytes(&s, cut, size) == 0)
			unc_symbols_finish(&s);
		else
			assert_null(s.items);
		free(cut);
	}
	/* Every byte of the headers with another value. */
	for (size_t at = 0; at < offsetof(struct file, names); at++) {
		((unsigned char *)&f)[at] ^= 0xff;
		if (read_bytes(&s, &f, sizeof(f)) == 0)
			unc_symbols_finish(&s);
		((unsigned char *)&f)[at] ^= 0xff;
	}
	f.sections[1].sh_size = UINT64_MAX / 2;
	assert_int_equal(read_bytes(&s, &f, sizeof(f)), -EBADMSG);
	/* More parts than any program has: each address would be compared with all of them. */
	many = calloc(1, many_size);
	assert_non_null(many);
	f = make_file();
	f.h.e_phoff = sizeof(f);
	f.h.e_phnum = UNC_SEGMENTS_MOST;
	memcpy(many, &f, sizeof(f));
	for (size_t i = 0; i <= UNC_SEGMENTS_MOST; i++)
		memcpy(many + sizeof(f) + i * sizeof(Elf64_Phdr), f.segments, sizeof(Elf64_Phdr));
	assert_int_equal(read_bytes(&s, many, many_size), 0);
	unc_symbols_finish(&s);
	((struct file *)(void *)many)->h.e_phnum++;
	assert_int_equal(read_bytes(&s, many, many_size), -EBADMSG);
	free(many);
	f = make_file();
	f.h.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(read_bytes(&s, &f, sizeof(f)), -EBADMSG);
	/* Without symbols it is a file like others. */
	f = make_file();
	f.h.e_shnum = 0;
	assert_int_equal(read_bytes(&s, &f, sizeof(f)), 0);
	assert_string_equal(name_at(&s, 0x1000), "?");
	unc_symbols_finish(&s);
}

static const char *kernel_name(const char *text, uint64_t address, char *into, size_t room)
{
	struct unc_symbols s = {0};
	const struct unc_symbol *found;

	assert_int_equal(unc_symbols_kernel(&s, strdup(text), strlen(text)), 0);
	found = unc_symbols_find(&s, address);
	snprintf(into, room, "%s", found ? unc_symbols_name(&s, found) : "?");
	unc_symbols_finish(&s);
	return into;
}

static void symbols_of_the_kernel(void **state)
{
	static const char text[] = "ffffffff81000000 T _text\n"
				   "ffffffff81000200 D data\n"
				   "ffffffff81000100 t next\n"
				   "ffffffff81000800 t end\n"
				   "no line\n\n"
				   "0000000000001000 A nowhere\n"
				   "ffffffffc0008010 t probe2\t[another]\n"
				   "ffffffffc0000000 t probe\t[driver]\n"
				   "ffffffffc0000100 t last\t[driver]";
	char name[64], *zeros = malloc(18);
	struct unc_symbols s = {0};

	(void)state;
	assert_non_null(zeros);
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffff80ffffff), name, 64), "?");
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffff810000ff), name, 64), "_text");
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffff810001ff), name, 64), "next");
	/* Data are no functions. */
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffff81000300), name, 64), "?");
	/* The last one of the kernel, and of a module, ends with its page. */
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffff81000fff), name, 64), "end");
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffff81001000), name, 64), "?");
	assert_string_equal(kernel_name(text, 0x1000, name, 64), "?");
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffffc00000ff), name, 64),
			    "probe [driver]");
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffffc0000fff), name, 64),
			    "last [driver]");
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffffc0001000), name, 64), "?");
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffffc0008fff), name, 64),
			    "probe2 [another]");
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffffc0009000), name, 64), "?");
	assert_string_equal(kernel_name(text, UINT64_C(0xffffffffc0000001), name, 64),
			    "probe [driver]");
	assert_string_equal(kernel_name(text, UINT64_MAX, name, 64), "?");
	/* The kernel hides addresses. */
	assert_string_equal(kernel_name("0000000000000000 T _text\n", UINT64_MAX, name, 64), "?");
	assert_string_equal(kernel_name("", UINT64_MAX, name, 64), "?");
	/* Bytes that are no text: each NUL is not the end of a line. */
	memcpy(zeros, "1 t a\0002 t b\0003 t c", 18);
	assert_int_equal(unc_symbols_kernel(&s, zeros, 17), 0);
	assert_int_equal(s.count, 1);
	unc_symbols_finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_of_a_program),  cmocka_unit_test(functions_without_a_size),
		cmocka_unit_test(files_share_a_limit),   cmocka_unit_test(files_that_make_no_sense),
		cmocka_unit_test(symbols_of_the_kernel),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
