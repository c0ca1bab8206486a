/* PetscSF itself: all operations on random graphs, in many units and with all ops. */
#include "tests/petsc/cases.h"

#include <petscsf.h>
#include <stdlib.h>
#include <string.h>

#define ROOTS 60
#define LEAVES 150

/* Random edges; the last process has no roots, the first one no leaves. */
static PetscErrorCode make_forest(MPI_Comm comm, uint64_t key, PetscSF *sf_p)
{
  int rank = my_rank(comm), size = its_size(comm);
  PetscInt nroots = size > 1 && rank == size - 1 ? 0 : ROOTS, nleaves = size > 1 && rank == 0 ? 0 : LEAVES, *leaves;
  PetscSFNode *roots;
  PetscCall(PetscMalloc1(nleaves, &leaves));
  PetscCall(PetscMalloc1(nleaves, &roots));
  for (PetscInt i = 0; i < nleaves; i++) {
    uint64_t place = key << 40 | (uint64_t)rank << 20 | (uint64_t)i;
    leaves[i] = 7 + 2 * i;
    roots[i].rank = pick(place, size > 1 ? size - 1 : 1);
    roots[i].index = pick(place ^ 99, i % 3 == 0 ? 5 : ROOTS);
  }
  PetscCall(PetscSFCreate(comm, sf_p));
  PetscCall(PetscSFSetFromOptions(*sf_p));
  return PetscSFSetGraph(*sf_p, nroots, nleaves, leaves, PETSC_OWN_POINTER, roots, PETSC_OWN_POINTER);
}

#define LEAF_SPACE (7 + 2 * LEAVES)

/* Room for the largest unit, and bytes that are random but make small values in every type used. */
typedef struct arrays {
  char roots[ROOTS * 64];
  char leaves[LEAF_SPACE * 64];
  char updates[LEAF_SPACE * 64];
} arrays_t;

typedef enum fill { BYTES, INTS, LONGS, DOUBLES, PAIRS } fill_t;

static void fill_array(char *array, size_t bytes, fill_t fill, uint64_t key)
{
  for (size_t i = 0; i < bytes / 8; i++) {
    uint64_t value = (uint64_t)pick(key << 20 | i, 7);
    int pair[2] = {(int)value, (int)pick(key << 20 | i | 1u << 19, 1000)};
    double real = (double)value;
    if (fill == BYTES)
      memset(array + 8 * i, (int)value, 8);
    else if (fill == DOUBLES)
      memcpy(array + 8 * i, &real, 8);
    else if (fill == LONGS)
      memcpy(array + 8 * i, &value, 8);
    else
      memcpy(array + 8 * i, pair, 8);
  }
}

static void fill_arrays(arrays_t *arrays, fill_t fill, uint64_t key)
{
  uint64_t mine = key * 64 + (uint64_t)my_rank(PETSC_COMM_WORLD);
  fill_array(arrays->roots, sizeof arrays->roots, fill, 2 * mine);
  fill_array(arrays->leaves, sizeof arrays->leaves, fill, 2 * mine + 1);
  memset(arrays->updates, 0, sizeof arrays->updates);
}

static void digest_bytes(digest_t *digest, const char *bytes, size_t count)
{
  for (size_t i = 0; i < count / 8; i++) {
    uint64_t word;
    memcpy(&word, bytes + 8 * i, 8);
    digest->value = mix(digest->value ^ word);
  }
}

/* One unit with one op, both ways, as often as it takes. */
static PetscErrorCode move(PetscSF sf, const char *name, MPI_Datatype unit, fill_t fill, MPI_Op op, PetscBool back)
{
  static arrays_t arrays;
  digest_t digest = {0};
  for (uint64_t round = 0; round < 3; round++) {
    fill_arrays(&arrays, fill, round);
    PetscCall(PetscSFBcastBegin(sf, unit, arrays.roots, arrays.leaves, op));
    PetscCall(PetscSFBcastEnd(sf, unit, arrays.roots, arrays.leaves, op));
    digest_bytes(&digest, arrays.leaves, sizeof arrays.leaves);
    if (!back)
      continue;
    fill_arrays(&arrays, fill, round + 10);
    PetscCall(PetscSFReduceBegin(sf, unit, arrays.leaves, arrays.roots, op));
    PetscCall(PetscSFReduceEnd(sf, unit, arrays.leaves, arrays.roots, op));
    digest_bytes(&digest, arrays.roots, sizeof arrays.roots);
  }
  return digest_print(&digest, name);
}

