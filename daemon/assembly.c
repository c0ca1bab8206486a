/* Assemblies: see assembly.h. The daemon's thread. */
#include "daemon/assembly.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/join.h"
#include "daemon/log.h"
#include "daemon/network.h"
#include "shm/error.h"

#define DIGEST_BYTES 32
#define MAX_TIMEOUT_MS (INT64_C(1000) * 86400 * 365)

/* A job that is joining, or that runs, at its home. */
typedef struct sfd_assembly {
  TAILQ_ENTRY(sfd_assembly) entry;
  sfd_server_t *server;
  uint64_t job; /* 0: it is joining */
  uint32_t uid;
  char name[SFD_NAME_SIZE];
  uint8_t digest[DIGEST_BYTES]; /* of the key */
  int32_t size;
  int32_t ncame;
  uv_timer_t timer;     /* until the earliest deadline */
  int32_t rank_nodes[]; /* -1: has not come, or it is over where the rank was */
} sfd_assembly_t;

/* ---- Home -------------------------------------------------------------------------------------------------------- */

static void make_digest(const char *text, uint8_t digest[DIGEST_BYTES])
{
  (void)crypto_generichash(digest, DIGEST_BYTES, (const uint8_t *)text, strlen(text), NULL, 0);
}

/* The same on all nodes. */
static int32_t home_of(const sfd_server_t *server, uint32_t uid, const char *name)
{
  uint32_t hash = 2166136261u ^ uid; /* FNV-1a */
  for (const char *p = name; *p != '\0'; p++)
    hash = (hash ^ (uint8_t)*p) * 16777619u;
  return (int32_t)(hash % (uint32_t)sfd_network_nnodes(server));
}

