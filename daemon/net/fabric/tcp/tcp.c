/* The tcp fabric as a whole. The loop's thread. */
#include "daemon/net/fabric/tcp/tcp.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/net/fabric/tcp/internal.h"
#include "daemon/net/fabric/tcp/link.h"
#include "daemon/net/fabric/tcp/user.h"
#include "shm/base/error.h"

static sfd_tcp_t *tcp_of(sfd_fabric_t *fabric)
{
  return (sfd_tcp_t *)fabric; /* its first member */
}

/* ---- What is reported later ---- */

static void settle_peer(sfd_tcp_t *tcp, sfd_tcp_peer_t *peer)
{
  int32_t node = (int32_t)(peer - tcp->peers);
  if (peer->starved) {
    char detail[SFD_TCP_NODE_TEXT_SIZE + 32], name[SFD_TCP_NODE_TEXT_SIZE];
    peer->starved = false;
    sfd_tcp_describe(tcp, node, name);
    snprintf(detail, sizeof detail, "%s: no memory to connect", name);
    tcp->fabric.events->down(tcp->fabric.owner, node, SF_ERR_NOMEM, detail);
  } else if (peer->stream != NULL) {
    sfd_tcp_stream_settle(peer->stream);
  }
}

/* Peers that are added meanwhile wait for the next time, so that sends and reports end. */
static void settle(sfd_tcp_t *tcp)
{
  sfd_tcp_peer_t *last = TAILQ_LAST(&tcp->attention, sfd_tcp_peer_list);
  while (!tcp->closing && last != NULL) {
    sfd_tcp_peer_t *peer = TAILQ_FIRST(&tcp->attention);
    if (peer == last)
      last = NULL;
    TAILQ_REMOVE(&tcp->attention, peer, entry);
    peer->attended = false;
    settle_peer(tcp, peer);
  }
  if (!tcp->closing && TAILQ_EMPTY(&tcp->attention)) {
    uv_idle_stop(&tcp->hurry);
    uv_check_stop(&tcp->settle);
  }
}

static void on_check(uv_check_t *handle)
{
  settle(handle->data);
}

static void on_idle(uv_idle_t *handle)
{
  settle(handle->data);
}

void sfd_tcp_attend(sfd_tcp_t *tcp, int32_t node)
{
  sfd_tcp_peer_t *peer = &tcp->peers[node];
  if (peer->attended || tcp->closing)
    return;
  if (TAILQ_EMPTY(&tcp->attention)) {
    uv_check_start(&tcp->settle, on_check);
    uv_idle_start(&tcp->hurry, on_idle);
  }
  peer->attended = true;
  TAILQ_INSERT_TAIL(&tcp->attention, peer, entry);
}

/* ---- The fabric's functions ---- */

static void tcp_connect(sfd_fabric_t *fabric, int32_t node)
{
  sfd_tcp_t *tcp = tcp_of(fabric);
  assert(node >= 0 && node < fabric->nnodes && node != fabric->node);
  assert(tcp->peers[node].stream == NULL && tcp->peers[node].attempt == NULL);
  if (!tcp->closing)
    sfd_tcp_attempt_begin(tcp, node);
}

static void tcp_send(sfd_fabric_t *fabric, int32_t node, const struct iovec iov[], int niov)
{
  sfd_tcp_conn_t *stream = tcp_of(fabric)->peers[node].stream;
  assert(stream != NULL && !stream->sending);
  sfd_tcp_stream_send(stream, iov, niov);
}

static void tcp_disconnect(sfd_fabric_t *fabric, int32_t node)
{
  sfd_tcp_peer_disconnect(tcp_of(fabric), node);
}

static void on_handle_closed(uv_handle_t *handle)
{
  sfd_tcp_released(handle->data);
}

