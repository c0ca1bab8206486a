/* Hash table from MPI handles to objects of this library. The caller excludes other threads. */
#ifndef SFC_ADAPTERS_PMPI_TABLE_H
#define SFC_ADAPTERS_PMPI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sfpmpi_entry {
  uintptr_t handle;
  void *object; /* NULL: free */
} sfpmpi_entry_t;

/* Open addressing. All members 0: an empty table. */
typedef struct sfpmpi_table {
  sfpmpi_entry_t *entries;
  uint32_t mask; /* number of entries - 1, a power of two; 0: none */
  uint32_t n;
} sfpmpi_table_t;

static inline uint32_t sfpmpi_table_place(const sfpmpi_table_t *table, uintptr_t handle)
{
  return (uint32_t)(((uint64_t)handle * 0x9e3779b97f4a7c15u) >> 32) & table->mask;
}

/* The object of a handle; NULL: none. */
static inline void *sfpmpi_table_find(const sfpmpi_table_t *table, uintptr_t handle)
{
  if (table->n == 0)
    return NULL;
  for (uint32_t i = sfpmpi_table_place(table, handle);; i = (i + 1) & table->mask) {
    const sfpmpi_entry_t *entry = &table->entries[i];
    if (entry->object == NULL || entry->handle == handle)
      return entry->object;
  }
}

/* Enters a handle, or gives it another object. Returns false without memory. */
bool sfpmpi_table_enter(sfpmpi_table_t *table, uintptr_t handle, void *object);

/* Removes a handle, if it is there. */
void sfpmpi_table_remove(sfpmpi_table_t *table, uintptr_t handle);

#endif
