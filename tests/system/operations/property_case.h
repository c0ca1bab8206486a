/* A random case of bcasts and reduces, of one field or several, on random graphs: how it is chosen, and its operations,
 * which are compared bit by bit with a serial model. */
#ifndef SFTEST_PROPERTY_CASE_H
#define SFTEST_PROPERTY_CASE_H

#include "tests/system/buffers.h"
#include "tests/system/forms.h"
#include "tests/system/model/operation.h"

#define SFTEST_CASE_GRAPHS 3
#define SFTEST_CASE_FIELDS 9

/* One field of an operation on one rank. */
typedef struct sftest_act_field {
  sftest_operation_t operation;
  const sf_type_t *type;
  sftest_memory_t memory[2]; /* by side */
  sftest_buffer_t buffers[2];
  bool in_one; /* both sides */
} sftest_act_field_t;

/* One operation of a case. */
typedef struct sftest_act {
  sf_graph_t *real;
  bool bcast;
  bool by_list; /* also if it has one field */
  int32_t nfields;
  sftest_act_field_t fields[SFTEST_CASE_FIELDS];
} sftest_act_t;

typedef struct sftest_case {
  sftest_rank_t *self;
  sf_context_t *context;
  sf_group_t *group;
  int32_t rank;                     /* in the group */
  int32_t places[SFTEST_GROUP_MAX]; /* of the group's ranks */
  uint64_t random;                  /* the same on all ranks */
  uint64_t own;                     /* this rank's own choices */
  sftest_form_t form;
  int32_t ngraphs;
  sftest_graph_t graphs[SFTEST_CASE_GRAPHS];
  uint32_t flags[SFTEST_CASE_GRAPHS];
  sf_graph_t *real[SFTEST_CASE_GRAPHS];
  int32_t nacts;
  sftest_act_t acts[SFTEST_OPERATIONS_MAX];
} sftest_case_t;

/* Chooses an operation on one of the case's graphs, with fields of at most about max_bytes
 * together. */
void sftest_case_choose(sftest_case_t *scene, int64_t max_bytes, sftest_act_t *act);

void sftest_act_make_buffers(sftest_case_t *scene, sftest_act_t *act);

void sftest_act_free_buffers(sftest_case_t *scene, sftest_act_t *act);

/* The operations of an sftest_case_t. */
extern const sftest_operations_t sftest_case_operations;

#endif
