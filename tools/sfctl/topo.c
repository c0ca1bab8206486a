/* sfctl topo: devices, and printing. The one thread of sfctl. */
#include "tools/sfctl/topo.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "proto/report/text.h"
#include "shm/base/error.h"
#include "tools/sfctl/print/json.h"
#include "tools/sfctl/print/table.h"

#define COLUMNS(table) .columns = (table), .ncolumns = sizeof(table) / sizeof(table)[0]

typedef struct devices {
  int32_t n;
  sfshm_device_info_t *infos;
  sfshm_device_link_t *links; /* n * n; the diagonal is not set */
  char none[512];             /* why there are none */
} devices_t;

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static sf_status_t describe_all(const sfshm_device_ops_t *ops, devices_t *devices)
{
  sf_status_t status = SF_OK;
  for (int32_t i = 0; i < devices->n && status == SF_OK; i++) {
    status = ops->describe(i, &devices->infos[i]);
    for (int32_t k = 0; k < devices->n && status == SF_OK; k++)
      if (k != i)
        status = ops->link(i, k, &devices->links[i * devices->n + k]);
  }
  return status == SF_OK ? SF_OK : sfshm_error(status, "%s", ops->detail());
}

static sf_status_t find_devices(devices_t *devices)
{
  const sfshm_device_ops_t *ops;
  *devices = (devices_t){0};
  if (sfshm_device_load(&ops) != SF_OK) {
    snprintf(devices->none, sizeof devices->none, "%s", sfshm_error_detail());
    return SF_OK;
  }
  devices->n = ops->count();
  devices->infos = calloc((size_t)devices->n + 1, sizeof *devices->infos);
  devices->links = calloc((size_t)devices->n * (size_t)devices->n + 1, sizeof *devices->links);
  if (devices->infos == NULL || devices->links == NULL)
    return sfshm_error(SF_ERR_NOMEM, "table of %d devices", devices->n);
  return describe_all(ops, devices);
}

static void free_devices(devices_t *devices)
{
  free(devices->infos);
  free(devices->links);
}

