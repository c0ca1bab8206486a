/* Authentication: key file, challenge and response. No state of its own; the daemon's thread. */
#include "daemon/net/fabric/tcp/auth.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/base/error.h"

#define KEY_CONTEXT "sfd tcp fabric key 1" /* keys of other uses of the same file differ */

_Static_assert(sizeof(sfd_tcp_key_t) == crypto_auth_KEYBYTES, "key");
_Static_assert(sizeof(sfd_tcp_proof_t) == crypto_auth_BYTES, "code");

/* ---- The key ---- */

static sf_status_t check_file(const char *path, const struct stat *file)
{
  if (!S_ISREG(file->st_mode))
    return sfshm_error(SF_ERR_ARG, "key file %s: expected a regular file", path);
  if (file->st_uid != geteuid() && file->st_uid != 0)
    return sfshm_error(SF_ERR_PERM, "key file %s belongs to user %u, expected %u or root", path, (unsigned)file->st_uid,
                       (unsigned)geteuid());
  mode_t forbidden = file->st_uid == 0 ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
  if (file->st_mode & forbidden)
    return sfshm_error(SF_ERR_PERM, "key file %s: its mode %03o gives others access, expected 600", path,
                       (unsigned)file->st_mode & 0777u);
  /* A short file may be being written, and a missing one created: another start may succeed. */
  if (file->st_size < SFD_TCP_KEY_FILE_MIN || file->st_size > SFD_TCP_KEY_FILE_MAX)
    return sfshm_error(file->st_size < SFD_TCP_KEY_FILE_MIN ? SF_ERR_SYS : SF_ERR_ARG,
                       "key file %s has %lld bytes, expected %d to %d", path, (long long)file->st_size,
                       SFD_TCP_KEY_FILE_MIN, SFD_TCP_KEY_FILE_MAX);
  return SF_OK;
}

/* Reads the whole file into a buffer of the maximum size plus one. */
static sf_status_t read_bytes(const char *path, int fd, uint8_t *bytes, size_t *length_p)
{
  struct stat file;
  if (fstat(fd, &file) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "cannot look at the key file %s", path);
  sf_status_t status = check_file(path, &file);
  if (status != SF_OK)
    return status;
  ssize_t n = pread(fd, bytes, SFD_TCP_KEY_FILE_MAX + 1, 0);
  if (n < 0)
    return sfshm_error_errno(SF_ERR_SYS, "cannot read the key file %s", path);
  if (n != file.st_size)
    return sfshm_error(SF_ERR_SYS, "key file %s changes while it is read", path);
  *length_p = (size_t)n;
  return SF_OK;
}

sf_status_t sfd_tcp_auth_begin(void)
{
  return sodium_init() < 0 ? sfshm_error(SF_ERR_SYS, "libsodium has no source of random numbers") : SF_OK;
}

/* Removes an incomplete file. */
sf_status_t sfd_tcp_key_write(const char *path)
{
  uint8_t bytes[SFD_TCP_KEY_FILE_MIN];
  sf_status_t status = sfd_tcp_auth_begin();
  if (status != SF_OK)
    return status;
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return sfshm_error_errno(errno == EEXIST   ? SF_ERR_EXISTS
                             : errno == EACCES ? SF_ERR_PERM
                                               : SF_ERR_SYS,
                             "cannot make the key file %s", path);
  randombytes_buf(bytes, sizeof bytes);
  bool written = write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes && fsync(fd) == 0;
  sodium_memzero(bytes, sizeof bytes);
  if (!written) {
    status = sfshm_error_errno(SF_ERR_SYS, "cannot write the key file %s", path);
    unlink(path);
  }
  close(fd);
  return status;
}

sf_status_t sfd_tcp_key_read(const char *path, sfd_tcp_key_t *key_p)
{
  sf_status_t begun = sfd_tcp_auth_begin();
  if (begun != SF_OK)
    return begun;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0)
    return sfshm_error_errno(errno == EACCES ? SF_ERR_PERM : SF_ERR_SYS, "cannot open the key file %s", path);
  uint8_t bytes[SFD_TCP_KEY_FILE_MAX + 1];
  size_t length = 0;
  sf_status_t status = read_bytes(path, fd, bytes, &length);
  close(fd);
  if (status == SF_OK)
    crypto_generichash(key_p->bytes, sizeof key_p->bytes, bytes, length, (const uint8_t *)KEY_CONTEXT,
                       sizeof KEY_CONTEXT);
  sodium_memzero(bytes, sizeof bytes);
  return status;
}

void sfd_tcp_key_wipe(sfd_tcp_key_t *key)
{
  sodium_memzero(key->bytes, sizeof key->bytes);
}

/* ---- Codes ---- */

/* Input of a code. */
typedef struct statement {
  char role[16];
  sfd_tcp_hello_t hello;
  uint8_t nonce[32];
} statement_t;
_Static_assert(sizeof(statement_t) == 16 + sizeof(sfd_tcp_hello_t) + 32, "no padding");

static statement_t state(const char *role, const sfd_tcp_hello_t *hello, const sfd_tcp_challenge_t *challenge)
{
  statement_t statement = {.hello = *hello};
  memcpy(statement.role, role, strlen(role));
  memcpy(statement.nonce, challenge->nonce, sizeof statement.nonce);
  return statement;
}

static statement_t accepting(const sfd_tcp_hello_t *hello, const sfd_tcp_challenge_t *challenge)
{
  return state("accepting", hello, challenge);
}

