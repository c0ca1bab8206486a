/* Fabric: one ordered, reliable stream of bytes in each direction between every two daemons of a cluster. The only
 * users are the channels (daemon/net/channel.h).
 *
 *   tcp    peers from a list: for daemons started by systemd or sfrun
 *   mpi    the daemons are an MPI job of their own
 *
 * Nodes are numbered 0..nnodes-1, the same on all daemons. All functions and events are called on the loop's thread.
 * Events are never called from within a function of the fabric, but functions may be called from events, after which
 * the stream may be gone. Buffers of send are only read, and must stay until the event sent. Per node, at most one send
 * and one connect are under way. */
#ifndef SFD_NET_FABRIC_FABRIC_H
#define SFD_NET_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <sf/sf_status.h>

typedef struct sfd_fabric sfd_fabric_t;

/* State of the stream to a node, mostly from the kernel. */
typedef struct sfd_fabric_link {
  uint64_t send_queue_bytes; /* taken by the fabric, and not acknowledged by the node */
  uint64_t rtt_us;           /* smoothed round-trip time */
  uint64_t retransmits;      /* packets, since the stream was made */
  uint64_t busy_us;          /* time with a non-empty send queue, likewise */
} sfd_fabric_link_t;

/* Events of a fabric; owner is the user's. */
typedef struct sfd_fabric_events {
  /* The stream to and from the node exists; either node connected. */
  void (*up)(void *owner, int32_t node);

  /* The stream has ended, or could not be made; detail has the reason and names the node. Unsent data is lost, its
   * buffers are free. Connecting again makes a new stream. */
  void (*down)(void *owner, int32_t node, sf_status_t status, const char *detail);

  /* The node or the way to it is gone, and down follows; only if that can take long, as data is still in use. May be
   * NULL. */
  void (*failing)(void *owner, int32_t node, const char *detail);

  /* A peer that claims to be the node was refused here, and may refuse this one: keys or lists of peers differ, for
   * instance. Nothing of it is proven. node is this node if the peer's number means nothing, as its list is another
   * one. cause: for what the peer connects, see below; detail names both, or is NULL if it is told apart. May be NULL.
   */
  void (*refused)(void *owner, int32_t node, uint64_t cause, const char *detail);

  /* The system denies this process connections of other nodes, now and later; detail says how. May be NULL. */
  void (*denied)(void *owner, const char *detail);

  /* For what this node connects, as a number for the other user; 0: nothing special. May be NULL. */
  uint64_t (*cause)(void *owner, int32_t node);

  /* The send to the node is over: its buffers are free. It may not have arrived. */
  void (*sent)(void *owner, int32_t node);

  /* Memory for the next bytes of the node, and the maximum (> 0). The fabric writes at most that much, and calls got;
   * it may ask again without writing. NULL buffer: the user has called, or will call, disconnect; the fabric stops
   * reading. */
  size_t (*want)(void *owner, int32_t node, void **buffer_p);

  /* So many bytes have been written to the last memory of want. */
  void (*got)(void *owner, int32_t node, size_t nbytes);

  /* How many more bytes the user needs before it can do anything: the fabric may gather them, and must call got when
   * all are here. 0: not known. May be NULL. */
  size_t (*due)(void *owner, int32_t node);

  /* close has ended: no more events, and the fabric can be destroyed. */
  void (*closed)(void *owner);
} sfd_fabric_events_t;

/* Functions of a fabric, which embeds struct sfd_fabric as its first member. */
typedef struct sfd_fabric_functions {
  const char *name;

  /* Begins to make the stream to a node; up or down follows. Not allowed with an existing stream, or to this node. */
  void (*connect)(sfd_fabric_t *fabric, int32_t node);

  /* Sends the pieces in order. iov is copied, its memory is not. */
  void (*send)(sfd_fabric_t *fabric, int32_t node, const struct iovec iov[], int niov);

  /* Ends the stream, or the attempt to make it, at once, without an event; a send is over. Connecting again is allowed
   * at once. */
  void (*disconnect)(sfd_fabric_t *fabric, int32_t node);

  /* Ends all streams; closed follows. */
  void (*close)(sfd_fabric_t *fabric);

  void (*destroy)(sfd_fabric_t *fabric);

  /* Text about a node: "node 2 (tcp 10.0.0.3:7411)". */
  void (*describe)(const sfd_fabric_t *fabric, int32_t node, char *text, size_t text_size);

  /* State of the stream to a node; false: not known. NULL: never known. */
  bool (*link)(const sfd_fabric_t *fabric, int32_t node, sfd_fabric_link_t *link_p);
} sfd_fabric_functions_t;

struct sfd_fabric {
  const sfd_fabric_functions_t *functions;
  const sfd_fabric_events_t *events; /* set by the user first */
  void *owner;
  int32_t node; /* number of this daemon */
  int32_t nnodes;
};

#endif
