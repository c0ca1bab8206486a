/* What is built apart, as shared libraries, because it needs more than the daemon itself: sfd runs without MPI or MUNGE
 * being installed. The loop's thread.
 *
 * Libraries are looked for in dir; if that is NULL or "", beside the executable, then in ../lib/sfd and ../lib from
 * there. They stay loaded. */
#ifndef SFD_NET_FABRIC_PLUGIN_H
#define SFD_NET_FABRIC_PLUGIN_H

#include <uv.h>

#include "daemon/net/fabric/fabric.h"
#include "daemon/net/fabric/munge/plugin.h"

/* Makes the mpi fabric: loads libsfd_mpi.so and with it the MPI library, initialises MPI with the program's arguments
 * and waits for the other daemons of the MPI job. Once per process.
 *
 * SF_ERR_UNSUPPORTED: the library is not there, can't be loaded, or MPI can't be used. SF_ERR_SYS, SF_ERR_NOMEM. */
sf_status_t sfd_plugin_mpi_fabric(const char *dir, uv_loop_t *loop, int *argc, char ***argv, sfd_fabric_t **fabric_p)
    __attribute__((warn_unused_result));

/* Loads libsfd_munge.so and with it libmunge. SF_ERR_UNSUPPORTED: one of them is not there. */
sf_status_t sfd_plugin_munge(const char *dir, const sfd_munge_t **munge_p) __attribute__((warn_unused_result));

#endif
