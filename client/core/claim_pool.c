/* The pool of claims: see claim_pool.h. */
#include "client/core/claim_pool.h"

#include "client/core/context.h"

void sfc_claim_pool_init(sfc_claim_pool_t *claims)
{
  *claims = (sfc_claim_pool_t){.region.fd = -1};
  pthread_mutex_init(&claims->lock, NULL);
}

void sfc_claim_pool_destroy(sfc_claim_pool_t *claims)
{
  sfshm_region_destroy(&claims->region);
  pthread_mutex_destroy(&claims->lock);
}

static sf_status_t open_claims(sf_context_t *context, sfshm_region_t *region_p)
{
  Sfproto__Message message = SFPROTO_MESSAGE_OF(CLAIMS_OPEN, claims_open);
  sf_status_t status = sfc_submit_ring_open(&context->submit_ring, context->board);
  if (status == SF_OK)
    status = sfshm_region_create("sf-claims", SFSHM_REGION_CLAIMS, sizeof(sfshm_claims_t), SFSHM_SEAL_SIZE,
                                 SFSHM_COMMIT_ALL, region_p);
  if (status != SF_OK)
    return status;
  status = sfc_daemon_tell(&context->control, &message, &region_p->fd, 1);
  if (status != SF_OK)
    sfshm_region_destroy(region_p);
  return status;
}

void sfc_claim_pool_open(sf_context_t *context)
{
  sfc_claim_pool_t *claims = &context->claims;
  if (!claims->possible || atomic_load_explicit(&claims->claims, memory_order_acquire) != NULL)
    return;
  pthread_mutex_lock(&claims->lock);
  if (claims->possible && claims->region.base == NULL) {
    claims->possible = open_claims(context, &claims->region) == SF_OK;
    atomic_store_explicit(&claims->claims, claims->region.base, memory_order_release);
  }
  pthread_mutex_unlock(&claims->lock);
}

bool sfc_claim_pool_take(sfc_claim_pool_t *claims, uint32_t *claim_p)
{
  for (uint32_t word = 0; word < SFSHM_CLAIMS / 64; word++) {
    uint64_t used = atomic_load_explicit(&claims->used[word], memory_order_relaxed);
    while (~used != 0) {
      uint64_t lowest = ~used & (used + 1);
      /* Pairs with the release in sfc_claim_pool_give: the last owner's accesses come before this one's. */
      if (!atomic_compare_exchange_weak_explicit(&claims->used[word], &used, used | lowest, memory_order_acquire,
                                                 memory_order_relaxed))
        continue;
      *claim_p = word * 64 + (uint32_t)__builtin_ctzll(lowest);
      return true;
    }
  }
  return false;
}

void sfc_claim_pool_give(sfc_claim_pool_t *claims, uint32_t claim)
{
  atomic_fetch_and_explicit(&claims->used[claim / 64], ~(UINT64_C(1) << claim % 64), memory_order_release);
}
