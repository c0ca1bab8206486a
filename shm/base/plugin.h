/* Search for plugins: libraries loaded at run time (the mpi fabric, CUDA device memory). Any thread. */
#ifndef SFSHM_BASE_PLUGIN_H
#define SFSHM_BASE_PLUGIN_H

#include <limits.h>
#include <stdbool.h>

/* Finds a library by its file name. Searches the directory of the library or program that contains the symbol, then the
 * directory of the running program. From each of them it tries the directory itself, ../lib/sfd, ../lib, and ../sfd:
 * the last one is for installations with libraries in lib/TRIPLET. Writes the path. If no file is found, returns false
 * and writes the name alone, for the dynamic linker to search. */
bool sfshm_plugin_find(const char *name, const void *symbol, char path[PATH_MAX]);

#endif
