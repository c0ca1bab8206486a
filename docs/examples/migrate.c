/* Migration of a mesh to a new partition: ownership discovery and graph distribution [SF 3], timed for three initial
 * distributions [PetscSF 6.3, figure 11].
 *
 *   sfrun -n 8 -- migrate [CELLS_PER_SIDE]
 *
 * The mesh is a cube of cells, periodic in all three directions. At first it is on one rank (seq), in blocks of
 * consecutive cell numbers (chunks), or each cell is on a random rank (rand). Recursive coordinate bisection says where
 * each cell is to go: its old owner knows the new one, but not the other way round. What travels with a cell: its
 * number and centre, its labels, of which some cells have more than others, and its neighbours. For these an owner
 * knows only the old places, and their new ones are known elsewhere.
 *
 *   discover    how many cells come, and where among them mine go: fetch-and-op on one counter for each rank
 *   sf_new      leaves: my old cells, roots: the new ones; cells move by reduce
 *   sf_old      leaves: neighbours of my old cells, roots: cells at their old owners: bcast of the new places
 *   lists       labels and neighbours move on graphs of their units, made from sf_new by sections
 *   neighbours  a graph that connects each cell with its neighbours where they are now: with it the mesh is in use
 * again
 *
 * Everything but the making of the old mesh and the bisection is timed. */
#include <mpi.h>
#include <sf/sf.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/csr.h"
#include "common/job.h"
#include "common/scattered.h"

#define NEIGHBOURS 6
#define REPEATS 3

typedef enum distribution { SEQ, CHUNKS, RAND, DISTRIBUTIONS } distribution_t;

/* Some of the job's ranks: the first ones. */
typedef struct team {
  sf_group_t *group;
  MPI_Comm comm;
  int rank, size;
} team_t;

/* Travels as an opaque unit. */
typedef struct cell {
  int64_t number;
  double centre[3];
} cell_t;

typedef struct place {
  int64_t rank, index;
} place_t;

/* What one rank has of the mesh. Lists of labels, and of neighbours, follow one another in the order of cells. */
typedef struct part {
  int32_t n;
  cell_t *cell;
  int64_t *nlabels;
  int64_t *label;
  int64_t *nneighbours;
  place_t *neighbour; /* where they are; of the old mesh where they will be */
  sf_graph_t *graph;  /* leaves: all neighbours of my cells; roots: cells */
} part_t;

/* ---- The mesh ---------------------------------------------------------------------------------------------------- */

static int64_t neighbour_of(int64_t number, int64_t side, int k)
{
  int64_t x[3] = {number % side, number / side % side, number / (side * side)};
  x[k / 2] = (x[k / 2] + (k % 2 == 0 ? 1 : side - 1)) % side;
  return x[0] + side * (x[1] + side * x[2]);
}

static cell_t make_cell(int64_t number, int64_t side)
{
  double h = 1.0 / (double)side;
  return (cell_t){number,
                  {h * ((double)(number % side) + 0.5), h * ((double)(number / side % side) + 0.5),
                   h * ((double)(number / (side * side)) + 0.5)}};
}

static int64_t count_labels(int64_t number)
{
  return (int64_t)(scattered_bits((uint64_t)number, 1) % 4);
}

static int64_t label_of(int64_t number, int64_t k)
{
  return (int64_t)(scattered_bits((uint64_t)number, 2) >> 4) + k;
}

static int first_owner(distribution_t distribution, int64_t number, int64_t ncells, int size)
{
  if (distribution == SEQ)
    return 0;
  if (distribution == RAND)
    return (int)(scattered_bits((uint64_t)number, 3) % (uint64_t)size);
  int rank = 0;
  while (number >= block_first((int32_t)ncells, size, rank + 1))
    rank++;
  return rank;
}

static void part_allocate(part_t *part, int32_t n, int64_t nlabels)
{
  *part = (part_t){.n = n,
                   .cell = array_new(n, sizeof *part->cell),
                   .nlabels = array_new(n, sizeof *part->nlabels),
                   .label = array_new(nlabels, sizeof *part->label),
                   .nneighbours = array_new(n, sizeof *part->nneighbours),
                   .neighbour = array_new(NEIGHBOURS * (int64_t)n, sizeof *part->neighbour)};
}

static void part_free(part_t *part)
{
  must(sf_graph_destroy(part->graph), "sf_graph_destroy");
  free(part->cell);
  free(part->nlabels);
  free(part->label);
  free(part->nneighbours);
  free(part->neighbour);
}

