/* Which MPI an mpirun belongs to, and what that needs here besides the user's options. */
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
  SFRUN_MPI_HYDRA, /* MPICH and its relatives */
  SFRUN_MPI_INTEL,
} sfrun_mpi_t;

/* What is added to the user's command line and environment, and why. */
typedef struct sfrun_mpi_additions {
  const char *args[SFRUN_MPI_MAX_ADDED];
  int nargs;
  bool yield; /* Open MPI's ranks must yield while they wait: OMPI_MCA_mpi_yield_when_idle=1 */
  bool as_root, oversubscribed;
} sfrun_mpi_additions_t;

/* Finds the mpirun to use: --mpirun, else SFRUN_MPIRUN, else mpirun. SF_ERR_NOT_FOUND with what to do. */
sf_status_t sfrun_mpi_find(const sfrun_options_t *options, char path_p[PATH_MAX]);

/* Recognises the MPI by what its "mpirun --version" prints. */
sfrun_mpi_t sfrun_mpi_recognise(const char *version_text);
const char *sfrun_mpi_name(sfrun_mpi_t mpi);

/* Runs path --version and recognises its MPI; SFRUN_MPI_UNKNOWN also when it says nothing within 30 s. */
sf_status_t sfrun_mpi_detect(const char *path, sfrun_mpi_t *mpi_p);

/* What is to be added. root: whether sfrun runs as root. More ranks than cores need nothing when the user's options or
 * a batch system name the nodes (their cores are not these), and no option is added that the user has given. */
sfrun_mpi_additions_t sfrun_mpi_additions(sfrun_mpi_t mpi, const sfrun_options_t *options, bool root,
                                          sfrun_cpus_t cpus);

#endif
