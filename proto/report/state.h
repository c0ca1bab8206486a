/* State of a rank as a message of the control protocol, from its counters. */
#ifndef SFREPORT_STATE_H
#define SFREPORT_STATE_H

#include <stdint.h>

#include <sf/sf_status.h>

#include "proto/sf_control.pb-c.h"

/* Makes the RankState of the rank with these counters; free with sfproto__message__free_unpacked. pid as the caller
 * sees it; 0: as the rank says. Errors of sfshm_counters_copy. */
sf_status_t sfreport_state_read(int counters_fd, int32_t pid, Sfproto__Message **message_p);

#endif
