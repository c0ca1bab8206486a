/* The fabric of daemons that know each other from a list: one TCP connection between every two that talk.
 *
 * Peers must prove that they belong to the cluster before anything else is listened to (auth.h): all know one key,
 * from a file, or MUNGE knows them (ticket.h). Without both the fabric listens on loopback only, and peers are
 * daemons of the same user there (user.h). sfrun makes a private key for the daemons that it starts.
 *
 * A connection is made when one of the two asks for it. If both do, one remains (peer.c). A daemon that does not
 * answer yet is tried again for a while, because daemons start at different times.
 *
 * A peer that died is noticed at once; one that became silent, because its host or the link died, within four seconds,
 * or five if nothing was being sent, and interruptions of up to two and a half seconds are survived (watch.c).
 * A peer that takes nothing is no silent one, if its host answers. An idle fabric wakes once a second to look. */
#ifndef SFD_NET_FABRIC_TCP_TCP_H
#define SFD_NET_FABRIC_TCP_TCP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/net/fabric/fabric.h"
#include "daemon/net/fabric/munge/plugin.h"

#define SFD_TCP_CONNECT_TIMEOUT_MS 10000

typedef struct sfd_tcp_options {
  const char *peers;    /* list or name of a file: see sfd_peer_list_create */
  int32_t node;         /* this daemon's number; -1: the one peer that is this host */
  const char *key_file; /* see sfd_tcp_key_read; unless there is: */

  const sfd_munge_t *munge; /* stays; or NULL: peers are daemons of this user on loopback */
  bool munge_answers;       /* it has been asked already */
  const char *munge_socket; /* NULL or "": where libmunge looks for it; outlives the fabric */

  /* Where to listen, if not where the list says that this node is. There, an address means just that one, a name other
   * than localhost means all addresses of the host: what the name resolves to may be good for this host only. */
  const char *bind; /* HOST:PORT or NULL */

  /* A TCP socket that is bound already, or -1. On success the fabric owns it. */
  int listen_fd;

  /* For how long a peer is tried that refuses connections, or closes them; 0: SFD_TCP_CONNECT_TIMEOUT_MS. */
  int64_t connect_timeout_ms;
} sfd_tcp_options_t;

/* Listens and takes connections as soon as the loop runs. Resolves names only if node is -1, and that may block, as
 * munged may, which is asked once. SF_ERR_ARG, SF_ERR_NOT_FOUND: the options; SF_ERR_PERM: the key file; SF_ERR_EXISTS:
 * the address is in use; SF_ERR_SYS; SF_ERR_NOMEM. */
sf_status_t sfd_tcp_create(uv_loop_t *loop, const sfd_tcp_options_t *options, sfd_fabric_t **fabric_p)
    __attribute__((warn_unused_result));

#endif
