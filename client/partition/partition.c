/* Partition of grids: see partition.h. */
#include "client/partition/partition.h"

#include <stdlib.h>

/* ---- Splitting --------------------------------------------------------------------------------------------------- */

/* First point of a piece of n points that are split into parts. The first n % parts parts have one point more. */
static int64_t split(int64_t n, int32_t parts, int32_t piece)
{
  int64_t longer = n % parts;
  return n / parts * piece + (piece < longer ? piece : longer);
}

static int32_t piece_at(int64_t n, int32_t parts, int64_t point)
{
  int64_t size = n / parts, longer = n % parts, end_of_longer = longer * (size + 1);
  return (int32_t)(point < end_of_longer ? point / (size + 1) : longer + (point - end_of_longer) / size);
}

static int32_t largest_factor(int32_t n)
{
  int32_t largest = 1;
  for (int32_t factor = 2; factor <= n / factor; factor++)
    for (; n % factor == 0; n /= factor)
      largest = factor;
  return n > largest ? n : largest;
}

/* Splits by the factors of n: pieces counts the pieces along each axis, of all levels. */
static void split_by_factors(const int64_t points[SFC_AXES], const int32_t preferred[SFC_AXES], int32_t n,
                             int32_t pieces[SFC_AXES], int32_t level[SFC_AXES])
{
  for (int32_t factor; n > 1; n /= factor) {
    int32_t longest = preferred[0];
    for (int i = 1; i < SFC_AXES; i++)
      if ((__int128)points[preferred[i]] * pieces[longest] > (__int128)points[longest] * pieces[preferred[i]])
        longest = preferred[i];
    factor = largest_factor(n);
    pieces[longest] *= factor;
    level[longest] *= factor;
  }
}

sfc_partition_t sfc_partition_make(const int64_t points[SFC_AXES], const bool periodic[SFC_AXES],
                                   const int32_t preferred[SFC_AXES], int32_t nnodes, int32_t ninner)
{
  sfc_partition_t partition = {.outer = {1, 1, 1}, .inner = {1, 1, 1}};
  int32_t pieces[SFC_AXES] = {1, 1, 1};
  for (int axis = 0; axis < SFC_AXES; axis++) {
    partition.points[axis] = points[axis];
    partition.periodic[axis] = periodic[axis];
  }
  split_by_factors(points, preferred, nnodes, pieces, partition.outer);
  split_by_factors(points, preferred, ninner, pieces, partition.inner);
  return partition;
}

