// The floor of durable items: one thread, one epoll, and a file that grows. Takes Tandem's own frames, looks at nothing
// but the length, appends whole frames as they came, one fdatasync for all that arrived in a turn, and answers each
// after it.
//
//     items_floor SOCKET FILE        clang -O2 -o items_floor items_floor.c
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ROOM = 2 * 1024 * 1024, LARGEST = 512 * 1024, ANSWER = 160, EVENTS = 64 };

struct connection {
    int socket;
    size_t count, answers;  // bytes of a frame that is not whole; frames of this turn
    uint8_t bytes[ROOM];
};

static int poller, file;
static struct connection *written[EVENTS];
static size_t writtenCount;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void watch(int socket, void *it) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = it};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, socket, &event) < 0) die("epoll_ctl");
}

static int listenAt(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    unlink(path);
    int it = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(it, (struct sockaddr *)&address, sizeof address) < 0 || listen(it, 64) < 0) die(path);
    return it;
}

static size_t wholeFrames(struct connection *it) {
    size_t at = 0;
    for (uint32_t length; it->count - at >= sizeof length; at += sizeof length + length, it->answers++) {
        memcpy(&length, it->bytes + at, sizeof length);
        length = be32toh(length);
        if (length > LARGEST) die("a frame too long");
        if (it->count - at - sizeof length < length) break;
    }
    return at;
}

static void take(struct connection *it) {
    ssize_t result = recv(it->socket, it->bytes + it->count, ROOM - it->count, 0);
    if (result <= 0) {
        close(it->socket);
        free(it);
        return;
    }
    it->count += (size_t)result;
    size_t whole = wholeFrames(it);
    if (!whole) return;
    if (write(file, it->bytes, whole) != (ssize_t)whole) die("write");
    it->count -= whole;
    memmove(it->bytes, it->bytes + whole, it->count);
    written[writtenCount++] = it;
}

static void answer(struct connection *it) {
    static uint8_t bytes[ROOM];
    size_t count = it->answers * (4 + ANSWER);
    if (count > sizeof bytes) die("too much at once");
    for (size_t i = 0; i < it->answers; i++) memcpy(bytes + i * (4 + ANSWER), &(uint32_t){htobe32(ANSWER)}, 4);
    it->answers = 0;
    if (send(it->socket, bytes, count, MSG_NOSIGNAL) < 0 && errno != EPIPE) die("send");
}

static void endTurn(void) {
    if (writtenCount && fdatasync(file) < 0) die("fdatasync");
    for (size_t i = 0; i < writtenCount; i++) answer(written[i]);
    writtenCount = 0;
}

int main(int count, char **words) {
    if (count != 3) {
        fprintf(stderr, "usage: items_floor SOCKET FILE\n");
        return 2;
    }
    if ((poller = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1");
    if ((file = open(words[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0) die(words[2]);
    int listener = listenAt(words[1]);
    watch(listener, NULL);
    for (struct epoll_event events[EVENTS];;) {
        int ready = epoll_wait(poller, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            struct connection *it = events[i].data.ptr;
            if (it) {
                take(it);
                continue;
            }
            if (!(it = calloc(1, sizeof *it))) die("calloc");
            if ((it->socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0) die("accept4");
            watch(it->socket, it);
        }
        endTurn();
    }
}
