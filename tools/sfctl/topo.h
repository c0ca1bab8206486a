/* sfctl topo: this machine: cores, caches and memory (by hwloc), devices and the links between them (by their driver).
 * */
#ifndef SFCTL_TOPO_H
#define SFCTL_TOPO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sf/sf_status.h>

#include "shm/device/device.h"

#define SFCTL_TOPO_CPUS_SIZE 256

/* A NUMA node and its cores. */
typedef struct sfctl_numa {
  int32_t number;
  int64_t cores;
  char cpus[SFCTL_TOPO_CPUS_SIZE]; /* "0-3,8" */
  uint64_t memory_bytes;
  uint64_t l2_bytes; /* of each cache; 0: none */
  uint64_t l3_bytes;
} sfctl_numa_t;

typedef struct sfctl_machine {
  bool known; /* built with hwloc */
  int64_t packages, cores, threads;
  uint64_t memory_bytes;
  sfctl_numa_t *numas;
  size_t nnumas;
  void *topology; /* of hwloc */
} sfctl_machine_t;

/* Examines this machine. SF_ERR_SYS. */
sf_status_t sfctl_machine_find(sfctl_machine_t *machine_p);
void sfctl_machine_free(sfctl_machine_t *machine);

/* NUMA node of a PCI device; -1: not known. */
int32_t sfctl_machine_numa_of(const sfctl_machine_t *machine, const char *pci_address);

/* Lowest common part of the ways to two PCI devices: "switch", "host bridge", "NUMA node", "package", "machine"; NULL:
 * not known. */
const char *sfctl_machine_parting(const sfctl_machine_t *machine, const char *pci_address, const char *other);

/* Prints everything. A machine without devices is no error. */
sf_status_t sfctl_topo(bool json, FILE *file);

#endif
