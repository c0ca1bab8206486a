/* Which columns of sfctl top stand on a screen, and how wide they are. */
#ifndef SFCTL_TOP_LAYOUT_H
#define SFCTL_TOP_LAYOUT_H

#include <stdbool.h>

#include "tools/sfctl/top/table.h"

typedef struct sfctl_top_layout {
  int digits;                     /* of numbers, which are shown by their last ones; 0: all */
  int number, name, state;        /* widths of what says whose figures they are */
  int figures[SFCTL_TOP_COLUMNS]; /* widths */
  int first, end;                 /* figures that are shown: those from first to before end */
  bool history;
} sfctl_top_layout_t;

/* For lines of that width; 0: no end. first: figure that comes first, the ones before it being scrolled away. wide:
 * names and numbers in full; else those that are long for the width are clipped. */
sfctl_top_layout_t sfctl_top_lay_out(const sfctl_top_table_t *table, int width, int first, bool wide);

#endif
