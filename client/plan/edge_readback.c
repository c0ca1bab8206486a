/* Edge read-back: see edge_readback.h. */
#include "client/plan/edge_readback.h"

#include <stdlib.h>

#include "client/core.h"
#include "shm/base/error.h"

sf_status_t sfc_edge_readback_make(sfc_edge_list_t *list, sfc_edge_readback_t **readback_p)
{
  sfc_edge_readback_t *readback = malloc(sizeof *readback + (size_t)list->nparts * sizeof readback->parts[0]);
  if (readback == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %d root ranks", list->nparts);
  readback->image = list->image;
  readback->base = list->image != NULL ? list->image : list->region.base;
  readback->length_bytes = list->length_bytes;
  readback->region = list->region;
  list->image = NULL;
  list->region = (sfshm_region_t){.fd = -1};
  readback->top = list->top;
  readback->nparts = list->nparts;
  for (int32_t i = 0; i < list->nparts; i++)
    readback->parts[i] = (sfc_edge_readback_part_t){list->parts[i].rank, list->parts[i].block};
  *readback_p = readback;
  return SF_OK;
}

void sfc_edge_readback_free(sfc_edge_readback_t *readback)
{
  if (readback == NULL)
    return;
  sfc_device_free_array(readback->image); /* links' patterns are in one of these */
  sfc_device_destroy_region(&readback->region);
  free(readback);
}

sf_status_t sfc_edge_readback_seal(sfc_edge_readback_t *readback)
{
  if (readback->region.fd >= 0)
    return SF_OK;
  return sfshm_region_freeze("sf-edges", SFSHM_REGION_EDGES, readback->image, readback->length_bytes,
                             &readback->region);
}

uint64_t sfc_edge_readback_offset(int32_t part)
{
  return sizeof(sfshm_region_header_t) + (uint64_t)part * sizeof(sfshm_edge_block_t);
}

int64_t sfc_edge_readback_count(const sfc_edge_readback_t *readback)
{
  int64_t n = 0;
  for (int32_t i = 0; i < readback->nparts; i++)
    n += readback->parts[i].block.leaf.n;
  return n;
}

/* Output arrays, and the position of each edge in them. */
typedef struct sfc_edge_arrays {
  sfshm_keyed_t *keyed; /* (leaf, number) of each edge, by number */
  const int64_t *place; /* by edge number over all parts; NULL: position is the leaf */
  int64_t *leaf_index;
  int32_t *root_rank;
  int64_t *root_index;
} sfc_edge_arrays_t;

static int64_t root_of(const sfshm_edges_t *edges, int64_t i)
{
  int64_t nvalues = edges->value_root.n;
  return i < nvalues ? sfshm_pattern_at(&edges->value_root, i) : sfshm_pattern_at(&edges->extra_root, i - nvalues);
}

/* Writes the edges of one part; first: number of its first edge. */
static void write_part(const sfshm_edges_t *edges, int32_t rank, int64_t first, const sfc_edge_arrays_t *to)
{
  for (int64_t i = 0; i < edges->leaf.n; i++) {
    int64_t leaf = sfshm_pattern_at(&edges->leaf, i);
    if (to->keyed != NULL)
      to->keyed[first + i] = (sfshm_keyed_t){leaf, first + i};
    int64_t place = to->place == NULL ? leaf : to->place[first + i];
    if (to->leaf_index != NULL)
      to->leaf_index[place] = leaf;
    if (to->root_rank != NULL)
      to->root_rank[place] = rank;
    if (to->root_index != NULL)
      to->root_index[place] = root_of(edges, i);
  }
}

static sf_status_t write_parts(const sfc_edge_readback_t *readback, const sfc_edge_arrays_t *to)
{
  int64_t first = 0;
  for (int32_t i = 0; i < readback->nparts; i++) {
    const sfc_edge_readback_part_t *part = &readback->parts[i];
    sfshm_edges_t edges = {.memory = NULL};
    sf_status_t status = sfshm_edges_open_own(readback->base, &part->block, &edges);
    if (status != SF_OK)
      return status;
    write_part(&edges, part->rank, first, to);
    first += edges.leaf.n;
    sfshm_edges_close(&edges);
  }
  return SF_OK;
}

/* Position of each edge in the order of leaves. */
static sf_status_t find_places(const sfc_edge_readback_t *readback, int64_t n, int64_t leaf_space, int64_t place[])
{
  sfshm_keyed_t *leaves = malloc((size_t)n * sizeof *leaves), *scratch = malloc((size_t)n * sizeof *scratch);
  sf_status_t status = SF_OK;
  if (leaves == NULL || scratch == NULL)
    status = sfshm_error(SF_ERR_NOMEM, "%lld edges", (long long)n);
  if (status == SF_OK)
    status = write_parts(readback, &(sfc_edge_arrays_t){.keyed = leaves});
  if (status == SF_OK) {
    sfshm_sort(leaves, scratch, n, leaf_space);
    for (int64_t i = 0; i < n; i++)
      place[leaves[i].item] = i;
  }
  free(leaves);
  free(scratch);
  return status;
}

sf_status_t sfc_edge_readback_read(const sfc_edge_readback_t *readback, int64_t leaf_space, int64_t leaf_index[],
                                   int32_t root_rank[], int64_t root_index[])
{
  int64_t n = sfc_edge_readback_count(readback);
  sfc_edge_arrays_t to = {.leaf_index = leaf_index, .root_rank = root_rank, .root_index = root_index};
  if (leaf_space == n) /* leaves are distinct, so they are 0..n-1 */
    return write_parts(readback, &to);
  int64_t *place = malloc((size_t)n * sizeof *place);
  if (place == NULL)
    return sfshm_error(SF_ERR_NOMEM, "%lld edges", (long long)n);
  sf_status_t status = find_places(readback, n, leaf_space, place);
  to.place = place;
  if (status == SF_OK)
    status = write_parts(readback, &to);
  free(place);
  return status;
}
