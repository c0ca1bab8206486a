/* Lines of sfctl top. */
#ifndef SFCTL_TOP_TEXT_H
#define SFCTL_TOP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tools/sfctl/top/layout.h"
#include "tools/sfctl/top/table.h"

#define SFCTL_TOP_LINE 512

/* Ends with the last sum that fits into width characters; 0: all. */
void sfctl_top_summary(const sfctl_top_table_t *table, const char *clock, char line[SFCTL_TOP_LINE]);
void sfctl_top_totals(const sfctl_top_table_t *table, int width, char line[SFCTL_TOP_LINE]);

/* sort: column with brackets around its title; -1: none. unicode: histories with block elements in UTF-8; else ASCII.
 * */
void sfctl_top_titles(const sfctl_top_table_t *table, const sfctl_top_layout_t *layout, int sort,
                      char line[SFCTL_TOP_LINE]);
void sfctl_top_line(const sfctl_top_table_t *table, const sfctl_top_row_t *row, const sfctl_top_layout_t *layout,
                    bool unicode, char line[SFCTL_TOP_LINE]);

/* One object, on one line. */
void sfctl_top_json(const sfctl_top_table_t *table, double time_s, FILE *file);

#endif
