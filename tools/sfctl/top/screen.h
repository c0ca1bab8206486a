/* sfctl top on a terminal. */
#ifndef SFCTL_TOP_SCREEN_H
#define SFCTL_TOP_SCREEN_H

#include <sf/sf_status.h>

#include "tools/sfctl/top/session.h"

/* Until q is pressed, a signal comes, or so many refreshes as the options say are over. What goes wrong is shown and
 * tried again, except for the first sample. SF_ERR_SYS: the terminal can't be used. */
sf_status_t sfctl_top_screen(sfctl_top_session_t *session);

#endif
