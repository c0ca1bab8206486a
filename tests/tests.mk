# Included by the Makefile, which has the lists of tests and benchmarks and the recipe that links programs: what these are
# linked from, a stand-in for the CUDA driver, and targets that run tests and benchmarks.

# ---- Linking ----

$(mpi_tests): $(BUILD)/%: $(BUILD)/obj/%.o $(mpi_test_common) $(adapter_library) $(test_libraries)
$(petsc_tests): $(petsc_test_objects)
$(petsc_bench): $(petsc_bench_objects) $(tools_library) $(report_objects) $(client_library)
$(operations_bench): $(call objects,tests/bench/operations.c) $(client_library)
$(mpi_part_tests): $(example_common)
# Those that use devices load a driver when they run, one that asks MUNGE what does that.
$(tests): | $(fake_cuda) $(real_cuda) $(munge_plugin)
$(tests): $(BUILD)/%: $(BUILD)/obj/%.o $(BUILD)/libsftest-$$(notdir $$(abspath $$(@D)/..)).a $(BUILD)/libsftest-common.a $(test_libraries)
$(fuzzers): $(BUILD)/%: $(BUILD)/obj/%.o $(test_libraries)

$(tests) $(fuzzers): private LIBS = $(CHECK_LIBS) $(DAEMON_LIBS) -lm
# It has allocations fail.
$(BUILD)/tests/system/failure/test_no_memory: private LIBS += -Wl,--wrap=calloc,--wrap=malloc
$(mpi_tests): private LIBS = $(DAEMON_LIBS) -lm -rdynamic # one replaces a function of libc
$(mpi_part_tests): private LIBS += $(PETSC_LIBS)
$(petsc_tests) $(petsc_bench): private LIBS = $(CLIENT_LIBS) $(PETSC_LIBS)
$(fuzzers): private LIBS += $(if $(fuzzing),-fsanitize=fuzzer)

# ---- Stand-ins ----

$(real_cuda): tests/cuda/real_driver.c tests/cuda/fake_driver.h tests/cuda/virtual_memory.h $(BUILD)/compile.stamp
	@mkdir -p $(@D)
	$(call show,LINK)$(CC) $(COMPILE_FLAGS) $(CUDA_CFLAGS) -shared -o $@ $< $(CUDA_LIBS)

awake := $(if $(cuda_objects),$(BUILD)/tests/cuda/awake)
$(awake): tests/cuda/awake.c $(BUILD)/compile.stamp
	@mkdir -p $(@D)
	$(call show,LINK)$(CC) $(COMPILE_FLAGS) $(CUDA_CFLAGS) -o $@ $< $(CUDA_LIBS)

