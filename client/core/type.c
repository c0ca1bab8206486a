/* Units and predefined ops. Immutable; any thread. */
#include "client/core/type.h"

#include <stdlib.h>

#include "shm/base/error.h"

/* Counts stay far below what overflows an address, and within what message descriptors compare. */
#define MAX_UNIT_BYTES ((int64_t)1 << 40)

#define DEFINE_TYPE(name, type, text)                                                                                  \
  static const sf_type_t type_##name = {{SFSHM_BASE_##name, 1}, true};                                                 \
  const sf_type_t *const SF_##name = &type_##name;
SFSHM_BASE_TABLE(DEFINE_TYPE)
#undef DEFINE_TYPE

#define DEFINE_PAIR(name, value_type, index_type, text)                                                                \
  static const sf_type_t type_##name = {{SFSHM_BASE_##name, 1}, true};                                                 \
  const sf_type_t *const SF_##name = &type_##name;
SFSHM_PAIR_TABLE(DEFINE_PAIR)
#undef DEFINE_PAIR

#define DEFINE_OP(name, text)                                                                                          \
  static const sf_op_t op_##name = {.op = SFSHM_OP_##name};                                                            \
  const sf_op_t *const SF_##name = &op_##name;
SFSHM_OP_TABLE(DEFINE_OP)
#undef DEFINE_OP

static sf_status_t create(sfshm_unit_t unit, const sf_type_t **type_p)
{
  sf_type_t *type = malloc(sizeof *type);
  if (type == NULL)
    return sfshm_error(SF_ERR_NOMEM, "unit");
  *type = (sf_type_t){.unit = unit};
  *type_p = type;
  return SF_OK;
}

sf_status_t sf_type_create_block(int64_t count, const sf_type_t *base, const sf_type_t **type_p)
{
  int64_t total;
  if (base == NULL || type_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_type_create_block: %s is NULL", base == NULL ? "base" : "type_p");
  if (count < 1 || __builtin_mul_overflow(count, base->unit.count, &total) ||
      total > MAX_UNIT_BYTES / (int64_t)sfshm_base_size(base->unit.base))
    return sfshm_error(SF_ERR_ARG, "sf_type_create_block: count %lld of units of %zu bytes; 1 to 2^40 bytes expected",
                       (long long)count, sfshm_unit_size(base->unit));
  return create((sfshm_unit_t){base->unit.base, total}, type_p);
}

sf_status_t sf_type_create_opaque(int64_t size_bytes, const sf_type_t **type_p)
{
  if (type_p == NULL)
    return sfshm_error(SF_ERR_ARG, "sf_type_create_opaque: type_p is NULL");
  if (size_bytes < 1 || size_bytes > MAX_UNIT_BYTES)
    return sfshm_error(SF_ERR_ARG, "sf_type_create_opaque: %lld bytes; 1 to 2^40 expected", (long long)size_bytes);
  return create((sfshm_unit_t){SFSHM_BASE_OPAQUE, size_bytes}, type_p);
}

sf_status_t sf_type_destroy(const sf_type_t *type)
{
  if (type != NULL && !type->predefined)
    free((void *)(uintptr_t)type); /* created without const */
  return SF_OK;
}

size_t sf_type_size(const sf_type_t *type)
{
  return type == NULL ? 0 : sfshm_unit_size(type->unit);
}
