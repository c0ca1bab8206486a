/* Printing what was collected: for people, and as JSON with names that docs/man/sfctl.1 lists. */
#ifndef SFCTL_PRINT_PRINT_H
#define SFCTL_PRINT_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"
#include "tools/sfctl/plan/within.h"
#include "tools/sfctl/print/json.h"

typedef struct sfctl_print_style {
  bool regions;                 /* of ranks: each on a line of its own */
  int width;                    /* of tables; 0: no end */
  bool all_nodes;               /* JSON: an array in any case */
  const sfctl_within_t *within; /* of a plan: pairs of ranks; NULL: not asked for */
  bool pairs;                   /* each of them */
} sfctl_print_style_t;

/* Tables, one after the other for each node that tells; the list is then sorted by node. regions: each region of each
 * rank on a line of its own. SF_ERR_NOMEM; errors of writing stay in the stream.
 */
sf_status_t sfctl_print_text(Sfproto__Query__What what, const sfreport_list_t *list, const sfctl_print_style_t *style,
                             FILE *file);

/* One object for the status and for a plan, an array of objects for anything else, and for all nodes in any case.
 * SF_ERR_PROTO: the status, or the plan, is missing. */
sf_status_t sfctl_print_json(Sfproto__Query__What what, const sfreport_list_t *list, const sfctl_print_style_t *style,
                             FILE *file);

/* How the edges of a plan are spread over the ranks of that node: a line if it is uneven, and with pairs a table. */
sf_status_t sfctl_print_degrees_text(const sfctl_print_style_t *style, int32_t node, FILE *file);
void sfctl_print_degrees_json(sfctl_json_t *json, const sfctl_within_t *within, int32_t node);

/* Which messages of a plan's side MPI has from and to devices; NULL: the daemon is too old to tell. */
static inline const char *sfctl_plan_device(const Sfproto__PlanSide *side)
{
  static const char *const texts[] = {"none", "sent", "received", "both"};
  return side->has_sent_on_device && side->has_received_on_device
             ? texts[(side->sent_on_device ? 1 : 0) + (side->received_on_device ? 2 : 0)]
             : NULL;
}

#endif
