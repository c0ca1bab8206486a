/* The other ranks of the node as this one reaches them: their segments mapped here, their wake words, and whether their
 * private memory can be read. Any thread. */
#ifndef SFC_CORE_PEER_H
#define SFC_CORE_PEER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/core/daemon_conn.h"
#include "shm/region/region.h"
#include "shm/region/wait.h"

typedef struct sfc_mapped sfc_mapped_t;
typedef struct sfc_opened sfc_opened_t;
typedef struct sfc_revoked sfc_revoked_t;

typedef struct sfc_peer {
  int32_t rank; /* in the job */
  pid_t pid;
  uint64_t probe_address; /* where it keeps a word of known value, to try process_vm_readv on */
  uint64_t probe_value;
  bool probed;
  bool can_read;
  sfshm_wake_t *wake; /* NULL until its inbox is mapped */
  sfc_mapped_t *segments;
  sfc_opened_t *devices; /* regions of its devices; see peer_device.c */
} sfc_peer_t;

/* The thread that closes revoked regions: see peer_device.c. */
typedef struct sfc_closing {
  pthread_mutex_t lock;
  sfc_revoked_t *revoked;
  pthread_t thread;
  bool is_started; /* there is a thread to be joined; then: */
  bool is_running; /* it looks for more */
} sfc_closing_t;

typedef struct sfc_peers {
  sfc_daemon_conn_t *control;
  sfc_closing_t closing;
  pthread_mutex_t lock;         /* of all but devices */
  pthread_mutex_t devices_lock; /* a driver may be waited for with it held, which hosts' data must not wait for */
  sfc_peer_t *entries;          /* by rank; the ranks of this node, this one included */
  int32_t n;
} sfc_peers_t;

/* Takes the local ranks from the daemon's welcome. */
sf_status_t sfc_peers_init(sfc_peers_t *peers, sfc_daemon_conn_t *control, const Sfproto__Welcome *welcome);
void sfc_peers_destroy(sfc_peers_t *peers);

/* SF_ERR_NOT_FOUND for a rank that is not on this node. */
sf_status_t sfc_peers_find(sfc_peers_t *peers, int32_t rank, sfc_peer_t **peer_p);

/* Whether this process may read that one's private memory: tried once, by reading a word of known value, so that other
 * pid namespaces and security modules are found out whatever their rules. */
bool sfc_peer_can_read(sfc_peers_t *peers, sfc_peer_t *peer);

/* Base and length of one of its segments, mapped at first use with the daemon's help. Segment 0 is its inbox; mapping
 * it also finds the wake word. */
sf_status_t sfc_peer_segment(sfc_peers_t *peers, sfc_peer_t *peer, uint64_t segment, void **base_p, size_t *length_p);

/* A segment that stays mapped, also if its owner removes it meanwhile. */
typedef struct sfc_pinned {
  sfc_mapped_t *mapped;
  void *base;
  size_t length_bytes;
} sfc_pinned_t;

/* As sfc_peer_segment, for memory of sf_alloc: its owner may free it while it is being read, if the operation has
 * failed there. */
sf_status_t sfc_peer_pin(sfc_peers_t *peers, sfc_peer_t *peer, uint64_t segment, sfc_pinned_t *pinned_p);
void sfc_peer_unpin(sfc_peers_t *peers, const sfc_pinned_t *pinned);

/* The same for a region of its devices, opened at first use. reader: the device whose kernels are to reach it, or
 * SFSHM_DEVICE_ANY. SF_ERR_UNSUPPORTED: this process can't, or that device. */
typedef struct sfc_pinned_device {
  sfc_opened_t *opened;
  void *base; /* of the region, for kernels of the device only */
  size_t length_bytes;
} sfc_pinned_device_t;

sf_status_t sfc_peer_pin_device(sfc_peers_t *peers, sfc_peer_t *peer, uint64_t region, int32_t reader,
                                sfc_pinned_device_t *pinned_p);
void sfc_peer_unpin_device(sfc_peers_t *peers, sfc_peer_t *peer, const sfc_pinned_device_t *pinned);

/* Unpins a region that is not used any more, and closes it if nothing else has pinned it; then, as the last unpinning
 * of a revoked one, it may wait for the streams of this process. */
void sfc_peer_close_device(sfc_peers_t *peers, sfc_peer_t *peer, const sfc_pinned_device_t *pinned);

/* Closes a region whose owner waits for that, soon, by another thread, or when it is not pinned any more; and all of
 * them, at the end. */
void sfc_peers_revoke(sfc_peers_t *peers, int32_t rank, uint64_t region);
void sfc_peers_close_devices(sfc_peers_t *peers);

/* Waits until what has been revoked is closed; nothing more is revoked meanwhile, or nothing that is open. */
void sfc_peers_end_closing(sfc_peers_t *peers);

/* Lets go of a segment that its owner has removed. */
void sfc_peers_forget(sfc_peers_t *peers, int32_t rank, uint64_t segment);

#endif
