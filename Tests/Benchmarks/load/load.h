// The load generator's own words. One process plays all clients of one relay. It speaks the relay's protocol through a
// small adapter (`struct protocol`); everything else (connections, turns, ids, clocks, checks) is the same for all of
// them. Whatever a relay does that it should not ends the process with a message: a figure is never made of failures.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ID = 16,        // bytes of a message's identifier, fresh for each message
    VARIANTS = 16,  // different bodies, so that nothing learns one by heart
    NAME = 64,
};

enum part { REQUESTER, RESPONDER, PUBLISHER, RECEIVER, IDLER, SUBMITTER, HANDLER };
enum kind { NOTHING, REQUEST, ANSWER, PUBLICATION, SUBMISSION, ACCEPTED, STORED, HANDLED, DELIVERY, RECEIPT };

struct options {
    const char *at, *counterpart;  // addresses: a path, or a TCP port of 127.0.0.1
    unsigned pairs, window;        // each pair keeps `window` requests in flight
    unsigned receivers, burst;     // publications written at once
    unsigned connections;          // of a crowd
    unsigned bytes;                // of the application's dictionary
    double seconds;
    unsigned least;                // round trips, however long they take
    int relay;                     // its process id, for its clock and its memory
    int also;                      // a second process whose clock counts, too
    const char *counts;            // the file of counts.c
    unsigned app;                  // the number of the items' app
    const char *until;             // which promise an item is followed to
    bool slow;                     // the crowd is half-open or sends one byte a second
};
extern struct options options;

struct bytes {
    uint8_t *at;
    size_t count, room;
};

struct connection {
    int socket;
    enum part part;
    unsigned number;               // of the pair or the receiver
    bool isDirty, waits;           // is to be flushed in this turn; its socket is full
    struct bytes in, out;          // a message that is not whole yet; what is to be sent
    uint32_t serial, heard;        // for protocols that count their messages: the last one sent, the last one read
    char name[NAME], other[NAME];  // for protocols that address by name: its own, and whom it writes to
};

// One wire protocol.
struct protocol {
    const char *name;
    bool hasManySockets;  // receiver n of a fan-out has a socket of its own
    void (*enter)(struct connection *);                         // greets, registers, subscribes; waits for the answers
    void (*meet)(struct connection *, struct connection *);     // learns what is known only once the other is there
    size_t (*length)(const uint8_t *, size_t);                  // of the message at the front; 0: it is not whole
    enum kind (*read)(struct connection *, uint8_t *, size_t, uint8_t **id);  // NOTHING: it has been dealt with
    void (*write)(struct connection *, enum kind, const uint8_t *id);         // appends a message to `out`
};
extern const struct protocol tandem, bare, redis, mqtt, nats, dbus;
extern const struct protocol items, bareItems, redisItems;  // durable

// wire.c: connections and turns
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
int dial(const char *address);  // -1: nobody listens
struct connection *enter(const struct protocol *, enum part, unsigned number, const char *at);
void append(struct bytes *, const void *, size_t);
void appendText(struct bytes *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sendNow(struct connection *);  // all of `out`, waiting for room
uint8_t *receiveNow(const struct protocol *, struct connection *, size_t *length);  // waits; valid until the next call
void watch(struct connection *);    // from now on turns see it
void flushLater(struct connection *);  // at the end of the turn
typedef void taker(struct connection *, enum kind, uint8_t *id);
void turn(const struct protocol *, taker *);  // waits, takes everything, then writes once to each connection

// content.c: what is sent, and whether it is what arrives
void prepareBodies(void);
void freshIdentifier(uint8_t id[ID], uint32_t slot);
uint32_t slotOf(const uint8_t id[ID]);
unsigned variantOf(const uint8_t id[ID]);
const uint8_t *bodyOf(unsigned variant);  // options.bytes of them
// For protocols with envelopes of their own: the identifier and the body.
void appendPayload(struct bytes *, const uint8_t id[ID]);
uint8_t *checkedPayload(uint8_t *, size_t);  // its identifier

// clock.c: time, and what the relay has used
enum { COUNTERS = 5 };
struct meter {
    double time, load, relay;          // seconds: of the clock, and of the two processes' processor time
    unsigned long counts[COUNTERS];    // of the relay, if it was started with counts.c: in the order of its struct
};
double now(void);  // seconds, monotonic
struct meter readMeter(void);
void printSince(struct meter, unsigned long units);  // as members of a JSON object, for each unit
long residentBytes(int process);
long ownBytes(int process);  // without the pages of files, which are shared, and come and go
void recordSample(double seconds);
double percentile(double share);       // of the samples; seconds

// A receiver on the device of this number, on a socket of its own where the relay has one for each.
struct connection *enterReceiver(const struct protocol *, enum part, unsigned number);

// trips.c, fanout.c, durable.c, receipts.c, crowd.c, start.c: the cases
void runTrips(const struct protocol *);
void runFanOut(const struct protocol *);
void runDurable(const struct protocol *);
void runReceipts(void);  // of `items` if followed until handled, else of messages
void runCrowd(const struct protocol *);
void runStart(const struct protocol *, char **command);
