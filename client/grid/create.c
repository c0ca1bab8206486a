/* Set-up and end of grids: numbers places, divides the grid, lays out arrays, and creates the graphs. Collective. */
#include <stdlib.h>

#include "client/grid/grid.h"
#include "shm/base/error.h"

static void *take_memory(sfc_derive_t *derive, int64_t n, size_t bytes)
{
  void *memory = calloc((size_t)n + 1, bytes);
  if (memory == NULL)
    sfc_derive_error(derive, -1, SF_ERR_NOMEM, "grid: table of %lld entries", (long long)n);
  return memory;
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

/* What each rank sends to all others. */
typedef struct told {
  int64_t node;
  int64_t nown;    /* subdomains */
  int64_t devices; /* whether it gives devices */
} told_t;

#define WORDS(type) ((int64_t)(sizeof(type) / sizeof(int64_t)))

static sfc_grid_node_t *find_node(sf_grid_t *grid, int32_t *index_of, int32_t node, int32_t rank)
{
  if (index_of[node] == 0) {
    grid->nodes[grid->nnodes++] = (sfc_grid_node_t){.node = node, .leader = rank};
    index_of[node] = grid->nnodes;
  }
  return &grid->nodes[index_of[node] - 1];
}

/* Numbers the places of all ranks by node, in the order of the nodes' lowest ranks, and by rank. */
static void number_places(sf_grid_t *grid, const told_t told[], int32_t *index_of)
{
  int32_t size = grid->group->size;
  int64_t next = 0;
  for (int32_t rank = 0; rank < size; rank++)
    find_node(grid, index_of, (int32_t)told[rank].node, rank)->n += (int32_t)told[rank].nown;
  for (int32_t i = 0; i < grid->nnodes; i++) {
    grid->nodes[i].first = next;
    next += grid->nodes[i].n;
    grid->nodes[i].n = 0;
  }
  for (int32_t rank = 0; rank < size; rank++) {
    sfc_grid_node_t *node = find_node(grid, index_of, (int32_t)told[rank].node, rank);
    grid->first_place[rank] = node->first + node->n;
    node->nranks++;
    for (int32_t own = 0; own < told[rank].nown; own++)
      grid->places[node->first + node->n++] = (sfc_grid_place_t){.rank = rank, .own = own};
  }
  grid->here = index_of[told[grid->group->rank].node] - 1;
}

/* If nodes have different numbers of places, their shares have no common division: then the grid is divided between all
 * places at once, and nodes take consecutive subdomains. */
static void divide(sf_grid_t *grid)
{
  bool equal = true;
  int32_t slowest[SFC_AXES] = {0, 1, 2}, ndims = grid->options.ndims;
  for (int i = 0; i < ndims; i++) /* so that lines of points stay long */
    slowest[i] = grid->options.order[ndims - 1 - i];
  for (int32_t i = 1; i < grid->nnodes; i++)
    equal = equal && grid->nodes[i].n == grid->nodes[0].n;
  grid->partition = sfc_partition_make(grid->options.points, grid->options.periodic, slowest, equal ? grid->nnodes : 1,
                                       equal ? grid->nodes[0].n : (int32_t)grid->count);
  for (int64_t i = 0; i < grid->count; i++)
    grid->places[i].number = i;
}

static void make_places(sfc_derive_t *derive, sf_grid_t *grid, const told_t told[])
{
  int32_t size = grid->group->size;
  int64_t highest = 0;
  for (int32_t rank = 0; rank < size; rank++) {
    grid->count += told[rank].nown;
    highest = told[rank].node > highest ? told[rank].node : highest;
  }
  if (grid->count > INT32_MAX) {
    sfc_derive_error(derive, -1, SF_ERR_ARG, "%lld subdomains", (long long)grid->count);
    return;
  }
  grid->places = take_memory(derive, grid->count, sizeof *grid->places);
  grid->place_of = take_memory(derive, grid->count, sizeof *grid->place_of);
  grid->first_place = take_memory(derive, size, sizeof *grid->first_place);
  grid->nodes = take_memory(derive, size, sizeof *grid->nodes);
  int32_t *index_of = take_memory(derive, highest, sizeof *index_of);
  if (derive->status == SF_OK) {
    number_places(grid, told, index_of);
    divide(grid);
  }
  free(index_of);
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* Number of the array on a device; -1: host memory. narrays: there is none. */
static int32_t find_array(const sf_grid_t *grid, int32_t device)
{
  int32_t array = 0;
  while (array < grid->narrays && grid->devices[array] != (device < 0 ? -1 : device))
    array++;
  return array;
}

/* Numbers the arrays of this rank in the order in which devices first names their devices. */
static void make_arrays(sfc_derive_t *derive, sf_grid_t *grid, const int32_t devices[])
{
  grid->nown = grid->options.subdomains;
  grid->devices = take_memory(derive, grid->nown, sizeof *grid->devices);
  grid->units = take_memory(derive, grid->nown, sizeof *grid->units);
  for (int32_t i = 0; i < grid->nown && derive->status == SF_OK; i++) {
    int32_t device = devices != NULL && devices[i] >= 0 ? devices[i] : -1, array = find_array(grid, device);
    grid->devices[array] = device;
    grid->narrays += array == grid->narrays;
  }
}

/* Array and device of a subdomain, as ranks send them to each other. */
typedef struct home {
  int64_t array;
  sfc_grid_device_t device;
} home_t;

/* Exchanges arrays and devices of all subdomains between all ranks. */
static void tell_homes(sfc_derive_t *derive, sf_grid_t *grid, const told_t told[], const int32_t devices[])
{
  int64_t most = 0;
  for (int32_t rank = 0; rank < grid->group->size; rank++)
    most = told[rank].nown > most ? told[rank].nown : most;
  home_t *mine = sfc_derive_array(derive, most, sizeof *mine);
  for (int32_t i = 0; mine != NULL && i < grid->nown && derive->status == SF_OK; i++) {
    mine[i].array = find_array(grid, devices != NULL ? devices[i] : -1);
    sfc_grid_identify(derive, devices != NULL ? devices[i] : -1, &mine[i].device);
  }
  const home_t *homes = (const home_t *)sfc_derive_allgather(derive, most * WORDS(home_t), (const int64_t *)mine);
  for (int64_t i = 0; homes != NULL && i < grid->count; i++) {
    sfc_grid_place_t *place = &grid->places[i];
    const home_t *home = &homes[place->rank * most + place->own];
    place->array = (int32_t)home->array;
    place->device = home->device;
    if (place->array >= grid->narrays_most)
      grid->narrays_most = place->array + 1;
  }
}

/* Computes the origins of the subdomains of all ranks. In an array the rank's subdomains follow one another. */
static void lay_out(sfc_derive_t *derive, sf_grid_t *grid)
{
  int64_t *units = sfc_derive_array(derive, grid->narrays_most, sizeof *units);
  for (int64_t i = 0; units != NULL && i < grid->count; i++) {
    sfc_grid_place_t *place = &grid->places[i];
    for (int32_t k = 0; place->own == 0 && k < grid->narrays_most; k++)
      units[k] = 0;
    const sfc_grid_layout_t layout = sfc_grid_layout_of(grid, place->number);
    place->origin = units[place->array] + layout.origin;
    units[place->array] += layout.units;
    if (place->rank == grid->group->rank)
      grid->units[place->array] = units[place->array];
    grid->place_of[place->number] = i;
  }
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

static void free_grid(sf_grid_t *grid)
{
  if (grid == NULL)
    return;
  free(grid->places);
  free(grid->place_of);
  free(grid->first_place);
  free(grid->nodes);
  free(grid->devices);
  free(grid->units);
  free(grid->graphs);
  free(grid);
}

static void prepare(sfc_derive_t *derive, sf_grid_t *grid, const sf_grid_options_t *options)
{
  const int32_t *devices = options != NULL ? options->devices : NULL;
  bool on_devices = false;
  const told_t mine = {sfc_group_node_of(grid->group, grid->group->rank), grid->options.subdomains, devices != NULL};
  sfc_grid_options_compare(derive, &grid->options);
  const told_t *told = (const told_t *)sfc_derive_allgather(derive, WORDS(told_t), (const int64_t *)&mine);
  if (told == NULL)
    return;
  for (int32_t rank = 0; rank < grid->group->size; rank++)
    on_devices = on_devices || told[rank].devices != 0;
  make_places(derive, grid, told);
  make_arrays(derive, grid, devices);
  grid->narrays_most = 1;
  if (on_devices)
    tell_homes(derive, grid, told, devices);
  sfc_grid_place(derive, grid, on_devices);
  if (derive->status == SF_OK)
    lay_out(derive, grid);
}

/* Creates the graphs of all pairs of arrays. derive has the local error so far; the first graph agrees on errors. */
static sf_status_t make_graphs(sfc_derive_t *derive, sf_grid_t *grid)
{
  int32_t n = derive->status == SF_OK && grid->narrays_most > 0 ? grid->narrays_most : 1; /* 0: another rank fails */
  sf_status_t status = SF_OK;
  if (derive->status == SF_OK)
    grid->graphs = take_memory(derive, (int64_t)n * n, sizeof *grid->graphs);
  for (int32_t i = 0; i < n * n && status == SF_OK; i++) {
    sf_graph_t *graph = NULL;
    if (derive->status == SF_OK && grid->narrays_most > 0)
      sfc_grid_edges(derive, grid, i / n, i % n);
    status = sfc_derive_end(derive, &graph);
    if (status == SF_OK)
      grid->graphs[i] = graph;
    for (int32_t k = 0; k < i && status != SF_OK; k++)
      (void)sf_graph_destroy(grid->graphs[k]);
    sfc_derive_begin(derive, derive->caller, grid->group, SF_GRAPH_DEFAULT);
  }
  return status;
}

sf_status_t sf_grid_create(sf_group_t *group, const sf_grid_options_t *options, sf_grid_t **grid_p)
{
  sfc_derive_t derive;
  sf_status_t status = sfc_derive_on(&derive, __func__, group, SF_GRAPH_DEFAULT);
  if (status != SF_OK)
    return status;
  sfc_derive_check_output(&derive, grid_p);
  sf_grid_t nothing = {.group = group}, *grid = take_memory(&derive, 1, sizeof *grid);
  sf_grid_t *working = grid != NULL ? grid : &nothing; /* so that this rank joins the agreement */
  working->group = group;
  sfc_derive_note(&derive, sfc_grid_options_take(options, &working->options, &working->halo), -1);
  prepare(&derive, working, options);
  status = make_graphs(&derive, working);
  if (status != SF_OK) {
    free_grid(grid);
    return status;
  }
  *grid_p = grid;
  return SF_OK;
}

sf_status_t sf_grid_destroy(sf_grid_t *grid)
{
  if (grid == NULL)
    return SF_OK;
  if (grid->nexchanges > 0)
    return sfshm_error(SF_ERR_STATE, "%s: %d exchanges have not been destroyed", __func__, grid->nexchanges);
  sf_status_t first = SF_OK;
  for (int32_t i = 0; i < grid->narrays_most * grid->narrays_most; i++) {
    sf_status_t status = sf_graph_destroy(grid->graphs[i]);
    first = first == SF_OK ? status : first;
  }
  free_grid(grid);
  return first;
}
