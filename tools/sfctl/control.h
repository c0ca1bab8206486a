/* sfctl drain, kill, shutdown and log: what the daemon is made to do. */
#ifndef SFCTL_CONTROL_H
#define SFCTL_CONTROL_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfctl/options.h"

/* Asks for it, and prints what has been done: one line, or an object with names that docs/man/sfctl.1 lists. After a
 * shutdown waits until the daemon's process has ended. Errors as sfctl_connect, and what the daemon answers:
 * SF_ERR_PERM, SF_ERR_NOT_FOUND, SF_ERR_EXISTS, SF_ERR_STATE, SF_ERR_ARG. */
sf_status_t sfctl_control(const sfctl_options_t *options, FILE *file);

#endif
