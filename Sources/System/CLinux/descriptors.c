// Bytes through descriptors, and the few calls on paths that a socket's file needs.
#include "door.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t tandem_read(int descriptor, void *bytes, size_t count) {
    return TANDEM_RETRY(read(descriptor, bytes, count));
}

ssize_t tandem_write(int descriptor, const void *bytes, size_t count) {
    return TANDEM_RETRY(write(descriptor, bytes, count));
}

ssize_t tandem_receive(int descriptor, void *bytes, size_t count) {
    return TANDEM_RETRY(recv(descriptor, bytes, count, MSG_DONTWAIT));
}

ssize_t tandem_receive_two(int descriptor, void *first, size_t first_count, void *second, size_t second_count) {
    struct iovec parts[] = {{first, first_count}, {second, second_count}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return TANDEM_RETRY(recvmsg(descriptor, &message, MSG_DONTWAIT));
}

ssize_t tandem_send(int descriptor, const struct iovec *parts, size_t count) {
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = count};
    return TANDEM_RETRY(sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT));
}

// Not retried: Linux frees the number before it can be interrupted, and by then another thread may own it.
int tandem_close(int descriptor) {
    int outcome = (int)tandem_result(close(descriptor));
    return outcome == -EINTR ? 0 : outcome;
}

int tandem_pipe(int descriptors[2]) { return (int)tandem_result(pipe2(descriptors, O_CLOEXEC | O_NONBLOCK)); }

int tandem_duplicate(int descriptor) { return (int)tandem_result(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)); }

int tandem_open_null(void) { return (int)TANDEM_RETRY(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

int tandem_open_lock(const char *path) {
    return (int)TANDEM_RETRY(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

int tandem_lock(int descriptor) { return (int)TANDEM_RETRY(flock(descriptor, LOCK_EX | LOCK_NB)); }

int tandem_unlock(int descriptor) { return (int)TANDEM_RETRY(flock(descriptor, LOCK_UN)); }

int tandem_unlink(const char *path) { return (int)tandem_result(unlink(path)); }

int tandem_set_mode(const char *path, uint32_t mode) { return (int)TANDEM_RETRY(chmod(path, (mode_t)mode)); }

int tandem_set_group(const char *path, uint32_t group) {
    return (int)TANDEM_RETRY(lchown(path, (uid_t)-1, (gid_t)group));
}

int tandem_file_look(const char *path, struct tandem_file *file) {
    struct stat found;
    int outcome = (int)TANDEM_RETRY(lstat(path, &found));
    if (outcome < 0) return outcome;
    *file = (struct tandem_file){
        .device = found.st_dev, .inode = found.st_ino, .owner = found.st_uid, .mode = found.st_mode & 07777,
        .is_socket = S_ISSOCK(found.st_mode), .is_regular = S_ISREG(found.st_mode)};
    return 0;
}
