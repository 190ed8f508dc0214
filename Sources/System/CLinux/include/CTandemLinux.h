// The Linux calls of the Machinery floor, each once. Every function returns its result, or minus the error number read
// in the very next instruction: errno never reaches Swift, where a retain or release could overwrite it. Interrupted
// calls are retried here (close never), every descriptor is born close-on-exec and, where it can be, non-blocking, and
// EBADF or EFAULT end the process, because only a bug of ours makes them. No state.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

// ---- readiness and wake-ups (readiness.c)

struct tandem_event {
    uint32_t readiness;
    uint64_t data;
};

extern const uint32_t TANDEM_READABLE, TANDEM_WRITABLE, TANDEM_FAILED, TANDEM_HUNG_UP;

int tandem_epoll_create(void);
int tandem_epoll_add(int epoll, int descriptor, uint32_t interest, uint64_t data);
int tandem_epoll_modify(int epoll, int descriptor, uint32_t interest, uint64_t data);
int tandem_epoll_remove(int epoll, int descriptor);
int tandem_epoll_wait(int epoll, struct tandem_event *events, int capacity, int timeout_milliseconds);
int tandem_eventfd_create(void);
int tandem_eventfd_signal(int descriptor);
int tandem_eventfd_clear(int descriptor);
int tandem_wait_writable(int descriptor, int timeout_milliseconds);

// ---- signals, threads, clocks, error texts (process.c)

int tandem_signals_block(const int *signals, size_t count);
int tandem_signals_ignore(int signal);
int tandem_signalfd_create(const int *signals, size_t count);
int tandem_signalfd_read(int descriptor, int *signal);
int tandem_thread_start(void *(*body)(void *), void *context, const char *name, uint64_t *thread);
int tandem_thread_join(uint64_t thread);
int tandem_thread_detach(uint64_t thread);
uint64_t tandem_thread_current(void);
uint64_t tandem_clock_boot_nanoseconds(void);
int64_t tandem_clock_wall_milliseconds(void);
const char *tandem_error_name(int number);
const char *tandem_error_text(int number);
void tandem_heap_give_back(void);
int tandem_descriptor_limit_set(uint64_t soft);
// Puts /dev/null where standard input, output or error is missing, before something else gets their numbers.
int tandem_process_fill_usual_descriptors(void);
int tandem_process_close_to_others(void);
int tandem_group_identifier(const char *name, uint32_t *identifier);

// ---- other programs (children.c)

struct tandem_program {
    // Each ends with NULL; the first argument is the program's absolute path.
    char *const *arguments;
    char *const *environment;
    uint32_t user, group;
    // Without it the program runs as this process does.
    int changes_user;
};

// Starts a program in a session of its own, without any descriptor but /dev/null thrice. The result is a descriptor that
// becomes readable when it ends.
int tandem_program_start(const struct tandem_program *program, int *process);
// 1 with the exit code, or 128 and the signal; 0 while it runs.
int tandem_program_reap(int descriptor, int *status);
// Ends a program at once and waits for that.
void tandem_program_kill(int descriptor);
int tandem_user_home(uint32_t user, char *home, size_t capacity, uint32_t *group);

// ---- bytes and descriptors (descriptors.c)

ssize_t tandem_read(int descriptor, void *bytes, size_t count);
ssize_t tandem_write(int descriptor, const void *bytes, size_t count);
ssize_t tandem_receive(int descriptor, void *bytes, size_t count);
ssize_t tandem_receive_two(int descriptor, void *first, size_t first_count, void *second, size_t second_count);
ssize_t tandem_send(int descriptor, const struct iovec *parts, size_t count);
int tandem_close(int descriptor);
int tandem_pipe(int descriptors[2]);
int tandem_duplicate(int descriptor);
int tandem_open_null(void);
int tandem_open_lock(const char *path);
int tandem_lock(int descriptor);
int tandem_unlock(int descriptor);
int tandem_unlink(const char *path);
int tandem_set_mode(const char *path, uint32_t mode);
int tandem_set_group(const char *path, uint32_t group);

struct tandem_file {
    uint64_t device, inode;
    uint32_t owner, mode;
    int is_socket, is_regular;
};

