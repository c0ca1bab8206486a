/* Structured grids: partition over nodes and ranks, placement on cores and devices, and exchange of halos, for stencil
 * codes. Part of sf.h, which is what to include. docs/stencils.md is a guide.
 *
 * A grid of one to three dimensions is divided into subdomains, one or several for each rank. Set-up has the three
 * steps of C. Pearson et al., "Node-Aware Stencil Communication for Heterogeneous Supercomputers" (2020), cited as
 * [Pearson]:
 *  - Partition: first between nodes, then between the subdomains of a node, by the prime factors of their number,
 *    largest first, each time across the longest axis [Pearson III.A], of equally long ones across the slowest in
 *    memory. Sizes differ by at most one point along each
 *    axis. With fewer points than subdomains along an axis some subdomains are empty.
 *  - Placement: the subdomains of a node are assigned to its ranks and devices so that those with large common faces
 * are near each other [Pearson III.B]. Without devices and without SF_GRID_MEASURE all places are equally far, and
 *    subdomains are assigned in order.
 *  - Specialisation: a star forest connects each halo point with its owner. The library chooses how values travel
 *    between two ranks as for any graph; sfctl plan shows it.
 *
 * Fields. A field is an array of units over the points of this rank's subdomains, halos included. The rank's subdomains
 * on one device, or in host memory, lie in one array, one after the other: sf_grid_array describes it. So a field has
 * as many arrays as the rank has devices; with one subdomain, or without devices, it has one. sf_grid_subdomain says
 * where in its array a subdomain lies: own point (i, j, k), counted from the subdomain's first one, is unit origin + i
 * * stride[0] + j * stride[1] + k * stride[2]; halo points have negative indices, or those from extent on. Arrays are
 * memory of any kind: of the application, of sf_grid_alloc, or registered. */
#ifndef SF_GRID_H
#define SF_GRID_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SF_GRID_AXES 3              /* axes of arrays in this interface; those beyond ndims have one point */
#define SF_GRID_SUBDOMAINS_MAX 4096 /* of a rank */

typedef struct sf_grid sf_grid_t;                   /* grid of a group of ranks, set up for exchanges */
typedef struct sf_grid_exchange sf_grid_exchange_t; /* persistent exchange of the halos of some fields */

/* Neighbours that a stencil reads: the number of axes along which a halo point may lie outside of the subdomain. */
typedef enum sf_grid_reach {
  SF_GRID_CORNERS = 0, /* all: faces, edges and corners */
  SF_GRID_FACES = 1,   /* for stencils along the axes, of 7 points and the like */
  SF_GRID_EDGES = 2,   /* faces and edges */
} sf_grid_reach_t;

/* Flags of grids. */
enum {
  SF_GRID_LINEAR = 1 << 0,  /* no placement: assign the subdomains of a node to its ranks in order */
  SF_GRID_MEASURE = 1 << 1, /* measure copies between all pairs of ranks of a node, as distances of the placement;
                               this takes some milliseconds for each rank of a node */
};

/* A grid. Zero is the default of every field but ndims and points. All fields are the same on all ranks, except
 * subdomains and devices. */
typedef struct sf_grid_options {
  int32_t ndims;                   /* 1 to 3 */
  int64_t points[SF_GRID_AXES];    /* of the whole grid; at least 1 along each axis, at most 2^50 in all */
  bool periodic[SF_GRID_AXES];     /* whether the axis is closed to a ring */
  int32_t radius[SF_GRID_AXES][2]; /* of the stencil, below and above along each axis; 0: no halo there */
  sf_grid_reach_t reach;           /* of the stencil */
  int32_t steps;               /* time steps between exchanges; 0: 1. Halos are steps * radius wide, and reach further
                                  than faces: see sf_grid_step. radius * steps: up to 4 * points + 1024 */
  int32_t order[SF_GRID_AXES]; /* axes in the order of storage, the fastest first; all 0: as arrays of C, the last axis
                                  is the fastest */
  int32_t padding[SF_GRID_AXES]; /* unused units behind each line of points along the axis */
  uint32_t flags;                /* SF_GRID_LINEAR, SF_GRID_MEASURE */
  int32_t subdomains;            /* of this rank; 0: 1 */
  const int32_t *devices;        /* device number of each of them, -1 for host memory; NULL: all in host memory */
} sf_grid_options_t;

