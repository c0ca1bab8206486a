/* Operations on arrays, as sfctl arrays and sfctl metrics show them. */
#ifndef SFREPORT_ARRAYS_H
#define SFREPORT_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/sf_control.pb-c.h"

#define SFREPORT_ARRAY_WAYS 3
#define SFREPORT_ARRAY_ACCESSES 4

/* own, node, daemon; put, get, acc, atomic */
extern const char *const sfreport_array_ways[SFREPORT_ARRAY_WAYS];
extern const char *const sfreport_array_accesses[SFREPORT_ARRAY_ACCESSES];

/* A number of ArrayInfo, 0 if the daemon has not told it. counts: operations or bytes. */
static inline uint64_t sfreport_array_count(const uint64_t counts[], size_t n, int way, int access)
{
  size_t at = (size_t)(way * SFREPORT_ARRAY_ACCESSES + access);
  return at < n ? counts[at] : 0;
}

/* "4096 x 4096", "2 x 4", "even x cyclic x by 32 x irregular" */
#define SFREPORT_ARRAY_TEXT_SIZE 96
const char *sfreport_array_shape(const Sfproto__ArrayInfo *info, char text[SFREPORT_ARRAY_TEXT_SIZE]);
const char *sfreport_array_grid(const Sfproto__ArrayInfo *info, char text[SFREPORT_ARRAY_TEXT_SIZE]);
const char *sfreport_array_blocks(const Sfproto__ArrayInfo *info, char text[SFREPORT_ARRAY_TEXT_SIZE]);

#endif
