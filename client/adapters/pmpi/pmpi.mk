# Builds the libraries that MPI programs preload, for Open MPI and for MPICH, as far as their compilers are here. Part of
# the Makefile.

is_open_mpi := $(findstring Open MPI,$(shell $(MPICC) --showme:version 2>&1))
MPICH_MPICC := $(firstword $(shell command -v mpicc.mpich) $(if $(findstring MPICH,$(shell $(MPICC) -v 2>&1)),$(MPICC)))

# Unlike other MPI parts they are made with sanitizers, too.
pmpi_sources := $(if $(fuzzing),,$(wildcard client/adapters/mpi/*.c client/adapters/pmpi/*.c))
pmpi_objects := $(if $(is_open_mpi),$(call objects,$(pmpi_sources)))
pmpi_mpich_objects := $(if $(MPICH_MPICC),$(pmpi_sources:%.c=$(BUILD)/obj/mpich/%.o))
pmpi_libraries := $(if $(pmpi_objects),$(BUILD)/libsfclient_pmpi.so) \
	$(if $(pmpi_mpich_objects),$(BUILD)/libsfclient_pmpi_mpich.so)
pmpi_note := $(call with_mpi_only,$(if $(MPICH_MPICC),,echo "note: sfrun --neighbors is for Open MPI only: libmpich-dev is not installed"))

# Those of Open MPI are made as all others of MPICC.
$(BUILD)/obj/mpich/%.o: %.c $(BUILD)/compile.stamp $(BUILD)/mpi.stamp | $(generated)
	@mkdir -p $(@D)
	$(call show,CC)$(CCACHE) $(MPICH_MPICC) $(COMPILE_FLAGS) -DSF_NO_PLACES -MMD -MP -c -o $@ $<

# In front of MPI's own functions, which they find by the loader.
$(BUILD)/libsfclient_pmpi.so: $(pmpi_objects)
$(BUILD)/libsfclient_pmpi.so: private LINKER = $(MPICC)
$(BUILD)/libsfclient_pmpi_mpich.so: $(pmpi_mpich_objects)
$(BUILD)/libsfclient_pmpi_mpich.so: private LINKER = $(MPICH_MPICC)
$(pmpi_libraries): client/libsfclient_pmpi.map $(shared_libraries) $(BUILD)/link.stamp $(BUILD)/mpi.stamp
	$(call show,LINK)$(LINKER) $(LINK_FLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=client/libsfclient_pmpi.map \
		$(if $(SANITIZE),,-Wl,-z,defs) -Wl,-rpath,'$$ORIGIN' -o $@ $(filter %.o,$^) -L$(BUILD) -lsfclient -ldl
