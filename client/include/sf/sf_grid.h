/* Structured grids: partition over nodes and ranks, placement on cores and devices, and exchange of halos, for stencil
 * codes. Applications include sf.h. docs/stencils.md is a guide.
 *
 * A grid of one to three dimensions is divided into subdomains, one or several for each rank. Set-up has the three
 * steps of C. Pearson et al., "Node-Aware Stencil Communication for Heterogeneous Supercomputers" (2020), cited as
 * [Pearson]:
 *  - Partition: the grid is divided first between nodes, then between the subdomains of a node. Each prime factor of
 *    the number of parts, largest first, divides the longest axis [Pearson III.A]; of equally long axes, the slowest in
 *    memory. Sizes differ by at most one point along each axis. With fewer points than subdomains along an axis some
 *    subdomains are empty.
 *  - Placement: the subdomains of a node are assigned to its ranks and devices so that subdomains with large common
 *    faces are near each other [Pearson III.B]. Without devices and without SF_GRID_MEASURE all places are equally far,
 *    and subdomains are assigned in order.
 *  - Specialisation: a star forest connects each halo point with its owner. The library chooses the protocol between
 *    two ranks as for any graph; sfctl plan shows it.
 *
 * Fields. A field is an array of units over the points of this rank's subdomains, halos included. The rank's subdomains
 * on one device, or in host memory, lie in one array, one after the other: sf_grid_array describes it. A field has as
 * many arrays as the rank has devices; with one subdomain, or without devices, it has one. sf_grid_subdomain gives the
 * layout of a subdomain in its array: own point (i, j, k), counted from the subdomain's first own point, is the unit
 *   origin + i * stride[0] + j * stride[1] + k * stride[2].
 * Halo points have indices below 0, or from extent on. Arrays are memory of any kind: of the application, of
 * sf_grid_alloc, or registered. */
#ifndef SF_GRID_H
#define SF_GRID_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SF_GRID_AXES 3              /* axes of all boxes and points; axes beyond ndims have one point */
#define SF_GRID_SUBDOMAINS_MAX 4096 /* subdomains of a rank */

typedef struct sf_grid sf_grid_t;                   /* grid of a group of ranks, set up for exchanges */
typedef struct sf_grid_exchange sf_grid_exchange_t; /* persistent exchange of the halos of some fields */

/* Neighbours that a stencil reads, by the number of axes along which a halo point may lie outside of the subdomain. */
typedef enum sf_grid_reach {
  SF_GRID_CORNERS = 0, /* faces, edges and corners */
  SF_GRID_FACES = 1,   /* for stencils along the axes, of 7 points and the like */
  SF_GRID_EDGES = 2,   /* faces and edges */
} sf_grid_reach_t;

/* Flags of grids. */
enum {
  SF_GRID_LINEAR = 1 << 0,  /* no placement: assign the subdomains of a node to its ranks in order */
  SF_GRID_MEASURE = 1 << 1, /* measure exchanges between all pairs of ranks of a node, as distances of the placement;
                               this takes some milliseconds for each rank of a node */
};

/* Options of a grid. Zero is the default of every option but ndims and points. All options but subdomains and devices
 * are the same on all ranks. */
typedef struct sf_grid_options {
  int32_t ndims;                   /* 1 to 3 */
  int64_t points[SF_GRID_AXES];    /* of the whole grid; at least 1 along each axis, at most 2^50 in all */
  bool periodic[SF_GRID_AXES];     /* whether the axis is closed to a ring */
  int32_t radius[SF_GRID_AXES][2]; /* of the stencil, below and above along each axis; 0: no halo there */
  sf_grid_reach_t reach;           /* of the stencil */
  int32_t steps;               /* time steps between exchanges; 0: 1. Halos are steps * radius wide, at most 4 * points
                                  + 1024; with steps > 1 they reach beyond faces: see sf_grid_step */
  int32_t order[SF_GRID_AXES]; /* axes in the order of storage, the fastest first; all 0: as arrays of C, the last axis
                                  is the fastest */
  int32_t padding[SF_GRID_AXES]; /* unused units behind each line of points along the axis */
  uint32_t flags;                /* SF_GRID_LINEAR, SF_GRID_MEASURE */
  int32_t subdomains;            /* number of subdomains of this rank; 0: 1 */
  const int32_t *devices;        /* device number of each subdomain, -1 for host memory; NULL: all in host memory */
} sf_grid_options_t;