/* Connects each of my cells' neighbours with the cell of that number, whoever has it. */
static sf_graph_t *find_neighbours(const team_t *team, const part_t *part, int32_t side)
{
  int64_t *offered = array_new(part->n, sizeof *offered), *wanted = array_new(NEIGHBOURS * (int64_t)part->n, 8);
  for (int32_t i = 0; i < part->n; i++) {
    offered[i] = part->cell[i].number;
    for (int k = 0; k < NEIGHBOURS; k++)
      wanted[NEIGHBOURS * (int64_t)i + k] = neighbour_of(offered[i], side, k);
  }
  sf_match_t match = {.nnames = (int64_t)side * side * side,
                      .root_space = part->n,
                      .nroots = part->n,
                      .root_name = offered,
                      .nleaves = NEIGHBOURS * (int64_t)part->n,
                      .leaf_name = wanted};
  sf_graph_t *graph;
  must(sf_graph_create_matching(team->group, &match, SF_GRAPH_DEFAULT, &graph), "sf_graph_create_matching");
  free(offered);
  free(wanted);
  return graph;
}

static part_t make_old(const team_t *team, int32_t side, distribution_t distribution)
{
  int64_t ncells = (int64_t)side * side * side, nlabels = 0;
  int32_t n = 0;
  part_t part;
  for (int64_t number = 0; number < ncells; number++)
    if (first_owner(distribution, number, ncells, team->size) == team->rank) {
      n++;
      nlabels += count_labels(number);
    }
  part_allocate(&part, n, nlabels);
  n = 0;
  nlabels = 0;
  for (int64_t number = 0; number < ncells; number++) {
    if (first_owner(distribution, number, ncells, team->size) != team->rank)
      continue;
    part.cell[n] = make_cell(number, side);
    part.nneighbours[n] = NEIGHBOURS;
    part.nlabels[n] = count_labels(number);
    for (int64_t k = 0; k < part.nlabels[n]; k++)
      part.label[nlabels++] = label_of(number, k);
    n++;
  }
  part.graph = find_neighbours(team, &part, side);
  return part;
}

/* ---- Migration --------------------------------------------------------------------------------------------------- */

/* Finds the new index of each of my cells at its target, and how many cells come here. Every rank has one root, its
 * counter; its leaves are on the ranks that have something for it, with how much that is. What a leaf fetches is how
 * many come before. */
static int64_t discover(const team_t *team, int32_t n, const int32_t target[], int64_t index[])
{
  int64_t *count = array_new(team->size, sizeof *count), *before = array_new(team->size, sizeof *before);
  int64_t *zero = array_new(team->size, sizeof *zero), *leaf = array_new(team->size, sizeof *leaf), ncoming = 0;
  int32_t *rank = array_new(team->size, sizeof *rank), nranks = 0;
  sf_graph_t *counters;
  memset(count, 0, sizeof *count * (size_t)team->size);
  for (int32_t i = 0; i < n; i++)
    index[i] = count[target[i]]++;
  for (int32_t r = 0; r < team->size; r++)
    if (count[r] > 0) {
      zero[nranks] = 0;
      leaf[nranks] = r;
      rank[nranks++] = r;
    }
  must(sf_graph_create(team->group, 1, nranks, leaf, rank, zero, SF_GRAPH_DEFAULT, &counters), "sf_graph_create");
  must(sf_fetch_op(counters, SF_INT64, &ncoming, count, before, SF_SUM), "sf_fetch_op");
  must(sf_graph_destroy(counters), "sf_graph_destroy");
  for (int32_t i = 0; i < n; i++)
    index[i] += before[target[i]];
  free(count);
  free(before);
  free(zero);
  free(leaf);
  free(rank);
  return ncoming;
}

/* Moves lists of count[i] units that belong to the leaves of the graph to its roots, each of which has one leaf. */
static void *move_lists(sf_graph_t *graph, const part_t *old, const int64_t count[], const void *data, part_t *new,
                        int64_t new_count[], const sf_type_t *unit)
{
  int64_t total;
  sf_graph_t *units;
  must(sf_reduce(graph, SF_INT64, count, new_count, SF_REPLACE), "sf_reduce");
  sf_section_t here = {old->n, count, NULL}, there = {new->n, new_count, NULL};
  must(sf_section_extent(&there, &total), "sf_section_extent");
  must(sf_section_graph(graph, &there, &here, &units), "sf_section_graph");
  void *moved = array_new(total, sf_type_size(unit));
  must(sf_reduce(units, unit, data, moved, SF_REPLACE), "sf_reduce");
  must(sf_graph_destroy(units), "sf_graph_destroy");
  return moved;
}

