// Linux calls that need a GNU or Linux header of their own.
#include "result.h"

#include <linux/keyctl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int tandem_accept(int descriptor, struct sockaddr *address, socklen_t *length) {
    return TANDEM_RETRY(accept4(descriptor, address, length, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

int tandem_socket_credentials(int descriptor, struct tandem_credentials *credentials) {
    struct ucred found = {0};
    socklen_t length = sizeof found;
    int outcome = tandem_result(getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &found, &length));
    *credentials = (struct tandem_credentials){.user = found.uid, .process = found.pid};
    return outcome;
}

int tandem_rename_new(int from_directory, const char *from, int to_directory, const char *to) {
    // The server of a file system may answer any number.
    return renameat2(from_directory, from, to_directory, to, RENAME_NOREPLACE) ? -errno : 0;
}

int tandem_keyring_read(const char *description, void *room, size_t size) {
    int key = tandem_result(syscall(SYS_request_key, "user", description, NULL, 0));
    return key < 0 ? key : tandem_result(syscall(SYS_keyctl, KEYCTL_READ, key, room, size));
}

int tandem_thread_start(void *(*body)(void *), void *context, const char *name, pthread_t *thread) {
    int number = pthread_create(thread, NULL, body, context);
    if (number) return -number;
    pthread_setname_np(*thread, name);
    return 0;
}

const char *tandem_error_name(int number) {
    const char *name = strerrorname_np(number);
    return name ? name : "unknown";
}

const char *tandem_error_text(int number) {
    const char *text = strerrordesc_np(number);
    return text ? text : "Unknown error";
}

int tandem_process_forbid_dump(void) { return tandem_result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)); }

void tandem_heap_trim(void) { malloc_trim(0); }
