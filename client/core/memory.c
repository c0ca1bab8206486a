/* sf_alloc, sf_register and looking addresses up: see memory.h. Any thread. */
#include "client/core/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/core/context.h"
#include "client/core/device.h"
#include "shm/base/error.h"
#include "shm/base/room.h"

struct sf_region {
  sf_context_t *context;
  char *address;
  size_t length_bytes;
  sfc_memory_class_t class;
  uint64_t number;
  bool shared;            /* DEVICE: others may open it */
  uint64_t serial;        /* DEVICE: serial of the application's allocation; 0: allocated by the library, then: */
  uint64_t lasting_bytes; /* that were allocated, and live until nobody has them open */
  sfc_block_t block;      /* ALLOC */
};

void sfc_memory_init(sfc_memory_t *memory)
{
  *memory = (sfc_memory_t){0};
  pthread_mutex_init(&memory->lock, NULL);
  atomic_store(&memory->epoch, 1);
}

/* Ends the use of the region's addresses by kernels. */
static void let_go(const struct sf_region *region)
{
  if (region->lasting_bytes > 0)
    sfshm_device_loaded()->release(region->address);
  else if (region->class == SFC_MEMORY_DEVICE)
    sfc_device_detach(region->address, region->serial);
}

void sfc_memory_destroy(sfc_memory_t *memory)
{
  for (size_t i = 0; i < memory->n; i++) {
    let_go(memory->regions[i]);
    free(memory->regions[i]);
  }
  free(memory->regions);
  pthread_mutex_destroy(&memory->lock);
}

