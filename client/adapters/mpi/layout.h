/* Layout of an MPI datatype in memory. Any thread that may call MPI. */
#ifndef SFC_ADAPTERS_MPI_LAYOUT_H
#define SFC_ADAPTERS_MPI_LAYOUT_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

/* Consecutive values of a unit, or bytes if base is NULL. */
typedef struct sfmpi_run {
  int64_t offset;
  const sf_type_t *base;
  int64_t count;
  int64_t align; /* alignment in C */
} sfmpi_run_t;

/* The runs of a datatype. */
typedef struct sfmpi_layout {
  sfmpi_run_t *runs; /* by offset; of a type map: of bytes, in the order in which MPI packs them */
  int64_t n;
  int64_t room;
  int64_t extent;
  bool is_map;
} sfmpi_layout_t;

/* SF_ERR_UNSUPPORTED: no unit corresponds. The caller frees the layout. */
sf_status_t sfmpi_layout_make(MPI_Datatype datatype, sfmpi_layout_t *layout_p);

/* The same for the type map: exactly the bytes that MPI sends, without the padding of pairs. Runs may repeat bytes and
 * have negative offsets. */
sf_status_t sfmpi_layout_make_map(MPI_Datatype datatype, sfmpi_layout_t *layout_p);
void sfmpi_layout_free(sfmpi_layout_t *layout);

/* Joins the runs to one of extent bytes: of one base if nothing else is in it, else of bytes. Struct padding counts as
 * bytes. SF_ERR_UNSUPPORTED: other gaps. */
sf_status_t sfmpi_layout_join(const sfmpi_layout_t *layout, sfmpi_run_t *run_p);

/* Returns the unit of a predefined datatype; NULL: none. */
const sf_type_t *sfmpi_predefined_unit(MPI_Datatype datatype);

#endif
