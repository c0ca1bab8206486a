/* Layouts of MPI datatypes: see layout.h. Takes datatypes apart with MPI_Type_get_envelope and MPI_Type_get_contents,
 * and joins their parts to single runs first if possible. */
#include "client/adapters/mpi/layout.h"

#include <stdlib.h>

#include "client/adapters/mpi/envelope.h"
#include "client/adapters/mpi/error.h"
#include "shm/base/error.h"

#define MAX_RUNS 65536
#define MAX_ALIGN 16

/* Contents of a derived datatype. */
typedef struct contents {
  sfmpi_envelope_t envelope;
  int *integers;
  MPI_Aint *addresses;
  MPI_Datatype *datatypes;
} contents_t;

static void free_contents(contents_t *contents)
{
  for (int i = 0; i < contents->envelope.ndatatypes && contents->datatypes != NULL; i++) {
    sfmpi_envelope_t part;
    if (contents->datatypes[i] != MPI_DATATYPE_NULL && sfmpi_envelope(contents->datatypes[i], &part) == MPI_SUCCESS &&
        part.combiner != MPI_COMBINER_NAMED)
      MPI_Type_free(&contents->datatypes[i]); /* MPI_Type_get_contents returned a reference */
  }
  free(contents->integers);
  free(contents->addresses);
  free(contents->datatypes);
}

