/* sfrun between mpirun and each rank if the host has several daemons: mpirun gives all ranks the same environment. */
#ifndef SFRUN_AS_RANK_H
#define SFRUN_AS_RANK_H

#include <sf/sf_status.h>

#include "tools/sfrun/mpi/place.h"

#define SFRUN_AS_RANK "--as-rank" /* hidden option */
#define SFRUN_AS_RANK_WORDS 6     /* of the command before the program: sfrun --as-rank block 2 DIRECTORY -- */

/* argv[2] and following: distribution, number of daemons, directory, "--", program and arguments. Sets SF_SOCKET to the
 * rank's daemon and becomes the program. On failure: SF_ERR_ARG, SF_ERR_NO_DAEMON (no such socket), SF_ERR_NOT_FOUND,
 * SF_ERR_PERM. */
sf_status_t sfrun_as_rank(int argc, char *argv[]);

#endif
