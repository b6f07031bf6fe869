/*
 * Stands between a process and its disk and clock (LD_PRELOAD), and does to it what a bad day does.
 *
 *   FAULTS_ROOT   only files below this directory are touched; without it nothing is
 *   FAULTS_LOG    everything done to those files is written down here, in the order in which it was
 *                 done, with the bytes: enough to make the directory a power cut would have left
 *
 * What is to go wrong is said while it runs, by a line on descriptor 3 that begins with '!'; such a
 * line is obeyed and goes no further. All other lines on it are written down too, so that the log
 * says what the process had acknowledged at each moment.
 *
 *   !bytes N            N more bytes are written, then the process is killed in the middle of a write
 *   !kill KIND N        killed just before the Nth call from here: write or sync
 *   !forget SUFFIX N    the Nth flush of files with that suffix is not done but called a success;
 *                       0 for every one; a suffix of / is the directory
 *   !slow MS            every flush takes so much longer
 *   !clock SECONDS      wall time is that much ahead
 *
 * What must stay true: a write is logged after it was done, a flush after it was done together with
 * where the log stood when it began, so a flush vouches only for what it really covered. The index
 * of a write-ahead log ("-shm") is memory and not disk: it is left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SAYING 3
#define NEXT(name) (__typeof__(&name)) dlsym(RTLD_NEXT, #name)

enum { WRITE = 1, SYNC, TRUNCATE, CREATE, UNLINK, RENAME, SAID, FAILED_SYNC };

struct __attribute__((packed)) entry {
  uint32_t op, path_length, data_length, number;
  uint64_t offset;
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static size_t root_length;
static int log_fd = -1;
static uint32_t entries;

static long bytes_left = -1;
static long calls_left[2] = {-1, -1}; /* of writes, of flushes */
static char forgotten[64];
static long forget_in = -1;
static long slow_ms;
static volatile long clock_ahead;

static void __attribute__((constructor)) begin(void) {
  root = getenv("FAULTS_ROOT");
  root_length = root ? strlen(root) : 0;
  const char *path = getenv("FAULTS_LOG");
  if (path) log_fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int is_watched(const char *path) {
  size_t length = strlen(path);
  if (!root || strncmp(path, root, root_length) != 0) return 0;
  if (path[root_length] != 0 && path[root_length] != '/') return 0;
  return length < 4 || strcmp(path + length - 4, "-shm") != 0;
}

/* The path of a watched file below the root, or 0. A file that was unlinked has none. */
static const char *watched(int fd, char path[PATH_MAX]) {
  if (!root || fd < 0) return 0;
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  if (!is_watched(path) || strstr(path, " (deleted)")) return 0;
  return path + root_length;
}

static uint32_t put(int op, const char *path, const void *data, size_t length, uint64_t offset, uint32_t number) {
  if (log_fd < 0) return 0;
  struct entry head = {op, strlen(path), length, number, offset};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.path_length}, {(void *)data, length}};
  ssize_t wanted = sizeof head + head.path_length + length;
  if (syscall(SYS_writev, log_fd, parts, 3) != wanted) abort();
  return ++entries;
}

static void obey(const char *line) {
  char word[64];
  long n = 0;
  if (sscanf(line, "!bytes %ld", &n) == 1) bytes_left = n;
  else if (sscanf(line, "!kill write %ld", &n) == 1) calls_left[0] = n;
  else if (sscanf(line, "!kill sync %ld", &n) == 1) calls_left[1] = n;
  else if (sscanf(line, "!forget %63s %ld", word, &n) == 2) strcpy(forgotten, word), forget_in = n;
  else if (sscanf(line, "!slow %ld", &n) == 1) slow_ms = n;
  else if (sscanf(line, "!clock %ld", &n) == 1) clock_ahead = n;
  else abort();
}

static void count_call(int kind) {
  if (calls_left[kind] > 0 && --calls_left[kind] == 0) die();
}

/* One write, seen from all the ways there are to do it. */
static ssize_t write_to(int fd, const void *data, size_t length, int is_placed, off_t offset) {
  char buffer[PATH_MAX];
  const char *path = fd == SAYING ? 0 : watched(fd, buffer);
  if (!path && fd != SAYING)
    return is_placed ? syscall(SYS_pwrite64, fd, data, length, offset) : syscall(SYS_write, fd, data, length);

  pthread_mutex_lock(&turn);
  ssize_t done = length;
  if (fd == SAYING) {
    if (length > 0 && *(const char *)data == '!') {
      char line[128] = "";
      memcpy(line, data, length < sizeof line ? length : sizeof line - 1);
      obey(line);
    } else {
      done = syscall(SYS_write, fd, data, length);
      if (done > 0) put(SAID, "", data, done, 0, 0);
    }
  } else {
    count_call(0);
    if (!is_placed) offset = (fcntl(fd, F_GETFL) & O_APPEND) ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
    size_t allowed = bytes_left >= 0 && (size_t)bytes_left < length ? (size_t)bytes_left : length;
    done = is_placed ? syscall(SYS_pwrite64, fd, data, allowed, offset) : syscall(SYS_write, fd, data, allowed);
    if (done > 0) put(WRITE, path, data, done, offset, 0);
    if (allowed < length) die();
    if (bytes_left >= 0 && done > 0) bytes_left -= done;
  }
  pthread_mutex_unlock(&turn);
  return done;
}

