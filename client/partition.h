/* The room client/partition: division of grids into subdomains, and assignment of subdomains to places. Pure functions,
 * without a job: sfctl uses them too. What other rooms may use of it. */
#ifndef SFC_PARTITION_H
#define SFC_PARTITION_H

#include "client/partition/partition.h"
#include "client/partition/placement.h"

#endif
