/* Which ranks of a job have something of one of them, to be told when it goes. The daemon's thread. */
#ifndef SFD_MEMORY_HOLDERS_H
#define SFD_MEMORY_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/jobs.h"

typedef struct sfd_holders {
  uint8_t *bits; /* bit r: job rank r; NULL: nobody ever had it */
  int32_t n;
} sfd_holders_t;

/* Again changes nothing. False: there is no memory. */
bool sfd_holders_add(sfd_holders_t *holders, const sfd_rank_t *rank);

/* Whether it was there. */
bool sfd_holders_remove(sfd_holders_t *holders, int32_t number);

/* Sends the alert, which says that it is about the owner, to those that are connected. */
void sfd_holders_send_alert(const sfd_holders_t *holders, const sfd_rank_t *owner, Sfproto__Alert *alert);

void sfd_holders_free(sfd_holders_t *holders);

#endif
