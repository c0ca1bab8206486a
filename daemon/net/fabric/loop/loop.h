/* The fabric between daemons of one process: for tests. A hub joins the fabrics of all nodes; nothing moves and no
 * event is called but in sfd_loop_step. What goes wrong between daemons is arranged by the functions below.
 *
 * A stream is a pipe of SFD_LOOP_PIPE bytes in each direction: a send is over when the last of its bytes is in the
 * pipe, and so before they arrive. What is in a pipe when the stream ends is lost. */
#ifndef SFD_FABRIC_LOOP_H
#define SFD_FABRIC_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/net/fabric/fabric.h"

#define SFD_LOOP_PIPE (256u << 10)
#define SFD_LOOP_DELAY_MAX 63u

typedef struct sfd_loop_hub sfd_loop_hub_t;

/* NULL without memory. The hub is destroyed after its fabrics; those whose closing never ended go with it. */
sfd_loop_hub_t *sfd_loop_hub_create(int32_t nnodes);
void sfd_loop_hub_destroy(sfd_loop_hub_t *hub); /* NULL is accepted */

/* A node's fabric. Nodes whose fabric has no user yet refuse all streams. */
sfd_fabric_t *sfd_loop_fabric(sfd_loop_hub_t *hub, int32_t node);

/* Has the fabrics take memory of devices, which copy moves from and to memory of the host. Before anything is sent. */
void sfd_loop_take_devices(sfd_loop_hub_t *hub, void (*copy)(void *to, const void *from, size_t nbytes));

/* Lets everything move that can, once, and calls the events. Says whether anything has happened or time has to pass for
 * it. Not from within an event. */
bool sfd_loop_step(sfd_loop_hub_t *hub);

/* Whether a step would do anything. For those who step from an event loop: while it is so, the loop must not sleep. */
bool sfd_loop_pending(const sfd_loop_hub_t *hub);

/* Steps until nothing is pending, or until max_steps; returns the number of steps. */
unsigned sfd_loop_run(sfd_loop_hub_t *hub, unsigned max_steps);

/* Bytes arrive so many steps after they were sent, at most SFD_LOOP_DELAY_MAX. At first 0: in the step that sends. */
void sfd_loop_set_delay(sfd_loop_hub_t *hub, unsigned steps);

/* Bytes are taken from senders, and handed to receivers, in chunks of random sizes, often tiny. Seed 0: all at once, as
 * at first. */
void sfd_loop_set_chunks(sfd_loop_hub_t *hub, uint64_t seed);

/* A held send does not get on. */
void sfd_loop_hold(sfd_loop_hub_t *hub, int32_t from, int32_t to, bool hold);

/* A refused pair can make no stream. */
void sfd_loop_refuse(sfd_loop_hub_t *hub, int32_t a, int32_t b, bool refuse);

/* The stream between two nodes ends, for both of them. */
void sfd_loop_cut(sfd_loop_hub_t *hub, int32_t a, int32_t b);

/* A node dies: the others lose their streams to it and can make none; itself hears of nothing, except that its fabric
 * can still be closed. */
void sfd_loop_kill(sfd_loop_hub_t *hub, int32_t node);

#endif
