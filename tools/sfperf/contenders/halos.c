/* Exchanges of halos by the library and by MPI. Runs in each rank's only thread, all ranks in step. */
#include "tools/sfperf/contenders/halos.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sfperf/fail.h"

/* ---- The library ------------------------------------------------------------------------------------------------- */

static void *sf_create(const sfperf_halos_t *halos)
{
  sf_grid_exchange_t *exchange;
  sf_grid_field_t *fields = sfperf_malloc((size_t)halos->nfields * sizeof *fields);
  void **arrays = sfperf_malloc((size_t)halos->nfields * sizeof *arrays);
  for (int f = 0; f < halos->nfields; f++) {
    arrays[f] = halos->fields + f * halos->units;
    fields[f] = (sf_grid_field_t){SF_DOUBLE, &arrays[f]};
  }
  sfperf_call(sf_grid_exchange_create, halos->grid, halos->nfields, fields, &exchange);
  free(fields);
  free(arrays);
  return exchange;
}

static void sf_halo_exchange(void *state)
{
  sfperf_call(sf_grid_exchange, state);
}

static void sf_destroy(void *state)
{
  sfperf_call(sf_grid_exchange_destroy, state);
}

const sfperf_halo_method_t sfperf_halo_sf = {
    .name = "sf_grid", .create = sf_create, .exchange = sf_halo_exchange, .destroy = sf_destroy};

typedef struct columns {
  sf_graph_t *graph;
  sf_request_t *request;
} columns_t;

static void *columns_create(const sfperf_halos_t *halos)
{
  columns_t *columns = sfperf_malloc(sizeof *columns);
  sf_graph_t *one;
  sfperf_call(sf_grid_graph, halos->grid, 0, 0, &one);
  sfperf_call(sf_graph_create_strided, one, halos->nfields, halos->units, halos->units, &columns->graph);
  sfperf_call(sf_bcast_init, columns->graph, SF_DOUBLE, halos->fields, halos->fields, SF_REPLACE, &columns->request);
  return columns;
}

static void columns_exchange(void *state)
{
  columns_t *columns = state;
  sfperf_call(sf_start, columns->request);
  sfperf_call(sf_wait, &columns->request);
}

static void columns_destroy(void *state)
{
  columns_t *columns = state;
  sfperf_call(sf_request_free, &columns->request);
  sfperf_call(sf_graph_destroy, columns->graph);
  free(columns);
}

const sfperf_halo_method_t sfperf_halo_sf_columns = {
    .name = "sf_columns", .create = columns_create, .exchange = columns_exchange, .destroy = columns_destroy};

/* ---- Packed by hand ---------------------------------------------------------------------------------------------- */

typedef struct packed {
  const sfperf_halos_t *halos;
  double *send[SFPERF_DIRECTIONS], *receive[SFPERF_DIRECTIONS];
  int count[SFPERF_DIRECTIONS]; /* doubles */
  MPI_Request requests[2 * SFPERF_DIRECTIONS];
} packed_t;

typedef struct box {
  int64_t begin[3], n[3];
} box_t;

static box_t box_of(const sfperf_halos_t *halos, int direction, int send)
{
  int step[3];
  box_t box;
  sfperf_direction(direction, step);
  for (int axis = 0; axis < 3; axis++)
    sfperf_halo_range(halos, axis, step[axis], send, &box.begin[axis], &box.n[axis]);
  return box;
}

static void *packed_create(const sfperf_halos_t *halos)
{
  packed_t *packed = sfperf_malloc(sizeof *packed);
  packed->halos = halos;
  for (int d = 0; d < SFPERF_DIRECTIONS; d++) {
    box_t box = box_of(halos, d, 1);
    packed->count[d] = (int)(box.n[0] * box.n[1] * box.n[2]) * halos->nfields;
    packed->send[d] = sfperf_malloc((size_t)packed->count[d] * sizeof(double));
    packed->receive[d] = sfperf_malloc((size_t)packed->count[d] * sizeof(double));
  }
  return packed;
}