/* Units such as users make. */
typedef struct units {
  MPI_Datatype three, pair, copy, vector;
} units_t;

static PetscErrorCode make_units(units_t *units)
{
  PetscCallMPI(MPI_Type_contiguous(3, MPI_DOUBLE, &units->three));
  PetscCallMPI(MPI_Type_contiguous(2, MPI_INT, &units->pair));
  PetscCallMPI(MPI_Type_dup(units->three, &units->copy));
  PetscCallMPI(MPI_Type_vector(2, 1, 1, MPI_DOUBLE, &units->vector));
  PetscCallMPI(MPI_Type_commit(&units->three));
  PetscCallMPI(MPI_Type_commit(&units->pair));
  PetscCallMPI(MPI_Type_commit(&units->copy));
  PetscCallMPI(MPI_Type_commit(&units->vector));
  return 0;
}

static PetscErrorCode free_units(units_t *units)
{
  PetscCallMPI(MPI_Type_free(&units->three));
  PetscCallMPI(MPI_Type_free(&units->pair));
  PetscCallMPI(MPI_Type_free(&units->copy));
  PetscCallMPI(MPI_Type_free(&units->vector));
  return 0;
}

/* These, and units that PETSc's own code uses. */
static PetscErrorCode move_all(PetscSF sf)
{
  units_t units;
  PetscCall(make_units(&units));
  const struct {
    const char *name;
    MPI_Datatype unit;
    fill_t fill;
    MPI_Op op;
    PetscBool back;
  } moves[] = {
      {"int, replace", MPI_INT, INTS, MPI_REPLACE, PETSC_FALSE},
      {"int, sum", MPI_INT, INTS, MPI_SUM, PETSC_TRUE},
      {"int, product", MPI_INT, INTS, MPI_PROD, PETSC_TRUE},
      {"int, max", MPI_INT, INTS, MPI_MAX, PETSC_TRUE},
      {"int, min", MPI_INT, INTS, MPI_MIN, PETSC_TRUE},
      {"int, logical and", MPI_INT, INTS, MPI_LAND, PETSC_TRUE},
      {"int, logical or", MPI_INT, INTS, MPI_LOR, PETSC_TRUE},
      {"int, logical xor", MPI_INT, INTS, MPI_LXOR, PETSC_TRUE},
      {"int, and", MPI_INT, INTS, MPI_BAND, PETSC_TRUE},
      {"int, or", MPI_INT, INTS, MPI_BOR, PETSC_TRUE},
      {"int, xor", MPI_INT, INTS, MPI_BXOR, PETSC_TRUE},
      {"int64, sum", MPI_INT64_T, LONGS, MPI_SUM, PETSC_TRUE},
      {"signed char, replace", MPI_SIGNED_CHAR, BYTES, MPI_REPLACE, PETSC_FALSE},
      {"signed char, max", MPI_SIGNED_CHAR, BYTES, MPI_MAX, PETSC_TRUE},
      {"char, replace", MPI_CHAR, BYTES, MPI_REPLACE, PETSC_FALSE},
      {"double, replace", MPI_DOUBLE, DOUBLES, MPI_REPLACE, PETSC_FALSE},
      {"double, sum", MPI_DOUBLE, DOUBLES, MPI_SUM, PETSC_TRUE},
      {"double, max", MPI_DOUBLE, DOUBLES, MPI_MAX, PETSC_TRUE},
      {"2int, replace", MPI_2INT, PAIRS, MPI_REPLACE, PETSC_FALSE},
      {"2int, maxloc", MPI_2INT, PAIRS, MPI_MAXLOC, PETSC_TRUE},
      {"2int, minloc", MPI_2INT, PAIRS, MPI_MINLOC, PETSC_TRUE},
      {"three doubles, replace", units.three, DOUBLES, MPI_REPLACE, PETSC_FALSE},
      {"three doubles, sum", units.three, DOUBLES, MPI_SUM, PETSC_TRUE},
      {"their copy, sum", units.copy, DOUBLES, MPI_SUM, PETSC_TRUE},
      {"two ints, sum", units.pair, INTS, MPI_SUM, PETSC_TRUE},
      {"vector, replace", units.vector, DOUBLES, MPI_REPLACE, PETSC_FALSE},
  };
  for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
    PetscCall(move(sf, moves[i].name, moves[i].unit, moves[i].fill, moves[i].op, moves[i].back));
  return free_units(&units);
}

