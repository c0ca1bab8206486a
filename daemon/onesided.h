/* The room daemon/onesided: one-sided arrays over several nodes. Headers that are not included here are private. */
#ifndef SFD_ONESIDED_H
#define SFD_ONESIDED_H

#include "daemon/onesided/array.h"
#include "daemon/onesided/target.h"
#include "daemon/onesided/window.h"

#endif
