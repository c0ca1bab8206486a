/* Tables: columns as wide as their widest cell, if they fit the terminal. */
#ifndef SFCTL_PRINT_TABLE_H
#define SFCTL_PRINT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "tools/sfctl/print/value.h"

typedef enum sfctl_align { SFCTL_LEFT, SFCTL_RIGHT } sfctl_align_t;

typedef struct sfctl_column {
  const char *title; /* NULL in all columns: no titles */
  sfctl_align_t align;
} sfctl_column_t;

typedef struct sfctl_cell sfctl_cell_t;

/* Start with {SFCTL_COLUMNS(columns)}, add cells by row, print. print reports lack of memory. */
#define SFCTL_COLUMNS(array) .columns = (array), .ncolumns = sizeof(array) / sizeof(array)[0]
typedef struct sfctl_table {
  const sfctl_column_t *columns;
  size_t ncolumns;
  sfctl_cell_t *cells;
  size_t ncells, capacity;
  sf_status_t status;
} sfctl_table_t;

/* Adds a cell. Unprintable characters are escaped; an empty text becomes "-". */
void sfctl_table_cell(sfctl_table_t *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a cell for each value: sfctl_table_add(table, SFCTL_VALUE(rank), sfctl_bytes(length)). Unknown values become
 * "-".
 */
#define sfctl_table_add(table, ...)                                                                                    \
  sfctl_table_add_values(table, (const sfctl_value_t[]){__VA_ARGS__},                                                  \
                         sizeof((const sfctl_value_t[]){__VA_ARGS__}) / sizeof(sfctl_value_t))
void sfctl_table_add_values(sfctl_table_t *table, const sfctl_value_t values[], size_t n);

/* Adds cells of unknown values. */
void sfctl_table_unknown(sfctl_table_t *table, int count);

/* Adds an indented line below the complete row, outside the columns. */
void sfctl_table_note(sfctl_table_t *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Columns are in order of importance. If they exceed width, first long left-aligned text is clipped, then the last
 * columns are left out, and a line says how many. width 0: unlimited. Notes are not clipped. Clears the table. */
sf_status_t sfctl_table_print(sfctl_table_t *table, int width, FILE *file);
void sfctl_table_clear(sfctl_table_t *table);

/* The same; without rows prints "no NAME". */
sf_status_t sfctl_table_print_all(sfctl_table_t *table, const char *name, int width, FILE *file);

#endif
