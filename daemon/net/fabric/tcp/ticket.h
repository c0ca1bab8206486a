/* Tickets: where peers prove by MUNGE that they belong, who connects makes up a key for the connection and sends it in
 * a credential. Only a daemon of the same user, on a host with the same MUNGE key, can read it: who then answers with
 * that key is one, and who sealed it is one as well. The credential names the connection (the hello, with its nonce),
 * so that it is good for no other; the key is shown by challenge and response as that of a file is (auth.h), so
 * that an overheard one is good for nothing.
 *
 * Munged may let one wait. So it is asked in a thread of libuv's, for one connection at a time, so that the other
 * threads stay free for what else they do. The functions are called on the loop's thread. */
#ifndef SFD_NET_FABRIC_TCP_TICKET_H
#define SFD_NET_FABRIC_TCP_TICKET_H

#include <stdbool.h>
#include <sys/queue.h>
#include <uv.h>

#include "daemon/net/fabric/munge/plugin.h"
#include "daemon/net/fabric/tcp/auth.h"

struct sfd_tcp;
struct sfd_tcp_conn;
typedef struct sfd_tcp_ticket sfd_tcp_ticket_t;

/* Munged has answered; the connection is there. The ticket goes when it returns. May call the user. */
typedef void (*sfd_tcp_ticket_done_t)(struct sfd_tcp_conn *conn, const sfd_tcp_ticket_t *ticket);

struct sfd_tcp_ticket {
  struct sfd_tcp_conn *conn;
  TAILQ_ENTRY(sfd_tcp_ticket) entry;
  bool queued;
  uv_work_t work;
  sfd_munge_result_t (*ask)(sfd_munge_letter_t *letter);
  sfd_tcp_ticket_done_t done;
  sfd_munge_letter_t letter;
  sfd_munge_result_t result;
  struct {
    char purpose[16];
    sfd_tcp_hello_t hello; /* ticket_bytes is 0 */
    sfd_tcp_key_t key;
  } contents;
  char text[SFD_TCP_TICKET_MAX + 1];
};
TAILQ_HEAD(sfd_tcp_ticket_list, sfd_tcp_ticket);

/* Of a fabric: the one about which munged is asked, NULL if none, and those that wait for it. */
typedef struct sfd_tcp_tickets {
  sfd_tcp_ticket_t *asked;
  struct sfd_tcp_ticket_list queue;
} sfd_tcp_tickets_t;

/* Whether munged is there, asked now: may block. SF_ERR_SYS: it is not. */
sf_status_t sfd_tcp_ticket_try(const sfd_munge_t *munge, const char *munge_socket) __attribute__((warn_unused_result));

/* A ticket for the connection, not made or read yet; conn->ticket. False: no memory. */
bool sfd_tcp_ticket_create(struct sfd_tcp_conn *conn);

/* Makes up the connection's key and has the ticket made for its hello. */
void sfd_tcp_ticket_seal(struct sfd_tcp_conn *conn, sfd_tcp_ticket_done_t done);

/* Has the ticket read whose text has come. */
void sfd_tcp_ticket_open(struct sfd_tcp_conn *conn, sfd_tcp_ticket_done_t done);

/* What it is good for: SFD_TCP_WELCOME, and the connection has its key, or what is told to who sent it. */
sfd_tcp_refusal_t sfd_tcp_ticket_judge(struct sfd_tcp_conn *conn, const sfd_tcp_ticket_t *ticket);

/* The connection is dropped; one that munged is being asked for keeps its memory until it has answered. */
void sfd_tcp_ticket_drop(struct sfd_tcp_conn *conn);

#endif
