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

static sfctl_value_t size_of(uint64_t bytes)
{
  return sfctl_if(bytes > 0, sfctl_bytes(bytes));
}

static sf_status_t print_machine(const sfctl_machine_t *machine, FILE *file)
{
  static const sfctl_column_t columns[] = {{"NUMA", SFCTL_RIGHT},   {"CORES", SFCTL_RIGHT}, {"CPUS", SFCTL_LEFT},
                                           {"MEMORY", SFCTL_RIGHT}, {"L2", SFCTL_RIGHT},    {"L3", SFCTL_RIGHT}};
  sfctl_table_t table = {SFCTL_COLUMNS(columns)};
  char text[SFREPORT_TEXT_SIZE];
  if (!machine->known) {
    fputs("cores, caches and memory are not known: sfctl was built without hwloc\n", file);
    return SF_OK;
  }
  fprintf(file, "cores: %" PRId64 ", hardware threads: %" PRId64 ", packages: %" PRId64 ", memory: %s\n\n",
          machine->cores, machine->threads, machine->packages, sfreport_text_bytes(machine->memory_bytes, text));
  for (size_t i = 0; i < machine->nnumas; i++) {
    const sfctl_numa_t *numa = &machine->numas[i];
    sfctl_table_add(&table, SFCTL_VALUE(numa->number), SFCTL_VALUE(numa->cores), SFCTL_VALUE(numa->cpus),
                    size_of(numa->memory_bytes), size_of(numa->l2_bytes), size_of(numa->l3_bytes));
  }
  return sfctl_table_print(&table, 0, file);
}

static sf_status_t print_devices(const devices_t *devices, const sfctl_machine_t *machine, FILE *file)
{
  static const sfctl_column_t columns[] = {{"DEVICE", SFCTL_RIGHT},
                                           {"NAME", SFCTL_LEFT},
                                           {"MEMORY", SFCTL_RIGHT},
                                           {"PCI", SFCTL_LEFT},
                                           {"NUMA", SFCTL_RIGHT}};
  sfctl_table_t table = {SFCTL_COLUMNS(columns)};
  for (int32_t i = 0; i < devices->n; i++) {
    const sfshm_device_info_t *info = &devices->infos[i];
    int32_t numa = sfctl_machine_numa_of(machine, info->pci_address);
    sfctl_table_add(&table, SFCTL_VALUE(i), SFCTL_VALUE(info->name), size_of(info->memory_bytes),
                    SFCTL_VALUE(info->pci_address), sfctl_if(numa >= 0, SFCTL_VALUE(numa)));
  }
  return sfctl_table_print(&table, 0, file);
}

static sf_status_t print_links(const devices_t *devices, const sfctl_machine_t *machine, FILE *file)
{
  static const sfctl_column_t columns[] = {
      {"FROM", SFCTL_RIGHT}, {"TO", SFCTL_RIGHT}, {"ACCESS", SFCTL_LEFT}, {"RANK", SFCTL_RIGHT}, {"PCI", SFCTL_LEFT}};
  sfctl_table_t table = {SFCTL_COLUMNS(columns)};
  for (int32_t i = 0; i < devices->n; i++)
    for (int32_t k = 0; k < devices->n; k++) {
      const sfshm_device_link_t *link = &devices->links[i * devices->n + k];
      if (k == i)
        continue;
      const char *parting =
          sfctl_machine_parting(machine, devices->infos[i].pci_address, devices->infos[k].pci_address);
      sfctl_table_add(&table, SFCTL_VALUE(i), SFCTL_VALUE(k), SFCTL_VALUE(link_name(link)),
                      sfctl_if(link->access, SFCTL_VALUE(link->rank)), SFCTL_VALUE(parting));
    }
  return sfctl_table_print(&table, 0, file);
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
    fputs("\nvalues on devices go to other nodes through pinned memory of the host\n", file);
  return status;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void write_machine(sfctl_json_t *json, const sfctl_machine_t *machine)
{
  sfctl_json_add(json, SFCTL_FIELD(machine, packages), SFCTL_FIELD(machine, cores), SFCTL_FIELD(machine, threads),
                 SFCTL_FIELD(machine, memory_bytes));
  sfctl_json_begin_array(json, "numa_nodes");
  for (size_t i = 0; i < machine->nnumas; i++) {
    const sfctl_numa_t *numa = &machine->numas[i];
    sfctl_json_object(json, NULL, SFCTL_FIELD(numa, number), SFCTL_FIELD(numa, cores), SFCTL_FIELD(numa, cpus),
                      SFCTL_FIELD(numa, memory_bytes), SFCTL_FIELD(numa, l2_bytes), SFCTL_FIELD(numa, l3_bytes));
  }
  sfctl_json_end_array(json);
}

static void write_device(sfctl_json_t *json, const sfctl_machine_t *machine, const devices_t *devices, int32_t i)
{
  const sfshm_device_info_t *info = &devices->infos[i];
  int32_t numa = sfctl_machine_numa_of(machine, info->pci_address);
  sfctl_json_object(json, NULL, SFCTL_MEMBER("number", i), SFCTL_FIELD(info, name), SFCTL_FIELD(info, memory_bytes),
                    SFCTL_MEMBER("pci", info->pci_address), SFCTL_MEMBER_IF("numa", numa >= 0, numa));
}

static void write_link(sfctl_json_t *json, const sfctl_machine_t *machine, const devices_t *devices, int32_t from,
                       int32_t to)
{
  const sfshm_device_link_t *link = &devices->links[from * devices->n + to];
  const char *parting =
      sfctl_machine_parting(machine, devices->infos[from].pci_address, devices->infos[to].pci_address);
  sfctl_json_object(json, NULL, SFCTL_MEMBER("from", from), SFCTL_MEMBER("to", to),
                    SFCTL_MEMBER("access", link_name(link)), SFCTL_MEMBER_IF("rank", link->access, link->rank),
                    SFCTL_MEMBER("pci", parting));
}

static void print_json(const sfctl_machine_t *machine, const devices_t *devices, FILE *file)
{
  sfctl_json_t json = {.file = file};
  sfctl_json_begin_object(&json, NULL);
  write_machine(&json, machine);
  sfctl_json_add(
      &json, SFCTL_MEMBER("no_devices", devices->n == 0 ? devices->none : NULL),
      SFCTL_MEMBER_IF("driver_version", devices->n > 0, devices->n > 0 ? devices->infos[0].driver_version : 0));
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
  sfctl_json_add(&json, SFCTL_MEMBER("to_other_nodes", devices->n > 0 ? "pinned" : NULL));
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
