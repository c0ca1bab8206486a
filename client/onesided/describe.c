/* Shape and distribution of arrays, from the arguments of sf_array_create. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/onesided/array.h"
#include "shm/base/error.h"

/* Deals the factors of n, the largest first, each to the dimension with the longest blocks. */
static void choose_grid(sfshm_array_t *shape, int32_t n)
{
  bool is_free[SFSHM_ARRAY_DIMS];
  for (int32_t d = 0; d < shape->ndims; d++) {
    is_free[d] = shape->dims[d].procs == 0;
    if (is_free[d])
      shape->dims[d].procs = 1;
  }
  for (int32_t factor = n; n > 1; factor--) {
    bool is_prime = factor > 1;
    for (int32_t divisor = 2; divisor <= factor / divisor && is_prime; divisor++)
      is_prime = factor % divisor != 0;
    while (is_prime && n % factor == 0) {
      int32_t longest = -1;
      for (int32_t d = 0; d < shape->ndims; d++)
        if (is_free[d] && (longest < 0 || shape->dims[d].extent / shape->dims[d].procs >
                                              shape->dims[longest].extent / shape->dims[longest].procs))
          longest = d;
      shape->dims[longest].procs *= factor;
      n /= factor;
    }
  }
}

/* Checks that the grid uses all ranks, and chooses the dimensions that are 0. */
static sf_status_t complete_grid(sfshm_array_t *shape, int32_t size)
{
  int32_t left = size, nfree = 0;
  for (int32_t d = 0; d < shape->ndims; d++) {
    int32_t procs = shape->dims[d].procs;
    if (procs < 0 || (procs > 0 && left % procs != 0))
      return sfshm_error(SF_ERR_ARG, "grid[%d] is %d; a divisor of %d, the ranks that are left, expected", d, procs,
                         left);
    nfree += procs == 0;
    left /= procs > 0 ? procs : 1;
  }
  if (nfree == 0 && left > 1)
    return sfshm_error(SF_ERR_ARG, "the grid has %d ranks; all %d of the group expected", size / left, size);
  choose_grid(shape, left);
  return SF_OK;
}

static sf_status_t copy_bounds(sfshm_array_t *shape, const sf_array_distribution_t *distribution, int64_t **bounds_p)
{
  size_t n = 0;
  *bounds_p = NULL;
  for (int32_t d = 0; d < shape->ndims; d++) {
    if (distribution->bounds[d] == NULL)
      continue;
    if (distribution->grid[d] < 1 || distribution->block[d] != 0)
      return sfshm_error(SF_ERR_ARG, "bounds of dimension %d need grid[%d] > 0 and block[%d] 0; %d and %lld found", d,
                         d, d, distribution->grid[d], (long long)distribution->block[d]);
    n += (size_t)shape->dims[d].procs + 1;
  }
  if (n == 0)
    return SF_OK;
  int64_t *bounds = malloc(n * sizeof *bounds), *end = bounds;
  if (bounds == NULL)
    return sfshm_error(SF_ERR_NOMEM, "bounds of the blocks");
  for (int32_t d = 0; d < shape->ndims; d++) {
    if (distribution->bounds[d] == NULL)
      continue;
    shape->dims[d].bounds = end;
    memcpy(end, distribution->bounds[d], ((size_t)shape->dims[d].procs + 1) * sizeof *end);
    end += shape->dims[d].procs + 1;
  }
  *bounds_p = bounds;
  return SF_OK;
}

static sf_status_t take_blocks(sfshm_array_t *shape, const sf_array_distribution_t *distribution)
{
  for (int32_t d = 0; d < shape->ndims; d++) {
    sfshm_array_dim_t *dim = &shape->dims[d];
    int64_t block = distribution->block[d];
    if (block < 0)
      return sfshm_error(SF_ERR_ARG, "block[%d] is %lld; at least 0 expected", d, (long long)block);
    if (block == 0)
      block = sfshm_array_even_block(dim->extent, dim->procs);
    dim->block = block < dim->extent ? block : dim->extent;
  }
  return SF_OK;
}

sf_status_t sfc_array_describe(const sf_type_t *unit, int32_t ndims, const int64_t extent[],
                               const sf_array_distribution_t *distribution, int32_t size, sfshm_array_t *shape_p,
                               int64_t **bounds_p)
{
  static const sf_array_distribution_t regular;
  *bounds_p = NULL;
  if (unit == NULL || extent == NULL)
    return sfshm_error(SF_ERR_ARG, "%s is NULL", unit == NULL ? "unit" : "extent");
  if (ndims < 1 || ndims > SF_ARRAY_MAX_DIMS)
    return sfshm_error(SF_ERR_ARG, "%d dimensions; 1 to %d expected", ndims, SF_ARRAY_MAX_DIMS);
  *shape_p = (sfshm_array_t){.ndims = ndims, .base = unit->unit.count == 1 ? unit->unit.base : SFSHM_BASE_OPAQUE};
  if (distribution == NULL)
    distribution = &regular;
  for (int32_t d = 0; d < ndims; d++) {
    if (extent[d] < 1)
      return sfshm_error(SF_ERR_ARG, "extent[%d] is %lld; at least 1 expected", d, (long long)extent[d]);
    shape_p->dims[d] = (sfshm_array_dim_t){.extent = extent[d], .procs = distribution->grid[d]};
  }
  sf_status_t status = complete_grid(shape_p, size);
  if (status == SF_OK)
    status = take_blocks(shape_p, distribution);
  if (status == SF_OK)
    status = copy_bounds(shape_p, distribution, bounds_p);
  return status == SF_OK ? sfshm_array_check(shape_p) : status;
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

static uint64_t digest_bounds(const sfshm_array_dim_t *dim)
{
  uint64_t digest = 0;
  for (int32_t c = 0; dim->bounds != NULL && c <= dim->procs; c++) {
    digest = (digest ^ (uint64_t)dim->bounds[c]) * UINT64_C(0x9e3779b97f4a7c15);
    digest ^= digest >> 29;
  }
  return dim->bounds != NULL ? digest | 1 : 0;
}

void sfc_array_words(const sfshm_array_t *shape, uint64_t words[SFC_ARRAY_WORDS])
{
  memset(words, 0, SFC_ARRAY_WORDS * sizeof words[0]);
  words[0] = (uint64_t)shape->ndims;
  words[1] = (uint64_t)shape->base;
  for (int32_t d = 0; d < shape->ndims; d++) {
    uint64_t *dim = &words[2 + 4 * d];
    dim[0] = (uint64_t)shape->dims[d].extent;
    dim[1] = (uint64_t)shape->dims[d].procs;
    dim[2] = (uint64_t)shape->dims[d].block;
    dim[3] = digest_bounds(&shape->dims[d]);
  }
}

void sfc_array_text(const uint64_t words[SFC_ARRAY_WORDS], char *text, size_t text_size)
{
  size_t end = (size_t)snprintf(text, text_size, "%s of", sfshm_base_name((sfshm_base_t)words[1]));
  for (uint64_t d = 0; d < words[0] && d < SFSHM_ARRAY_DIMS && end < text_size; d++) {
    const uint64_t *dim = &words[2 + 4 * d];
    end += (size_t)snprintf(text + end, text_size - end, "%s %" PRIu64 " on %" PRIu64 " ranks", d > 0 ? " x" : "",
                            dim[0], dim[1]);
    if (end < text_size)
      end += dim[3] != 0 ? (size_t)snprintf(text + end, text_size - end, " by bounds %" PRIx64, dim[3])
                         : (size_t)snprintf(text + end, text_size - end, " by %" PRIu64, dim[2]);
  }
}
