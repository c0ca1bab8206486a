/* Shares of what is bounded for all users of a daemon. A user may have three times what is left free: alone three
 * quarters of all, beside another one three sevenths. So something is left for whoever comes next, however many there
 * are. Root and the daemon's own user are not bound by it. */
#ifndef SFD_BASE_FAIR_SHARE_H
#define SFD_BASE_FAIR_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/base/daemon.h"

static inline bool sfd_fair_share_is_exempt(const sfd_server_t *server, uid_t uid)
{
  return uid == 0 || uid == server->uid;
}

/* Whether a user who has some of all that are taken may have one more. */
static inline bool sfd_fair_share_allows(int64_t has, int64_t taken, int64_t most)
{
  return has < 3 * (most - taken);
}

#endif