int tandem_file_look(const char *path, struct tandem_file *file);

// ---- files and directories (files.c)

struct tandem_status {
    uint64_t device, inode, size;
    uint32_t owner, group, mode;
    int is_regular, is_directory, is_symbolic_link;
};

// In place of a directory's descriptor: names are then paths from the working directory, or absolute ones.
extern const int TANDEM_WORKING_DIRECTORY;

uint32_t tandem_user_current(void);
int32_t tandem_process_current(void);
int tandem_directory_open(int directory, const char *name);
int tandem_directory_make(int directory, const char *name, uint32_t mode);
// The names in a directory but "." and "..", in no order and a few at a time: 1 with the next one, which holds until the
// next call, 0 at the end.
struct tandem_names;
int tandem_names_open(int directory, struct tandem_names **names);
int tandem_names_next(struct tandem_names *names, const char **name);
void tandem_names_start_over(struct tandem_names *names);
void tandem_names_close(struct tandem_names *names);
int tandem_file_open(int directory, const char *name);
int tandem_file_open_lock(int directory, const char *name);
int tandem_file_create(int directory, const char *name, uint32_t mode);
int tandem_file_status(int descriptor, struct tandem_status *status);
int tandem_file_status_named(int directory, const char *name, struct tandem_status *status);
int tandem_file_set_mode(int descriptor, uint32_t mode);
int tandem_file_set_owner(int descriptor, uint32_t owner, uint32_t group);
int tandem_file_synchronise(int descriptor);
int tandem_file_rename(int directory, const char *from, const char *to);
int tandem_file_remove(int directory, const char *name);
int tandem_directory_remove(int directory, const char *name);
int tandem_space_available(int descriptor, uint64_t *bytes);
int tandem_space_whole(int descriptor, uint64_t *bytes);

// ---- large files (transfers.c)

// What tells that a file was changed; times in nanoseconds since 1970.
struct tandem_version {
    uint64_t device, inode, size;
    int64_t modified, changed;
    int is_regular;
};

int tandem_file_open_partial(int directory, const char *name);
int tandem_file_version(int descriptor, struct tandem_version *version);
ssize_t tandem_file_read_at(int descriptor, void *bytes, size_t count, int64_t offset);
ssize_t tandem_file_write_at(int descriptor, const void *bytes, size_t count, int64_t offset);
int tandem_file_cut(int descriptor, int64_t size);
int tandem_file_synchronise_data(int descriptor);
// Fails with EEXIST where something stands already.
int tandem_file_move(int from_directory, const char *from, int to_directory, const char *to);

// ---- sockets (sockets.c)

struct tandem_address {
    uint32_t length;
    int family;
    uint64_t storage[16];
};

struct tandem_credentials {
    uint32_t user, group;
    int32_t process;
};

extern const int TANDEM_FAMILY_UNIX, TANDEM_FAMILY_IPV4, TANDEM_FAMILY_IPV6;

int tandem_address_unix(const char *path, struct tandem_address *address);
int tandem_address_resolve(
    const char *host, uint16_t port, int numeric_only, int passive, struct tandem_address *addresses, size_t capacity,
    int *resolver_error);
const char *tandem_resolver_text(int resolver_error);
int tandem_address_text(const struct tandem_address *address, char *host, size_t capacity, uint16_t *port);

int tandem_socket(int family);
int tandem_socket_pair(int descriptors[2]);
int tandem_socket_set_birth_mode(int descriptor, uint32_t mode);
int tandem_socket_reuse_address(int descriptor);
int tandem_socket_no_delay(int descriptor);
int tandem_bind(int descriptor, const struct tandem_address *address);
int tandem_listen(int descriptor, int backlog);
int tandem_accept(int descriptor, struct tandem_address *address);
int tandem_shutdown_writing(int descriptor);
void tandem_hang_up(int descriptor);
int tandem_connect(int descriptor, const struct tandem_address *address);
int tandem_socket_error(int descriptor);
// The bytes that were written and that the other end has not read (Unix) or not acknowledged (TCP).
int tandem_socket_unread(int descriptor);
int tandem_socket_local_address(int descriptor, struct tandem_address *address);
int tandem_socket_credentials(int descriptor, struct tandem_credentials *credentials);
