/* Tickets for authentication by MUNGE: the connecting side makes up a key for the connection and sends it in a
 * credential. Only a daemon of the same user, on a host with the same MUNGE key, can read it; so an answer by that key
 * proves such a daemon, and the credential its sender. The credential contains the hello with its nonce, so it is valid
 * for that connection only; the key is proven by challenge and response (auth.h), so an overheard credential is
 * useless. As munged may block, a libuv thread asks it, for one connection at a time, so that the other threads stay
 * free. The loop's thread. */
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

/* munged has answered for an existing connection. The ticket is freed on return. May call the user. */
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
    sfd_tcp_hello_t hello; /* with ticket_bytes 0 */
    sfd_tcp_key_t key;
  } contents;
  char text[SFD_TCP_TICKET_MAX + 1];
};
TAILQ_HEAD(sfd_tcp_ticket_list, sfd_tcp_ticket);

/* Tickets of a fabric: the one at munged (NULL: none), and those that wait. */
typedef struct sfd_tcp_tickets {
  sfd_tcp_ticket_t *asked;
  struct sfd_tcp_ticket_list queue;
} sfd_tcp_tickets_t;

/* Whether munged answers; may block. SF_ERR_SYS: no. */
sf_status_t sfd_tcp_ticket_try(const sfd_munge_t *munge, const char *munge_socket) __attribute__((warn_unused_result));

/* conn->ticket, empty. False: no memory. */
bool sfd_tcp_ticket_create(struct sfd_tcp_conn *conn);

/* Makes up the connection's key, and requests the credential. */
void sfd_tcp_ticket_seal(struct sfd_tcp_conn *conn, sfd_tcp_ticket_done_t done);

/* Requests reading of the received credential. */
void sfd_tcp_ticket_open(struct sfd_tcp_conn *conn, sfd_tcp_ticket_done_t done);

/* SFD_TCP_WELCOME: the connection has its key; else the refusal to send. */
sfd_tcp_refusal_t sfd_tcp_ticket_judge(struct sfd_tcp_conn *conn, const sfd_tcp_ticket_t *ticket);

/* The connection is dropped; the memory stays until munged has answered. */
void sfd_tcp_ticket_drop(struct sfd_tcp_conn *conn);

#endif
