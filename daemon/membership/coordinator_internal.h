/* What the files of coordinator.h share. */
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
  SFD_COORDINATOR_STARTING, /* JobStart is under way to the first node */
  SFD_COORDINATOR_REFUSED,  /* a node is lost */
  SFD_COORDINATOR_MOVED     /* the home is another one; size is 0 */
} sfd_coordinator_state_t;

/* A job at its home. */
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
  bool redirected_again;  /* a home before this one, the channel to which was lost */
  int32_t moved_to;       /* MOVED: the home, for ranks that still come here */
  uint64_t *incarnations; /* by rank that has come: its node's, see proto/sf_peer.proto */
  char *refused;          /* REFUSED: why, for ranks that have not come yet; malloc */
  int32_t claimed_by;     /* node that is refused and says to have ranks of it; -1: none */
  uint64_t deadline_ms;   /* the earliest; 0: none */
  bool asked;             /* whether other nodes agree with this one, as ranks are missing */
  uint32_t uninformed;    /* bit i - 1: of those asked, the i-th node behind this one has not heard why */
  uv_timer_t timer;       /* until then */
  int32_t rank_nodes[];   /* -1: it has not come */
} sfd_coordinator_t;

/* The one that is joining, was refused, or has moved; NULL: none. */
sfd_coordinator_t *sfd_coordinator_find(const sfd_server_t *server, uint32_t uid, const char *name);

/* SF_ERR_NOMEM. */
sf_status_t sfd_coordinator_create(sfd_server_t *server, uint32_t uid, const char *name, int32_t size,
                                   sfd_coordinator_t **coordinator_p);

void sfd_coordinator_forget(sfd_coordinator_t *coordinator);

/* Tells all who have come that the job does not come about; and forgets it, too. */
void sfd_coordinator_send_refused(const sfd_coordinator_t *coordinator, sf_status_t status, const char *detail);
void sfd_coordinator_refuse(sfd_coordinator_t *coordinator, sf_status_t status, const char *detail);

/* Tells those of one message, with the error's detail. */
void sfd_coordinator_refuse_join(sfd_server_t *server, int32_t node, const Sfpeer__JobJoin *join, sf_status_t status);

/* Of one that was refused because a node is lost. Ranks come that have not been told: tells them, and returns true.
 * Otherwise ranks try again: forgets the assembly, and returns false. */
bool sfd_coordinator_refuse_late(sfd_coordinator_t *coordinator, int32_t node, const Sfpeer__JobJoin *join);

/* Calls sfd_coordinator_client_send once for each node that ranks have come to. incarnation_p, unless NULL: the
 * message's field for the node's. */
void sfd_coordinator_send_to_all(const sfd_coordinator_t *coordinator, sfd_coordinator_handler_t handler,
                                 const Sfpeer__Message *message, uint64_t *incarnation_p);

/* The lowest rank that is, or came, there; negative: none. */
int32_t sfd_coordinator_find_rank_on(const sfd_coordinator_t *coordinator, int32_t node);

/* Who came here could not reach the homes before this one, or not any more. Others may: whom they have is told to come
 * here. If none of them can be reached from here either, so be it. */
void sfd_coordinator_redirect_earlier(const sfd_coordinator_t *coordinator);

/* Says to one node (-1: to all that ranks have come to) that the home is another one now. */
void sfd_coordinator_send_moved(const sfd_coordinator_t *coordinator, int32_t coordinator_node, int32_t node);

#endif
