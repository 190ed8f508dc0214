// Connections of the load: blocking until everybody has entered, then turns of one epoll in which everything that has
// arrived is taken and each connection is written to once, so that the load costs every relay the same.
#define _GNU_SOURCE
#include "load.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ = 1024 * 1024, EVENTS = 1024, PATIENCE = 20 };

static struct connection *dirty[32 * 1024];
static size_t dirtyCount;
static int poller = -1;

void die(const char *format, ...) {
    va_list values;
    va_start(values, format);
    fprintf(stderr, "load: ");
    vfprintf(stderr, format, values);
    fprintf(stderr, "\n");
    va_end(values);
    exit(1);
}

int dial(const char *address) {
    union { struct sockaddr any; struct sockaddr_un local; struct sockaddr_in tcp; } to = {0};
    bool isLocal = strchr(address, '/') != NULL;
    socklen_t size = isLocal ? sizeof to.local : sizeof to.tcp;
    int on = 1;
    if (isLocal) {
        to.local.sun_family = AF_UNIX;
        strncpy(to.local.sun_path, address, sizeof to.local.sun_path - 1);
    } else {
        to.tcp = (struct sockaddr_in){AF_INET, htons((uint16_t)atoi(address)), {htonl(INADDR_LOOPBACK)}, {0}};
    }
    int it = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (it < 0) die("socket: %s", strerror(errno));
    struct timeval patience = {PATIENCE, 0};
    setsockopt(it, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!isLocal) setsockopt(it, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(it, &to.any, size) == 0) return it;
    close(it);
    return -1;
}

struct connection *enter(const struct protocol *protocol, enum part part, unsigned number, const char *at) {
    struct connection *it = calloc(1, sizeof *it);
    if (!it) die("no memory");
    it->part = part;
    it->number = number;
    if ((it->socket = dial(at)) < 0) die("%s: %s", at, strerror(errno));
    protocol->enter(it);
    return it;
}

void append(struct bytes *to, const void *bytes, size_t count) {
    if (to->count + count > to->room) {
        to->room = (to->count + count) * 2;
        if (!(to->at = realloc(to->at, to->room))) die("no memory");
    }
    memcpy(to->at + to->count, bytes, count);
    to->count += count;
}

void appendText(struct bytes *to, const char *format, ...) {
    char text[1024];
    va_list values;
    va_start(values, format);
    append(to, text, (size_t)vsnprintf(text, sizeof text, format, values));
    va_end(values);
}

static void drop(struct bytes *from, size_t count) {
    from->count -= count;
    memmove(from->at, from->at + count, from->count);
}

void sendNow(struct connection *it) {
    for (size_t done = 0; done < it->out.count;) {
        ssize_t result = send(it->socket, it->out.at + done, it->out.count - done, MSG_NOSIGNAL);
        if (result < 0) die("send: %s", strerror(errno));
        done += (size_t)result;
    }
    it->out.count = 0;
}

uint8_t *receiveNow(const struct protocol *protocol, struct connection *it, size_t *length) {
    static struct bytes message;
    static uint8_t buffer[64 * 1024];
    while (!(*length = protocol->length(it->in.at, it->in.count))) {
        ssize_t count = recv(it->socket, buffer, sizeof buffer, 0);
        if (count <= 0) die("%s: %s", protocol->name, count ? strerror(errno) : "closed while entering");
        append(&it->in, buffer, (size_t)count);
    }
    message.count = 0;
    append(&message, it->in.at, *length);
    drop(&it->in, *length);
    return message.at;
}

static void listenTo(struct connection *it, int change) {
    struct epoll_event event = {.events = EPOLLIN | (it->waits ? EPOLLOUT : 0), .data.ptr = it};
    if (epoll_ctl(poller, change, it->socket, &event) < 0) die("epoll_ctl: %s", strerror(errno));
}

void watch(struct connection *it) {
    if (poller < 0) poller = epoll_create1(EPOLL_CLOEXEC);
    listenTo(it, EPOLL_CTL_ADD);
}

void flushLater(struct connection *it) {
    if (it->isDirty) return;
    it->isDirty = true;
    dirty[dirtyCount++] = it;
}

static void flush(struct connection *it) {
    it->isDirty = false;
    ssize_t count = send(it->socket, it->out.at, it->out.count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) die("send: %s", strerror(errno));
    if (count > 0) drop(&it->out, (size_t)count);
    bool waits = it->out.count > 0;
    if (waits == it->waits) return;
    it->waits = waits;
    listenTo(it, EPOLL_CTL_MOD);
}

static void takeAll(const struct protocol *protocol, struct connection *it, taker *take) {
    static uint8_t buffer[2 * READ];
    size_t count = it->in.count, at = 0, length;
    if (count) memcpy(buffer, it->in.at, count);
    ssize_t result = recv(it->socket, buffer + count, READ, MSG_DONTWAIT);
    if (result == 0) die("%s closed a connection", protocol->name);
    if (result < 0 && errno != EAGAIN) die("recv: %s", strerror(errno));
    if (result > 0) count += (size_t)result;
    while ((length = protocol->length(buffer + at, count - at))) {
        uint8_t *id = NULL;
        enum kind kind = protocol->read(it, buffer + at, length, &id);
        if (kind != NOTHING) take(it, kind, id);
        at += length;
    }
    it->in.count = 0;
    if (at < count) append(&it->in, buffer + at, count - at);
}

void turn(const struct protocol *protocol, taker *take) {
    static struct epoll_event events[EVENTS];
    for (size_t i = 0; i < dirtyCount; i++) flush(dirty[i]);
    dirtyCount = 0;
    int count = epoll_wait(poller, events, EVENTS, PATIENCE * 1000);
    if (count == 0) die("%s: nothing came for %d s", protocol->name, PATIENCE);
    for (int i = 0; i < count; i++) {
        struct connection *it = events[i].data.ptr;
        if (events[i].events & EPOLLOUT) flushLater(it);
        if (events[i].events & ~(uint32_t)EPOLLOUT) takeAll(protocol, it, take);
    }
    for (size_t i = 0; i < dirtyCount; i++) flush(dirty[i]);
    dirtyCount = 0;
}