static void pack(const sfperf_halos_t *halos, int direction, double *restrict to)
{
  box_t box = box_of(halos, direction, 1);
  const int64_t *stride = halos->own.stride;
  for (int f = 0; f < halos->nfields; f++)
    for (int64_t z = 0; z < box.n[2]; z++)
      for (int64_t y = 0; y < box.n[1]; y++) {
        const double *restrict from = halos->fields + f * halos->units + halos->own.origin + box.begin[0] +
                                      (box.begin[1] + y) * stride[1] + (box.begin[2] + z) * stride[2];
        for (int64_t x = 0; x < box.n[0]; x++)
          *to++ = from[x];
      }
}

static void unpack(const sfperf_halos_t *halos, int direction, const double *restrict from)
{
  box_t box = box_of(halos, direction, 0);
  const int64_t *stride = halos->own.stride;
  for (int f = 0; f < halos->nfields; f++)
    for (int64_t z = 0; z < box.n[2]; z++)
      for (int64_t y = 0; y < box.n[1]; y++) {
        double *restrict to = halos->fields + f * halos->units + halos->own.origin + box.begin[0] +
                              (box.begin[1] + y) * stride[1] + (box.begin[2] + z) * stride[2];
        for (int64_t x = 0; x < box.n[0]; x++)
          to[x] = *from++;
      }
}

static void packed_exchange(void *state)
{
  packed_t *packed = state;
  const sfperf_halos_t *halos = packed->halos;
  /* The tag of a message is the direction in which it travels. */
  for (int d = 0; d < SFPERF_DIRECTIONS; d++)
    MPI_Irecv(packed->receive[d], packed->count[d], MPI_DOUBLE, halos->neighbors[d], SFPERF_DIRECTIONS - 1 - d,
              MPI_COMM_WORLD, &packed->requests[d]);
  for (int d = 0; d < SFPERF_DIRECTIONS; d++) {
    pack(halos, d, packed->send[d]);
    MPI_Isend(packed->send[d], packed->count[d], MPI_DOUBLE, halos->neighbors[d], d, MPI_COMM_WORLD,
              &packed->requests[SFPERF_DIRECTIONS + d]);
  }
  for (int i = 0; i < SFPERF_DIRECTIONS; i++) {
    int d;
    MPI_Waitany(SFPERF_DIRECTIONS, packed->requests, &d, MPI_STATUS_IGNORE);
    unpack(halos, d, packed->receive[d]);
  }
  MPI_Waitall(SFPERF_DIRECTIONS, packed->requests + SFPERF_DIRECTIONS, MPI_STATUSES_IGNORE);
}

static void packed_destroy(void *state)
{
  packed_t *packed = state;
  for (int d = 0; d < SFPERF_DIRECTIONS; d++) {
    free(packed->send[d]);
    free(packed->receive[d]);
  }
  free(packed);
}

const sfperf_halo_method_t sfperf_halo_mpi_packed = {
    .name = "mpi_packed", .create = packed_create, .exchange = packed_exchange, .destroy = packed_destroy};

/* ---- Subarray types ---------------------------------------------------------------------------------------------- */

typedef struct subarrays {
  MPI_Comm comm;
  double *fields;
  MPI_Datatype send[SFPERF_DIRECTIONS], receive[SFPERF_DIRECTIONS];
} subarrays_t;

/* Type of a box in all fields. */
static MPI_Datatype make_type(const sfperf_halos_t *halos, int direction, int send)
{
  MPI_Datatype one, all;
  box_t box = box_of(halos, direction, send);
  int sizes[3], subsizes[3], starts[3];
  for (int axis = 0; axis < 3; axis++) {
    sizes[2 - axis] = (int)(halos->own.extent[axis] + 2 * halos->radius);
    subsizes[2 - axis] = (int)box.n[axis];
    starts[2 - axis] = (int)box.begin[axis] + halos->radius;
  }
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &one);
  MPI_Type_contiguous(halos->nfields, one, &all);
  MPI_Type_commit(&all);
  MPI_Type_free(&one);
  return all;
}

