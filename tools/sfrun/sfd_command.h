/* Command that starts sfd. */
#ifndef SFRUN_SFD_COMMAND_H
#define SFRUN_SFD_COMMAND_H

#include <limits.h>

#include <sf/sf_status.h>

#include "tools/sfrun/options.h"

/* Finds --sfd, else sfd beside sfrun, else in PATH. SF_ERR_NOT_FOUND, SF_ERR_PERM. */
sf_status_t sfrun_sfd_find(const sfrun_options_t *options, char path_p[PATH_MAX]);

/* "sfd", the words (ended by NULL), and sfrun's options. One allocation, to be freed; words are not copied.
 * SF_ERR_NOMEM. */
sf_status_t sfrun_sfd_arguments(const sfrun_options_t *options, const char *const words[], const char ***args_p);

#endif
