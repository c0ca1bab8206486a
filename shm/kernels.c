/* Finding the kernels of a unit and an op. Any thread. */
#include "shm/kernels.h"

#include "shm/kernels_arith.h"
#include "shm/kernels_move.h"

const sfshm_kernels_t *sfshm_kernels_find(sfshm_unit_t unit, sfshm_op_t op)
{
  if (unit.count < 1 || !sfshm_op_applies(op, unit.base))
    return NULL;
  if (op == SFSHM_OP_REPLACE)
    return sfshm_kernels_move(sfshm_unit_size(unit));
  return sfshm_kernels_arith(op, unit.base, unit.count > 1);
}
