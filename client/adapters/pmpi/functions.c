/* Finds the next definitions of MPI's functions: see functions.h. The thread that loads the library. */
#include "client/adapters/pmpi/functions.h"

#include <dlfcn.h>
#include <string.h>

sfpmpi_functions_t sfpmpi_next, sfpmpi_own;

/* Writes the next definition of one of two names to *function, of which pointers to objects have the size. */
static void find(const char *name, const char *otherwise, void *function)
{
  void *next = dlsym(RTLD_NEXT, name);
  if (next == NULL)
    next = dlsym(RTLD_NEXT, otherwise);
  memcpy(function, &next, sizeof next);
}

__attribute__((constructor)) static void find_all(void)
{
#define SFPMPI_TEXT(symbol) SFPMPI_TEXT_OF(symbol)
#define SFPMPI_TEXT_OF(symbol) #symbol
#define SFPMPI_FIND(prefix, name, parameters, arguments)                                                               \
  find(SFPMPI_TEXT(SFPMPI_SYMBOL(prefix, name)), "P" SFPMPI_TEXT(SFPMPI_SYMBOL(prefix, name)), &sfpmpi_next.name);     \
  find("P" SFPMPI_TEXT(SFPMPI_SYMBOL(prefix, name)), "", &sfpmpi_own.name);
  SFPMPI_RARE(SFPMPI_FIND)
  SFPMPI_FREQUENT(SFPMPI_FIND)
}
