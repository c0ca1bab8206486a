/* Slots on a device for what a graph sends to other nodes and gets from there, as this rank has them open. They are the
 * daemon's, whose MPI sends from them and receives into them: daemon/data/device_slots.h says who has part in making
 * them, and when. Which of a side's messages are there all ranks of the node and the daemon know (shm/trunk/trunk.h).
 * The thread that uses the graph. */
#ifndef SFC_SETUP_TRUNK_DEVICE_SLOTS_H
#define SFC_SETUP_TRUNK_DEVICE_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sf/sf.h>

#include "client/graph.h"

/* What a rank says of itself. */
typedef struct sfc_trunk_ask {
  size_t unit_bytes;
  int32_t device;     /* -1: no data on any */
  bool roots, leaves; /* are on it */
  bool sees_adapters;
  bool streams;
} sfc_trunk_ask_t;

/* Whether the environment keeps this rank from using them: SF_DEVICE_MPI or SF_DEVICE_SHARE is off. */
bool sfc_trunk_slots_are_off(void);

/* The three steps. What fails concerns slots only: then all of the node do without, as this rank does. open: for
 * kernels of that device. */
sf_status_t sfc_trunk_slots_ask(sf_graph_t *graph, const sfc_trunk_ask_t *ask);
sf_status_t sfc_trunk_slots_open(sf_graph_t *graph, int32_t device, sfc_trunk_slots_t *slots);
sf_status_t sfc_trunk_slots_tell_open(sf_graph_t *graph);

/* Closes them if they are open, and says so, or that they were not opened. */
void sfc_trunk_slots_do_without(sf_graph_t *graph);

/* When nothing is under way here. The graph is still there for the daemon, or the daemon is not. */
void sfc_trunk_slots_close(sfc_trunk_slots_t *slots);

/* The slot of a message of so many values, sent or received (SFSHM_SLOTS_SEND or _RECEIVE), on a side; NULL: it has
 * none on the device. */
static inline char *sfc_trunk_slots_at(const sfc_trunk_slots_t *slots, uint32_t side, uint8_t where, int64_t values,
                                       size_t unit_bytes, uint64_t message)
{
  if (slots->base == NULL || (slots->where[side] & where) == 0 ||
      !sfshm_slots_take(values, unit_bytes, slots->class_bytes))
    return NULL;
  const sfshm_side_slots_t *at = &slots->slots[side];
  return slots->base + (where == SFSHM_SLOTS_SEND ? sfshm_send_slot(at, message) : sfshm_receive_slot(at, message));
}

#endif
