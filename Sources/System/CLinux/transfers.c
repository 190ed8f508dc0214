// Files that are too large to be held: written and read in parts, moved between directories, removed with theirs.
#include "door.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int tandem_file_open_partial(int directory, const char *name) {
    return (int)TANDEM_RETRY(openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
}

static int64_t nanoseconds(struct timespec time) { return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec; }

int tandem_file_version(int descriptor, struct tandem_version *version) {
    struct stat found;
    int outcome = (int)TANDEM_RETRY(fstat(descriptor, &found));
    if (outcome < 0) return outcome;
    *version = (struct tandem_version){
        .device = found.st_dev, .inode = found.st_ino, .size = (uint64_t)found.st_size,
        .modified = nanoseconds(found.st_mtim), .changed = nanoseconds(found.st_ctim),
        .is_regular = S_ISREG(found.st_mode)};
    return 0;
}

ssize_t tandem_file_read_at(int descriptor, void *bytes, size_t count, int64_t offset) {
    return TANDEM_RETRY(pread(descriptor, bytes, count, (off_t)offset));
}

ssize_t tandem_file_write_at(int descriptor, const void *bytes, size_t count, int64_t offset) {
    return TANDEM_RETRY(pwrite(descriptor, bytes, count, (off_t)offset));
}

int tandem_file_cut(int descriptor, int64_t size) { return (int)TANDEM_RETRY(ftruncate(descriptor, (off_t)size)); }

// Not retried, as fsync is not.
int tandem_file_synchronise_data(int descriptor) { return (int)tandem_result(fdatasync(descriptor)); }

int tandem_file_move(int from_directory, const char *from, int to_directory, const char *to) {
    return (int)tandem_result(renameat2(from_directory, from, to_directory, to, RENAME_NOREPLACE));
}
