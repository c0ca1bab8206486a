/* The room client/onesided: one-sided arrays. What other rooms may use of it; headers that are not here are private. */
#ifndef SFC_ONESIDED_H
#define SFC_ONESIDED_H

#include "client/onesided/window.h"

#endif
