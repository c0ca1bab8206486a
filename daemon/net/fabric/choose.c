/* Choice of fabric: see choose.h. At start, before the loop runs. */
#include "daemon/net/fabric/choose.h"

#include <stdbool.h>
#include <string.h>

#include "daemon/base.h"
#include "daemon/net/fabric/plugin.h"
#include "daemon/net/fabric/tcp/tcp.h"
#include "daemon/net/fabric/tcp/ticket.h"
#include "shm/base/error.h"

/* Without option, MUNGE if it serves. */
static void try_munge(const sfd_options_t *options, sfd_tcp_options_t *tcp)
{
  sf_status_t status = sfd_plugin_munge(options->plugin_dir, &tcp->munge);
  if (status == SF_OK)
    status = sfd_tcp_ticket_try(tcp->munge, tcp->munge_socket);
  tcp->munge_answers = status == SF_OK;
  if (status == SF_OK)
    return;
  tcp->munge = NULL;
  sfd_log(SFD_LOG_MAIN, SFD_INFO,
          "no option peer-key, and no MUNGE (%s): only daemons of this user on loopback are peers",
          sfshm_error_detail());
}

/* By key file, by MUNGE, or as daemons of one user on one host. */
static sf_status_t choose_proof(const sfd_options_t *options, sfd_tcp_options_t *tcp)
{
  const char *choice = options->peer_auth;
  bool open = choice[0] == '\0', munge = strcmp(choice, "munge") == 0, user = strcmp(choice, "user") == 0;
  bool key = options->peer_key[0] != '\0';
  if (key && (munge || user))
    return sfshm_error(SF_ERR_ARG, "option peer-key is given, but option peer-auth says %s", choice);
  if (key)
    tcp->key_file = options->peer_key;
  else if (munge)
    return sfd_plugin_munge(options->plugin_dir, &tcp->munge);
  else if (open)
    try_munge(options, tcp);
  else if (!user)
    return sfshm_error(SF_ERR_ARG, "option peer-auth says key: option peer-key must be given");
  return SF_OK;
}

static sf_status_t make_tcp(const sfd_options_t *options, uv_loop_t *loop, sfd_fabric_t **fabric_p)
{
  sfd_tcp_options_t tcp = {
      .peers = options->peers,
      .cluster = options->cluster,
      .node = (int32_t)options->node,
      .munge_socket = options->munge_socket,
      .bind = options->bind[0] != '\0' ? options->bind : NULL,
      .listen_fd = (int)options->fabric_fd,
      .connect_timeout_ms = options->connect_timeout_ms,
  };
  sf_status_t status = choose_proof(options, &tcp);
  return status == SF_OK ? sfd_tcp_create(loop, &tcp, fabric_p) : status;
}

sf_status_t sfd_fabric_choose(const sfd_options_t *options, uv_loop_t *loop, sfd_fabric_t **fabric_p)
{
  if (strcmp(options->fabric, "mpi") == 0)
    return sfd_plugin_mpi_fabric(options->plugin_dir, loop, NULL, NULL, fabric_p);
  return make_tcp(options, loop, fabric_p);
}
