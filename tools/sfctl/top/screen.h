/* Full-screen sfctl top. */
#ifndef SFCTL_TOP_SCREEN_H
#define SFCTL_TOP_SCREEN_H

#include <sf/sf_status.h>

#include "tools/sfctl/top/session.h"

/* Until q, a signal, or the number of refreshes in the options. Errors are shown and the sample is repeated, except for
 * the first. SF_ERR_SYS: the terminal can't be used. */
sf_status_t sfctl_top_screen(sfctl_top_session_t *session);

#endif
