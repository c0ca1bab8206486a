# Global Arrays over the same MPI, a peer of sfperf.
ga_mpi := $(if $(findstring Open MPI,$(shell $(MPICC) --showme:version 2>&1)),openmpi,mpich)
ga_files := libga-$(ga_mpi).a libarmci-$(ga_mpi).a libscalapack-$(ga_mpi).so liblapack.so libblas.so libgfortran.so
# The compiler gives a name back as it is if there is no such file.
ga_missing := $(filter-out /%,$(shell for file in $(ga_files); do $(CC) -print-file-name=$$file; done))
GA_CFLAGS := $(if $(ga_missing),,-DSFPERF_WITH_GA)
GA_LIBS := $(if $(ga_missing),,-lga-$(ga_mpi) -lscalapack-$(ga_mpi) -llapack -lblas -larmci-$(ga_mpi) -lgfortran)

$(BUILD)/obj/tools/sfperf/contenders/ga.o: private EXTRA_CFLAGS = $(GA_CFLAGS)
