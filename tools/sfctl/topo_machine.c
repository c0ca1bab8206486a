/* Cores, caches and memory: see topo.h. The one thread of sfctl. */
#include <stdlib.h>
#include <string.h>

#include "shm/base/error.h"
#include "tools/sfctl/topo.h"

#ifdef SFCTL_WITH_HWLOC
#include <hwloc.h>

static uint64_t cache_bytes(hwloc_topology_t topology, hwloc_const_cpuset_t cpus, hwloc_obj_type_t type)
{
  hwloc_obj_t cache = hwloc_get_next_obj_covering_cpuset_by_type(topology, cpus, type, NULL);
  if (cache == NULL)
    cache = hwloc_get_obj_inside_cpuset_by_type(topology, cpus, type, 0);
  return cache != NULL ? cache->attr->cache.size : 0;
}

static void describe_numa(hwloc_topology_t topology, hwloc_obj_t object, sfctl_numa_t *numa)
{
  *numa = (sfctl_numa_t){.number = (int32_t)object->os_index,
                         .cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, object->cpuset, HWLOC_OBJ_CORE),
                         .memory_bytes = object->attr->numanode.local_memory};
  hwloc_bitmap_list_snprintf(numa->cpus, sizeof numa->cpus, object->cpuset);
  hwloc_obj_t core = hwloc_get_obj_inside_cpuset_by_type(topology, object->cpuset, HWLOC_OBJ_PU, 0);
  if (core == NULL)
    return; /* memory without cores */
  numa->l2_bytes = cache_bytes(topology, core->cpuset, HWLOC_OBJ_L2CACHE);
  numa->l3_bytes = cache_bytes(topology, core->cpuset, HWLOC_OBJ_L3CACHE);
}

static int64_t count(hwloc_topology_t topology, hwloc_obj_type_t type)
{
  int n = hwloc_get_nbobjs_by_type(topology, type);
  return n > 0 ? n : 0;
}

/* Skips plugins that load other libraries: Linux has the same data of PCI devices, and the rest is not needed. */
static void leave_out(hwloc_topology_t topology)
{
  static const char *const components[] = {"pci", "opencl", "gl"};
  for (size_t i = 0; i < sizeof components / sizeof components[0]; i++)
    (void)hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, components[i]);
}

static sf_status_t load(hwloc_topology_t *topology_p)
{
  if (hwloc_topology_init(topology_p) != 0)
    return sfshm_error(SF_ERR_NOMEM, "hwloc: no memory for the machine's topology");
  hwloc_topology_set_io_types_filter(*topology_p, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  leave_out(*topology_p);
  if (hwloc_topology_load(*topology_p) == 0)
    return SF_OK;
  hwloc_topology_destroy(*topology_p);
  return sfshm_error(SF_ERR_SYS, "hwloc cannot tell this machine's topology");
}

sf_status_t sfctl_machine_find(sfctl_machine_t *machine_p)
{
  hwloc_topology_t topology;
  sf_status_t status = load(&topology);
  if (status != SF_OK)
    return status;
  sfctl_machine_t machine = {.known = true,
                             .packages = count(topology, HWLOC_OBJ_PACKAGE),
                             .cores = count(topology, HWLOC_OBJ_CORE),
                             .threads = count(topology, HWLOC_OBJ_PU),
                             .memory_bytes = hwloc_get_root_obj(topology)->total_memory,
                             .nnumas = (size_t)count(topology, HWLOC_OBJ_NUMANODE),
                             .topology = topology};
  machine.numas = calloc(machine.nnumas + 1, sizeof *machine.numas);
  if (machine.numas == NULL) {
    hwloc_topology_destroy(topology);
    return sfshm_error(SF_ERR_NOMEM, "table of %zu NUMA nodes", machine.nnumas);
  }
  for (size_t i = 0; i < machine.nnumas; i++)
    describe_numa(topology, hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)i), &machine.numas[i]);
  *machine_p = machine;
  return SF_OK;
}

void sfctl_machine_free(sfctl_machine_t *machine)
{
  hwloc_topology_destroy(machine->topology);
  free(machine->numas);
}

static hwloc_obj_t find_pci(const sfctl_machine_t *machine, const char *address)
{
  return hwloc_get_pcidev_by_busidstring(machine->topology, address);
}

int32_t sfctl_machine_numa_of(const sfctl_machine_t *machine, const char *pci_address)
{
  hwloc_obj_t object = find_pci(machine, pci_address);
  hwloc_obj_t place = object != NULL ? hwloc_get_non_io_ancestor_obj(machine->topology, object) : NULL;
  return place != NULL && hwloc_bitmap_weight(place->nodeset) == 1 ? hwloc_bitmap_first(place->nodeset) : -1;
}

static const char *name_of(const struct hwloc_obj *object)
{
  if (object->type == HWLOC_OBJ_BRIDGE)
    return object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST ? "host bridge" : "switch";
  if (object->type == HWLOC_OBJ_PACKAGE)
    return "package";
  if (object->type == HWLOC_OBJ_MACHINE)
    return "machine";
  return "NUMA node";
}

const char *sfctl_machine_parting(const sfctl_machine_t *machine, const char *pci_address, const char *other)
{
  const struct hwloc_obj *mine = find_pci(machine, pci_address), *theirs = find_pci(machine, other);
  for (const struct hwloc_obj *a = mine; a != NULL; a = a->parent)
    for (const struct hwloc_obj *b = theirs; b != NULL; b = b->parent)
      if (a == b)
        return name_of(a);
  return NULL;
}

#else

sf_status_t sfctl_machine_find(sfctl_machine_t *machine_p)
{
  *machine_p = (sfctl_machine_t){0};
  return SF_OK;
}

void sfctl_machine_free(sfctl_machine_t *machine)
{
  (void)machine;
}

int32_t sfctl_machine_numa_of(const sfctl_machine_t *machine, const char *pci_address)
{
  (void)machine;
  (void)pci_address;
  return -1;
}

const char *sfctl_machine_parting(const sfctl_machine_t *machine, const char *pci_address, const char *other)
{
  (void)machine;
  (void)pci_address;
  (void)other;
  return NULL;
}

#endif
