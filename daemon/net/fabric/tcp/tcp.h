/* Fabric tcp: daemons that know each other from a list, with one TCP connection between two that talk. Peers
 * authenticate first (auth.h): by a key from a file, or by MUNGE (ticket.h); without both the fabric listens on
 * loopback only, for daemons of the same user (user.h). sfrun makes a private key for its daemons. Either daemon
 * connects when needed; if both do, one connection remains (peer.c). A daemon that does not answer is tried for a
 * while, as daemons start at different times. The death of a peer is noticed at once; silence, of its host or link,
 * within four seconds, or five if nothing was being sent; interruptions of up to two and a half seconds are survived
 * (watch.c). A peer that receives nothing is not silent while its host answers. An idle fabric wakes once per second.
 * */
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
  const char *peers;    /* list or file: see sfd_peer_list_create */
  const char *cluster;  /* name; NULL: "" */
  int32_t node;         /* number of this daemon; -1: the peer on this host */
  const char *key_file; /* see sfd_tcp_key_read; NULL: */

  const sfd_munge_t *munge; /* outlives the fabric; NULL: peers are daemons of this user on loopback */
  bool munge_answers;       /* munged has answered already */
  const char *munge_socket; /* NULL or "": libmunge's default; outlives the fabric */

  /* HOST:PORT; NULL: listen at this node's entry in the list, where an address means only that address, and a name
   * other than localhost all addresses of the host. */
  const char *bind;

  /* A bound TCP socket, or -1. On success the fabric owns it. */
  int listen_fd;

  /* How long a peer is tried that refuses or closes connections; 0: SFD_TCP_CONNECT_TIMEOUT_MS. */
  int64_t connect_timeout_ms;
} sfd_tcp_options_t;

/* Accepts connections once the loop runs. May block: resolves names if node is -1, and asks munged once. SF_ERR_ARG,
 * SF_ERR_NOT_FOUND: options; SF_ERR_PERM: key file; SF_ERR_EXISTS: address in use; SF_ERR_SYS; SF_ERR_NOMEM. */
sf_status_t sfd_tcp_create(uv_loop_t *loop, const sfd_tcp_options_t *options, sfd_fabric_t **fabric_p)
    __attribute__((warn_unused_result));

#endif
