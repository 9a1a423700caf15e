/* Has one call that writes below a folder fail, as a disk does: preloaded before libc by `make drill-io`.

   DRILL_FOLDER is the folder, DRILL_CALL the number of the call that fails (0: none), DRILL_ERRNO how, DRILL_STAYS
   whether all later ones fail too, DRILL_REPORT the file that gets a line "call path" of the first that failed, or, at
   the end of a process in which none did, "calls N". */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *folder, *report;
static long failing, error_number;
static int stays;
static atomic_long calls;

__attribute__((constructor)) static void begin(void) {
    const char *call = getenv("DRILL_CALL"), *number = getenv("DRILL_ERRNO");
    folder = getenv("DRILL_FOLDER");
    report = getenv("DRILL_REPORT");
    failing = call ? atol(call) : 0;
    error_number = number ? atol(number) : EIO;
    stays = getenv("DRILL_STAYS") != NULL;
}

static void tell(const char *line) {
    int file = report ? (int)syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    if (file < 0)
        return;
    syscall(SYS_write, file, line, strlen(line));
    syscall(SYS_close, file);
}

__attribute__((destructor)) static void end(void) {
    char line[64];
    if (failing && calls >= failing)
        return;
    snprintf(line, sizeof line, "calls %ld\n", (long)calls);
    tell(line);
}

static int is_inside(const char *path) {
    size_t length = folder ? strlen(folder) : 0;
    return length && path && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

/* Whether this call is to fail; errno is then set. */
static int fails(const char *name, const char *path) {
    char line[PATH_MAX + 64];
    long call;
    if (!is_inside(path))
        return 0;
    call = atomic_fetch_add(&calls, 1) + 1;
    if (!failing || call < failing || (call > failing && !stays))
        return 0;
    if (call == failing) {
        snprintf(line, sizeof line, "%s %s\n", name, path);
        tell(line);
    }
    errno = (int)error_number;
    return 1;
}

static int fails_at(const char *name, int file) {
    char link[64], path[PATH_MAX];
    ssize_t length;
    int before = errno;
    if (!folder)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0)
        return 0;
    path[length] = 0;
    return fails(name, path);
}

#define REAL(name, type, ...)                                                                                          \
    static type (*real)(__VA_ARGS__);                                                                                  \
    if (!real)                                                                                                         \
        real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define OF_FILE(type, name, taken, given, ...)                                                                         \
    type name taken {                                                                                                  \
        REAL(name, type, __VA_ARGS__);                                                                                 \
        return fails_at(#name, file) ? -1 : real given;                                                                \
    }

OF_FILE(ssize_t, write, (int file, const void *data, size_t size), (file, data, size), int, const void *, size_t)
OF_FILE(ssize_t, pwrite, (int file, const void *data, size_t size, off_t at), (file, data, size, at), int,
        const void *, size_t, off_t)
OF_FILE(ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t at), (file, data, size, at), int,
        const void *, size_t, off64_t)
OF_FILE(ssize_t, writev, (int file, const struct iovec *data, int count), (file, data, count), int,
        const struct iovec *, int)
OF_FILE(ssize_t, sendfile, (int file, int from, off_t *at, size_t size), (file, from, at, size), int, int, off_t *,
        size_t)
OF_FILE(ssize_t, sendfile64, (int file, int from, off64_t *at, size_t size), (file, from, at, size), int, int,
        off64_t *, size_t)
OF_FILE(int, fsync, (int file), (file), int)
OF_FILE(int, fdatasync, (int file), (file), int)
OF_FILE(int, ftruncate, (int file, off_t size), (file, size), int, off_t)
OF_FILE(int, ftruncate64, (int file, off64_t size), (file, size), int, off64_t)

#define OF_TWO_PATHS(name)                                                                                             \
    int name(const char *from, const char *to) {                                                                       \
        REAL(name, int, const char *, const char *);                                                                   \
        return fails(#name, to) ? -1 : real(from, to);                                                                 \
    }

OF_TWO_PATHS(rename)
OF_TWO_PATHS(link)

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    REAL(linkat, int, int, const char *, int, const char *, int);
    return fails("linkat", to) ? -1 : real(from_folder, from, to_folder, to, flags);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir, int, const char *, mode_t);
    return fails("mkdir", path) ? -1 : real(path, mode);
}

int unlink(const char *path) {
    REAL(unlink, int, const char *);
    return fails("unlink", path) ? -1 : real(path);
}

static mode_t mode_of(int flags, va_list more) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

#define OPENS(name)                                                                                                    \
    int name(const char *path, int flags, ...) {                                                                       \
        mode_t mode;                                                                                                   \
        va_list more;                                                                                                  \
        REAL(name, int, const char *, int, ...);                                                                       \
        va_start(more, flags);                                                                                         \
        mode = mode_of(flags, more);                                                                                   \
        va_end(more);                                                                                                  \
        return (flags & O_CREAT) && fails("open", path) ? -1 : real(path, flags, mode);                                \
    }

#define OPENS_AT(name)                                                                                                 \
    int name(int folder_of, const char *path, int flags, ...) {                                                        \
        mode_t mode;                                                                                                   \
        va_list more;                                                                                                  \
        REAL(name, int, int, const char *, int, ...);                                                                  \
        va_start(more, flags);                                                                                         \
        mode = mode_of(flags, more);                                                                                   \
        va_end(more);                                                                                                  \
        return (flags & O_CREAT) && fails("open", path) ? -1 : real(folder_of, path, flags, mode);                     \
    }

OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
