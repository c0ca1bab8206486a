/* Structured grid of a group of ranks: partition, placement, and a star forest for each pair of arrays. A place holds
 * one subdomain. Places are numbered by node, rank, and number among the rank's own subdomains. The places of a node
 * are consecutive, and the placement permutes the subdomains among them. The application's thread. */
#ifndef SFC_GRID_GRID_H
#define SFC_GRID_GRID_H

#include <sf/sf.h>

#include "client/algebra.h"
#include "client/partition.h"

/* Identity of a device for other processes; zeros: host memory. */
typedef struct sfc_grid_device {
  int64_t is_device;
  int64_t id[2];
} sfc_grid_device_t;

/* Place of one subdomain. */
typedef struct sfc_grid_place {
  int32_t rank, own; /* group rank; number among the rank's subdomains */
  int32_t array;     /* array of the rank that holds the subdomain */
  sfc_grid_device_t device;
  int64_t origin; /* unit of the first own point in the array */
  int64_t number; /* number of the subdomain in the partition */
} sfc_grid_place_t;

/* Places of the ranks of one node: first .. first + n - 1. */
typedef struct sfc_grid_node {
  int32_t node;   /* number in the job */
  int32_t leader; /* lowest group rank on the node */
  int32_t nranks;
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
  int64_t *place_of;    /* place of each subdomain, by its number */
  int64_t *first_place; /* first place of each rank */
  sfc_grid_node_t *nodes;
  int32_t nnodes;
  int32_t here;     /* index of this rank's node in nodes */
  int32_t nown;     /* places of this rank */
  int32_t *devices; /* device of each array of this rank */
  int64_t *units;   /* length of each array of this rank */
  int32_t narrays;
  int32_t narrays_most;                /* highest number of arrays of a rank */
  sf_graph_t **graphs;                 /* at root array * narrays_most + leaf array */
  sfc_placement_cost_t linear, placed; /* total: summed over nodes; busiest: of all nodes */
  int32_t nexchanges;                  /* not yet destroyed */
};

/* Checks the options of this rank, copies them with defaults filled in, and computes the halo. Errors: SF_ERR_ARG. */
sf_status_t sfc_grid_options_take(const sf_grid_options_t *options, sf_grid_options_t *taken_p, sfc_halo_t *halo_p);

/* Notes the first option that differs from rank 0's option, of those that must be the same on all ranks. Collective. */
void sfc_grid_options_compare(sfc_derive_t *derive, const sf_grid_options_t *options);

/* Layout of a subdomain in its array, halos and padding included. */
typedef struct sfc_grid_layout {
  int64_t begin[SFC_AXES]; /* first own point, in the grid */
  int64_t extent[SFC_AXES];
  int64_t stride[SFC_AXES];
  int64_t units;  /* 0: the subdomain is empty */
  int64_t origin; /* unit of the first own point */
} sfc_grid_layout_t;

sfc_grid_layout_t sfc_grid_layout_of(const sf_grid_t *grid, int64_t number);

/* Finds the identity of a device of this process; of host memory, if device < 0. Errors are noted. */
void sfc_grid_identify(sfc_derive_t *derive, int32_t device, sfc_grid_device_t *identity_p);

/* Assigns subdomains to places: fills in places[].number. on_devices: a rank has devices. Collective; errors are
 * noted. */
void sfc_grid_place(sfc_derive_t *derive, sf_grid_t *grid, bool on_devices);

/* Measures times[i], the seconds of an exchange of blocks with rank number i of this rank's node; 0: not measured.
 * Collective; errors are noted. */
void sfc_grid_measure(sfc_derive_t *derive, const sf_grid_t *grid, double times[]);

/* Adds this rank's edges of the graph between two arrays to derive. */
void sfc_grid_edges(sfc_derive_t *derive, const sf_grid_t *grid, int32_t root_array, int32_t leaf_array);

#endif
