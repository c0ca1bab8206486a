/* MPI datatypes: see datatype.h. Any thread that may call MPI. */
#include "client/adapters/pmpi/datatype.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "client/adapters/mpi/envelope.h"

sfpmpi_table_t sfpmpi_datatypes;
static int keyval = MPI_KEYVAL_INVALID; /* of the attribute that says so */

/* ---- Descriptions of datatypes ----------------------------------------------------------------------------------- */

void sfpmpi_datatype_hold(const sfpmpi_datatype_t *datatype)
{
  atomic_fetch_add_explicit(&((sfpmpi_datatype_t *)datatype)->users, 1, memory_order_relaxed);
}

void sfpmpi_datatype_release(const sfpmpi_datatype_t *datatype)
{
  sfpmpi_datatype_t *own = (sfpmpi_datatype_t *)datatype;
  if (atomic_fetch_sub_explicit(&own->users, 1, memory_order_acq_rel) > 1)
    return;
  sfmpi_layout_free(&own->runs);
  if (own->copy != MPI_DATATYPE_NULL && sfpmpi_job.context != NULL)
    (void)PMPI_Type_free(&own->copy);
  free(own);
}

static int forget(MPI_Datatype handle, int key, void *value, void *extra)
{
  (void)key;
  (void)extra;
  sfpmpi_lock();
  sfpmpi_table_remove(&sfpmpi_datatypes, (uintptr_t)handle);
  sfpmpi_unlock();
  sfpmpi_datatype_release(value);
  return MPI_SUCCESS;
}

static void look_at_runs(sfpmpi_datatype_t *datatype)
{
  const sfmpi_run_t *runs = datatype->runs.runs;
  int64_t n = datatype->runs.n;
  datatype->first = n > 0 ? (ptrdiff_t)runs[0].offset : 0;
  datatype->dense = datatype->size == 0 || (n == 1 && runs[0].count == datatype->extent);
  datatype->equal = n > 0 ? (size_t)runs[0].count : 0;
  for (int64_t i = 1; i < n; i++)
    if (runs[i].count != runs[0].count)
      datatype->equal = 0;
}

/* Fills in the description. Returns false if MPI must see the datatype itself. */
static bool describe(MPI_Datatype handle, sfpmpi_datatype_t *datatype)
{
  MPI_Count size;
  MPI_Aint lower, extent;
  if (PMPI_Type_size_x(handle, &size) != MPI_SUCCESS || size == MPI_UNDEFINED ||
      PMPI_Type_get_extent(handle, &lower, &extent) != MPI_SUCCESS)
    return false;
  datatype->size = (size_t)size;
  datatype->extent = extent;
  if (sfmpi_layout_make_map(handle, &datatype->runs) == SF_OK) {
    look_at_runs(datatype);
    return true;
  }
  datatype->opaque = true;
  datatype->dense = size == 0;
  return PMPI_Type_dup(handle, &datatype->copy) == MPI_SUCCESS;
}

static bool is_predefined(MPI_Datatype handle)
{
  sfmpi_envelope_t envelope;
  return sfmpi_envelope(handle, &envelope) == MPI_SUCCESS && envelope.combiner == MPI_COMBINER_NAMED;
}

/* That it was committed only MPI knows. */
bool sfpmpi_datatype_is_valid(MPI_Datatype handle)
{
  const char nothing = 0;
  return handle != MPI_DATATYPE_NULL &&
         PMPI_Send(&nothing, 1, handle, MPI_PROC_NULL, 0, sfpmpi_job.self) == MPI_SUCCESS;
}

static bool enter(MPI_Datatype handle, sfpmpi_datatype_t *datatype)
{
  if (keyval == MPI_KEYVAL_INVALID &&
      PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, NULL) != MPI_SUCCESS)
    return false;
  sfpmpi_lock();
  bool entered = sfpmpi_table_enter(&sfpmpi_datatypes, (uintptr_t)handle, datatype);
  sfpmpi_unlock();
  if (!entered || is_predefined(handle) || PMPI_Type_set_attr(handle, keyval, datatype) == MPI_SUCCESS)
    return entered;
  sfpmpi_lock();
  sfpmpi_table_remove(&sfpmpi_datatypes, (uintptr_t)handle);
  sfpmpi_unlock();
  return false;
}

const sfpmpi_datatype_t *sfpmpi_datatype_learn(MPI_Datatype handle)
{
  if (!sfpmpi_datatype_is_valid(handle))
    return NULL;
  sfpmpi_datatype_t *datatype = calloc(1, sizeof *datatype);
  if (datatype == NULL)
    return NULL;
  atomic_init(&datatype->users, 1);
  datatype->copy = MPI_DATATYPE_NULL;
  if (describe(handle, datatype) && enter(handle, datatype))
    return datatype;
  sfpmpi_datatype_release(datatype);
  return NULL;
}

/* ---- Packing ----------------------------------------------------------------------------------------------------- */

/* To packed, or from there. Inlined, as all below: for a constant number of bytes memcpy is a move. */
static inline void move_run(bool packs, char *memory, char *packed, size_t bytes)
{
  memcpy(packs ? packed : memory, packs ? memory : packed, bytes);
}

/* The first bytes of one value. */
static inline void move_value(const sfpmpi_datatype_t *datatype, bool packs, char *value, char *packed, size_t bytes)
{
  const sfmpi_run_t *runs = datatype->runs.runs;
  int64_t n = datatype->runs.n;
  size_t equal = bytes == datatype->size ? datatype->equal : 0;
  if (equal == 4)
    for (int64_t i = 0; i < n; i++)
      move_run(packs, value + runs[i].offset, packed + 4 * i, 4);
  else if (equal == 8)
    for (int64_t i = 0; i < n; i++)
      move_run(packs, value + runs[i].offset, packed + 8 * i, 8);
  else
    for (int64_t i = 0; i < n && bytes > 0; i++) {
      size_t some = bytes < (size_t)runs[i].count ? bytes : (size_t)runs[i].count;
      move_run(packs, value + runs[i].offset, packed, some);
      packed += some;
      bytes -= some;
    }
}

/* MPI moves whole opaque values only. */
static void move_opaque(const sfpmpi_datatype_t *datatype, bool packs, char *value, char *packed)
{
  int size = datatype->size < INT_MAX ? (int)datatype->size : INT_MAX, position = 0;
  if (packs)
    (void)PMPI_Pack(value, 1, datatype->copy, packed, size, &position, MPI_COMM_SELF);
  else
    (void)PMPI_Unpack(packed, size, &position, value, 1, datatype->copy, MPI_COMM_SELF);
}

static inline void move(const sfpmpi_datatype_t *datatype, bool packs, char *memory, char *packed, size_t bytes)
{
  size_t size = datatype->size;
  for (; bytes > 0; memory += datatype->extent, packed += size) {
    size_t some = bytes < size ? bytes : size;
    if (!datatype->opaque)
      move_value(datatype, packs, memory, packed, some);
    else if (some == size)
      move_opaque(datatype, packs, memory, packed);
    bytes -= some;
  }
}

void sfpmpi_pack(const sfpmpi_datatype_t *datatype, const char *memory, size_t count, char *packed)
{
  move(datatype, true, (char *)(uintptr_t)memory, packed, count * datatype->size);
}

void sfpmpi_unpack(const sfpmpi_datatype_t *datatype, const char *packed, size_t bytes, char *memory)
{
  move(datatype, false, memory, (char *)(uintptr_t)packed, bytes);
}