typedef sf_status_t (*handler_t)(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* To this node itself a message goes without a channel. */
static void send_to(sfd_server_t *server, int32_t node, handler_t handler, const Sfpeer__Message *message)
{
  if (node == sfd_network_node(server))
    (void)handler(server, node, message);
  else
    sfd_network_send(server, node, message);
}

static sfd_assembly_t *find(const sfd_server_t *server, uint32_t uid, const char *name)
{
  sfd_assembly_t *assembly;
  TAILQ_FOREACH(assembly, &server->assemblies, entry)
  {
    if (assembly->job == 0 && assembly->uid == uid && strcmp(assembly->name, name) == 0)
      return assembly;
  }
  return NULL;
}

static void on_timer_closed(uv_handle_t *handle)
{
  free(handle->data);
}

static void forget(sfd_assembly_t *assembly)
{
  TAILQ_REMOVE(&assembly->server->assemblies, assembly, entry);
  uv_close((uv_handle_t *)&assembly->timer, on_timer_closed);
}

void sfd_assemblies_free(sfd_server_t *server)
{
  while (!TAILQ_EMPTY(&server->assemblies))
    forget(TAILQ_FIRST(&server->assemblies));
}

/* Calls send_to once for each node that ranks have come to. */
static void send_to_all(const sfd_assembly_t *assembly, handler_t handler, const Sfpeer__Message *message)
{
  int32_t nnodes = sfd_network_nnodes(assembly->server);
  bool *has = calloc((size_t)nnodes, sizeof *has);
  for (int32_t r = 0; has != NULL && r < assembly->size; r++)
    if (assembly->rank_nodes[r] >= 0)
      has[assembly->rank_nodes[r]] = true;
  for (int32_t node = 0; node < nnodes; node++)
    if (has == NULL || has[node])
      send_to(assembly->server, node, handler, message);
  free(has);
}

static void refuse(sfd_server_t *server, int32_t node, const Sfpeer__JobJoin *join, sf_status_t status)
{
  Sfpeer__JobRefuse refusal = SFPEER__JOB_REFUSE__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  char detail[SFD_TEXT_SIZE];
  sfd_text_printable(detail, sizeof detail, sfshm_error_detail());
  refusal.uid = join->uid;
  refusal.name = join->name;
  refusal.status = status;
  refusal.detail = detail;
  refusal.ranks = join->ranks;
  refusal.n_ranks = join->n_ranks;
  message.body_case = SFPEER__MESSAGE__BODY_JOB_REFUSE;
  message.job_refuse = &refusal;
  send_to(server, node, sfd_assembly_handle_refuse, &message);
}

static void refuse_all(sfd_assembly_t *assembly, sf_status_t status, const char *detail)
{
  Sfpeer__JobRefuse refusal = SFPEER__JOB_REFUSE__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  refusal.uid = assembly->uid;
  refusal.name = assembly->name;
  refusal.status = status;
  refusal.detail = (char *)(uintptr_t)detail; /* only read; protobuf-c has no const */
  message.body_case = SFPEER__MESSAGE__BODY_JOB_REFUSE;
  message.job_refuse = &refusal;
  send_to_all(assembly, sfd_assembly_handle_refuse, &message);
  forget(assembly);
}

static bool is_missing(const void *context, int32_t rank)
{
  return ((const sfd_assembly_t *)context)->rank_nodes[rank] < 0;
}

static void on_timeout(uv_timer_t *timer)
{
  sfd_assembly_t *assembly = timer->data;
  char missing[SFD_TEXT_SIZE / 2], text[SFD_TEXT_SIZE];
  int32_t nmissing = assembly->size - assembly->ncame;
  sfd_text_ranges(missing, sizeof missing, assembly->size, is_missing, assembly);
  snprintf(text, sizeof text, "%d of %d ranks of job \"%.64s\" did not come in time: rank%s %s", nmissing,
           assembly->size, assembly->name, nmissing > 1 ? "s" : "", missing);
  sfd_log(SFD_LOG_JOB, SFD_WARN, "%s", text);
  refuse_all(assembly, SF_ERR_TIMEOUT, text);
}

static void start(sfd_assembly_t *assembly)
{
  Sfpeer__JobStart started = SFPEER__JOB_START__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  assembly->job = sfd_server_new_id(assembly->server);
  uv_timer_stop(&assembly->timer);
  started.uid = assembly->uid;
  started.name = assembly->name;
  started.job = assembly->job;
  started.rank_nodes = assembly->rank_nodes;
  started.n_rank_nodes = (size_t)assembly->size;
  message.body_case = SFPEER__MESSAGE__BODY_JOB_START;
  message.job_start = &started;
  send_to_all(assembly, sfd_assembly_handle_start, &message);
}

/* Nothing of the job is left on the node; with the last one it is forgotten. */
static void leave_node(sfd_assembly_t *assembly, int32_t node)
{
  bool left = false;
  for (int32_t r = 0; r < assembly->size; r++) {
    if (assembly->rank_nodes[r] == node)
      assembly->rank_nodes[r] = -1;
    left |= assembly->rank_nodes[r] >= 0;
  }
  if (!left)
    forget(assembly);
}

sf_status_t sfd_assembly_handle_over(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  sfd_assembly_t *assembly;
  TAILQ_FOREACH(assembly, &server->assemblies, entry)
  {
    if (assembly->job == message->job_over->job)
      break;
  }
  if (assembly != NULL)
    leave_node(assembly, node);
  return SF_OK;
}

/* Of a job that runs: its other nodes are told. */
static void fail_running(sfd_assembly_t *assembly, int32_t node, const char *text)
{
  Sfpeer__JobFail fail = SFPEER__JOB_FAIL__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  fail.job = assembly->job;
  fail.status = SF_ERR_RANK_FAILED;
  fail.detail = (char *)(uintptr_t)text; /* only read; protobuf-c has no const */
  message.body_case = SFPEER__MESSAGE__BODY_JOB_FAIL;
  message.job_fail = &fail;
  for (int32_t r = 0; r < assembly->size; r++)
    if (assembly->rank_nodes[r] == node)
      assembly->rank_nodes[r] = -1;
  send_to_all(assembly, sfd_job_handle_peer_fail, &message);
  leave_node(assembly, node);
}

static sf_status_t begin(sfd_server_t *server, const Sfpeer__JobJoin *join, sfd_assembly_t **assembly_p)
{
  sfd_assembly_t *assembly = calloc(1, sizeof *assembly + (size_t)join->size * sizeof assembly->rank_nodes[0]);
  if (assembly == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a job of %d ranks", join->size);
  assembly->server = server;
  assembly->uid = join->uid;
  snprintf(assembly->name, sizeof assembly->name, "%s", join->name);
  memcpy(assembly->digest, join->key_digest.data, DIGEST_BYTES);
  assembly->size = join->size;
  for (int32_t r = 0; r < join->size; r++)
    assembly->rank_nodes[r] = -1;
  uv_timer_init(server->loop, &assembly->timer);
  assembly->timer.data = assembly;
  TAILQ_INSERT_TAIL(&server->assemblies, assembly, entry);
  *assembly_p = assembly;
  return SF_OK;
}

static sf_status_t check_join(const sfd_assembly_t *assembly, const Sfpeer__JobJoin *join)
{
  if (sodium_memcmp(assembly->digest, join->key_digest.data, DIGEST_BYTES) != 0)
    return sfshm_error(SF_ERR_PERM, "job \"%.64s\" has another key", join->name);
  if (assembly->size != join->size)
    return sfshm_error(SF_ERR_ARG, "rank %d says that job \"%.64s\" has %d ranks, those before it said %d",
                       join->ranks[0], join->name, join->size, assembly->size);
  for (size_t i = 0; i < join->n_ranks; i++)
    if (assembly->rank_nodes[join->ranks[i]] >= 0)
      return sfshm_error(SF_ERR_EXISTS, "job \"%.64s\" has a rank %d already, on node %d", join->name, join->ranks[i],
                         assembly->rank_nodes[join->ranks[i]]);
  return SF_OK;
}

static void set_deadline(sfd_assembly_t *assembly, int64_t timeout_ms)
{
  uint64_t timeout = (uint64_t)(timeout_ms > MAX_TIMEOUT_MS ? MAX_TIMEOUT_MS : timeout_ms < 0 ? 0 : timeout_ms);
  if (!uv_is_active((uv_handle_t *)&assembly->timer) || uv_timer_get_due_in(&assembly->timer) > timeout)
    uv_timer_start(&assembly->timer, on_timeout, timeout, 0);
}

sf_status_t sfd_assembly_handle_join(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobJoin *join = message->job_join;
  sfd_assembly_t *assembly = find(server, join->uid, join->name);
  if (join->key_digest.len != DIGEST_BYTES || !sfd_text_is_name(join->name) || join->size < 1 || join->n_ranks < 1)
    return sfshm_error(SF_ERR_PROTO, "node %d sent a malformed JobJoin", node);
  for (size_t i = 0; i < join->n_ranks; i++)
    if (join->ranks[i] < 0 || join->ranks[i] >= join->size)
      return sfshm_error(SF_ERR_PROTO, "node %d sent a JobJoin for rank %d of %d", node, join->ranks[i], join->size);
  sf_status_t status = assembly == NULL ? begin(server, join, &assembly) : check_join(assembly, join);
  if (status != SF_OK) {
    refuse(server, node, join, status);
    return SF_OK;
  }
  for (size_t i = 0; i < join->n_ranks; i++)
    if (assembly->rank_nodes[join->ranks[i]] < 0) {
      assembly->rank_nodes[join->ranks[i]] = node;
      assembly->ncame++;
    }
  if (assembly->ncame == assembly->size)
    start(assembly);
  else
    set_deadline(assembly, join->timeout_ms);
  return SF_OK;
}

sf_status_t sfd_assembly_handle_withdraw(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobWithdraw *withdraw = message->job_withdraw;
  sfd_assembly_t *assembly = find(server, withdraw->uid, withdraw->name);
  (void)node;
  if (assembly != NULL)
    refuse_all(assembly, withdraw->status < SF_OK ? (sf_status_t)withdraw->status : SF_ERR_INTERNAL, withdraw->detail);
  return SF_OK;
}

/* ---- Where ranks come -------------------------------------------------------------------------------------------- */

int32_t sfd_assembly_home(const sfd_job_t *job)
{
  return home_of(job->server, job->uid, job->name);
}

void sfd_assembly_rank_came(sfd_rank_t *rank, int64_t timeout_ms)
{
  sfd_job_t *job = rank->job;
  sfd_server_t *server = job->server;
  Sfpeer__JobJoin join = SFPEER__JOB_JOIN__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  uint8_t digest[DIGEST_BYTES];
  make_digest(job->key, digest);
  join.uid = job->uid;
  join.name = job->name;
  join.key_digest = (ProtobufCBinaryData){sizeof digest, digest};
  join.size = job->size;
  join.ranks = &rank->number;
  join.n_ranks = 1;
  join.timeout_ms = timeout_ms;
  message.body_case = SFPEER__MESSAGE__BODY_JOB_JOIN;
  message.job_join = &join;
  send_to(server, home_of(server, job->uid, job->name), sfd_assembly_handle_join, &message);
}

void sfd_assembly_over(sfd_job_t *job)
{
  Sfpeer__JobOver over = SFPEER__JOB_OVER__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  sfd_server_t *server = job->server;
  if (job->rank_nodes == NULL || server->stopping)
    return;
  over.job = job->id;
  message.body_case = SFPEER__MESSAGE__BODY_JOB_OVER;
  message.job_over = &over;
  send_to(server, home_of(server, job->uid, job->name), sfd_assembly_handle_over, &message);
}

void sfd_assembly_withdraw(sfd_job_t *job)
{
  Sfpeer__JobWithdraw withdraw = SFPEER__JOB_WITHDRAW__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  sfd_server_t *server = job->server;
  if (server->network == NULL || server->stopping)
    return;
  withdraw.uid = job->uid;
  withdraw.name = job->name;
  withdraw.status = SF_ERR_RANK_FAILED;
  withdraw.detail = job->detail;
  message.body_case = SFPEER__MESSAGE__BODY_JOB_WITHDRAW;
  message.job_withdraw = &withdraw;
  send_to(server, home_of(server, job->uid, job->name), sfd_assembly_handle_withdraw, &message);
}

sf_status_t sfd_assembly_handle_refuse(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobRefuse *refusal = message->job_refuse;
  sfd_job_t *job = sfd_job_find(server, refusal->uid, refusal->name);
  sf_status_t status = refusal->status < SF_OK ? (sf_status_t)refusal->status : SF_ERR_INTERNAL;
  (void)node;
  if (job == NULL || job->state != SFD_JOB_JOINING)
    return SF_OK;
  if (refusal->n_ranks == 0) {
    sfd_join_dismiss_all(job, status, refusal->detail);
    return SF_OK;
  }
  for (size_t i = 0; i < refusal->n_ranks; i++)
    if (refusal->ranks[i] >= 0 && refusal->ranks[i] < job->size)
      sfd_join_dismiss(job, refusal->ranks[i], status, refusal->detail);
  return SF_OK;
}

/* Why a job that has just been started cannot run; the home did not know yet. job may be NULL. */
static void describe_loss(const sfd_server_t *server, const sfd_job_t *job, const Sfpeer__JobStart *started,
                          char text[SFD_TEXT_SIZE])
{
  int32_t here = sfd_network_node(server);
  size_t lost = 0;
  if (job != NULL && job->state == SFD_JOB_FAILED) {
    snprintf(text, SFD_TEXT_SIZE, "%s", job->detail);
    return;
  }
  while (lost + 1 < started->n_rank_nodes &&
         (started->rank_nodes[lost] != here || (job != NULL && lost < (size_t)job->size && job->ranks[lost] != NULL)))
    lost++;
  snprintf(text, SFD_TEXT_SIZE, "rank %zu (on node %d) of job \"%.128s\" went while the job was joining", lost, here,
           started->name);
}

/* The job runs, but not here any more: the other nodes and the home have to know. */
static void tell_impossible(sfd_server_t *server, int32_t home, const Sfpeer__JobStart *started, char *detail)
{
  Sfpeer__JobFail fail = SFPEER__JOB_FAIL__INIT;
  Sfpeer__Message message = SFPEER__MESSAGE__INIT;
  int32_t here = sfd_network_node(server), previous = here;
  fail.job = started->job;
  fail.status = SF_ERR_RANK_FAILED;
  fail.detail = detail;
  message.body_case = SFPEER__MESSAGE__BODY_JOB_FAIL;
  message.job_fail = &fail;
  for (size_t r = 0; r < started->n_rank_nodes; r++) {
    int32_t other = started->rank_nodes[r]; /* a node may be told several times */
    if (other != here && other != previous && other >= 0 && other < sfd_network_nnodes(server))
      sfd_network_send(server, other, &message);
    previous = other;
  }
  Sfpeer__JobOver over = SFPEER__JOB_OVER__INIT;
  over.job = started->job;
  message.body_case = SFPEER__MESSAGE__BODY_JOB_OVER;
  message.job_over = &over;
  send_to(server, home, sfd_assembly_handle_over, &message);
}

/* Whether the ranks that are here are those of which the home knows. */
static bool is_complete(const sfd_job_t *job, const Sfpeer__JobStart *started)
{
  for (int32_t r = 0; r < job->size; r++)
    if ((job->ranks[r] != NULL) != (started->rank_nodes[r] == sfd_network_node(job->server)))
      return false;
  return true;
}

sf_status_t sfd_assembly_handle_start(sfd_server_t *server, int32_t node, const Sfpeer__Message *message)
{
  const Sfpeer__JobStart *started = message->job_start;
  char text[SFD_TEXT_SIZE];
  sfd_job_t *job = sfd_job_find(server, started->uid, started->name);
  for (size_t r = 0; r < started->n_rank_nodes; r++)
    if (started->rank_nodes[r] < 0 || started->rank_nodes[r] >= sfd_network_nnodes(server))
      return sfshm_error(SF_ERR_PROTO, "node %d sent a JobStart with rank %zu on node %d", node, r,
                         started->rank_nodes[r]);
  if (sfd_job_find_id(server, started->job) != NULL)
    return sfshm_error(SF_ERR_PROTO, "node %d sent a JobStart with the id of another job", node);
  if (job == NULL || job->state != SFD_JOB_JOINING || started->n_rank_nodes != (size_t)job->size) {
    describe_loss(server, job, started, text);
    tell_impossible(server, node, started, text);
    return SF_OK;
  }
  int32_t *rank_nodes = malloc((size_t)job->size * sizeof *rank_nodes);
  if (rank_nodes == NULL) {
    sfd_join_dismiss_all(job, SF_ERR_NOMEM, "no memory for the table of ranks");
    return SF_OK;
  }
  memcpy(rank_nodes, started->rank_nodes, (size_t)job->size * sizeof *rank_nodes);
  bool complete = is_complete(job, started);
  describe_loss(server, job, started, text);
  sfd_join_start(job, started->job, rank_nodes);
  if (!complete)
    sfd_job_fail(job, text);
  return SF_OK;
}

void sfd_assemblies_node_lost(sfd_server_t *server, int32_t node, const char *detail)
{
  char text[SFD_TEXT_SIZE];
  snprintf(text, sizeof text, "node %d is lost: %.400s", node, detail);
  for (sfd_assembly_t *assembly = TAILQ_FIRST(&server->assemblies), *next; assembly != NULL; assembly = next) {
    next = TAILQ_NEXT(assembly, entry);
    bool waits = false;
    for (int32_t r = 0; r < assembly->size; r++)
      waits |= assembly->rank_nodes[r] == node;
    if (waits && assembly->job == 0)
      refuse_all(assembly, SF_ERR_RANK_FAILED, text);
    else if (waits)
      fail_running(assembly, node, text);
  }
  for (sfd_job_t *job = TAILQ_FIRST(&server->jobs), *next; job != NULL; job = next) {
    next = TAILQ_NEXT(job, entry);
    if (job->state == SFD_JOB_JOINING && home_of(server, job->uid, job->name) == node)
      sfd_join_dismiss_all(job, SF_ERR_RANK_FAILED, text);
  }
}