/* The graph of neighbours where they are now. */
static sf_graph_t *connect_neighbours(const team_t *team, const part_t *part)
{
  int64_t n = NEIGHBOURS * (int64_t)part->n, *root = array_new(n, sizeof *root);
  int32_t *rank = array_new(n, sizeof *rank);
  sf_graph_t *graph;
  for (int64_t i = 0; i < n; i++) {
    rank[i] = (int32_t)part->neighbour[i].rank;
    root[i] = part->neighbour[i].index;
  }
  must(sf_graph_create(team->group, part->n, n, NULL, rank, root, SF_GRAPH_DEFAULT, &graph), "sf_graph_create");
  free(root);
  free(rank);
  return graph;
}

/* Where all my cells' neighbours will be: their owners tell. */
static void ask_for_places(part_t *old, const int32_t target[], const int64_t index[], const sf_type_t *place_unit)
{
  place_t *place = array_new(old->n, sizeof *place);
  for (int32_t i = 0; i < old->n; i++)
    place[i] = (place_t){target[i], index[i]};
  must(sf_bcast(old->graph, place_unit, place, old->neighbour, SF_REPLACE), "sf_bcast");
  free(place);
}

static part_t migrate(const team_t *team, part_t *old, const int32_t target[])
{
  int64_t *index = array_new(old->n, sizeof *index);
  const sf_type_t *cell_unit, *place_unit;
  sf_graph_t *sf_new;
  must(sf_type_create_opaque(sizeof(cell_t), &cell_unit), "sf_type_create_opaque");
  must(sf_type_create_block(2, SF_INT64, &place_unit), "sf_type_create_block");
  part_t new = {.n = (int32_t)discover(team, old->n, target, index)};
  new.cell = array_new(new.n, sizeof *new.cell);
  new.nlabels = array_new(new.n, sizeof *new.nlabels);
  new.nneighbours = array_new(new.n, sizeof *new.nneighbours);
  must(sf_graph_create(team->group, new.n, old->n, NULL, target, index, SF_GRAPH_DEFAULT, &sf_new), "sf_graph_create");
  must(sf_reduce(sf_new, cell_unit, old->cell, new.cell, SF_REPLACE), "sf_reduce");
  ask_for_places(old, target, index, place_unit);
  new.label = move_lists(sf_new, old, old->nlabels, old->label, &new, new.nlabels, SF_INT64);
  new.neighbour = move_lists(sf_new, old, old->nneighbours, old->neighbour, &new, new.nneighbours, place_unit);
  new.graph = connect_neighbours(team, &new);
  must(sf_graph_destroy(sf_new), "sf_graph_destroy");
  must(sf_type_destroy(cell_unit), "sf_type_destroy");
  must(sf_type_destroy(place_unit), "sf_type_destroy");
  free(index);
  return new;
}

/* ---- Check ------------------------------------------------------------------------------------------------------- */

/* Where each cell of the mesh goes, found in one process. */
static int32_t *bisect_serially(int32_t side, int32_t nparts)
{
  int32_t ncells = side * side * side, *target = array_new(ncells, sizeof *target);
  int64_t *number = array_new(ncells, sizeof *number);
  for (int32_t i = 0; i < ncells; i++)
    number[i] = i;
  bisect(MPI_COMM_SELF, side, ncells, number, nparts, target);
  free(number);
  return target;
}

/* How many of my cells are wrong, or missing: not those that belong here, or with wrong contents. */
static int64_t count_wrong(const team_t *team, const part_t *part, int32_t side, const int32_t target[])
{
  int64_t ncells = (int64_t)side * side * side, missing = 0, wrong = 0, label = 0;
  char *seen = array_new(ncells, 1);
  memset(seen, 0, (size_t)ncells);
  for (int32_t i = 0; i < part->n; i++) {
    cell_t expected = make_cell(part->cell[i].number, side);
    bool good = memcmp(&part->cell[i], &expected, sizeof expected) == 0 && target[expected.number] == team->rank &&
                part->nlabels[i] == count_labels(expected.number) && part->nneighbours[i] == NEIGHBOURS;
    for (int64_t k = 0; good && k < part->nlabels[i]; k++)
      good = part->label[label + k] == label_of(expected.number, k);
    label += part->nlabels[i];
    seen[expected.number] = 1;
    wrong += !good;
  }
  for (int64_t number = 0; number < ncells; number++)
    missing += target[number] == team->rank && !seen[number];
  free(seen);
  return wrong + missing;
}