/* Creates the grid. Collective and blocking over the group. The caller owns the grid; options are copied. The group
 * must outlive the grid. Errors are agreed: all ranks return the error of the lowest rank that finds one. SF_ERR_ARG:
 * an option is out of range. SF_ERR_MISMATCH: options differ between ranks. SF_ERR_UNSUPPORTED: devices are given, but
 * this process has no driver, device or plugin. SF_ERR_ARG without an agreement: group is NULL. */
SF_CHECK_RESULT sf_status_t sf_grid_create(sf_group_t *group, const sf_grid_options_t *options, sf_grid_t **grid_p);

/* Frees the grid and its graphs; before sf_finalize. Collective, as sf_graph_destroy, with its errors. Memory of
 * sf_grid_alloc remains: see sf_free. grid == NULL is accepted. SF_ERR_STATE: exchanges of the grid have not been
 * destroyed; the grid remains. */
sf_status_t sf_grid_destroy(sf_grid_t *grid);

/* Partition, and costs of the placement. The cost of an assignment of subdomains to places is the sum, over all pairs
 * of subdomains of a node, of values in halos times distance [Pearson III.B]. The unit of distances is the fastest pair
 * of places. Exchanges between nodes do not count. */
typedef struct sf_grid_info {
  int64_t nsubdomains;              /* subdomains of all ranks */
  int32_t nodes[SF_GRID_AXES];      /* parts between nodes, along each axis */
  int32_t subdomains[SF_GRID_AXES]; /* parts of a node's share along each axis */
  int32_t nown;                     /* subdomains of this rank */
  int32_t narrays;                  /* arrays of a field on this rank: 1, or one for each device */
  double linear_cost;               /* sum over all nodes, with subdomains assigned in order */
  double placed_cost;               /* sum over all nodes, with the placement: at most linear_cost */
  double linear_time;               /* cost of the busiest place, as modelled time of an exchange, in order */
  double placed_time;               /* cost of the busiest place with the placement */
} sf_grid_info_t;

/* Writes partition and costs to *info_p. Local. */
sf_status_t sf_grid_info(const sf_grid_t *grid, sf_grid_info_t *info_p);

/* One subdomain of this rank. Boxes are half-open intervals along each axis. */
typedef struct sf_grid_subdomain {
  int64_t number;                    /* number among the subdomains of all ranks */
  int32_t part[SF_GRID_AXES];        /* position among the parts along each axis */
  int64_t begin[SF_GRID_AXES];       /* first own point, in the grid */
  int64_t extent[SF_GRID_AXES];      /* own points along each axis; 0: it is empty */
  int64_t halo[SF_GRID_AXES][2];     /* halo points below and above, also at the ends of the grid */
  int64_t inner_begin[SF_GRID_AXES]; /* own points that need no halo, counted from the first own point: they can */
  int64_t inner_end[SF_GRID_AXES];   /* be computed between begin and end of an exchange */
  int32_t array;                     /* number of the array that holds the subdomain, in each field */
  int32_t device;                    /* -1: host memory */
  int64_t origin;                    /* unit of the first own point in the array */
  int64_t stride[SF_GRID_AXES];      /* units between neighbours along each axis */
} sf_grid_subdomain_t;

/* Describes own subdomain number own, 0 <= own < nown. Local. SF_ERR_RANGE: there is no such subdomain. */
sf_status_t sf_grid_subdomain(const sf_grid_t *grid, int32_t own, sf_grid_subdomain_t *subdomain_p);

/* Another subdomain with points in the halo of one. */
typedef struct sf_grid_neighbor {
  int64_t number;             /* number among the subdomains of all ranks */
  int32_t part[SF_GRID_AXES]; /* position among the parts along each axis */
  int32_t rank;               /* group rank of the owner */
  int32_t own;                /* number among the owner's subdomains */
  int64_t values;             /* distinct points of the neighbour that the halo needs */
} sf_grid_neighbor_t;

/* Writes up to capacity neighbours of an own subdomain to neighbors, and the number of all its neighbours to *n_p.
 * neighbors may be NULL if capacity is 0. The subdomain itself is not listed, although its points may be in its halo
 * along periodic axes. Local. SF_ERR_RANGE: there is no such subdomain. */
