/* Printing what was collected: for people, and as JSON with names that docs/man/sfctl.1 lists. */
#ifndef SFCTL_PRINT_H
#define SFCTL_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"

/* Tables. regions: each region of each rank on a line of its own. SF_ERR_NOMEM; errors of writing stay in the stream.
 */
sf_status_t sfctl_print_text(Sfproto__Query__What what, const sfreport_list_t *list, bool regions, FILE *file);

/* One object for the status and for a plan, an array of objects for anything else. SF_ERR_PROTO: the status, or the
 * plan, is missing. */
sf_status_t sfctl_print_json(Sfproto__Query__What what, const sfreport_list_t *list, FILE *file);

#endif
