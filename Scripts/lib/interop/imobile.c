// A host app on libimobiledevice's property-list service and libplist; Protocol/Session.md is all it knows of Tandem.
// The simulator is behind a usbmuxd (usbmux.py), whose address is in USBMUXD_SOCKET_ADDRESS.
//
//     imobile ask PORT APP DIR       sends DIR/NN.plist, one after the other's reply, and stores that as NN.reply
//     imobile answer PORT APP DIR    stores what it reads as NN.message and sends it back, encoded again
//
// It ends at the first thing that is not as it must be; what it holds then goes with the process.
#include <libimobiledevice/libimobiledevice.h>
#include <libimobiledevice/property_list_service.h>
#include <plist/plist.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 30, MILLISECONDS = 20000, LARGEST = 1 << 20 };

static property_list_service_client_t service;
static plist_t state;
static const char *app, *directory;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("imobile: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

static char *path(int number, const char *kind) {
    static char name[4096];
    snprintf(name, sizeof name, "%s/%02d.%s", directory, number, kind);
    return name;
}

static plist_t parsed(const char *bytes, uint64_t length) {
    plist_t value = NULL;
    plist_from_bin(bytes, (uint32_t)length, &value);
    if (!value) die("libplist cannot read %llu bytes", (unsigned long long)length);
    return value;
}

static plist_t written(plist_t value) {
    char *bytes = NULL;
    uint32_t length = 0;
    plist_to_bin(value, &bytes, &length);
    plist_t data = plist_new_data(bytes, length);
    plist_to_bin_free(bytes);
    return data;
}

static void store(int number, const char *kind, plist_t data) {
    uint64_t length = 0;
    const char *bytes = plist_get_data_ptr(data, &length);
    FILE *file = fopen(path(number, kind), "wb");
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file))
        die("%s: cannot be written", path(number, kind));
}

static plist_t load(int number) {
    static char bytes[LARGEST];
    FILE *file = fopen(path(number, "plist"), "rb");
    if (!file) die("%s: cannot be read", path(number, "plist"));
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return parsed(bytes, length);
}

static const char *text(plist_t envelope, const char *key) {
    plist_t value = plist_dict_get_item(envelope, key);
    return value && plist_get_node_type(value) == PLIST_STRING ? plist_get_string_ptr(value, NULL) : "";
}

static plist_t body(plist_t envelope) {
    uint64_t length = 0;
    plist_t data = plist_dict_get_item(envelope, "body");
    const char *bytes = data ? plist_get_data_ptr(data, &length) : NULL;
    if (!bytes) die("%s without a body", text(envelope, "kind"));
    return parsed(bytes, length);
}

static plist_t envelope(const char *kind) {
    plist_t made = plist_new_dict();
    plist_dict_set_item(made, "kind", plist_new_string(kind));
    return made;
}

static void send_out(plist_t made) {
    int error = property_list_service_send_binary_plist(service, made);
    if (error) die("%s: send error %d", text(made, "kind"), error);
    plist_free(made);
}

// The next frame of this kind; a state before it is kept, a ping answered, a refusal or failure the end.
static plist_t next(const char *kind) {
    for (;;) {
        plist_t got = NULL;
        int error = property_list_service_receive_plist_with_timeout(service, &got, MILLISECONDS);
        if (error) die("%s: receive error %d", kind, error);
        const char *came = text(got, "kind");
        if (!strcmp(came, "state") || !strcmp(came, "registered")) {
            plist_free(state);
            state = body(got);
        }
        if (!strcmp(came, "ping")) send_out(envelope("pong"));
        if (!strcmp(came, "refusal") || !strcmp(came, "failure")) die("%s %s", came, text(got, "name"));
        if (!strcmp(came, kind)) return got;
        plist_free(got);
    }
}

static void greet(void) {  // SES-1, SES-5
    plist_t hello = plist_new_dict(), capabilities = plist_new_array(), made = envelope("hello");
    plist_dict_set_item(hello, "minimum", plist_new_uint(1));
    plist_dict_set_item(hello, "maximum", plist_new_uint(1));
    plist_array_append_item(capabilities, plist_new_string("message"));
    plist_dict_set_item(hello, "capabilities", capabilities);
    plist_dict_set_item(hello, "software", plist_new_string("libimobiledevice"));
    plist_dict_set_item(made, "body", written(hello));
    send_out(made);
    plist_free(hello);
    plist_free(next("hello"));
    plist_t receives = plist_new_dict();
    plist_dict_set_item(receives, "receives", plist_new_bool(1));
    made = envelope("register");
    plist_dict_set_item(made, "app", plist_new_string(app));
    plist_dict_set_item(made, "body", written(receives));
    send_out(made);
    plist_free(receives);
    plist_free(next("registered"));
    puts("ready");
    fflush(stdout);
}

static bool is_reachable(void) {
    plist_t level = plist_access_path(state, 3, "pairings", 0, "level");
    return level && !strcmp(plist_get_string_ptr(level, NULL), "immediate");
}

// A message or a reply: the pairing, the identifier and the body are the caller's, and copied.
static void say(const char *kind, plist_t pairing, plist_t identifier, plist_t content) {
    plist_t made = envelope(kind);
    plist_dict_set_item(made, "app", plist_new_string(app));
    plist_dict_set_item(made, "pairing", plist_copy(pairing));
    plist_dict_set_item(made, "id", plist_copy(identifier));
    plist_dict_set_item(made, "body", plist_copy(content));
    if (!strcmp(kind, "message")) plist_dict_set_item(made, "reply", plist_new_bool(1));
    send_out(made);
}

static void ask(int number) {
    char bytes[16] = {0};
    memcpy(bytes, &number, sizeof number);
    plist_t value = load(number), content = written(value), identifier = plist_new_data(bytes, sizeof bytes);
    say("message", plist_dict_get_item(state, "active"), identifier, content);
    plist_t reply = next("reply"), answer = body(reply), again = written(answer);
    if (!plist_compare_node_value(plist_dict_get_item(reply, "id"), identifier))
        die("reply %d answers another message", number);
    store(number, "reply", again);
    plist_t all[] = {value, content, identifier, reply, answer, again};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) plist_free(all[i]);
}

static void answer(int number) {
    plist_t message = next("message"), value = body(message), content = written(value);
    store(number, "message", content);
    say("reply", plist_dict_get_item(message, "pairing"), plist_dict_get_item(message, "id"), content);
    plist_t all[] = {message, value, content};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) plist_free(all[i]);
}

int main(int count, char **arguments) {
    if (count != 5) die("usage: imobile ask|answer PORT APP DIR");
    bool asks = !strcmp(arguments[1], "ask");
    app = arguments[3], directory = arguments[4];
    struct lockdownd_service_descriptor port = {.port = (uint16_t)atoi(arguments[2])};
    idevice_t device = NULL;
    int error = idevice_new_with_options(&device, NULL, IDEVICE_LOOKUP_USBMUX);
    if (error) die("no device: error %d", error);
    error = property_list_service_client_new(device, &port, &service);
    if (error) die("no connection: error %d", error);
    greet();
    while (asks && !is_reachable()) plist_free(next("state"));
    for (int number = 0; number < COUNT; number++) asks ? ask(number) : answer(number);
    send_out(envelope("bye"));
    plist_free(state);
    property_list_service_client_free(service);
    idevice_free(device);
}
