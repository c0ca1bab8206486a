/* Call site: the source line at which the application creates a graph, as sf_at sets it. Any thread. */
#ifndef SFC_CORE_CALL_SITE_H
#define SFC_CORE_CALL_SITE_H

/* Returns the call site that sf_at last set on this thread; NULL: none. sfc_call_site_take also clears it. */
const char *sfc_call_site_next(void);
const char *sfc_call_site_take(void);

#endif
