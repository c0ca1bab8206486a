/* MPI datatypes as runs of bytes: sizes, packing and unpacking. */
#ifndef SFC_ADAPTERS_PMPI_DATATYPE_H
#define SFC_ADAPTERS_PMPI_DATATYPE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "client/adapters/mpi/layout.h"
#include "client/adapters/pmpi/job.h"
#include "client/adapters/pmpi/table.h"

/* Description of a datatype: its size, and where its values lie. The table keeps a description as long as the datatype
 * exists or an operation refers to it. */
typedef struct sfpmpi_datatype {
  atomic_int users;    /* the table, and operations */
  bool dense;          /* consecutive values are consecutive bytes */
  bool opaque;         /* no runs: MPI packs, with copy */
  ptrdiff_t first;     /* offset of the first byte, if there is one run */
  size_t size;         /* bytes of one value, without gaps */
  ptrdiff_t extent;    /* from one value to the next */
  size_t equal;        /* bytes of each run, if all have the same; else 0 */
  sfmpi_layout_t runs; /* in the order in which they are packed */
  MPI_Datatype copy;   /* of an opaque one: exists as long as this */
} sfpmpi_datatype_t;

/* By handle. Derived datatypes leave it when they are freed. */
extern sfpmpi_table_t sfpmpi_datatypes;

/* Whether MPI accepts the datatype in communication. */
bool sfpmpi_datatype_is_valid(MPI_Datatype datatype);

/* Makes a description, for sfpmpi_datatype_find. */
const sfpmpi_datatype_t *sfpmpi_datatype_learn(MPI_Datatype datatype);

/* Returns the description of a datatype; NULL: it is not valid, or there is no memory. */
static inline const sfpmpi_datatype_t *sfpmpi_datatype_find(MPI_Datatype datatype)
{
  sfpmpi_lock();
  const sfpmpi_datatype_t *found = sfpmpi_table_find(&sfpmpi_datatypes, (uintptr_t)datatype);
  sfpmpi_unlock();
  return __builtin_expect(found != NULL, true) ? found : sfpmpi_datatype_learn(datatype);
}

/* For operations that outlast the call. */
void sfpmpi_datatype_hold(const sfpmpi_datatype_t *datatype);
void sfpmpi_datatype_release(const sfpmpi_datatype_t *datatype);

/* Whether that many values are consecutive bytes, which begin first bytes behind their address. */
static inline bool sfpmpi_datatype_is_block(const sfpmpi_datatype_t *datatype, size_t count)
{
  return datatype->dense || (count <= 1 && !datatype->opaque && datatype->runs.n <= 1);
}

/* Copies count values from memory to packed, and the first bytes of count packed values to memory. */
void sfpmpi_pack(const sfpmpi_datatype_t *datatype, const char *memory, size_t count, char *packed);
void sfpmpi_unpack(const sfpmpi_datatype_t *datatype, const char *packed, size_t bytes, char *memory);

#endif
