/* Whether a full screen can be had. */
#ifndef SFCTL_PRINT_TERMINAL_H
#define SFCTL_PRINT_TERMINAL_H

#include <stdbool.h>

/* Whether standard output is a terminal of a kind (TERM) that is known, and whose cursor can be moved. */
bool sfctl_terminal_has_screen(void);

#endif
