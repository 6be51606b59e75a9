#include "sink.h"
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { READ_SIZE = 65536, RECORD = 16384, READS_PER_PASS = 16 };

struct connection *connection_new(SSL_CTX *context, int fd) {
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) abort();
    connection->fd = fd;
    connection->ssl = SSL_new(context);
    if (!connection->ssl || SSL_set_fd(connection->ssl, fd) != 1) abort();
    SSL_set_accept_state(connection->ssl);
    if (options.strict) connection->strict = strict_new();
    counts.connections++;
    return connection;
}

static void release(struct connection *connection) {
    if (!connection->is_closed) {
        connection->is_closed = true;
        SSL_free(connection->ssl);
        close(connection->fd);
    }
    if (connection->waiting > 0) return;
    if (connection->strict) strict_free(connection->strict);
    free(connection->input.bytes);
    free(connection->output.bytes);
    free(connection);
}

// 1 when it went on, 0 when it has to wait for the socket, -1 when it is over.
static int verdict(struct connection *connection, int result) {
    if (result > 0) return 1;
    int error = SSL_get_error(connection->ssl, result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static bool shake_hands(struct connection *connection) {
    if (connection->is_open) return true;
    int state = verdict(connection, SSL_do_handshake(connection->ssl));
    if (state < 0) return false;
    if (state > 0) {
        connection->is_open = true;
        frames_start(connection);
    }
    return true;
}

static bool read_all(struct connection *connection) {
    for (int pass = 0; pass < READS_PER_PASS || SSL_has_pending(connection->ssl); pass++) {
        uint8_t *room = buffer_room(&connection->input, READ_SIZE);
        int count = SSL_read(connection->ssl, room, READ_SIZE);
        int state = verdict(connection, count);
        if (state <= 0) return state == 0;
        connection->input.count += (size_t)count;
        if (!frames_receive(connection)) return false;
    }
    return true;
}

static bool write_all(struct connection *connection) {
    struct buffer *output = &connection->output;
    size_t start = 0;
    connection->wants_write = false;
    while (start < output->count) {
        size_t count = output->count - start < RECORD ? output->count - start : RECORD;
        int written = SSL_write(connection->ssl, output->bytes + start, (int)count);
        int state = verdict(connection, written);
        if (state < 0) return false;
        if (state == 0) {
            connection->wants_write = true;
            break;
        }
        start += (size_t)written;
    }
    buffer_consume(output, start);
    return true;
}

void connection_exchange(struct connection *connection, int epoll) {
    if (connection->is_closed) {
        release(connection);
        return;
    }
    bool goes_on = shake_hands(connection);
    if (goes_on && connection->is_open) goes_on = read_all(connection) && write_all(connection);
    if (!goes_on) {
        release(connection);
        return;
    }
    struct epoll_event event = {.events = EPOLLIN | (connection->wants_write ? EPOLLOUT : 0), .data.ptr = connection};
    epoll_ctl(epoll, EPOLL_CTL_MOD, connection->fd, &event);
}
