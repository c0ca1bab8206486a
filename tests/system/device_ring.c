/* A ring of devices: see device_ring.h. */
#include "tests/system/device_ring.h"

#include "tests/system/fake_device.h"
#include "tests/system/work.h"

void sftest_device_ring_make(sftest_rank_t *self, sftest_device_ring_t *ring)
{
  SFTEST_REQUIRE(self, sftest_device_is_there());
  ring->self = self;
  ring->context = sftest_join(self);
  ring->stream = sftest_device_stream(0);
  ring->roots = sftest_device_alloc(0, sizeof ring->host);
  ring->leaves = sftest_device_alloc(0, sizeof ring->host);
  SFTEST_OK(self, sf_register(ring->context, ring->roots, sizeof ring->host, SF_MEMORY_CUDA, &ring->regions[0]));
  SFTEST_OK(self, sf_register(ring->context, ring->leaves, sizeof ring->host, SF_MEMORY_CUDA, &ring->regions[1]));
  SFTEST_OK(self, sftest_ring_create(sf_group_world(ring->context), SFTEST_DEVICE_RING_UNITS, SF_GRAPH_DEFAULT,
                                     &ring->graph));
  for (int i = 0; i < SFTEST_DEVICE_RING_UNITS; i++)
    ring->host[i] = 1000.0 * self->rank + i;
  sftest_device_copy(ring->roots, ring->host, sizeof ring->host);
}

sf_status_t sftest_device_ring_bcast(const sftest_device_ring_t *ring)
{
  return sf_bcast_on_stream(ring->graph, SF_DOUBLE, ring->roots, ring->leaves, SF_REPLACE, ring->stream);
}

void sftest_device_ring_expect(sftest_device_ring_t *ring)
{
  int32_t next = (ring->self->rank + 1) % ring->self->size,
          before = (ring->self->rank + ring->self->size - 1) % ring->self->size;
  sftest_device_copy(ring->host, ring->leaves, sizeof ring->host);
  for (int i = 0; i < SFTEST_DEVICE_RING_UNITS; i++)
    SFTEST_REQUIRE(ring->self, ring->host[i] == 1000.0 * next + i || ring->host[i] == 1000.0 * before + i);
}

void sftest_device_ring_wait(sftest_device_ring_t *ring)
{
  SFTEST_OK(ring->self, sf_streams_wait(ring->graph));
  sftest_device_ring_expect(ring);
}

void sftest_device_ring_begin(sftest_rank_t *self, bool memops, bool kernel_fails, sftest_device_ring_t *ring)
{
  if (!memops)
    setenv("SF_STREAM_MEMOPS", "off", 1);
  if (kernel_fails && self->rank == 0)
    setenv("SFTEST_CUDA_FAIL", memops ? "cuLaunchKernel:7" : "cuLaunchKernel:13", 1);
  sftest_device_ring_make(self, ring);
  for (int i = 0; i < 3; i++)
    SFTEST_OK(self, sftest_device_ring_bcast(ring));
  sftest_device_ring_wait(ring);
}

void sftest_device_ring_free(sftest_device_ring_t *ring)
{
  (void)sf_graph_destroy(ring->graph);
  (void)sf_unregister(ring->regions[0]);
  (void)sf_unregister(ring->regions[1]);
  (void)sf_finalize(ring->context);
  sftest_device_free(ring->roots);
  sftest_device_free(ring->leaves);
  sftest_device_stream_free(ring->stream);
}
