/* Creating, verifying and mapping shared memory regions. Any thread; no state of its own. */
#include "shm/region/region.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "shm/base/error.h"
#include "shm/region/memory_left.h"

#define HUGE_PAGE_BYTES (2u << 20)
#define SEALING_TRIES 1000
#define STAT_BLOCK_BYTES 512            /* of st_blocks, whatever the file system's are */
#define CHECKED_BYTES ((size_t)4 << 20) /* asked for at once: compared with what is left */
#define HOLLOW_BYTES ((size_t)64 << 20) /* a longer region is to have memory */

static const char *kind_name(sfshm_region_kind_t kind)
{
  static const char *const names[] = {"?",         "inbox",       "alloc",    "counters", "edges", "board", "ring",
                                      "trunk map", "trunk board", "exchange", "claims",   "array", "window"};
  return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "?";
}

/* Required seals of a kind of region. */
static int required_seals(sfshm_region_kind_t kind)
{
  int seals = F_SEAL_SHRINK | F_SEAL_GROW;
  switch (kind) {
  case SFSHM_REGION_EDGES:
    return seals | F_SEAL_WRITE;
  case SFSHM_REGION_INBOX:
  case SFSHM_REGION_RING:
  case SFSHM_REGION_TRUNK_BOARD:
  case SFSHM_REGION_EXCHANGE:
  case SFSHM_REGION_CLAIMS:
  case SFSHM_REGION_ARRAY:
  case SFSHM_REGION_WINDOW:
    return seals;
  default:
    return seals | F_SEAL_FUTURE_WRITE;
  }
}

size_t sfshm_page_bytes(void)
{
  return (size_t)sysconf(_SC_PAGESIZE);
}

uint64_t sfshm_memory_bytes(void)
{
  return (uint64_t)sysconf(_SC_PHYS_PAGES) * sfshm_page_bytes();
}

static size_t round_to_pages(size_t length_bytes)
{
  size_t page = sfshm_page_bytes();
  return (length_bytes + page - 1) / page * page;
}

static void write_header(void *base, sfshm_region_kind_t kind, size_t length_bytes)
{
  sfshm_region_header_t *header = base;
  header->magic = SFSHM_REGION_MAGIC;
  header->length_bytes = length_bytes;
  header->kind = (uint32_t)kind;
  header->owner_pid = (int32_t)getpid();
  /* Pairs with the acquire in check_header: a reader of the version sees the rest. */
  atomic_store_explicit(&header->version, SFSHM_LAYOUT_VERSION, memory_order_release);
}

/* Refuses requests beyond the remaining memory. fallocate would allocate all of it before it fails, and the kernel
 * would kill processes. */
static sf_status_t check_memory_left(size_t length_bytes)
{
  if (length_bytes < CHECKED_BYTES)
    return SF_OK;
  uint64_t left = sfshm_memory_left("/proc", "/sys/fs/cgroup", length_bytes);
  if (length_bytes <= left)
    return SF_OK;
  return sfshm_error(SF_ERR_NOMEM,
                     "%zu bytes of shared memory are more than the %llu that the machine, or a control group of this "
                     "process, has left",
                     length_bytes, (unsigned long long)left);
}

/* ENOMEM: the memory of a control group is exhausted. */
static sf_status_t status_of(int error)
{
  return error == ENOSPC || error == ENOMEM ? SF_ERR_NOMEM : SF_ERR_SYS;
}

static sf_status_t set_length(int fd, const char *name, size_t length_bytes)
{
  sf_status_t status = sfshm_memory_check_file(length_bytes);
  if (status == SF_OK && ftruncate(fd, (off_t)length_bytes) != 0)
    status = sfshm_error_errno(SF_ERR_NOMEM, "region \"%s\" of %zu bytes", name, length_bytes);
  return status;
}

static sf_status_t allocate(int fd, size_t offset, size_t length_bytes)
{
  int error;
  do
    error = fallocate(fd, 0, (off_t)offset, (off_t)length_bytes) ? errno : 0;
  while (error == EINTR);
  if (error == 0)
    return SF_OK;
  errno = error;
  return sfshm_error_errno(status_of(error), "allocating %zu bytes of shared memory", length_bytes);
}

