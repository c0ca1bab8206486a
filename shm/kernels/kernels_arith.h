/* Unpack and scatter with arithmetic, as tables by op and base type. Part of the kernels; see kernels.h. */
#ifndef SFSHM_KERNELS_KERNELS_ARITH_H
#define SFSHM_KERNELS_KERNELS_ARITH_H

#include "shm/kernels/kernels.h"

/* Kernels for units of one element, or for blocks of any number. The op is not replace and applies to the base. */
const sfshm_kernels_t *sfshm_kernels_arith(sfshm_op_t op, sfshm_base_t base, bool block);

#endif
