/* Commands to the daemon: sfctl drain, kill, shutdown and log. */
#ifndef SFCTL_CONTROL_H
#define SFCTL_CONTROL_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfctl/options.h"

/* Sends the command and prints the result: one line, or an object with names that docs/man/sfctl.1 lists. shutdown
 * waits until the daemon's process has ended. Errors of sfctl_connect; of the daemon: SF_ERR_PERM, SF_ERR_NOT_FOUND,
 * SF_ERR_EXISTS, SF_ERR_STATE, SF_ERR_ARG. */
sf_status_t sfctl_control(const sfctl_options_t *options, FILE *file);

#endif
