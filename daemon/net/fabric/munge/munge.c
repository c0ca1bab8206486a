/* Credentials by libmunge: see plugin.h. Any thread. */
#include <munge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/net/fabric/munge/plugin.h"

static sfd_munge_result_t result_of(munge_err_t error)
{
  switch (error) {
  case EMUNGE_SUCCESS:
    return SFD_MUNGE_OK;
  case EMUNGE_BAD_CRED:
  case EMUNGE_BAD_VERSION:
  case EMUNGE_BAD_CIPHER:
  case EMUNGE_BAD_MAC:
  case EMUNGE_BAD_ZIP:
  case EMUNGE_BAD_REALM:
  case EMUNGE_BAD_LENGTH:
  case EMUNGE_CRED_INVALID:
    return SFD_MUNGE_INVALID;
  case EMUNGE_CRED_EXPIRED:
    return SFD_MUNGE_EXPIRED;
  case EMUNGE_CRED_REWOUND:
    return SFD_MUNGE_REWOUND;
  case EMUNGE_CRED_REPLAYED:
    return SFD_MUNGE_REPLAYED;
  case EMUNGE_CRED_UNAUTHORIZED:
    return SFD_MUNGE_FOREIGN;
  default:
    return SFD_MUNGE_UNREACHABLE;
  }
}

/* ctx may be NULL. */
static sfd_munge_result_t conclude(sfd_munge_letter_t *letter, munge_ctx_t ctx, munge_err_t error)
{
  const char *words = ctx != NULL ? munge_ctx_strerror(ctx) : NULL;
  if (error != EMUNGE_SUCCESS)
    snprintf(letter->detail, sizeof letter->detail, "%s", words != NULL ? words : munge_strerror(error));
  munge_ctx_destroy(ctx);
  return result_of(error);
}

static munge_ctx_t make_context(const sfd_munge_letter_t *letter)
{
  munge_ctx_t ctx = munge_ctx_create();
  if (ctx == NULL || letter->socket[0] == '\0' ||
      munge_ctx_set(ctx, MUNGE_OPT_SOCKET, letter->socket) == EMUNGE_SUCCESS)
    return ctx;
  munge_ctx_destroy(ctx);
  return NULL;
}

/* Encrypted, whatever munged's default is. */
static munge_err_t set_protection(munge_ctx_t ctx, uid_t reader)
{
  munge_err_t error = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, reader);
  if (error == EMUNGE_SUCCESS)
    error = munge_ctx_set(ctx, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128);
  if (error == EMUNGE_SUCCESS)
    error = munge_ctx_set(ctx, MUNGE_OPT_MAC_TYPE, MUNGE_MAC_SHA256);
  if (error == EMUNGE_SUCCESS)
    error = munge_ctx_set(ctx, MUNGE_OPT_ZIP_TYPE, MUNGE_ZIP_NONE);
  return error;
}

static sfd_munge_result_t seal(sfd_munge_letter_t *letter)
{
  char *text = NULL;
  munge_ctx_t ctx = make_context(letter);
  if (ctx == NULL)
    return conclude(letter, NULL, EMUNGE_NO_MEMORY);
  munge_err_t error = set_protection(ctx, letter->uid);
  if (error == EMUNGE_SUCCESS)
    error = munge_encode(&text, ctx, letter->contents, (int)letter->nbytes);
  if (error == EMUNGE_SUCCESS && strlen(text) >= letter->text_size)
    error = EMUNGE_OVERFLOW;
  if (error == EMUNGE_SUCCESS)
    strcpy(letter->text, text);
  free(text);
  return conclude(letter, ctx, error);
}

static sfd_munge_result_t open_letter(sfd_munge_letter_t *letter)
{
  void *contents = NULL;
  int nbytes = 0;
  munge_ctx_t ctx = make_context(letter);
  if (ctx == NULL)
    return conclude(letter, NULL, EMUNGE_NO_MEMORY);
  munge_err_t error = munge_decode(letter->text, ctx, &contents, &nbytes, &letter->uid, NULL);
  if (error == EMUNGE_SUCCESS && (size_t)nbytes == letter->nbytes)
    memcpy(letter->contents, contents, letter->nbytes);
  else if (error == EMUNGE_SUCCESS)
    error = EMUNGE_BAD_LENGTH;
  if (contents != NULL) /* also if expired or replayed */
    explicit_bzero(contents, (size_t)nbytes);
  free(contents);
  return conclude(letter, ctx, error);
}

const sfd_munge_t sfd_munge = {.seal = seal, .open = open_letter};
