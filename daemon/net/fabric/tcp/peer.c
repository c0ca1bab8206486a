/* Choice of the connection that becomes the stream with a peer. The loop's thread. Both sides may connect at once, and
 * see their own ends only. Therefore the node with the lower number decides: it commits to its own attempt when it
 * sends its proof, or to a connection of the other one when it sends its verdict; to a second one only after the first
 * has failed. The higher node agrees to any. While the attempt of the lower node is past the kernel, proven connections
 * of the higher one are parked: used if the attempt fails, dropped if it succeeds. When a stream is up, all unproven
 * connections that claim that node are dropped. The higher node closes its attempt before it agrees, hence before the
 * lower one is up. So a connection that proves the node later comes from a fresh start and replaces the stream; from
 * another host it is refused, because that daemon's list of peers differs. */
#include <stdio.h>

#include "daemon/base.h"
#include "daemon/net/fabric/tcp/internal.h"

static sfd_tcp_peer_t *peer_of(const sfd_tcp_conn_t *conn)
{
  return &conn->tcp->peers[conn->node];
}

static void unlist(sfd_tcp_conn_t *conn)
{
  if (!conn->pending)
    return;
  conn->pending = false;
  TAILQ_REMOVE(&conn->tcp->pending, conn, pending_entry);
  conn->tcp->npending--;
}

void sfd_tcp_peer_forget(sfd_tcp_conn_t *conn)
{
  unlist(conn);
  if (conn->node < 0)
    return;
  sfd_tcp_peer_t *peer = peer_of(conn);
  if (peer->stream == conn)
    peer->stream = NULL;
  if (peer->parked == conn)
    peer->parked = NULL;
  if (sfd_tcp_attempt_conn(peer->attempt) == conn)
    sfd_tcp_attempt_forget(peer->attempt);
}

static void drop_claims(sfd_tcp_t *tcp, int32_t node)
{
  SFD_FOREACH_SAFE (sfd_tcp_conn_t, conn, &tcp->pending, pending_entry)
    if (conn->node == node)
      sfd_tcp_conn_drop(conn);
  if (tcp->peers[node].parked != NULL)
    sfd_tcp_conn_drop(tcp->peers[node].parked);
}

static void establish(sfd_tcp_conn_t *conn)
{
  sfd_tcp_t *tcp = conn->tcp;
  sfd_tcp_peer_t *peer = peer_of(conn);
  sfd_tcp_peer_forget(conn);
  sfd_tcp_attempt_end(peer->attempt);
  drop_claims(tcp, conn->node);
  peer->starved = false;
  peer->stream = conn;
  conn->state = SFD_TCP_UP;
  uv_timer_stop(&conn->timer);
  sfd_tcp_watch(conn);
  tcp->fabric.events->up(tcp->fabric.owner, conn->node);
}

/* Uses a connection of the peer. */
static void take(sfd_tcp_conn_t *conn)
{
  sfd_tcp_conn_t *old = peer_of(conn)->stream;
  if (old != NULL)
    sfd_tcp_stream_lost(old, SF_ERR_DAEMON_LOST, "has begun a new connection");
  if (conn->state == SFD_TCP_CLOSED)
    return;
  if (sfd_tcp_handshake_accept(conn))
    establish(conn);
  else
    sfd_tcp_conn_drop(conn);
}

void sfd_tcp_peer_judged(sfd_tcp_conn_t *conn)
{
  establish(conn);
}

void sfd_tcp_peer_proven(sfd_tcp_conn_t *conn)
{
  sfd_tcp_peer_t *peer = peer_of(conn);
  const sfd_tcp_conn_t *own = sfd_tcp_attempt_conn(peer->attempt);
  bool decides = conn->tcp->fabric.node < conn->node;
  if (!decides || own == NULL || own->state == SFD_TCP_CONNECTING) {
    take(conn);
    return;
  }
  if (peer->parked != NULL)
    sfd_tcp_conn_drop(peer->parked);
  unlist(conn);
  conn->state = SFD_TCP_PARKED;
  peer->parked = conn;
}

bool sfd_tcp_peer_take_parked(sfd_tcp_peer_t *peer)
{
  sfd_tcp_conn_t *conn = peer->parked;
  if (conn == NULL)
    return false;
  take(conn);
  return peer->stream == conn;
}

void sfd_tcp_peer_disconnect(sfd_tcp_t *tcp, int32_t node)
{
  sfd_tcp_peer_t *peer = &tcp->peers[node];
  peer->starved = false;
  sfd_tcp_attempt_end(peer->attempt);
  if (peer->stream != NULL)
    sfd_tcp_conn_drop(peer->stream);
  if (peer->parked != NULL)
    sfd_tcp_conn_drop(peer->parked);
}
