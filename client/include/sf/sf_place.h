/* Where in the application things are made, for those who look at a running job (sfctl stuck, sfctl trace). Part of
 * sf.h, which is what to include. */
#ifndef SF_PLACE_H
#define SF_PLACE_H

#include <sf/sf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Says where the next graph that this thread makes is made: "file:line", as a text that stays valid until then; of a
 * long one the end is kept. Calls from C and C++ say it by themselves, by the macros below; bindings for other
 * languages call it before they make a graph. NULL: nowhere in particular. Local, does not block. */
void sf_at(const char *place);

#ifdef __cplusplus
}
#endif

/* Functions of these names are there as well: for pointers, for bindings, and with SF_NO_PLACES defined. */
#ifndef SF_NO_PLACES
#define SF_PLACE_TEXT(line) #line
#define SF_PLACE_LINE(line) SF_PLACE_TEXT(line)
#define SF_HERE __FILE__ ":" SF_PLACE_LINE(__LINE__)
#define sf_graph_create(...) (sf_at(SF_HERE), (sf_graph_create)(__VA_ARGS__))
#define sf_graph_create_i32(...) (sf_at(SF_HERE), (sf_graph_create_i32)(__VA_ARGS__))
#endif

#endif
