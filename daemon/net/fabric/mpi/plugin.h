/* What libsfd_mpi.so exports; daemon/net/fabric/plugin.c looks the functions up by name. */
#ifndef SFD_NET_FABRIC_MPI_PLUGIN_H
#define SFD_NET_FABRIC_MPI_PLUGIN_H

#include <uv.h>

#include "daemon/net/fabric/fabric.h"

#define SFD_MPI_EXPORT __attribute__((visibility("default")))

/* Makes this process a node of the MPI job that it was started in: initialises MPI and waits until all processes of the
 * job have come here. Like MPI_Init once per process, and before that process makes another use of MPI. */
SFD_MPI_EXPORT sf_status_t sfd_mpi_fabric_create(uv_loop_t *loop, int *argc, char ***argv, sfd_fabric_t **fabric_p);

/* The detail text of this thread's last error within the plugin, which has its own copy of shm/base/error.c. */
SFD_MPI_EXPORT const char *sfd_mpi_fabric_detail(void);

#endif
