/* Fair shares of limits for all users of a daemon: a user may have three times what is left free; alone that is three
 * quarters of all, beside another user three sevenths. So any number of users finds something left. Root and the
 * daemon's user are exempt. */
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
