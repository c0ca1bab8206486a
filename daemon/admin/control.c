/* Commands of sfctl: see control.h. The daemon's thread. */
#include "daemon/admin/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/admin/admin.h"
#include "daemon/admin/remote_query.h"
#include "daemon/admin/tool.h"
#include "daemon/admin/trace.h"
#include "daemon/base.h"
#include "daemon/jobs.h"
#include "shm/base/error.h"

/* ---- Who may ---- */

/* "sfctl kill of uid 1000 (pid 77 on node 1)" */
static void describe(const sfd_requester_t *asker, const char *command, char text[SFD_TEXT_SIZE])
{
  snprintf(text, SFD_TEXT_SIZE, "sfctl %s of uid %u (pid %d", command, asker->uid, (int)asker->pid);
  if (asker->node >= 0)
    sfd_text_append(text, SFD_TEXT_SIZE, " on node %d", asker->node);
  sfd_text_append(text, SFD_TEXT_SIZE, ")");
}

static bool is_master(const sfd_server_t *server, const sfd_requester_t *asker)
{
  return asker->uid == 0 || asker->uid == server->uid;
}

static sf_status_t check_master(const sfd_server_t *server, const sfd_requester_t *asker, const char *command)
{
  if (is_master(server, asker))
    return SF_OK;
  return sfshm_error(SF_ERR_PERM, "%s: only root and uid %u, which runs this sfd, may do that, not uid %u", command,
                     server->uid, asker->uid);
}

/* ---- Drain ---- */

static sf_status_t drain(sfd_server_t *server, const sfd_requester_t *asker, bool undo, char text[SFD_TEXT_SIZE])
{
  sf_status_t status = check_master(server, asker, "drain");
  if (status != SF_OK)
    return status;
  char by[SFD_TEXT_SIZE];
  describe(asker, undo ? "drain --undo" : "drain", by);
  server->drained = !undo;
  snprintf(server->drained_by, sizeof server->drained_by, "drained by %.400s", by);
  int32_t njobs = server->statistics.njobs;
  if (undo)
    snprintf(text, SFD_TEXT_SIZE, "takes new jobs");
  else
    snprintf(text, SFD_TEXT_SIZE, "drained: takes no new jobs; %d job%s left", njobs, njobs == 1 ? " is" : "s are");
  sfd_log(SFD_LOG_MAIN, SFD_INFO, "%s: %s", by, text);
  return SF_OK;
}

/* ---- Kill ---- */

static bool may_kill(const sfd_server_t *server, const sfd_requester_t *asker, const sfd_job_t *job)
{
  return is_master(server, asker) || job->uid == asker->uid;
}

static bool has_number(const sfd_job_t *job, const char *word)
{
  char number[24];
  snprintf(number, sizeof number, "%" PRIu64, job->id);
  return job->id != 0 && strcmp(number, word) == 0;
}

/* Finds jobs by name, else by id; returns how many match, and one of them. */
static int find_jobs(const sfd_server_t *server, const sfd_requester_t *asker, const char *word, bool by_name,
                     sfd_job_t **job_p)
{
  int count = 0;
  sfd_job_t *job;
  TAILQ_FOREACH (job, &server->jobs->list, entry) {
    if (!may_kill(server, asker, job) || !(by_name ? strcmp(job->name, word) == 0 : has_number(job, word)))
      continue;
    count++;
    *job_p = job;
  }
  return count;
}

static sf_status_t find_job(const sfd_server_t *server, const sfd_requester_t *asker, const char *word,
                            sfd_job_t **job_p)
{
  int count = find_jobs(server, asker, word, true, job_p);
  if (count == 0)
    count = find_jobs(server, asker, word, false, job_p);
  if (count == 0)
    return sfshm_error(SF_ERR_NOT_FOUND, "no job \"%.80s\" is known here, or it is another user's", word);
  if (count > 1)
    return sfshm_error(SF_ERR_EXISTS, "%d jobs have the name \"%.80s\": name one by its number, as sfctl jobs shows it",
                       count, word);
  return SF_OK;
}

static sf_status_t kill_job(sfd_server_t *server, const sfd_requester_t *asker, const char *word,
                            char text[SFD_TEXT_SIZE])
{
  sfd_job_t *job;
  char by[SFD_TEXT_SIZE], detail[SFD_TEXT_SIZE];
  if (word == NULL || word[0] == '\0')
    return sfshm_error(SF_ERR_ARG, "kill: no job is named");
  sf_status_t status = find_job(server, asker, word, &job);
  if (status != SF_OK)
    return status;
  if (job->state == SFD_JOB_FAILED)
    return sfshm_error(SF_ERR_STATE, "job \"%.64s\" has failed already: %.300s", job->name, job->detail);
  describe(asker, "kill", by);
  snprintf(detail, sizeof detail, "job \"%.128s\" was killed by %.300s", job->name, by);
  snprintf(text, SFD_TEXT_SIZE, "job \"%.128s\" of %d rank%s killed", job->name, job->size, job->size == 1 ? "" : "s");
  sfd_job_fail(job, detail);
  return SF_OK;
}

/* ---- Shutdown ---- */

