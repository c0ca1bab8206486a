/* Fetch_op on streams. The thread that uses the graph. */
#ifndef SFC_STREAMS_FETCH_OP_H
#define SFC_STREAMS_FETCH_OP_H

#include "client/streams/operation.h"

/* Frees what fetch_ops have made; nothing is left to do. */
void sfc_streams_fetch_free(sfc_streams_t *streams);

#endif