static void tcp_close(sfd_fabric_t *fabric)
{
  sfd_tcp_t *tcp = tcp_of(fabric);
  if (tcp->closing)
    return;
  tcp->closing = true;
  for (int32_t node = 0; node < fabric->nnodes; node++)
    sfd_tcp_peer_disconnect(tcp, node);
  while (!TAILQ_EMPTY(&tcp->pending))
    sfd_tcp_conn_drop(TAILQ_FIRST(&tcp->pending));
  uv_handle_t *const handles[] = {(uv_handle_t *)&tcp->listen_poll, (uv_handle_t *)&tcp->accept_retry,
                                  (uv_handle_t *)&tcp->settle, (uv_handle_t *)&tcp->hurry, (uv_handle_t *)&tcp->watch};
  for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++)
    uv_close(handles[i], on_handle_closed);
  close(tcp->listen_fd);
}

void sfd_tcp_released(sfd_tcp_t *tcp)
{
  if (--tcp->nopen == 0 && tcp->closing)
    tcp->fabric.events->closed(tcp->fabric.owner);
}

static void free_tcp(sfd_tcp_t *tcp)
{
  sfd_tcp_key_wipe(&tcp->key);
  sfd_peer_list_free(&tcp->list);
  free(tcp);
}

static void tcp_destroy(sfd_fabric_t *fabric)
{
  sfd_tcp_t *tcp = tcp_of(fabric);
  assert(tcp->closing && tcp->nopen == 0);
  free_tcp(tcp);
}

void sfd_tcp_describe(const sfd_tcp_t *tcp, int32_t node, char text[SFD_TCP_NODE_TEXT_SIZE])
{
  char address[SFD_PEER_TEXT_SIZE];
  sfd_peer_address_print(&tcp->list.peers[node], address, sizeof address);
  snprintf(text, SFD_TCP_NODE_TEXT_SIZE, "node %d (tcp %s)", node, address);
}

static void tcp_describe(const sfd_fabric_t *fabric, int32_t node, char *text, size_t text_size)
{
  char name[SFD_TCP_NODE_TEXT_SIZE];
  sfd_tcp_describe((const sfd_tcp_t *)fabric, node, name);
  snprintf(text, text_size, "%s", name);
}

static bool tcp_link(const sfd_fabric_t *fabric, int32_t node, sfd_fabric_link_t *link_p)
{
  const sfd_tcp_conn_t *stream = ((const sfd_tcp_t *)fabric)->peers[node].stream;
  return stream != NULL && sfd_tcp_link_look(stream->fd, link_p);
}

static const sfd_fabric_functions_t functions = {
    .name = "tcp",
    .connect = tcp_connect,
    .send = tcp_send,
    .disconnect = tcp_disconnect,
    .close = tcp_close,
    .destroy = tcp_destroy,
    .describe = tcp_describe,
    .link = tcp_link,
};

/* ---- Creation ---- */

/* Port to listen on; 0: from the list of peers. */
static sf_status_t find_port(const sfd_tcp_options_t *options, uint16_t *port_p)
{
  *port_p = 0;
  if (options->listen_fd >= 0)
    return sfd_tcp_port(options->listen_fd, port_p);
  if (options->bind == NULL)
    return SF_OK;
  sfd_peer_address_t address;
  sf_status_t status = sfd_peer_address_parse(options->bind, &address);
  if (status != SF_OK)
    return status;
  *port_p = address.port;
  free(address.host);
  return SF_OK;
}

static sf_status_t find_node(const sfd_tcp_options_t *options, const sfd_peer_list_t *list, int32_t *node_p)
{
  if (options->node >= list->count || options->node < -1)
    return sfshm_error(SF_ERR_ARG, "node %d is not in the list of %d peers", options->node, list->count);
  *node_p = options->node;
  if (options->node >= 0)
    return SF_OK;
  uint16_t port = 0;
  sf_status_t status = find_port(options, &port);
  return status != SF_OK ? status : sfd_peer_list_find(list, port, node_p);
}

