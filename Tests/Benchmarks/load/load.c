// The load of Scripts/bench. It starts no relay (but for `start`) and ends none: the script does.
//
//     load trips  PROTOCOL --at A --counterpart B [--pairs 1] [--window 1] OPTIONS
//     load fanout PROTOCOL --at A --counterpart B [--receivers 100] [--burst 16] OPTIONS
//         OPTIONS: [--bytes 300] [--seconds 1] [--least TRIPS] [--relay PID [--counts FILE]]
//     load durable PROTOCOL --at A [--counterpart B] [--until accepted|stored|handled] [--window 1] [--app N] OPTIONS
//     load receipts tandem --at A --counterpart B [--receivers 100] [--until accepted|handled] OPTIONS
//     load crowd  PROTOCOL --at A --counterpart B --connections N [--relay PID | --slow]     until SIGTERM
//     load start  PROTOCOL --at A -- COMMAND ARGUMENT ...
//
// PROTOCOL: tandem, bare (the floor), redis, mqtt, nats, dbus; durable: items, bare-items, redis-items. A and B: a
// path, or a TCP port of 127.0.0.1; for Tandem's fan-out B is the first secondary's socket, the next ones are B with
// -2, -3 before its end; receipts have receivers like it. `--app` is a number that no earlier run's items had; durable
// items go to the last of so many `--receivers`. Prints one line of JSON; times in microseconds (start: milliseconds
// and MiB), `cpu` is the relay's for one trip or delivery.
//     clang -O2 -o /tmp/load *.c; tandem simulate --local /tmp/s --log error &
//     taskset -c 1 /tmp/load trips tandem --at /tmp/s/secondary.sock --counterpart /tmp/s/primary.sock --relay $!
#include "load.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct options options = {.pairs = 1, .window = 1, .burst = 16, .bytes = 300, .seconds = 1, .until = "accepted"};

static const struct option names[] = {
    {"at", 1, 0, 'a'}, {"counterpart", 1, 0, 'c'}, {"pairs", 1, 0, 'p'}, {"window", 1, 0, 'w'},
    {"receivers", 1, 0, 'r'}, {"burst", 1, 0, 'u'}, {"connections", 1, 0, 'n'}, {"bytes", 1, 0, 'b'},
    {"seconds", 1, 0, 's'}, {"relay", 1, 0, 'i'}, {"also", 1, 0, 'l'}, {"counts", 1, 0, 'f'}, {"slow", 0, 0, 'o'},
    {"until", 1, 0, 't'}, {"app", 1, 0, 'm'}, {"least", 1, 0, 'e'},
    {0},
};

static void set(int name, const char *value) {
    unsigned number = value ? (unsigned)strtoul(value, NULL, 10) : 0;
    switch (name) {
    case 'a': options.at = value; break;
    case 'c': options.counterpart = value; break;
    case 'p': options.pairs = number; break;
    case 'w': options.window = number; break;
    case 'r': options.receivers = number; break;
    case 'u': options.burst = number; break;
    case 'n': options.connections = number; break;
    case 'b': options.bytes = number; break;
    case 's': options.seconds = atof(value); break;
    case 'i': options.relay = (int)number; break;
    case 'l': options.also = (int)number; break;
    case 'f': options.counts = value; break;
    case 't': options.until = value; break;
    case 'e': options.least = number; break;
    case 'm': options.app = number; break;
    case 'o': options.slow = true; break;
    default: exit(2);
    }
}

static const struct protocol *spoken(const char *name) {
    const struct protocol *const all[] = {&tandem, &bare, &redis, &mqtt, &nats, &dbus,
                                          &items, &bareItems, &redisItems};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!strcmp(all[i]->name, name)) return all[i];
    }
    die("no protocol %s", name);
}

static void raiseDescriptorLimit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int count, char **words) {
    if (count < 3) die("usage: load trips|fanout|durable|receipts|crowd|start PROTOCOL OPTIONS (see load.c)");
    const char *wanted = words[1];
    const struct protocol *protocol = spoken(words[2]);
    for (int name; (name = getopt_long(count - 2, words + 2, "", names, NULL)) >= 0;) set(name, optarg);
    bool isAlone = !strcmp(wanted, "start") || !strcmp(wanted, "durable");
    if (!options.at || (!options.counterpart && !isAlone)) die("--at and --counterpart are needed");
    if (options.bytes < 64 || options.bytes > 65536) die("--bytes is from 64 to 65536");
    raiseDescriptorLimit();
    prepareBodies();
    if (!strcmp(wanted, "trips")) runTrips(protocol);
    else if (!strcmp(wanted, "crowd")) runCrowd(protocol);
    else if (!strcmp(wanted, "durable")) runDurable(protocol);
    else if (!strcmp(wanted, "receipts")) {
        if (!options.receivers) options.receivers = 100;
        runReceipts();
    } else if (!strcmp(wanted, "start")) runStart(protocol, words + 2 + optind);
    else if (!strcmp(wanted, "fanout")) {
        if (!options.receivers) options.receivers = 100;
        runFanOut(protocol);
    } else die("no case %s", wanted);
}