$(fake_cuda): $(wildcard tests/cuda/fake_*) tests/cuda/virtual_memory.h shm/cuda/kernels.cu shm/cuda/kernels.h \
		$(wildcard docs/examples/cuda/*kernels*) $(BUILD)/compile.stamp
	@mkdir -p $(@D)
	$(call show,LINK)$(CC) $(COMPILE_FLAGS) $(CUDA_CFLAGS) -shared -Wl,-soname,$(@F) -o $@ \
		$(wildcard tests/cuda/fake_*.c) -x c -include tests/cuda/fake_kernel.h shm/cuda/kernels.cu \
		docs/examples/cuda/async_cg_kernels.cu

include tests/neighbors/neighbors.mk

# ---- Running ----

check: deps
	@$(SUBMAKE) run-tests

# All that there is, with other random input each time, and with the sanitizers.
check-all: deps
	@LEVEL=all TEST_SEED=random .ci/run

# All that uses the device, the figures, and all again under the device's own sanitizer: parts of tests/gpu/check.
GPU_TESTS = $(addprefix $(BUILD)/tests/,$(shell tests/gpu/check --list))
check-gpu: deps
	@$(if $(NVCC),:,echo "no support for CUDA devices was built: nvcc was not found"; exit 1)
	@$(SUBMAKE) all $(GPU_TESTS) $(real_cuda)
	@BUILD='$(BUILD)' CUDA_HOME='$(cuda_root)' tests/gpu/check $(PARTS)

# All of it in one archive for a machine that has a driver, a C library and a shell. sfperf with MPICH, which loads no
# plug-ins, and without PETSc. Programs are linked once more, from the same objects, so that they find their libraries,
# and these each other's, in the folder lib of the archive.
GPU_PROGRAMS = sfd sfrun sfctl libsf_cuda.so examples/async_cg tests/cuda/awake $(GPU_TESTS:$(BUILD)/%=%)
empty :=
finds_libraries = LDFLAGS='$(LDFLAGS) -Wl,--disable-new-dtags,-rpath,$(subst $(empty) ,:,$(foreach up,.. ../.. \
	../../.. ../../../..,\$$$$ORIGIN/$(up)/lib))'
MPICH_MPIEXEC := $(firstword $(shell command -v mpiexec.mpich mpiexec.hydra))
$(BUILD)/mpich/sfperf: $(sfperf_libraries) FORCE
	+@$(SUBMAKE) BUILD=$(BUILD)/mpich MPICC='$(MPICH_MPICC)' CFLAGS='$(CFLAGS)' sfperf_libraries='$(sfperf_libraries)' \
		$(finds_libraries) $@
gpu-bundle: deps
	@$(if $(NVCC),:,echo "no support for CUDA devices was built: nvcc was not found"; exit 1)
	@$(if $(MPICH_MPICC),:,echo "sfperf for other machines needs MPICH: mpicc.mpich was not found"; exit 1)
	@$(SUBMAKE) all $(GPU_TESTS) $(real_cuda) $(fake_cuda) $(awake) $(BUILD)/mpich/sfperf
	@mkdir -p $(BUILD)/gpu
	@cp -au $(BUILD)/obj $(BUILD)/proto $(BUILD)/compile.stamp $(BUILD)/mpi.stamp $(BUILD)/gpu
	@$(SUBMAKE) BUILD=$(BUILD)/gpu $(finds_libraries) $(addprefix $(BUILD)/gpu/,$(GPU_PROGRAMS))
	@BUILD='$(BUILD)' PROGRAMS='$(GPU_PROGRAMS)' SFPERF='$(BUILD)/mpich/sfperf' MPIEXEC='$(MPICH_MPIEXEC)' tests/gpu/bundle

# The same where there is no device: the stand-in for the driver takes the place of the real one.
check-gpu-dry: deps
	@$(if $(NVCC),:,echo "no support for CUDA devices was built: nvcc was not found"; exit 1)
	@$(SUBMAKE) all $(GPU_TESTS) $(real_cuda) $(fake_cuda)
	@BUILD='$(BUILD)' tests/gpu/check --dry $(PARTS)

# The programs alone may be built before. What is undefined traps, which the address sanitizer reports with its place: the
# data that more words would need, 9 MB in sfd, are searched for pointers whenever a process ends.
asan tsan: target = run-tests
asan-programs tsan-programs: target = test-programs
asan asan-programs: deps
	@$(SUBMAKE) BUILD=$(BUILD)/asan SANITIZE=address,undefined CFLAGS='-O1 -g1 -fsanitize-undefined-trap-on-error' $(target)

tsan tsan-programs: deps
	@$(SUBMAKE) BUILD=$(BUILD)/tsan SANITIZE=thread CFLAGS='-O1 -g1' $(target)

# What LEVEL says, "check" or "all", unless TESTS is given: tests/select.
LEVEL ?= check
ALL_TESTS = $(tests) $(fuzzers) $(wildcard tests/model/*.pml) $(wildcard tests/system/*/test_*.sh)
TESTS = $(shell BUILD='$(BUILD)' SANITIZE='$(SANITIZE)' tests/select $(LEVEL) $(ALL_TESTS))

thread_notes := $(if $(SANITIZE),,$(BUILD)/tests/libsftest_threads.so)
$(thread_notes): tests/threads.c $(BUILD)/compile.stamp
	@mkdir -p $(@D)
	$(call show,LINK)$(CC) $(COMPILE_FLAGS) -shared -o $@ $<

test-programs: all $(thread_notes) $(tests) $(mpi_tests) $(neighbor_tests) $(petsc_tests) $(petsc_bench) $(fuzzers) $(fake_cuda) $(real_cuda)
run-tests: test-programs
	@BUILD='$(BUILD)' SANITIZE='$(SANITIZE)' CC='$(CC)' SFTEST_LEVEL=$(LEVEL) tests/run $(TESTS)

# Beside a second MPI, too, if it is installed.
bench: deps
	@$(SUBMAKE) all $(petsc_bench) $(neighbor_tests) $(if $(shell command -v mpicc.mpich),$(BUILD)/mpich/sfperf)
	BUILD='$(BUILD)' tests/bench/run

# The build without counters is of no other use.
bench-counters: deps
	@$(SUBMAKE) all $(operations_bench)
	@$(SUBMAKE) BUILD='$(BUILD)/uncounted' CFLAGS='$(CFLAGS) -DSFSHM_UNCOUNTED' \
		$(patsubst $(BUILD)/%,$(BUILD)/uncounted/%,$(sfperf) $(operations_bench))
	@BUILD='$(BUILD)' BUILD_WITHOUT='$(BUILD)/uncounted' tests/bench/counters

fuzz:
	@if command -v clang >/dev/null; then \
		$(SUBMAKE) BUILD=$(BUILD)/fuzz SANITIZE=fuzzer,address,undefined CC=clang run-fuzz; \
	else \
		echo "skipped: fuzzing needs clang"; \
	fi

run-fuzz: $(fuzzers)
	@for fuzzer in $(fuzzers); do \
		mkdir -p $$fuzzer.corpus && $$fuzzer -max_total_time=$(FUZZ_SECONDS) $$fuzzer.corpus || exit 1; \
	done
