/* Answers to tools on other nodes, in portions; each has a cursor to continue from, so that no state is kept here. */
#ifndef SFD_ADMIN_REMOTE_ANSWER_H
#define SFD_ADMIN_REMOTE_ANSWER_H

#include <sf/sf_status.h>

#include "daemon/base.h"
#include "proto/sf_peer.pb-c.h"

sf_status_t sfd_remote_answer_handle(sfd_server_t *server, int32_t node, const Sfpeer__Message *message);

/* The next portion for a tool on this node; calls take once. */
void sfd_remote_answer_here(sfd_server_t *server, const Sfpeer__Ask *ask,
                            void (*take)(void *context, const Sfpeer__Told *told), void *context);

#endif
