/* Layout of sfctl top: columns on a screen, and their widths. */
#ifndef SFCTL_TOP_LAYOUT_H
#define SFCTL_TOP_LAYOUT_H

#include <stdbool.h>

#include "tools/sfctl/top/table.h"

typedef struct sfctl_top_layout {
  int digits;                     /* last digits of ids; 0: all */
  int number, name, state;        /* widths of id, name and state */
  int figures[SFCTL_TOP_COLUMNS]; /* widths */
  int first, end;                 /* shown figures: from first to before end */
  bool history;
} sfctl_top_layout_t;

/* For lines of that width; 0: unlimited. first: index of the first figure, after scrolling. wide: names and ids in
 * full; else long ones are clipped. */
sfctl_top_layout_t sfctl_top_lay_out(const sfctl_top_table_t *table, int width, int first, bool wide);

#endif
