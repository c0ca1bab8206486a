/* Map by id: search trees (tsearch) of structs that begin with their key, a uint64_t. No state of its own. */
#ifndef SFD_BASE_ID_MAP_H
#define SFD_BASE_ID_MAP_H

#include <stdbool.h>
#include <stdint.h>

/* NULL: not found. */
void *sfd_id_map_find(void *root, uint64_t key);

/* False: no memory. The key must be new. */
bool sfd_id_map_insert(void **root, void *object);
void sfd_id_map_remove(void **root, void *object);

#endif