static sf_status_t refuse_shutdown(const sfd_server_t *server)
{
  char names[SFD_TEXT_SIZE / 2] = "";
  const sfd_job_t *job;
  TAILQ_FOREACH (job, &server->jobs->list, entry)
    sfd_text_append(names, sizeof names, "%s\"%.32s\"", names[0] != '\0' ? ", " : "", job->name);
  return sfshm_error(SF_ERR_STATE,
                     "%d job%s there: %s; sfctl drain lets no new ones in, sfctl shutdown --force ends these",
                     server->statistics.njobs, server->statistics.njobs == 1 ? " is" : "s are", names);
}

static sf_status_t shut_down(sfd_server_t *server, const sfd_requester_t *asker, bool force, char text[SFD_TEXT_SIZE])
{
  char by[SFD_TEXT_SIZE];
  sf_status_t status = check_master(server, asker, "shutdown");
  if (status != SF_OK)
    return status;
  if (!force && server->statistics.njobs > 0)
    return refuse_shutdown(server);
  describe(asker, "shutdown", by);
  const char *are = server->statistics.njobs == 1 ? " is" : "s are";
  sfd_log(SFD_LOG_MAIN, SFD_INFO, "ending: %s; %d job%s lost", by, server->statistics.njobs, are);
  snprintf(text, SFD_TEXT_SIZE, "ends; %d job%s lost", server->statistics.njobs, are);
  return SF_OK;
}

/* ---- Log ---- */

static sf_status_t change_log(sfd_server_t *server, const sfd_requester_t *asker, const char *levels,
                              char text[SFD_TEXT_SIZE])
{
  char spec[SFD_LOG_SPEC_SIZE];
  sf_status_t status = levels != NULL ? check_master(server, asker, "log") : SF_OK;
  if (status == SF_OK && levels != NULL)
    status = sfd_log_adjust(levels);
  if (status != SF_OK)
    return status;
  if (levels != NULL)
    describe(asker, "log", server->admin->logged_by);
  sfd_log_describe(spec);
  if (levels != NULL)
    sfd_log(SFD_LOG_MAIN, SFD_INFO, "%s: %s", server->admin->logged_by, spec);
  snprintf(text, SFD_TEXT_SIZE, "%s", spec);
  return SF_OK;
}

/* ---- Trace ---- */

static sf_status_t trace(sfd_server_t *server, const sfd_requester_t *asker, bool start, char text[SFD_TEXT_SIZE])
{
  char by[SFD_TEXT_SIZE];
  sf_status_t status = check_master(server, asker, start ? "trace start" : "trace stop");
  if (status == SF_OK && start)
    status = sfd_trace_start(server);
  if (status != SF_OK)
    return status;
  if (!start)
    sfd_trace_stop(server);
  describe(asker, start ? "trace start" : "trace stop", by);
  snprintf(text, SFD_TEXT_SIZE, start ? "traces" : "traces no longer");
  sfd_log(SFD_LOG_MAIN, SFD_INFO, "%s: %s", by, text);
  return SF_OK;
}

/* ---- All ---- */

sf_status_t sfd_control_apply(sfd_server_t *server, const sfd_requester_t *asker, const Sfproto__Control *control,
                              char text[SFD_TEXT_SIZE])
{
  switch (control->action) {
  case SFPROTO__CONTROL__ACTION__DRAIN:
    return drain(server, asker, false, text);
  case SFPROTO__CONTROL__ACTION__UNDRAIN:
    return drain(server, asker, true, text);
  case SFPROTO__CONTROL__ACTION__KILL:
    return kill_job(server, asker, control->job, text);
  case SFPROTO__CONTROL__ACTION__SHUTDOWN:
    return shut_down(server, asker, control->has_force && control->force, text);
  case SFPROTO__CONTROL__ACTION__TRACE_START:
    return trace(server, asker, true, text);
  case SFPROTO__CONTROL__ACTION__TRACE_STOP:
    return trace(server, asker, false, text);
  case SFPROTO__CONTROL__ACTION__LOG:
    return change_log(server, asker, control->levels, text);
  default:
    return sfshm_error(SF_ERR_UNSUPPORTED, "this sfd knows no action %d", (int)control->action);
  }
}

void sfd_control_answer(const sfd_server_t *server, char text[SFD_TEXT_SIZE], Sfproto__Controlled *controlled)
{
  *controlled =
      (Sfproto__Controlled)SFPROTO_BODY(controlled, .text = text, SFPROTO_HAS(jobs, server->statistics.njobs));
}

static sf_status_t apply_here(sfd_session_t *session, const Sfproto__Message *message)
{
  char text[SFD_TEXT_SIZE];
  Sfproto__Controlled controlled;
  const sfd_requester_t asker = {.uid = session->uid, .pid = session->pid, .node = -1};
  sf_status_t status = sfd_control_apply(session->server, &asker, message->control, text);
  if (status != SF_OK)
    return status;
  sfd_control_answer(session->server, text, &controlled);
  Sfproto__Message answer = SFPROTO_MESSAGE(CONTROLLED, controlled, &controlled);
  answer.request = message->request;
  sfd_session_send(session, &answer, NULL, 0);
  if (sfd_control_ends(message->control))
    sfd_server_end(session->server);
  return SF_OK;
}

void sfd_control_handle(sfd_session_t *session, const Sfproto__Message *message)
{
  sf_status_t status = sfd_tool_check_idle(session);
  if (status == SF_OK && (message->control->has_node || message->control->all_nodes))
    status = sfd_remote_query_begin(session, message);
  else if (status == SF_OK)
    status = apply_here(session, message);
  if (status != SF_OK)
    sfd_session_send_error(session, message->request, status, sfshm_error_detail());
}