sf_status_t sfshm_region_commit(const sfshm_region_t *region, size_t offset, size_t length_bytes)
{
  sf_status_t status = check_memory_left(length_bytes);
  if (status == SF_OK)
    status = sfshm_memory_check_file(offset + length_bytes);
  return status == SF_OK ? allocate(region->fd, offset, length_bytes) : status;
}

sf_status_t sfshm_region_create(const char *name, sfshm_region_kind_t kind, size_t length_bytes,
                                sfshm_sealing_t sealing, sfshm_commit_t commit, sfshm_region_t *region_p)
{
  sfshm_region_t region = {.length_bytes = round_to_pages(length_bytes)};
  region.fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (region.fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "memfd_create(\"%s\")", name);
  sf_status_t status = set_length(region.fd, name, region.length_bytes);
  if (status == SF_OK)
    status = sfshm_region_commit(&region, 0,
                                 commit == SFSHM_COMMIT_ALL ? region.length_bytes : sizeof(sfshm_region_header_t));
  if (status != SF_OK)
    goto err_close;
  region.base = mmap(NULL, region.length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd, 0);
  if (region.base == MAP_FAILED) {
    status = sfshm_error_errno(SF_ERR_NOMEM, "mapping region \"%s\" of %zu bytes", name, region.length_bytes);
    goto err_close;
  }
  if (region.length_bytes >= 2 * HUGE_PAGE_BYTES)
    (void)madvise(region.base, region.length_bytes, MADV_HUGEPAGE); /* a hint; not every kernel supports it */
  write_header(region.base, kind, region.length_bytes);
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | (sealing == SFSHM_SEAL_FUTURE_WRITE ? F_SEAL_FUTURE_WRITE : 0);
  if (fcntl(region.fd, F_ADD_SEALS, seals) != 0) {
    status = sfshm_error_errno(SF_ERR_SYS, "sealing region \"%s\"", name);
    goto err_unmap;
  }
  *region_p = region;
  return SF_OK;

err_unmap:
  munmap(region.base, region.length_bytes);
err_close:
  close(region.fd);
  return status;
}

static sf_status_t write_all(int fd, const char *bytes, size_t length_bytes, uint64_t offset)
{
  while (length_bytes > 0) {
    ssize_t written = pwrite(fd, bytes, length_bytes, (off_t)offset);
    if (written < 0 && errno != EINTR)
      return sfshm_error_errno(status_of(errno), "writing a region");
    if (written > 0) {
      bytes += written;
      length_bytes -= (size_t)written;
      offset += (uint64_t)written;
    }
  }
  return SF_OK;
}

/* Sealing fails with EBUSY while the kernel itself holds a page; the loop waits for that, but not for long. */
static int seal_all(int fd)
{
  const struct timespec pause = {.tv_nsec = 1000000};
  int tries = 0, error;
  while ((error = fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)) != 0 && errno == EBUSY &&
         tries++ < SEALING_TRIES)
    nanosleep(&pause, NULL);
  return error;
}

/* Written rather than mapped: saves clearing, faulting in and unmapping pages. */
sf_status_t sfshm_region_freeze(const char *name, sfshm_region_kind_t kind, void *image, size_t length_bytes,
                                sfshm_region_t *region_p)
{
  sfshm_region_t region = {.length_bytes = length_bytes};
  region.fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (region.fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "memfd_create(\"%s\")", name);
  write_header(image, kind, length_bytes);
  sf_status_t status = write_all(region.fd, image, length_bytes, 0);
  if (status == SF_OK && seal_all(region.fd) != 0)
    status = sfshm_error_errno(SF_ERR_SYS, "sealing region \"%s\"", name);
  if (status == SF_OK)
    *region_p = region;
  else
    close(region.fd);
  return status;
}

