/* What stands behind the public handles of units and ops. */
#ifndef SFC_TYPE_H
#define SFC_TYPE_H

#include <sf/sf.h>

#include "shm/kernels/unit.h"

struct sf_type {
  sfshm_unit_t unit;
  bool predefined;
};

struct sf_op {
  sfshm_op_t op;
  sf_op_function_t function; /* of the application; NULL: a predefined op */
  void *context;
};

#endif
