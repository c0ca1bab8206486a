/* Pool of claims, with which this rank offers work to its daemon's workers. One region, created at the first sf_alloc
 * if the daemon has workers. Any thread. */
#ifndef SFC_CORE_CLAIM_POOL_H
#define SFC_CORE_CLAIM_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sf/sf.h>

#include "shm/lane/claim.h"

typedef struct sfc_claims {
  _Atomic bool possible; /* the daemon has workers */
  pthread_mutex_t lock;  /* protects opening */
  sfshm_region_t region;
  _Atomic(sfshm_claims_t *) claims; /* NULL: not open */
  _Atomic uint64_t used[SFSHM_CLAIMS / 64];
} sfc_claim_pool_t;

void sfc_claim_pool_init(sfc_claim_pool_t *claims);
void sfc_claim_pool_destroy(sfc_claim_pool_t *claims);

/* Creates the region and the submission ring and gives them to the daemon, once, if the daemon has workers. On failure
 * nothing will be offered. */
void sfc_claim_pool_open(sf_context_t *context);

static inline bool sfc_claim_pool_is_open(const sfc_claim_pool_t *claims)
{
  return atomic_load_explicit(&claims->claims, memory_order_acquire) != NULL;
}

/* Takes a claim; false: all are in use. */
bool sfc_claim_pool_take(sfc_claim_pool_t *claims, uint32_t *claim_p);
void sfc_claim_pool_give(sfc_claim_pool_t *claims, uint32_t claim);

static inline sfshm_claim_t *sfc_claim_pool_at(sfc_claim_pool_t *claims, uint32_t claim)
{
  return &atomic_load_explicit(&claims->claims, memory_order_relaxed)->claims[claim];
}

#endif
