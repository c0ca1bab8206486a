/* Joining: see join.h. The daemon's thread. */
#include "daemon/membership/join.h"
#include "daemon/clients.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base.h"
#include "daemon/data.h"
#include "daemon/jobs.h"
#include "daemon/membership/coordinator_client.h"
#include "daemon/memory.h"
#include "daemon/net.h"
#include "shm/base/error.h"
#include "shm/observe/counters.h"

#define CLIENT_FDS 3
#define MAX_TIMEOUT_MS (INT64_C(1000) * 86400 * 365)
#define MAX_COUNTERS_BYTES ((uint64_t)16 << 20)
#define AROUND_WELCOME 64u /* bytes of the message besides Welcome */

/* For the nodes of a job's ranks, in a message between daemons. */
#define PLACES_BYTES (SFD_CHANNEL_CONTROL_MAX - (64u << 10))

/* ---- Welcome ---- */

/* job: NULL for tools. */
static void fill_welcome(Sfproto__Welcome *welcome, const sfd_server_t *server, const sfd_job_t *job,
                         Sfproto__LocalRank *ranks[], size_t nranks)
{
  static char software[] = SFD_SOFTWARE;
  *welcome = (Sfproto__Welcome)SFPROTO_BODY(welcome, .software = software, .local_ranks = ranks,
                                            .n_local_ranks = nranks, .has_node = true, .has_workers = true,
                                            .workers = sfd_server_offloads(server), .node = sfd_network_node(server));
  if (job != NULL) {
    welcome->job_id = job->id;
    welcome->rank_nodes = job->rank_nodes;
    welcome->n_rank_nodes = job->rank_nodes != NULL ? (size_t)job->size : 0;
  }
}

static void send_welcome(sfd_session_t *session, uint64_t request, Sfproto__Welcome *welcome, const int fds[], int nfds)
{
  Sfproto__Message message = SFPROTO_MESSAGE(WELCOME, welcome, welcome);
  message.request = request;
  sfd_session_send(session, &message, fds, nfds);
}

static Sfproto__LocalRank local_rank(const sfd_rank_t *rank)
{
  return (Sfproto__LocalRank)SFPROTO_BODY(local_rank, .rank = rank->number, .pid = rank->client_pid,
                                          .probe_address = rank->probe_address, .probe_value = rank->probe_value);
}

static void refuse_all(sfd_job_t *job, sf_status_t status, const char *detail)
{
  for (int32_t r = 0; r < job->size; r++)
    if (job->ranks[r] != NULL)
      sfd_session_refuse(job->ranks[r]->session, job->ranks[r]->hello_request, status, "%s", detail);
}

/* Whether Welcome fits into a message; a job with many ranks here may just fit into those between nodes. */
static bool fits(sfd_job_t *job, const Sfproto__Welcome *welcome)
{
  char text[SFD_TEXT_SIZE];
  size_t bytes = sfproto__welcome__get_packed_size(welcome);
  if (bytes <= SFPROTO_MAX_LENGTH - AROUND_WELCOME)
    return true;
  snprintf(text, sizeof text,
           "job \"%.64s\" has %d ranks, %d of them on node %d: to tell each of the others takes %zu bytes, and a "
           "message holds %u",
           job->name, job->size, job->njoined, sfd_network_node(job->server), bytes,
           SFPROTO_MAX_LENGTH - AROUND_WELCOME);
  refuse_all(job, SF_ERR_LIMIT, text);
  return false;
}

