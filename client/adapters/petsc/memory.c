/* Allocations: see memory.h. Any thread. */
#include "client/adapters/petsc/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/adapters/petsc/job.h"

typedef PetscErrorCode malloc_fn_t(size_t, PetscBool, int, const char[], const char[], void **);
typedef PetscErrorCode free_fn_t(void *, int, const char[], const char[]);
typedef PetscErrorCode realloc_fn_t(size_t, int, const char[], const char[], void **);

/* Hash table of PETSc's sf_alloc blocks by address, open addressing, at most half full. */
typedef struct block {
  void *address; /* NULL: never used */
  size_t bytes;  /* 0: no longer used */
} block_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block_t *blocks;
static size_t nused, nlive, mask; /* entries with an address, entries in use, size of the table - 1 */
static size_t least;
static malloc_fn_t *other_malloc; /* other allocations */
static free_fn_t *other_free;
static realloc_fn_t *other_realloc;

/* Alignment of sf_alloc: other addresses are not its. */
#define ALIGNMENT 128

/* ---- The table --------------------------------------------------------------------------------------------------- */

static size_t place_of(const void *address)
{
  uint64_t x = (uint64_t)(uintptr_t)address / ALIGNMENT * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(x >> 20) & mask;
}

static block_t *find(const void *address)
{
  if (blocks == NULL || (uintptr_t)address % ALIGNMENT != 0)
    return NULL;
  for (size_t i = place_of(address); blocks[i].address != NULL; i = (i + 1) & mask)
    if (blocks[i].address == address && blocks[i].bytes != 0)
      return &blocks[i];
  return NULL;
}

static void put(void *address, size_t bytes)
{
  size_t i = place_of(address);
  while (blocks[i].address != NULL && blocks[i].address != address)
    i = (i + 1) & mask;
  nused += blocks[i].address == NULL;
  blocks[i] = (block_t){address, bytes};
  nlive++;
}

/* Makes room for another block; drops freed entries. */
static bool make_room(void)
{
  if (blocks != NULL && 2 * (nused + 1) <= mask + 1)
    return true;
  block_t *old = blocks;
  size_t count = old == NULL ? 0 : mask + 1, size = 64;
  while (size < 4 * (nlive + 1))
    size *= 2;
  block_t *table = calloc(size, sizeof *table);
  if (table == NULL)
    return false;
  blocks = table;
  mask = size - 1;
  nused = nlive = 0;
  for (size_t i = 0; i < count; i++)
    if (old[i].bytes != 0)
      put(old[i].address, old[i].bytes);
  free(old);
  return true;
}

/* ---- Allocation -------------------------------------------------------------------------------------------------- */

/* Allocates zeroed memory; NULL: use PETSc's allocator. */
static void *allocate(size_t bytes)
{
  void *address = NULL;
  sf_context_t *context = sfpetsc_job_context();
  if (bytes < least || context == NULL)
    return NULL;
  pthread_mutex_lock(&lock);
  if (make_room() && sf_alloc(context, bytes, &address) == SF_OK)
    put(address, bytes);
  pthread_mutex_unlock(&lock);
  return address;
}

/* Bytes of the block; 0: not a block of sf_alloc. */
static size_t bytes_of(const void *address)
{
  pthread_mutex_lock(&lock);
  const block_t *block = find(address);
  size_t bytes = block == NULL ? 0 : block->bytes;
  pthread_mutex_unlock(&lock);
  return bytes;
}

/* Frees a block; false: not a block of sf_alloc. sf_finalize has freed the memory if the job has been left. */
static bool release(void *address)
{
  pthread_mutex_lock(&lock);
  block_t *block = find(address);
  if (block != NULL) {
    block->bytes = 0;
    nlive--;
    if (sfpetsc_job_context() != NULL)
      (void)sf_free(sfpetsc_job_context(), address);
  }
  pthread_mutex_unlock(&lock);
  return block != NULL;
}

static PetscErrorCode do_malloc(size_t bytes, PetscBool clear, int line, const char function[], const char file[],
                                void **address_p)
{
  void *address = allocate(bytes);
  if (address == NULL)
    return other_malloc(bytes, clear, line, function, file, address_p);
  *address_p = address;
  return PETSC_SUCCESS;
}

static PetscErrorCode do_free(void *address, int line, const char function[], const char file[])
{
  return release(address) ? PETSC_SUCCESS : other_free(address, line, function, file);
}

static PetscErrorCode do_realloc(size_t bytes, int line, const char function[], const char file[], void **address_p)
{
  void *before = *address_p, *address = NULL;
  size_t had = before == NULL ? 0 : bytes_of(before);
  if (had == 0)
    return other_realloc(bytes, line, function, file, address_p);
  if (bytes > 0) {
    PetscErrorCode error = do_malloc(bytes, PETSC_FALSE, line, function, file, &address);
    if (error != PETSC_SUCCESS)
      return error;
    memcpy(address, before, had < bytes ? had : bytes);
  }
  release(before);
  *address_p = address;
  return PETSC_SUCCESS;
}

PetscErrorCode sfpetsc_memory_use(size_t least_bytes)
{
  PetscBool debug;
  PetscFunctionBegin;
  PetscCall(PetscMallocGetDebug(&debug, NULL, NULL));
  PetscCheck(!debug, PETSC_COMM_SELF, PETSC_ERR_SUP, "-sfd_malloc: -malloc_debug excludes it");
  other_malloc = PetscTrMalloc;
  other_free = PetscTrFree;
  other_realloc = PetscTrRealloc;
  least = least_bytes;
  PetscCall(PetscMallocSet(do_malloc, do_free, do_realloc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