/* Creates the grid. Collective and blocking over the group. The caller owns the grid; options are copied. The group
 * must outlive the grid. Errors are agreed: all ranks return the error of the lowest rank that finds one. SF_ERR_ARG: a
 * field of options is out of range. SF_ERR_MISMATCH: fields differ between ranks. SF_ERR_UNSUPPORTED: devices are
 * given, but this process has no driver, device or plugin. SF_ERR_ARG without an agreement: group is NULL. */
SF_CHECK_RESULT sf_status_t sf_grid_create(sf_group_t *group, const sf_grid_options_t *options, sf_grid_t **grid_p);

/* Frees the grid and its graphs; before sf_finalize. Collective, as sf_graph_destroy. Memory of sf_grid_alloc remains:
 * see sf_free. grid == NULL is accepted. SF_ERR_STATE: its exchanges have not been destroyed. */
sf_status_t sf_grid_destroy(sf_grid_t *grid);

/* What set-up decided. Costs are those of the assignment of subdomains to places, summed over all nodes: values in
 * halos times distances, in the unit of the fastest pair of places of a node; exchanges between nodes are not in it. */
typedef struct sf_grid_info {
  int64_t nsubdomains;              /* of all ranks */
  int32_t nodes[SF_GRID_AXES];      /* parts between nodes, along each axis */
  int32_t subdomains[SF_GRID_AXES]; /* parts of a node's share along each axis */
  int32_t nown;                     /* subdomains of this rank */
  int32_t narrays;                  /* arrays of a field on this rank: 1, or one for each device */
  double linear_cost;               /* with subdomains assigned in order */
  double placed_cost;               /* with the placement: never more */
  double linear_time;               /* the highest cost of a place: modelled time of an exchange, in order */
  double placed_time;               /* with the placement */
} sf_grid_info_t;

/* Writes the decisions to *info_p. Local. */
sf_status_t sf_grid_info(const sf_grid_t *grid, sf_grid_info_t *info_p);

/* One subdomain of this rank. Boxes are half-open intervals along each axis. */
typedef struct sf_grid_subdomain {
  int64_t number;                    /* among all subdomains */
  int32_t part[SF_GRID_AXES];        /* position among the parts along each axis */
  int64_t begin[SF_GRID_AXES];       /* first own point, in the grid */
  int64_t extent[SF_GRID_AXES];      /* own points along each axis; 0: it is empty */
  int64_t halo[SF_GRID_AXES][2];     /* halo points below and above, also at the ends of the grid */
  int64_t inner_begin[SF_GRID_AXES]; /* own points that need no halo, counted from the first own point: they can */
  int64_t inner_end[SF_GRID_AXES];   /* be computed between begin and end of an exchange */
  int32_t array;                     /* of each field, in which the subdomain lies */
  int32_t device;                    /* -1: host memory */
  int64_t origin;                    /* unit of the first own point in the array */
  int64_t stride[SF_GRID_AXES];      /* units between neighbours along each axis */
} sf_grid_subdomain_t;

/* Describes own subdomain number own, 0 <= own < nown. Local. SF_ERR_RANGE: there is no such subdomain. */
sf_status_t sf_grid_subdomain(const sf_grid_t *grid, int32_t own, sf_grid_subdomain_t *subdomain_p);

/* Another subdomain with points in the halo of one. */
typedef struct sf_grid_neighbor {
  int64_t number;             /* among all subdomains */
  int32_t part[SF_GRID_AXES]; /* its position among the parts along each axis */
  int32_t rank;               /* group rank that owns it */
  int32_t own;                /* its number among the subdomains of that rank */
  int64_t values;             /* distinct points of it that the halo needs */
} sf_grid_neighbor_t;

/* Writes up to capacity neighbours of an own subdomain to neighbors, which may be NULL if capacity is 0; *n_p: how many
 * there are. The subdomain itself, whose points may be in its halo along periodic axes, is not listed. Local.
 * SF_ERR_RANGE: there is no such subdomain. */
