// Interface between the two halves of Tandem's adapter: tandem.c greets and relays messages, items.c submits and
// receives items.
#pragma once
#include "load.h"
#include "plist.h"

enum { HEADER = 4, PAIRING = 16 };

void nameOf(const struct connection *, char name[NAME]);
void appendFrame(struct bytes *, struct plist *payload);
size_t frameLength(const uint8_t *, size_t);
struct value greet(struct connection *);                        // its answer: what is paired
struct value hear(struct connection *, const char *kind);       // the body of the next frame of this kind
enum kind readOther(struct connection *, const uint8_t *, size_t);  // of no case: a state, a ping

// items.c
extern uint8_t (*known)[PAIRING];  // the submitter's pairings with options.receivers devices
void submit(struct connection *, const uint8_t pairing[PAIRING], const uint8_t id[ID]);
