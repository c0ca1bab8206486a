/* Which MPI an mpirun belongs to, and the options and variables that it needs. */
#ifndef SFRUN_MPI_MPI_H
#define SFRUN_MPI_MPI_H

#include <limits.h>
#include <stdbool.h>

#include <sf/sf_status.h>

#include "tools/sfrun/mpi/cpus.h"
#include "tools/sfrun/options.h"

#define SFRUN_MPI_MAX_ADDED 4

typedef enum sfrun_mpi {
  SFRUN_MPI_UNKNOWN = 0,
  SFRUN_MPI_OPEN_MPI,
  SFRUN_MPI_HYDRA, /* MPICH and relatives */
  SFRUN_MPI_INTEL,
} sfrun_mpi_t;

/* Additions to command line and environment, with reasons. */
typedef struct sfrun_mpi_additions {
  const char *args[SFRUN_MPI_MAX_ADDED];
  int nargs;
  bool yield; /* Open MPI's ranks must yield while they wait: OMPI_MCA_mpi_yield_when_idle=1 */
  bool as_root, oversubscribed;
} sfrun_mpi_additions_t;

/* Finds --mpirun, else SFRUN_MPIRUN, else mpirun. SF_ERR_NOT_FOUND with advice. */
sf_status_t sfrun_mpi_find(const sfrun_options_t *options, char path_p[PATH_MAX]);

/* By the output of "mpirun --version". */
sfrun_mpi_t sfrun_mpi_recognise(const char *version_text);
const char *sfrun_mpi_name(sfrun_mpi_t mpi);

/* Runs path --version; SFRUN_MPI_UNKNOWN also without output within 30 s. */
sf_status_t sfrun_mpi_detect(const char *path, sfrun_mpi_t *mpi_p);

/* root: sfrun runs as root. More ranks than cores need nothing if options or a batch system name the nodes, and no
 * option is added that the user gave. */
sfrun_mpi_additions_t sfrun_mpi_additions(sfrun_mpi_t mpi, const sfrun_options_t *options, bool root,
                                          sfrun_cpus_t cpus);

#endif
