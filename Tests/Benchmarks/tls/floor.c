// The floor of app - daemon - TLS - daemon - app: two processes like floor.c with OpenSSL between them, one thread and
// one epoll each, and only the work that nobody can leave out. Frames of the n-th app on one side go to the n-th on the
// other, through one connection with certificates from both ends. All that a turn has for the link is gathered,
// encrypted in records as large as they can be, and sent with one call; what comes is decrypted where it is forwarded
// from.
//
//     floor listen LOCAL PORT     takes links, and gives every app's frames to all of them; prints "ready"
//     floor dial LOCAL PORT [N]   makes N links (1), prints "ready"; of several, the n-th is the n-th app's
//
// LOCAL is the path of a Unix socket to be made, PORT a TCP port of 127.0.0.1.
//     clang -O2 -o floor tls/*.c -lssl -lcrypto
#define _GNU_SOURCE
#include "kept.h"
#include "secure.h"
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    READ = 256 * 1024,         // the most that one read takes
    ARENA = 4 * 1024 * 1024,   // what the reads of one turn may fill; a fuller turn writes early
    PIECES = 64,               // what one sendmsg gathers
    EVENTS = 512,
    ENDS = 16 * 1024,
};

// An app's connection or, with `tls`, a link.
struct end {
    int socket;
    SSL *tls;
    uint32_t number;
    bool dirty, waits, gone;
    struct kept rest, partial;    // to be sent when the socket has room; a frame or run that is not whole
    struct iovec pieces[];        // of this turn, into the arena; PIECES and a count in front for apps only
};

// In front of the frames that one app has in a turn, on the link.
struct run {
    uint32_t app, count;
};

static uint8_t arena[ARENA], gathered[ARENA];
static size_t used, gatheredCount;
static struct end *apps[ENDS], *links[ENDS], *dirty[ENDS], *leaving[ENDS];
static unsigned appCount, presentCount, linkCount, dirtyCount, leavingCount;
static size_t pieceCounts[ENDS];
static int poller, localListener, linkListener = -1;

static _Noreturn void die(const char *what) {
    perror(what);
    exit(1);
}

static void watch(struct end *it, int change) {
    struct epoll_event event = {.events = EPOLLIN | (it->waits ? EPOLLOUT : 0), .data.ptr = it};
    if (epoll_ctl(poller, change, it->socket, &event) < 0) die("epoll_ctl");
}

static struct end *newEnd(int socket, SSL *tls, uint32_t number) {
    struct end *it = calloc(1, sizeof *it + (tls ? 0 : PIECES * sizeof(struct iovec)));
    if (!it || number >= ENDS) die("too many ends");
    it->socket = socket;
    it->tls = tls;
    it->number = number;
    watch(it, EPOLL_CTL_ADD);
    return it;
}

// Apps come and go; without a link there is nothing left to do.
static void leave(struct end *it) {
    if (it->tls) exit(0);
    if (!it->gone) leaving[leavingCount++] = it;
    it->gone = true;
}

static size_t done(struct end *it, ssize_t result) {
    if (result == 0 || (result < 0 && errno != EAGAIN && errno != EINTR)) leave(it);
    return result < 0 ? 0 : (size_t)result;
}

static void waitForRoom(struct end *it) {
    if (it->gone || it->waits == (it->rest.count > 0)) return;
    it->waits = it->rest.count > 0;
    watch(it, EPOLL_CTL_MOD);
}

static void writeRest(struct end *it) {
    forget(&it->rest, done(it, send(it->socket, it->rest.bytes, it->rest.count, MSG_NOSIGNAL | MSG_DONTWAIT)));
    waitForRoom(it);
}

static void writePieces(struct end *it) {
    struct msghdr message = {.msg_iov = it->pieces, .msg_iovlen = pieceCounts[it->number]};
    size_t sent = it->rest.count || it->gone ? 0 : done(it, sendmsg(it->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT));
    for (size_t i = 0; i < pieceCounts[it->number]; i++) {
        struct iovec *piece = &it->pieces[i];
        size_t skipped = sent < piece->iov_len ? sent : piece->iov_len;
        sent -= skipped;
        if (skipped < piece->iov_len) keep(&it->rest, (uint8_t *)piece->iov_base + skipped, piece->iov_len - skipped);
    }
    pieceCounts[it->number] = 0;
    waitForRoom(it);
}

static void seal(struct end *link) {
    sealedCount = 0;
    for (size_t at = 0; at < gatheredCount; at += RECORD) {
        size_t count = gatheredCount - at < RECORD ? gatheredCount - at : RECORD;
        if (SSL_write(link->tls, gathered + at, (int)count) != (int)count) die("SSL_write");
    }
    size_t sent = 0;
    if (!link->rest.count) sent = done(link, send(link->socket, sealed, sealedCount, MSG_NOSIGNAL | MSG_DONTWAIT));
    if (sent < sealedCount) keep(&link->rest, sealed + sent, sealedCount - sent);
    waitForRoom(link);
}

static void endTurn(void) {
    for (unsigned i = 0; i < dirtyCount; i++) {
        writePieces(dirty[i]);
        dirty[i]->dirty = false;
    }
    if (gatheredCount) for (unsigned i = 0; i < linkCount; i++) seal(links[i]);
    dirtyCount = 0;
    used = gatheredCount = 0;
}

static void bury(void) {
    for (unsigned i = 0; i < leavingCount; i++) {
        struct end *it = leaving[i];
        apps[it->number] = NULL;
        // The next ones are numbered from the start, on both sides.
        if (!--presentCount) appCount = 0;
        close(it->socket);
        free(it->rest.bytes);
        free(it->partial.bytes);
        free(it);
    }
    leavingCount = 0;
}

