/* Peers: the other ranks of the node, with their mapped segments and wake words, and whether their private memory is
 * readable. Any thread. */
#ifndef SFC_CORE_PEER_H
#define SFC_CORE_PEER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/core/daemon_conn.h"
#include "shm/region/wait.h"

typedef struct sfc_mapped sfc_mapped_t;
typedef struct sfc_opened sfc_opened_t;
typedef struct sfc_revoked sfc_revoked_t;

typedef struct sfc_peer {
  int32_t rank; /* in the job */
  pid_t pid;
  uint64_t probe_address; /* word of known value, to test process_vm_readv */
  uint64_t probe_value;
  bool probed;
  bool can_read;
  sfshm_wake_t *wake; /* NULL until its inbox is mapped */
  sfc_mapped_t *segments;
  sfc_opened_t *devices; /* open device regions: see peer_device.c */
} sfc_peer_t;

/* The thread that closes revoked regions: see peer_device.c. */
typedef struct sfc_closing {
  pthread_mutex_t lock;
  sfc_revoked_t *revoked;
  pthread_t thread;
  bool is_started; /* the thread has to be joined */
  bool is_running; /* the thread looks for more */
} sfc_closing_t;

typedef struct sfc_peers {
  sfc_daemon_conn_t *control;
  sfc_closing_t closing;
  pthread_mutex_t lock;         /* protects all but devices */
  pthread_mutex_t devices_lock; /* separate, because a driver may be waited for with it held */
  sfc_peer_t *entries;          /* by rank; this rank included */
  int32_t n;
} sfc_peers_t;

/* Takes the ranks of this node from the Welcome. */
sf_status_t sfc_peers_init(sfc_peers_t *peers, sfc_daemon_conn_t *control, const Sfproto__Welcome *welcome);
void sfc_peers_destroy(sfc_peers_t *peers);

/* SF_ERR_NOT_FOUND for a rank that is not on this node. */
sf_status_t sfc_peers_find(sfc_peers_t *peers, int32_t rank, sfc_peer_t **peer_p);

/* Whether this process may read the peer's private memory. Tests once by reading a word of known value, which covers
 * pid namespaces and security modules. */
bool sfc_peer_can_read(sfc_peers_t *peers, sfc_peer_t *peer);

/* Returns base and length of a segment, mapped at first use with the daemon's help. Segment 0 is the inbox; mapping it
 * sets the wake word. */
sf_status_t sfc_peer_segment(sfc_peers_t *peers, sfc_peer_t *peer, uint64_t segment, void **base_p, size_t *length_p);

/* A segment that stays mapped even if its owner removes it. */
typedef struct sfc_pinned {
  sfc_mapped_t *mapped;
  void *base;
  size_t length_bytes;
} sfc_pinned_t;

/* As sfc_peer_segment, for sf_alloc memory: if the operation failed at the owner, the owner may free the memory while
 * it is read. */
sf_status_t sfc_peer_pin(sfc_peers_t *peers, sfc_peer_t *peer, uint64_t segment, sfc_pinned_t *pinned_p);
void sfc_peer_unpin(sfc_peers_t *peers, const sfc_pinned_t *pinned);

/* The same for a device region, opened at first use. reader: the device whose kernels access it, or SFSHM_DEVICE_ANY.
 * SF_ERR_UNSUPPORTED: this process or the device cannot. */
typedef struct sfc_pinned_device {
  sfc_opened_t *opened;
  void *base; /* of the region, for kernels of the device only */
  size_t length_bytes;
} sfc_pinned_device_t;

sf_status_t sfc_peer_pin_device(sfc_peers_t *peers, sfc_peer_t *peer, uint64_t region, int32_t reader,
                                sfc_pinned_device_t *pinned_p);
void sfc_peer_unpin_device(sfc_peers_t *peers, sfc_peer_t *peer, const sfc_pinned_device_t *pinned);

/* Closes a revoked region, on another thread, now or after its last pin; its owner waits for that. Closes all regions
 * at the end. */
void sfc_peers_revoke(sfc_peers_t *peers, int32_t rank, uint64_t region);
void sfc_peers_close_devices(sfc_peers_t *peers);

/* Waits until all revoked regions are closed. No open region may be revoked meanwhile. */
void sfc_peers_end_closing(sfc_peers_t *peers);

/* Unmaps a segment that its owner has removed. */
void sfc_peers_forget(sfc_peers_t *peers, int32_t rank, uint64_t segment);

#endif
