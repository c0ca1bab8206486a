# Builds the library that MPI programs preload, for the MPI of MPICC. Part of the Makefile.

pmpi_objects := $(call with_mpi_only,$(call objects,$(wildcard client/adapters/pmpi/*.c)))
pmpi_library := $(if $(pmpi_objects),$(BUILD)/libsfclient_pmpi.so)

# In front of MPI's own functions, which it finds by the loader.
$(pmpi_library): $(pmpi_objects) $(adapter_objects) client/libsfclient_pmpi.map $(shared_libraries) $(BUILD)/link.stamp \
		$(BUILD)/mpi.stamp
	$(call show,LINK)$(MPICC) $(LINK_FLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=client/libsfclient_pmpi.map \
		-Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -o $@ $(filter %.o,$^) -L$(BUILD) -lsfclient -ldl
