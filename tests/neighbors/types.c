/* Random datatypes of the differential test. One thread. */
#include <stdlib.h>
#include <string.h>

#include "tests/neighbors/differential.h"

/* ---- Elements ---- */

typedef struct mixed {
  int i;
  double d;
  char c;
} mixed_t;

/* Two layouts of one type signature: int, double, char; the second one is not ascending in memory. */
static MPI_Datatype make_mixed(dice_t *dice)
{
  int counts[] = {1, 1, 1};
  MPI_Aint ascending[] = {offsetof(mixed_t, i), offsetof(mixed_t, d), offsetof(mixed_t, c)};
  MPI_Aint scattered[] = {24, 8, 0};
  MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, made, resized;
  must(MPI_Type_create_struct(3, counts, dice_percent(dice, 50) ? ascending : scattered, types, &made), "struct");
  must(MPI_Type_create_resized(made, 0, 32, &resized), "resized");
  must(MPI_Type_free(&made), "MPI_Type_free");
  return resized;
}

static MPI_Datatype make_element(dice_t *dice, base_t base)
{
  static const MPI_Datatype predefined[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE, MPI_DATATYPE_NULL, MPI_DOUBLE_INT};
  MPI_Datatype copy;
  if (base == BASE_MIXED)
    return make_mixed(dice);
  must(MPI_Type_dup(predefined[base], &copy), "MPI_Type_dup");
  return copy;
}

/* ---- Forms ---- */

static MPI_Datatype make_indexed(int kind, MPI_Datatype element, MPI_Aint extent)
{
  int counts[] = {1, 2}, displs[] = {4, 0}, equal[] = {5, 0, 2};
  MPI_Aint bytes[] = {3 * extent, -2 * extent};
  MPI_Datatype made = MPI_DATATYPE_NULL;
  if (kind == 0)
    must(MPI_Type_indexed(2, counts, displs, element, &made), "indexed");
  else if (kind == 1)
    must(MPI_Type_create_hindexed(2, counts, bytes, element, &made), "hindexed");
  else
    must(MPI_Type_create_indexed_block(3, 1, equal, element, &made), "indexed_block");
  return made;
}

static MPI_Datatype make_subarray(dice_t *dice, MPI_Datatype element)
{
  int sizes[] = {4, 5}, part[] = {2, 3}, start[] = {dice_below(dice, 3), dice_below(dice, 3)};
  MPI_Datatype made;
  must(MPI_Type_create_subarray(2, sizes, part, start, dice_percent(dice, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                                element, &made),
       "subarray");
  return made;
}

static MPI_Datatype make_struct(MPI_Datatype element, MPI_Aint extent)
{
  int counts[] = {2, 1, 0};
  MPI_Aint displs[] = {4 * extent, extent, 0};
  MPI_Datatype types[] = {element, element, MPI_FLOAT}, made;
  must(MPI_Type_create_struct(3, counts, displs, types, &made), "struct");
  return made;
}

static MPI_Datatype make_nested(MPI_Datatype element, MPI_Aint extent)
{
  MPI_Datatype inner, made;
  must(MPI_Type_vector(3, 1, 2, element, &inner), "vector");
  must(MPI_Type_create_hvector(2, 1, 7 * extent, inner, &made), "hvector");
  must(MPI_Type_free(&inner), "MPI_Type_free");
  return made;
}

/* Returns the datatype of a form; sets its number of elements. */
static MPI_Datatype make_form(dice_t *dice, MPI_Datatype element, MPI_Aint extent, int *elements_p)
{
  MPI_Datatype made = MPI_DATATYPE_NULL;
  int form = dice_below(dice, 11);
  static const int elements[] = {1, 1, 3, 12, 4, 3, 3, 6, 6, 1, 1};
  *elements_p = elements[form];
  if (form <= 1)
    must(MPI_Type_dup(element, &made), "MPI_Type_dup");
  else if (form <= 3)
    must(MPI_Type_contiguous(elements[form], element, &made), "contiguous");
  else if (form == 4)
    must(MPI_Type_vector(2, 2, 3, element, &made), "vector");
  else if (form == 5)
    made = make_indexed(dice_below(dice, 3), element, extent);
  else if (form == 6)
    made = make_struct(element, extent);
  else if (form == 7)
    made = make_subarray(dice, element);
  else if (form == 8)
    made = make_nested(element, extent);
  else
    must(MPI_Type_create_resized(element, form == 9 ? 0 : -extent, 2 * extent, &made), "resized");
  return made;
}

made_type_t type_make(dice_t *dice, base_t base)
{
  made_type_t made = {.type = MPI_DATATYPE_NULL};
  MPI_Aint lb, extent;
  MPI_Datatype element = make_element(dice, base);
  must(MPI_Type_get_extent(element, &lb, &extent), "extent");
  made.type = make_form(dice, element, extent, &made.elements);
  must(MPI_Type_free(&element), "MPI_Type_free");
  must(MPI_Type_commit(&made.type), "commit");
  must(MPI_Type_get_extent(made.type, &made.lb, &made.extent), "extent");
  must(MPI_Type_get_true_extent(made.type, &made.true_lb, &made.true_extent), "true extent");
  return made;
}

void type_free(made_type_t *type)
{
  if (type->type != MPI_DATATYPE_NULL)
    must(MPI_Type_free(&type->type), "MPI_Type_free");
}
