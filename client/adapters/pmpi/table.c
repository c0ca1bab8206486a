/* Hash table of MPI handles: see table.h. Any thread, one at a time. */
#include "client/adapters/pmpi/table.h"

#include <stdlib.h>

#define LEAST_ENTRIES 64u

static void put(sfpmpi_table_t *table, uintptr_t handle, void *object)
{
  uint32_t i = sfpmpi_table_place(table, handle);
  while (table->entries[i].object != NULL && table->entries[i].handle != handle)
    i = (i + 1) & table->mask;
  table->n += table->entries[i].object == NULL;
  table->entries[i] = (sfpmpi_entry_t){handle, object};
}

/* At most half of the entries are in use, so that searches are short and end. */
static bool grow(sfpmpi_table_t *table)
{
  uint32_t room = table->entries == NULL ? 0 : table->mask + 1;
  if (2 * (table->n + 1) <= room)
    return true;
  sfpmpi_table_t larger = {.mask = (room == 0 ? LEAST_ENTRIES : 2 * room) - 1};
  larger.entries = calloc((size_t)larger.mask + 1, sizeof *larger.entries);
  if (larger.entries == NULL)
    return false;
  for (uint32_t i = 0; i < room; i++)
    if (table->entries[i].object != NULL)
      put(&larger, table->entries[i].handle, table->entries[i].object);
  free(table->entries);
  *table = larger;
  return true;
}

bool sfpmpi_table_enter(sfpmpi_table_t *table, uintptr_t handle, void *object)
{
  if (!grow(table))
    return false;
  put(table, handle, object);
  return true;
}

void sfpmpi_table_remove(sfpmpi_table_t *table, uintptr_t handle)
{
  if (sfpmpi_table_find(table, handle) == NULL)
    return;
  uint32_t hole = sfpmpi_table_place(table, handle);
  while (table->entries[hole].handle != handle)
    hole = (hole + 1) & table->mask;
  /* Move later entries of the same run into the hole if a search for them passes it. */
  for (uint32_t i = (hole + 1) & table->mask; table->entries[i].object != NULL; i = (i + 1) & table->mask) {
    uint32_t place = sfpmpi_table_place(table, table->entries[i].handle);
    if (((i - place) & table->mask) < ((i - hole) & table->mask))
      continue;
    table->entries[hole] = table->entries[i];
    hole = i;
  }
  table->entries[hole] = (sfpmpi_entry_t){0, NULL};
  table->n--;
}
