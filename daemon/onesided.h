/* The room daemon/onesided: one-sided arrays over several nodes. What other rooms may use of it; headers that are not
 * here are private. */
#ifndef SFD_ONESIDED_H
#define SFD_ONESIDED_H

#include "daemon/onesided/array.h"
#include "daemon/onesided/target.h"
#include "daemon/onesided/window.h"

#endif
