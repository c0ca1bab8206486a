/* A grid of a group of ranks. Places of subdomains are numbered by node, rank, and number among the rank's own
 * subdomains; a node has as many consecutive places as its share has subdomains, and the placement permutes these. */
#ifndef SFC_GRID_GRID_H
#define SFC_GRID_GRID_H

#include <sf/sf.h>

#include "client/algebra.h"
#include "client/partition.h"

/* Where a subdomain is. */
typedef struct sfc_grid_place {
  int32_t rank, own; /* of the group; among its subdomains */
  int32_t array;     /* of that rank */
  int64_t origin;    /* of the first own point in the array */
  int64_t number;    /* of the subdomain that is placed here */
} sfc_grid_place_t;

/* Places of the ranks of one node: first .. first + n - 1. */
typedef struct sfc_grid_node {
  int32_t node;   /* of the job */
  int32_t leader; /* lowest rank of the group there */
  int64_t first;
  int32_t n;
} sfc_grid_node_t;

struct sf_grid {
  sf_group_t *group;
  sf_grid_options_t options; /* defaults filled in; devices: NULL */
  sfc_partition_t partition;
  sfc_halo_t halo;
  int64_t count; /* places */
  sfc_grid_place_t *places;
  int64_t *place_of;    /* by number of a subdomain */
  int64_t *first_place; /* by rank; those of a rank follow one another */
  sfc_grid_node_t *nodes;
  int32_t nnodes;
  int32_t here;     /* this rank's among these */
  int32_t nown;     /* places of this rank */
  int32_t *devices; /* of this rank's arrays */
  int64_t *units;   /* length of each */
  int32_t narrays;
  int32_t narrays_most;                /* of any rank */
  sf_graph_t **graphs;                 /* root array * narrays_most + leaf array */
  sfc_placement_cost_t linear, placed; /* summed over nodes; the busiest place of all nodes */
  int32_t nexchanges;
};

/* What a rank tells the others of itself. */
enum { SFC_GRID_TOLD_OPTIONS, SFC_GRID_TOLD_NODE, SFC_GRID_TOLD_SUBDOMAINS, SFC_GRID_TOLD_DEVICES, SFC_GRID_TOLD };

/* Checks the options of this rank, copies them with defaults filled in, and returns in *halo_p what they mean. */
sf_status_t sfc_grid_options_take(const sf_grid_options_t *options, sf_grid_options_t *taken_p, sfc_halo_t *halo_p);

/* A hash of the options that must be the same on all ranks; and, if hashes differ, which option differs from that of
 * rank 0. Collective. */
int64_t sfc_grid_options_hash(const sf_grid_options_t *options);
void sfc_grid_options_compare(sfc_derive_t *derive, const sf_grid_options_t *options);

/* Allocated points of a subdomain's array: strides along the axes, and units in all. */
int64_t sfc_grid_strides(const sf_grid_t *grid, const int64_t extent[SFC_AXES], int64_t stride[SFC_AXES]);

/* First own point and own points of a subdomain along each axis. */
void sfc_grid_box(const sf_grid_t *grid, int64_t number, int64_t begin[SFC_AXES], int64_t extent[SFC_AXES]);

/* Units of a subdomain, and the first own point among them. */
int64_t sfc_grid_units(const sf_grid_t *grid, int64_t number, int64_t *origin_p);

/* Assigns subdomains to places: fills in places[].number. devices: of this rank's subdomains or NULL. on_devices: some
 * rank has devices. Collective; errors are noted. */
void sfc_grid_place(sfc_derive_t *derive, sf_grid_t *grid, const int32_t devices[], bool on_devices);

/* Seconds of an exchange of blocks with the other ranks of the node, by their number there; 0: not measured. nranks:
 * how many the node has. Collective; errors are noted. */
void sfc_grid_measure(sfc_derive_t *derive, const sf_grid_t *grid, int32_t nranks, double times[]);

/* Edges of the graph between two arrays. */
void sfc_grid_edges(sfc_derive_t *derive, const sf_grid_t *grid, int32_t root_array, int32_t leaf_array);

#endif