ssize_t write(int fd, const void *data, size_t length) { return write_to(fd, data, length, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return write_to(fd, data, length, 1, offset); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) { return write_to(fd, data, length, 1, offset); }

static ssize_t write_all_to(int fd, const struct iovec *parts, int count, int is_placed, off_t offset) {
  ssize_t sum = 0;
  for (int i = 0; i < count; i++) {
    ssize_t done = write_to(fd, parts[i].iov_base, parts[i].iov_len, is_placed, offset + sum);
    if (done < 0) return sum > 0 ? sum : done;
    sum += done;
    if ((size_t)done < parts[i].iov_len) break;
  }
  return sum;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  char path[PATH_MAX];
  if (fd != SAYING && !watched(fd, path)) return syscall(SYS_writev, fd, parts, count);
  return write_all_to(fd, parts, count, 0, 0);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return write_all_to(fd, parts, count, 1, offset);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  return write_all_to(fd, parts, count, 1, offset);
}

static int is_forgotten(const char *path) {
  if (forget_in < 0) return 0;
  size_t length = strlen(path), suffix = strlen(forgotten);
  int is_meant = strcmp(forgotten, "/") == 0 ? length == 0
                                             : length >= suffix && strcmp(path + length - suffix, forgotten) == 0;
  if (!is_meant) return 0;
  if (forget_in == 0) return 1;
  if (--forget_in > 0) return 0;
  forget_in = -1;
  return 1;
}

static int sync_it(int fd, int call) {
  char buffer[PATH_MAX];
  const char *path = watched(fd, buffer);
  if (!path) return syscall(call, fd);
  pthread_mutex_lock(&turn);
  count_call(1);
  int is_skipped = is_forgotten(path);
  uint32_t begun = entries;
  pthread_mutex_unlock(&turn);
  if (is_skipped) return 0;
  if (slow_ms > 0) usleep(slow_ms * 1000);
  int result = syscall(call, fd), reason = errno;
  pthread_mutex_lock(&turn);
  put(result == 0 ? SYNC : FAILED_SYNC, path, "", 0, 0, begun);
  pthread_mutex_unlock(&turn);
  errno = reason;
  return result;
}

int fsync(int fd) { return sync_it(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_it(fd, SYS_fdatasync); }

static int truncate_to(int fd, off_t length) {
  char buffer[PATH_MAX];
  const char *path = watched(fd, buffer);
  if (!path) return syscall(SYS_ftruncate, fd, length);
  pthread_mutex_lock(&turn);
  count_call(0);
  int result = syscall(SYS_ftruncate, fd, length);
  if (result == 0) put(TRUNCATE, path, "", 0, length, 0);
  pthread_mutex_unlock(&turn);
  return result;
}

int ftruncate(int fd, off_t length) { return truncate_to(fd, length); }
int ftruncate64(int fd, off64_t length) { return truncate_to(fd, length); }

static int open_it(int folder, const char *path, int flags, mode_t mode) {
  if (!root || folder != AT_FDCWD || !is_watched(path) || !(flags & (O_CREAT | O_TRUNC)))
    return syscall(SYS_openat, folder, path, flags, mode);
  pthread_mutex_lock(&turn);
  int existed = access(path, F_OK) == 0;
  int fd = syscall(SYS_openat, folder, path, flags, mode);
  if (fd >= 0 && !existed) put(CREATE, path + root_length, "", 0, 0, 0);
  if (fd >= 0 && existed && (flags & O_TRUNC)) put(TRUNCATE, path + root_length, "", 0, 0, 0);
  pthread_mutex_unlock(&turn);
  return fd;
}

static mode_t mode_of(int flags, va_list rest) { return flags & O_CREAT ? va_arg(rest, mode_t) : 0; }

#define OPENER(name, folder, ...)                   \
  int name(__VA_ARGS__, int flags, ...) {           \
    va_list rest;                                   \
    va_start(rest, flags);                          \
    mode_t mode = mode_of(flags, rest);             \
    va_end(rest);                                   \
    return open_it(folder, path, flags, mode);      \
  }

OPENER(open, AT_FDCWD, const char *path)
OPENER(open64, AT_FDCWD, const char *path)
OPENER(openat, folder, int folder, const char *path)
OPENER(openat64, folder, int folder, const char *path)

int unlink(const char *path) {
  if (!root || !is_watched(path)) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  pthread_mutex_lock(&turn);
  int result = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  if (result == 0) put(UNLINK, path + root_length, "", 0, 0, 0);
  pthread_mutex_unlock(&turn);
  return result;
}

int rename(const char *from, const char *to) {
  if (!root || !is_watched(from) || !is_watched(to)) return syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
  pthread_mutex_lock(&turn);
  int result = syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
  if (result == 0) put(RENAME, from + root_length, to + root_length, strlen(to + root_length), 0, 0);
  pthread_mutex_unlock(&turn);
  return result;
}

int clock_gettime(clockid_t which, struct timespec *when) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = NEXT(clock_gettime);
  int result = real(which, when);
  if (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE) when->tv_sec += clock_ahead;
  return result;
}

int gettimeofday(struct timeval *when, void *zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(when, zone);
  when->tv_sec += clock_ahead;
  return result;
}
