/* Tickets: see ticket.h. The loop's thread, except requests to munged. */
#include "daemon/net/fabric/tcp/ticket.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/net/fabric/tcp/internal.h"
#include "shm/base/error.h"

#define PURPOSE "sfd tcp ticket 1" /* without final zero */

/* NULL: no memory. */
static sfd_tcp_ticket_t *new_ticket(const char *munge_socket)
{
  sfd_tcp_ticket_t *ticket = calloc(1, sizeof *ticket);
  if (ticket != NULL)
    ticket->letter = (sfd_munge_letter_t){
        .socket = munge_socket,
        .uid = geteuid(),
        .contents = &ticket->contents,
        .nbytes = sizeof ticket->contents,
        .text = ticket->text,
        .text_size = sizeof ticket->text,
    };
  return ticket;
}

static void free_ticket(sfd_tcp_ticket_t *ticket)
{
  sodium_memzero(&ticket->contents, sizeof ticket->contents);
  free(ticket);
}

sf_status_t sfd_tcp_ticket_try(const sfd_munge_t *munge, const char *munge_socket)
{
  sfd_tcp_ticket_t *ticket = new_ticket(munge_socket);
  if (ticket == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for a credential");
  sf_status_t status = sfd_tcp_auth_begin();
  if (status == SF_OK && munge->seal(&ticket->letter) != SFD_MUNGE_OK)
    status = sfshm_error(SF_ERR_SYS, "cannot have a credential made by MUNGE: %s", ticket->letter.detail);
  free_ticket(ticket);
  return status;
}

bool sfd_tcp_ticket_create(sfd_tcp_conn_t *conn)
{
  conn->ticket = new_ticket(conn->tcp->munge_socket);
  if (conn->ticket != NULL)
    conn->ticket->conn = conn;
  return conn->ticket != NULL;
}

/* ---- One after the other ---- */

static void run_next(sfd_tcp_t *tcp);

static void on_work(uv_work_t *work)
{
  sfd_tcp_ticket_t *ticket = work->data;
  ticket->result = ticket->ask(&ticket->letter);
}

static void on_answered(uv_work_t *work, int status)
{
  sfd_tcp_ticket_t *ticket = work->data;
  sfd_tcp_conn_t *conn = ticket->conn;
  (void)status; /* never cancelled */
  conn->tcp->tickets.asked = NULL;
  run_next(conn->tcp);
  if (conn->ticket == ticket) {
    conn->ticket = NULL;
    ticket->done(conn, ticket);
    sfd_tcp_conn_poll(conn);
  }
  free_ticket(ticket);
  sfd_tcp_conn_release(conn);
}

static void run_next(sfd_tcp_t *tcp)
{
  sfd_tcp_ticket_t *ticket = TAILQ_FIRST(&tcp->tickets.queue);
  if (tcp->tickets.asked != NULL || ticket == NULL)
    return;
  TAILQ_REMOVE(&tcp->tickets.queue, ticket, entry);
  ticket->queued = false;
  ticket->conn->nhandles++;
  tcp->tickets.asked = ticket;
  ticket->work.data = ticket;
  uv_queue_work(tcp->loop, &ticket->work, on_work, on_answered); /* fails only without on_work */
}

static void ask(sfd_tcp_conn_t *conn, sfd_munge_result_t (*question)(sfd_munge_letter_t *), sfd_tcp_ticket_done_t done)
{
  sfd_tcp_ticket_t *ticket = conn->ticket;
  ticket->ask = question;
  ticket->done = done;
  ticket->queued = true;
  TAILQ_INSERT_TAIL(&conn->tcp->tickets.queue, ticket, entry);
  run_next(conn->tcp);
}

void sfd_tcp_ticket_drop(sfd_tcp_conn_t *conn)
{
  sfd_tcp_ticket_t *ticket = conn->ticket;
  conn->ticket = NULL;
  if (ticket == NULL || ticket == conn->tcp->tickets.asked)
    return;
  if (ticket->queued)
    TAILQ_REMOVE(&conn->tcp->tickets.queue, ticket, entry);
  free_ticket(ticket);
}

/* ---- What is in it ---- */

void sfd_tcp_ticket_seal(sfd_tcp_conn_t *conn, sfd_tcp_ticket_done_t done)
{
  sfd_tcp_ticket_t *ticket = conn->ticket;
  randombytes_buf(&conn->key, sizeof conn->key);
  memcpy(ticket->contents.purpose, PURPOSE, sizeof ticket->contents.purpose);
  ticket->contents.hello = conn->hello;
  ticket->contents.key = conn->key;
  ask(conn, conn->tcp->munge->seal, done);
}

void sfd_tcp_ticket_open(sfd_tcp_conn_t *conn, sfd_tcp_ticket_done_t done)
{
  ask(conn, conn->tcp->munge->open, done);
}

static bool is_for(const sfd_tcp_conn_t *conn, const sfd_tcp_ticket_t *ticket)
{
  sfd_tcp_hello_t hello = conn->hello;
  hello.ticket_bytes = 0;
  return memcmp(ticket->contents.purpose, PURPOSE, sizeof ticket->contents.purpose) == 0 &&
         memcmp(&ticket->contents.hello, &hello, sizeof hello) == 0;
}

sfd_tcp_refusal_t sfd_tcp_ticket_judge(sfd_tcp_conn_t *conn, const sfd_tcp_ticket_t *ticket)
{
  static const sfd_tcp_refusal_t refusals[] = {
      [SFD_MUNGE_UNREACHABLE] = SFD_TCP_NO_MUNGE, [SFD_MUNGE_INVALID] = SFD_TCP_BAD_TICKET,
      [SFD_MUNGE_EXPIRED] = SFD_TCP_LATE_TICKET,  [SFD_MUNGE_REWOUND] = SFD_TCP_EARLY_TICKET,
      [SFD_MUNGE_REPLAYED] = SFD_TCP_OLD_TICKET,  [SFD_MUNGE_FOREIGN] = SFD_TCP_OTHER_USER,
  };
  if (ticket->result != SFD_MUNGE_OK)
    return refusals[ticket->result];
  if (ticket->letter.uid != geteuid())
    return SFD_TCP_OTHER_USER;
  if (!is_for(conn, ticket))
    return SFD_TCP_BAD_TICKET;
  conn->key = ticket->contents.key;
  return SFD_TCP_WELCOME;
}