static void welcomeApps(void) {
    for (int it; (it = accept4(localListener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0; appCount++) {
        apps[appCount] = newEnd(it, NULL, appCount);
        presentCount++;
    }
}

static void toApp(uint32_t number, uint8_t *bytes, size_t count) {
    if (number >= appCount) welcomeApps();
    struct end *it = number < appCount ? apps[number] : NULL;
    if (!it || it->gone) return;
    if (!it->dirty) dirty[dirtyCount++] = it;
    it->dirty = true;
    if (pieceCounts[number] == PIECES) writePieces(it);
    it->pieces[pieceCounts[number]++] = (struct iovec){bytes, count};
}

static void toLinks(uint32_t app, const uint8_t *bytes, size_t count) {
    memcpy(gathered + gatheredCount, &(struct run){app, (uint32_t)count}, sizeof(struct run));
    memcpy(gathered + gatheredCount + sizeof(struct run), bytes, count);
    gatheredCount += sizeof(struct run) + count;
}

// The bytes of whole frames at the front.
static size_t wholeFrames(const uint8_t *bytes, size_t count) {
    size_t at = 0;
    for (uint32_t length; count - at >= 4; at += 4 + length) {
        memcpy(&length, bytes + at, 4);
        length = be32toh(length);
        if (count - at - 4 < length) break;
    }
    return at;
}

// Passes the runs on; what is not whole is left.
static size_t wholeRuns(struct end *link, uint8_t *bytes, size_t count) {
    size_t at = 0;
    for (struct run run; count - at >= sizeof run; at += sizeof run + run.count) {
        memcpy(&run, bytes + at, sizeof run);
        if (count - at - sizeof run < run.count) break;
        toApp(linkCount > 1 ? link->number : run.app, bytes + at + sizeof run, run.count);
    }
    return at;
}

static size_t readSealed(struct end *it, uint8_t *room) {
    size_t count = 0, more;
    while (READ - count >= RECORD && SSL_read_ex(it->tls, room + count, READ - count, &more)) {
        count += more;
        if (!SSL_has_pending(it->tls)) break;  // What is still in the socket is reported again.
    }
    if (!count && SSL_get_error(it->tls, 0) != SSL_ERROR_WANT_READ) leave(it);
    return count;
}

static void readFrom(struct end *it) {
    if (used + it->partial.count + READ > ARENA || gatheredCount + it->partial.count + READ + 64 > ARENA) endTurn();
    uint8_t *bytes = arena + used;
    size_t count = it->partial.count;
    size_t got = it->tls ? readSealed(it, bytes + count)
                         : done(it, recv(it->socket, bytes + count, READ, MSG_DONTWAIT));
    if (!got) return;
    if (count) memcpy(bytes, it->partial.bytes, count);
    count += got;
    used += count;
    size_t whole = it->tls ? wholeRuns(it, bytes, count) : wholeFrames(bytes, count);
    if (whole && !it->tls) toLinks(it->number, bytes, whole);
    if (it->partial.count) forget(&it->partial, it->partial.count);
    if (whole < count) keep(&it->partial, bytes + whole, count - whole);
}

static int bindTo(struct sockaddr *address, socklen_t size) {
    int on = 1, it = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(it, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(it, address, size) < 0 || listen(it, 4096) < 0) die("listen");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poller, EPOLL_CTL_ADD, it, &event);
    return it;
}

static void addLink(int socket, int dials) {
    int on = 1;
    SSL *tls = secure(socket, dials);
    if (!tls) {
        close(socket);
        return;
    }
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(socket, F_SETFL, O_NONBLOCK);
    links[linkCount] = newEnd(socket, tls, linkCount);
    linkCount++;
}

static void dialLinks(const struct sockaddr_in *address, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        int it = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(it, (const struct sockaddr *)address, sizeof *address) < 0) die("connect");
        addLink(it, 1);
        if (linkCount != i + 1) die("no link");
    }
}

static void welcome(void) {
    welcomeApps();
    if (linkListener < 0) return;
    for (int socket; (socket = accept4(linkListener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) addLink(socket, 0);
}

static void serve(void) {
    static struct epoll_event events[EVENTS];
    for (;;) {
        int count = epoll_wait(poller, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct end *it = events[i].data.ptr;
            if (!it) welcome();
            else if (events[i].events & EPOLLOUT) writeRest(it);
            if (it && !it->gone && events[i].events & ~(uint32_t)EPOLLOUT) readFrom(it);
        }
        endTurn();
        bury();
    }
}

int main(int count, char **words) {
    if (count < 4) {
        fprintf(stderr, "usage: floor listen|dial LOCAL PORT [LINKS]\n");
        return 2;
    }
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    signal(SIGPIPE, SIG_IGN);
    poller = epoll_create1(EPOLL_CLOEXEC);
    prepareTLS();
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    strncpy(local.sun_path, words[2], sizeof local.sun_path - 1);
    unlink(words[2]);
    localListener = bindTo((struct sockaddr *)&local, sizeof local);
    struct sockaddr_in remote = {AF_INET, htons((uint16_t)atoi(words[3])), {htonl(INADDR_LOOPBACK)}, {0}};
    if (strcmp(words[1], "dial")) linkListener = bindTo((struct sockaddr *)&remote, sizeof remote);
    else dialLinks(&remote, count > 4 ? (unsigned)atoi(words[4]) : 1);
    puts("ready");
    fflush(stdout);
    serve();
}
