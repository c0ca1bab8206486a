/* Shared by coordinator.c, coordinator_lost.c and refusal.c. */
#ifndef SFD_MEMBERSHIP_COORDINATOR_INTERNAL_H
#define SFD_MEMBERSHIP_COORDINATOR_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "daemon/jobs.h"
#include "daemon/membership/coordinator_client.h"

/* See coordinator.h. */
typedef enum sfd_coordinator_state {
  SFD_COORDINATOR_JOINING,
  SFD_COORDINATOR_STARTING, /* JobStart has been sent to the first node */
  SFD_COORDINATOR_REFUSED,  /* a node is lost */
  SFD_COORDINATOR_MOVED     /* another node coordinates; size is 0 */
} sfd_coordinator_state_t;

/* A job that this node coordinates. */
typedef struct sfd_coordinator {
  TAILQ_ENTRY(sfd_coordinator) entry;
  sfd_server_t *server;
  sfd_coordinator_state_t state;
  uint64_t job; /* STARTING */
  int32_t root; /* STARTING: the first node of the job */
  uint32_t uid;
  char name[SFD_NAME_SIZE];
  uint8_t digest[SFD_COORDINATOR_DIGEST_BYTES]; /* of the key */
  int32_t size;
  int32_t ncame;
  bool redirected_again;  /* JobMoved was sent again to an earlier coordinator, after the loss of its channel */
  int32_t moved_to;       /* MOVED: the coordinator */
  uint64_t *incarnations; /* by rank that has come: of its node, see proto/sf_peer.proto */
  char *refused;          /* REFUSED: detail for late ranks; malloc */
  int32_t claimed_by;     /* node that was refused and claims to have ranks of the job; -1: none; this one: unknown */
  uint64_t deadline_ms;   /* the earliest of the ranks; 0: none */
  bool asked;             /* other nodes have been asked whether they agree, see sfd_refusal_ask */
  uint32_t uninformed;    /* bit i - 1: the i-th node after this one has been asked, without the cause */
  uv_timer_t timer;       /* at the deadline */
  int32_t rank_nodes[];   /* -1: it has not come */
} sfd_coordinator_t;

/* The coordinator of the job, unless it is STARTING; NULL: none. */
sfd_coordinator_t *sfd_coordinator_find(const sfd_server_t *server, uint32_t uid, const char *name);

/* SF_ERR_NOMEM. */
sf_status_t sfd_coordinator_create(sfd_server_t *server, uint32_t uid, const char *name, int32_t size,
                                   sfd_coordinator_t **coordinator_p);

void sfd_coordinator_forget(sfd_coordinator_t *coordinator);

/* Refuses all ranks that have come; and frees the coordinator. */
void sfd_coordinator_send_refused(const sfd_coordinator_t *coordinator, sf_status_t status, const char *detail);
void sfd_coordinator_refuse(sfd_coordinator_t *coordinator, sf_status_t status, const char *detail);

/* Refuses the ranks of one message, with sfshm_error_detail(). */
void sfd_coordinator_refuse_join(sfd_server_t *server, int32_t node, const Sfpeer__JobJoin *join, sf_status_t status);

/* REFUSED: if the ranks are late ones, refuses them and returns true. Otherwise ranks try again: frees the coordinator,
 * and returns false. */
bool sfd_coordinator_refuse_late(sfd_coordinator_t *coordinator, int32_t node, const Sfpeer__JobJoin *join);

/* Sends to each node with ranks. *incarnation_p (unless NULL), a field of the message, is set to the node's
 * incarnation. */
void sfd_coordinator_send_to_all(const sfd_coordinator_t *coordinator, sfd_coordinator_handler_t handler,
                                 const Sfpeer__Message *message, uint64_t *incarnation_p);

/* The lowest rank that came to the node; negative: none. */
int32_t sfd_coordinator_find_rank_on(const sfd_coordinator_t *coordinator, int32_t node);

/* Sends JobMoved to the nodes before this one: the node that reported here could not reach them, but others may have.
 * */
void sfd_coordinator_redirect_earlier(const sfd_coordinator_t *coordinator);

/* Sends JobMoved to one node (-1: to all with ranks). */
void sfd_coordinator_send_moved(const sfd_coordinator_t *coordinator, int32_t coordinator_node, int32_t node);

#endif
