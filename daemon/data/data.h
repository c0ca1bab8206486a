/* State of the daemon for payload, besides that of ranks and graphs. */
#ifndef SFD_DATA_DATA_H
#define SFD_DATA_DATA_H

#include <stdint.h>
#include <sys/queue.h>

struct sfd_submit_ring;
struct sfd_account;
struct sfd_trunks;
TAILQ_HEAD(sfd_submit_ring_list, sfd_submit_ring);
LIST_HEAD(sfd_account_list, sfd_account);

typedef struct sfd_data {
  struct sfd_submit_ring_list submit_rings;
  struct sfd_account_list accounts; /* of users, see slots.c */
  struct sfd_trunks **arriving;     /* by node: trunks of which a message is arriving, or NULL; NULL: alone */
  int64_t nlists;                   /* edge lists mapped for workers: routes.h */
} sfd_data_t;

#endif
