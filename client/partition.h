/* The room client/partition: partition of grids into subdomains, and placement of subdomains. Pure functions, without a
 * job: sfctl uses them too. */
#ifndef SFC_PARTITION_H
#define SFC_PARTITION_H

#include "client/partition/partition.h"
#include "client/partition/placement.h"

#endif
