/* Function multiversioning. SFSHM_CLONES before a function definition compiles the function for several instruction
 * sets; the dynamic linker chooses one at load time. Needs x86-64 with glibc's ifunc. Disabled under sanitizers,
 * because the resolvers would run before the sanitizer starts. */
#ifndef SFSHM_BASE_CLONES_H
#define SFSHM_BASE_CLONES_H

#include <stdint.h> /* with any header of glibc comes __GLIBC__ */

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 &&         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SFSHM_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define SFSHM_CLONES
#endif

#endif