static void *subarrays_create(const sfperf_halos_t *halos)
{
  subarrays_t *subarrays = sfperf_malloc(sizeof *subarrays);
  int opposite[SFPERF_DIRECTIONS], weights[SFPERF_DIRECTIONS];
  subarrays->fields = halos->fields;
  for (int d = 0; d < SFPERF_DIRECTIONS; d++) {
    weights[d] = 1;
    opposite[d] = halos->neighbors[SFPERF_DIRECTIONS - 1 - d];
    subarrays->receive[d] = make_type(halos, d, 0);
    subarrays->send[d] = make_type(halos, SFPERF_DIRECTIONS - 1 - d, 1);
  }
  /* A rank may be a neighbour in several directions: MPI matches its messages in the order of the lists, so send and
   * receive lists have opposite directions at the same position. */
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, SFPERF_DIRECTIONS, halos->neighbors, weights, SFPERF_DIRECTIONS,
                                 opposite, weights, MPI_INFO_NULL, 0, &subarrays->comm);
  return subarrays;
}

static void subarrays_exchange(void *state)
{
  const subarrays_t *subarrays = state;
  int ones[SFPERF_DIRECTIONS];
  MPI_Aint zeros[SFPERF_DIRECTIONS] = {0};
  for (int d = 0; d < SFPERF_DIRECTIONS; d++)
    ones[d] = 1;
  MPI_Neighbor_alltoallw(subarrays->fields, ones, zeros, subarrays->send, subarrays->fields, ones, zeros,
                         subarrays->receive, subarrays->comm);
}

static void subarrays_destroy(void *state)
{
  subarrays_t *subarrays = state;
  for (int d = 0; d < SFPERF_DIRECTIONS; d++) {
    MPI_Type_free(&subarrays->send[d]);
    MPI_Type_free(&subarrays->receive[d]);
  }
  MPI_Comm_free(&subarrays->comm);
  free(subarrays);
}

const sfperf_halo_method_t sfperf_halo_mpi_subarray = {
    .name = "mpi_subarray", .create = subarrays_create, .exchange = subarrays_exchange, .destroy = subarrays_destroy};

/* ---- Copies without exchange ------------------------------------------------------------------------------------- */

static void *copy_create(const sfperf_halos_t *halos)
{
  sfperf_halos_t *copy = sfperf_malloc(sizeof *copy);
  *copy = *halos;
  return copy;
}

/* Copies each halo point from the own point where it would be if this rank had the whole grid, line by line. */
static void copy_exchange(void *state)
{
  const sfperf_halos_t *halos = state;
  const int64_t *n = halos->own.extent, *stride = halos->own.stride, r = halos->radius;
  size_t side = (size_t)r * sizeof(double), all = (size_t)n[0] * sizeof(double);
  for (int f = 0; f < halos->nfields; f++)
    for (int64_t z = -r; z < n[2] + r; z++)
      for (int64_t y = -r; y < n[1] + r; y++) {
        double *field = halos->fields + f * halos->units + halos->own.origin;
        int64_t from_y = (y + n[1]) % n[1], from_z = (z + n[2]) % n[2];
        const double *from = field + from_y * stride[1] + from_z * stride[2];
        double *to = field + y * stride[1] + z * stride[2];
        if (from != to)
          memcpy(to, from, all);
        memcpy(to - r, from + n[0] - r, side);
        memcpy(to + n[0], from, side);
      }
}

const sfperf_halo_method_t sfperf_halo_copy = {
    .name = "copy", .create = copy_create, .exchange = copy_exchange, .destroy = free, .is_bound = 1};