sf_status_t sf_grid_neighbors(const sf_grid_t *grid, int32_t own, int32_t capacity, sf_grid_neighbor_t neighbors[],
                              int32_t *n_p);

/* The box of points to be computed in time step 0 <= step < steps after an exchange, counted from the first own point:
 * the own points, and of the halo what later steps need. In the last step it is the own points. Local. SF_ERR_RANGE:
 * there is no such subdomain or step. */
sf_status_t sf_grid_step(const sf_grid_t *grid, int32_t own, int32_t step, int64_t begin[SF_GRID_AXES],
                         int64_t end[SF_GRID_AXES]);

/* The subdomain with a point of the grid, and its owner. part, rank_p and own_p may be NULL. Local. SF_ERR_RANGE: there
 * is no such point. */
sf_status_t sf_grid_find(const sf_grid_t *grid, const int64_t point[SF_GRID_AXES], int64_t *number_p, int32_t *rank_p,
                         int32_t *own_p);

/* The graph from array root_array of the owners to array leaf_array of the halos; roots and leaves are units of the
 * arrays. For other operations than exchanges, for instance reduces that add what was assembled in halos to the points.
 * The grid owns the graph. Local. SF_ERR_RANGE: no rank has so many arrays. */
sf_status_t sf_grid_graph(const sf_grid_t *grid, int32_t root_array, int32_t leaf_array, sf_graph_t **graph_p);

/* One array of all fields of this rank: *units_p is its length in units, *device_p its device, -1 for host memory.
 * Local. SF_ERR_RANGE: this rank has no such array. */
sf_status_t sf_grid_array(const sf_grid_t *grid, int32_t array, int64_t *units_p, int32_t *device_p);

/* Allocates one array of a field, by sf_alloc or sf_alloc_on_device, with their errors. The caller frees it by sf_free.
 * Local. SF_ERR_RANGE: this rank has no such array, or it would be too large. */
SF_CHECK_RESULT sf_status_t sf_grid_alloc(const sf_grid_t *grid, int32_t array, const sf_type_t *unit,
                                          void **address_p);

/* A field in an exchange: its unit, and the addresses of its narrays arrays. */
typedef struct sf_grid_field {
  const sf_type_t *unit; /* of each point */
  void *const *arrays;   /* narrays addresses */
} sf_grid_field_t;

/* Prepares exchanges of 1 <= nfields <= SF_FIELDS_MAX fields, whose values travel together: one message between two
 * ranks of a node, and one each way between two nodes. (With devices one for each pair of arrays.) fields is copied;
 * arrays and units must stay valid until the exchange is destroyed. All ranks pass fields of the same units in the same
 * order. Local. The caller owns the exchange. Errors of sf_bcast_init_v. SF_ERR_ARG also: nfields is out of range. */
SF_CHECK_RESULT sf_status_t sf_grid_exchange_create(sf_grid_t *grid, int32_t nfields, const sf_grid_field_t fields[],
                                                    sf_grid_exchange_t **exchange_p);

/* Begins to fill the halos of the fields with the values of their owners. Collective; does not block. Until the end the
 * application must not write own points that are in others' halos, nor access the halos. Errors of sf_start; after one
 * of them, end ends what has begun. */
SF_CHECK_RESULT sf_status_t sf_grid_exchange_begin(sf_grid_exchange_t *exchange);

/* Ends the exchange. Blocks until the halos are complete. Errors of sf_wait. SF_OK at once if it has not begun. */
SF_CHECK_RESULT sf_status_t sf_grid_exchange_end(sf_grid_exchange_t *exchange);

/* Begin and end in one call. */
SF_CHECK_RESULT sf_status_t sf_grid_exchange(sf_grid_exchange_t *exchange);

/* Frees the exchange. Local. exchange == NULL is accepted. SF_ERR_STATE: it has not ended. */
sf_status_t sf_grid_exchange_destroy(sf_grid_exchange_t *exchange);

#ifdef __cplusplus
}
#endif
#endif