/* The same handle for another datatype: MPI may give what was freed again. */
static PetscErrorCode change_units(PetscSF sf)
{
  digest_t digest = {0};
  static arrays_t arrays;
  for (int count = 1; count <= 7; count++) {
    MPI_Datatype unit;
    PetscCallMPI(MPI_Type_contiguous(count, MPI_DOUBLE, &unit));
    PetscCallMPI(MPI_Type_commit(&unit));
    fill_arrays(&arrays, DOUBLES, (uint64_t)count);
    PetscCall(PetscSFBcastBegin(sf, unit, arrays.roots, arrays.leaves, MPI_SUM));
    PetscCall(PetscSFBcastEnd(sf, unit, arrays.roots, arrays.leaves, MPI_SUM));
    digest_bytes(&digest, arrays.leaves, sizeof arrays.leaves);
    PetscCallMPI(MPI_Type_free(&unit));
  }
  return digest_print(&digest, "datatypes that come and go");
}

/* Several at once, ended in another order, some of them by MPI. */
static PetscErrorCode move_several(PetscSF sf)
{
  static arrays_t a, b, c;
  digest_t digest = {0};
  for (uint64_t round = 0; round < ROUNDS; round++) {
    fill_arrays(&a, DOUBLES, round);
    fill_arrays(&b, DOUBLES, round + 20);
    fill_arrays(&c, PAIRS, round + 40);
    PetscCall(PetscSFBcastBegin(sf, MPI_DOUBLE, a.roots, a.leaves, MPI_REPLACE));
    PetscCall(PetscSFReduceBegin(sf, MPI_DOUBLE, b.leaves, b.roots, MPI_SUM));
    PetscCall(PetscSFReduceBegin(sf, MPI_2INT, c.leaves, c.roots, MPI_MAXLOC));
    PetscCall(PetscSFBcastBegin(sf, MPI_DOUBLE, a.roots, a.updates, MPI_SUM));
    PetscCall(PetscSFReduceEnd(sf, MPI_2INT, c.leaves, c.roots, MPI_MAXLOC));
    PetscCall(PetscSFBcastEnd(sf, MPI_DOUBLE, a.roots, a.updates, MPI_SUM));
    PetscCall(PetscSFReduceEnd(sf, MPI_DOUBLE, b.leaves, b.roots, MPI_SUM));
    PetscCall(PetscSFBcastEnd(sf, MPI_DOUBLE, a.roots, a.leaves, MPI_REPLACE));
    digest_bytes(&digest, a.leaves, sizeof a.leaves);
    digest_bytes(&digest, a.updates, sizeof a.updates);
    digest_bytes(&digest, b.roots, sizeof b.roots);
    digest_bytes(&digest, c.roots, sizeof c.roots);
  }
  return digest_print(&digest, "several at once");
}

