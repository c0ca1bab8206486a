/* Functions of the mpi fabric. The loop's thread; shared state is in internal.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/net/fabric/mpi/internal.h"
#include "daemon/net/fabric/mpi/plugin.h"
#include "shm/base/error.h"
#include "shm/base/thread.h"

static sfd_mpi_t *of(sfd_fabric_t *fabric)
{
  return (sfd_mpi_t *)fabric;
}

static void connect_to(sfd_fabric_t *fabric, int32_t node)
{
  sfd_mpi_t *mpi = of(fabric);
  sfd_mpi_peer_t *peer = &mpi->peers[node];
  sfd_mpi_link_t *link = sfd_mpi_link_new();
  peer->no_memory = link == NULL;
  pthread_mutex_lock(&mpi->lock);
  if (link != NULL) {
    peer->connect = link;
    sfd_mpi_command(mpi, peer);
  } else {
    sfd_mpi_notify(mpi, peer);
  }
  pthread_mutex_unlock(&mpi->lock);
}

static void send_to(sfd_fabric_t *fabric, int32_t node, const struct iovec iov[], int niov)
{
  sfd_mpi_t *mpi = of(fabric);
  sfd_mpi_peer_t *peer = &mpi->peers[node];
  bool planned = sfd_mpi_plan(peer, iov, niov);
  pthread_mutex_lock(&mpi->lock);
  if (planned) {
    peer->send = peer->current;
  } else {
    peer->fail = peer->current;
  }
  sfd_mpi_command(mpi, peer);
  pthread_mutex_unlock(&mpi->lock);
}

/* Waits until MPI does not use the user's memory, which takes no longer than the transfers under way; see stream.c. */
static void disconnect(sfd_fabric_t *fabric, int32_t node)
{
  sfd_mpi_t *mpi = of(fabric);
  sfd_mpi_peer_t *peer = &mpi->peers[node];
  sfd_mpi_unwatch(peer);
  pthread_mutex_lock(&mpi->lock);
  peer->disconnect = true;
  sfd_mpi_command(mpi, peer);
  while (peer->disconnect)
    pthread_cond_wait(&mpi->obeyed, &mpi->lock);
  pthread_mutex_unlock(&mpi->lock);
  peer->current = NULL;
  peer->refused = false;
  peer->no_memory = false;
}

static void close_all(sfd_fabric_t *fabric)
{
  sfd_mpi_t *mpi = of(fabric);
  mpi->closing = true;
  for (int32_t node = 0; node < mpi->fabric.nnodes; node++)
    sfd_mpi_unwatch(&mpi->peers[node]);
  pthread_mutex_lock(&mpi->lock);
  mpi->close = true;
  sfd_mpi_command(mpi, NULL);
  pthread_mutex_unlock(&mpi->lock);
}

static void free_all(sfd_mpi_t *mpi)
{
  for (int32_t node = 0; mpi->peers != NULL && node < mpi->fabric.nnodes; node++) {
    free(mpi->peers[node].outgoing);
    free(mpi->peers[node].gathered);
  }
  while (mpi->unused != NULL) {
    sfd_mpi_item_t *item = mpi->unused;
    mpi->unused = item->next;
    free(item);
  }
  free(mpi->peers);
  free((void *)mpi->places);
  free((void *)mpi->given);
  free((void *)mpi->shown);
  pthread_cond_destroy(&mpi->obeyed);
  pthread_mutex_destroy(&mpi->lock);
  free(mpi);
}

/* MPI_Finalize waits for the other daemons. */
static void destroy(sfd_fabric_t *fabric)
{
  sfd_mpi_t *mpi = of(fabric);
  pthread_mutex_lock(&mpi->lock);
  mpi->finish = true;
  sfd_mpi_command(mpi, NULL);
  pthread_mutex_unlock(&mpi->lock);
  pthread_join(mpi->thread, NULL);
  free_all(mpi);
}

void sfd_mpi_describe(const sfd_fabric_t *fabric, int32_t node, char *text, size_t text_size)
{
  const sfd_mpi_place_t *place = &((const sfd_mpi_t *)fabric)->places[node];
  char address[INET6_ADDRSTRLEN] = "?";
  if (place->naddresses > 0)
    inet_ntop(place->family[0], place->address[0], address, sizeof address);
  snprintf(text, text_size, "node %d (mpi %s, %s port %u)", node, place->host, address, place->port);
}

static const sfd_fabric_functions_t functions = {.name = "mpi",
                                                 .connect = connect_to,
                                                 .send = send_to,
                                                 .disconnect = disconnect,
                                                 .close = close_all,
                                                 .destroy = destroy,
                                                 .describe = sfd_mpi_describe};

/* ---- The beginning ---- */

static sfd_mpi_t *new_fabric(int *argc, char ***argv)
{
  sfd_mpi_t *mpi = calloc(1, sizeof *mpi);
  if (mpi == NULL)
    return NULL;
  mpi->fabric.functions = &functions;
  mpi->argc = argc;
  mpi->argv = argv;
  mpi->epoll_fd = mpi->wake_fd = mpi->listen_fd = -1;
  mpi->notices_end = &mpi->notices;
  mpi->receiving.end = &mpi->receiving.first;
  mpi->discards.end = &mpi->discards.first;
  pthread_mutex_init(&mpi->lock, NULL);
  pthread_cond_init(&mpi->obeyed, NULL);
  return mpi;
}

/* Starts the progress thread and waits until it knows the job. */
static sf_status_t start_thread(sfd_mpi_t *mpi)
{
  int error = sfshm_thread_start(&mpi->thread, 0, sfd_mpi_progress, mpi);
  if (error != 0)
    return sfshm_error(SF_ERR_SYS, "cannot start a thread: %s", strerror(error));
  pthread_mutex_lock(&mpi->lock);
  while (!mpi->started)
    pthread_cond_wait(&mpi->obeyed, &mpi->lock);
  sf_status_t status = mpi->start_status;
  pthread_mutex_unlock(&mpi->lock);
  if (status == SF_OK)
    return SF_OK;
  pthread_join(mpi->thread, NULL);
  return sfshm_error(status, "%s", mpi->start_detail);
}

/* Lets the thread begin, or end. */
static sf_status_t release_thread(sfd_mpi_t *mpi, uv_loop_t *loop)
{
  int error = uv_async_init(loop, &mpi->async, sfd_mpi_deliver);
  mpi->async.data = mpi;
  pthread_mutex_lock(&mpi->lock);
  mpi->go = error == 0;
  mpi->finish = error != 0;
  pthread_cond_broadcast(&mpi->obeyed);
  pthread_mutex_unlock(&mpi->lock);
  if (error == 0)
    return SF_OK;
  pthread_join(mpi->thread, NULL);
  return sfshm_error(SF_ERR_SYS, "cannot make an async handle: %s", uv_strerror(error));
}

sf_status_t sfd_mpi_fabric_create(uv_loop_t *loop, int *argc, char ***argv, sfd_fabric_t **fabric_p)
{
  sfd_mpi_t *mpi = new_fabric(argc, argv);
  if (mpi == NULL)
    return sfshm_error(SF_ERR_NOMEM, "mpi fabric");
  sf_status_t status = start_thread(mpi);
  if (status == SF_OK)
    status = release_thread(mpi, loop);
  if (status != SF_OK) {
    free_all(mpi);
    return status;
  }
  *fabric_p = &mpi->fabric;
  return SF_OK;
}

const char *sfd_mpi_fabric_detail(void)
{
  return sfshm_error_detail();
}
