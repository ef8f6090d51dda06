# SPDX-License-Identifier: Apache-2.0
# rankinit: one non-recursive Makefile. `make help` says what there is.
#
# The release binary (plain `make`) is static, built with musl from
# dependencies that `make deps` rebuilds for it. DEBUG=1 and SAN=1 use glibc
# and the packaged libraries; each kind has an object tree of its own.

VERSION := 0.1.0

PREFIX  ?= /usr/local
DESTDIR ?=
B       := build
# One short line for each step; V=1 shows the commands.
Q       := $(if $(V),,@)
say      = $(if $(V),,@echo "  $(1)  $@")
PYTHON  ?= /usr/bin/python3

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
	-Wvla -Wundef -Wpointer-arith -Wwrite-strings -Wcast-qual
BASE_CPPFLAGS := -D_GNU_SOURCE -DRI_VERSION='"$(VERSION)"' -Ilib -Ishim
# The libraries that are linked in, for --version: scanners cannot see them.
ifneq ($(wildcard /etc/alpine-release),)
LIBC_VERSION   = $(shell apk info -e -v musl | sed 's/^musl-//')
LIBCAP_VERSION = $(shell apk info -e -v libcap-static | sed 's/^libcap-static-//')
else
source_version = $(shell sed -n 's/.*$(1)_\(.*\).dsc/\1/p' $(D)/sources 2>/dev/null)
LIBC_VERSION   = $(if $(CROSS),$(call source_version,musl),$(shell \
	dpkg-query -W -f '$${Version}' $(if $(SAN)$(DEBUG),libc6,musl-dev) 2>/dev/null))
LIBCAP_VERSION = $(call source_version,libcap2)
endif
BASE_CFLAGS   := -std=gnu11 $(WARN) -fno-strict-aliasing

# make ARCH=aarch64 (or x86_64) for the other architecture than this machine's: Debian's
# cross compiler and libraries of deps.sh, below build/ARCH.
HOST_ARCH  := $(shell uname -m)
OTHER_ARCH := $(if $(filter x86_64,$(HOST_ARCH)),aarch64,x86_64)
ARCH       := $(HOST_ARCH)
ifneq ($(ARCH),$(HOST_ARCH))
CROSS := $(ARCH)-linux-gnu-
endif
OUT := $(B)$(if $(CROSS),/$(ARCH))
D   := $(B)/deps$(if $(CROSS),/$(ARCH))

# On Alpine gcc itself is musl's.
MUSL_CC := $(if $(wildcard /etc/alpine-release),gcc,$(if $(CROSS),$(D)/bin/)musl-gcc)

ifdef SAN
KIND     := san
CC       := gcc
CFLAGS   ?= -O1 -g -fno-omit-frame-pointer
CFLAGS   += -fsanitize=address,undefined -fno-sanitize-recover=undefined
LDLIBS   := -ljansson -lcap -lsodium
else ifdef DEBUG
KIND     := debug
CC       := gcc
CFLAGS   ?= -O0 -g
LDLIBS   := -ljansson -lcap -lsodium
else
KIND     := release
DEPS     := $(D)/done
CC       := $(MUSL_CC)
# small: what a start costs is the pages that it reads
CFLAGS   ?= -Os
CFLAGS   += -fno-pie -ffunction-sections -fdata-sections -fstack-protector-strong \
	-fno-asynchronous-unwind-tables -ffile-prefix-map=$(CURDIR)=.
LDFLAGS  += -static -no-pie -Wl,--gc-sections -Wl,-z,noexecstack -Wl,--build-id=none
BASE_CPPFLAGS += -I$(D)/include
LDLIBS   := $(D)/lib/libjansson.a $(D)/lib/libcap.a $(D)/lib/libsodium.a
endif

O := $(OUT)/$(KIND)
EXE := $(if $(filter release,$(KIND)),$(OUT)/rankinit,$(O)/rankinit)

LIB_SRC  := $(wildcard lib/*/*.c)
PROBE_SRC := shim/probe/probe.c shim/probe/nvml.c
# every start goes through these: side by side they take a page less
SHIM_RUN := $(wildcard shim/*.c) shim/preflight/preflight.c \
	$(patsubst %,shim/%.c,init/others init/signalling init/restarted \
		init/judged link/roll_call launch/launch)
SHIM_SRC := $(SHIM_RUN) \
	$(filter-out $(SHIM_RUN) $(PROBE_SRC),$(wildcard shim/*/*.c shim/*/*/*.c))