/* In which order contributions come is left open: all add one, and the sum of what they fetch tells. */
static PetscErrorCode fetch(PetscSF sf)
{
  PetscInt nroots, nleaves, roots[ROOTS], ones[LEAF_SPACE], fetched[LEAF_SPACE];
  const PetscInt *leaves;
  PetscCall(PetscSFGetGraph(sf, &nroots, &nleaves, &leaves, NULL));
  for (int round = 0; round < ROUNDS; round++) {
    PetscInt sums[2] = {0}, all[2];
    for (PetscInt i = 0; i < nroots; i++)
      roots[i] = 100 * i + round;
    for (PetscInt i = 0; i < LEAF_SPACE; i++)
      ones[i] = 1;
    PetscCall(PetscSFFetchAndOpBegin(sf, MPIU_INT, roots, ones, fetched, MPI_SUM));
    PetscCall(PetscSFFetchAndOpEnd(sf, MPIU_INT, roots, ones, fetched, MPI_SUM));
    for (PetscInt i = 0; i < nroots; i++)
      sums[0] += roots[i] * (i + 1);
    for (PetscInt i = 0; i < nleaves; i++)
      sums[1] += fetched[leaves == NULL ? i : leaves[i]];
    PetscCallMPI(MPI_Reduce(sums, all, 2, MPIU_INT, MPI_SUM, 0, PETSC_COMM_WORLD));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "fetch and add: %" PetscInt_FMT " %" PetscInt_FMT "\n", all[0], all[1]));
  }
  return 0;
}

typedef struct fetches {
  PetscInt before[ROOTS];
  PetscInt after[ROOTS];
  PetscInt reduced[ROOTS];
  PetscInt mine[LEAF_SPACE];
  PetscInt fetched[LEAF_SPACE];
} fetches_t;

static void fill_fetches(fetches_t *f, uint64_t round)
{
  uint64_t key = round << 40 | (uint64_t)my_rank(PETSC_COMM_WORLD) << 20;
  memset(f, 0, sizeof *f);
  for (PetscInt i = 0; i < LEAF_SPACE; i++)
    f->mine[i] = pick(key | (uint64_t)i, 1000);
  for (PetscInt i = 0; i < ROOTS; i++)
    f->before[i] = f->after[i] = f->reduced[i] = pick(key | 1u << 19 | (uint64_t)i, 1000);
}

/* before + what each leaf has changed: it fetched what its root was before its own value came. */
static PetscErrorCode add_changes(PetscSF sf, MPI_Op op, fetches_t *f)
{
  PetscInt changes[LEAF_SPACE];
  for (PetscInt i = 0; i < LEAF_SPACE; i++)
    changes[i] = (op == MPI_MAX ? PetscMax(f->fetched[i], f->mine[i]) : f->mine[i]) - f->fetched[i];
  PetscCall(PetscSFReduceBegin(sf, MPIU_INT, changes, f->before, MPI_SUM));
  return PetscSFReduceEnd(sf, MPIU_INT, changes, f->before, MPI_SUM);
}

/* The roots must be what a reduce makes of them, and what the leaves have fetched must lead there. */
static PetscErrorCode fetch_with(PetscSF sf, MPI_Op op, uint64_t round)
{
  static fetches_t f;
  PetscInt nroots;
  PetscCall(PetscSFGetGraph(sf, &nroots, NULL, NULL, NULL));
  fill_fetches(&f, round);
  PetscCall(PetscSFFetchAndOpBegin(sf, MPIU_INT, f.after, f.mine, f.fetched, op));
  PetscCall(PetscSFFetchAndOpEnd(sf, MPIU_INT, f.after, f.mine, f.fetched, op));
  PetscCall(PetscSFReduceBegin(sf, MPIU_INT, f.mine, f.reduced, op));
  PetscCall(PetscSFReduceEnd(sf, MPIU_INT, f.mine, f.reduced, op));
  PetscCall(add_changes(sf, op, &f));
  for (PetscInt i = 0; i < nroots; i++)
    PetscCheck(f.after[i] == f.reduced[i] && f.after[i] == f.before[i], PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "fetch and %s: root %" PetscInt_FMT ": %" PetscInt_FMT ", by reduce %" PetscInt_FMT
               ", by what was fetched %" PetscInt_FMT,
               op == MPI_MAX ? "max" : "replace", i, f.after[i], f.reduced[i], f.before[i]);
  return 0;
}