sf_status_t sfshm_region_publish(const char *name, sfshm_region_kind_t kind, void *image, size_t length_bytes,
                                 sfshm_region_t *region_p)
{
  sfshm_region_t region;
  sf_status_t status = sfshm_region_freeze(name, kind, image, length_bytes, &region);
  if (status != SF_OK)
    return status;
  /* Private mapping: before Linux 6.7 a region sealed against writing cannot be mapped shared, not even for reading. */
  region.base = mmap(NULL, length_bytes, PROT_READ, MAP_PRIVATE, region.fd, 0);
  if (region.base == MAP_FAILED) {
    status = sfshm_error_errno(SF_ERR_NOMEM, "mapping region \"%s\" of %zu bytes", name, length_bytes);
    close(region.fd);
    return status;
  }
  *region_p = region;
  return SF_OK;
}

static sf_status_t write_pieces(int fd, const sfshm_region_piece_t pieces[], size_t npieces, sfshm_region_kind_t kind,
                                size_t length_bytes)
{
  sfshm_region_header_t header = {0};
  sf_status_t status = check_memory_left(length_bytes);
  for (size_t i = 0; i < npieces && status == SF_OK; i++)
    status = write_all(fd, pieces[i].bytes, pieces[i].length_bytes, pieces[i].offset);
  write_header(&header, kind, length_bytes);
  return status == SF_OK ? write_all(fd, (const char *)&header, sizeof header, 0) : status;
}

sf_status_t sfshm_region_compose(const char *name, sfshm_region_kind_t kind, const sfshm_region_piece_t pieces[],
                                 size_t npieces, size_t length_bytes, sfshm_region_t *region_p)
{
  sfshm_region_t region = {.length_bytes = round_to_pages(length_bytes)};
  region.fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (region.fd < 0)
    return sfshm_error_errno(SF_ERR_SYS, "memfd_create(\"%s\")", name);
  sf_status_t status = set_length(region.fd, name, region.length_bytes);
  if (status == SF_OK)
    status = write_pieces(region.fd, pieces, npieces, kind, region.length_bytes);
  if (status == SF_OK) /* also ranges without a piece, because later pieces need memory there */
    status = allocate(region.fd, 0, region.length_bytes);
  if (status == SF_OK) {
    region.base = mmap(NULL, region.length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd, 0);
    if (region.base == MAP_FAILED) {
      region.base = NULL;
      status = sfshm_error_errno(SF_ERR_NOMEM, "mapping region \"%s\" of %zu bytes", name, region.length_bytes);
    }
  }
  if (status == SF_OK && fcntl(region.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) != 0)
    status = sfshm_error_errno(SF_ERR_SYS, "sealing region \"%s\"", name);
  if (status == SF_OK)
    *region_p = region;
  else
    sfshm_region_destroy(&region);
  return status;
}

void sfshm_region_recompose(const sfshm_region_t *region, const sfshm_region_piece_t pieces[], size_t npieces)
{
  size_t header = sizeof(sfshm_region_header_t);
  char *base = region->base;
  memcpy(base + header, (const char *)pieces[0].bytes + header, pieces[0].length_bytes - header);
  for (size_t i = 1, end = pieces[0].length_bytes; i < npieces; i++) {
    memset(base + end, 0, pieces[i].offset - end);
    memcpy(base + pieces[i].offset, pieces[i].bytes, pieces[i].length_bytes);
    end = pieces[i].offset + pieces[i].length_bytes;
  }
}

/* Pages of a writable memfd can be punched out despite its seals. Ordinary pages come back when touched; huge pages may
 * be exhausted by then, and the process that maps them would get SIGBUS. */
static sf_status_t check_pages(int fd, sfshm_region_kind_t kind)
{
  struct statfs info;
  if ((required_seals(kind) & F_SEAL_WRITE) != 0)
    return SF_OK;
  if (fstatfs(fd, &info) != 0)
    return sfshm_error_errno(SF_ERR_PROTO, "%s region: fstatfs", kind_name(kind));
  if (info.f_type != TMPFS_MAGIC)
    return sfshm_error(SF_ERR_PROTO, "%s region: a memfd of ordinary pages expected, file system 0x%lx found",
                       kind_name(kind), (unsigned long)info.f_type);
  return SF_OK;
}

