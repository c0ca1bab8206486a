/* sfrun as each rank runs it when there are several daemons on the host: mpirun gives all ranks the same environment,
 * so somebody between it and the program has to choose the daemon. */
#ifndef SFRUN_AS_RANK_H
#define SFRUN_AS_RANK_H

#include <sf/sf_status.h>

#include "tools/sfrun/mpi/place.h"

#define SFRUN_AS_RANK "--as-rank" /* hidden option */
#define SFRUN_AS_RANK_WORDS 6     /* of the command before the program: sfrun --as-rank block 2 DIRECTORY -- */

/* What argv[2] and the following are: how ranks are dealt, number of daemons, their directory, "--", the program with
 * its arguments. Sets SF_SOCKET to the daemon of this rank and becomes the program. Returns only if that failed:
 * SF_ERR_ARG, SF_ERR_NO_DAEMON (there is no such socket on this host), SF_ERR_NOT_FOUND, SF_ERR_PERM. */
sf_status_t sfrun_as_rank(int argc, char *argv[]);

#endif
