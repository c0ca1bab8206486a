/* Room daemon/admin: queries, metrics, traces and control by tools. Other headers of the room are private. */
#ifndef SFD_ADMIN_H
#define SFD_ADMIN_H

#include "daemon/admin/admin.h"
#include "daemon/admin/control.h"
#include "daemon/admin/metrics_http.h"
#include "daemon/admin/remote_answer.h"
#include "daemon/admin/remote_query.h"
#include "daemon/admin/stall.h"
#include "daemon/admin/tool.h"
#include "daemon/admin/trace.h"

#endif
