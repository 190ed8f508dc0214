// Files and directories. Everything works relative to an open directory and never follows a symbolic link in the last
// place, so that nobody who can write beside us can lead us elsewhere.
#include "door.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

const int TANDEM_WORKING_DIRECTORY = AT_FDCWD;

uint32_t tandem_user_current(void) { return (uint32_t)geteuid(); }

int32_t tandem_process_current(void) { return (int32_t)getpid(); }

int tandem_directory_open(int directory, const char *name) {
    return (int)TANDEM_RETRY(openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int tandem_directory_make(int directory, const char *name, uint32_t mode) {
    return (int)TANDEM_RETRY(mkdirat(directory, name, (mode_t)mode));
}

int tandem_names_open(int directory, struct tandem_names **names) {
    // A descriptor of its own: reading a directory moves the position, which duplicates share.
    int own = (int)TANDEM_RETRY(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (own < 0) return own;
    DIR *stream = fdopendir(own);
    if (stream == NULL) {
        int outcome = (int)tandem_result(-1);
        close(own);
        return outcome;
    }
    *names = (struct tandem_names *)stream;
    return 0;
}

int tandem_names_next(struct tandem_names *names, const char **name) {
    struct dirent *entry;
    do {
        errno = 0;
        entry = readdir((DIR *)names);
        if (entry == NULL) return -errno;
    } while (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
    *name = entry->d_name;
    return 1;
}

void tandem_names_start_over(struct tandem_names *names) { rewinddir((DIR *)names); }

void tandem_names_close(struct tandem_names *names) { closedir((DIR *)names); }

// Not blocking, because a pipe that somebody put in a file's place would be waited for without end.
int tandem_file_open(int directory, const char *name) {
    return (int)TANDEM_RETRY(openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

int tandem_file_open_lock(int directory, const char *name) {
    return (int)TANDEM_RETRY(openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
}

int tandem_file_create(int directory, const char *name, uint32_t mode) {
    return (int)TANDEM_RETRY(
        openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)mode));
}

static int status_of(int outcome, const struct stat *found, struct tandem_status *status) {
    if (outcome < 0) return outcome;
    *status = (struct tandem_status){
        .device = found->st_dev, .inode = found->st_ino, .size = (uint64_t)found->st_size, .owner = found->st_uid,
        .group = found->st_gid, .mode = found->st_mode & 07777, .is_regular = S_ISREG(found->st_mode),
        .is_directory = S_ISDIR(found->st_mode), .is_symbolic_link = S_ISLNK(found->st_mode)};
    return 0;
}

int tandem_file_status(int descriptor, struct tandem_status *status) {
    struct stat found;
    return status_of((int)TANDEM_RETRY(fstat(descriptor, &found)), &found, status);
}

int tandem_file_status_named(int directory, const char *name, struct tandem_status *status) {
    struct stat found;
    return status_of((int)TANDEM_RETRY(fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW)), &found, status);
}

int tandem_file_set_mode(int descriptor, uint32_t mode) { return (int)TANDEM_RETRY(fchmod(descriptor, (mode_t)mode)); }

int tandem_file_set_owner(int descriptor, uint32_t owner, uint32_t group) {
    return (int)TANDEM_RETRY(fchown(descriptor, (uid_t)owner, (gid_t)group));
}

// Not retried: after a failed fsync the kernel may have dropped what was to be written.
int tandem_file_synchronise(int descriptor) { return (int)tandem_result(fsync(descriptor)); }

int tandem_file_rename(int directory, const char *from, const char *to) {
    return (int)tandem_result(renameat(directory, from, directory, to));
}

int tandem_file_remove(int directory, const char *name) { return (int)tandem_result(unlinkat(directory, name, 0)); }

int tandem_directory_remove(int directory, const char *name) {
    return (int)tandem_result(unlinkat(directory, name, AT_REMOVEDIR));
}

int tandem_space_available(int descriptor, uint64_t *bytes) {
    struct statvfs space;
    int outcome = (int)TANDEM_RETRY(fstatvfs(descriptor, &space));
    if (outcome == 0) *bytes = (uint64_t)space.f_bavail * space.f_frsize;
    return outcome;
}

// Without what is kept for root: nothing that others remove makes room there for who may not write it.
int tandem_space_whole(int descriptor, uint64_t *bytes) {
    struct statvfs space;
    int outcome = (int)TANDEM_RETRY(fstatvfs(descriptor, &space));
    if (outcome < 0) return outcome;
    uint64_t kept = space.f_bfree > space.f_bavail ? space.f_bfree - space.f_bavail : 0;
    *bytes = (space.f_blocks > kept ? space.f_blocks - kept : 0) * space.f_frsize;
    return outcome;
}
