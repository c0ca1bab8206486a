/* Output of sessions: see session.h. The daemon's thread. */
#include <stdarg.h>
#include <stdio.h>

#include "daemon/clients/session_internal.h"
#include "shm/base/error.h"

/* limits of alerts held, in number and time */
#define HELD_ALERTS 16
#define HOLD_MS 20

static const char *queue(sfproto_conn_t *conn, const Sfproto__Message *message, const int fds[], int nfds)
{
  if (sfproto_conn_queue(conn, message, fds, nfds) != SF_OK)
    return sfshm_error_detail();
  /* Sends descriptors soon. An error will show when attended to. */
  if (nfds > 0)
    (void)sfproto_conn_flush(conn);
  return NULL;
}

void sfd_session_send(sfd_session_t *session, const Sfproto__Message *message, const int fds[], int nfds)
{
  if (!sfd_session_serves(session))
    return;
  const char *error = queue(session->conn, message, fds, nfds);
  if (error != NULL)
    sfd_session_lose_for(session, error);
  sfd_session_mark(session);
}

void sfd_session_send_done(sfd_session_t *session, uint64_t request)
{
  Sfproto__Message message = SFPROTO_MESSAGE_OF(DONE, done);
  message.request = request;
  sfd_session_send(session, &message, NULL, 0);
}

void sfd_session_send_error(sfd_session_t *session, uint64_t request, sf_status_t status, const char *detail)
{
  char text[SFD_TEXT_SIZE];
  sfd_text_printable(text, sizeof text, detail);
  Sfproto__Message message = SFPROTO_MESSAGE_OF(ERROR, error, .status = status, .detail = text);
  message.request = request;
  sfd_session_send(session, &message, NULL, 0);
}

void sfd_session_send_errorf(sfd_session_t *session, uint64_t request, sf_status_t status, const char *format, ...)
{
  char detail[SFD_TEXT_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(detail, sizeof detail, format, args);
  va_end(args);
  sfd_session_send_error(session, request, status, detail);
}

/* After the held ones. */
static void queue_alert(sfd_session_t *session, Sfproto__Alert *alert)
{
  if (!sfd_session_serves(session) || session->alerts == NULL)
    return;
  Sfproto__Message message = SFPROTO_MESSAGE(ALERT, alert, alert);
  const char *error = queue(session->alerts, &message, NULL, 0);
  if (error != NULL)
    sfd_session_lose_for(session, error);
}

void sfd_session_release_alerts(sfd_session_t *session)
{
  session->nheld = 0;
  if (sfd_session_serves(session))
    sfd_session_mark(session);
}

void sfd_session_send_alert(sfd_session_t *session, Sfproto__Alert *alert)
{
  queue_alert(session, alert);
  sfd_session_release_alerts(session);
}

static void on_retry(uv_timer_t *timer)
{
  sfd_session_t *session = timer->data;
  session->paused = false;
  session->nheld = 0;
  sfd_session_mark(session);
}

void sfd_session_retry_in(sfd_session_t *session, uint64_t ms)
{
  if (!uv_is_active((uv_handle_t *)&session->retry) || uv_timer_get_due_in(&session->retry) > ms)
    uv_timer_start(&session->retry, on_retry, ms, 0);
}

/* Alerts that are queued without being held don't wait for this one. */
void sfd_session_hold_alert(sfd_session_t *session, Sfproto__Alert *alert)
{
  bool urgent = session->nheld == 0 && session->alerts != NULL && sfproto_conn_queued_bytes(session->alerts) > 0;
  queue_alert(session, alert);
  if (urgent || ++session->nheld >= HELD_ALERTS)
    sfd_session_release_alerts(session);
  else if (sfd_session_serves(session))
    sfd_session_retry_in(session, HOLD_MS);
}
