// The floor that every relay of the bench is measured against: one thread, one epoll, and only the work that no relay
// can leave out. It forwards Tandem's own frames (a big-endian uint32 length and that many bytes) and looks at nothing
// but the length. A payload is copied by the kernel into memory at the read and out of it at the write, and never in
// between: reads land in one arena, writes are gathered from there with sendmsg, one for each receiver and turn. Only
// what a full socket leaves over, and a frame that is not yet whole, is copied.
//
//     floor A B            the n-th connection to A and the n-th to B are a pair
//     floor --fan-out A B  every frame from A goes to all connections of B, those from B go nowhere
//
// A and B are paths of Unix sockets to be made, or TCP ports of 127.0.0.1. Prints "ready" when both listen.
//     clang -O2 -o floor floor.c && ./floor /tmp/a.sock /tmp/b.sock
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    READ = 256 * 1024,        // the most that one read takes: 512 small frames at once
    ARENA = 4 * 1024 * 1024,  // what the reads of one turn may fill; a fuller turn writes early
    LARGEST = 512 * 1024,     // LIM-1; a longer frame ends the connection
    PIECES = 8,               // what one sendmsg gathers: more than one only if the arena wrapped or many send to one
    EVENTS = 512,
};

enum side { FIRST, SECOND };

// Bytes that must outlive the turn.
struct kept {
    uint8_t *bytes;
    size_t count, room;
};

struct connection {
    int socket;
    enum side side;
    bool dirty, gone, waits;        // in the list of this turn; closed; its socket is full
    struct connection *peer, *next; // next: of the same side, in the order of arrival
    struct kept rest, partial;      // to be sent when the socket has room; a frame that is not whole
    struct iovec pieces[PIECES];    // of this turn, into the arena
    int pieceCount;
};

static uint8_t arena[ARENA];
static size_t used;
static struct connection *arrived[2];           // pairs: those that wait for a peer; fan-out: all
static struct connection *dirty[64 * 1024], *closing[64 * 1024];
static size_t dirtyCount, closingCount;
static bool fansOut;
static int poller;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void keep(struct kept *kept, const void *bytes, size_t count) {
    if (kept->count + count > kept->room) {
        kept->room = (kept->count + count) * 2;
        if (!(kept->bytes = realloc(kept->bytes, kept->room))) die("realloc");
    }
    memcpy(kept->bytes + kept->count, bytes, count);
    kept->count += count;
}

static void forget(struct kept *kept, size_t count) {
    kept->count -= count;
    if (kept->count) {
        memmove(kept->bytes, kept->bytes + count, kept->count);
        return;
    }
    free(kept->bytes);
    *kept = (struct kept){0};
}

static void watch(struct connection *it, int change) {
    struct epoll_event event = {.events = EPOLLIN | (it->waits ? EPOLLOUT : 0), .data.ptr = it};
    if (epoll_ctl(poller, change, it->socket, &event) < 0) die("epoll_ctl");
}

static void leave(struct connection *it) {
    if (it->gone) return;
    it->gone = true;
    closing[closingCount++] = it;
    if (it->peer) leave(it->peer);
}

static void waitForRoom(struct connection *it, bool waits) {
    if (it->waits == waits) return;
    it->waits = waits;
    watch(it, EPOLL_CTL_MOD);
}

// The bytes that the socket took; any other failure ends the connection.
static size_t sent(struct connection *it, ssize_t result) {
    if (result >= 0) return (size_t)result;
    if (errno != EAGAIN && errno != EINTR) leave(it);
    return 0;
}

static void writePieces(struct connection *it) {
    struct msghdr message = {.msg_iov = it->pieces, .msg_iovlen = it->pieceCount};
    bool behind = it->rest.count > 0 || it->gone;
    size_t done = behind ? 0 : sent(it, sendmsg(it->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT));
    for (int i = 0; i < it->pieceCount && !it->gone; i++) {
        struct iovec *piece = &it->pieces[i];
        size_t skipped = done < piece->iov_len ? done : piece->iov_len;
        done -= skipped;
        if (skipped < piece->iov_len) keep(&it->rest, (uint8_t *)piece->iov_base + skipped, piece->iov_len - skipped);
    }
    it->pieceCount = 0;
    if (!it->gone) waitForRoom(it, it->rest.count > 0);
}

static void writeRest(struct connection *it) {
    size_t done = sent(it, send(it->socket, it->rest.bytes, it->rest.count, MSG_NOSIGNAL | MSG_DONTWAIT));
    forget(&it->rest, done);
    if (!it->gone) waitForRoom(it, it->rest.count > 0);
}

static void endTurn(void) {
    for (size_t i = 0; i < dirtyCount; i++) {
        writePieces(dirty[i]);
        dirty[i]->dirty = false;
    }
    dirtyCount = used = 0;
}

