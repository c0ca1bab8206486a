/* A value to print, of one of several types: a cell of a table or a member of a JSON object. */
#ifndef SFCTL_PRINT_VALUE_H
#define SFCTL_PRINT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sfctl_kind {
  SFCTL_UNKNOWN,
  SFCTL_INT,
  SFCTL_UINT,
  SFCTL_DOUBLE,
  SFCTL_BOOL,
  SFCTL_STRING,
  SFCTL_BYTES,  /* size; in tables only */
  SFCTL_SECONDS /* duration; in tables only */
} sfctl_kind_t;

typedef struct sfctl_value {
  sfctl_kind_t kind;
  union {
    int64_t i;
    uint64_t u;
    double d;
    bool b;
    const char *s; /* not owned */
  };
} sfctl_value_t;

#define SFCTL_DEFINE_VALUE(function, type, value_kind, field)                                                          \
  static inline sfctl_value_t function(type value)                                                                     \
  {                                                                                                                    \
    return (sfctl_value_t){.kind = value_kind, .field = value};                                                        \
  }
SFCTL_DEFINE_VALUE(sfctl_int, int64_t, SFCTL_INT, i)
SFCTL_DEFINE_VALUE(sfctl_uint, uint64_t, SFCTL_UINT, u)
SFCTL_DEFINE_VALUE(sfctl_double, double, SFCTL_DOUBLE, d)
SFCTL_DEFINE_VALUE(sfctl_bool, bool, SFCTL_BOOL, b)
SFCTL_DEFINE_VALUE(sfctl_bytes, uint64_t, SFCTL_BYTES, u)
SFCTL_DEFINE_VALUE(sfctl_seconds, double, SFCTL_SECONDS, d)
#undef SFCTL_DEFINE_VALUE

static inline sfctl_value_t sfctl_string(const char *text)
{
  return (sfctl_value_t){.kind = text != NULL ? SFCTL_STRING : SFCTL_UNKNOWN, .s = text};
}

/* Value of an expression by its type. A string NULL is unknown. Comparisons have the type int: cast them to bool. */
#define SFCTL_VALUE(x)                                                                                                 \
  _Generic((x), bool                                                                                                   \
           : sfctl_bool, int                                                                                           \
           : sfctl_int, long                                                                                           \
           : sfctl_int, unsigned                                                                                       \
           : sfctl_uint, unsigned long                                                                                 \
           : sfctl_uint, double                                                                                        \
           : sfctl_double, char *                                                                                      \
           : sfctl_string, const char *                                                                                \
           : sfctl_string)(x)

/* The value if it is known. */
static inline sfctl_value_t sfctl_if(bool known, sfctl_value_t value)
{
  return known ? value : (sfctl_value_t){.kind = SFCTL_UNKNOWN};
}

#endif