static void welcome_all(sfd_job_t *job)
{
  size_t n = 0;
  Sfproto__Welcome welcome;
  Sfproto__LocalRank *locals = calloc((size_t)job->njoined, sizeof *locals);
  Sfproto__LocalRank **pointers = calloc((size_t)job->njoined, sizeof *pointers);
  if (locals == NULL || pointers == NULL) {
    refuse_all(job, SF_ERR_NOMEM, "no memory for the list of ranks");
    goto out;
  }
  for (int32_t r = 0; r < job->size; r++)
    if (job->ranks[r] != NULL) {
      locals[n] = local_rank(job->ranks[r]);
      pointers[n] = &locals[n];
      n++;
    }
  fill_welcome(&welcome, job->server, job, pointers, n);
  if (!fits(job, &welcome))
    goto out;
  for (int32_t r = 0; r < job->size; r++) {
    if (job->ranks[r] == NULL)
      continue;
    sfd_session_t *session = job->ranks[r]->session;
    if (session->state == SFD_SESSION_JOINING)
      session->state = SFD_SESSION_RUNNING;
    send_welcome(session, job->ranks[r]->hello_request, &welcome, &job->server->board->region.fd, 1);
  }
out:
  free(pointers);
  free(locals);
}

sf_status_t sfd_join_start(sfd_job_t *job, uint64_t id, int32_t *rank_nodes)
{
  sf_status_t status = sfd_job_start(job, id, rank_nodes);
  if (status != SF_OK)
    return status;
  sfd_log(SFD_LOG_JOB, SFD_INFO, "job \"%s\" (%" PRIu64 ") of uid %u runs with %d ranks, %d of them here", job->name,
          job->id, job->uid, job->size, job->njoined);
  welcome_all(job);
  return SF_OK;
}

void sfd_join_dismiss(sfd_job_t *job, int32_t number, sf_status_t status, const char *detail)
{
  sfd_rank_t *rank = job->ranks[number];
  if (rank == NULL || rank->session == NULL)
    return;
  sfd_session_dismiss(rank->session, rank->hello_request, status, detail);
  sfd_job_withdraw(rank);
}

void sfd_join_dismiss_all(sfd_job_t *job, sf_status_t status, const char *detail)
{
  char text[SFD_TEXT_SIZE];
  if (status == SF_ERR_TIMEOUT && job->has_namesake) {
    snprintf(text, sizeof text,
             "%.360s; another user has a job of that name here: all ranks of a job must be of one user", detail);
    detail = text;
  }
  sfd_job_forget(job);
  int32_t size = job->size;
  for (int32_t r = 0; r < size; r++) { /* detaching the last one ends the job */
    sfd_rank_t *rank = job->ranks[r];
    if (rank == NULL || rank->session == NULL)
      continue;
    bool last = job->nattached == 1;
    sfd_session_dismiss(rank->session, rank->hello_request, status, detail);
    sfd_job_detach(rank);
    if (last)
      return;
  }
}

/* ---- Time-out ---- */

static bool is_missing(const void *context, int32_t r)
{
  const sfd_job_t *job = context;
  return job->ranks[r] == NULL;
}

/* The coordinator of a job over nodes does not answer. If it gets the ranks' JobJoin later, it must also get their
 * withdrawal. If this node is the coordinator, it does so at once, and must not find the job. */
static void on_coordinator_timeout(sfd_job_t *job)
{
  snprintf(job->detail, sizeof job->detail,
           "job \"%.64s\" did not start in time: its coordinator, node %d, does not answer; %d of %d ranks joined at "
           "node %d",
           job->name, job->coordinator_node, job->njoined, job->size, sfd_network_node(job->server));
  sfd_log(SFD_LOG_JOB, SFD_WARN, "%s", job->detail);
  sfd_job_forget(job);
  sfd_coordinator_client_withdraw(job, SF_ERR_TIMEOUT);
  sfd_join_dismiss_all(job, SF_ERR_TIMEOUT, job->detail);
}

