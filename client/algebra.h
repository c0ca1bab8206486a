/* The room client/algebra: graphs from graphs and from global numbers. What other rooms may use of it; headers that are
 * not here are private. */
#ifndef SFC_ALGEBRA_H
#define SFC_ALGEBRA_H

#include "client/algebra/derive.h"

#endif
