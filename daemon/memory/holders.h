/* Holders: ranks of a job that have something of another rank and are alerted when it goes. The daemon's thread. */
#ifndef SFD_MEMORY_HOLDERS_H
#define SFD_MEMORY_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/jobs.h"

typedef struct sfd_holders {
  uint8_t *bits; /* bit r: job rank r; NULL: none yet */
  int32_t n;
} sfd_holders_t;

/* False: no memory. */
bool sfd_holders_add(sfd_holders_t *holders, const sfd_rank_t *rank);

/* Whether the rank was a holder. */
bool sfd_holders_remove(sfd_holders_t *holders, int32_t number);

/* Sends the alert, with the owner's rank, to connected holders. */
void sfd_holders_send_alert(const sfd_holders_t *holders, const sfd_rank_t *owner, Sfproto__Alert *alert);

void sfd_holders_free(sfd_holders_t *holders);

#endif
