/* Lists of messages: see list.h. One thread. */
#include "proto/report/list.h"

#include <stdlib.h>

#include "shm/base/error.h"
#include "shm/base/room.h"

sf_status_t sfreport_list_add(sfreport_list_t *list, Sfproto__Message *message, sfreport_item_t **item_p)
{
  if (!sfshm_make_room(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
    return sfshm_error(SF_ERR_NOMEM, "no memory for an answer of %zu messages", list->count + 1);
  sfreport_item_t *item = &list->items[list->count++];
  *item = (sfreport_item_t){.message = message};
  *item_p = item;
  return SF_OK;
}

void sfreport_list_clear(sfreport_list_t *list)
{
  for (size_t i = 0; i < list->count; i++)
    sfproto__message__free_unpacked(list->items[i].message, NULL);
  free(list->items);
  *list = (sfreport_list_t){0};
}

static int by_node(const void *a, const void *b)
{
  const sfreport_item_t *x = a, *y = b;
  int32_t nx = x->message->told_by, ny = y->message->told_by;
  if (nx != ny)
    return nx < ny ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

void sfreport_list_sort(sfreport_list_t *list)
{
  for (size_t i = 0; i < list->count; i++)
    list->items[i].place = i;
  if (list->count > 0)
    qsort(list->items, list->count, sizeof list->items[0], by_node);
}

void sfreport_list_drop_unnumbered(sfreport_list_t *graphs)
{
  size_t kept = 0;
  for (size_t i = 0; i < graphs->count; i++) {
    sfreport_item_t *item = &graphs->items[i];
    if (item->message->graph_info->graph != 0)
      graphs->items[kept++] = *item;
    else
      sfproto__message__free_unpacked(item->message, NULL);
  }
  graphs->count = kept;
}
