/* Tables of channels and plans, for sfctl_print_text. */
#ifndef SFCTL_PRINT_NODES_H
#define SFCTL_PRINT_NODES_H

#include <stdio.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"
#include "tools/sfctl/print/print.h"

/* PeerInfo messages; PlanInfo messages of one graph, with the pairs of ranks in style. SF_ERR_NOMEM; SF_ERR_PROTO: no
 * PlanInfo. */
sf_status_t sfctl_print_peers(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file);
sf_status_t sfctl_print_plan(const sfreport_list_t *list, const sfctl_print_style_t *style, FILE *file);

#endif