/* Reading a hole allocates a page at the reader's expense: an immutable region with holes could have any length at no
 * cost. Writable regions may have holes, to be filled later. */
static sf_status_t check_holes(const struct stat *info, sfshm_region_kind_t kind)
{
  uint64_t there = (uint64_t)info->st_blocks * STAT_BLOCK_BYTES;
  bool to_fill = (required_seals(kind) & F_SEAL_WRITE) == 0 && kind != SFSHM_REGION_ARRAY;
  if (to_fill || there >= (uint64_t)info->st_size)
    return SF_OK;
  return sfshm_error(SF_ERR_PROTO, "%s region: memory for all of its %lld bytes expected, found for %llu",
                     kind_name(kind), (long long)info->st_size, (unsigned long long)there);
}

static sf_status_t verify_sealed(int fd, sfshm_region_kind_t kind, int required, uint64_t max_bytes, size_t *length_p)
{
  struct stat info;
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0)
    return sfshm_error_errno(SF_ERR_PROTO, "%s region: the descriptor is no memfd", kind_name(kind));
  sf_status_t status = check_pages(fd, kind);
  if (status != SF_OK)
    return status;
  if ((seals & required) != required)
    return sfshm_error(SF_ERR_PROTO, "%s region: seals 0x%x expected, 0x%x found", kind_name(kind), (unsigned)required,
                       (unsigned)seals);
  if (fstat(fd, &info) != 0)
    return sfshm_error_errno(SF_ERR_SYS, "%s region: fstat", kind_name(kind));
  if (info.st_size < (off_t)sizeof(sfshm_region_header_t) || (uint64_t)info.st_size > max_bytes)
    return sfshm_error(SF_ERR_PROTO, "%s region: %zu to %llu bytes expected, %lld found", kind_name(kind),
                       sizeof(sfshm_region_header_t), (unsigned long long)max_bytes, (long long)info.st_size);
  status = check_holes(&info, kind);
  if (status == SF_OK)
    *length_p = (size_t)info.st_size;
  return status;
}

sf_status_t sfshm_region_verify(int fd, sfshm_region_kind_t kind, uint64_t max_bytes, size_t *length_p)
{
  return verify_sealed(fd, kind, required_seals(kind), max_bytes, length_p);
}

static sf_status_t check_header(const sfshm_region_header_t *header, sfshm_region_kind_t kind, size_t length_bytes)
{
  uint32_t version = atomic_load_explicit(&header->version, memory_order_acquire);
  if (header->magic != SFSHM_REGION_MAGIC)
    return sfshm_error(SF_ERR_PROTO, "%s region: magic 0x%llx expected, 0x%llx found", kind_name(kind),
                       (unsigned long long)SFSHM_REGION_MAGIC, (unsigned long long)header->magic);
  if (version != SFSHM_LAYOUT_VERSION)
    return sfshm_error(SF_ERR_VERSION, "%s region: layout version %u expected, %u found", kind_name(kind),
                       SFSHM_LAYOUT_VERSION, version);
  if (header->kind != (uint32_t)kind || header->length_bytes != length_bytes)
    return sfshm_error(SF_ERR_PROTO, "%s region: header says kind %u and %llu bytes, expected %u and %zu",
                       kind_name(kind), header->kind, (unsigned long long)header->length_bytes, (unsigned)kind,
                       length_bytes);
  return SF_OK;
}

