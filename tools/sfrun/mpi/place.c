/* Distribution of ranks: see place.h. No state. */
#include "tools/sfrun/mpi/place.h"

#include <stdio.h>
#include <string.h>

#include "shm/base/error.h"

static const char *const names[] = {[SFRUN_BLOCK] = "block", [SFRUN_CYCLIC] = "cyclic"};

sf_status_t sfrun_distribution_parse(const char *text, sfrun_distribution_t *distribution_p)
{
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(text, names[i]) == 0) {
      *distribution_p = (sfrun_distribution_t)i;
      return SF_OK;
    }
  return sfshm_error(SF_ERR_ARG, "--distribution \"%s\": expected block or cyclic", text);
}

const char *sfrun_distribution_name(sfrun_distribution_t distribution)
{
  return names[distribution];
}

int32_t sfrun_node_of_rank(sfrun_distribution_t distribution, int32_t rank, int32_t nranks, int32_t nnodes)
{
  return distribution == SFRUN_CYCLIC ? rank % nnodes : (int32_t)((int64_t)rank * nnodes / nranks);
}

void sfrun_socket_path(const char *directory, int32_t node, int32_t nnodes, char path_p[SFRUN_SOCKET_BYTES])
{
  char *end = stpcpy(stpcpy(path_p, directory), "/sfd");
  size_t left_bytes = SFRUN_SOCKET_BYTES - (size_t)(end - path_p);
  if (nnodes > 1)
    snprintf(end, left_bytes, ".%d.sock", node);
  else
    snprintf(end, left_bytes, ".sock");
}