static void on_join_timeout(uv_timer_t *timer)
{
  sfd_job_t *job = timer->data;
  char missing[SFD_TEXT_SIZE / 2];
  char text[SFD_TEXT_SIZE];
  if (job->server->network != NULL) {
    on_coordinator_timeout(job);
    return;
  }
  sfd_text_ranges(missing, sizeof missing, job->size, is_missing, job);
  snprintf(text, sizeof text, "%d of %d ranks of job \"%.64s\" did not come in time: rank%s %s",
           job->size - job->njoined, job->size, job->name, job->size - job->njoined > 1 ? "s" : "", missing);
  sfd_log(SFD_LOG_JOB, SFD_WARN, "%s", text);
  sfd_join_dismiss_all(job, SF_ERR_TIMEOUT, text);
}

/* The earliest deadline counts for all. */
static void set_deadline(sfd_job_t *job, int64_t timeout_ms)
{
  uint64_t timeout = (uint64_t)(timeout_ms > MAX_TIMEOUT_MS ? MAX_TIMEOUT_MS : timeout_ms);
  if (!uv_is_active((uv_handle_t *)&job->timer) || uv_timer_get_due_in(&job->timer) > timeout)
    uv_timer_start(&job->timer, on_join_timeout, timeout, 0);
}

/* ---- Hello ---- */

static sf_status_t check_user(const sfd_session_t *session)
{
  uid_t owner = session->server->uid;
  if (owner == 0 || session->uid == owner)
    return SF_OK;
  return sfshm_error(SF_ERR_PERM, "this sfd serves uid %u only, not uid %u", owner, session->uid);
}

int32_t sfd_join_most_ranks(int32_t nnodes)
{
  uint32_t bytes = 1; /* of the highest node number */
  for (int32_t highest = nnodes - 1; highest >= 128; highest /= 128)
    bytes++;
  return nnodes > 1 ? (int32_t)(PLACES_BYTES / bytes) : INT32_MAX;
}

static sf_status_t check_size(const sfd_server_t *server, const Sfproto__Hello *hello)
{
  int32_t nnodes = sfd_network_nnodes(server), most = sfd_join_most_ranks(nnodes);
  if (hello->size > server->options->max_ranks)
    return sfshm_error(SF_ERR_LIMIT, "job \"%.64s\" has %d ranks, at most %lld are allowed (option max-ranks)",
                       hello->job, hello->size, (long long)server->options->max_ranks);
  if (hello->size > most)
    return sfshm_error(
        SF_ERR_LIMIT,
        "job \"%.64s\" has %d ranks: where each of them is daemons of %d nodes can tell each other of %d "
        "at most",
        hello->job, hello->size, nnodes, most);
  return SF_OK;
}

/* Connections above the limit are for tools. */
static sf_status_t check_clients(const sfd_session_t *session)
{
  const sfd_server_t *server = session->server;
  if (server->clients->nsessions > server->options->max_clients)
    return sfshm_error(SF_ERR_LIMIT, SFD_TOO_MANY_CLIENTS, (long long)server->options->max_clients);
  if (sfd_session_is_out_of_fds(session))
    return sfshm_error(SF_ERR_LIMIT, SFD_TOO_MANY_FILES, (long long)server->max_fds);
  return SF_OK;
}

static sf_status_t check_fields(const sfd_server_t *server, const Sfproto__Hello *hello)
{
  if (!sfd_text_is_name(hello->job))
    return sfshm_error(SF_ERR_ARG, "the job's name must have 1 to 255 printable ASCII characters");
  if (hello->key != NULL && strlen(hello->key) >= SFD_NAME_SIZE)
    return sfshm_error(SF_ERR_ARG, "the job's key has %zu characters, at most 255 are allowed", strlen(hello->key));
  if (!hello->has_rank || !hello->has_size)
    return sfshm_error(SF_ERR_ARG, "Hello of a client without rank or size");
  if (hello->size < 1 || hello->rank < 0 || hello->rank >= hello->size)
    return sfshm_error(SF_ERR_ARG, "rank %d of job \"%.64s\" is not in 0..size-1, the size being %d", hello->rank,
                       hello->job, hello->size);
  if (hello->has_timeout_ms && hello->timeout_ms < 0)
    return sfshm_error(SF_ERR_ARG, "time-out of %lld ms", (long long)hello->timeout_ms);
  return check_size(server, hello);
}

