/* Exchanges: see slots.h. The daemon's thread. */
#include "daemon/data/slots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "daemon/data/data.h"
#include "daemon/data/trunks_internal.h"
#include "daemon/jobs.h"
#include "shm/base/error.h"

#define MAX_EXCHANGE_BYTES (UINT64_C(1) << 40)

/* ---- What users have --------------------------------------------------------------------------------------------- */

/* Memory of all exchanges of a user; freed when there is none. */
struct sfd_account {
  LIST_ENTRY(sfd_account) entry;
  uid_t uid;
  uint64_t bytes;
};

static struct sfd_account *find_account(sfd_server_t *server, uid_t uid)
{
  struct sfd_account *account;
  LIST_FOREACH (account, &server->data->accounts, entry)
    if (account->uid == uid)
      return account;
  account = calloc(1, sizeof *account);
  if (account == NULL)
    return NULL;
  account->uid = uid;
  LIST_INSERT_HEAD(&server->data->accounts, account, entry);
  return account;
}

static void settle(struct sfd_account *account, uint64_t bytes)
{
  account->bytes -= bytes;
  if (account->bytes > 0)
    return;
  LIST_REMOVE(account, entry);
  free(account);
}

/* If users share the daemon, each leaves something to others. */
static uint64_t quota_of(const sfd_server_t *server)
{
  int64_t mib = server->options->max_exchange_memory;
  if (mib >= 0)
    return (uint64_t)mib << 20;
  return server->uid == 0 ? sfshm_memory_bytes() / 2 : UINT64_MAX;
}

