/* Units and ops of MPI datatypes and ops: what becomes of which, compared with what MPI itself says that a datatype
 * covers, for chosen ones and for random ones. One process. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sf/sf_mpi.h>

#include "client/core/type.h"

static int failures;
static uint64_t state = 1;

static void expect(bool ok, const char *what)
{
  if (ok)
    return;
  fprintf(stderr, "not so: %s (%s)\n", what, sf_error_detail());
  failures++;
}

static int below(int n)
{
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((state >> 33) % (uint64_t)n);
}

/* ---- Chosen ones ---- */

static void expect_unit(MPI_Datatype datatype, sfshm_base_t base, int64_t count, const char *what)
{
  const sf_type_t *type = NULL;
  expect(sf_mpi_type(datatype, &type) == SF_OK, what);
  if (type == NULL)
    return;
  expect(type->unit.base == base && type->unit.count == count, what);
  sf_type_destroy(type);
}

static void expect_refused(MPI_Datatype datatype, const char *detail)
{
  const sf_type_t *type = NULL;
  expect(sf_mpi_type(datatype, &type) == SF_ERR_UNSUPPORTED && type == NULL, detail);
  expect(strstr(sf_error_detail(), detail) != NULL, detail);
}

static void check_predefined(void)
{
  expect_unit(MPI_DOUBLE, SFSHM_BASE_DOUBLE, 1, "double");
  expect_unit(MPI_INT, SFSHM_BASE_INT32, 1, "int");
  expect_unit(MPI_C_FLOAT_COMPLEX, SFSHM_BASE_FLOAT_COMPLEX, 1, "float complex");
  expect_unit(MPI_2INT, SFSHM_BASE_INT32_INT32, 1, "2int");
  expect_unit(MPI_SHORT_INT, SFSHM_BASE_INT16_INT32, 1, "short_int");
  expect_unit(MPI_LONG_INT, SFSHM_BASE_INT64_INT32, 1, "long_int");
  expect_unit(MPI_FLOAT_INT, SFSHM_BASE_FLOAT_INT32, 1, "float_int");
  expect_unit(MPI_DOUBLE_INT, SFSHM_BASE_DOUBLE_INT32, 1, "double_int");
  expect_unit(MPI_LONG_DOUBLE, SFSHM_BASE_OPAQUE, sizeof(long double), "long double");
}

typedef struct particle {
  double position[3];
  float mass;
  char kind;
} particle_t;

static MPI_Datatype make_struct(bool with_kind)
{
  int counts[] = {1, 3, 1};
  MPI_Aint at[] = {offsetof(particle_t, mass), offsetof(particle_t, position), offsetof(particle_t, kind)};
  MPI_Datatype parts[] = {MPI_FLOAT, MPI_DOUBLE, MPI_CHAR}, whole, resized;
  MPI_Type_create_struct(with_kind ? 3 : 2, counts, at, parts, &whole);
  MPI_Type_create_resized(whole, 0, sizeof(particle_t), &resized);
  MPI_Type_free(&whole);
  return resized;
}

static void check_derived(void)
{
  MPI_Datatype three, matrix, backwards, column, particle, many, array, planes, plane;
  MPI_Type_contiguous(3, MPI_DOUBLE, &three);
  expect_unit(three, SFSHM_BASE_DOUBLE, 3, "contiguous");
  MPI_Type_vector(4, 3, 3, MPI_DOUBLE, &matrix);
  expect_unit(matrix, SFSHM_BASE_DOUBLE, 12, "a vector without gaps");
  MPI_Type_create_indexed_block(3, 2, (int[]){4, 2, 0}, MPI_INT, &backwards);
  expect_unit(backwards, SFSHM_BASE_INT32, 6, "indexed, backwards");
  MPI_Type_create_resized(MPI_DOUBLE, 0, 24, &column);
  expect_refused(column, "bytes 8 to 23 of each 24");
  MPI_Type_create_subarray(2, (int[]){5, 4}, (int[]){5, 4}, (int[]){0, 0}, MPI_ORDER_C, three, &array);
  expect_unit(array, SFSHM_BASE_DOUBLE, 60, "all of an array");
  MPI_Type_create_subarray(3, (int[]){4, 3, 2}, (int[]){4, 3, 1}, (int[]){0, 0, 0}, MPI_ORDER_FORTRAN, MPI_INT,
                           &planes);
  MPI_Type_create_resized(planes, 0, 48, &plane);
  expect_unit(plane, SFSHM_BASE_INT32, 12, "the first plane of an array, as long as it is");
  particle = make_struct(true);
  expect_unit(particle, SFSHM_BASE_OPAQUE, sizeof(particle_t), "a struct");
  MPI_Type_contiguous(1000000, particle, &many);
  expect_unit(many, SFSHM_BASE_OPAQUE, 1000000 * (int64_t)sizeof(particle_t), "many structs");
  MPI_Datatype made[] = {three, matrix, backwards, column, particle, many, array, planes, plane};
  for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
    MPI_Type_free(&made[i]);
}

