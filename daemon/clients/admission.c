/* Admission: see admission.h. Walks over all unadmitted connections, which are few. The daemon's thread. */
#include "daemon/clients/admission.h"

#include "daemon/clients/accept.h"
#include "daemon/clients/session.h"

#define FRACTION 8
#define LEAST 64
#define MOST 4096

static int64_t limit(const sfd_server_t *server)
{
  int64_t limit = server->options->max_clients / FRACTION;
  if (limit < LEAST)
    return LEAST;
  return limit < MOST ? limit : MOST;
}

/* Some of the unadmitted connections. */
typedef struct sfd_crowd {
  int64_t count;
  sfd_session_t *oldest;
  sfd_session_t *oldest_sibling;
} sfd_crowd_t;

static void count(sfd_crowd_t *crowd, sfd_session_t *session)
{
  crowd->count++;
  crowd->oldest = session;
  if (session->has_sibling)
    crowd->oldest_sibling = session;
}

static sfd_session_t *choose(const sfd_crowd_t *crowd)
{
  return crowd->oldest_sibling != NULL ? crowd->oldest_sibling : crowd->oldest;
}

/* Processes without visible pid count as different ones. */
static bool same_process(const sfd_session_t *a, const sfd_session_t *b)
{
  return a->uid == b->uid && a->pid == b->pid && a->pid != 0;
}

/* The connection that must go for the newest. */
static sfd_session_t *find_surplus(const sfd_server_t *server, sfd_session_t *newest)
{
  sfd_crowd_t all = {0}, of_user = {0}, of_process = {0};
  sfd_session_t *session;
  LIST_FOREACH (session, &server->clients->unadmitted, admission_entry) {
    bool sibling = session != newest && same_process(session, newest);
    if (sibling)
      session->has_sibling = newest->has_sibling = true;
    count(&all, session);
    if (session->uid == newest->uid)
      count(&of_user, session);
    if (sibling)
      count(&of_process, session);
  }
  int64_t most = limit(server);
  if (of_process.count >= most / 2)
    return of_process.oldest;
  if (of_user.count > most / 4 * 3)
    return choose(&of_user);
  return all.count > most ? choose(&all) : NULL;
}

sfd_session_t *sfd_admission_add(sfd_session_t *session)
{
  session->is_unadmitted = true;
  LIST_INSERT_HEAD(&session->server->clients->unadmitted, session, admission_entry);
  sfd_session_t *surplus = find_surplus(session->server, session);
  if (surplus != NULL)
    sfd_admission_remove(surplus); /* so that it is not found again */
  return surplus;
}

void sfd_admission_remove(sfd_session_t *session)
{
  if (!session->is_unadmitted)
    return;
  session->is_unadmitted = false;
  LIST_REMOVE(session, admission_entry);
}
