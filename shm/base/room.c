/* Growing arrays: see room.h. Any thread. */
#include "shm/base/room.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16

bool sfshm_make_room(void *array_p, size_t *capacity, size_t needed, size_t item_bytes)
{
  void *array; /* copied: the pointer may have any type, and must not be read as another type */
  size_t larger = *capacity > 0 ? 2 * *capacity : FIRST_CAPACITY;
  if (needed <= *capacity)
    return true;
  larger = larger > needed ? larger : needed;
  memcpy(&array, array_p, sizeof array);
  array = reallocarray(array, larger, item_bytes);
  if (array == NULL)
    return false;
  memcpy(array_p, &array, sizeof array);
  *capacity = larger;
  return true;
}
