/* Text in columns that are as wide as their widest cell, as far as they fit the terminal. */
#ifndef SFCTL_PRINT_TABLE_H
#define SFCTL_PRINT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sf/sf_status.h>

typedef enum sfctl_align { SFCTL_LEFT, SFCTL_RIGHT } sfctl_align_t;

typedef struct sfctl_column {
  const char *title; /* NULL in all columns: no line of titles */
  sfctl_align_t align;
} sfctl_column_t;

typedef struct sfctl_cell sfctl_cell_t;

/* Start with {.columns = ..., .ncolumns = ...}, add the cells row by row, print, clear. What runs out of memory on the
 * way is reported by print. */
typedef struct sfctl_table {
  const sfctl_column_t *columns;
  size_t ncolumns;
  sfctl_cell_t *cells;
  size_t ncells, capacity;
  sf_status_t status;
} sfctl_table_t;

/* The next cell. What is not printable is escaped; an empty text becomes "-". */
void sfctl_table_cell(sfctl_table_t *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next cell: a number; a size; a number that may be unknown; or so many cells of what is. */
void sfctl_table_number(sfctl_table_t *table, uint64_t number);
void sfctl_table_bytes(sfctl_table_t *table, uint64_t bytes);
void sfctl_table_optional(sfctl_table_t *table, bool known, int64_t number);
void sfctl_table_unknown(sfctl_table_t *table, int count);

/* A line below the row that is complete, indented, outside the columns. */
void sfctl_table_note(sfctl_table_t *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Columns stand in order of importance. If they need more than width characters, first what stands at the left of its
 * column is clipped where it is long; then the last columns are left out, and a line says how many. width 0: no end.
 * Notes are not cut. */
sf_status_t sfctl_table_print(const sfctl_table_t *table, int width, FILE *file);
void sfctl_table_clear(sfctl_table_t *table);

/* The same, and clears it; a table without rows is "no NAME". */
sf_status_t sfctl_table_print_all(sfctl_table_t *table, const char *name, int width, FILE *file);

#endif
