/* Functions of libsfd_mpi.so, which daemon/net/fabric/plugin.c looks up by name. */
#ifndef SFD_NET_FABRIC_MPI_PLUGIN_H
#define SFD_NET_FABRIC_MPI_PLUGIN_H

#include <uv.h>

#include "daemon/net/fabric/fabric.h"

#define SFD_MPI_EXPORT __attribute__((visibility("default")))

/* Makes the process a node of its MPI job: initializes MPI and waits for all processes of the job. Once per process,
 * before other use of MPI. */
SFD_MPI_EXPORT sf_status_t sfd_mpi_fabric_create(uv_loop_t *loop, int *argc, char ***argv, sfd_fabric_t **fabric_p);

/* sfshm_error_detail() of the plugin, which has its own copy of shm/base/error.c. */
SFD_MPI_EXPORT const char *sfd_mpi_fabric_detail(void);

#endif
