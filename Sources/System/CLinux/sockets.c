// Stream sockets: Unix, IPv4 and IPv6. An address is copied by value, so that no pointer outlives its call.
#include "door.h"

#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

const int TANDEM_FAMILY_UNIX = AF_UNIX, TANDEM_FAMILY_IPV4 = AF_INET, TANDEM_FAMILY_IPV6 = AF_INET6;

_Static_assert(sizeof(struct sockaddr_storage) <= sizeof(((struct tandem_address *)0)->storage), "every address fits");

static const struct sockaddr *raw(const struct tandem_address *address) {
    return (const struct sockaddr *)address->storage;
}

static int keep(const struct sockaddr *source, socklen_t length, struct tandem_address *address) {
    if (length > sizeof address->storage) return -EINVAL;
    memset(address, 0, sizeof *address);
    memcpy(address->storage, source, length);
    address->length = length;
    address->family = source->sa_family;
    return 0;
}

int tandem_address_unix(const char *path, struct tandem_address *address) {
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof local.sun_path) return -ENAMETOOLONG;
    strcpy(local.sun_path, path);
    return keep((struct sockaddr *)&local, sizeof local, address);
}

int tandem_address_resolve(
    const char *host, uint16_t port, int numeric_only, int passive, struct tandem_address *addresses, size_t capacity,
    int *resolver_error) {
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    struct addrinfo *list = NULL, wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    wanted.ai_flags = AI_NUMERICSERV | (numeric_only ? AI_NUMERICHOST : 0) | (passive ? AI_PASSIVE : 0);
    *resolver_error = getaddrinfo(host, service, &wanted, &list);
    if (*resolver_error == EAI_SYSTEM) return -errno;
    if (*resolver_error) return 0;
    size_t count = 0;
    for (struct addrinfo *entry = list; entry && count < capacity; entry = entry->ai_next)
        if (keep(entry->ai_addr, entry->ai_addrlen, &addresses[count]) == 0) count++;
    freeaddrinfo(list);
    return (int)count;
}

const char *tandem_resolver_text(int resolver_error) { return gai_strerror(resolver_error); }

int tandem_address_text(const struct tandem_address *address, char *host, size_t capacity, uint16_t *port) {
    char service[8];
    int outcome = getnameinfo(
        raw(address), address->length, host, (socklen_t)capacity, service, sizeof service,
        NI_NUMERICHOST | NI_NUMERICSERV);
    if (outcome) return -EINVAL;
    *port = (uint16_t)atoi(service);
    return 0;
}

int tandem_socket(int family) {
    return (int)tandem_result(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int tandem_socket_pair(int descriptors[2]) {
    return (int)tandem_result(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, descriptors));
}

// Linux gives a socket's file the mode its descriptor has when it is bound, so no moment exists with a wider mode.
int tandem_socket_set_birth_mode(int descriptor, uint32_t mode) {
    return (int)TANDEM_RETRY(fchmod(descriptor, (mode_t)mode));
}

static int set(int descriptor, int level, int option, int value) {
    return (int)tandem_result(setsockopt(descriptor, level, option, &value, sizeof value));
}

int tandem_socket_reuse_address(int descriptor) { return set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1); }

int tandem_socket_no_delay(int descriptor) { return set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1); }

int tandem_bind(int descriptor, const struct tandem_address *address) {
    return (int)tandem_result(bind(descriptor, raw(address), address->length));
}

int tandem_listen(int descriptor, int backlog) { return (int)tandem_result(listen(descriptor, backlog)); }

int tandem_accept(int descriptor, struct tandem_address *address) {
    struct sockaddr_storage peer = {0};
    socklen_t length = sizeof peer;
    int accepted = (int)TANDEM_RETRY(
        accept4(descriptor, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted >= 0) keep((struct sockaddr *)&peer, length, address);
    return accepted;
}

// An interrupted connect goes on by itself, exactly like one in progress.
int tandem_connect(int descriptor, const struct tandem_address *address) {
    int outcome = (int)tandem_result(connect(descriptor, raw(address), address->length));
    return outcome == -EINTR ? -EINPROGRESS : outcome;
}

// A peer that is gone already is not an error here.
int tandem_shutdown_writing(int descriptor) {
    int outcome = (int)tandem_result(shutdown(descriptor, SHUT_WR));
    return outcome == -ENOTCONN ? 0 : outcome;
}

// Ends both ways for all who have the socket: closing waits for the last copy, and a child has one between fork and exec.
// What fails here has no more to lose.
void tandem_hang_up(int descriptor) { (void)shutdown(descriptor, SHUT_RDWR); }

int tandem_socket_error(int descriptor) {
    int number = 0;
    socklen_t length = sizeof number;
    int outcome = (int)tandem_result(getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length));
    return outcome < 0 ? outcome : -number;
}

int tandem_socket_unread(int descriptor) {
    int count = 0;
    int outcome = (int)tandem_result(ioctl(descriptor, SIOCOUTQ, &count));
    return outcome < 0 ? outcome : count;
}

int tandem_socket_local_address(int descriptor, struct tandem_address *address) {
    struct sockaddr_storage local = {0};
    socklen_t length = sizeof local;
    int outcome = (int)tandem_result(getsockname(descriptor, (struct sockaddr *)&local, &length));
    return outcome < 0 ? outcome : keep((struct sockaddr *)&local, length, address);
}

int tandem_socket_credentials(int descriptor, struct tandem_credentials *credentials) {
    struct ucred found = {0};
    socklen_t length = sizeof found;
    int outcome = (int)tandem_result(getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &found, &length));
    *credentials = (struct tandem_credentials){.user = found.uid, .group = found.gid, .process = found.pid};
    return outcome;
}
