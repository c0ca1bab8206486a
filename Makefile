# Builds sfd, libsfclient, the tools, examples and tests, all below $(BUILD).
#
#   make            build everything but the tests
#   make demo       watch a parallel solver work; MATRIX=FILE.mtx gives it a matrix, DEMO_ARGS further arguments, NODES=2
#                   spreads it over two daemons, neighbouring ranks on different ones
#   make check      build and run the tests; TESTS="build/tests/unit/test_x ..." runs some of them
#   make check-all  all tests, those too that take long, with random input, and with each sanitizer
#   make check-gpu  the tests of device memory on the CUDA driver and device that are here, figures, and the tests again
#                   under compute-sanitizer if it is there; PARTS="tests results sanitizer": some of these
#   make gpu-bundle     what that needs, for another machine with a driver, in one archive: gpu-bundle/run there
#   make check-gpu-dry  the same, as far as it goes, on a stand-in for the driver
#   make asan tsan  tests under the address and undefined-behaviour, or the thread sanitizer; LEVEL=all: all of them
#   make bench      measure, and compare with the targets
#   make bench-counters  what counters cost: instructions (by valgrind, if there) and time beside a build without them
#   make fuzz       fuzz with clang's libFuzzer, FUZZ_SECONDS for each target
#   make lint       layout, sizes, include directions, headers, scripts
#   make examples   build docs/examples and run them; EXAMPLES="product migrate" runs some of them
#   make docs       the API reference, from the public headers; what is not documented there is an error
#   make pictures   make those of sfctl that the documents show: docs/pictures
#   make install uninstall    with PREFIX, LIBDIR (where a distribution keeps libraries elsewhere) and DESTDIR
#   make deps       install the Debian packages that are missing (demo and check do it by themselves)
#   make clean
#
# Variables: CC, CFLAGS, LDFLAGS, MPICC (make MPICC=mpicc.mpich), BUILD, PREFIX, LIBDIR, DESTDIR; V=1 shows whole commands.
# Sources are found by wildcards: a new file needs no line here.

.DELETE_ON_ERROR:
.SECONDARY:
.SECONDEXPANSION:
.DEFAULT_GOAL := all

# ---- What to build with ----

BUILD = build
PREFIX = /usr/local
LIBDIR = $(PREFIX)/lib
own_cflags := $(filter-out undefined file,$(origin CFLAGS))# what compilers warn of depends on how they optimise
CFLAGS ?= -O2 -g
MPICC ?= $(if $(shell command -v mpicc.openmpi),mpicc.openmpi,mpicc)
MPIRUN := $(shell command -v $(subst mpicc,mpirun,$(MPICC)))
FUZZ_SECONDS = 60
ifeq ($(origin CC),default)
CC = gcc
endif
CCACHE := $(shell command -v ccache)# debug information names no folder, so that clones share what was compiled

VERSION := $(shell sed -n 's/^.define SF_VERSION_[A-Z]* //p' client/include/sf/sf.h | paste -sd.)
SOVERSION := $(firstword $(subst ., ,$(VERSION)))

# A variant is a build directory of its own and this list of sanitizers: make asan, tsan, fuzz. It has no MPI parts,
# because the MPI library's own reports would hide ours, but what MPI programs preload.
SANITIZE =
fuzzing := $(findstring fuzzer,$(SANITIZE))
with_mpi := $(if $(SANITIZE),,yes)

# Flags of own code; those of the user come behind them.
PREPROCESS = -D_GNU_SOURCE -I. -I$(BUILD) -Ishm/include -Iclient/include -Idocs/examples
WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wconversion $(if $(SANITIZE)$(own_cflags),,-Werror)
LANGUAGE = -std=gnu11 -ffile-prefix-map=$(CURDIR)=. -fPIC -fno-semantic-interposition -ffp-contract=off -pthread
INSTRUMENT = $(if $(SANITIZE),-fsanitize=$(SANITIZE:fuzzer%=fuzzer-no-link%) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer)
COMPILE_FLAGS = $(PREPROCESS) $(PACKAGE_CFLAGS) $(LANGUAGE) $(WARNINGS) $(CFLAGS) $(INSTRUMENT)
LINK_FLAGS = -pthread -Wl,--as-needed $(CFLAGS) $(INSTRUMENT) $(LDFLAGS)

