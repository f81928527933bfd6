# SPDX-License-Identifier: MIT
# The front of the build: `make help` lists what there is.
#
# Each target installs what it lacks on Debian (tools/setup; SETUP=: leaves that out), and configures
# its own build directory when that is not there.

PREFIX ?= /usr/local
DESTDIR ?=
SETUP ?= tools/setup

RELEASE := -Dbuildtype=release -Doptimization=2 -Db_sanitize=none -Db_lundef=true -Dtests=disabled

# No Python module, and no serve: libgnutls needs libraries that are not there as archives.
STATIC := $(RELEASE) -Dman=disabled -Dpython=disabled -Dserve=disabled -Dotlp=disabled --prefer-static \
	-Ddefault_library=static -Dc_link_args="-static -s"

.PHONY: all run dev static portable book check test test-slow test-vm nightly nightly-merge nightly-races nightly-vm nightly-portable test-fleet test-image test-page judge clean-room bench lint lint-analyzer format fuzz deb rpm dist release install clean help
.PHONY: setup-build setup-book setup-test setup-bench setup-lint setup-fuzz setup-deb setup-rpm setup-release setup-clean-room

all: build/build.ninja ## optimised build: build/uncore
	@ninja -C build

run: all ## what this machine shows, then a simulated Tegra410
	@build/uncore || [ $$? -ge 3 ] # 3 and 4: nothing to see here, which it has explained
	@echo
	@build/uncore --source sim:t410

dev: build-dev/build.ninja ## development build with ASan and UBSan: build-dev/uncore
	@ninja -C build-dev

static: build-static/build.ninja ## one file for Linux without glibc; without serve, and cannot load NVIDIA's library: build-static/uncore
	@ninja -C build-static uncore

portable: setup-clean-room ## one file for Linux with glibc 2.31 or later: build-portable/uncore; built in a minimal Debian 11; needs root
	@tools/portable

book: setup-book ## the documentation as pages that need no network: build/book/index.html
	@tools/book build/book

check: build-check/build.ninja ## after each edit: unit tests without sanitizers, data files, style: seconds
	@tools/run-tests build-check --suite unit --suite style

test: build-dev/build.ninja ## all tests that need no virtual machine, on the development build
	@tools/run-tests build-dev

test-slow: build-dev/build.ninja ## tests that take long: slow clients, passwords, TLS, all commands on all machines
	@tools/run-tests build-dev --suite slow

test-vm: ## tests against the kernel's own drivers, in virtual machines: build-vm/results.txt; VM='-m skx:2 equal': some of them
	@tests/vm/prepare
	@tests/vm/test $(VM)

test-fleet: all dev ## a real Prometheus over exporters: rates, alerts, dashboard; many clients; the chart with helm from npm; COUNT=200 measures a fleet; needs root
	@tools/setup fleet
	@tests/fleet/clients build-dev/uncore >&2
	@promtool test rules deploy/prometheus/rules-test.yml >&2
	@tests/fleet/alerts build/uncore >&2
	@mkdir -p build/fleet && cp tests/fleet/package*.json build/fleet
	@cd build/fleet && npm ci --silent --legacy-peer-deps --ignore-scripts || rm -rf node_modules
	@tests/fleet/chart build/uncore build/fleet >&2
	@tests/fleet/dashboard build/uncore build/fleet >&2
	@tests/fleet/run build/uncore $(COUNT)

test-image: ## deploy/Containerfile, built and run by buildah from a minimal Debian (SUITE=trixie); ten minutes; needs root
	@tools/setup image
	@tests/fleet/image $(SUITE)

test-page: all book ## the live page of serve, and the book, in Chromium, with axe; SHOTS=DIR keeps pictures; gets packages from npm
	@tools/setup browser
	@mkdir -p build/page && cp tests/web/package*.json build/page
	@if (cd build/page && npm ci --silent); then \
		NODE_PATH=build/page/node_modules node tests/web/page.js build/uncore $(if $(SHOTS),--screenshots $(SHOTS)) && \
		NODE_PATH=build/page/node_modules node tests/web/book.js build/book $(if $(SHOTS),--screenshots $(SHOTS)); \
	else \
		echo "npm gives no packages: the page is not tested" >&2; echo "0 passed, 0 failed, 1 skipped"; [ -z "$(NO_SKIP)" ]; \
	fi

