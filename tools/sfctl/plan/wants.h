/* The roots of others that ranks have leaves on, and how rows of a matrix are dealt out to ranks. */
#ifndef SFCTL_PLAN_WANTS_H
#define SFCTL_PLAN_WANTS_H

#include <stddef.h>
#include <stdint.h>

#include <sf/sf_status.h>

/* Roots of one owner, ascending, each once: root[first] .. root[first + n - 1]. */
typedef struct sfctl_want {
  int32_t owner;
  int64_t first, n;
} sfctl_want_t;

/* Start with {0}. */
typedef struct sfctl_wants {
  sfctl_want_t *wants; /* rank by rank, by owner */
  size_t nwants, wants_capacity;
  size_t begin;  /* those from here on are of the last rank */
  int64_t *root; /* the owner's number of it */
  size_t nroots, roots_capacity;
} sfctl_wants_t;

/* What follows is what another rank wants. */
void sfctl_wants_begin(sfctl_wants_t *wants);

/* Adds the owner's roots first .. first + n - 1. Calls go by ascending owner and root. SF_ERR_NOMEM. */
sf_status_t sfctl_wants_add(sfctl_wants_t *wants, int32_t owner, int64_t first, int64_t n);

/* Forgets the contents, keeps the memory. */
void sfctl_wants_empty(sfctl_wants_t *wants);
void sfctl_wants_free(sfctl_wants_t *wants);

/* n rows in blocks that differ by one row at most: where the block of a rank begins, and whose a row is. The blocks of
 * docs/examples/cg, and of PETSc if n is a multiple of the number of ranks. */
int64_t sfctl_rows_first(int64_t n, int32_t nranks, int32_t rank);
int32_t sfctl_rows_owner(int64_t n, int32_t nranks, int64_t row);

/* Adds rows first .. end - 1, which may belong to several ranks, but not those of rank itself. Calls go by ascending
 * rows. */
sf_status_t sfctl_wants_add_rows(sfctl_wants_t *wants, int64_t n, int32_t nranks, int32_t rank, int64_t first,
                                 int64_t end);

#endif
