/* SIGBUS guard for memory shared with clients. Unallocated pages are created when touched; without memory the thread
 * that touches them gets SIGBUS. The client library allocates all pages, but another client may leave holes, or punch
 * them, to end the daemon. Such a page, the content of which is lost, is replaced by an empty page of the daemon's own.
 * */
#ifndef SFD_BASE_SIGBUS_GUARD_H
#define SFD_BASE_SIGBUS_GUARD_H

#include <stdint.h>

/* For all threads from now on. SIGBUS for other reasons ends the process. */
void sfd_sigbus_guard_begin(void);

/* Pages replaced since the last call. */
uint32_t sfd_sigbus_guard_take(void);

#endif
