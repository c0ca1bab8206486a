/* Traffic as a heat map, CSV, SVG, or JSON with names that docs/man/sfctl.1 lists. */
#ifndef SFCTL_PRINT_MATRIX_H
#define SFCTL_PRINT_MATRIX_H

#include <stdbool.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfctl/traffic.h"

typedef struct sfctl_matrix_style {
  double seconds; /* of the traffic; 0: since the begin */
  bool messages;  /* shades show messages; else bytes */
} sfctl_matrix_style_t;

/* Beyond 64 (heat map) or 128 (picture) parties share rows and columns. SF_ERR_NOMEM. */
sf_status_t sfctl_matrix_print_text(const sfctl_traffic_t *traffic, const sfctl_matrix_style_t *style, FILE *file);
sf_status_t sfctl_matrix_print_svg(const sfctl_traffic_t *traffic, const sfctl_matrix_style_t *style, FILE *file);

/* from,to,messages,bytes: one line per pair. */
void sfctl_matrix_print_csv(const sfctl_traffic_t *traffic, FILE *file);
void sfctl_matrix_print_json(const sfctl_traffic_t *traffic, const sfctl_matrix_style_t *style, FILE *file);

#endif
