/* Needed roots: see wants.h. The one thread of sfctl. */
#include "tools/sfctl/plan/wants.h"

#include <stdlib.h>

#include "shm/base/error.h"
#include "shm/base/room.h"

/* The last entry if it has that owner, else a new one; NULL: no memory. */
static sfctl_want_t *find_want(sfctl_wants_t *wants, int32_t owner)
{
  if (wants->nwants == wants->begin || wants->wants[wants->nwants - 1].owner != owner) {
    if (!sfshm_make_room(&wants->wants, &wants->wants_capacity, wants->nwants + 1, sizeof *wants->wants))
      return NULL;
    wants->wants[wants->nwants++] = (sfctl_want_t){.owner = owner, .first = (int64_t)wants->nroots};
  }
  return &wants->wants[wants->nwants - 1];
}

sf_status_t sfctl_wants_add(sfctl_wants_t *wants, int32_t owner, int64_t first, int64_t n)
{
  if (n <= 0)
    return SF_OK;
  size_t needed = wants->nroots + (size_t)n;
  bool there = sfshm_make_room(&wants->root, &wants->roots_capacity, needed, sizeof *wants->root);
  sfctl_want_t *want = there ? find_want(wants, owner) : NULL;
  if (want == NULL)
    return sfshm_error(SF_ERR_NOMEM, "no memory for %zu roots that a rank wants", needed);
  for (int64_t i = 0; i < n; i++)
    wants->root[wants->nroots++] = first + i;
  want->n += n;
  return SF_OK;
}

void sfctl_wants_empty(sfctl_wants_t *wants)
{
  wants->nwants = wants->nroots = wants->begin = 0;
}

void sfctl_wants_begin(sfctl_wants_t *wants)
{
  wants->begin = wants->nwants;
}

void sfctl_wants_free(sfctl_wants_t *wants)
{
  free(wants->wants);
  free(wants->root);
  *wants = (sfctl_wants_t){0};
}

/* ---- Rows ---- */

int64_t sfctl_rows_first(int64_t n, int32_t nranks, int32_t rank)
{
  return (int64_t)((__int128)n * rank / nranks);
}

int32_t sfctl_rows_owner(int64_t n, int32_t nranks, int64_t row)
{
  return (int32_t)((((__int128)row + 1) * nranks - 1) / n);
}

sf_status_t sfctl_wants_add_rows(sfctl_wants_t *wants, int64_t n, int32_t nranks, int32_t rank, int64_t first,
                                 int64_t end)
{
  while (first < end) {
    int32_t owner = sfctl_rows_owner(n, nranks, first);
    int64_t begin = sfctl_rows_first(n, nranks, owner), last = sfctl_rows_first(n, nranks, owner + 1);
    int64_t until = end < last ? end : last;
    sf_status_t status = owner != rank ? sfctl_wants_add(wants, owner, first - begin, until - first) : SF_OK;
    if (status != SF_OK)
      return status;
    first = until;
  }
  return SF_OK;
}