/* How many neighbours are not the cells that they should be, as a broadcast of cell numbers finds. */
static int64_t count_wrong_neighbours(const part_t *part, int32_t side)
{
  int64_t *mine = array_new(part->n, sizeof *mine), wrong = 0;
  int64_t *theirs = array_new(NEIGHBOURS * (int64_t)part->n, sizeof *theirs);
  for (int32_t i = 0; i < part->n; i++)
    mine[i] = part->cell[i].number;
  must(sf_bcast(part->graph, SF_INT64, mine, theirs, SF_REPLACE), "sf_bcast");
  for (int32_t i = 0; i < part->n; i++)
    for (int k = 0; k < NEIGHBOURS; k++)
      wrong += theirs[NEIGHBOURS * (int64_t)i + k] != neighbour_of(mine[i], side, k);
  free(mine);
  free(theirs);
  return wrong;
}

/* ---- Times ------------------------------------------------------------------------------------------------------- */

/* One migration, several times: the shortest time, of the slowest rank, in ms; *wrong_p grows by what is wrong. */
static double run(const team_t *team, int32_t side, distribution_t distribution, double *wrong_p)
{
  int32_t *serial = bisect_serially(side, team->size);
  double best = 0;
  part_t old = make_old(team, side, distribution);
  int64_t *number = array_new(old.n, sizeof *number), wrong = 0;
  int32_t *target = array_new(old.n, sizeof *target);
  for (int32_t i = 0; i < old.n; i++)
    number[i] = old.cell[i].number;
  bisect(team->comm, side, old.n, number, team->size, target);
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    MPI_Barrier(team->comm);
    double begin = MPI_Wtime();
    part_t new = migrate(team, &old, target);
    double ms = 1e3 * (MPI_Wtime() - begin);
    MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, team->comm);
    best = repeat == 0 || ms < best ? ms : best;
    wrong += count_wrong(team, &new, side, serial) + count_wrong_neighbours(&new, side);
    part_free(&new);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, team->comm);
  *wrong_p += (double)wrong;
  part_free(&old);
  free(serial);
  free(number);
  free(target);
  return best;
}

/* The first size ranks of the job make a line of the table; the others sleep. */
static double run_line(const job_t *job, int size, int32_t side)
{
  team_t team = {.rank = job->rank, .size = size};
  int32_t *ranks = array_new(size, sizeof *ranks);
  double ms[DISTRIBUTIONS] = {0}, wrong = 0;
  for (int32_t i = 0; i < size; i++)
    ranks[i] = i;
  MPI_Comm_split(MPI_COMM_WORLD, job->rank < size ? 0 : MPI_UNDEFINED, job->rank, &team.comm);
  if (job->rank < size) {
    must(sf_group_create(job->context, size, ranks, size, &team.group), "sf_group_create");
    for (int distribution = 0; distribution < DISTRIBUTIONS; distribution++)
      ms[distribution] = run(&team, side, (distribution_t)distribution, &wrong);
    must(sf_group_destroy(team.group), "sf_group_destroy");
    MPI_Comm_free(&team.comm);
  }
  wait_for_rank_0();
  say(job, "  %5d  %10.2f  %10.2f  %10.2f\n", size, ms[SEQ], ms[CHUNKS], ms[RAND]);
  free(ranks);
  return wrong;
}

int main(int argc, char *argv[])
{
  MPI_Init(&argc, &argv);
  int32_t side = number_argument(argc, argv, "CELLS_PER_SIDE", 1, 500, 32);
  job_t job = job_join();
  double wrong = 0;
  say(&job, "Migration of a periodic mesh of %d x %d x %d cells, ms (the best of %d; of the slowest rank):\n\n", side,
      side, side, REPEATS);
  say(&job, "  ranks         seq      chunks        rand\n");
  for (int size = 1; size <= job.size; size *= 2)
    wrong += run_line(&job, size, side);
  say(&job, "\n");
  check(&job, wrong == 0,
        "each cell is where the serial bisection puts it, with centre, labels and neighbours: %.0f wrong", wrong);
  return job_end(&job);
}