static sf_status_t check_against_job(const sfd_job_t *job, const Sfproto__Hello *hello)
{
  if (strcmp(job->key, hello->key != NULL ? hello->key : "") != 0)
    return sfshm_error(SF_ERR_PERM, "job \"%.64s\" has another key", job->name);
  if (job->size != hello->size)
    return sfshm_error(SF_ERR_ARG, "rank %d says that job \"%.64s\" has %d ranks, those before it said %d", hello->rank,
                       job->name, hello->size, job->size);
  if (job->state == SFD_JOB_FAILED)
    return sfshm_error(SF_ERR_STATE, "job \"%.64s\" has failed and is not over yet: %.300s", job->name, job->detail);
  if (job->state == SFD_JOB_RUNNING && job->ranks[hello->rank] == NULL)
    return sfshm_error(SF_ERR_EXISTS, "job \"%.64s\" runs and has a rank %d, on node %d", job->name, hello->rank,
                       sfd_job_node_of(job, hello->rank));
  if (job->ranks[hello->rank] != NULL)
    return sfshm_error(SF_ERR_EXISTS, "job \"%.64s\" has a rank %d already, pid %d", job->name, hello->rank,
                       (int)job->ranks[hello->rank]->pid);
  return SF_OK;
}

static sf_status_t verify_counters(int fd)
{
  size_t length;
  sf_status_t status = sfshm_region_verify(fd, SFSHM_REGION_COUNTERS, MAX_COUNTERS_BYTES, &length);
  if (status == SF_OK && length < sizeof(sfshm_counters_t))
    return sfshm_error(SF_ERR_ARG, "counters region of %zu bytes, expected at least %zu", length,
                       sizeof(sfshm_counters_t));
  return status;
}

static void describe_rank(sfd_rank_t *rank, const Sfproto__Message *message)
{
  const Sfproto__Hello *hello = message->hello;
  rank->hello_request = message->request;
  rank->client_pid = hello->has_pid ? hello->pid : rank->pid;
  if (rank->pid == 0)
    rank->pid = rank->client_pid;
  rank->probe_address = hello->probe_address;
  rank->probe_value = hello->probe_value;
  sfd_text_printable(rank->program, sizeof rank->program, hello->program);
}

/* Takes over the descriptors. */
static sf_status_t take_fds(sfd_session_t *session, sfd_rank_t *rank, int fds[])
{
  int alert_fd = fds[0];
  fds[0] = -1;
  sf_status_t status = sfd_session_watch_client(session, alert_fd);
  if (status == SF_OK)
    status = sfd_segment_add(rank, 0, 0, SFSHM_REGION_INBOX, fds[1]);
  if (status != SF_OK)
    return status;
  fds[1] = -1;
  status = verify_counters(fds[2]);
  if (status != SF_OK)
    return status;
  rank->counters_fd = fds[2];
  fds[2] = -1;
  return SF_OK;
}

static sf_status_t refuse_new_job(const sfd_session_t *session, const Sfproto__Hello *hello)
{
  char text[SFD_TEXT_SIZE];
  const sfd_server_t *server = session->server;
  snprintf(text, sizeof text, "node %d takes no new jobs, as job \"%.64s\" would be: %.300s", sfd_network_node(server),
           hello->job, server->drained_by);
  sfd_coordinator_client_refuse(session->server, session->uid, hello->job, text);
  return sfshm_error(SF_ERR_STATE, "%s", text);
}

/* Ranks that wait for ranks of another user are told so. */
static void note_namesakes(sfd_job_t *job)
{
  sfd_job_t *other;
  TAILQ_FOREACH (other, &job->server->jobs->list, entry)
    if (other->uid != job->uid && strcmp(other->name, job->name) == 0)
      job->has_namesake = other->has_namesake = true;
}

