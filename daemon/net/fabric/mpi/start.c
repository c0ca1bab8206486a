/* Start: MPI, and exchange of addresses and tokens. The progress thread, which is MPI's main thread. A process that
 * fails here does not call MPI_Finalize: its exit ends the job, in which the others wait for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "daemon/net/fabric/mpi/internal.h"
#include "shm/base/error.h"

/* Processes started by another MPI's mpirun are jobs of one each. */
static sf_status_t check_size(const sfd_mpi_t *mpi)
{
  static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
    const char *text = getenv(variables[i]);
    if (text != NULL && atoi(text) > 1 && mpi->fabric.nnodes == 1)
      return sfshm_error(SF_ERR_UNSUPPORTED, "started as one of %s processes by the mpirun of another MPI library",
                         text);
  }
  return SF_OK;
}

static sf_status_t init_mpi(sfd_mpi_t *mpi)
{
  int initialized = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialized);
  if (initialized)
    return sfshm_error(SF_ERR_STATE, "MPI is in use in this process already");
  MPI_Init_thread(mpi->argc, mpi->argv, MPI_THREAD_FUNNELED, &provided);
  if (provided < MPI_THREAD_FUNNELED)
    return sfshm_error(SF_ERR_UNSUPPORTED, "this MPI library does not allow threads beside the one that uses it");
  MPI_Comm_dup(MPI_COMM_WORLD, &mpi->comm);
  MPI_Comm_rank(mpi->comm, &mpi->fabric.node);
  MPI_Comm_size(mpi->comm, &mpi->fabric.nnodes);
  return check_size(mpi);
}

/* Whether all processes share a loopback interface. */
static bool is_one_host(const sfd_mpi_t *mpi)
{
  uint8_t mine[64], first[64];
  sfd_mpi_reachability(mine);
  memcpy(first, mine, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_BYTE, 0, mpi->comm);
  int same = memcmp(mine, first, sizeof mine) == 0, all = 0;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, mpi->comm);
  return all != 0;
}

static sf_status_t exchange_places(sfd_mpi_t *mpi)
{
  sfd_mpi_place_t mine = {.port = 0};
  int len = 0;
  char host[MPI_MAX_PROCESSOR_NAME + 1] = "";
  sfd_mpi_place_t *places = calloc((size_t)mpi->fabric.nnodes, sizeof *places);
  if (places == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %d nodes", mpi->fabric.nnodes);
  mpi->places = places;
  MPI_Get_processor_name(host, &len);
  snprintf(mine.host, sizeof mine.host, "%.63s", host);
  sf_status_t status = sfd_mpi_listen(is_one_host(mpi), &mpi->listen_fd, &mine);
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, places, sizeof mine, MPI_BYTE, mpi->comm);
  for (int32_t node = 0; node < mpi->fabric.nnodes && status == SF_OK; node++) {
    if (places[node].port == 0)
      status = sfshm_error(SF_ERR_SYS, "node %d (%s) cannot listen", node, places[node].host);
  }
  return status;
}

static sf_status_t exchange_tokens(sfd_mpi_t *mpi)
{
  size_t n = (size_t)mpi->fabric.nnodes;
  sfd_mpi_token_t *given = calloc(n, sizeof *given), *shown = calloc(n, sizeof *shown);
  mpi->given = given;
  mpi->shown = shown;
  if (given == NULL || shown == NULL)
    return sfshm_error(SF_ERR_NOMEM, "tokens for %zu nodes", n);
  for (size_t i = 0; i < n; i++) {
    if (getrandom(&given[i], sizeof given[i], 0) != (ssize_t)sizeof given[i])
      return sfshm_error_errno(SF_ERR_SYS, "getrandom");
  }
  MPI_Alltoall(given, sizeof *given, MPI_BYTE, shown, sizeof *shown, MPI_BYTE, mpi->comm);
  return SF_OK;
}

static sf_status_t make_peers(sfd_mpi_t *mpi)
{
  mpi->peers = calloc((size_t)mpi->fabric.nnodes, sizeof *mpi->peers);
  if (mpi->peers == NULL)
    return sfshm_error(SF_ERR_NOMEM, "state of %d nodes", mpi->fabric.nnodes);
  for (int32_t node = 0; node < mpi->fabric.nnodes; node++) {
    mpi->peers[node].node = node;
    mpi->peers[node].events_end = &mpi->peers[node].events;
  }
  return SF_OK;
}

sf_status_t sfd_mpi_start(sfd_mpi_t *mpi)
{
  sf_status_t status = init_mpi(mpi);
  if (status == SF_OK)
    status = make_peers(mpi);
  if (status == SF_OK)
    status = exchange_places(mpi);
  if (status == SF_OK)
    status = exchange_tokens(mpi);
  return status;
}