/* mapped_bytes: 0: all of it. */
static sf_status_t map(int fd, sfshm_region_kind_t kind, uint64_t max_bytes, size_t mapped_bytes, sfshm_access_t access,
                       sfshm_region_t *region_p)
{
  size_t length;
  sf_status_t status = sfshm_region_verify(fd, kind, max_bytes, &length);
  if (status != SF_OK)
    return status;
  sfshm_region_t region = {.fd = -1, .length_bytes = mapped_bytes > 0 ? mapped_bytes : length};
  if (length < region.length_bytes)
    return sfshm_error(SF_ERR_PROTO, "%s region: %zu bytes expected at least, %zu found", kind_name(kind),
                       region.length_bytes, length);
  int protection = access == SFSHM_READ_WRITE ? PROT_READ | PROT_WRITE : PROT_READ;
  int sharing = (required_seals(kind) & F_SEAL_WRITE) != 0 ? MAP_PRIVATE : MAP_SHARED; /* see sfshm_region_publish */
  region.base = mmap(NULL, region.length_bytes, protection, sharing, fd, 0);
  if (region.base == MAP_FAILED)
    return sfshm_error_errno(SF_ERR_NOMEM, "mapping %s region of %zu bytes", kind_name(kind), region.length_bytes);
  status = check_header(region.base, kind, length);
  if (status != SF_OK) {
    munmap(region.base, region.length_bytes);
    return status;
  }
  *region_p = region;
  return SF_OK;
}

sf_status_t sfshm_region_map(int fd, sfshm_region_kind_t kind, uint64_t max_bytes, sfshm_access_t access,
                             sfshm_region_t *region_p)
{
  return map(fd, kind, max_bytes, 0, access, region_p);
}

sf_status_t sfshm_region_map_head(int fd, sfshm_region_kind_t kind, size_t head_bytes, sfshm_access_t access,
                                  sfshm_region_t *region_p)
{
  return map(fd, kind, INT64_MAX, head_bytes, access, region_p);
}

/* Address space costs the creator of a region nothing. */
static bool is_hollow(int fd, size_t length_bytes)
{
  struct stat info;
  return length_bytes > HOLLOW_BYTES &&
         (fstat(fd, &info) != 0 || (uint64_t)info.st_blocks * STAT_BLOCK_BYTES < length_bytes / 2);
}

static void *map_writable(int fd, size_t length_bytes)
{
  if (!is_hollow(fd, length_bytes))
    return mmap(NULL, length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  errno = ENOMEM;
  return MAP_FAILED;
}

sf_status_t sfshm_region_map_last(int fd, sfshm_region_kind_t kind, uint64_t max_bytes, sfshm_region_t *region_p)
{
  sfshm_region_t region = {.fd = -1};
  sf_status_t status = verify_sealed(fd, kind, F_SEAL_SHRINK | F_SEAL_GROW, max_bytes, &region.length_bytes);
  if (status != SF_OK)
    return status;
  region.base = map_writable(fd, region.length_bytes);
  if (region.base == MAP_FAILED) {
    bool sealed_before = errno == EPERM;
    status = sfshm_error_errno(sealed_before ? SF_ERR_PERM : SF_ERR_NOMEM, "mapping %s region of %zu bytes",
                               kind_name(kind), region.length_bytes);
    if (!sealed_before)
      (void)fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
    return status;
  }
  status = check_header(region.base, kind, region.length_bytes);
  if (status == SF_OK && fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0)
    status = sfshm_error_errno(SF_ERR_PROTO, "%s region: sealing", kind_name(kind));
  if (status != SF_OK) {
    munmap(region.base, region.length_bytes);
    return status;
  }
  *region_p = region;
  return SF_OK;
}

sf_status_t sfshm_read(int fd, uint64_t offset, size_t length_bytes, void *to)
{
  for (size_t done = 0; done < length_bytes;) {
    ssize_t got = pread(fd, (char *)to + done, length_bytes - done, (off_t)(offset + done));
    if (got == 0 || (got < 0 && errno != EINTR))
      return sfshm_error_errno(SF_ERR_SYS, "reading %zu bytes of a region", length_bytes);
    done += got > 0 ? (size_t)got : 0;
  }
  return SF_OK;
}

void sfshm_region_destroy(sfshm_region_t *region)
{
  if (region->length_bytes == 0)
    return;
  if (region->base != NULL)
    munmap(region->base, region->length_bytes);
  if (region->fd >= 0)
    close(region->fd);
  *region = (sfshm_region_t){.fd = -1};
}