/* Finds or creates the job, and attaches the session. */
static sf_status_t take_place(sfd_session_t *session, const Sfproto__Hello *hello, sfd_rank_t **rank_p)
{
  sfd_job_t *job = sfd_job_find(session->server, session->uid, hello->job);
  sf_status_t status;
  if (job == NULL && session->server->drained)
    return refuse_new_job(session, hello);
  status = job != NULL ? check_against_job(job, hello) : SF_OK;
  if (status == SF_OK && hello->size > 1)
    status = sfd_coordinator_client_check_quota(session->server, session->uid, hello->job);
  if (status == SF_OK && job == NULL) {
    status = sfd_job_create(session->server, session->uid, hello->job, hello->key != NULL ? hello->key : "",
                            hello->size, &job);
    if (status == SF_OK)
      note_namesakes(job);
  }
  return status == SF_OK ? sfd_job_attach(job, hello->rank, session, rank_p) : status;
}

static void join_tool(sfd_session_t *session, uint64_t request)
{
  session->state = SFD_SESSION_TOOL;
  sfd_admission_remove(session);
  uv_timer_stop(&session->timer);
  Sfproto__Welcome welcome;
  fill_welcome(&welcome, session->server, NULL, NULL, 0);
  send_welcome(session, request, &welcome, NULL, 0);
}

static sf_status_t join_client(sfd_session_t *session, const Sfproto__Message *message, int fds[], sfd_rank_t **rank_p)
{
  sf_status_t status = check_clients(session);
  if (status == SF_OK)
    status = check_fields(session->server, message->hello);
  if (status != SF_OK)
    return status;
  sfd_rank_t *rank;
  status = take_place(session, message->hello, &rank);
  if (status != SF_OK)
    return status;
  describe_rank(rank, message);
  status = take_fds(session, rank, fds);
  if (status != SF_OK) {
    sfd_job_withdraw(rank);
    return status;
  }
  session->state = SFD_SESSION_JOINING;
  sfd_admission_remove(session);
  *rank_p = rank;
  return SF_OK;
}

void sfd_join_handle_hello(sfd_session_t *session, const Sfproto__Message *message, int fds[], int nfds)
{
  const Sfproto__Hello *hello = message->hello;
  bool tool = hello->role == SFPROTO__HELLO__ROLE__TOOL;
  int expected_fds = tool ? 0 : CLIENT_FDS;
  sfd_rank_t *rank = NULL;
  sf_status_t status = check_user(session);
  if (status == SF_OK && nfds != expected_fds)
    status = sfshm_error(SF_ERR_PROTO, "Hello with %d descriptors, expected %d", nfds, expected_fds);
  if (status == SF_OK && !tool)
    status = join_client(session, message, fds, &rank);
  if (status != SF_OK) {
    sfd_session_refuse(session, message->request, status, "%s", sfshm_error_detail());
    return;
  }
  if (tool) {
    join_tool(session, message->request);
    return;
  }
  sfd_job_t *job = rank->job;
  int64_t timeout_ms = hello->has_timeout_ms ? hello->timeout_ms : job->server->options->join_timeout_ms;
  if (job->njoined == job->size) {
    sfd_coordinator_client_all_here(job);
    if (sfd_join_start(job, sfd_network_new_id(job->server), NULL) != SF_OK)
      sfd_join_dismiss_all(job, SF_ERR_NOMEM, "no memory for the job");
  } else if (job->server->network != NULL) {
    set_deadline(job, (timeout_ms < MAX_TIMEOUT_MS ? timeout_ms : MAX_TIMEOUT_MS) + SFD_COORDINATOR_ANSWERS_MS);
    sfd_coordinator_client_rank_came(rank, timeout_ms);
  } else {
    set_deadline(job, timeout_ms);
  }
}
