/* Finding things by number: search trees (tsearch) of structs that begin with their key, a uint64_t. */
#ifndef SFD_BASE_ID_MAP_H
#define SFD_BASE_ID_MAP_H

#include <stdbool.h>
#include <stdint.h>

/* The struct with that key, or NULL. */
void *sfd_id_map_find(void *root, uint64_t key);

/* Whether there was memory for it; the key must be new. */
bool sfd_id_map_insert(void **root, void *object);
void sfd_id_map_remove(void **root, void *object);

#endif
