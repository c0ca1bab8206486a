/* Terminal type: can a full screen be shown. */
#ifndef SFCTL_PRINT_TERMINAL_H
#define SFCTL_PRINT_TERMINAL_H

#include <stdbool.h>

/* Whether standard output is a terminal of a known type (TERM) with a movable cursor. */
bool sfctl_terminal_has_screen(void);

#endif
