/* Hierarchical partition of a structured grid, by recursive bisection along the longest axis with the prime factors of
 * the number of parts, largest first [C. Pearson et al., "Node-Aware Stencil Communication for Heterogeneous
 * Supercomputers", 2020, III.A]: first between nodes, then between the subdomains of a node. The result is a tensor
 * product: along each axis the cuts are the same for all subdomains.
 *
 * A subdomain has a number, node * (subdomains of a node) + number within the node, both with axis 0 running fastest,
 * and a part number along each axis. Pure functions; any thread. */
#ifndef SFC_PARTITION_PARTITION_H
#define SFC_PARTITION_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#define SFC_AXES 3
#define SFC_PARTITION_POINTS_MAX (INT64_C(1) << 50) /* of a grid */

typedef struct sfc_partition {
  int64_t points[SFC_AXES]; /* of the grid along each axis; 1 along axes that it does not have */
  bool periodic[SFC_AXES];
  int32_t outer[SFC_AXES]; /* nodes along each axis */
  int32_t inner[SFC_AXES]; /* subdomains of a node along each axis */
} sfc_partition_t;

/* Halo of a subdomain: number of points below and above along each axis. reach is the number of axes along which a halo
 * point may lie outside of the subdomain: 1 for faces, 2 with edges, 3 with corners. */
typedef struct sfc_halo {
  int64_t width[SFC_AXES][2];
  int32_t reach;
} sfc_halo_t;

/* Divides a grid between nnodes >= 1 nodes with ninner >= 1 subdomains each. points: 1 or more along each axis, at most
 * SFC_PARTITION_POINTS_MAX in all. preferred: order of the axes; of equally long axes the first in this order is
 * divided. Sizes differ by at most one point along each axis; with fewer points than parts some subdomains are
 * empty. */
sfc_partition_t sfc_partition_make(const int64_t points[SFC_AXES], const bool periodic[SFC_AXES],
                                   const int32_t preferred[SFC_AXES], int32_t nnodes, int32_t ninner);

/* The partition between the nodes alone: each node's share is one subdomain. */
sfc_partition_t sfc_partition_of_nodes(const sfc_partition_t *partition);

static inline int32_t sfc_partition_parts(const sfc_partition_t *partition, int axis)
{
  return partition->outer[axis] * partition->inner[axis];
}

/* Number of subdomains of a node; number of subdomains of the grid. */
int32_t sfc_partition_ninner(const sfc_partition_t *partition);
int64_t sfc_partition_count(const sfc_partition_t *partition);

/* Number of a subdomain from its parts along the axes, and back. */
int64_t sfc_partition_number(const sfc_partition_t *partition, const int32_t part[SFC_AXES]);
void sfc_partition_parts_of(const sfc_partition_t *partition, int64_t number, int32_t part[SFC_AXES]);

/* First point of a part along an axis. part may be the number of parts: then the number of points. */
int64_t sfc_partition_begin(const sfc_partition_t *partition, int axis, int32_t part);

/* Part that owns a point of an axis, 0 <= point < points. */
int32_t sfc_partition_part_at(const sfc_partition_t *partition, int axis, int64_t point);

/* Consecutive points along an axis that one part (the owner) owns, and that lie in another part or its halo (the
 * viewer). */
typedef struct sfc_segment {
  int32_t part;  /* owner */
  int64_t begin; /* first point, in the grid */
  int64_t at;    /* first point, counted from the viewer's first point: negative in the viewer's lower halo */
  int64_t n;     /* points */
  int side;      /* -1: lower halo, 0: the viewer's own points, 1: upper halo */
} sfc_segment_t;

/* Iterator over the segments of a viewer and its halo, from the lowest point up. A periodic axis repeats as often as
 * the halo is wide. On an axis that is not periodic, points beyond the ends of the grid are left out. */
typedef struct sfc_segments {
  const sfc_partition_t *partition;
  int axis;
  int64_t own_begin, own_end, at, end;
} sfc_segments_t;

sfc_segments_t sfc_segments_of(const sfc_partition_t *partition, int axis, int32_t part, const sfc_halo_t *halo);
bool sfc_segments_next(sfc_segments_t *segments, sfc_segment_t *segment_p);

/* Number of distinct points of subdomain from in the halo of subdomain to: values that from sends to to. */
int64_t sfc_partition_values(const sfc_partition_t *partition, const sfc_halo_t *halo, const int32_t to[SFC_AXES],
                             const int32_t from[SFC_AXES]);

/* Iterator over the neighbours of a subdomain: other subdomains with points in its halo, each once. */
typedef struct sfc_neighbors {
  const sfc_partition_t *partition;
  const sfc_halo_t *halo;
  int32_t self[SFC_AXES];
  int32_t *parts[SFC_AXES]; /* owners of its segments along the axis, each once */
  int32_t nparts[SFC_AXES];
  int64_t next;
} sfc_neighbors_t;

/* Returns false without memory; else the caller must call end. */
bool sfc_neighbors_begin(sfc_neighbors_t *neighbors, const sfc_partition_t *partition, const sfc_halo_t *halo,
                         int64_t number);
bool sfc_neighbors_next(sfc_neighbors_t *neighbors, int64_t *number_p, int64_t *values_p);
void sfc_neighbors_end(sfc_neighbors_t *neighbors);

#endif
