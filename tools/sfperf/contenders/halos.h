/* Contenders that exchange the halos of several fields of doubles on a periodic grid with one subdomain for each rank:
 * the library, MPI and PETSc. */
#ifndef SFPERF_CONTENDERS_HALOS_H
#define SFPERF_CONTENDERS_HALOS_H

#include <stdint.h>

#include <sf/sf.h>

enum { SFPERF_DIRECTIONS = 26 };

/* Fields of this rank, shared by all contenders but PETSc. Axis 0 is the fastest in memory. */
typedef struct sfperf_halos {
  sf_grid_t *grid;
  sf_grid_subdomain_t own;
  int64_t points[3]; /* points of the whole grid */
  int radius;
  int nfields;
  int64_t units;                    /* length of a field */
  double *fields;                   /* nfields fields, one after the other */
  int neighbors[SFPERF_DIRECTIONS]; /* rank in each direction */
} sfperf_halos_t;

typedef struct sfperf_halo_method {
  const char *name;
  void *(*create)(const sfperf_halos_t *halos); /* collective */
  void (*exchange)(void *state);
  void (*destroy)(void *state);
  int own_fields; /* the contender allocates fields in its own layout */
  int is_bound;   /* exchanges nothing: halos have other values */
} sfperf_halo_method_t;

/* "sf_grid": one exchange of all fields. "sf_columns": one bcast on a graph with a column for each field. */
extern const sfperf_halo_method_t sfperf_halo_sf, sfperf_halo_sf_columns;

/* "mpi_packed": one message in each of the 26 directions, packed by loops. "mpi_subarray": MPI_Neighbor_alltoallw with
 * subarray types. */
extern const sfperf_halo_method_t sfperf_halo_mpi_packed, sfperf_halo_mpi_subarray;

/* "copy": fills the halos from this rank's own points, without other ranks: a bound of the machine's memory. */
extern const sfperf_halo_method_t sfperf_halo_copy;

/* "petsc_dmda": DMLocalToLocal. The list ends with NULL, and is empty in a build without PETSc. */
extern const sfperf_halo_method_t *const sfperf_halo_petsc[];

/* Converts direction d of 26 to a step of -1, 0 or 1 along each axis. The opposite direction is 25 - d. */
static inline void sfperf_direction(int d, int step[3])
{
  int i = d < SFPERF_DIRECTIONS / 2 ? d : d + 1;
  for (int axis = 0; axis < 3; axis++, i /= 3)
    step[axis] = i % 3 - 1;
}

/* Range along an axis of the own points that the neighbour in the direction of step needs (send), or of the halo points
 * in that direction (receive). */
static inline void sfperf_halo_range(const sfperf_halos_t *halos, int axis, int step, int send, int64_t *begin_p,
                                     int64_t *n_p)
{
  int64_t extent = halos->own.extent[axis], radius = halos->radius;
  *n_p = step == 0 ? extent : radius;
  *begin_p = step == 0 ? 0 : step < 0 ? (send ? 0 : -radius) : (send ? extent - radius : extent);
}

#endif
