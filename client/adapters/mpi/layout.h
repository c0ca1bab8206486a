/* What an MPI datatype consists of, in memory. Any thread that may call MPI. */
#ifndef SFC_ADAPTERS_MPI_LAYOUT_H
#define SFC_ADAPTERS_MPI_LAYOUT_H

#include <mpi.h>
#include <stdint.h>

#include <sf/sf.h>

/* Consecutive values of one unit; or bytes, if base is NULL. */
typedef struct sfmpi_run {
  int64_t offset;
  const sf_type_t *base; /* predefined */
  int64_t count;
  int64_t align; /* that C gives to such values */
} sfmpi_run_t;

/* The pieces of a datatype, of which the first begins at its address and the last ends at most extent bytes later. */
typedef struct sfmpi_layout {
  sfmpi_run_t *runs; /* by offset, without overlaps */
  int64_t n;
  int64_t room;
  int64_t extent;
} sfmpi_layout_t;

/* SF_ERR_UNSUPPORTED: something that units cannot be. The caller frees the layout. */
sf_status_t sfmpi_layout_make(MPI_Datatype datatype, sfmpi_layout_t *layout_p);
void sfmpi_layout_free(sfmpi_layout_t *layout);

/* The whole as one run of extent bytes: of one base if nothing else is in it, else of bytes. Gaps as C leaves them in a
 * struct count as bytes. SF_ERR_UNSUPPORTED: there are other gaps. */
sf_status_t sfmpi_layout_join(const sfmpi_layout_t *layout, sfmpi_run_t *run_p);

/* The unit that corresponds to a predefined datatype, NULL if there is none. */
const sf_type_t *sfmpi_predefined_unit(MPI_Datatype datatype);

#endif
