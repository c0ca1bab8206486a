/* First-fit blocks in shared segments: see shared_heap.h. Blocks are few and long-lived, so a sorted list of gaps per
 * segment suffices. */
#include "client/core/shared_heap.h"

#include <stdlib.h>
#include <string.h>

#include "client/core/context.h"
#include "shm/base/error.h"
#include "shm/base/room.h"

#define COMMIT_STEP ((size_t)64 << 10)
#define DEVICE_STEP ((size_t)2 << 20) /* in which drivers give memory to others */

typedef struct sfc_gap {
  size_t offset;
  size_t length_bytes;
} sfc_gap_t;

struct sfc_segment {
  sfc_segment_t *next;
  sfshm_region_t region;
  uint64_t number;
  size_t committed_bytes; /* pages before this are allocated */
  size_t taken_bytes;     /* memory from this offset on is untouched and zero */
  bool own;               /* segment of a single block */
  int32_t device; /* of the heap for devices: whose memory it is. region has address and length only then, of: */
  sfc_device_block_t on_device;
  sfc_gap_t *gaps; /* by offset; adjacent gaps are merged */
  size_t ngaps;
  size_t gaps_room;
};

void sfc_heap_init(sfc_heap_t *heap, sfshm_region_kind_t kind, sfc_daemon_conn_t *control,
                   _Atomic uint64_t *last_segment, size_t segment_bytes)
{
  *heap = (sfc_heap_t){.kind = kind, .control = control, .last_segment = last_segment, .segment_bytes = segment_bytes};
  pthread_mutex_init(&heap->lock, NULL);
}

static void free_segment(sfc_segment_t *segment)
{
  sfshm_region_destroy(&segment->region);
  free(segment->gaps);
  free(segment);
}

void sfc_heap_destroy(sfc_heap_t *heap)
{
  while (heap->segments != NULL) {
    sfc_segment_t *segment = heap->segments;
    heap->segments = segment->next;
    free_segment(segment);
  }
  pthread_mutex_destroy(&heap->lock);
}

static size_t round_up(size_t value, size_t step)
{
  return (value + step - 1) / step * step;
}

static sf_status_t insert_gap(sfc_segment_t *segment, size_t position, sfc_gap_t gap)
{
  if (!sfshm_make_room(&segment->gaps, &segment->gaps_room, segment->ngaps + 1, sizeof gap))
    return sfshm_error(SF_ERR_NOMEM, "bookkeeping of shared memory");
  memmove(&segment->gaps[position + 1], &segment->gaps[position], (segment->ngaps - position) * sizeof gap);
  segment->gaps[position] = gap;
  segment->ngaps++;
  return SF_OK;
}

static void remove_gap(sfc_segment_t *segment, size_t position)
{
  segment->ngaps--;
  memmove(&segment->gaps[position], &segment->gaps[position + 1],
          (segment->ngaps - position) * sizeof segment->gaps[0]);
}

static sf_status_t tell_daemon(sfc_heap_t *heap, const sfc_segment_t *segment)
{
  Sfproto__Message message =
      SFPROTO_MESSAGE_OF(SEGMENT_ADD, segment_add, .segment = segment->number, .length = segment->region.length_bytes,
                         .inbox = heap->kind == SFSHM_REGION_INBOX);
  return sfc_daemon_tell(heap->control, &message, &segment->region.fd, 1);
}

static sf_status_t make_segment(const sfshm_region_t *region, uint64_t number, size_t used_bytes,
                                sfc_segment_t **segment_p)
{
  sfc_segment_t *segment = calloc(1, sizeof *segment);
  if (segment == NULL)
    return sfshm_error(SF_ERR_NOMEM, "bookkeeping of shared memory");
  *segment = (sfc_segment_t){.region = *region, .number = number, .committed_bytes = used_bytes};
  sf_status_t status = insert_gap(segment, 0, (sfc_gap_t){used_bytes, region->length_bytes - used_bytes});
  if (status != SF_OK) {
    free(segment);
    return status;
  }
  *segment_p = segment;
  return SF_OK;
}

sf_status_t sfc_heap_adopt(sfc_heap_t *heap, const sfshm_region_t *region, uint64_t number, size_t used_bytes)
{
  sfc_segment_t *segment;
  sf_status_t status = make_segment(region, number, round_up(used_bytes, SFC_BLOCK_ALIGN), &segment);
  if (status != SF_OK)
    return status;
  segment->next = heap->segments;
  heap->segments = segment;
  return SF_OK;
}

