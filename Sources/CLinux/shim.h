#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H
// Glibc's Swift module leaves these headers out.
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

// epoll_event holds a union, which Swift cannot use safely; these two keep it in C.
static inline int CLinux_epoll_control(int epoll, int operation, int fd, unsigned int events, unsigned long long number) {
    struct epoll_event event = { .events = events, .data = { .u64 = number } };
    return epoll_ctl(epoll, operation, fd, &event);
}
static inline unsigned long long CLinux_epoll_number(const struct epoll_event *event) { return event->data.u64; }

// prctl is variadic, and variadic functions are not imported. Names the calling thread (15 bytes).
static inline int CLinux_name_thread(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

// accept4 is a GNU extension, which the module's headers hide.
extern int accept4(int, struct sockaddr *restrict, socklen_t *restrict, int);
static inline int CLinux_accept(int fd) { return accept4(fd, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC); }

// A file in memory, closed on exec (1 is MFD_CLOEXEC), by another GNU extension.
extern int memfd_create(const char *name, unsigned int flags);
static inline int CLinux_memory_file(void) { return memfd_create("tally", 1); }

// Two more GNU extensions: where a started program runs, and that it gets none of our descriptors from `from` on.
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *, const char *);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int from);
#endif
