/* Public header of the room algebra: graphs from graphs and from global numbers. Others are private. */
#ifndef SFC_ALGEBRA_H
#define SFC_ALGEBRA_H

#include "client/algebra/derive.h"

#endif
