/* Roots of other ranks that ranks need, and the distribution of matrix rows. */
#ifndef SFCTL_PLAN_WANTS_H
#define SFCTL_PLAN_WANTS_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

/* Roots of one owner, ascending and distinct: root[first] .. root[first + n - 1]. */
typedef struct sfctl_want {
  int32_t owner;
  int64_t first, n;
} sfctl_want_t;

/* Start with {0}. */
typedef struct sfctl_wants {
  sfctl_want_t *wants; /* by rank, then owner */
  size_t nwants, wants_capacity;
  size_t begin;  /* first entry of the last rank */
  int64_t *root; /* index at the owner */
  size_t nroots, roots_capacity;
} sfctl_wants_t;

/* Begins the next rank. */
void sfctl_wants_begin(sfctl_wants_t *wants);

/* Adds roots first .. first + n - 1 of the owner. Calls are ordered by owner and root. SF_ERR_NOMEM. */
sf_status_t sfctl_wants_add(sfctl_wants_t *wants, int32_t owner, int64_t first, int64_t n);

/* Keeps the memory. */
void sfctl_wants_empty(sfctl_wants_t *wants);
void sfctl_wants_free(sfctl_wants_t *wants);

/* Blocks of n rows that differ by at most one row: first row of a rank, owner of a row. The blocks of docs/examples/cg,
 * and of PETSc if n is a multiple of the number of ranks. */
int64_t sfctl_rows_first(int64_t n, int32_t nranks, int32_t rank);
int32_t sfctl_rows_owner(int64_t n, int32_t nranks, int64_t row);

/* Adds rows first .. end - 1 of any ranks but rank itself. Calls are ordered by row. SF_ERR_NOMEM. */
sf_status_t sfctl_wants_add_rows(sfctl_wants_t *wants, int64_t n, int32_t nranks, int32_t rank, int64_t first,
                                 int64_t end);

#endif
