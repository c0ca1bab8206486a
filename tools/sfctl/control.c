/* Commands to the daemon: see control.h. The one thread of sfctl. */
#include "tools/sfctl/control.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/report/text.h"
#include "shm/base/error.h"
#include "tools/sfctl/collect.h"
#include "tools/sfctl/connection.h"
#include "tools/sfctl/print/json.h"

typedef struct answer {
  const sfctl_options_t *options;
  sfreport_list_t list; /* Controlled messages, one per node */
} answer_t;

static sf_status_t take_answer(void *context, sfproto_incoming_t *incoming)
{
  answer_t *answer = context;
  sfreport_item_t *item;
  sf_status_t status = sfreport_list_add(&answer->list, incoming->message, &item);
  if (status == SF_OK)
    incoming->message = NULL;
  return status;
}

/* ---- Waiting for the daemon's end ---- */

static bool is_sfd(pid_t pid)
{
  char path[64], name[16] = "";
  snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
  FILE *file = pid > 0 ? fopen(path, "r") : NULL;
  bool read = file != NULL && fgets(name, sizeof name, file) != NULL;
  if (file != NULL)
    fclose(file);
  return read && strcmp(name, "sfd\n") == 0;
}

/* Watches the daemon's process, as its socket is free only at its end. In another namespace its number is another one
 * here: that of who listened at the socket, unless a service manager did. -1: the process can't be seen from here. */
static int watch_process(const sfctl_connection_t *connection, pid_t pid)
{
  struct ucred peer = {.pid = -1};
  socklen_t length = sizeof peer;
  if (!is_sfd(pid)) {
    (void)getsockopt(sfproto_conn_fd(connection->conn), SOL_SOCKET, SO_PEERCRED, &peer, &length);
    pid = is_sfd(peer.pid) ? peer.pid : -1;
  }
  return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static sf_status_t take_pid(void *context, sfproto_incoming_t *incoming)
{
  *(pid_t *)context = incoming->message->status_info->pid;
  return SF_OK;
}

static sf_status_t find_process(sfctl_connection_t *connection, int *pidfd_p)
{
  pid_t pid = -1;
  Sfproto__Query query = SFPROTO_BODY(query, .what = SFPROTO__QUERY__WHAT__STATUS);
  sfctl_target_t target = connection->target;
  connection->target = (sfctl_target_t){0};
  sf_status_t status = sfctl_query(connection, &query, take_pid, &pid);
  connection->target = target;
  *pidfd_p = status == SF_OK ? watch_process(connection, pid) : -1;
  return status;
}

static sf_status_t await_end(const sfctl_options_t *options, int pidfd)
{
  struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
  int timeout_ms = options->timeout_ms < INT32_MAX ? (int)options->timeout_ms : INT32_MAX;
  if (pidfd >= 0 && poll(&poll_fd, 1, timeout_ms) == 0)
    return sfshm_error(SF_ERR_TIMEOUT, "the sfd has not ended within %g s (--timeout)",
                       (double)options->timeout_ms / 1000);
  return SF_OK;
}

/* ---- Asking ---- */

static void fill(const sfctl_options_t *options, const char *job, Sfproto__Control *control, char **levels_p)
{
  const char *const *words = options->words;
  control->action = options->action;
  if (options->action == SFPROTO__CONTROL__ACTION__DRAIN && options->undo)
    control->action = SFPROTO__CONTROL__ACTION__UNDRAIN;
  if (options->action == SFPROTO__CONTROL__ACTION__KILL)
    control->job = (char *)(uintptr_t)job; /* only read */
  control->has_force = options->force;
  control->force = options->force;
  if (options->action != SFPROTO__CONTROL__ACTION__LOG || words[0] == NULL)
    return;
  if (asprintf(levels_p, "%s%s%s", words[1] != NULL ? words[1] : "", words[1] != NULL ? "=" : "", words[0]) < 0)
    *levels_p = NULL;
  control->levels = *levels_p;
}

static sf_status_t request(sfctl_connection_t *connection, answer_t *answer)
{
  Sfproto__Control control = SFPROTO__CONTROL__INIT;
  char *levels = NULL, number[SFCTL_ID_SIZE];
  const char *job = NULL;
  sf_status_t status = SF_OK;
  if (answer->options->action == SFPROTO__CONTROL__ACTION__KILL)
    status = sfctl_collect_job_id(connection, answer->options->words[0], &job, number);
  if (status != SF_OK)
    return status;
  fill(answer->options, job, &control, &levels);
  if (answer->options->action == SFPROTO__CONTROL__ACTION__LOG && answer->options->words[0] != NULL && levels == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a list of levels");
  status = sfctl_request(connection, &control, take_answer, answer);
  free(levels);
  return status;
}

static sf_status_t ask(sfctl_connection_t *connection, answer_t *answer)
{
  int pidfd = -1;
  sf_status_t status = SF_OK;
  if (answer->options->action == SFPROTO__CONTROL__ACTION__SHUTDOWN && answer->options->node < 0)
    status = find_process(connection, &pidfd);
  if (status == SF_OK)
    status = request(connection, answer);
  if (status == SF_OK && answer->list.count > 0) /* else all nodes have refused */
    status = await_end(answer->options, pidfd);
  if (pidfd >= 0)
    close(pidfd);
  return status;
}

/* ---- Printing ---- */

static void print_json(sfctl_json_t *json, const sfctl_options_t *options, const Sfproto__Message *message)
{
  static const char *const names[] = {"drain", "undrain", "kill", "shutdown", "log"};
  const Sfproto__Controlled *controlled = message->controlled;
  sfctl_json_begin_object(json, NULL);
  if (message->has_told_by)
    sfctl_json_add(json, SFCTL_FIELD(message, told_by));
  sfctl_json_add(json, SFCTL_MEMBER("action", options->undo ? "undrain" : names[options->action]),
                 SFCTL_FIELD(controlled, text), SFCTL_OPTIONAL(controlled, jobs));
  sfctl_json_end_object(json);
}

static void print_text(const Sfproto__Message *message, FILE *file)
{
  char text[SFREPORT_PRINTABLE_SIZE(512)];
  if (message->has_told_by)
    fprintf(file, "node %d: ", message->told_by);
  fprintf(file, "%s\n", sfreport_text_printable(message->controlled->text, text, sizeof text));
}

static void print(const answer_t *answer, FILE *file)
{
  const sfctl_options_t *options = answer->options;
  sfctl_json_t json = {.file = file};
  if (options->json && options->all_nodes)
    sfctl_json_begin_array(&json, NULL);
  for (size_t i = 0; i < answer->list.count; i++)
    if (options->json)
      print_json(&json, options, answer->list.items[i].message);
    else
      print_text(answer->list.items[i].message, file);
  if (options->json && options->all_nodes)
    sfctl_json_end_array(&json);
}

sf_status_t sfctl_control(const sfctl_options_t *options, FILE *file)
{
  sfctl_connection_t connection;
  answer_t answer = {.options = options};
  sf_status_t status = sfctl_connect(options->socket, options->timeout_ms, &connection);
  if (status != SF_OK)
    return status;
  connection.target = sfctl_target(options);
  status = ask(&connection, &answer);
  if (status == SF_OK) {
    print(&answer, file);
    status = sfctl_check_missing(&connection, answer.list.count);
  }
  sfctl_disconnect(&connection);
  sfreport_list_clear(&answer.list);
  return status;
}
