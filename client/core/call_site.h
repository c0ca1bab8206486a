/* Where the application makes a graph, between sf_at and the making. */
#ifndef SFC_CORE_CALL_SITE_H
#define SFC_CORE_CALL_SITE_H

/* What sf_at has said last on this thread, once; NULL: nothing since. */
const char *sfc_call_site_take(void);

#endif
