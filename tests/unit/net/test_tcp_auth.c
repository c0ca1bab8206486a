/* The key file of the tcp fabric, and that its codes are worth something only where they belong. */
#include "daemon/net/fabric/tcp/auth.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "shm/base/error.h"
#include "tests/unit/runner.h"

#define NOBODY 65534

static char directory[] = "/tmp/sftest-auth-XXXXXX";
static char path[64];

static void setup(void)
{
  ck_assert_ptr_nonnull(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/key", directory);
}

static void teardown(void)
{
  unlink(path);
  rmdir(directory);
}

SFTEST_FIXTURE(setup, teardown);

static void write_key(size_t size, char fill, mode_t mode)
{
  char bytes[5000];
  memset(bytes, fill, sizeof bytes);
  unlink(path);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
  ck_assert_int_eq(fchmod(fd, mode), 0);
  close(fd);
}

static void expect(sf_status_t status, const char *words)
{
  sfd_tcp_key_t key;
  ck_assert_int_eq(sfd_tcp_key_read(path, &key), status);
  if (status != SF_OK)
    ck_assert_msg(strstr(sfshm_error_detail(), words) != NULL && strstr(sfshm_error_detail(), path) != NULL,
                  "'%s' in '%s'", words, sfshm_error_detail());
}

/* ---- The file ---- */

SFTEST(key_files)
{
  expect(SF_ERR_SYS, "No such file");
  write_key(31, 'a', 0600);
  expect(SF_ERR_SYS, "31 bytes");
  write_key(32, 'a', 0600);
  expect(SF_OK, "");
  write_key(4096, 'a', 0400);
  expect(SF_OK, "");
  write_key(4097, 'a', 0600);
  expect(SF_ERR_ARG, "4097 bytes");
  write_key(32, 'a', 0604);
  expect(SF_ERR_PERM, "604");
  write_key(32, 'a', 0620);
  expect(SF_ERR_PERM, "620");
  unlink(path);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  expect(SF_ERR_ARG, "regular");
  ck_assert_int_eq(rmdir(path), 0);
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  expect(SF_ERR_ARG, "regular"); /* and does not wait for a writer */
}

/* Root's may be readable by a group: that is how a service's user gets at it. Needs root to make such files. */
SFTEST(key_files_of_others)
{
  if (geteuid() != 0) {
    write_key(32, 'a', 0640);
    expect(SF_ERR_PERM, "640");
    return;
  }
  write_key(32, 'a', 0640);
  expect(SF_OK, "");
  ck_assert_int_eq(chown(path, NOBODY, 0), 0);
  expect(SF_ERR_PERM, "belongs to user 65534");
}

SFTEST(key_depends_on_every_byte)
{
  sfd_tcp_key_t a, b, c;
  write_key(64, 'a', 0600);
  ck_assert_int_eq(sfd_tcp_key_read(path, &a), SF_OK);
  ck_assert_int_eq(sfd_tcp_key_read(path, &c), SF_OK);
  ck_assert_mem_eq(&a, &c, sizeof a);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  ck_assert_int_eq(pwrite(fd, "b", 1, 63), 1);
  close(fd);
  ck_assert_int_eq(sfd_tcp_key_read(path, &b), SF_OK);
  ck_assert_mem_ne(&a, &b, sizeof a);
  sfd_tcp_key_wipe(&c);
  ck_assert_mem_ne(&a, &c, sizeof a);
}

/* ---- Codes ---- */

static const sfd_tcp_cluster_t nine = {9, {1}, {2}};

typedef struct exchange {
  sfd_tcp_key_t key;
  sfd_tcp_hello_t hello;
  sfd_tcp_challenge_t challenge;
  sfd_tcp_proof_t proof;
} exchange_t;

static exchange_t make_exchange(void)
{
  exchange_t exchange;
  write_key(32, 'a', 0600);
  ck_assert_int_eq(sfd_tcp_key_read(path, &exchange.key), SF_OK);
  sfd_tcp_hello_make(&exchange.hello, 3, 5, &nine);
  sfd_tcp_challenge_make(&exchange.challenge, &exchange.key, &exchange.hello);
  sfd_tcp_proof_make(&exchange.proof, &exchange.key, &exchange.hello, &exchange.challenge);
  return exchange;
}

static bool challenge_is_true(const exchange_t *exchange)
{
  return sfd_tcp_challenge_is_true(&exchange->challenge, &exchange->key, &exchange->hello);
}

static bool proof_is_true(const exchange_t *exchange)
{
  return sfd_tcp_proof_is_true(&exchange->proof, &exchange->key, &exchange->hello, &exchange->challenge);
}

/* Every bit of everything counts. */
SFTEST(changed_bits_are_noticed)
{
  exchange_t good = make_exchange();
  ck_assert(challenge_is_true(&good) && proof_is_true(&good));
  for (size_t bit = 0; bit < 8 * sizeof good; bit++) {
    exchange_t bad = good;
    ((uint8_t *)&bad)[bit / 8] ^= (uint8_t)(1u << bit % 8);
    bool of_refusal = bit / 8 >= offsetof(exchange_t, challenge) && bit / 8 < offsetof(exchange_t, challenge.nonce);
    bool of_code = bit / 8 >= offsetof(exchange_t, challenge.code) && bit / 8 < offsetof(exchange_t, proof);
    bool of_proof = bit / 8 >= offsetof(exchange_t, proof);
    ck_assert_int_eq(challenge_is_true(&bad), of_refusal || of_proof);
    ck_assert_int_eq(proof_is_true(&bad), of_refusal || of_code);
  }
}

SFTEST(codes_do_not_serve_each_other)
{
  exchange_t good = make_exchange(), bad = good;
  memcpy(bad.proof.code, good.challenge.code, sizeof bad.proof);
  ck_assert(!proof_is_true(&bad));
  memcpy(bad.challenge.code, good.proof.code, sizeof bad.proof);
  ck_assert(!challenge_is_true(&bad));
}

SFTEST(nonces_differ)
{
  exchange_t a = make_exchange(), b = make_exchange();
  ck_assert_mem_ne(a.hello.nonce, b.hello.nonce, sizeof a.hello.nonce);
  ck_assert_mem_ne(a.challenge.nonce, b.challenge.nonce, sizeof a.challenge.nonce);
}

/* Lists in another order, and other names of the cluster, are told apart. */
SFTEST(clusters)
{
  sfd_peer_list_t ab, ba;
  ck_assert_int_eq(sfd_peer_list_create("a:1,b:2", &ab), SF_OK);
  ck_assert_int_eq(sfd_peer_list_create("b:2,a:1", &ba), SF_OK);
  sfd_tcp_cluster_t one = sfd_tcp_cluster_make(&ab, "x"), two = sfd_tcp_cluster_make(&ba, "y");
  sfd_tcp_cluster_t three = sfd_tcp_cluster_make(&ab, "y");
  ck_assert_int_eq(one.nnodes, 2);
  ck_assert_mem_ne(one.list, two.list, sizeof one.list);
  ck_assert_mem_eq(one.list, three.list, sizeof one.list);
  ck_assert_mem_ne(one.name, three.name, sizeof one.name);
  ck_assert_mem_eq(two.name, three.name, sizeof one.name);
  sfd_peer_list_free(&ab);
  sfd_peer_list_free(&ba);
}

SFTEST(hellos)
{
  sfd_tcp_hello_t hello;
  sfd_tcp_cluster_t other = nine;
  int32_t from = -1;
  other.nnodes = 8;
  sfd_tcp_hello_make(&hello, 3, 5, &nine);
  ck_assert_int_eq(sfd_tcp_hello_check(&hello, 5, &nine, &from), SFD_TCP_WELCOME);
  ck_assert_int_eq(from, 3);
  ck_assert_int_eq(sfd_tcp_hello_check(&hello, 5, &other, &from), SFD_TCP_OTHER_SIZE);
  ck_assert_int_eq(sfd_tcp_hello_check(&hello, 4, &nine, &from), SFD_TCP_OTHER_NODE);
  sfd_tcp_hello_make(&hello, 5, 5, &nine);
  ck_assert_int_eq(sfd_tcp_hello_check(&hello, 5, &nine, &from), SFD_TCP_UNKNOWN_NODE);
  sfd_tcp_hello_make(&hello, 9, 5, &nine);
  ck_assert_int_eq(sfd_tcp_hello_check(&hello, 5, &nine, &from), SFD_TCP_UNKNOWN_NODE);
  sfd_tcp_hello_make(&hello, -1, 5, &nine);
  ck_assert_int_eq(sfd_tcp_hello_check(&hello, 5, &nine, &from), SFD_TCP_UNKNOWN_NODE);
  sfd_tcp_hello_make(&hello, 3, 5, &nine);
  other = nine;
  other.list[7] ^= 1;
  ck_assert_int_eq(sfd_tcp_hello_check(&hello, 5, &other, &from), SFD_TCP_OTHER_LIST);
  other = nine;
  other.name[0] ^= 1;
  ck_assert_int_eq(sfd_tcp_hello_check(&hello, 5, &other, &from), SFD_TCP_OTHER_NAME);
  hello.version++;
  ck_assert_int_eq(sfd_tcp_hello_check(&hello, 5, &nine, &from), SFD_TCP_OTHER_VERSION);
}