/* All but the socket. */
static sf_status_t allocate(uv_loop_t *loop, const sfd_tcp_options_t *options, sfd_tcp_t **tcp_p)
{
  sfd_peer_list_t list;
  int32_t node = -1;
  sf_status_t status = sfd_peer_list_create(options->peers, &list);
  if (status != SF_OK)
    return status;
  status = sfd_peer_list_check(&list);
  if (status == SF_OK)
    status = find_node(options, &list, &node);
  sfd_tcp_t *tcp = NULL;
  if (status == SF_OK && (tcp = calloc(1, sizeof *tcp + (size_t)list.count * sizeof tcp->peers[0])) == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "no memory for %d peers", list.count);
  if (status != SF_OK) {
    sfd_peer_list_free(&list);
    return status;
  }
  tcp->fabric = (sfd_fabric_t){.functions = &functions, .node = node, .nnodes = list.count};
  tcp->loop = loop;
  tcp->list = list;
  tcp->cluster = sfd_tcp_cluster_make(&list, options->cluster != NULL ? options->cluster : "");
  tcp->connect_timeout_ms =
      options->connect_timeout_ms > 0 ? (uint64_t)options->connect_timeout_ms : SFD_TCP_CONNECT_TIMEOUT_MS;
  TAILQ_INIT(&tcp->pending);
  TAILQ_INIT(&tcp->attention);
  TAILQ_INIT(&tcp->watched);
  TAILQ_INIT(&tcp->tickets.queue);
  *tcp_p = tcp;
  return SF_OK;
}

/* The poll handle is first: only it can fail. */
static sf_status_t make_handles(sfd_tcp_t *tcp)
{
  int rc = uv_poll_init(tcp->loop, &tcp->listen_poll, tcp->listen_fd);
  if (rc != 0)
    return sfshm_error(SF_ERR_SYS, "cannot poll the listening socket: %s", uv_strerror(rc));
  uv_timer_init(tcp->loop, &tcp->accept_retry);
  uv_timer_init(tcp->loop, &tcp->watch);
  uv_check_init(tcp->loop, &tcp->settle);
  uv_idle_init(tcp->loop, &tcp->hurry);
  tcp->listen_poll.data = tcp->accept_retry.data = tcp->watch.data = tcp->settle.data = tcp->hurry.data = tcp;
  tcp->nopen = 5;
  return SF_OK;
}

/* Key, MUNGE or user. */
static sf_status_t prepare_proof(sfd_tcp_t *tcp, const sfd_tcp_options_t *options)
{
  if (options->key_file != NULL)
    return sfd_tcp_key_read(options->key_file, &tcp->key);
  tcp->munge = options->munge;
  tcp->by_user = options->munge == NULL;
  tcp->munge_socket = options->munge_socket != NULL ? options->munge_socket : "";
  return tcp->by_user || options->munge_answers ? sfd_tcp_auth_begin()
                                                : sfd_tcp_ticket_try(tcp->munge, tcp->munge_socket);
}

sf_status_t sfd_tcp_create(uv_loop_t *loop, const sfd_tcp_options_t *options, sfd_fabric_t **fabric_p)
{
  sfd_tcp_t *tcp = NULL;
  sf_status_t status = allocate(loop, options, &tcp);
  if (status != SF_OK)
    return status;
  status = prepare_proof(tcp, options);
  if (status == SF_OK)
    status = sfd_tcp_bind(options->bind, &tcp->list.peers[tcp->fabric.node], options->listen_fd, &tcp->listen_fd);
  if (status != SF_OK)
    goto err_free;
  if (tcp->by_user)
    status = sfd_tcp_user_check_bound(tcp->listen_fd);
  if (status == SF_OK)
    status = sfd_tcp_listen(tcp->listen_fd);
  if (status == SF_OK)
    status = make_handles(tcp);
  if (status != SF_OK)
    goto err_close;
  sfd_tcp_accept_start(tcp);
  *fabric_p = &tcp->fabric;
  return SF_OK;

err_close:
  if (tcp->listen_fd != options->listen_fd)
    close(tcp->listen_fd);
err_free:
  free_tcp(tcp);
  return status;
}
