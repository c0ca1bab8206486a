/* Printing of answers, as tables, and as JSON with names that docs/man/sfctl.1 lists. */
#ifndef SFCTL_PRINT_PRINT_H
#define SFCTL_PRINT_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "proto/report/list.h"
#include "tools/sfctl/plan/within.h"
#include "tools/sfctl/print/json.h"

typedef struct sfctl_print_style {
  bool regions;                 /* one line per region of a rank */
  int width;                    /* of tables; 0: unlimited */
  bool all_nodes;               /* JSON: always an array */
  const sfctl_within_t *within; /* pairs of ranks of a plan; NULL: not requested */
  bool pairs;                   /* print each pair */
} sfctl_print_style_t;

/* Tables, one per node; sorts the list by node. SF_ERR_NOMEM; write errors stay in the stream. */
sf_status_t sfctl_print_text(Sfproto__Query__What what, const sfreport_list_t *list, const sfctl_print_style_t *style,
                             FILE *file);

/* One object for status and plan, else an array of objects; always an array for all nodes. SF_ERR_PROTO: no status, or
 * no plan. */
sf_status_t sfctl_print_json(Sfproto__Query__What what, const sfreport_list_t *list, const sfctl_print_style_t *style,
                             FILE *file);

/* Distribution of a plan's edges over the ranks of the node: a line if uneven, a table with pairs. */
sf_status_t sfctl_print_degrees_text(const sfctl_print_style_t *style, int32_t node, FILE *file);
void sfctl_print_degrees_json(sfctl_json_t *json, const sfctl_within_t *within, int32_t node);

#endif