static void check_strange(void)
{
  MPI_Datatype twice, nothing, part, scattered;
  int at[40000], counts[40000];
  MPI_Type_create_indexed_block(2, 2, (int[]){0, 1}, MPI_INT, &twice);
  expect_refused(twice, "more than once");
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  expect_refused(nothing, "");
  MPI_Type_create_subarray(2, (int[]){4, 4}, (int[]){2, 2}, (int[]){1, 1}, MPI_ORDER_C, MPI_INT, &part);
  expect_refused(part, "bytes 0 to 19 of each 64");
  for (int i = 0; i < 40000; i++) {
    at[i] = 3 * i;
    counts[i] = 1;
  }
  MPI_Type_indexed(40000, counts, at, MPI_INT, &scattered);
  MPI_Datatype pairs;
  MPI_Type_contiguous(2, scattered, &pairs);
  expect_refused(pairs, "pieces");
  MPI_Datatype made[] = {twice, nothing, part, scattered, pairs};
  for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
    MPI_Type_free(&made[i]);
}

static void check_distributed(int order)
{
  const int sizes[] = {4, 6}, distribution[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, one[] = {1, 1}, two[] = {2, 1};
  MPI_Datatype whole, part;
  MPI_Type_create_darray(1, 0, 2, sizes, distribution, arguments, one, order, MPI_DOUBLE, &whole);
  expect_unit(whole, SFSHM_BASE_DOUBLE, 24, "all of a distributed array");
  MPI_Type_create_darray(2, 1, 2, sizes, distribution, arguments, two, order, MPI_DOUBLE, &part);
  expect_refused(part, "part of a distributed array");
  MPI_Type_free(&whole);
  MPI_Type_free(&part);
}

static void check_ops(void)
{
  const sf_op_t *op = NULL;
  expect(sf_mpi_op(MPI_MAXLOC, &op) == SF_OK && op == SF_MAXLOC, "maxloc");
  expect(sf_mpi_op(MPI_MINLOC, &op) == SF_OK && op == SF_MINLOC, "minloc");
  expect(sf_mpi_op(MPI_SUM, &op) == SF_OK && op == SF_SUM, "sum");
  expect(sf_mpi_op(MPI_NO_OP, &op) == SF_ERR_UNSUPPORTED, "no_op");
  expect(strstr(sf_error_detail(), "sf_mpi_op_create") != NULL, "what to do instead");
}

/* ---- Random ones ---- */

static const struct {
  MPI_Datatype *datatype; /* handles are not constants everywhere */
  sfshm_base_t base;
} bases[] = {{&(MPI_Datatype){0}, SFSHM_BASE_INT32},
             {&(MPI_Datatype){0}, SFSHM_BASE_DOUBLE},
             {&(MPI_Datatype){0}, SFSHM_BASE_UINT8}};

/* Something made of one or two datatypes, often without gaps. */
static MPI_Datatype derive(MPI_Datatype a, MPI_Datatype b)
{
  MPI_Datatype made;
  MPI_Aint lower, extent;
  int n = 1 + below(3), length = 1 + below(2);
  MPI_Type_get_extent(a, &lower, &extent);
  switch (below(8)) {
  case 0:
    MPI_Type_contiguous(n, a, &made);
    break;
  case 1:
    MPI_Type_vector(n, length, length + (below(4) == 0), a, &made);
    break;
  case 2:
    MPI_Type_create_hvector(n, length, length * extent + 4 * (below(4) == 0), a, &made);
    break;
  case 3:
    MPI_Type_indexed(2, (int[]){1, 2}, (int[]){2 + (below(4) == 0), 0}, a, &made);
    break;
  case 4:
    MPI_Type_create_struct(2, (int[]){n, 1}, (MPI_Aint[]){0, n * extent}, (MPI_Datatype[]){a, b}, &made);
    break;
  case 5:
    MPI_Type_create_subarray(3, (int[]){3, n, 2}, (int[]){3 - (below(4) == 0), n, 2 - (below(3) == 0)},
                             (int[]){0, 0, 0}, below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, a, &made);
    break;
  case 6:
    MPI_Type_create_resized(a, 0, extent + 8 * (below(4) == 0), &made);
    break;
  default:
    MPI_Type_create_hindexed_block(2, 1, (MPI_Aint[]){extent, 0}, a, &made);
  }
  return made;
}

/* The longest gap of a datatype, as unpacking shows; whether its values overlap is known by their number. */
static int longest_gap(MPI_Datatype datatype, MPI_Aint extent, bool *overlaps_p)
{
  int size, packed_bytes, position = 0, gap = 0, longest = 0, covered = 0;
  MPI_Type_size(datatype, &size);
  MPI_Pack_size(1, datatype, MPI_COMM_SELF, &packed_bytes);
  char *packed = malloc((size_t)packed_bytes + 1), *memory = calloc((size_t)extent + 64, 1);
  memset(packed, 1, (size_t)packed_bytes);
  MPI_Unpack(packed, packed_bytes, &position, memory, 1, datatype, MPI_COMM_SELF);
  for (MPI_Aint i = 0; i < extent; i++) {
    gap = memory[i] != 0 ? 0 : gap + 1;
    covered += memory[i] != 0;
    longest = gap > longest ? gap : longest;
  }
  *overlaps_p = covered < size;
  free(packed);
  free(memory);
  return longest;
}

static void check_random(void)
{
  int one = below(3), other = below(2) == 0 ? one : below(3), depth = 1 + below(4);
  MPI_Datatype datatype = *bases[one].datatype, second = *bases[other].datatype;
  bool mixed = false, overlaps;
  MPI_Type_dup(datatype, &datatype);
  for (int i = 0; i < depth; i++) {
    MPI_Datatype made = derive(datatype, second);
    MPI_Type_free(&datatype);
    datatype = made;
  }
  MPI_Aint lower, extent;
  MPI_Type_get_extent(datatype, &lower, &extent);
  MPI_Type_commit(&datatype);
  int gap = longest_gap(datatype, extent, &overlaps);
  const sf_type_t *type = NULL;
  sf_status_t status = sf_mpi_type(datatype, &type);
  mixed = one != other;
  if (overlaps || gap >= 16) /* two gaps that C might leave may meet */
    expect(status == SF_ERR_UNSUPPORTED, "overlaps and gaps are refused");
  else if (gap == 0)
    expect(status == SF_OK, "what is dense is accepted");
  if (status == SF_OK) {
    expect((MPI_Aint)sf_type_size(type) == extent, "a unit is as long as the datatype");
    expect(gap > 0 ? type->unit.base == SFSHM_BASE_OPAQUE : mixed || type->unit.base == bases[one].base,
           "values of one type keep it");
    sf_type_destroy(type);
  }
  MPI_Type_free(&datatype);
}

/* The higher of two by the first of their values, else what was there: made to be used with pairs of doubles. */
static void choose(void *in, void *inout, int *n, MPI_Datatype *datatype)
{
  const double *from = in;
  double *to = inout;
  (void)datatype;
  for (int i = 0; i < *n; i++)
    if (from[2 * i] > to[2 * i])
      memcpy(to + 2 * i, from + 2 * i, 2 * sizeof(double));
}

static void check_created_op(MPI_Datatype pairs, int commutes)
{
  const double in[] = {3, 30, 1, 10};
  double inout[] = {2, 20, 4, 40};
  const sf_op_t *op = NULL;
  MPI_Op mpi;
  MPI_Op_create(choose, commutes, &mpi);
  expect(sf_mpi_op_create(mpi, pairs, &op) == SF_OK, "op of MPI_Op_create");
  expect(op->op == SFSHM_OP_APPLICATION, "the application's");
  op->function(in, inout, 2, 2 * sizeof(double), op->context);
  expect(inout[0] == 3 && inout[1] == 30 && inout[2] == 4 && inout[3] == 40, "it calls MPI's");
  expect(sf_mpi_op_destroy(op) == SF_OK, "destroyed");
  MPI_Op_free(&mpi);
}

/* x -> a x + b after another such map: neither commutes, nor is it the same when the arguments are exchanged. */
static void follow(void *in, void *inout, int *n, MPI_Datatype *datatype)
{
  const double *first = in;
  double *second = inout;
  (void)datatype;
  for (int i = 0; i < *n; i++) {
    double a = first[2 * i] * second[2 * i], b = first[2 * i] * second[2 * i + 1] + first[2 * i + 1];
    second[2 * i] = a;
    second[2 * i + 1] = b;
  }
}

/* Of many values: more than are combined at once. */
static void check_order(MPI_Datatype pairs)
{
  enum { N = 1000 };
  static double in[2 * N], inout[2 * N];
  const sf_op_t *op = NULL;
  MPI_Op mpi;
  MPI_Op_create(follow, 0, &mpi);
  for (int i = 0; i < N; i++) {
    inout[2 * i] = 2 + i;
    inout[2 * i + 1] = 3;
    in[2 * i] = 5;
    in[2 * i + 1] = 7 + i;
  }
  expect(sf_mpi_op_create(mpi, pairs, &op) == SF_OK, "op that does not commute");
  op->function(in, inout, N, 2 * sizeof(double), op->context);
  for (int i = 0; i < N; i++) /* what was there, then what comes */
    expect(inout[2 * i] == (2 + i) * 5 && inout[2 * i + 1] == (2 + i) * (7 + i) + 3, "in the order of sf_op_create");
  expect(sf_mpi_op_destroy(op) == SF_OK, "destroyed");
  MPI_Op_free(&mpi);
}

static void check_created_ops(void)
{
  const long double in[] = {1, 2, 3, 4};
  long double inout[] = {10, 20, 30, 40};
  const sf_op_t *op = NULL;
  MPI_Datatype pairs, shifted;
  int one = 1;
  MPI_Type_contiguous(2, MPI_DOUBLE, &pairs);
  MPI_Type_commit(&pairs);
  check_created_op(pairs, 0);
  check_created_op(pairs, 1);
  check_order(pairs);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  expect(sf_mpi_op_create(MPI_BAND, MPI_DOUBLE, &op) == SF_ERR_SYS && op == NULL, "op not defined for the datatype");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Type_indexed(1, &one, &one, MPI_DOUBLE, &shifted);
  expect(sf_mpi_op_create(MPI_SUM, shifted, &op) == SF_ERR_UNSUPPORTED && op == NULL, "datatype with a gap in front");
  expect(sf_mpi_op_create(MPI_OP_NULL, pairs, &op) == SF_ERR_ARG, "no op");
  expect(sf_mpi_op_destroy(SF_SUM) == SF_ERR_ARG, "an op of another kind");
  expect(sf_mpi_op_create(MPI_SUM, MPI_LONG_DOUBLE, &op) == SF_OK, "predefined op");
  op->function(in, inout, 2, 2 * sizeof(long double), op->context); /* units of two */
  expect(inout[0] == 11 && inout[3] == 44, "blocks of a datatype");
  expect(sf_mpi_op_destroy(op) == SF_OK, "destroyed");
  MPI_Type_free(&pairs);
  MPI_Type_free(&shifted);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  *bases[0].datatype = MPI_INT;
  *bases[1].datatype = MPI_DOUBLE;
  *bases[2].datatype = MPI_BYTE;
  check_predefined();
  check_derived();
  check_strange();
  check_distributed(MPI_ORDER_C);
  check_distributed(MPI_ORDER_FORTRAN);
  check_ops();
  check_created_ops();
  for (int i = 0; i < 3000; i++)
    check_random();
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
