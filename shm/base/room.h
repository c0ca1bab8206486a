/* Room in arrays that grow. Any thread, each array one at a time. */
#ifndef SFSHM_ROOM_H
#define SFSHM_ROOM_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for needed items in an array from malloc, which has it for *capacity: twice as much, as a rule, so that a
 * few of many calls move it. array_p: where the pointer to its items is. False: there is no memory, and all is as it
 * was. */
bool sfshm_make_room(void *array_p, size_t *capacity, size_t needed, size_t item_bytes)
    __attribute__((warn_unused_result));

#endif