sfc_partition_t sfc_partition_of_nodes(const sfc_partition_t *partition)
{
  sfc_partition_t nodes = *partition;
  for (int axis = 0; axis < SFC_AXES; axis++)
    nodes.inner[axis] = 1;
  return nodes;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

int32_t sfc_partition_ninner(const sfc_partition_t *partition)
{
  return partition->inner[0] * partition->inner[1] * partition->inner[2];
}

int64_t sfc_partition_count(const sfc_partition_t *partition)
{
  int64_t nodes = (int64_t)partition->outer[0] * partition->outer[1] * partition->outer[2];
  return nodes * sfc_partition_ninner(partition);
}

int64_t sfc_partition_number(const sfc_partition_t *partition, const int32_t part[SFC_AXES])
{
  int64_t node = 0, within = 0;
  for (int axis = SFC_AXES - 1; axis >= 0; axis--) {
    node = node * partition->outer[axis] + part[axis] / partition->inner[axis];
    within = within * partition->inner[axis] + part[axis] % partition->inner[axis];
  }
  return node * sfc_partition_ninner(partition) + within;
}

void sfc_partition_parts_of(const sfc_partition_t *partition, int64_t number, int32_t part[SFC_AXES])
{
  int64_t node = number / sfc_partition_ninner(partition), within = number % sfc_partition_ninner(partition);
  for (int axis = 0; axis < SFC_AXES; axis++) {
    part[axis] = (int32_t)(node % partition->outer[axis] * partition->inner[axis] + within % partition->inner[axis]);
    node /= partition->outer[axis];
    within /= partition->inner[axis];
  }
}

int64_t sfc_partition_begin(const sfc_partition_t *partition, int axis, int32_t part)
{
  int64_t n = partition->points[axis];
  int32_t outer = partition->outer[axis], inner = partition->inner[axis], node = part / inner;
  if (node == outer)
    return n;
  int64_t begin = split(n, outer, node);
  return begin + split(split(n, outer, node + 1) - begin, inner, part % inner);
}

int32_t sfc_partition_part_at(const sfc_partition_t *partition, int axis, int64_t point)
{
  int64_t n = partition->points[axis];
  int32_t outer = partition->outer[axis], inner = partition->inner[axis], node = piece_at(n, outer, point);
  int64_t begin = split(n, outer, node);
  return node * inner + piece_at(split(n, outer, node + 1) - begin, inner, point - begin);
}

/* ---- Segments ---------------------------------------------------------------------------------------------------- */

sfc_segments_t sfc_segments_of(const sfc_partition_t *partition, int axis, int32_t part, const sfc_halo_t *halo)
{
  sfc_segments_t segments = {.partition = partition,
                             .axis = axis,
                             .own_begin = sfc_partition_begin(partition, axis, part),
                             .own_end = sfc_partition_begin(partition, axis, part + 1)};
  segments.at = segments.own_begin - halo->width[axis][0];
  segments.end = segments.own_end + halo->width[axis][1];
  if (!partition->periodic[axis] && segments.at < 0)
    segments.at = 0;
  if (!partition->periodic[axis] && segments.end > partition->points[axis])
    segments.end = partition->points[axis];
  if (segments.own_begin == segments.own_end)
    segments.end = segments.at; /* an empty part has no halo */
  return segments;
}

bool sfc_segments_next(sfc_segments_t *segments, sfc_segment_t *segment_p)
{
  int64_t at = segments->at, n = segments->partition->points[segments->axis];
  if (at >= segments->end)
    return false;
  int64_t point = (at % n + n) % n, end = segments->end;
  int32_t part = sfc_partition_part_at(segments->partition, segments->axis, point);
  int64_t part_end = at - point + sfc_partition_begin(segments->partition, segments->axis, part + 1);
  int side = at < segments->own_begin ? -1 : at >= segments->own_end;
  if (side == -1 && end > segments->own_begin)
    end = segments->own_begin;
  if (side == 0)
    end = segments->own_end;
  if (end > part_end)
    end = part_end;
  *segment_p = (sfc_segment_t){part, point, at - segments->own_begin, end - at, side};
  segments->at = end;
  return true;
}

/* Number of distinct points of part from in the halo of part to along the axis. The lower halo has the upper end of
 * from, and the upper halo the lower end, because both halos touch to at a cut. */
static int64_t count_distinct(const sfc_partition_t *partition, const sfc_halo_t *halo, int axis, int32_t to,
                              int32_t from)
{
  int64_t size = sfc_partition_begin(partition, axis, from + 1) - sfc_partition_begin(partition, axis, from);
  int64_t most[2] = {0, 0};
  sfc_segments_t segments = sfc_segments_of(partition, axis, to, halo);
  for (sfc_segment_t segment; sfc_segments_next(&segments, &segment);)
    if (segment.part == from && segment.side != 0 && segment.n > most[segment.side > 0])
      most[segment.side > 0] = segment.n;
  return most[0] + most[1] < size ? most[0] + most[1] : size;
}

int64_t sfc_partition_values(const sfc_partition_t *partition, const sfc_halo_t *halo, const int32_t to[SFC_AXES],
                             const int32_t from[SFC_AXES])
{
  int64_t values = 1;
  int32_t away = 0;
  for (int axis = 0; axis < SFC_AXES; axis++) {
    away += to[axis] != from[axis];
    values *= to[axis] != from[axis] ? count_distinct(partition, halo, axis, to[axis], from[axis])
                                     : sfc_partition_begin(partition, axis, from[axis] + 1) -
                                           sfc_partition_begin(partition, axis, from[axis]);
  }
  return away == 0 || away > halo->reach ? 0 : values;
}

/* ---- Neighbours -------------------------------------------------------------------------------------------------- */

/* Lists the owners of the subdomain's segments along the axis, each once. */
static bool find_parts(sfc_neighbors_t *neighbors, int axis)
{
  const sfc_partition_t *partition = neighbors->partition;
  int32_t parts = sfc_partition_parts(partition, axis), n = 0;
  sfc_segments_t segments = sfc_segments_of(partition, axis, neighbors->self[axis], neighbors->halo);
  sfc_segment_t segment;
  int64_t most = 0;
  while (most < 2 * (int64_t)parts + 3 && sfc_segments_next(&segments, &segment))
    most++;
  int32_t *found = malloc(((size_t)most + 1) * sizeof *found);
  if (found == NULL)
    return false;
  segments = sfc_segments_of(partition, axis, neighbors->self[axis], neighbors->halo);
  for (int64_t k = 0; k < most && sfc_segments_next(&segments, &segment); k++) {
    int32_t i = 0;
    while (i < n && found[i] != segment.part)
      i++;
    found[i] = segment.part;
    n += i == n;
  }
  neighbors->parts[axis] = found;
  neighbors->nparts[axis] = n;
  return true;
}

bool sfc_neighbors_begin(sfc_neighbors_t *neighbors, const sfc_partition_t *partition, const sfc_halo_t *halo,
                         int64_t number)
{
  *neighbors = (sfc_neighbors_t){.partition = partition, .halo = halo};
  sfc_partition_parts_of(partition, number, neighbors->self);
  for (int axis = 0; axis < SFC_AXES; axis++)
    if (!find_parts(neighbors, axis)) {
      sfc_neighbors_end(neighbors);
      return false;
    }
  return true;
}

bool sfc_neighbors_next(sfc_neighbors_t *neighbors, int64_t *number_p, int64_t *values_p)
{
  const int32_t *n = neighbors->nparts;
  for (int64_t count = (int64_t)n[0] * n[1] * n[2]; neighbors->next < count;) {
    int64_t i = neighbors->next++;
    const int32_t part[SFC_AXES] = {neighbors->parts[0][i % n[0]], neighbors->parts[1][i / n[0] % n[1]],
                                    neighbors->parts[2][i / n[0] / n[1]]};
    int64_t values = sfc_partition_values(neighbors->partition, neighbors->halo, neighbors->self, part);
    if (values == 0)
      continue;
    *number_p = sfc_partition_number(neighbors->partition, part);
    *values_p = values;
    return true;
  }
  return false;
}

void sfc_neighbors_end(sfc_neighbors_t *neighbors)
{
  for (int axis = 0; axis < SFC_AXES; axis++)
    free(neighbors->parts[axis]);
}