sf_status_t sf_grid_neighbors(const sf_grid_t *grid, int32_t own, int32_t capacity, sf_grid_neighbor_t neighbors[],
                              int32_t *n_p);

/* Writes the box of points to compute in time step 0 <= step < steps after an exchange, counted from the first own
 * point: the own points, and the halo points that later steps need. In the last step the box has the own points only.
 * Local. SF_ERR_RANGE: there is no such subdomain or step. */
sf_status_t sf_grid_step(const sf_grid_t *grid, int32_t own, int32_t step, int64_t begin[SF_GRID_AXES],
                         int64_t end[SF_GRID_AXES]);

/* Finds the subdomain that owns a point of the grid: writes its number, the group rank of its owner, and its number
 * among the owner's subdomains. rank_p and own_p may be NULL. Local. SF_ERR_RANGE: there is no such point. */
sf_status_t sf_grid_find(const sf_grid_t *grid, const int64_t point[SF_GRID_AXES], int64_t *number_p, int32_t *rank_p,
                         int32_t *own_p);

/* Writes the graph from array root_array of the owners to array leaf_array of the halos; roots and leaves are units of
 * the arrays. For operations other than exchanges, for instance a reduce that adds contributions in halos to their
 * points. The grid owns the graph. Local. SF_ERR_RANGE: no rank has so many arrays. */
sf_status_t sf_grid_graph(const sf_grid_t *grid, int32_t root_array, int32_t leaf_array, sf_graph_t **graph_p);

/* Describes array number array of every field on this rank: *units_p is its length in units, *device_p its device, -1
 * for host memory. device_p may be NULL. Local. SF_ERR_RANGE: this rank has no such array. */
sf_status_t sf_grid_array(const sf_grid_t *grid, int32_t array, int64_t *units_p, int32_t *device_p);

/* Allocates one array of a field by sf_alloc or sf_alloc_on_device, with their errors. The caller frees it by sf_free.
 * Local. SF_ERR_RANGE: this rank has no such array, or it would be too large. */
SF_CHECK_RESULT sf_status_t sf_grid_alloc(const sf_grid_t *grid, int32_t array, const sf_type_t *unit,
                                          void **address_p);

/* A field in an exchange: its unit, and the addresses of its narrays arrays. */
typedef struct sf_grid_field {
  const sf_type_t *unit; /* of each point */
  void *const *arrays;   /* narrays addresses */
} sf_grid_field_t;

/* Prepares exchanges of 1 <= nfields <= SF_FIELDS_MAX fields. The values of all fields travel together: one message
 * between two ranks of a node, and one each way between two nodes (with devices, one for each pair of arrays). fields
 * is copied; arrays and units must stay valid until the exchange is destroyed. All ranks pass fields of the same units
 * in the same order. Local. The caller owns the exchange. Errors of sf_bcast_init_v. SF_ERR_ARG also: nfields is out of
 * range. */
SF_CHECK_RESULT sf_status_t sf_grid_exchange_create(sf_grid_t *grid, int32_t nfields, const sf_grid_field_t fields[],
                                                    sf_grid_exchange_t **exchange_p);

/* Begins to fill the halos of the fields with the values of their owners. Collective; does not block. Until the end of
 * the exchange the application must not write own points that are in halos of other subdomains, nor access the halos.
 * Errors of sf_start. SF_ERR_STATE also: the exchange is in flight. After another error sf_grid_exchange_end ends the
 * operations that have begun. */
SF_CHECK_RESULT sf_status_t sf_grid_exchange_begin(sf_grid_exchange_t *exchange);

/* Ends the exchange. Blocks until the halos are complete. Errors of sf_wait. Returns SF_OK at once if no exchange is in
 * flight. */
SF_CHECK_RESULT sf_status_t sf_grid_exchange_end(sf_grid_exchange_t *exchange);

/* Begin and end in one call. Collective and blocking. After an error nothing that this call began is in flight. */
SF_CHECK_RESULT sf_status_t sf_grid_exchange(sf_grid_exchange_t *exchange);

/* Frees the exchange. Local. exchange == NULL is accepted. SF_ERR_STATE: the exchange is in flight; it remains. */
sf_status_t sf_grid_exchange_destroy(sf_grid_exchange_t *exchange);

#ifdef __cplusplus
}
#endif
#endif
