/* Copy costs that a daemon keeps for the next start, in a file for each host: copy-costs.HOST in $XDG_CACHE_HOME/sfd or
 * $HOME/.cache/sfd, for root in systemd's $CACHE_DIRECTORY. The daemon believes the file for a day, if this user alone
 * can write to it and its directory, and if kernel, processors and version of sfd are the same. */
#ifndef SFD_BASE_COPY_COSTS_CACHE_H
#define SFD_BASE_COPY_COSTS_CACHE_H

#include <stdbool.h>

#include "shm/region/board.h"

/* The kept costs. False: there are none to be believed. */
bool sfd_copy_costs_load(sfshm_costs_t *costs_p);

/* Keeps costs in place of others. Readers find all or nothing of them. False: not possible, as the debug log says. */
bool sfd_copy_costs_save(const sfshm_costs_t *costs);

/* The kept costs unless they are wanted again, or else what sfd_copy_costs_measure finds, which is kept if it succeeds
 * and no other work has disturbed it. */
void sfd_copy_costs_find(bool again, sfshm_costs_t *costs_p);

#endif