/* PETSc's own types can fetch and add only. Prints nothing, as they could not. */
static PetscErrorCode fetch_otherwise(PetscSF sf)
{
  PetscBool can;
  PetscCall(PetscObjectTypeCompare((PetscObject)sf, "sfd", &can));
  for (uint64_t round = 0; round < 3 && can && its_size(PETSC_COMM_WORLD) > 1; round++) {
    PetscCall(fetch_with(sf, MPI_MAX, round));
    PetscCall(fetch_with(sf, MPI_REPLACE, round));
  }
  return 0;
}

/* Where several leaves of one rank have one root, their order is left open: each root's values are sorted. */
static PetscErrorCode gather(PetscSF sf)
{
  const PetscInt *degrees;
  PetscInt nroots, total = 0, *gathered, mine[LEAF_SPACE], back[LEAF_SPACE];
  digest_t digest = {0};
  PetscCall(PetscSFGetGraph(sf, &nroots, NULL, NULL, NULL));
  PetscCall(PetscSFComputeDegreeBegin(sf, &degrees));
  PetscCall(PetscSFComputeDegreeEnd(sf, &degrees));
  for (PetscInt i = 0; i < nroots; i++)
    total += degrees[i];
  PetscCall(PetscMalloc1(total + 1, &gathered));
  for (uint64_t round = 0; round < ROUNDS; round++) {
    for (PetscInt i = 0; i < LEAF_SPACE; i++) {
      mine[i] = pick(round << 40 | (uint64_t)my_rank(PETSC_COMM_WORLD) << 20 | (uint64_t)i, 100000);
      back[i] = -1;
    }
    PetscCall(PetscSFGatherBegin(sf, MPIU_INT, mine, gathered));
    PetscCall(PetscSFGatherEnd(sf, MPIU_INT, mine, gathered));
    for (PetscInt i = 0; i < total; i++)
      gathered[i] += 7;
    PetscCall(PetscSFScatterBegin(sf, MPIU_INT, gathered, back));
    PetscCall(PetscSFScatterEnd(sf, MPIU_INT, gathered, back));
    for (PetscInt i = 0; i < LEAF_SPACE; i++)
      digest_int(&digest, back[i]);
    for (PetscInt i = 0, k = 0; i < nroots; k += degrees[i++])
      PetscCall(PetscSortInt(degrees[i], gathered + k));
    for (PetscInt i = 0; i < total; i++)
      digest_int(&digest, gathered[i]);
  }
  PetscCall(digest_print(&digest, "gather and scatter"));
  return PetscFree(gathered);
}

/* What the type says of itself, for those who look whether it is used: not the same for all types. -ask COMMAND is done
 * meanwhile, by one process. */
static PetscErrorCode show(PetscSF sf)
{
  PetscBool wanted, asked;
  char command[PETSC_MAX_PATH_LEN];
  PetscCall(PetscOptionsHasName(NULL, NULL, "-show", &wanted));
  if (wanted)
    PetscCall(PetscSFView(sf, PETSC_VIEWER_STDERR_WORLD));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-ask", command, sizeof command, &asked));
  if (asked && my_rank(PETSC_COMM_WORLD) == 0)
    PetscCheck(system(command) == 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "%s", command);
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  return 0;
}

PetscErrorCode case_forest(void)
{
  PetscSF sf;
  PetscCall(make_forest(PETSC_COMM_WORLD, 1, &sf));
  PetscCall(move_all(sf));
  PetscCall(change_units(sf));
  PetscCall(move_several(sf));
  PetscCall(fetch(sf));
  PetscCall(fetch_otherwise(sf));
  PetscCall(gather(sf));
  PetscCall(show(sf));
  return PetscSFDestroy(&sf);
}
