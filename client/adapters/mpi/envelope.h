/* MPI_Type_get_envelope, also for datatypes made with large counts. Of these that function makes an error, for which
 * the usual error handler ends the program. */
#ifndef SFMPI_ENVELOPE_H
#define SFMPI_ENVELOPE_H

#include <mpi.h>
#include <stdbool.h>

typedef struct sfmpi_envelope {
  int nintegers, naddresses, ndatatypes, combiner;
  bool is_large; /* MPI_Type_get_contents has no description of it; the numbers are not set */
} sfmpi_envelope_t;

static inline int sfmpi_envelope(MPI_Datatype datatype, sfmpi_envelope_t *envelope)
{
#if MPI_VERSION >= 4
  MPI_Count nintegers, naddresses, nlarge, ndatatypes;
  int code = MPI_Type_get_envelope_c(datatype, &nintegers, &naddresses, &nlarge, &ndatatypes, &envelope->combiner);
  envelope->is_large = code == MPI_SUCCESS && nlarge > 0;
  if (code != MPI_SUCCESS || nlarge > 0)
    return code;
  envelope->nintegers = (int)nintegers;
  envelope->naddresses = (int)naddresses;
  envelope->ndatatypes = (int)ndatatypes;
  return code;
#else
  envelope->is_large = false;
  return MPI_Type_get_envelope(datatype, &envelope->nintegers, &envelope->naddresses, &envelope->ndatatypes,
                               &envelope->combiner);
#endif
}

#endif
