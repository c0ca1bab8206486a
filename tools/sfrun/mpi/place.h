/* Distribution of ranks over the daemons of one host, and the daemons' sockets. */
#ifndef SFRUN_MPI_PLACE_H
#define SFRUN_MPI_PLACE_H

#include <stdint.h>
#include <sys/un.h>

#include <sf/sf_status.h>

#define SFRUN_SOCKET_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)
#define SFRUN_MAX_NODES 1024
#define SFRUN_LONGEST_SOCKET "sfd.1023.sock"

typedef enum sfrun_distribution {
  SFRUN_BLOCK = 0, /* neighbouring ranks together; the nodes' numbers of ranks differ by at most one */
  SFRUN_CYCLIC,    /* rank modulo the number of nodes */
} sfrun_distribution_t;

/* "block" or "cyclic". SF_ERR_ARG. */
sf_status_t sfrun_distribution_parse(const char *text, sfrun_distribution_t *distribution_p);
const char *sfrun_distribution_name(sfrun_distribution_t distribution);

/* 0..nnodes-1, for 0 <= rank < nranks. */
int32_t sfrun_node_of_rank(sfrun_distribution_t distribution, int32_t rank, int32_t nranks, int32_t nnodes);

/* Socket of a node's daemon in the private directory. */
void sfrun_socket_path(const char *directory, int32_t node, int32_t nnodes, char path_p[SFRUN_SOCKET_BYTES]);

#endif
