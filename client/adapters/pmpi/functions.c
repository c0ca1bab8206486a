/* Finds the next definitions of MPI's functions: see functions.h. The thread that loads the library. */
#include "client/adapters/pmpi/functions.h"

#include <dlfcn.h>
#include <string.h>

/* MPI's own, until the loader has been asked. */
sfpmpi_functions_t sfpmpi_next = {
#define SFPMPI_MEMBER(name) .name = PMPI_##name,
    SFPMPI_FUNCTIONS(SFPMPI_MEMBER)
#undef SFPMPI_MEMBER
#define SFPMPI_MEMBER(name) .name = SFPMPI_PERSISTENT_P(name),
        SFPMPI_PERSISTENT_FUNCTIONS(SFPMPI_MEMBER)
#undef SFPMPI_MEMBER
};

/* Writes the next definition to *function, of which pointers to objects have the size. */
static void find(const char *name, void *function)
{
  void *next = dlsym(RTLD_NEXT, name);
  if (next != NULL)
    memcpy(function, &next, sizeof next);
}

__attribute__((constructor)) static void find_all(void)
{
#define SFPMPI_FIND(name) find("MPI_" #name, &sfpmpi_next.name);
  SFPMPI_FUNCTIONS(SFPMPI_FIND)
#undef SFPMPI_FIND
#define SFPMPI_FIND(name) find(SFPMPI_PERSISTENT_NAME(name), &sfpmpi_next.name);
  SFPMPI_PERSISTENT_FUNCTIONS(SFPMPI_FIND)
#undef SFPMPI_FIND
}
