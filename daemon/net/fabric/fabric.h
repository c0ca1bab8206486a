/* A fabric carries bytes between the daemons of a cluster: one ordered, reliable stream in each direction between every
 * two of them. What the bytes mean is the business of the channels (daemon/net/channel.h), which are the only user.
 *
 *   loop   daemons in one process, stepped by hand: for tests
 *   tcp    peers from a list: for daemons that systemd or sfrun starts
 *   mpi    the daemons are an MPI job of their own
 *
 * Nodes are numbered 0..nnodes-1, the same on all daemons. Every function and every event is called on the loop's
 * thread; events are never called from within a function of the fabric, but functions are called from within events:
 * after an event the stream that it was about may be gone. Buffers given to send are only read and must stay until the
 * event sent. At most one send and one connect per node is under way at a time.
 *
 * Some fabrics take memory of devices (takes_devices): pieces of it are sent and received without the host's touching
 * them. Each is longer than SFD_FABRIC_DEVICE_ABOVE, and the fabric has been told of the memory before. */
#ifndef SFD_NET_FABRIC_FABRIC_H
#define SFD_NET_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include <sf/sf_status.h>

#define SFD_FABRIC_DEVICE_ABOVE ((size_t)64 << 10)

typedef struct sfd_fabric sfd_fabric_t;

/* Memory of a device, the user's. */
typedef struct sfd_fabric_memory {
  LIST_ENTRY(sfd_fabric_memory) entry; /* the fabric's */
  const void *base;
  size_t length_bytes;
  int32_t device;
  sf_status_t (*enter)(const void *base); /* makes its context that of the calling thread */
} sfd_fabric_memory_t;

/* What is known of the stream to a node, beyond what the user counts: by the kernel, as a rule. */
typedef struct sfd_fabric_link {
  uint64_t send_queue_bytes; /* that the fabric has taken and the node has not acknowledged */
  uint64_t rtt_us;           /* round-trip time, smoothed */
  uint64_t retransmits;      /* packets that were sent again, since the stream was made */
  uint64_t busy_us;          /* time in which something was in the send queue, likewise */
} sfd_fabric_link_t;

/* What a fabric tells its user; owner is the user's. */
typedef struct sfd_fabric_events {
  /* The stream to and from the node is there: because connect was called here, or there. */
  void (*up)(void *owner, int32_t node);

  /* The stream has ended, or could not be made; detail says why and names the node. What was not yet reported as sent
   * is lost, its buffers are free again. Connecting anew is possible: it makes a new stream. */
  void (*down)(void *owner, int32_t node, sf_status_t status, const char *detail);

  /* The node is gone, or the way to it; down follows. Only where that can take long, because something still uses what
   * was to be sent or received. May be NULL. */
  void (*failing)(void *owner, int32_t node, const char *detail);

  /* Whoever says to be the node was refused here, and perhaps refuses this one, too: their keys or lists of peers
   * differ, for instance. Nothing of it is proven. cause is what the other one needs this node for, see below; detail
   * names both. May be NULL. */
  void (*refused)(void *owner, int32_t node, uint64_t cause, const char *detail);

  /* What a connection to the node is needed for, in a number that tells the other side's user; 0: nothing special. May
   * be NULL. */
  uint64_t (*cause)(void *owner, int32_t node);

  /* The send under way to the node is over: its buffers can be reused. Says nothing of its arrival. */
  void (*sent)(void *owner, int32_t node);

  /* Where the next bytes from the node are to be written, and how many of them at most (> 0). The fabric fills the
   * memory with no more than that and calls got; it may ask again without having used the answer. A NULL buffer: the
   * user refuses the stream and has called, or will call, disconnect; the fabric stops reading. Into memory of a device
   * go only pieces that were sent as that; what else comes there ends the stream with SF_ERR_PROTO. */
  size_t (*want)(void *owner, int32_t node, void **buffer_p);

  /* So many bytes have been written where want last said. */
  void (*got)(void *owner, int32_t node, size_t nbytes);

  /* So many bytes will still come from the node before the user can do anything with them: the fabric may let them
   * gather, as long as it calls got when they are all here. 0: not known. May be NULL. */
  size_t (*due)(void *owner, int32_t node);

  /* close has come to its end: the fabric calls nothing any more and can be destroyed. */
  void (*closed)(void *owner);
} sfd_fabric_events_t;

/* A fabric's functions. Every fabric embeds struct sfd_fabric as its first member. */
typedef struct sfd_fabric_functions {
  const char *name;

  /* Begins to make the stream to a node; up or down follows. Connecting to a node with which there is a stream already,
   * or to this node itself, is the caller's error. */
  void (*connect)(sfd_fabric_t *fabric, int32_t node);

  /* Sends the pieces, in order, as part of the stream. The array iov is copied, the memory it points to is not. */
  void (*send)(sfd_fabric_t *fabric, int32_t node, const struct iovec iov[], int niov);

  /* Ends the stream to a node at once, or gives up making it; no event of it follows, and a send under way is over. It
   * may be connected to anew right away. */
  void (*disconnect)(sfd_fabric_t *fabric, int32_t node);

  /* Ends everything; closed follows. */
  void (*close)(sfd_fabric_t *fabric);

  /* Frees a closed fabric. */
  void (*destroy)(sfd_fabric_t *fabric);

  /* Text about a node for people: "node 2 (tcp 10.0.0.3:7411)". */
  void (*describe)(const sfd_fabric_t *fabric, int32_t node, char *text, size_t text_size);

  /* Looks at the stream to a node; false: there is none, or nothing is known. NULL: the fabric knows nothing. */
  bool (*link)(const sfd_fabric_t *fabric, int32_t node, sfd_fabric_link_t *link_p);

  /* There is memory of a device; and it is gone, with nothing under way from it or to it. NULL: no fabric of this kind
   * takes any. */
  void (*add_memory)(sfd_fabric_t *fabric, sfd_fabric_memory_t *memory);
  void (*remove_memory)(sfd_fabric_t *fabric, sfd_fabric_memory_t *memory);
} sfd_fabric_functions_t;

struct sfd_fabric {
  const sfd_fabric_functions_t *functions;
  const sfd_fabric_events_t *events; /* set by the user before anything else is called */
  void *owner;
  int32_t node; /* this daemon's number */
  int32_t nnodes;
  bool takes_devices; /* known when it has been made */
};

#endif
