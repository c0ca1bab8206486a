/* Where libraries are that are loaded at run time: the mpi fabric, memory of CUDA devices. Any thread. */
#ifndef SFSHM_PLUGIN_H
#define SFSHM_PLUGIN_H

#include <limits.h>
#include <stdbool.h>

/* The first of these that is there: beside the library or program that holds the symbol; beside the program that is
 * running; in lib/sfd, then in lib, beside the directory of either. False: none, and the path is the name by itself,
 * for the dynamic linker to look for. */
bool sfshm_plugin_find(const char *name, const void *symbol, char path[PATH_MAX]);

#endif