static statement_t connecting(const sfd_tcp_hello_t *hello, const sfd_tcp_challenge_t *challenge)
{
  return state("connecting", hello, challenge);
}

static void sign(uint8_t code[32], const statement_t *statement, const sfd_tcp_key_t *key)
{
  crypto_auth(code, (const uint8_t *)statement, sizeof *statement, key->bytes);
}

static bool is_signed(const uint8_t code[32], const statement_t *statement, const sfd_tcp_key_t *key)
{
  return crypto_auth_verify(code, (const uint8_t *)statement, sizeof *statement, key->bytes) == 0;
}

/* ---- The steps ---- */

static void write_digest(uint8_t digest[8], crypto_generichash_state *state)
{
  uint8_t bytes[crypto_generichash_BYTES_MIN];
  (void)crypto_generichash_final(state, bytes, sizeof bytes);
  memcpy(digest, bytes, 8);
}

sfd_tcp_cluster_t sfd_tcp_cluster_make(const sfd_peer_list_t *list, const char *name)
{
  sfd_tcp_cluster_t cluster = {.nnodes = list->count};
  crypto_generichash_state state;
  char text[SFD_PEER_TEXT_SIZE];
  (void)crypto_generichash_init(&state, NULL, 0, crypto_generichash_BYTES_MIN);
  for (int32_t i = 0; i < list->count; i++) {
    sfd_peer_address_print(&list->peers[i], text, sizeof text);
    (void)crypto_generichash_update(&state, (const uint8_t *)text, strlen(text) + 1);
  }
  write_digest(cluster.list, &state);
  (void)crypto_generichash_init(&state, NULL, 0, crypto_generichash_BYTES_MIN);
  (void)crypto_generichash_update(&state, (const uint8_t *)name, strlen(name));
  write_digest(cluster.name, &state);
  return cluster;
}

void sfd_tcp_hello_make(sfd_tcp_hello_t *hello, int32_t from, int32_t to, const sfd_tcp_cluster_t *cluster)
{
  *hello = (sfd_tcp_hello_t){
      .magic = htole32(SFD_TCP_MAGIC),
      .version = htole32(SFD_TCP_VERSION),
      .from = htole32((uint32_t)from),
      .to = htole32((uint32_t)to),
      .nnodes = htole32((uint32_t)cluster->nnodes),
  };
  memcpy(hello->list, cluster->list, sizeof hello->list);
  memcpy(hello->name, cluster->name, sizeof hello->name);
  randombytes_buf(hello->nonce, sizeof hello->nonce);
}

sfd_tcp_refusal_t sfd_tcp_hello_check(const sfd_tcp_hello_t *hello, int32_t node, const sfd_tcp_cluster_t *cluster,
                                      int32_t *from_p)
{
  uint32_t from = le32toh(hello->from);
  if (le32toh(hello->version) != SFD_TCP_VERSION)
    return SFD_TCP_OTHER_VERSION;
  if (le32toh(hello->nnodes) != (uint32_t)cluster->nnodes)
    return SFD_TCP_OTHER_SIZE;
  if (memcmp(hello->list, cluster->list, sizeof hello->list) != 0)
    return SFD_TCP_OTHER_LIST;
  if (le32toh(hello->to) != (uint32_t)node)
    return SFD_TCP_OTHER_NODE;
  if (from >= (uint32_t)cluster->nnodes || from == (uint32_t)node)
    return SFD_TCP_UNKNOWN_NODE;
  *from_p = (int32_t)from;
  if (memcmp(hello->name, cluster->name, sizeof hello->name) != 0)
    return SFD_TCP_OTHER_NAME;
  return SFD_TCP_WELCOME;
}

void sfd_tcp_challenge_refuse(sfd_tcp_challenge_t *challenge, sfd_tcp_refusal_t refusal)
{
  *challenge = (sfd_tcp_challenge_t){.magic = htole32(SFD_TCP_MAGIC), .refusal = htole32(refusal)};
}

void sfd_tcp_challenge_make(sfd_tcp_challenge_t *challenge, const sfd_tcp_key_t *key, const sfd_tcp_hello_t *hello)
{
  sfd_tcp_challenge_refuse(challenge, SFD_TCP_WELCOME);
  randombytes_buf(challenge->nonce, sizeof challenge->nonce);
  statement_t statement = accepting(hello, challenge);
  sign(challenge->code, &statement, key);
}

bool sfd_tcp_challenge_is_true(const sfd_tcp_challenge_t *challenge, const sfd_tcp_key_t *key,
                               const sfd_tcp_hello_t *hello)
{
  statement_t statement = accepting(hello, challenge);
  return is_signed(challenge->code, &statement, key);
}

void sfd_tcp_proof_make(sfd_tcp_proof_t *proof, const sfd_tcp_key_t *key, const sfd_tcp_hello_t *hello,
                        const sfd_tcp_challenge_t *challenge)
{
  statement_t statement = connecting(hello, challenge);
  sign(proof->code, &statement, key);
}

bool sfd_tcp_proof_is_true(const sfd_tcp_proof_t *proof, const sfd_tcp_key_t *key, const sfd_tcp_hello_t *hello,
                           const sfd_tcp_challenge_t *challenge)
{
  statement_t statement = connecting(hello, challenge);
  return is_signed(proof->code, &statement, key);
}