static void forwardTo(struct connection *it, uint8_t *bytes, size_t count) {
    if (!it->dirty) {
        it->dirty = true;
        dirty[dirtyCount++] = it;
    }
    if (it->pieceCount) {
        struct iovec *last = &it->pieces[it->pieceCount - 1];
        if ((uint8_t *)last->iov_base + last->iov_len == bytes) {
            last->iov_len += count;
            return;
        }
        if (it->pieceCount == PIECES) writePieces(it);
    }
    it->pieces[it->pieceCount++] = (struct iovec){bytes, count};
}

static void forward(struct connection *from, uint8_t *bytes, size_t count) {
    if (from->peer) forwardTo(from->peer, bytes, count);
    if (!fansOut || from->side == SECOND) return;
    for (struct connection *it = arrived[SECOND]; it; it = it->next)
        if (!it->gone) forwardTo(it, bytes, count);
}

// The bytes of whole frames at the front; a frame that is too long ends the connection.
static size_t wholeFrames(struct connection *it, const uint8_t *bytes, size_t count) {
    size_t at = 0;
    while (count - at >= 4) {
        uint32_t length;
        memcpy(&length, bytes + at, 4);
        length = be32toh(length);
        if (length == 0 || length > LARGEST) {
            leave(it);
            break;
        }
        if (count - at - 4 < length) break;
        at += 4 + length;
    }
    return at;
}

static void readFrom(struct connection *it) {
    if (used + it->partial.count + READ > ARENA) endTurn();
    uint8_t *bytes = arena + used;
    size_t count = it->partial.count;
    ssize_t result = recv(it->socket, bytes + count, READ, MSG_DONTWAIT);
    if (result <= 0) {
        if (result == 0 || (errno != EAGAIN && errno != EINTR)) leave(it);
        return;
    }
    if (count) memcpy(bytes, it->partial.bytes, count);
    count += (size_t)result;
    used += count;
    size_t whole = wholeFrames(it, bytes, count);
    if (whole) forward(it, bytes, whole);
    if (it->partial.count) forget(&it->partial, it->partial.count);
    if (whole < count) keep(&it->partial, bytes + whole, count - whole);
}

static void unlist(struct connection *it) {
    struct connection **link = &arrived[it->side];
    while (*link && *link != it) link = &(*link)->next;
    if (*link) *link = it->next;
}

static void bury(void) {
    for (size_t i = 0; i < closingCount; i++) {
        struct connection *it = closing[i];
        unlist(it);
        close(it->socket);
        free(it->rest.bytes);
        free(it->partial.bytes);
        free(it);
    }
    closingCount = 0;
}

static void pairUp(void) {
    while (arrived[FIRST] && arrived[SECOND]) {
        struct connection *a = arrived[FIRST], *b = arrived[SECOND];
        unlist(a);
        unlist(b);
        a->peer = b;
        b->peer = a;
        // Nothing is read from whom nobody is there to get it.
        watch(a, EPOLL_CTL_ADD);
        watch(b, EPOLL_CTL_ADD);
    }
}

static void welcome(int listener, enum side side) {
    int socket, on = 1;
    while ((socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct connection *it = calloc(1, sizeof *it), **last = &arrived[side];
        if (!it) die("calloc");
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails on a Unix socket, which needs none
        it->socket = socket;
        it->side = side;
        while (*last) last = &(*last)->next;
        *last = it;
        fansOut ? watch(it, EPOLL_CTL_ADD) : pairUp();
    }
}

static int listenAt(const char *where) {
    union { struct sockaddr any; struct sockaddr_un local; struct sockaddr_in tcp; } address = {0};
    socklen_t size = sizeof address.local;
    int on = 1;
    if (strchr(where, '/')) {
        address.local.sun_family = AF_UNIX;
        strncpy(address.local.sun_path, where, sizeof address.local.sun_path - 1);
        unlink(where);
    } else {
        address.tcp = (struct sockaddr_in){AF_INET, htons((uint16_t)atoi(where)), {htonl(INADDR_LOOPBACK)}, {0}};
        size = sizeof address.tcp;
    }
    int listener = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, &address.any, size) < 0 || listen(listener, 4096) < 0) die(where);
    return listener;
}

static void serve(int listeners[2]) {
    static struct epoll_event events[EVENTS];
    for (;;) {
        int count = epoll_wait(poller, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct connection *it = events[i].data.ptr;
            if ((void *)it == &listeners[FIRST] || (void *)it == &listeners[SECOND]) {
                welcome(*(int *)it, (void *)it == &listeners[SECOND]);
                continue;
            }
            if (!it->gone && events[i].events & EPOLLOUT) writeRest(it);
            if (!it->gone && events[i].events & ~(uint32_t)EPOLLOUT) readFrom(it);
        }
        endTurn();
        bury();
    }
}

int main(int count, char **words) {
    fansOut = count == 4 && !strcmp(words[1], "--fan-out");
    if (count != 3 && !fansOut) {
        fprintf(stderr, "usage: floor [--fan-out] A B\n");
        return 2;
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if ((poller = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1");
    int listeners[2] = {listenAt(words[count - 2]), listenAt(words[count - 1])};
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &listeners[i]};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, listeners[i], &event) < 0) die("epoll_ctl");
    }
    puts("ready");
    fflush(stdout);
    serve(listeners);
}
