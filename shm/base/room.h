/* Growing arrays. Any thread; one thread at a time per array. */
#ifndef SFSHM_BASE_ROOM_H
#define SFSHM_BASE_ROOM_H

#include <stdbool.h>
#include <stddef.h>

/* Grows an array from malloc to at least needed items of item_bytes bytes. array_p points to the pointer to the items.
 * The capacity is usually doubled, so that few of many calls move the array. Returns false without memory; the array is
 * then unchanged. */
bool sfshm_make_room(void *array_p, size_t *capacity, size_t needed, size_t item_bytes)
    __attribute__((warn_unused_result));

#endif
