/* Messages of a send: small pieces are gathered, large ones sent from their place. The loop's thread. */
#include <stdlib.h>
#include <string.h>

#include "daemon/net/fabric/mpi/internal.h"

static bool is_small(const struct iovec *piece)
{
  return piece->iov_len < SFD_MPI_PIECE;
}

/* Room for the most messages that the pieces can become. */
static bool make_room(sfd_mpi_peer_t *peer, const struct iovec iov[], int niov)
{
  size_t nmessages = 0, nbytes = 0;
  for (int i = 0; i < niov; i++) {
    nmessages += 1 + iov[i].iov_len / SFD_MPI_CHUNK;
    nbytes += is_small(&iov[i]) ? iov[i].iov_len : 0;
  }
  if (nmessages > UINT32_MAX)
    return false;
  if (nmessages > peer->outgoing_size) {
    sfd_mpi_outgoing_t *outgoing = realloc(peer->outgoing, nmessages * sizeof *outgoing);
    if (outgoing == NULL)
      return false;
    peer->outgoing = outgoing;
    peer->outgoing_size = (unsigned)nmessages;
  }
  if (nbytes > peer->gathered_size) {
    uint8_t *gathered = realloc(peer->gathered, nbytes);
    if (gathered == NULL)
      return false;
    peer->gathered = gathered;
    peer->gathered_size = nbytes;
  }
  return true;
}

static void add_large(sfd_mpi_peer_t *peer, const struct iovec *piece)
{
  const uint8_t *data = piece->iov_base;
  for (size_t done = 0, len; done < piece->iov_len; done += len) {
    size_t left = piece->iov_len - done;
    len = left < SFD_MPI_CHUNK ? left : SFD_MPI_CHUNK;
    peer->outgoing[peer->noutgoing++] = (sfd_mpi_outgoing_t){.data = data + done, .len = len};
  }
}

/* Adds to the message that is gathered, or begins one. */
static void add_small(sfd_mpi_peer_t *peer, const struct iovec *piece, size_t ngathered, bool *gathering)
{
  sfd_mpi_outgoing_t *last = *gathering ? &peer->outgoing[peer->noutgoing - 1] : NULL;
  memcpy(peer->gathered + ngathered, piece->iov_base, piece->iov_len);
  if (last != NULL && last->len + piece->iov_len <= SFD_MPI_SMALL) {
    last->len += piece->iov_len;
    return;
  }
  peer->outgoing[peer->noutgoing++] = (sfd_mpi_outgoing_t){.data = peer->gathered + ngathered, .len = piece->iov_len};
  *gathering = true;
}

bool sfd_mpi_plan(sfd_mpi_peer_t *peer, const struct iovec iov[], int niov)
{
  size_t ngathered = 0;
  bool gathering = false;
  if (!make_room(peer, iov, niov))
    return false;
  peer->noutgoing = 0;
  for (int i = 0; i < niov; i++) {
    if (iov[i].iov_len == 0)
      continue;
    if (is_small(&iov[i])) {
      add_small(peer, &iov[i], ngathered, &gathering);
      ngathered += iov[i].iov_len;
    } else {
      add_large(peer, &iov[i]);
      gathering = false;
    }
  }
  return true;
}