LIB_OBJ  := $(LIB_SRC:%.c=$(O)/%.o)
SHIM_OBJ := $(SHIM_SRC:%.c=$(O)/%.o)
# What no start goes through without waiting for the machine. It is linked behind all else, the
# libraries too: a start needs pages of the program that lie side by side.
LATE  := shim/attempt shim/show shim/simulate shim/tell shim/judging shim/judge/% \
	shim/hang/% shim/check/% shim/link/% shim/launch/exec_failure \
	shim/launch/master shim/system/name_service shim/options/usage shim/play/% shim/probe/% \
	shim/say/% \
	lib/base/account lib/base/mounts lib/from/shape lib/blame/% \
	lib/demand/% lib/hang/% lib/image/% lib/link/% lib/node/% lib/play/% lib/python/% \
	lib/redact/% lib/report/% lib/words/%
EARLY := shim/hang/autopsy shim/hang/course shim/check/wishes shim/link/link shim/link/take_part \
	shim/link/roll_call shim/say/report_file shim/say/json_memory shim/say/state_file \
	shim/say/two_rankinits \
	lib/link/part lib/node/place
# What a start goes through all the same, and is too large to stand before the libraries.
FIRST_OBJ := $(addprefix $(O)/,shim/tell.o lib/redact/token.o lib/redact/secrecy.o \
	lib/redact/redact.o)
LATE_OBJ  := $(filter-out $(EARLY:%=$(O)/%.o), \
	$(filter $(LATE:%=$(O)/%.o),$(SHIM_OBJ) $(LIB_OBJ)))
EARLY_OBJ := $(filter-out $(LATE_OBJ),$(SHIM_OBJ) $(LIB_OBJ))

.DEFAULT_GOAL := all
.PHONY: all
all: $(EXE) ## build build/rankinit (DEBUG=1, SAN=1: build/debug, build/san)

# Packages are installed one set after the other, and then all CPUs compile, whether
# or not somebody thought of -j.
JOBS    = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
COMPILE = +@$(MAKE) --no-print-directory $(JOBS)
# What stands beside such a goal on the command line is made before it: two makes at once would
# write the same files.
.PHONY: compiled
compiled: $(filter all probe actors hosts,$(MAKECMDGOALS))
	$(COMPILE) all

$(B)/deps/done: images/builder/deps.sh
	images/builder/deps.sh build

$(B)/deps/$(OTHER_ARCH)/done: images/builder/deps.sh
	images/builder/deps.sh build cross

$(O)/shim/say/print.o: CPPFLAGS += -DRI_LIBC_VERSION='"$(LIBC_VERSION)"' \
	-DRI_LIBCAP_VERSION='"$(LIBCAP_VERSION)"'

$(O)/%.o: %.c $(DEPS) Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CPPFLAGS) $(CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(O)/librankinit.a: $(LIB_OBJ)
	$(call say,AR)
	$(Q)rm -f $@
	$(Q)$(CROSS)ar rcs $@ $^

$(EXE): $(EARLY_OBJ) $(filter $(LATE_OBJ),$(SHIM_OBJ)) $(O)/librankinit.a
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@.tmp $(EARLY_OBJ) $(LDLIBS) -lc \
		$(FIRST_OBJ) $(filter-out $(EARLY_OBJ) $(FIRST_OBJ),$^) $(LDLIBS)
	$(if $(filter release,$(KIND)),$(Q)$(CROSS)strip $@.tmp)
	@mv $@.tmp $@

-include $(LIB_OBJ:.o=.d) $(SHIM_OBJ:.o=.d)

# Loads the libraries of the image that it runs in, so it is dynamic, linked to
# the distribution's own C library. Of glibc it takes the oldest symbols: see
# shim/probe/probe.c. mpi.h is used where it is found.
.PHONY: probe
probe: deps-probe ## build build/rankinit-probe, which --require=deep runs
	+@$(MAKE) --no-print-directory $(OUT)/rankinit-probe

# Of the other architecture there are glibc's own headers, before those of this one.
ifdef CROSS
PROBE_CPPFLAGS = -idirafter /usr/include
else
PROBE_CPPFLAGS = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I ompi-c 2>/dev/null))
endif
PROBE_LDFLAGS := -Wl,-z,now -s
ifeq ($(wildcard /etc/alpine-release),)
PROBE_LDFLAGS += -Wl,--wrap=__libc_start_main -Wl,--no-as-needed -l:libdl.so.2
endif