judge: all ## formulas of perf, PCM and LIKWID, and perf's names of events: docs/judges.md; gets Linux's source
	@tests/judge/prepare
	@UNCORE=build/uncore tests/judge/judge.py
	@UNCORE=build/uncore tests/judge/names.py

nightly: ## what takes hours: .ci/run with sanitizers in all tests, analyzer, every virtual machine, a fleet, 10^8 torn readings, judges, clean rooms, the portable command, fuzzing
	@commit=$$(tools/release commit) && \
		UNCORE_SANITIZE=all $(MAKE) -k NO_SKIP=yes FUZZ_SECONDS=600 nightly-merge lint-analyzer test-fleet test-image judge nightly-races nightly-vm clean-room nightly-portable fuzz && \
		tools/release proved "$$commit"

nightly-merge:
	@.ci/run

nightly-races: build-dev/build.ninja
	@tools/run-tests build-dev --suite long

nightly-vm:
	@tests/vm/prepare
	@UNCORE_CLEAN_RUNS=50 tests/vm/test -a -t 5400

nightly-portable: portable
	@tests/portable build-portable/uncore

clean-room: setup-clean-room ## `make run` and `make test` in a minimal Debian 12 and 13 (SUITE=bookworm: one); needs root
	@tools/clean-room $(SUITE)

bench: setup-bench all ## measures against perf and bare system calls: build/bench.json
	@ninja -C build bench-read bench-regs
	@bench/run build

lint: setup-lint build-dev/build.ninja ## format, clang-tidy, cppcheck, shellcheck, codespell, layers, licence lines, words
	@ninja -C build-dev tests/abi/printers.h # generated, and included by a test
	@tools/lint build-dev

lint-analyzer: setup-lint build-dev/build.ninja ## clang's analyzer: ten minutes
	@ninja -C build-dev tests/abi/printers.h
	@tools/lint build-dev analyzer

format: setup-lint ## puts all C sources into the project's format
	git ls-files include lib cli bench tests/unit tests/fuzz | grep '\.[ch]$$' | xargs clang-format -i

fuzz: build-fuzz/build.ninja ## each fuzz target for FUZZ_SECONDS (60); FUZZ_MERGE=1 keeps new inputs
	@ninja -C build-fuzz fuzzers
	@tools/fuzz build-fuzz

deb: setup-deb ## Debian packages of the committed tree, checked by lintian: build-packages/
	@tools/package deb

rpm: setup-rpm ## likewise RPM packages with Fedora's names
	@tools/package rpm

dist: ## the tarball of the committed tree: build-packages/uncore-VERSION.tar.xz
	@tools/package tar.xz

release: setup-release setup-clean-room ## all files of a release, made twice where bits must be equal: build-release/; NIGHTLY=skip: a dry run; needs root
	@NIGHTLY=$(NIGHTLY) tools/release

install: all ## into DESTDIR and PREFIX (/usr/local)
	@meson configure build -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C build
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig

clean: ## removes every build directory
	rm -rf build build-*/

help: ## this
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

build/build.ninja: | setup-build
	meson setup build --prefix=$(PREFIX) $(RELEASE)

build-dev/build.ninja: | setup-test
	meson setup build-dev -Dtests=enabled

# Neither sanitizers, nor what a debugger needs: quick to compile and to link.
build-check/build.ninja: | setup-test
	meson setup build-check -Dbuildtype=plain -Doptimization=0 -Db_sanitize=none -Db_lundef=true -Dtests=enabled -Dman=disabled

build-static/build.ninja: | setup-build
	meson setup build-static $(STATIC)

build-fuzz/build.ninja: | setup-fuzz
	CC=clang meson setup build-fuzz -Dfuzz=true -Dtests=disabled -Dman=disabled

setup-build setup-book setup-test setup-bench setup-lint setup-fuzz setup-deb setup-rpm setup-release setup-clean-room: setup-%:
	@$(SETUP) $*
