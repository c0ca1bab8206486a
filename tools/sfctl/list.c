/* A growing array of messages. The one thread of sfctl. */
#include "tools/sfctl/list.h"

#include <stdlib.h>

#include "shm/error.h"

sf_status_t sfctl_list_add(sfctl_list_t *list, Sfproto__Message *message, sfctl_item_t **item_p)
{
  if (list->count == list->capacity) {
    size_t capacity = list->capacity > 0 ? 2 * list->capacity : 16;
    sfctl_item_t *items = reallocarray(list->items, capacity, sizeof *items);
    if (items == NULL)
      return sfshm_error(SF_ERR_NOMEM, "no memory for an answer of %zu messages", list->count + 1);
    list->items = items;
    list->capacity = capacity;
  }
  sfctl_item_t *item = &list->items[list->count++];
  *item = (sfctl_item_t){.message = message};
  *item_p = item;
  return SF_OK;
}

void sfctl_list_clear(sfctl_list_t *list)
{
  for (size_t i = 0; i < list->count; i++)
    sfproto__message__free_unpacked(list->items[i].message, NULL);
  free(list->items);
  *list = (sfctl_list_t){0};
}