$(OUT)/rankinit-probe: $(PROBE_SRC) shim/probe/program.h lib/node/probe_answer.h \
		lib/node/devices.h Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CROSS)gcc -D_GNU_SOURCE -Ilib -Ishim $(PROBE_CPPFLAGS) $(BASE_CFLAGS) -O2 \
		-fstack-protector-strong -ffile-prefix-map=$(CURDIR)=. -o $@ $(PROBE_SRC) \
		$(PROBE_LDFLAGS)

# --- tests -------------------------------------------------------------------
#
# Behaviour tests run the release binary. Unit tests and the fuzzers' corpus
# run with sanitizers (SAN=1 objects), each night the unit tests under valgrind
# (DEBUG=1 objects), too. Every suite ends in "N passed, N failed, N skipped".

T := $(B)/tests
TEST_PROGRAMS := $(patsubst %.c,$(T)/%,$(notdir \
	$(wildcard tests/conformance/*.c tests/bench/*.c tests/box/*.c tests/fault/*.c \
	tests/failures/*.c)))
UNIT_TESTS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
FUZZERS    := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
CFLAGS_TEST := -static -no-pie -O2 -Wall -Wextra -Werror -I$(B)/deps/include

VPATH := tests/conformance:tests/bench:tests/box:tests/fault:tests/failures
$(TEST_PROGRAMS): $(T)/%: %.c $(wildcard tests/bench/*.h) $(B)/deps/done
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(MUSL_CC) $(CFLAGS_TEST) -o $@ $<

# Others look up its symbols, as they do Python's.
$(T)/python_actor: CFLAGS_TEST := -fPIE -pie -Wl,--export-dynamic -O2 -Wall -Wextra -Werror

# Prints what lib/python reads of a process; of the kind that is built.
$(O)/tests/pystack: tests/python/pystack.c $(O)/librankinit.a
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) -o $@ $^ $(LDFLAGS)

# Whom node 0 names for failures of several nodes, in virtual time.
$(O)/tests/spread: tests/unit/spread.c $(O)/librankinit.a
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS)

# Looks at the ranks of several nodes at one moment.
$(O)/tests/joblook: tests/python/joblook.c $(patsubst %,$(O)/shim/%.o, \
		hang/examine hang/look system/helper \
		system/kept_fds system/mask system/own_proc) $(O)/librankinit.a
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS)

# All nodes of a job but one.
$(O)/tests/members: tests/link/members.c $(O)/shim/link/wire.o $(O)/librankinit.a
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS)

# Its judge goes wrong of certain bytes.
WILD := ri_words_read ri_judge_answer
$(O)/tests/rankinit-wild: tests/fault/wild/judge.c $(SHIM_OBJ) $(O)/librankinit.a
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) $(WILD:%=-Wl,--wrap=%) -o $@ $^ \
		$(LDFLAGS) $(LDLIBS)

.PHONY: actors
actors: $(TEST_PROGRAMS) $(O)/tests/pystack $(O)/tests/joblook $(O)/tests/members \
	$(O)/tests/spread $(O)/tests/rankinit-wild

# In the object tree of this build's kind: make SAN=1 unit-programs
$(O)/tests/test_%: tests/unit/test_%.c $(O)/librankinit.a
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) -MMD -MP -o $@ $< $(filter %.o,$^) \
		$(O)/librankinit.a $(LDFLAGS) $(if $(CROSS),-D_UINTPTR_T -L$(D)/lib) -lcmocka $(LDLIBS)

# Running checks, with a table of checks that go wrong.
$(O)/tests/test_runner: $(patsubst %,$(O)/shim/%.o, \
	check/machine check/result check/runner check/wishes system/helper system/kept_fds \
	system/mask system/own_proc)

# Whom a look comes to, by a clock that counts.
$(O)/tests/test_examine: $(patsubst %,$(O)/shim/%.o, \
	hang/examine hang/look system/helper \
	system/kept_fds system/mask system/own_proc)

$(O)/tests/test_helper: $(patsubst %,$(O)/shim/%.o,system/helper system/kept_fds \
	system/mask system/own_proc)

# The reader of the command line is pure enough to be tested like the library.
PURE_SHIM := $(wildcard shim/options/*.c) shim/check/wishes.c

# Golden cases have options, and so have the members of simulated jobs; lists of checks are some.
$(O)/tests/test_golden $(O)/tests/test_options $(O)/tests/test_shape $(O)/tests/test_demand: \
	$(PURE_SHIM:%.c=$(O)/%.o)

$(O)/tests/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(wildcard tests/fuzz/*.h) \
		$(PURE_SHIM:%.c=$(O)/%.o) $(O)/librankinit.a
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(BASE_CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) -o $@ $(filter %.c %.o %.a,$^) $(LDLIBS)

# What PID 1 checks of a judge's answer; the rest of shim is played by the target.
SHIM_judged := shim/init/judged.c
$(O)/tests/fuzz_judged: $(SHIM_judged:%.c=$(O)/%.o)

-include $(UNIT_TESTS:%=$(O)/tests/%.d)

# Recorded machines that are written as one file become folders, and those of golden cases.
HOSTS := $(B)/hosts/done $(B)/golden/done
GROW  := tests/hosts/grow.py tests/hosts/elf.py
$(B)/hosts/done: $(GROW) $(wildcard tests/hosts/*.tree)
	$(call say,HOSTS)
	$(Q)rm -rf $(@D)
	$(Q)$(PYTHON) tests/hosts/grow.py $(@D)
	@touch $@

$(B)/golden/done: $(GROW) $(wildcard tests/golden/*.py tests/golden/*.cases \
		tests/golden/machines/*)
	$(call say,HOSTS)
	$(Q)$(PYTHON) tests/golden/cases.py $(@D)
	@touch $@

# Debian as it is, with two MPIs and rdma-core, for tests of what is said of real
# packages: some hundred megabytes from its mirror, as root.
ROOTS := $(patsubst %,$(B)/roots/%/done,bookworm trixie)
.PHONY: roots
roots: $(ROOTS) ## real Debian roots that tests look into (needs mmdebstrap)

$(B)/roots/%/done:
	$(call say,ROOT)
	$(Q)rm -rf $(@D) && mkdir -p $(@D)
	$(Q)mmdebstrap --quiet --variant=essential --aptopt='APT::Install-Recommends "false"' \
		--include=openmpi-bin,mpich,ibverbs-providers,rdma-core $* $(@D)/root
	@touch $@

# CPythons of other minors and of the other architecture, whose stacks tests read.
.PHONY: pythons
pythons: ## more CPythons that tests look into (needs mmdebstrap; qemu-user-static runs aarch64's)
	$(PYTHON) tests/python/interpreters.py

.PHONY: unit-programs fuzz-programs hosts
hosts: $(HOSTS)
unit-programs: $(UNIT_TESTS:%=$(O)/tests/%) $(HOSTS)
fuzz-programs: $(FUZZERS:%=$(O)/tests/%) $(HOSTS)

.PHONY: check
check: deps-check ## install what is missing, build, run every test that can run here
	$(COMPILE) all probe actors hosts
	$(PYTHON) tests/check.py $(SUITES)

# For the loop of somebody at work: under a minute on two CPUs, the build apart.
.PHONY: quick
quick: ## unit tests, golden cases and lints
	$(COMPILE) all
	$(PYTHON) tests/check.py unit golden lint

# In a root without anything: what was installed or built here does not help.
FRESH_SUITES ?= lint unit golden behaviour checks fault
.PHONY: fresh
fresh: deps-fresh ## make demo and a sample of make check in a Debian 12 made anew, in a clone below /root
	@$(PYTHON) tests/fresh/fresh.py $(FRESH_SUITES)

# CORE=1: of a target that takes long the tests that CORE of tests/kinds.py names.
export CHECK_CORE := $(CORE)
FRAMEWORKS_CORE := torch openmpi mpich impi ray
.PHONY: frameworks
frameworks: deps-frameworks compiled hosts ## install real frameworks in build/frameworks, start every recipe
	+@$(MAKE) --no-print-directory $(O)/tests/joblook
	$(PYTHON) tests/frameworks/environments.py $(if $(CORE),$(FRAMEWORKS_CORE))
	$(PYTHON) tests/check.py frameworks

.PHONY: nightly
nightly: ## what takes too long for each change: hours
	.ci/run nightly

.PHONY: failures
failures: all actors ## play every recorded failure again; is the verdict true? its scores
	$(PYTHON) tests/failures/replay.py --score $(FAILURES_ARGS)
	$(PYTHON) tests/failures/jobs.py

.PHONY: bench
bench: deps-bench compiled actors ## compare with the peers in one run, print ratios
	$(PYTHON) tests/bench/bench.py $(BENCH_ARGS)

.PHONY: demo
demo: deps-demo compiled ## the main job on real processes: seconds, when it is installed and built
	@$(PYTHON) tests/demo/demo.py

.PHONY: lint
lint: compiled ## what a compiler does not see
	tests/lint/run.sh

.PHONY: conformance
conformance: compiled actors ## the 59 cases against every init here; docs/conformance.md
	$(PYTHON) tests/conformance/conform.py --suite --jobs 2 --build $(B) \
		--json $(B)/conformance.json
	$(PYTHON) tests/conformance/report.py $(B)/conformance.json >docs/conformance.md

# A minute of each fuzzer with coverage guidance (clang's libFuzzer).
FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: $(FUZZERS:%=fuzz-%) ## search for new inputs, FUZZ_SECONDS=60 for each parser
fuzz-fuzz_%: tests/fuzz/fuzz_%.c
	@mkdir -p $(B)/fuzz/$*
	clang -g -O1 -fsanitize=fuzzer,address,undefined $(BASE_CPPFLAGS) -std=gnu11 \
		-o $(B)/fuzz/fuzz_$* $< $(PURE_SHIM) $(SHIM_$*) $(LIB_SRC) -ljansson -lsodium
	$(B)/fuzz/fuzz_$* -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 \
		$(B)/fuzz/$* tests/fuzz/corpus/$*

.PHONY: mutants
mutants: hosts ## break conditions of lib/from and lib/model: a test must notice (MUTANTS_ARGS=--all)
	PURE_SHIM="$(PURE_SHIM)" $(PYTHON) tests/mutants.py $(MUTANTS_ARGS)

# --- images ------------------------------------------------------------------
#
# On roots of Debian packages, without a registry. An engine that answers is
# used; as root one is started where none does, and ended.

IMAGES       ?= builder base cuda pytorch tensorflow horovod deepspeed
IMAGE_PREFIX ?= rankinit-
.PHONY: images
images: deps-images compiled ## build the images and run their tests (IMAGES="base pytorch" for some)
	@IMAGE_PREFIX=$(IMAGE_PREFIX) images/engine.sh $(PYTHON) images/build.py --test $(IMAGES)

.PHONY: compose
compose: deps-images deps-compose compiled ## run jobs of several containers, and break some (docker-compose)
	@IMAGE_PREFIX=$(IMAGE_PREFIX) images/engine.sh sh -c \
		'$(PYTHON) images/build.py base pytorch $(if $(CORE),,tensorflow) && $(PYTHON) tests/check.py compose'

# --- releases -----------------------------------------------------------------
#
# For both architectures, from one machine. This one's program is the one that the
# tests run; the other's is made by the same version of the same compiler.

.PHONY: dist
dist: deps-cross compiled probe ## artefacts of a release in build/dist, for both architectures
	$(COMPILE) ARCH=$(OTHER_ARCH) all probe
	@$(PYTHON) dist/make.py $(VERSION) $(B) $(B)/$(OTHER_ARCH)

.PHONY: dist-check
dist-check: deps-dist dist hosts ## test them: what is in them, that they install, the other architecture
	$(COMPILE) actors
	$(if $(CORE),,$(COMPILE) ARCH=$(OTHER_ARCH) unit-programs)
	$(PYTHON) tests/check.py dist

# --- installing, documents ---------------------------------------------------

.PHONY: deps deps-build deps-probe deps-cross deps-dist deps-demo deps-check deps-fresh deps-bench deps-images \
	deps-compose deps-frameworks
deps: $(B)/deps/done ## what the build needs: musl, and jansson, libcap and libsodium built for it
deps-probe deps-cross deps-dist deps-demo deps-check deps-fresh deps-bench deps-images \
		deps-compose deps-frameworks: deps-%:
	@images/builder/deps.sh build $*

.PHONY: docs
docs: compiled ## make the generated documents again
	$(PYTHON) docs/generate.py

.PHONY: install
install: compiled probe ## install below DESTDIR and PREFIX (/usr/local)
	install -D -m 755 $(B)/rankinit $(DESTDIR)$(PREFIX)/bin/rankinit
	install -D -m 755 $(B)/rankinit-probe $(DESTDIR)$(PREFIX)/bin/rankinit-probe
	install -D -m 644 docs/rankinit.8 $(DESTDIR)$(PREFIX)/share/man/man8/rankinit.8
	install -D -m 644 docs/completions/rankinit.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/rankinit

.PHONY: clean
clean: ## remove what was built, but not the dependencies
	find $(B) -mindepth 1 -maxdepth 1 ! -name deps ! -name frameworks -exec rm -rf {} +

.PHONY: help
help: ## print this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 14
