/* The fabric between daemons of one process. A hub joins the fabrics of all nodes; nothing moves and no
 * event is called but in sftest_fabric_step. What goes wrong between daemons is arranged by the functions below.
 *
 * A stream is a pipe of SFTEST_FABRIC_PIPE bytes in each direction: a send is over when the last of its bytes is in the
 * pipe, and so before they arrive. What is in a pipe when the stream ends is lost. */
#ifndef SFTEST_FABRIC_H
#define SFTEST_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/net/fabric/fabric.h"

#define SFTEST_FABRIC_PIPE (256u << 10)
#define SFTEST_FABRIC_DELAY_MAX 63u

typedef struct sftest_fabric_hub sftest_fabric_hub_t;

/* NULL without memory. The hub is destroyed after its fabrics; those whose closing never ended go with it. */
sftest_fabric_hub_t *sftest_fabric_hub_create(int32_t nnodes);
void sftest_fabric_hub_destroy(sftest_fabric_hub_t *hub); /* NULL is accepted */

/* A node's fabric. Nodes whose fabric has no user yet refuse all streams. */
sfd_fabric_t *sftest_fabric_of(sftest_fabric_hub_t *hub, int32_t node);

/* Lets everything move that can, once, and calls the events. Says whether anything has happened or time has to pass for
 * it. Not from within an event. */
bool sftest_fabric_step(sftest_fabric_hub_t *hub);

/* Whether a step would do anything. For those who step from an event loop: while it is so, the loop must not sleep. */
bool sftest_fabric_pending(const sftest_fabric_hub_t *hub);

/* Steps until nothing is pending, or until max_steps; returns the number of steps. */
unsigned sftest_fabric_run(sftest_fabric_hub_t *hub, unsigned max_steps);

/* Bytes arrive so many steps after they were sent, at most SFTEST_FABRIC_DELAY_MAX. At first 0: in the step that sends.
 */
void sftest_fabric_set_delay(sftest_fabric_hub_t *hub, unsigned steps);

/* Bytes are taken from senders, and handed to receivers, in chunks of random sizes, often tiny. Seed 0: all at once, as
 * at first. */
void sftest_fabric_set_chunks(sftest_fabric_hub_t *hub, uint64_t seed);

/* A held send does not get on. */
void sftest_fabric_hold(sftest_fabric_hub_t *hub, int32_t from, int32_t to, bool hold);

/* A refused pair can make no stream. */
void sftest_fabric_refuse(sftest_fabric_hub_t *hub, int32_t a, int32_t b, bool refuse);

/* The stream between two nodes ends, for both of them. Returns whether there was one. */
bool sftest_fabric_cut(sftest_fabric_hub_t *hub, int32_t a, int32_t b);

/* A node dies: the others lose their streams to it and can make none; itself hears of nothing, except that its fabric
 * can still be closed. */
void sftest_fabric_kill(sftest_fabric_hub_t *hub, int32_t node);

#endif
