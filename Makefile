# `make run` shows it at work, `make test` proves it. Every target first installs the Debian packages it needs, when
# they are missing, and says which (tools/need.sh).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
.PHONY: run build test test-tools test-long test-debian fuzz soak bench picture lint install uninstall clean help \
	static tarball deb wheel image sbom packages test-packages

PREFIX ?= /usr/local
DESTDIR ?=
DEBIAN ?= trixie

# With STATIC=1 libcurl, nghttp2, OpenSSL, libpsl, libyaml and SQLite are part of the program, which then runs where they are not.
# It is built in a folder of its own: the two kinds of program do not rebuild each other.
STATIC ?=
export TRANSFER_RUN_STATIC := $(STATIC)
BUILD := .build$(if $(STATIC),/static/program)
export SWIFTPM_BUILD_DIR := $(CURDIR)/$(BUILD)
BINARY := $(BUILD)/release/transfer-run

# Swift is linked statically: the program runs where it is not. A room that imports another without naming it in
# Package.swift does not build.
# Nor is a library looked for beside the program, where anybody might have put one.
# Where the compiler's memory lies at other addresses each time, so do some of its choices: the program of packages is to have
# the same bytes again. (A container may forbid it.)
SAME_ADDRESSES := $(if $(STATIC),$(shell setarch -R true 2>/dev/null && echo setarch -R))
RELEASE := $(if $(STATIC),tools/static_libraries.sh && $(SAME_ADDRESSES) )swift build -c release --static-swift-stdlib --disable-local-rpath \
	--explicit-target-dependency-import-check error

# The headers of the C rooms, and pkg-config, by which SwiftPM finds them.
LIBRARIES := libcurl4-openssl-dev libyaml-dev libsqlite3-dev libssl-dev libidn2-dev libpsl-dev libpcre2-dev \
	zlib1g-dev libbrotli-dev libzstd-dev liblzma-dev libsystemd-dev libxxhash-dev pkg-config

STATIC_TOOLS := binutils dpkg-dev gcc libc6-dev libkrb5-dev make patch perl python3 xz-utils

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## the quickstart of examples/ against a small server on 127.0.0.1
	@tools/need.sh $(LIBRARIES) python3
	@$(RELEASE) --product transfer-run
	@tools/quickstart.sh $(BINARY)

build: ## the release binary, .build/release/transfer-run; STATIC=1: with libcurl, OpenSSL and others in it
	@tools/need.sh $(LIBRARIES) $(if $(STATIC),$(STATIC_TOOLS))
	$(RELEASE) --product transfer-run

test-tools: # what tests need
	@tools/need.sh $(LIBRARIES) binutils strace e2fsprogs tinyproxy-bin microsocks nginx-light socat python3-pyftpdlib python3-pyte git \
		iproute2 dbus-daemon python3-dbusmock jq openssl minisign curl wget aria2

test: test-tools ## every test, with the release binary built first
	@$(RELEASE) --product transfer-run
	@$(RELEASE) --product simulation-check
	@tools/lint.sh --linkage
	@$(BUILD)/release/simulation-check $(if $(TRANSFER_RUN_LONG),400000,20000)
	@$(RELEASE) --product response-fuzz
	@TRANSFER_RUN_BINARY=$(CURDIR)/$(BINARY) $(BUILD)/release/response-fuzz --seconds 30
	@tools/page.sh $(BINARY)
	@TRANSFER_RUN_BINARY=$(CURDIR)/$(BINARY) tools/test.sh

test-long: ## the same with many more rounds of the randomised tests, on a real object store, in Debian 13, and of the packages
	@TRANSFER_RUN_LONG=1 $(MAKE) --no-print-directory test
	@tools/need.sh python3-venv
	@tools/object-store.sh $(BINARY)
	@$(MAKE) --no-print-directory test-debian
	@$(MAKE) --no-print-directory test-packages

test-debian: ## builds in another Debian, runs the quickstart and the tests over a wire there; DEBIAN=trixie
	@tools/other-debian.sh $(DEBIAN)

