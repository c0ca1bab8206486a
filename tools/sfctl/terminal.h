/* Whether a full screen can be had. */
#ifndef SFCTL_TERMINAL_H
#define SFCTL_TERMINAL_H

#include <stdbool.h>

/* Whether standard output is a terminal of a kind (TERM) that is known. */
bool sfctl_terminal_is_known(void);

#endif