static sf_status_t add_segment(sfc_heap_t *heap, size_t block_bytes, sfc_segment_t **segment_p)
{
  sfshm_region_t region;
  sfc_segment_t *segment;
  size_t used_bytes = sizeof(sfshm_region_header_t);
  bool own = block_bytes > heap->segment_bytes / 4;
  bool inbox = heap->kind == SFSHM_REGION_INBOX;
  sf_status_t status = sfshm_region_create(inbox ? "sf-inbox" : "sf-alloc", heap->kind,
                                           own ? used_bytes + block_bytes : heap->segment_bytes,
                                           inbox || heap->sealed_by_daemon ? SFSHM_SEAL_SIZE : SFSHM_SEAL_FUTURE_WRITE,
                                           own ? SFSHM_COMMIT_ALL : SFSHM_COMMIT_LATER, &region);
  if (status != SF_OK)
    return status;
  status = make_segment(&region, ++*heap->last_segment, used_bytes, &segment);
  if (status != SF_OK) {
    sfshm_region_destroy(&region);
    return status;
  }
  segment->own = own;
  segment->committed_bytes = own ? region.length_bytes : used_bytes;
  status = tell_daemon(heap, segment);
  if (status != SF_OK) {
    free_segment(segment);
    return status;
  }
  segment->next = heap->segments;
  heap->segments = segment;
  *segment_p = segment;
  return SF_OK;
}

/* Takes the start of the first gap that is large enough; false if there is none. */
static bool take_from(sfc_segment_t *segment, size_t length_bytes, size_t *offset_p)
{
  for (size_t i = 0; i < segment->ngaps; i++) {
    sfc_gap_t *gap = &segment->gaps[i];
    if (gap->length_bytes < length_bytes)
      continue;
    *offset_p = gap->offset;
    gap->offset += length_bytes;
    gap->length_bytes -= length_bytes;
    if (gap->length_bytes == 0)
      remove_gap(segment, i);
    return true;
  }
  return false;
}

static sf_status_t give_to(sfc_segment_t *segment, size_t offset, size_t length_bytes)
{
  size_t i = 0;
  while (i < segment->ngaps && segment->gaps[i].offset < offset)
    i++;
  bool joins_next = i < segment->ngaps && segment->gaps[i].offset == offset + length_bytes;
  bool joins_previous = i > 0 && segment->gaps[i - 1].offset + segment->gaps[i - 1].length_bytes == offset;
  if (joins_previous && joins_next) {
    segment->gaps[i - 1].length_bytes += length_bytes + segment->gaps[i].length_bytes;
    remove_gap(segment, i);
  } else if (joins_previous) {
    segment->gaps[i - 1].length_bytes += length_bytes;
  } else if (joins_next) {
    segment->gaps[i].offset = offset;
    segment->gaps[i].length_bytes += length_bytes;
  } else {
    return insert_gap(segment, i, (sfc_gap_t){offset, length_bytes});
  }
  return SF_OK;
}

/* Allocates all pages before end, so that no later access can fail. */
static sf_status_t commit_to(sfc_segment_t *segment, size_t end)
{
  if (end <= segment->committed_bytes)
    return SF_OK;
  size_t step = segment->own ? 1 : COMMIT_STEP;
  size_t to = round_up(end, step);
  if (to > segment->region.length_bytes)
    to = segment->region.length_bytes;
  sf_status_t status = sfshm_region_commit(&segment->region, segment->committed_bytes, to - segment->committed_bytes);
  if (status == SF_OK)
    segment->committed_bytes = to;
  return status;
}

static sf_status_t find_space(sfc_heap_t *heap, size_t length_bytes, sfc_segment_t **segment_p, size_t *offset_p)
{
  for (*segment_p = heap->segments; *segment_p != NULL; *segment_p = (*segment_p)->next)
    if (!(*segment_p)->own && take_from(*segment_p, length_bytes, offset_p))
      return SF_OK;
  sf_status_t status = add_segment(heap, length_bytes, segment_p);
  if (status == SF_OK && !take_from(*segment_p, length_bytes, offset_p))
    status = sfshm_error(SF_ERR_INTERNAL, "a new segment does not hold its first block");
  return status;
}

sf_status_t sfc_heap_take(sfc_heap_t *heap, size_t length_bytes, bool zeroed, sfc_block_t *block_p)
{
  sfc_segment_t *segment;
  size_t offset;
  if (length_bytes == 0 || length_bytes > SIZE_MAX / 4)
    return sfshm_error(SF_ERR_ARG, "%zu bytes of shared memory asked for", length_bytes);
  size_t rounded = round_up(length_bytes, SFC_BLOCK_ALIGN);
  pthread_mutex_lock(&heap->lock);
  sf_status_t status = find_space(heap, rounded, &segment, &offset);
  if (status == SF_OK) {
    size_t end = offset + rounded, before = segment->taken_bytes;
    status = commit_to(segment, end);
    if (status == SF_OK && offset < before && zeroed)
      memset((char *)segment->region.base + offset, 0, end < before ? rounded : before - offset);
    if (status == SF_OK)
      segment->taken_bytes = end > before ? end : before;
    else
      (void)give_to(segment, offset, rounded);
  }
  pthread_mutex_unlock(&heap->lock);
  if (status != SF_OK)
    return status;
  *block_p = (sfc_block_t){.heap = heap,
                           .address = (char *)segment->region.base + offset,
                           .length_bytes = rounded,
                           .segment = segment->number,
                           .offset = offset};
  return SF_OK;
}