soak: test-tools ## jobs on a server that misbehaves, with processes that are killed, for ten minutes or SOAK_SECONDS
	@$(RELEASE) --product transfer-run
	@SOAK_SECONDS=$${SOAK_SECONDS:-600} TRANSFER_RUN_BINARY=$(CURDIR)/$(BINARY) tools/test.sh --filter '^BinaryTests\.SoakTests'

fuzz: ## answers that no good server gives, 100,000 or for FUZZ_SECONDS; and what each parser reads, for an hour or FUZZ_SECONDS
	@tools/need.sh $(LIBRARIES)
	@$(RELEASE) --product transfer-run
	@$(RELEASE) --product response-fuzz
	@TRANSFER_RUN_BINARY=$(CURDIR)/$(BINARY) $(BUILD)/release/response-fuzz \
		$(if $(FUZZ_SECONDS),--seconds $(FUZZ_SECONDS),--responses 100000)
	@tools/fuzz.sh $(or $(FUZZ_SECONDS),3600)

bench: ## what a run costs, stage by stage and beside curl (docs/performance.md)
	@tools/need.sh $(LIBRARIES) python3 python3-yaml nginx-light curl wget2 aria2
	@$(RELEASE) --product transfer-run
	@$(RELEASE) --product transfer-run-bench
	@TRANSFER_RUN_BINARY=$(CURDIR)/$(BINARY) tools/bench.sh

picture: ## docs/html-report.png anew, from a recorded report, and docs/terminal.svg, from a run
	@tools/need.sh $(LIBRARIES) python3 chromium python3-pyte
	@$(RELEASE) --product transfer-run
	@tools/page.sh $(BINARY) --picture
	@tools/terminal_picture.py $(BINARY) docs/terminal.svg

lint: ## style, imports, sizes and linkage (tools/lint.sh), the schema, and links of the pages
	@tools/need.sh $(LIBRARIES) python3 python3-yaml python3-jsonschema
	@tools/lint.sh
	@/usr/bin/python3 tools/check_schema.py
	@tools/check_links.py

install: ## the program, manual pages, completions, schemas and units of systemd below $(DESTDIR)$(PREFIX)
	@tools/need.sh $(LIBRARIES) binutils python3 $(if $(STATIC),$(STATIC_TOOLS))
	@$(RELEASE) --product transfer-run
	@tools/package/local.py install $(BINARY) "$(DESTDIR)" "$(PREFIX)"

uninstall: ## what `make install` put there
	@tools/package/local.py uninstall "$(DESTDIR)" "$(PREFIX)"

static: # the program that all packages but Debian's bring
	@$(MAKE) --no-print-directory build STATIC=1
	@tools/need.sh python3 dpkg-dev

tarball: static ## .build/package/transfer-run-VERSION-linux-ARCH.tar.gz: the program with all that belongs to it
	@tools/package/tarball.py

deb: ## .build/package/transfer-run_VERSION-1~debN_ARCH.deb for this Debian; DEBIAN=trixie: for that one
ifeq ($(origin DEBIAN),file)
	@$(MAKE) --no-print-directory build STATIC=
	@tools/need.sh python3 dpkg-dev git
	@tools/package/deb.py
else
	@tools/other-debian.sh --deb $(DEBIAN)
endif

wheel: static ## .build/package/transfer_run-VERSION-py3-none-manylinux….whl: the program for `pip install`
	@tools/package/wheel.py

image: static ## .build/package/transfer-run-VERSION-oci: an OCI image, made without Docker
	@tools/need.sh ca-certificates tzdata
	@tools/package/image.py

sbom: static ## the bill of materials (SPDX) of the program, and NOTICE checked against it
	@tools/package/sbom.py
	@tools/package/sbom.py --check-notice

packages: tarball deb wheel image sbom ## all of them

test-packages: packages ## installs and runs each of them in a clean place
	@tools/package_test.sh

clean: ## everything that was built
	rm -rf .build .bench
