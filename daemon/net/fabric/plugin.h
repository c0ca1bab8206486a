/* Plugins: shared libraries for what needs more than the daemon, which runs without MPI and MUNGE. Searched in dir; if
 * that is NULL or "", in the directory of the executable, ../lib/sfd and ../lib from there. They stay loaded. The
 * loop's thread. */
#ifndef SFD_NET_FABRIC_PLUGIN_H
#define SFD_NET_FABRIC_PLUGIN_H

#include <uv.h>

#include "daemon/net/fabric/fabric.h"
#include "daemon/net/fabric/munge/plugin.h"

/* Creates the mpi fabric: loads libsfd_mpi.so and MPI, initializes MPI with the program's arguments and waits for the
 * other daemons of the MPI job. Once per process. SF_ERR_UNSUPPORTED: no library, or MPI can't be used. SF_ERR_SYS,
 * SF_ERR_NOMEM. */
sf_status_t sfd_plugin_mpi_fabric(const char *dir, uv_loop_t *loop, int *argc, char ***argv, sfd_fabric_t **fabric_p)
    __attribute__((warn_unused_result));

/* Loads libsfd_munge.so and libmunge. SF_ERR_UNSUPPORTED: not there. */
sf_status_t sfd_plugin_munge(const char *dir, const sfd_munge_t **munge_p) __attribute__((warn_unused_result));

#endif
