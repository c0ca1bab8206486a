/* Structs of the public handles of units and ops. */
#ifndef SFC_CORE_TYPE_H
#define SFC_CORE_TYPE_H

#include <sf/sf.h>

#include "shm/kernels/unit.h"

struct sf_type {
  sfshm_unit_t unit;
  bool predefined;
};

struct sfc_op_call;

/* Makes a request for a call with the op; see client/engine/request.h. */
typedef sf_status_t sfc_make_request_t(const struct sfc_op_call *call, sf_request_t **request_p);

struct sf_op {
  sfshm_op_t op;
  sfc_make_request_t *make_request; /* op of the application; NULL: predefined, lanes carry out the call */
  sf_op_function_t function;        /* op of the application, with: */
  void *context;
};

#endif
