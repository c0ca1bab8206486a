/* What a rank does, read from its counters: as a message of the control protocol, whoever has read them. */
#ifndef SFREPORT_STATE_H
#define SFREPORT_STATE_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/sf_control.pb-c.h"

/* Makes the RankState of the rank whose counters the descriptor is of; to be freed by
 * sfproto__message__free_unpacked. pid: its process as the caller sees it; 0: the one that it names itself. Errors as
 * sfshm_counters_copy. */
sf_status_t sfreport_state_read(int counters_fd, int32_t pid, Sfproto__Message **message_p);

#endif
