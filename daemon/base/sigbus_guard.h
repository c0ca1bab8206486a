/* Memory that clients share with the daemon: pages that nobody has allocated are made when they are touched, and if the
 * machine has no memory for them then, whoever touches them gets a SIGBUS. Where our clients allocate all that they
 * tell of, others may have left holes, or made some, to end the daemon of all. What can't be read or written then is
 * worth nothing, and is theirs: it is replaced by an empty page of the daemon's own. */
#ifndef SFD_BASE_SIGBUS_GUARD_H
#define SFD_BASE_SIGBUS_GUARD_H

#include <stdint.h>

/* From now on, for all threads. Other reasons for a SIGBUS end the process as ever. */
void sfd_sigbus_guard_begin(void);

/* Pages that have been replaced since the last call. */
uint32_t sfd_sigbus_guard_take(void);

#endif
