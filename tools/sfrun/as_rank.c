/* Choice of a rank's daemon. Single-threaded; becomes the program. */
#include "tools/sfrun/as_rank.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/core.h"
#include "shm/base/error.h"
#include "tools/sfrun/process/process.h"

/* Checks everything: anybody can type the line. */
static sf_status_t parse(int argc, char *argv[], sfrun_distribution_t *distribution_p, int32_t *nnodes_p)
{
  if (argc <= SFRUN_AS_RANK_WORDS || strcmp(argv[5], "--") != 0)
    return sfshm_error(SF_ERR_ARG, SFRUN_AS_RANK " is for sfrun's own use");
  long nnodes = strtol(argv[3], NULL, 10);
  if (nnodes < 1 || nnodes > SFRUN_MAX_NODES)
    return sfshm_error(SF_ERR_ARG, SFRUN_AS_RANK ": \"%s\" daemons", argv[3]);
  if (strlen(argv[4]) + sizeof "/" SFRUN_LONGEST_SOCKET > SFRUN_SOCKET_BYTES)
    return sfshm_error(SF_ERR_ARG, SFRUN_AS_RANK ": directory \"%s\" is too long", argv[4]);
  *nnodes_p = (int32_t)nnodes;
  return sfrun_distribution_parse(argv[2], distribution_p);
}

static sf_status_t check_socket(const char *socket_path, int32_t rank)
{
  char host[65] = "";
  if (access(socket_path, F_OK) == 0)
    return SF_OK;
  gethostname(host, sizeof host - 1);
  return sfshm_error_errno(SF_ERR_NO_DAEMON,
                           "rank %d on %s: no daemon's socket %s; all ranks of --nodes must run on the host of sfrun",
                           rank, host, socket_path);
}

sf_status_t sfrun_as_rank(int argc, char *argv[])
{
  char socket_path[SFRUN_SOCKET_BYTES], program_path[PATH_MAX];
  sfrun_distribution_t distribution = SFRUN_BLOCK;
  sfc_identity_t identity;
  int32_t nnodes = 1;
  sf_status_t status = parse(argc, argv, &distribution, &nnodes);
  if (!status)
    status = sfc_identity_resolve(NULL, &identity);
  if (status)
    return status;
  char **program = argv + SFRUN_AS_RANK_WORDS;
  int32_t node = sfrun_node_of_rank(distribution, identity.rank, identity.size, nnodes);
  sfrun_socket_path(argv[4], node, nnodes, socket_path);
  status = check_socket(socket_path, identity.rank);
  if (!status)
    status = sfrun_find_program(program[0], program_path);
  if (!status && setenv("SF_SOCKET", socket_path, 1) != 0)
    status = sfshm_error(SF_ERR_NOMEM, "no memory for the environment");
  if (status)
    return status;
  execv(program_path, program);
  return sfshm_error_errno(errno == ENOENT ? SF_ERR_NOT_FOUND : SF_ERR_PERM, "%s can't be started", program_path);
}
