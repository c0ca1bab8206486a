/* Fortran programs. The Fortran library of MPI converts arguments and calls PMPI_X: Open MPI's does so in all
 * functions, MPICH's in functions of mpi_f08 without buffers. Therefore this file defines PMPI_X, too: calls that come
 * from the Fortran library go to MPI_X of this library, and all other calls to MPI's own PMPI_X. Any thread that may
 * call MPI. */
#include "client/adapters/pmpi/functions.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- The library with MPI's functions for Fortran ---------------------------------------------------------------- */

#if defined(OPEN_MPI)
#define FORTRAN_LIBRARY "/libmpi_mpifh.so"
#else
#define FORTRAN_LIBRARY "/libmpichfort.so"
#endif

/* Where its code is; both 0 while it isn't loaded. The end is written first. */
static _Atomic uintptr_t first, end;

static int look_at(struct dl_phdr_info *object, size_t size, void *unused)
{
  (void)size;
  (void)unused;
  if (object->dlpi_name == NULL || strstr(object->dlpi_name, FORTRAN_LIBRARY) == NULL)
    return 0;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
      continue;
    uintptr_t address = (uintptr_t)(object->dlpi_addr + part->p_vaddr);
    atomic_store_explicit(&end, address + (uintptr_t)part->p_memsz, memory_order_relaxed);
    atomic_store_explicit(&first, address, memory_order_release); /* read by is_fortran */
  }
  return 1;
}

static bool is_fortran(const void *caller)
{
  uintptr_t address = (uintptr_t)caller, least = atomic_load_explicit(&first, memory_order_acquire);
  return least != 0 && address >= least && address < atomic_load_explicit(&end, memory_order_relaxed);
}

/* Of rare calls, also by a library for Fortran that was loaded later than this one. */
static bool is_fortran_now(const void *caller)
{
  if (atomic_load_explicit(&first, memory_order_relaxed) == 0)
    (void)dl_iterate_phdr(look_at, NULL);
  return is_fortran(caller);
}

__attribute__((constructor)) static void find_library(void)
{
  (void)dl_iterate_phdr(look_at, NULL);
}

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

#define DEFINE(is_from_fortran, prefix, name, parameters, arguments)                                                   \
  SFPMPI_EXPORT int SFPMPI_SYMBOL_P(prefix, name) parameters                                                           \
  {                                                                                                                    \
    return (is_from_fortran(__builtin_return_address(0)) ? SFPMPI_SYMBOL(prefix, name) : sfpmpi_own.name)arguments;    \
  }
#define FORWARD_RARE(...) DEFINE(is_fortran_now, __VA_ARGS__)
#define FORWARD(...) DEFINE(is_fortran, __VA_ARGS__)
SFPMPI_RARE(FORWARD_RARE)
SFPMPI_FREQUENT(FORWARD)
