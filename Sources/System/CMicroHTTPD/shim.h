// The one door to libmicrohttpd: the console's executable is the only room that imports it. Functions with variable
// arguments are invisible from Swift, so their calls stand here.
#pragma once
#include <microhttpd.h>
#include <string.h>

// All that a server needs; the pointers are lent for its whole life.
struct tandem_web_options {
    int listener;
    unsigned int connections;
    unsigned int seconds_idle;
    size_t connection_bytes;
    // PEM texts; NULL for plain HTTP.
    const char *certificate;
    const char *key;
    void *context;
    // Makes the request's own context from its target as it was sent.
    void *(*begin)(void *context, const char *target, struct MHD_Connection *connection);
    MHD_AccessHandlerCallback handle;
    MHD_RequestCompletedCallback finish;
    MHD_NotifyConnectionCallback notify;
};

// Targets are decoded by the console itself, once.
static inline size_t tandem_web_unescape(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

// A server that runs only within tandem_web_run; NULL on failure.
static inline struct MHD_Daemon *tandem_web_start(const struct tandem_web_options *options) {
    struct MHD_OptionItem secrets[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_PEDANTIC_CHECKS;
    if (options->certificate)
        flags |= MHD_USE_TLS;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, options->handle, options->context, MHD_OPTION_LISTEN_SOCKET, options->listener,
        MHD_OPTION_CONNECTION_LIMIT, options->connections, MHD_OPTION_CONNECTION_TIMEOUT, options->seconds_idle,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->connection_bytes, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_UNESCAPE_CALLBACK, tandem_web_unescape, NULL,
        MHD_OPTION_URI_LOG_CALLBACK, options->begin, options->context, MHD_OPTION_NOTIFY_COMPLETED, options->finish,
        options->context, MHD_OPTION_NOTIFY_CONNECTION, options->notify, options->context, MHD_OPTION_ARRAY,
        options->certificate ? secrets : none, MHD_OPTION_END);
}

// The descriptor that becomes readable when the server has work.
static inline int tandem_web_descriptor(struct MHD_Daemon *server) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

// The socket of a connection.
static inline int tandem_web_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// The context that was given to a connection when it began.
static inline void *tandem_web_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}