/* Counts bytes for the user. SF_ERR_LIMIT, SF_ERR_NOMEM. */
static sf_status_t take(const sfd_job_t *job, uint64_t bytes, struct sfd_account **account_p)
{
  uint64_t quota = quota_of(job->server);
  struct sfd_account *account = find_account(job->server, job->uid);
  if (account == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for the account of uid %u", job->uid);
  uint64_t used = account->bytes;
  if (used <= quota && bytes <= quota - used) {
    account->bytes += bytes;
    *account_p = account;
    return SF_OK;
  }
  settle(account, 0);
  return sfshm_error(SF_ERR_LIMIT,
                     "uid %u may have %" PRIu64 " bytes in this node's exchanges (option max-exchange-memory), has "
                     "%" PRIu64 ", and wants %" PRIu64 " more",
                     job->uid, quota, used, bytes);
}

/* ---- Making and freeing ------------------------------------------------------------------------------------------ */

static sf_status_t make_region(sfd_exchange_t *exchange, sfd_job_t *job, uint64_t length)
{
  sf_status_t status = take(job, length, &exchange->account);
  if (status != SF_OK)
    return status;
  status = sfd_job_hold_fd(job);
  if (status != SF_OK)
    goto err_account;
  exchange->taken_bytes = length;
  status = sfshm_region_create("sf-exchange", SFSHM_REGION_EXCHANGE, length, SFSHM_SEAL_SIZE, SFSHM_COMMIT_ALL,
                               &exchange->region);
  if (status == SF_OK)
    return SF_OK;
  sfd_job_drop_fd(job->server, job);
err_account:
  settle(exchange->account, length);
  return status;
}

static sf_status_t make_exchange(sfd_trunks_t *trunks, uint64_t class_bytes, int64_t side, sfd_exchange_t **exchange_p)
{
  sfd_exchange_t *exchange = calloc(1, sizeof *exchange + trunks->nsides * sizeof exchange->slots[0]);
  const sfshm_trunk_map_t *map = trunks->plan->map.base;
  uint64_t length;
  if (exchange == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for an exchange of %u sides", trunks->nsides);
  exchange->class_bytes = class_bytes;
  exchange->side = side;
  sf_status_t status = sfshm_exchange_layout(map->sides, trunks->nsides, side, class_bytes, MAX_EXCHANGE_BYTES,
                                             exchange->slots, &length);
  if (status == SF_OK)
    status = make_region(exchange, trunks->graph->group->job, length);
  if (status != SF_OK) {
    free(exchange);
    return status;
  }
  exchange->next = trunks->exchanges;
  trunks->exchanges = exchange;
  *exchange_p = exchange;
  return SF_OK;
}

void sfd_trunk_exchanges_retire(sfd_trunks_t *trunks)
{
  for (sfd_exchange_t *exchange = trunks->exchanges; exchange != NULL; exchange = exchange->next) {
    sfd_job_close_fd(trunks->graph->group->job, exchange->region.fd);
    exchange->region.fd = -1;
  }
}

void sfd_trunk_exchanges_free(sfd_trunks_t *trunks)
{
  while (trunks->exchanges != NULL) {
    sfd_exchange_t *exchange = trunks->exchanges;
    trunks->exchanges = exchange->next;
    sfshm_region_destroy(&exchange->region);
    settle(exchange->account, exchange->taken_bytes);
    free(exchange);
  }
}

static uint64_t own_class_of(sfd_trunks_t *trunks)
{
  const sfshm_trunk_map_t *map = trunks->plan->map.base;
  if (trunks->own_class == 0)
    trunks->own_class = sfshm_own_class(map->sides, trunks->nsides);
  return trunks->own_class;
}

sf_status_t sfd_trunks_exchange_of_blocks(sfd_trunks_t *trunks, uint64_t class_bytes, uint32_t side,
                                          sfd_exchange_t **exchange_p)
{
  return sfd_trunks_exchange(trunks, class_bytes, class_bytes < own_class_of(trunks) ? SFSHM_ALL_SIDES : (int64_t)side,
                             exchange_p);
}

sf_status_t sfd_trunks_exchange(sfd_trunks_t *trunks, uint64_t class_bytes, int64_t side, sfd_exchange_t **exchange_p)
{
  for (sfd_exchange_t *exchange = trunks->exchanges; exchange != NULL; exchange = exchange->next)
    if (exchange->class_bytes == class_bytes && exchange->side == side) {
      *exchange_p = exchange;
      return SF_OK;
    }
  return make_exchange(trunks, class_bytes, side, exchange_p);
}

static bool is_class(uint64_t class_bytes)
{
  return class_bytes <= INT64_MAX && sfshm_exchange_class((size_t)class_bytes) == class_bytes;
}

/* Descriptor of the exchange. */
static sf_status_t find_fd(sfd_trunks_t *trunks, uint64_t class_bytes, int64_t side, int *fd_p)
{
  sfd_exchange_t *exchange = NULL;
  sf_status_t status = class_bytes != 0 ? sfd_trunks_exchange(trunks, class_bytes, side, &exchange) : SF_OK;
  if (status == SF_OK)
    *fd_p = exchange != NULL ? exchange->region.fd : sfd_trunk_memory_fd(&trunks->board);
  return status;
}

void sfd_trunks_handle_exchange_get(sfd_session_t *session, const Sfproto__Message *message)
{
  const Sfproto__ExchangeGet *get = message->exchange_get;
  const sfd_graph_t *graph = sfd_graph_find(session->rank->job, get->graph);
  int fd;
  if (graph == NULL || graph->trunks == NULL || sfd_group_rank_of(graph->group, session->rank->number) < 0) {
    sfd_session_send_errorf(session, message->request, SF_ERR_NOT_FOUND, "rank %d has no graph %" PRIu64 " over nodes",
                            session->rank->number, get->graph);
    return;
  }
  if (get->class_bytes != 0 && !is_class(get->class_bytes)) {
    sfd_session_refuse(session, message->request, SF_ERR_PROTO, "ExchangeGet for units of %" PRIu64 " bytes",
                       get->class_bytes);
    return;
  }
  if (get->has_side && (get->side >= graph->trunks->nsides || get->class_bytes < own_class_of(graph->trunks))) {
    sfd_session_refuse(session, message->request, SF_ERR_PROTO,
                       "ExchangeGet for side %" PRIu32 " and units of %" PRIu64 " bytes", get->side, get->class_bytes);
    return;
  }
  int64_t side = get->has_side ? (int64_t)get->side : SFSHM_ALL_SIDES;
  sf_status_t status = find_fd(graph->trunks, get->class_bytes, side, &fd);
  if (status != SF_OK) {
    sfd_session_send_errorf(session, message->request, status, "%s", sfshm_error_detail());
    return;
  }
  Sfproto__Message reply = SFPROTO_MESSAGE_OF(EXCHANGE, exchange);
  reply.request = message->request;
  sfd_session_send(session, &reply, &fd, 1);
}
