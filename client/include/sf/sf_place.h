/* Call sites: the source lines at which graphs are created, shown by sfctl stuck and sfctl trace. Part of sf.h, which
 * is what to include. */
#ifndef SF_PLACE_H
#define SF_PLACE_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the call site of the next graph that this thread creates: a text "file:line". Graphs that the library creates on
 * the way to it have the same. The caller owns the text, which must stay valid until the graph has been created. Of a
 * long text the library keeps the end. place == NULL: no call site. C and C++ programs need not call this: the macros
 * below do. Bindings for other languages call it before they create a graph. Local. */
void sf_at(const char *call_site);

/* Replaces the call site of a graph, for instance when an object of a binding gets a name. The text is copied. graph or
 * call_site NULL: no effect. Local. */
void sf_graph_at(sf_graph_t *graph, const char *call_site);

#ifdef __cplusplus
}
#endif

/* Record the call site of each graph creation. The functions themselves remain available, for pointers and for
 * bindings. Define SF_NO_PLACES to disable the macros. */
#ifndef SF_NO_PLACES
#define SF_PLACE_TEXT(line) #line
#define SF_PLACE_LINE(line) SF_PLACE_TEXT(line)
#define SF_HERE __FILE__ ":" SF_PLACE_LINE(__LINE__)
#define sf_graph_create(...) (sf_at(SF_HERE), (sf_graph_create)(__VA_ARGS__))
#define sf_graph_create_i32(...) (sf_at(SF_HERE), (sf_graph_create_i32)(__VA_ARGS__))
#endif

#endif