static const char *link_name(const sfshm_device_link_t *link)
{
  return !link->access ? "none" : link->atomics ? "nvlink" : "pci";
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static void add_bytes(sfctl_table_t *table, uint64_t bytes)
{
  char text[SFREPORT_TEXT_SIZE];
  if (bytes > 0)
    sfctl_table_cell(table, "%s", sfreport_text_bytes(bytes, text));
  else
    sfctl_table_cell(table, "-");
}

static sf_status_t finish(sfctl_table_t *table, FILE *file)
{
  sf_status_t status = sfctl_table_print(table, 0, file);
  sfctl_table_clear(table);
  return status;
}

static sf_status_t print_machine(const sfctl_machine_t *machine, FILE *file)
{
  static const sfctl_column_t columns[] = {{"NUMA", SFCTL_RIGHT},   {"CORES", SFCTL_RIGHT}, {"CPUS", SFCTL_LEFT},
                                           {"MEMORY", SFCTL_RIGHT}, {"L2", SFCTL_RIGHT},    {"L3", SFCTL_RIGHT}};
  sfctl_table_t table = {COLUMNS(columns)};
  char text[SFREPORT_TEXT_SIZE];
  if (!machine->known) {
    fputs("cores, caches and memory are not known: sfctl was built without hwloc\n", file);
    return SF_OK;
  }
  fprintf(file, "cores: %" PRId64 ", hardware threads: %" PRId64 ", packages: %" PRId64 ", memory: %s\n\n",
          machine->cores, machine->threads, machine->packages, sfreport_text_bytes(machine->memory_bytes, text));
  for (size_t i = 0; i < machine->nnumas; i++) {
    const sfctl_numa_t *numa = &machine->numas[i];
    sfctl_table_cell(&table, "%d", numa->number);
    sfctl_table_cell(&table, "%" PRId64, numa->cores);
    sfctl_table_cell(&table, "%s", numa->cpus);
    add_bytes(&table, numa->memory_bytes);
    add_bytes(&table, numa->l2_bytes);
    add_bytes(&table, numa->l3_bytes);
  }
  return finish(&table, file);
}

static sf_status_t print_devices(const devices_t *devices, const sfctl_machine_t *machine, FILE *file)
{
  static const sfctl_column_t columns[] = {{"DEVICE", SFCTL_RIGHT},
                                           {"NAME", SFCTL_LEFT},
                                           {"MEMORY", SFCTL_RIGHT},
                                           {"PCI", SFCTL_LEFT},
                                           {"NUMA", SFCTL_RIGHT}};
  sfctl_table_t table = {COLUMNS(columns)};
  for (int32_t i = 0; i < devices->n; i++) {
    const sfshm_device_info_t *info = &devices->infos[i];
    int32_t numa = sfctl_machine_numa_of(machine, info->pci_address);
    sfctl_table_cell(&table, "%d", i);
    sfctl_table_cell(&table, "%s", info->name);
    add_bytes(&table, info->memory_bytes);
    sfctl_table_cell(&table, "%s", info->pci_address);
    sfctl_table_cell(&table, numa < 0 ? "-" : "%d", numa);
  }
  return finish(&table, file);
}

static sf_status_t print_links(const devices_t *devices, const sfctl_machine_t *machine, FILE *file)
{
  static const sfctl_column_t columns[] = {
      {"FROM", SFCTL_RIGHT}, {"TO", SFCTL_RIGHT}, {"ACCESS", SFCTL_LEFT}, {"RANK", SFCTL_RIGHT}, {"PCI", SFCTL_LEFT}};
  sfctl_table_t table = {COLUMNS(columns)};
  for (int32_t i = 0; i < devices->n; i++)
    for (int32_t k = 0; k < devices->n; k++) {
      const sfshm_device_link_t *link = &devices->links[i * devices->n + k];
      if (k == i)
        continue;
      const char *parting =
          sfctl_machine_parting(machine, devices->infos[i].pci_address, devices->infos[k].pci_address);
      sfctl_table_cell(&table, "%d", i);
      sfctl_table_cell(&table, "%d", k);
      sfctl_table_cell(&table, "%s", link_name(link));
      sfctl_table_cell(&table, link->access ? "%d" : "-", link->rank);
      sfctl_table_cell(&table, "%s", parting != NULL ? parting : "-");
    }
  return finish(&table, file);
}

static sf_status_t print_text(const sfctl_machine_t *machine, const devices_t *devices, FILE *file)
{
  char text[SFREPORT_PRINTABLE_SIZE(512)];
  sf_status_t status = print_machine(machine, file);
  if (devices->n == 0) {
    sfreport_text_printable(devices->none, text, sizeof text);
    fprintf(file, "\nno devices: %s\n", text);
    return status;
  }
  int32_t version = devices->infos[0].driver_version;
  fprintf(file, "\n%d devices, driver for CUDA %d.%d\n\n", devices->n, version / 1000, version % 1000 / 10);
  if (status == SF_OK)
    status = print_devices(devices, machine, file);
  if (status == SF_OK && devices->n > 1) {
    fputc('\n', file);
    status = print_links(devices, machine, file);
  }
  if (status == SF_OK)
    fputs("\nvalues on devices go to other nodes through pinned memory of the host, or by MPI from device to device\n"
          "where sfctl plan says so\n",
          file);
  return status;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void write_machine(sfctl_json_t *json, const sfctl_machine_t *machine)
{
  sfctl_json_int(json, "packages", machine->packages);
  sfctl_json_int(json, "cores", machine->cores);
  sfctl_json_int(json, "threads", machine->threads);
  sfctl_json_uint(json, "memory_bytes", machine->memory_bytes);
  sfctl_json_begin_array(json, "numa_nodes");
  for (size_t i = 0; i < machine->nnumas; i++) {
    const sfctl_numa_t *numa = &machine->numas[i];
    sfctl_json_begin_object(json, NULL);
    sfctl_json_int(json, "number", numa->number);
    sfctl_json_int(json, "cores", numa->cores);
    sfctl_json_string(json, "cpus", numa->cpus);
    sfctl_json_uint(json, "memory_bytes", numa->memory_bytes);
    sfctl_json_uint(json, "l2_bytes", numa->l2_bytes);
    sfctl_json_uint(json, "l3_bytes", numa->l3_bytes);
    sfctl_json_end_object(json);
  }
  sfctl_json_end_array(json);
}

static void write_device(sfctl_json_t *json, const sfctl_machine_t *machine, const devices_t *devices, int32_t i)
{
  const sfshm_device_info_t *info = &devices->infos[i];
  int32_t numa = sfctl_machine_numa_of(machine, info->pci_address);
  sfctl_json_begin_object(json, NULL);
  sfctl_json_int(json, "number", i);
  sfctl_json_string(json, "name", info->name);
  sfctl_json_uint(json, "memory_bytes", info->memory_bytes);
  sfctl_json_string(json, "pci", info->pci_address);
  if (numa < 0)
    sfctl_json_null(json, "numa");
  else
    sfctl_json_int(json, "numa", numa);
  sfctl_json_end_object(json);
}

static void write_link(sfctl_json_t *json, const sfctl_machine_t *machine, const devices_t *devices, int32_t from,
                       int32_t to)
{
  const sfshm_device_link_t *link = &devices->links[from * devices->n + to];
  sfctl_json_begin_object(json, NULL);
  sfctl_json_int(json, "from", from);
  sfctl_json_int(json, "to", to);
  sfctl_json_string(json, "access", link_name(link));
  if (link->access)
    sfctl_json_int(json, "rank", link->rank);
  else
    sfctl_json_null(json, "rank");
  sfctl_json_string(json, "pci",
                    sfctl_machine_parting(machine, devices->infos[from].pci_address, devices->infos[to].pci_address));
  sfctl_json_end_object(json);
}

static void print_json(const sfctl_machine_t *machine, const devices_t *devices, FILE *file)
{
  sfctl_json_t json = {.file = file};
  sfctl_json_begin_object(&json, NULL);
  write_machine(&json, machine);
  sfctl_json_string(&json, "no_devices", devices->n == 0 ? devices->none : NULL);
  if (devices->n > 0)
    sfctl_json_int(&json, "driver_version", devices->infos[0].driver_version);
  else
    sfctl_json_null(&json, "driver_version");
  sfctl_json_begin_array(&json, "devices");
  for (int32_t i = 0; i < devices->n; i++)
    write_device(&json, machine, devices, i);
  sfctl_json_end_array(&json);
  sfctl_json_begin_array(&json, "links");
  for (int32_t i = 0; i < devices->n; i++)
    for (int32_t k = 0; k < devices->n; k++)
      if (k != i)
        write_link(&json, machine, devices, i, k);
  sfctl_json_end_array(&json);
  sfctl_json_string(&json, "to_other_nodes", devices->n > 0 ? "pinned" : NULL);
  sfctl_json_end_object(&json);
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

sf_status_t sfctl_topo(bool json, FILE *file)
{
  sfctl_machine_t machine;
  devices_t devices;
  sf_status_t status = sfctl_machine_find(&machine);
  if (status != SF_OK)
    return status;
  status = find_devices(&devices);
  if (status == SF_OK && json)
    print_json(&machine, &devices, file);
  else if (status == SF_OK)
    status = print_text(&machine, &devices, file);
  free_devices(&devices);
  sfctl_machine_free(&machine);
  return status;
}