# The library passes on where the application makes things, and is no place itself.
$(BUILD)/obj/client/%.o: PREPROCESS += -DSF_NO_PLACES

# ---- What it builds upon ----

PACKAGES = libuv libprotobuf-c libsystemd libsodium
# Of sfctl top.
SCREEN_LIBS := $(shell pkg-config --libs ncursesw 2>/dev/null)
# Of sfctl topo; without it that shows devices only.
HWLOC_LIBS := $(shell pkg-config --libs hwloc 2>/dev/null)
# By which daemons may prove to each other that they belong, instead of by a key file.
MUNGE_LIBS := $(shell pkg-config --libs munge 2>/dev/null)
CHECK_LIBS := $(shell pkg-config --libs check 2>/dev/null)
PACKAGE_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) check 2>/dev/null)
DAEMON_LIBS := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null)
UV_LIBS := $(shell pkg-config --libs libuv 2>/dev/null)
CLIENT_LIBS := $(shell pkg-config --libs libprotobuf-c 2>/dev/null) -lm

# Debian's PETSc is built with Open MPI. Its headers are system headers: their warnings are not ours.
ifeq ($(findstring Open MPI,$(shell $(MPICC) --showme:version 2>&1)),)
without_petsc := $(MPICC) is not the Open MPI that it needs
else
petsc_path := $(lastword $(sort $(dir $(wildcard /usr/lib/petscdir/petsc?.*/*-real/lib/pkgconfig/petsc.pc))))
petsc := PKG_CONFIG_PATH=$(petsc_path):$(PKG_CONFIG_PATH) pkg-config
PETSC_LIBS := $(shell $(petsc) --libs petsc 2>/dev/null)
PETSC_CFLAGS := $(if $(PETSC_LIBS),-DSFPERF_WITH_PETSC \
	$(patsubst -I%,-isystem %,$(shell $(petsc) --cflags-only-I petsc)))
without_petsc := $(if $(PETSC_LIBS),,petsc-dev is not installed)
# Its private headers, with what a type of star forest is made of.
petsc_sfimpl := $(firstword $(wildcard $(patsubst %,%/petsc/private/sfimpl.h,$(filter-out -isystem,$(PETSC_CFLAGS)))))
endif

# CUDA: the plugin must build where nvcc is. No driver or device is needed for that.
CUDA_HOME ?= /usr/local/cuda
NVCC := $(or $(wildcard $(CUDA_HOME)/bin/nvcc),$(shell command -v nvcc))
cuda_root := $(patsubst %/bin/,%,$(dir $(NVCC)))
CUDA_CFLAGS := $(if $(NVCC),-isystem $(cuda_root)/include)
CUDA_LIBS := -L$(firstword $(wildcard $(cuda_root)/lib64/stubs $(cuda_root)/lib/stubs)) -lcuda
CUDA_ARCHITECTURES := -gencode arch=compute_75,code=[sm_75,compute_75] -gencode arch=compute_80,code=sm_80 \
	-gencode arch=compute_90,code=sm_90

# ---- Sources, and what is made of them ----

find_sources = $(sort $(if $(wildcard $(1)),$(shell find $(1) -name '*.c')))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
programs = $(patsubst %.c,$(BUILD)/%,$(1))
with_mpi_only = $(if $(with_mpi),$(1))
without_main = $(filter-out %/main.o,$(1))

control_protocol := sf_control sf_tools
generated := $(control_protocol:%=$(BUILD)/proto/%.pb-c.h) $(BUILD)/proto/sf_peer.pb-c.h
shared_objects := $(call objects,$(filter-out shm/cuda/% shm/trunk/merge/%,$(call find_sources,shm)) $(wildcard proto/*.c)) \
	$(control_protocol:%=$(BUILD)/obj/proto/%.pb-c.o)
# Not of the client: what tools and the daemon plan with.
merge_objects := $(call objects,$(wildcard shm/trunk/merge/*.c))
report_objects := $(call objects,$(call find_sources,proto/report))
client_objects := $(shared_objects) $(call objects,$(filter-out client/adapters/%,$(call find_sources,client)))
adapter_objects := $(call with_mpi_only,$(call objects,$(wildcard client/adapters/mpi/*.c)))
# What PETSc loads: where PETSc and its private headers are.
petsc_objects := $(if $(petsc_sfimpl),$(call with_mpi_only,$(call objects,$(wildcard client/adapters/petsc/*.c))))
petsc_test_objects := $(if $(petsc_objects),$(call objects,$(wildcard tests/petsc/*.c)))
petsc_bench_objects := $(if $(petsc_objects),$(call objects,tests/bench/petsc.c tests/bench/solves.c))
plugin_sources := $(wildcard daemon/net/fabric/mpi/*.c)
munge_sources := $(wildcard daemon/net/fabric/munge/*.c)
daemon_objects := $(call objects,$(filter-out $(plugin_sources) $(munge_sources),$(call find_sources,daemon))) $(report_objects) \
	$(merge_objects) $(BUILD)/obj/proto/sf_peer.pb-c.o
# The mpi fabric is a library that sfd loads when it is told to: sfd itself is built, and runs, without MPI.
plugin_objects := $(call with_mpi_only,$(call objects,$(plugin_sources)))
munge_objects := $(if $(MUNGE_LIBS),$(call objects,$(munge_sources)))
# Beside the plugin for CUDA devices, built where that is.
async_cg := $(if $(NVCC),$(BUILD)/examples/async_cg)
async_cg_objects := $(if $(NVCC),$(call objects,$(wildcard docs/examples/cuda/*.c)))
# So is what works on memory of CUDA devices.
cuda_objects := $(if $(NVCC),$(call objects,$(wildcard shm/cuda/*.c)))
tool_objects := $(call objects,$(call find_sources,tools/common))
sfctl_objects := $(call objects,$(call find_sources,tools/sfctl)) $(tool_objects) $(report_objects) $(merge_objects)
sfrun_objects := $(call objects,$(call find_sources,tools/sfrun)) $(tool_objects) $(report_objects)
# By which sfctl doctor finds sfd and MPI as sfrun does.
sfrun_objects_of_sfctl := $(call objects,$(patsubst %,tools/sfrun/%.c,process/capture mpi/cpus mpi/mpi mpi/mpirun_options \
	mpi/neighbors process/process sfd_command process/signals))
sfperf_objects := $(call with_mpi_only,$(call objects,$(call find_sources,tools/sfperf)))
petsc_example_sources := $(if $(petsc_objects),$(wildcard docs/examples/petsc_*.c))
example_sources := $(call with_mpi_only,$(filter-out docs/examples/petsc_%,$(wildcard docs/examples/*.c)) \
	$(petsc_example_sources))
example_common := $(call with_mpi_only,$(call objects,$(wildcard docs/examples/common/*.c)))
mpi_test_sources := $(call with_mpi_only,$(wildcard tests/mpi/*.c))
mpi_test_common := $(call with_mpi_only,$(call objects,$(wildcard tests/mpi/common/*.c)))
# Tests of parts of MPI programs need MPI as these do.
mpi_part_test_sources := $(wildcard tests/unit/tools/test_sfperf_*.c \
	$(patsubst docs/examples/common/%,tests/unit/tools/test_%,$(wildcard docs/examples/common/*.c)))
test_sources := $(filter-out $(if $(with_mpi),,$(mpi_part_test_sources)),\
	$(wildcard tests/unit/*/test_*.c tests/system/*/test_*.c))
fuzz_sources := $(wildcard tests/fuzz/fuzz_*.c)
# What the tests of one folder share.
help_objects_of = $(call objects,$(filter-out $(wildcard tests/$(1)/*/test_*.c),$(call find_sources,tests/$(1))))

# A program is left out while it has no main.
program_if = $(if $(filter %/main.o,$(2)),$(BUILD)/$(1))
native_tools := $(call program_if,sfd,$(daemon_objects)) $(call program_if,sfctl,$(sfctl_objects)) \
	$(call program_if,sfrun,$(sfrun_objects))
sfperf := $(call program_if,sfperf,$(sfperf_objects))
tools := $(native_tools) $(sfperf)
examples := $(patsubst docs/examples/%.c,$(BUILD)/examples/%,$(example_sources))
tests := $(call programs,$(test_sources))
mpi_tests := $(call programs,$(mpi_test_sources))
fuzzers := $(call programs,$(fuzz_sources))
mpi_part_tests := $(call with_mpi_only,$(call programs,$(mpi_part_test_sources)))
petsc_tests := $(if $(petsc_test_objects),$(BUILD)/tests/petsc/cases)
petsc_bench := $(if $(petsc_bench_objects),$(BUILD)/sfbench-petsc)
# Operations, for valgrind to count their instructions.
operations_bench := $(BUILD)/sfbench-operations
petsc_examples := $(patsubst docs/examples/%.c,$(BUILD)/examples/%,$(petsc_example_sources))
mpi_programs := $(sfperf) $(examples) $(mpi_tests) $(mpi_part_tests) $(petsc_tests) $(petsc_bench)

client_library := $(BUILD)/libsfclient.a
adapter_library := $(if $(adapter_objects),$(BUILD)/libsfclient_mpi.a)
mpi_plugin := $(if $(plugin_objects),$(BUILD)/libsfd_mpi.so)
munge_plugin := $(if $(munge_objects),$(BUILD)/libsfd_munge.so)
cuda_plugin := $(if $(cuda_objects),$(BUILD)/libsf_cuda.so)
# A driver without a device, for tests.
fake_cuda := $(if $(cuda_objects),$(BUILD)/tests/cuda/libcuda.so.1)
real_cuda := $(if $(cuda_objects),$(BUILD)/tests/cuda/libsftest_cuda.so)
petsc_library := $(if $(petsc_objects),$(BUILD)/libsfclient_petsc.so)
shared_libraries := $(patsubst %.a,%.so.$(VERSION),$(client_library) $(adapter_library))
include client/adapters/pmpi/pmpi.mk
# For tests: everything that has no main.
daemon_library := $(if $(daemon_objects),$(BUILD)/libsfd.a)
tools_library := $(BUILD)/libsftools.a
help_libraries := $(BUILD)/libsftest-unit.a $(BUILD)/libsftest-system.a $(BUILD)/libsftest-common.a
test_libraries := $(tools_library) $(daemon_library) $(client_library)

.PHONY: all pictures examples demo check check-all check-gpu check-gpu-dry gpu-bundle asan tsan fuzz bench bench-counters lint docs install uninstall deps clean \
	asan-programs tsan-programs test-programs run-tests run-fuzz FORCE

all: $(tools) $(client_library) $(adapter_library) $(shared_libraries) $(mpi_plugin) $(munge_plugin) $(cuda_plugin) $(async_cg) $(petsc_library) \
		$(pmpi_libraries) $(examples)
	@$(if $(munge_plugin),:,echo "note: the tcp fabric does not know MUNGE: libmunge-dev is not installed")
	@$(if $(cuda_plugin),:,echo "note: no support for memory of CUDA devices: nvcc was not found")
	@$(or $(pmpi_note),:)
	@$(if $(and $(sfperf),$(ga_missing)),echo "note: sfperf does without Global Arrays: there is no $(firstword $(ga_missing))",:)
	@$(if $(and $(sfperf),$(without_petsc)),echo "note: the adapter for PETSc is left out and sfperf does without: $(without_petsc)",:)

examples: deps
	@$(SUBMAKE) all
	@BUILD='$(BUILD)' docs/examples/run $(EXAMPLES)

# ---- Compiling ----

show = $(if $(V),,@printf '%-6s %s\n' '$(1)' '$@';)
COMPILER = $(CC)
mpi_objects := $(sort $(adapter_objects) $(pmpi_objects)) $(petsc_objects) $(petsc_test_objects) $(petsc_bench_objects) $(plugin_objects) $(sfperf_objects) \
	$(mpi_test_common) \
	$(call with_mpi_only,$(call objects,$(example_sources) $(wildcard docs/examples/common/*.c) $(mpi_test_sources) \
	$(mpi_part_test_sources)))
all_objects := $(sort $(pmpi_mpich_objects) $(munge_objects) $(cuda_objects) $(async_cg_objects) $(client_objects) $(daemon_objects) $(sfctl_objects) $(sfrun_objects) $(mpi_objects) \
	$(call objects,tests/bench/operations.c) \
	$(call help_objects_of,unit) $(call help_objects_of,system) $(call help_objects_of,common) $(call objects,$(test_sources) $(fuzz_sources)))

# A stamp changes when its text does: other flags, or another list of sources.
stamp_compile = $(CC) $(LANGUAGE) $(WARNINGS) $(CFLAGS) $(INSTRUMENT) $(PACKAGE_CFLAGS)
stamp_link = $(LDFLAGS) $(all_objects:$(BUILD)/%=%)
stamp_mpi = $(MPICC) $(MPICH_MPICC) $(PETSC_CFLAGS) $(PETSC_LIBS) $(GA_LIBS)
$(BUILD)/%.stamp: FORCE
	@mkdir -p $(@D)
	@echo '$(stamp_$*)' | cmp -s - $@ || echo '$(stamp_$*)' >$@

$(BUILD)/%.pb-c.c $(BUILD)/%.pb-c.h: %.proto
	@pkg-config --exists $(PACKAGES) ncursesw && command -v protoc-c >/dev/null || \
		{ echo "prerequisites are missing: run make deps"; exit 1; }
	@mkdir -p $(@D)
	$(call show,PROTOC)protoc-c --c_out=$(BUILD) $<

$(BUILD)/obj/%.o: %.c $(BUILD)/compile.stamp | $(generated)
	@mkdir -p $(@D)
	$(call show,CC)$(CCACHE) $(COMPILER) $(COMPILE_FLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.pb-c.o: $(BUILD)/%.pb-c.c $(BUILD)/compile.stamp | $(generated)
	@mkdir -p $(@D)
	$(call show,CC)$(CCACHE) $(CC) $(COMPILE_FLAGS) -w -c -o $@ $<

$(mpi_objects): $(BUILD)/mpi.stamp
$(mpi_objects): private COMPILER = $(MPICC)
$(sfperf_objects) $(petsc_objects) $(petsc_test_objects) $(petsc_bench_objects) \
	$(call objects,$(petsc_example_sources)): private EXTRA_CFLAGS = $(PETSC_CFLAGS)
$(BUILD)/obj/tools/sfctl/topo_machine.o: private EXTRA_CFLAGS = $(if $(HWLOC_LIBS),-DSFCTL_WITH_HWLOC)
$(cuda_objects): private EXTRA_CFLAGS = $(CUDA_CFLAGS) -DSFSHM_CUDA_FATBIN='"$(BUILD)/obj/shm/cuda/kernels.fatbin"' \
	-DSFSHM_CUDA_PTX='"$(BUILD)/obj/shm/cuda/kernels.ptx"'
$(BUILD)/obj/shm/cuda/ready.o: $(BUILD)/obj/shm/cuda/kernels.fatbin $(BUILD)/obj/shm/cuda/kernels.ptx
$(async_cg_objects): private EXTRA_CFLAGS = $(CUDA_CFLAGS) \
	-DASYNC_CG_FATBIN='"$(BUILD)/obj/docs/examples/cuda/async_cg_kernels.fatbin"'
$(async_cg_objects): $(BUILD)/obj/docs/examples/cuda/async_cg_kernels.fatbin
include tools/sfperf/ga.mk
ifeq ($(fuzzing),)
$(call objects,$(fuzz_sources)): private EXTRA_CFLAGS = -DSFTEST_STANDALONE
endif

-include $(all_objects:.o=.d)

# ---- Linking ----

LINKER = $(CC)
archives := $(client_library) $(adapter_library) $(daemon_library) $(tools_library) $(help_libraries)
all_programs := $(tools) $(examples) $(mpi_tests) $(petsc_tests) $(petsc_bench) $(operations_bench) $(tests) $(fuzzers)

$(client_library): $(client_objects)
$(adapter_library): $(adapter_objects)
$(daemon_library): $(call without_main,$(daemon_objects))
$(tools_library): $(sort $(filter-out $(report_objects) $(merge_objects),$(call without_main,$(sfctl_objects) $(sfrun_objects) $(sfperf_objects))))
$(help_libraries): $(BUILD)/libsftest-%.a: $$(call help_objects_of,$$*)
$(archives): $(BUILD)/link.stamp
	@mkdir -p $(@D)
	$(call show,AR)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

$(BUILD)/sfd: $(daemon_objects) $(shared_objects)
$(BUILD)/sfctl: $(sfctl_objects) $(sfrun_objects_of_sfctl) $(client_library)
$(BUILD)/sfrun: $(sfrun_objects) $(client_library)
sfperf_libraries = $(tool_objects) $(report_objects) $(client_library)
$(BUILD)/sfperf: $(sfperf_objects) $(sfperf_libraries)
$(examples): $(BUILD)/examples/%: $(BUILD)/obj/docs/examples/%.o $(example_common) $(adapter_library) $(client_library)

LIBS = $(CLIENT_LIBS)
$(BUILD)/sfd: private LIBS = $(DAEMON_LIBS) -lm
$(BUILD)/sfctl: private LIBS = $(CLIENT_LIBS) $(SCREEN_LIBS) $(HWLOC_LIBS)
$(BUILD)/sfperf: private LIBS = $(CLIENT_LIBS) $(PETSC_LIBS) $(GA_LIBS)
$(petsc_examples): private LIBS = $(CLIENT_LIBS) $(PETSC_LIBS)
$(mpi_programs): $(BUILD)/mpi.stamp
$(mpi_programs): private LINKER = $(MPICC)
$(all_programs): $(BUILD)/link.stamp
	@mkdir -p $(@D)
	$(call show,LINK)$(LINKER) $(LINK_FLAGS) -o $@ $(filter %.o %.a,$^) $(LIBS)

# Shared libraries export what their symbol map names, and have the usual links beside them.
$(BUILD)/libsfclient.so.$(VERSION): $(client_objects)
$(BUILD)/libsfclient_mpi.so.$(VERSION): $(adapter_objects) $(BUILD)/libsfclient.so.$(VERSION) $(BUILD)/mpi.stamp
$(BUILD)/libsfclient_mpi.so.$(VERSION): private LINKER = $(MPICC)
$(BUILD)/libsfclient_mpi.so.$(VERSION): private LIBS = -L$(BUILD) -lsfclient
$(shared_libraries): $(BUILD)/%.so.$(VERSION): client/%.map $(BUILD)/link.stamp
	$(call show,LINK)$(LINKER) $(LINK_FLAGS) -shared -Wl,-soname,$*.so.$(SOVERSION) -Wl,--version-script=$< \
		$(if $(SANITIZE),,-Wl,-z,defs) -o $@ $(filter %.o,$^) $(LIBS)
	@ln -sf $(@F) $(BUILD)/$*.so.$(SOVERSION)
	@ln -sf $*.so.$(SOVERSION) $(BUILD)/$*.so

# PETSc closes what it has loaded before MPI ends, but MPI's attributes call it still: it stays. It finds the others
# beside it, wherever that is.
$(petsc_library): $(petsc_objects) $(call objects,shm/kernels/unit.c) client/libsfclient_petsc.map $(shared_libraries) \
		$(BUILD)/link.stamp $(BUILD)/mpi.stamp
	$(call show,LINK)$(MPICC) $(LINK_FLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=client/libsfclient_petsc.map \
		-Wl,-z,defs -Wl,-z,nodelete -Wl,-rpath,'$$ORIGIN' -o $@ $(filter %.o,$^) -L$(BUILD) -lsfclient_mpi -lsfclient \
		$(PETSC_LIBS)

# Its own copy of shm/base/error.c: nothing needs to be exported by sfd.
$(mpi_plugin): $(plugin_objects) $(call objects,shm/base/error.c shm/base/thread.c) daemon/net/fabric/mpi/libsfd_mpi.map $(BUILD)/link.stamp \
		$(BUILD)/mpi.stamp
	$(call show,LINK)$(MPICC) $(LINK_FLAGS) -shared -Wl,-soname,$(@F) \
		-Wl,--version-script=daemon/net/fabric/mpi/libsfd_mpi.map -Wl,-z,defs -o $@ $(filter %.o,$^) $(UV_LIBS)

$(munge_plugin): $(munge_objects) daemon/net/fabric/munge/libsfd_munge.map $(BUILD)/link.stamp
	$(call show,LINK)$(CC) $(LINK_FLAGS) -shared -Wl,-soname,$(@F) \
		-Wl,--version-script=daemon/net/fabric/munge/libsfd_munge.map $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $(filter %.o,$^) \
		$(MUNGE_LIBS)

# Without contraction to fused multiply-add results are those of the host, bit by bit.
$(BUILD)/obj/shm/cuda/kernels.fatbin: shm/cuda/kernels.cu shm/cuda/kernels.h shm/kernels/unit.h
$(BUILD)/obj/docs/examples/cuda/async_cg_kernels.fatbin: docs/examples/cuda/async_cg_kernels.cu \
		docs/examples/cuda/async_cg_kernels.h
$(BUILD)/obj/shm/cuda/kernels.fatbin $(BUILD)/obj/docs/examples/cuda/async_cg_kernels.fatbin:
	@mkdir -p $(@D)
	$(call show,NVCC)$(NVCC) -I. -Idocs/examples -fmad=false -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror \
		-Xfatbin -compress-all $(CUDA_ARCHITECTURES) -fatbin -o $@ $<

# For drivers from 545 on, which take PTX of version 8.3: that nothing newer is in it, the assembler tells.
$(BUILD)/obj/shm/cuda/kernels.ptx: shm/cuda/kernels.cu shm/cuda/kernels.h shm/kernels/unit.h
	@mkdir -p $(@D)
	$(call show,NVCC)$(NVCC) -I. -fmad=false -arch=compute_75 -ptx -o $@.new $< && \
		sed -e 's/^\.version .*/.version 8.3/' -e '/^\/\//d' $@.new >$@ && rm $@.new && \
		$(cuda_root)/bin/ptxas -arch=sm_75 -o /dev/null $@

# Needs the driver's library, which is why it is a library of its own.
$(cuda_plugin): $(cuda_objects) $(call objects,shm/base/error.c shm/edges/pattern.c shm/observe/trace.c shm/kernels/unit.c $(wildcard shm/kernels/kernels*.c)) \
		shm/cuda/libsf_cuda.map $(BUILD)/link.stamp
	$(call show,LINK)$(CC) $(LINK_FLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=shm/cuda/libsf_cuda.map \
		$(if $(SANITIZE),,-Wl,-z,defs) -o $@ $(filter %.o,$^) $(CUDA_LIBS)

$(async_cg): $(async_cg_objects) $(client_library) $(BUILD)/link.stamp
	@mkdir -p $(@D)
	$(call show,LINK)$(CC) $(LINK_FLAGS) -o $@ $(filter %.o %.a,$^) $(CLIENT_LIBS) $(CUDA_LIBS)

# ---- Trying and testing ----

# As many jobs as cores, unless the caller said how many.
SUBMAKE = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

ifneq ($(MPIRUN),)
export SFRUN_MPIRUN = $(MPIRUN)
endif

deps:
	@.ci/deps

demo: deps
	@$(SUBMAKE) all
	$(BUILD)/sfrun $(if $(NODES),--nodes $(NODES) --distribution cyclic) -n 4 -- $(BUILD)/examples/cg $(if $(MATRIX),--matrix '$(MATRIX)') $(DEMO_ARGS)

include tests/tests.mk

# Of sfctl, for the documents.
pictures: deps
	@$(SUBMAKE) all
	@BUILD='$(BUILD)' docs/pictures/make

docs:
	@if command -v doxygen >/dev/null; then \
		mkdir -p '$(BUILD)' && BUILD='$(BUILD)' doxygen docs/Doxyfile && echo '$(BUILD)/docs/html/index.html'; \
	else \
		echo "docs: skipped: doxygen is not installed"; \
	fi

lint: deps
	@$(SUBMAKE) all
	@BUILD='$(BUILD)' CC='$(CC)' MPICC='$(MPICC)' NVCC='$(NVCC)' PETSC_CFLAGS='$(PETSC_CFLAGS)' .ci/lint $(PREPROCESS) $(LANGUAGE) \
		$(WARNINGS) $(PACKAGE_CFLAGS) $(CUDA_CFLAGS)

# ---- Installing ----

bin := $(DESTDIR)$(PREFIX)/bin
lib := $(DESTDIR)$(LIBDIR)
# Libraries that sfd, or libsfclient, loads while it runs; no program links them.
plugins := $(DESTDIR)$(PREFIX)/lib/sfd
include := $(DESTDIR)$(PREFIX)/include
man := $(DESTDIR)$(PREFIX)/share/man
doc := $(DESTDIR)$(PREFIX)/share/doc/sfd
units := $(DESTDIR)$(PREFIX)/lib/systemd/system
tmpfiles := $(DESTDIR)$(PREFIX)/lib/tmpfiles.d
completions := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
cmake := $(lib)/cmake/sfclient
libraries := $(client_library) $(adapter_library)
library_names := $(notdir $(libraries:.a=))
plugin_files := $(mpi_plugin) $(munge_plugin) $(cuda_plugin)
public_headers := $(wildcard client/include/sf/*.h shm/include/sf/*.h)
man_pages := $(wildcard docs/man/*.[1-8])
completed := sfctl sfrun sfperf
example_files := $(patsubst docs/examples/%,%,$(wildcard $(addprefix docs/examples/,Makefile *.c */*.[ch] */*.cu)))
# docs/man/sfd.8 goes to man8/sfd.8
installed_man = $(man)/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
fill_in = sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|; s|@MPICC@|$(MPICC)|'

install: all docs
	install -d '$(bin)' '$(lib)/pkgconfig' '$(cmake)' '$(include)/sf' '$(units)' '$(doc)' $(if $(plugin_files),'$(plugins)')
	install $(tools) '$(bin)'
	install -m 644 $(libraries) $(shared_libraries) $(petsc_library) $(pmpi_libraries) '$(lib)'
	$(if $(plugin_files),install -m 644 $(plugin_files) '$(plugins)')
	for name in $(library_names); do \
		ln -sf $$name.so.$(VERSION) '$(lib)'/$$name.so.$(SOVERSION) && \
		ln -sf $$name.so.$(SOVERSION) '$(lib)'/$$name.so || exit 1; \
	done
	for name in $(library_names:lib%=%); do \
		$(fill_in) client/$$name.pc.in >'$(lib)'/pkgconfig/$$name.pc || exit 1; \
	done
	for name in sfclient-config sfclient-config-version; do \
		$(fill_in) client/$$name.cmake.in >'$(cmake)'/$$name.cmake || exit 1; \
	done
	install -m 644 $(public_headers) '$(include)/sf'
	$(foreach page,$(man_pages),install -D -m 644 $(page) '$(call installed_man,$(page))' &&) :
	$(fill_in) systemd/sfd.service.in >'$(units)/sfd.service'
	install -m 644 systemd/sfd.socket systemd/sfd-peers.socket '$(units)'
	install -D -m 644 systemd/sfd.tmpfiles '$(tmpfiles)/sfd.conf'
	install -m 644 LICENSE README.md '$(doc)'
	cp -R docs/*.md docs/design docs/pictures $(wildcard $(BUILD)/docs/html) '$(doc)'
# README.md now lies beside the other documents; links to sources become plain text.
	sed -E -i 's,(\[|\]\()docs/,\1,g; s,\[([^]]*)\]\([./]*(client/include|\.ci)/[^)]*\),\1,g' '$(doc)'/*.md '$(doc)'/design/*.md
	$(foreach file,$(example_files),install -D -m 644 docs/examples/$(file) '$(doc)/examples/$(file)' &&) install -m 644 systemd/sfd.conf '$(doc)/examples'
	$(foreach name,$(completed),install -D -m 644 tools/$(name)/completion.bash '$(completions)/$(name)' &&) :
	$(if $(DESTDIR),,-ldconfig 2>/dev/null)

uninstall:
	rm -f $(patsubst %,'$(bin)/%',$(notdir $(tools)))
	rm -f $(foreach name,$(library_names),$(patsubst %,'$(lib)/$(name).%',a so so.$(SOVERSION) so.$(VERSION)))
	rm -f $(patsubst %,'$(lib)/libsfclient_%.so',petsc pmpi pmpi_mpich) $(patsubst lib%,'$(lib)/pkgconfig/%.pc',$(library_names))
	rm -f $(patsubst %,'$(include)/sf/%',$(notdir $(public_headers)))
	rm -f $(foreach page,$(man_pages),'$(call installed_man,$(page))')
	rm -f '$(units)/sfd.service' '$(units)/sfd.socket' '$(units)/sfd-peers.socket' '$(tmpfiles)/sfd.conf' $(completed:%='$(completions)/%')
	rm -rf '$(cmake)' '$(plugins)' '$(doc)'
	-rmdir '$(include)/sf' '$(patsubst %/,%,$(dir $(cmake)))' 2>/dev/null

clean:
	rm -rf $(BUILD)