static void remove_segment(sfc_heap_t *heap, sfc_segment_t **link)
{
  sfc_segment_t *segment = *link;
  Sfproto__Message message = SFPROTO_MESSAGE_OF(SEGMENT_REMOVE, segment_remove, .segment = segment->number);
  (void)sfc_daemon_tell(heap->control, &message, NULL, 0); /* a lost daemon has dropped it */
  *link = segment->next;
  free_segment(segment);
}

void sfc_heap_give(sfc_heap_t *heap, const sfc_block_t *block)
{
  pthread_mutex_lock(&heap->lock);
  sfc_segment_t **link = &heap->segments;
  while (*link != NULL && (*link)->number != block->segment)
    link = &(*link)->next;
  if (*link != NULL && (*link)->own)
    remove_segment(heap, link);
  else if (*link != NULL)
    (void)give_to(*link, block->offset, block->length_bytes); /* on failure the block stays taken */
  pthread_mutex_unlock(&heap->lock);
}

/* ---- Memory of devices ------------------------------------------------------------------------------------------- */

static void free_device_segment(sf_context_t *context, sfc_segment_t *segment)
{
  sfc_device_block_give(context, &segment->on_device);
  free(segment->gaps);
  free(segment);
}

/* The heap is locked. */
static void remove_device_segments(sf_context_t *context, bool all)
{
  sfc_segment_t **link = &context->on_devices.segments;
  while (*link != NULL) {
    sfc_segment_t *segment = *link;
    bool empty = segment->ngaps == 1 && segment->gaps[0].length_bytes == segment->region.length_bytes;
    if (!empty && !all) {
      link = &segment->next;
      continue;
    }
    *link = segment->next;
    free_device_segment(context, segment);
  }
}

void sfc_heap_leave_devices(sf_context_t *context)
{
  pthread_mutex_lock(&context->on_devices.lock); /* the listener may be giving blocks of destroyed graphs */
  remove_device_segments(context, true);
  pthread_mutex_unlock(&context->on_devices.lock);
}

static sf_status_t add_device_segment(sf_context_t *context, int32_t device, size_t block_bytes)
{
  sfc_device_block_t block;
  sfc_segment_t *segment;
  remove_device_segments(context, false);
  sfshm_region_t region = {.length_bytes = round_up(block_bytes, DEVICE_STEP), .fd = -1};
  sf_status_t status = sfc_device_block_take(context, device, region.length_bytes, &block);
  if (status != SF_OK)
    return status;
  region.base = block.base;
  status = block.shared ? make_segment(&region, block.region, 0, &segment)
                        : sfshm_error(SF_ERR_UNSUPPORTED, "others can't open memory of device %d", device);
  if (status != SF_OK) {
    sfc_device_block_give(context, &block);
    return status;
  }
  segment->device = device;
  segment->on_device = block;
  segment->next = context->on_devices.segments;
  context->on_devices.segments = segment;
  return SF_OK;
}

static bool take_on_device(sfc_heap_t *heap, int32_t device, size_t length_bytes, sfc_block_t *block_p)
{
  size_t offset;
  for (sfc_segment_t *segment = heap->segments; segment != NULL; segment = segment->next)
    if (segment->device == device && take_from(segment, length_bytes, &offset)) {
      *block_p = (sfc_block_t){heap, (char *)segment->region.base + offset, length_bytes, segment->number, offset};
      return true;
    }
  return false;
}

sf_status_t sfc_heap_take_on_device(sf_context_t *context, int32_t device, size_t length_bytes, sfc_block_t *block_p)
{
  sfc_heap_t *heap = &context->on_devices;
  sf_status_t status = SF_OK;
  size_t rounded = round_up(length_bytes, SFC_BLOCK_ALIGN);
  pthread_mutex_lock(&heap->lock);
  if (!take_on_device(heap, device, rounded, block_p)) {
    status = add_device_segment(context, device, rounded);
    if (status == SF_OK)
      (void)take_on_device(heap, device, rounded, block_p);
  }
  pthread_mutex_unlock(&heap->lock);
  return status;
}
