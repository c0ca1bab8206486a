/* Contenders that exchange the halos of several fields of doubles on a periodic grid, one subdomain a rank: the
 * library, and programs that call MPI or PETSc by themselves. */
#ifndef SFPERF_CONTENDERS_HALOS_H
#define SFPERF_CONTENDERS_HALOS_H

#include <stdint.h>

#include <sf/sf.h>

enum { SFPERF_DIRECTIONS = 26 };

/* This rank's part of the fields, which all contenders but PETSc work on. Axis 0 is the fastest. */
typedef struct sfperf_halos {
  sf_grid_t *grid;
  sf_grid_subdomain_t own;
  int64_t points[3]; /* of the whole grid */
  int radius;
  int nfields;
  int64_t units;                    /* of a field */
  double *fields;                   /* one after the other */
  int neighbors[SFPERF_DIRECTIONS]; /* the rank in each direction */
} sfperf_halos_t;

typedef struct sfperf_halo_method {
  const char *name;
  void *(*create)(const sfperf_halos_t *halos); /* collective */
  void (*exchange)(void *state);
  void (*destroy)(void *state);
  int own_fields; /* has fields of its own, in another layout */
} sfperf_halo_method_t;

/* One exchange of all fields; one bcast on a graph of as many columns as there are fields. */
extern const sfperf_halo_method_t sfperf_halo_sf, sfperf_halo_sf_columns;

/* "mpi_packed": one message in each of the 26 directions, packed by loops. "mpi_subarray": MPI_Neighbor_alltoallw with
 * subarray types. */
extern const sfperf_halo_method_t sfperf_halo_mpi_packed, sfperf_halo_mpi_subarray;

/* "petsc_dmda": DMLocalToLocal; NULL-terminated, empty when built without PETSc. */
extern const sfperf_halo_method_t *const sfperf_halo_petsc[];

/* Direction number d of 26 as a step of -1, 0 or 1 along each axis; the opposite one is number 25 - d. */
static inline void sfperf_direction(int d, int step[3])
{
  int i = d < SFPERF_DIRECTIONS / 2 ? d : d + 1;
  for (int axis = 0; axis < 3; axis++, i /= 3)
    step[axis] = i % 3 - 1;
}

/* Along an axis: own points that the neighbour in that direction needs (send), or halo points there. */
static inline void sfperf_halo_range(const sfperf_halos_t *halos, int axis, int step, int send, int64_t *begin_p,
                                     int64_t *n_p)
{
  int64_t extent = halos->own.extent[axis], radius = halos->radius;
  *n_p = step == 0 ? extent : radius;
  *begin_p = step == 0 ? 0 : step < 0 ? (send ? 0 : -radius) : (send ? extent - radius : extent);
}

#endif
