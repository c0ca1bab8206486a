/* Room daemon/jobs: jobs, groups, graphs, and agreement of their nodes. Other headers of the room are private. */
#ifndef SFD_JOBS_H
#define SFD_JOBS_H

#include "daemon/jobs/ended_jobs.h"
#include "daemon/jobs/graph.h"
#include "daemon/jobs/group.h"
#include "daemon/jobs/job.h"
#include "daemon/jobs/life.h"
#include "daemon/jobs/node_tree.h"
#include "daemon/jobs/tree_agreement.h"

#endif