/* Index of the first region that ends after the address. */
static size_t lower_bound(const sfc_memory_t *memory, const char *address)
{
  size_t low = 0, high = memory->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (memory->regions[middle]->address + memory->regions[middle]->length_bytes <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static struct sf_region *covering(const sfc_memory_t *memory, const char *address)
{
  size_t i = lower_bound(memory, address);
  return i < memory->n && memory->regions[i]->address <= address ? memory->regions[i] : NULL;
}

sfc_memory_ref_t sfc_memory_find(sfc_memory_t *memory, const void *address)
{
  sfc_memory_ref_t ref = {.class = SFC_MEMORY_UNKNOWN};
  pthread_mutex_lock(&memory->lock);
  const struct sf_region *region = covering(memory, address);
  if (region != NULL) {
    size_t before = (size_t)((const char *)address - region->address);
    ref = (sfc_memory_ref_t){.class = region->class,
                             .bytes_left = region->length_bytes - before,
                             .segment = region->class == SFC_MEMORY_DEVICE ? region->number : region->block.segment,
                             .offset = region->block.offset + before,
                             .shared = region->shared,
                             .serial = region->serial};
  }
  pthread_mutex_unlock(&memory->lock);
  return ref;
}

sf_status_t sfc_memory_check_alive(const char *name, const sfc_memory_ref_t *ref, const void *address,
                                   int32_t *device_p)
{
  sfshm_device_range_t range;
  if (ref->class != SFC_MEMORY_DEVICE || (ref->serial == 0 && device_p == NULL))
    return SF_OK;
  bool is_there = sfshm_device_loaded()->find(address, &range) == SF_OK;
  if (is_there && device_p != NULL)
    *device_p = range.device;
  if (is_there && (ref->serial == 0 || range.serial == ref->serial))
    return SF_OK;
  return sfshm_error(SF_ERR_STATE, "%s: the memory of region %llu, in which %p lies, was freed before sf_unregister",
                     name, (unsigned long long)ref->segment, address);
}

static sf_status_t insert(sfc_memory_t *memory, struct sf_region *region)
{
  sf_status_t status = SF_OK;
  pthread_mutex_lock(&memory->lock);
  size_t i = lower_bound(memory, region->address);
  if (i < memory->n && memory->regions[i]->address < region->address + region->length_bytes) {
    status = sfshm_error(SF_ERR_EXISTS, "region %p..+%zu overlaps region %llu at %p..+%zu", (void *)region->address,
                         region->length_bytes, (unsigned long long)memory->regions[i]->number,
                         (void *)memory->regions[i]->address, memory->regions[i]->length_bytes);
    goto out;
  }
  if (!sfshm_make_room(&memory->regions, &memory->room, memory->n + 1, sizeof(struct sf_region *))) {
    status = sfshm_error(SF_ERR_NOMEM, "table of %zu regions", memory->n + 1);
    goto out;
  }
  memmove(&memory->regions[i + 1], &memory->regions[i], (memory->n - i) * sizeof(struct sf_region *));
  memory->regions[i] = region;
  memory->n++;
  if (region->number == 0)
    region->number = ++memory->last_region;
  atomic_fetch_add(&memory->epoch, 1);
out:
  pthread_mutex_unlock(&memory->lock);
  return status;
}

static void take_out(sfc_memory_t *memory, const struct sf_region *region)
{
  pthread_mutex_lock(&memory->lock);
  size_t i = lower_bound(memory, region->address);
  memory->n--;
  memmove(&memory->regions[i], &memory->regions[i + 1], (memory->n - i) * sizeof(struct sf_region *));
  atomic_fetch_add(&memory->epoch, 1);
  pthread_mutex_unlock(&memory->lock);
}

static Sfproto__RegionAdd__Method method_of(const struct sf_region *region)
{
  if (region->class == SFC_MEMORY_DEVICE)
    return region->shared ? SFPROTO__REGION_ADD__METHOD__DEVICE : SFPROTO__REGION_ADD__METHOD__STAGED;
  return region->context->readable ? SFPROTO__REGION_ADD__METHOD__VM_READ : SFPROTO__REGION_ADD__METHOD__COPIED;
}

/* Tells the daemon how other ranks reach a registered region. sf_alloc memory is in segments, which the daemon knows.
 */
static sf_status_t announce(struct sf_region *region)
{
  sf_context_t *context = region->context;
  sfshm_device_handle_t handle;
  int fd = -1;
  Sfproto__RegionAdd add = SFPROTO__REGION_ADD__INIT;
  Sfproto__Message message = SFPROTO_MESSAGE(REGION_ADD, region_add, &add);
  if (region->class == SFC_MEMORY_DEVICE)
    region->shared = sfc_device_share(region->address, &handle, &fd, &add.offset);
  add.region = region->number;
  add.length = region->length_bytes;
  add.kind = region->class == SFC_MEMORY_DEVICE ? SF_MEMORY_CUDA : SF_MEMORY_HOST;
  add.method = method_of(region);
  add.has_handle = region->shared;
  add.handle.data = handle.bytes;
  add.handle.len = sizeof handle.bytes;
  add.has_offset = region->shared;
  add.has_lasting_bytes = region->lasting_bytes > 0;
  add.lasting_bytes = region->lasting_bytes;
  sf_status_t status = sfc_daemon_tell(&context->control, &message, &fd, fd >= 0);
  if (fd >= 0)
    close(fd);
  return status;
}

/* Removes the region at the daemon. wait: until no rank has it open; false only for memory that lasts. */
static void withdraw(sf_context_t *context, uint64_t region, bool wait)
{
  Sfproto__Message message =
      SFPROTO_MESSAGE_OF(REGION_REMOVE, region_remove, .region = region, .has_at_once = !wait, .at_once = !wait);
  (void)sfc_daemon_tell(&context->control, &message, NULL, 0);
}

sf_status_t sf_alloc(sf_context_t *context, size_t len_bytes, void **address_p)
{
  sfc_block_t block;
  sf_status_t status = sfc_context_check(context, __func__);
  if (status != SF_OK)
    return status;
  if (len_bytes == 0 || address_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_alloc: %s", len_bytes == 0 ? "0 bytes" : "address_p is NULL");
  struct sf_region *region = malloc(sizeof *region);
  if (region == NULL)
    return sfshm_error(SF_ERR_NOMEM, "sf_alloc: bookkeeping");
  sfc_claim_pool_open(context); /* before requests look up buffers */
  status = sfc_heap_take(&context->alloc, len_bytes, true, &block);
  if (status != SF_OK) {
    free(region);
    return status;
  }
  *region = (struct sf_region){.context = context,
                               .address = block.address,
                               .length_bytes = len_bytes,
                               .class = SFC_MEMORY_ALLOC,
                               .block = block};
  status = insert(&context->memory, region);
  if (status != SF_OK) {
    sfc_heap_give(&context->alloc, &block);
    free(region);
    return status;
  }
  *address_p = block.address;
  return SF_OK;
}

/* ---- On devices -------------------------------------------------------------------------------------------------- */

static sf_status_t allocate(int32_t device, size_t len_bytes, sfshm_device_range_t *range_p)
{
  const sfshm_device_ops_t *ops = sfshm_device_loaded();
  sf_status_t status = ops->allocate(device, len_bytes, range_p);
  if (status != SF_OK)
    return sfshm_error(status, "%s", ops->detail());
  status = ops->attach(range_p);
  if (status == SF_OK)
    return SF_OK;
  sfshm_error(status, "%s", ops->detail());
  ops->release(range_p->base);
  return status;
}

sf_status_t sfc_device_block_take(sf_context_t *context, int32_t device, size_t len_bytes, sfc_device_block_t *block_p)
{
  sfshm_device_range_t range;
  sf_status_t status = allocate(device, len_bytes, &range);
  if (status != SF_OK)
    return status;
  struct sf_region region = {.context = context,
                             .address = range.base,
                             .length_bytes = len_bytes,
                             .class = SFC_MEMORY_DEVICE,
                             .lasting_bytes = range.length_bytes};
  pthread_mutex_lock(&context->memory.lock);
  region.number = ++context->memory.last_region;
  pthread_mutex_unlock(&context->memory.lock);
  status = announce(&region);
  if (status == SF_OK)
    *block_p = (sfc_device_block_t){region.number, range.base, range.length_bytes, region.shared};
  else
    let_go(&region);
  return status;
}

void sfc_device_block_give(sf_context_t *context, const sfc_device_block_t *block)
{
  sfshm_device_loaded()->release(block->base);
  withdraw(context, block->region, false);
}

static sf_status_t alloc_on_device(struct sf_region *region, int32_t device)
{
  const sfshm_device_ops_t *ops;
  sfc_device_block_t block;
  sf_status_t status = sfshm_device_load(&ops);
  if (status != SF_OK)
    return status;
  if (device < 0 || device >= ops->count())
    return sfshm_error(SF_ERR_ARG, "sf_alloc_on_device: device %d, of which there are %d", device, ops->count());
  status = sfc_device_block_take(region->context, device, region->length_bytes, &block);
  if (status != SF_OK)
    return status;
  region->number = block.region;
  region->address = block.base;
  region->lasting_bytes = block.length_bytes;
  region->shared = block.shared;
  status = insert(&region->context->memory, region);
  if (status != SF_OK)
    sfc_device_block_give(region->context, &block);
  return status;
}

sf_status_t sf_alloc_on_device(sf_context_t *context, int32_t device, size_t len_bytes, void **address_p)
{
  sf_status_t status = sfc_context_check(context, __func__);
  if (status != SF_OK)
    return status;
  if (len_bytes == 0 || address_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_alloc_on_device: %s", len_bytes == 0 ? "0 bytes" : "address_p is NULL");
  struct sf_region *region = malloc(sizeof *region);
  if (region == NULL)
    return sfshm_error(SF_ERR_NOMEM, "sf_alloc_on_device: bookkeeping");
  *region = (struct sf_region){.context = context, .length_bytes = len_bytes, .class = SFC_MEMORY_DEVICE};
  status = alloc_on_device(region, device);
  if (status != SF_OK) {
    free(region);
    return status;
  }
  *address_p = region->address;
  return SF_OK;
}

/* ---- Freeing ----------------------------------------------------------------------------------------------------- */

static void free_on_device(struct sf_region *region)
{
  take_out(&region->context->memory, region);
  let_go(region);
  withdraw(region->context, region->number, true);
  free(region);
}

sf_status_t sf_free(sf_context_t *context, void *address)
{
  if (address == NULL)
    return SF_OK;
  sf_status_t status = sfc_context_check(context, __func__);
  if (status != SF_OK)
    return status;
  pthread_mutex_lock(&context->memory.lock);
  struct sf_region *region = covering(&context->memory, address);
  pthread_mutex_unlock(&context->memory.lock);
  bool given = region != NULL && region->address == address;
  if (given && region->lasting_bytes > 0) {
    free_on_device(region);
    return SF_OK;
  }
  if (!given || region->class != SFC_MEMORY_ALLOC)
    return sfshm_error(SF_ERR_ARG, "sf_free: %p was not given by sf_alloc", address);
  take_out(&context->memory, region);
  sfc_heap_give(&context->alloc, &region->block);
  free(region);
  return SF_OK;
}

/* Attaches device memory: by its kind, or as the driver reports it. */
static sf_status_t attach_device(void *address, size_t len_bytes, sf_memory_kind_t kind, bool *attached_p,
                                 uint64_t *serial_p)
{
  *attached_p = false;
  *serial_p = 0;
  if (kind == SF_MEMORY_HOST || (kind == SF_MEMORY_DETECT && !sfc_device_holds(address)))
    return SF_OK;
  sf_status_t status = sfc_device_attach(address, len_bytes, serial_p);
  *attached_p = status == SF_OK;
  return status;
}

sf_status_t sf_register(sf_context_t *context, void *address, size_t len_bytes, sf_memory_kind_t kind,
                        sf_region_t **region_p)
{
  sf_status_t status = sfc_context_check(context, __func__);
  if (status != SF_OK)
    return status;
  if (address == NULL || len_bytes == 0 || region_p == NULL || (uintptr_t)address + len_bytes < len_bytes)
    return sfshm_error(SF_ERR_ARG, "sf_register: address %p, %zu bytes, region_p %p", address, len_bytes,
                       (void *)region_p);
  if (kind != SF_MEMORY_HOST && kind != SF_MEMORY_CUDA && kind != SF_MEMORY_DETECT)
    return sfshm_error(SF_ERR_ARG, "sf_register: memory kind %d", (int)kind);
  bool on_device;
  uint64_t serial;
  struct sf_region *region = malloc(sizeof *region);
  if (region == NULL)
    return sfshm_error(SF_ERR_NOMEM, "sf_register: bookkeeping");
  status = attach_device(address, len_bytes, kind, &on_device, &serial);
  if (status != SF_OK)
    goto err_free;
  *region = (struct sf_region){.context = context,
                               .address = address,
                               .length_bytes = len_bytes,
                               .serial = serial,
                               .class = on_device ? SFC_MEMORY_DEVICE : SFC_MEMORY_REGISTERED};
  status = insert(&context->memory, region);
  if (status != SF_OK)
    goto err_detach;
  status = announce(region);
  if (status != SF_OK)
    goto err_take_out;
  *region_p = region;
  return SF_OK;

err_take_out:
  take_out(&context->memory, region);
err_detach:
  if (on_device)
    sfc_device_detach(address, serial);
err_free:
  free(region);
  return status;
}

void sfc_memory_withdraw_shared(sfc_memory_t *memory)
{
  for (size_t i = 0; i < memory->n; i++) {
    struct sf_region *region = memory->regions[i];
    if (!region->shared && region->lasting_bytes == 0)
      continue;
    if (region->lasting_bytes > 0) {
      let_go(region);
      region->lasting_bytes = 0;
      region->class = SFC_MEMORY_REGISTERED;
    }
    withdraw(region->context, region->number, true);
    region->shared = false;
  }
}

sf_status_t sf_unregister(sf_region_t *region)
{
  if (region == NULL)
    return SF_OK;
  sf_status_t status = sfc_context_check(region->context, __func__);
  if (status != SF_OK)
    return status;
  sfc_memory_ref_t ref = sfc_memory_find(&region->context->memory, region->address);
  status = sfc_memory_check_alive("sf_unregister", &ref, region->address, NULL);
  take_out(&region->context->memory, region);
  let_go(region);
  withdraw(region->context, region->number, true);
  free(region);
  return status;
}