static sf_status_t get_contents(MPI_Datatype datatype, contents_t *contents)
{
  *contents = (contents_t){.integers = NULL};
  sfmpi_envelope_t *envelope = &contents->envelope;
  sf_status_t status = sfmpi_check(sfmpi_envelope(datatype, envelope), "sf_mpi_type: MPI_Type_get_envelope");
  if (status == SF_OK && envelope->is_large)
    status = sfshm_error(SF_ERR_UNSUPPORTED, "sf_mpi_type: the datatype is, or contains, one made with large counts");
  if (status != SF_OK || envelope->combiner == MPI_COMBINER_NAMED)
    return status;
  contents->integers = calloc((size_t)envelope->nintegers + 1, sizeof *contents->integers);
  contents->addresses = calloc((size_t)envelope->naddresses + 1, sizeof *contents->addresses);
  contents->datatypes = calloc((size_t)envelope->ndatatypes + 1, sizeof *contents->datatypes);
  if (contents->integers == NULL || contents->addresses == NULL || contents->datatypes == NULL) {
    envelope->ndatatypes = 0;
    return sfshm_error(SF_ERR_NOMEM, "sf_mpi_type: a datatype made of %d numbers", envelope->nintegers);
  }
  for (int i = 0; i < envelope->ndatatypes; i++)
    contents->datatypes[i] = MPI_DATATYPE_NULL;
  return sfmpi_check(MPI_Type_get_contents(datatype, envelope->nintegers, envelope->naddresses, envelope->ndatatypes,
                                           contents->integers, contents->addresses, contents->datatypes),
                     "sf_mpi_type: MPI_Type_get_contents");
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static int64_t value_bytes(const sfmpi_run_t *run)
{
  return run->base == NULL ? 1 : (int64_t)sf_type_size(run->base);
}

static int64_t run_end(const sfmpi_run_t *run)
{
  return run->offset + run->count * value_bytes(run);
}

/* Appends a run, joined to the last one if adjacent. */
static sf_status_t append(sfmpi_layout_t *layout, sfmpi_run_t run)
{
  sfmpi_run_t *last = layout->n > 0 ? &layout->runs[layout->n - 1] : NULL;
  if (run.count == 0)
    return SF_OK;
  if (last != NULL && last->base == run.base && last->align == run.align && run_end(last) == run.offset) {
    last->count += run.count;
    return SF_OK;
  }
  if (layout->n == MAX_RUNS)
    return sfshm_error(SF_ERR_UNSUPPORTED, "sf_mpi_type: the datatype has more than %d pieces", MAX_RUNS);
  if (layout->n == layout->room) {
    int64_t room = 2 * layout->room + 8;
    sfmpi_run_t *runs = realloc(layout->runs, (size_t)room * sizeof *runs);
    if (runs == NULL)
      return sfshm_error(SF_ERR_NOMEM, "sf_mpi_type: a datatype of %lld pieces", (long long)room);
    layout->runs = runs;
    layout->room = room;
  }
  layout->runs[layout->n++] = run;
  return SF_OK;
}

static int by_offset(const void *a, const void *b)
{
  int64_t x = ((const sfmpi_run_t *)a)->offset, y = ((const sfmpi_run_t *)b)->offset;
  return (x > y) - (x < y);
}

/* Sorts the runs and joins adjacent ones. The order of a type map stays. */
static void arrange(sfmpi_layout_t *layout)
{
  int64_t n = layout->n;
  if (layout->is_map)
    return;
  if (n > 0)
    qsort(layout->runs, (size_t)n, sizeof *layout->runs, by_offset);
  layout->n = 0;
  for (int64_t i = 0; i < n; i++)
    (void)append(layout, layout->runs[i]);
}

/* Whether repetitions of the layout are one run: *run_p, of its first one. */
static bool is_dense(const sfmpi_layout_t *layout, sfmpi_run_t *run_p)
{
  if (!layout->is_map)
    return sfmpi_layout_join(layout, run_p) == SF_OK;
  if (layout->n != 1 || layout->runs[0].count != layout->extent)
    return false;
  *run_p = layout->runs[0];
  return true;
}

/* Appends a layout count times, from the offset on. */
static sf_status_t repeat(sfmpi_layout_t *layout, const sfmpi_layout_t *child, int64_t offset, int64_t count)
{
  sfmpi_run_t whole;
  sf_status_t status = SF_OK;
  if (count > 0 && is_dense(child, &whole)) {
    whole.offset += offset;
    whole.count *= count;
    return append(layout, whole);
  }
  for (int64_t i = 0; i < count && status == SF_OK; i++)
    for (int64_t k = 0; k < child->n && status == SF_OK; k++) {
      sfmpi_run_t run = child->runs[k];
      run.offset += offset + i * child->extent;
      status = append(layout, run);
    }
  return status;
}

/* ---- Derived datatypes ------------------------------------------------------------------------------------------- */

/* Block i of a datatype: number of elements, and offset in bytes or in element extents. */
typedef struct block {
  int64_t count;
  int64_t at;
  bool in_extents;
} block_t;

/* Line i of a subarray along its fastest dimension. n: number of dimensions, sizes of the array, sizes of the part,
 * start, order. */
static bool describe_line(const int n[], int i, block_t *block)
{
  int ndims = n[0];
  const int *sizes = n + 1, *part = sizes + ndims, *start = part + ndims;
  bool last_is_fastest = start[ndims] == MPI_ORDER_C;
  int64_t at = 0, stride = 1, rest = i;
  for (int k = 0; k < ndims; k++) {
    int d = last_is_fastest ? ndims - 1 - k : k;
    int64_t place = k == 0 ? 0 : rest % part[d];
    rest = k == 0 ? rest : rest / part[d];
    at += (start[d] + place) * stride;
    stride *= sizes[d];
  }
  *block = (block_t){part[last_is_fastest ? ndims - 1 : 0], at, true};
  return rest == 0;
}

/* A distributed array on one process is the whole array. n: number of processes, rank, number of dimensions, sizes, and
 * values without effect here. */
static block_t describe_whole(const int n[])
{
  int64_t count = 1;
  for (int d = 0; d < n[2]; d++)
    count *= n[3 + d];
  return (block_t){count, 0, false};
}

static bool describe_block(const contents_t *c, int i, block_t *block)
{
  const int *n = c->integers;
  switch (c->envelope.combiner) {
  case MPI_COMBINER_DUP:
  case MPI_COMBINER_RESIZED:
    *block = (block_t){1, 0, false};
    return i < 1;
  case MPI_COMBINER_CONTIGUOUS:
    *block = (block_t){n[0], 0, false};
    return i < 1;
  case MPI_COMBINER_VECTOR:
    *block = (block_t){n[1], (int64_t)i * n[2], true};
    return i < n[0];
  case MPI_COMBINER_HVECTOR:
    *block = (block_t){n[1], (int64_t)i * c->addresses[0], false};
    return i < n[0];
  case MPI_COMBINER_INDEXED:
    *block = i < n[0] ? (block_t){n[1 + i], n[1 + n[0] + i], true} : (block_t){0};
    return i < n[0];
  case MPI_COMBINER_INDEXED_BLOCK:
    *block = i < n[0] ? (block_t){n[1], n[2 + i], true} : (block_t){0};
    return i < n[0];
  case MPI_COMBINER_HINDEXED_BLOCK:
    *block = i < n[0] ? (block_t){n[1], c->addresses[i], false} : (block_t){0};
    return i < n[0];
  case MPI_COMBINER_HINDEXED:
  case MPI_COMBINER_STRUCT:
    *block = i < n[0] ? (block_t){n[1 + i], c->addresses[i], false} : (block_t){0};
    return i < n[0];
  case MPI_COMBINER_SUBARRAY:
    return describe_line(n, i, block);
  case MPI_COMBINER_DARRAY:
    *block = describe_whole(n);
    return i < 1;
  default:
    return false;
  }
}

static bool is_known(const contents_t *contents)
{
  static const int known[] = {MPI_COMBINER_DUP,           MPI_COMBINER_RESIZED,        MPI_COMBINER_CONTIGUOUS,
                              MPI_COMBINER_VECTOR,        MPI_COMBINER_HVECTOR,        MPI_COMBINER_INDEXED,
                              MPI_COMBINER_INDEXED_BLOCK, MPI_COMBINER_HINDEXED_BLOCK, MPI_COMBINER_HINDEXED,
                              MPI_COMBINER_STRUCT,        MPI_COMBINER_SUBARRAY};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (known[i] == contents->envelope.combiner)
      return true;
  return contents->envelope.combiner == MPI_COMBINER_DARRAY && contents->integers[0] == 1;
}

static sf_status_t take_apart(MPI_Datatype datatype, sfmpi_layout_t *layout);

static sf_status_t add_blocks(const contents_t *contents, sfmpi_layout_t *layout)
{
  sfmpi_layout_t child = {.is_map = layout->is_map};
  sf_status_t status = SF_OK;
  block_t block;
  for (int i = 0; status == SF_OK && describe_block(contents, i, &block); i++) {
    if (i < contents->envelope.ndatatypes) { /* else the same datatype again */
      sfmpi_layout_free(&child);
      status = take_apart(contents->datatypes[i], &child);
    }
    if (status == SF_OK)
      status = repeat(layout, &child, block.in_extents ? block.at * child.extent : block.at, block.count);
  }
  sfmpi_layout_free(&child);
  return status;
}

/* The bytes of a predefined datatype. If there are fewer than its extent it is a pair of a value and an int. */
static sf_status_t add_bytes(MPI_Datatype datatype, sfmpi_layout_t *layout)
{
  int size;
  sf_status_t status = sfmpi_check(MPI_Type_size(datatype, &size), "MPI_Type_size");
  int first = size == layout->extent ? size : size - (int)sizeof(int);
  if (status == SF_OK && first > 0)
    status = append(layout, (sfmpi_run_t){0, NULL, first, 1});
  if (status == SF_OK && first > 0 && first < size) {
    int64_t second = (first + (int64_t)sizeof(int) - 1) / (int64_t)sizeof(int) * (int64_t)sizeof(int);
    status = append(layout, (sfmpi_run_t){second, NULL, size - first, 1});
  }
  return status;
}

static sf_status_t add_predefined(MPI_Datatype datatype, sfmpi_layout_t *layout)
{
  if (layout->is_map)
    return add_bytes(datatype, layout);
  const sf_type_t *unit = sfmpi_predefined_unit(datatype);
  int64_t size = unit != NULL ? (int64_t)sf_type_size(unit) : layout->extent;
  int64_t align = size & -size;
  if (unit == NULL && size <= 0)
    return sfshm_error(SF_ERR_UNSUPPORTED, "sf_mpi_type: a predefined datatype without values");
  if (unit == SF_FLOAT_COMPLEX || unit == SF_DOUBLE_COMPLEX || unit == SF_INT16_INT32 || unit == SF_INT32_INT32 ||
      unit == SF_INT64_INT32 || unit == SF_FLOAT_INT32 || unit == SF_DOUBLE_INT32)
    align /= 2; /* two parts */
  return append(layout, (sfmpi_run_t){0, unit, unit != NULL ? 1 : size, align < MAX_ALIGN ? align : MAX_ALIGN});
}

static sf_status_t take_apart(MPI_Datatype datatype, sfmpi_layout_t *layout)
{
  contents_t contents;
  MPI_Aint lower, extent;
  *layout = (sfmpi_layout_t){.is_map = layout->is_map};
  sf_status_t status = sfmpi_check(MPI_Type_get_extent(datatype, &lower, &extent), "sf_mpi_type: MPI_Type_get_extent");
  if (status != SF_OK)
    return status;
  layout->extent = extent;
  status = get_contents(datatype, &contents);
  if (status == SF_OK && contents.envelope.combiner == MPI_COMBINER_NAMED)
    status = add_predefined(datatype, layout);
  else if (status == SF_OK && is_known(&contents))
    status = add_blocks(&contents, layout);
  else if (status == SF_OK)
    status = sfshm_error(SF_ERR_UNSUPPORTED, "sf_mpi_type: the datatype is, or contains, %s",
                         contents.envelope.combiner == MPI_COMBINER_DARRAY ? "a part of a distributed array"
                                                                           : "of an unknown kind");
  free_contents(&contents);
  arrange(layout);
  return status;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static sf_status_t make(MPI_Datatype datatype, bool is_map, sfmpi_layout_t *layout_p)
{
  sfmpi_layout_t layout = {.is_map = is_map};
  sf_status_t status = take_apart(datatype, &layout);
  if (status == SF_OK)
    *layout_p = layout;
  else
    sfmpi_layout_free(&layout);
  return status;
}

sf_status_t sfmpi_layout_make(MPI_Datatype datatype, sfmpi_layout_t *layout_p)
{
  return make(datatype, false, layout_p);
}

sf_status_t sfmpi_layout_make_map(MPI_Datatype datatype, sfmpi_layout_t *layout_p)
{
  return make(datatype, true, layout_p);
}

void sfmpi_layout_free(sfmpi_layout_t *layout)
{
  free(layout->runs);
  *layout = (sfmpi_layout_t){.is_map = layout->is_map};
}

static sf_status_t refuse_gap(int64_t from, int64_t to, int64_t extent)
{
  if (from > to)
    return sfshm_error(SF_ERR_UNSUPPORTED,
                       "sf_mpi_type: byte %lld of the datatype is in it more than once, or outside "
                       "of its bounds",
                       (long long)to);
  return sfshm_error(SF_ERR_UNSUPPORTED,
                     "sf_mpi_type: bytes %lld to %lld of each %lld are not part of the datatype: a unit has no gaps, "
                     "but for those that C leaves in a struct",
                     (long long)from, (long long)to - 1, (long long)extent);
}

sf_status_t sfmpi_layout_join(const sfmpi_layout_t *layout, sfmpi_run_t *run_p)
{
  int64_t end = 0, align = 1;
  bool same = layout->n > 0;
  for (int64_t i = 0; i < layout->n; i++) {
    const sfmpi_run_t *run = &layout->runs[i];
    align = run->align > align ? run->align : align;
    if (run->offset < end || run->offset - end >= (i == 0 ? 1 : run->align))
      return refuse_gap(end, run->offset, layout->extent);
    same = same && run->base == layout->runs[0].base && run->offset == end;
    end = run_end(run);
  }
  if (layout->n == 0 || end > layout->extent || layout->extent - end >= align)
    return refuse_gap(end, layout->extent, layout->extent);
  if (same && end == layout->extent)
    *run_p = (sfmpi_run_t){0, layout->runs[0].base, end / value_bytes(&layout->runs[0]), align};
  else
    *run_p = (sfmpi_run_t){0, NULL, layout->extent, align};
  return SF_OK;
}
