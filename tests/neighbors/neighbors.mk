# Programs of plain MPI that know nothing of sfd, for Open MPI and for MPICH, as far as their compilers are here. Part of
# the Makefile.

mpicc_of_openmpi := $(if $(pmpi_objects),$(MPICC))
mpicc_of_mpich := $(if $(pmpi_mpich_objects),$(MPICH_MPICC))
mpifort_of = $(if $(mpicc_of_$(1)),$(shell command -v $(subst mpicc,mpifort,$(mpicc_of_$(1)))))
gfortran := $(shell command -v gfortran)
neighbor_test_of = $(if $(mpicc_of_$(1)),$(addprefix $(BUILD)/tests/neighbors/$(1)/,differential bench doomed flight refused profiler.so \
	$(if $(and $(with_mpi),$(gfortran),$(call mpifort_of,$(1))),fortran fortran08)))
neighbor_tests := $(call neighbor_test_of,openmpi) $(call neighbor_test_of,mpich)

# The headers of MPICH have pointers to nothing, such as MPI_STATUSES_IGNORE, in the place of arrays.
neighbor_flags = $(COMPILE_FLAGS) -Wno-stringop-overflow -Wno-stringop-overread

$(neighbor_tests): $(BUILD)/compile.stamp $(BUILD)/mpi.stamp
$(BUILD)/tests/neighbors/%/differential: $(wildcard tests/neighbors/*.[ch])
	@mkdir -p $(@D)
	$(call show,LINK)$(mpicc_of_$*) $(neighbor_flags) -o $@ $(filter %.c,$^)
$(BUILD)/tests/neighbors/%/bench: tests/neighbors/bench/neighbors.c
	@mkdir -p $(@D)
	$(call show,LINK)$(mpicc_of_$*) $(neighbor_flags) -o $@ $<
$(BUILD)/tests/neighbors/%/doomed: tests/neighbors/doomed/doomed.c
	@mkdir -p $(@D)
	$(call show,LINK)$(mpicc_of_$*) $(neighbor_flags) -o $@ $<
$(BUILD)/tests/neighbors/%/refused: tests/neighbors/refused/refused.c
	@mkdir -p $(@D)
	$(call show,LINK)$(mpicc_of_$*) $(neighbor_flags) -o $@ $<
$(BUILD)/tests/neighbors/%/flight: tests/neighbors/flight/flight.c
	@mkdir -p $(@D)
	$(call show,LINK)$(mpicc_of_$*) $(neighbor_flags) -o $@ $< -pthread
$(BUILD)/tests/neighbors/%/profiler.so: tests/neighbors/profiler/profiler.c
	@mkdir -p $(@D)
	$(call show,LINK)$(mpicc_of_$*) $(COMPILE_FLAGS) -shared -o $@ $<
$(BUILD)/tests/neighbors/%/fortran $(BUILD)/tests/neighbors/%/fortran08: tests/neighbors/fortran.f90 tests/neighbors/fortran08.f90
	@mkdir -p $(@D)
	$(call show,LINK)$(call mpifort_of,$*) -O1 -g -Wall -o $(@D)/fortran tests/neighbors/fortran.f90
	$(call show,LINK)$(call mpifort_of,$*) -O1 -g -Wall -o $(@D)/fortran08 tests/neighbors/fortran08.f90

