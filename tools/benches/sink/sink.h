// A server for pushes that does as little as it can, so that what is measured in front of it is the client.
//
// One thread: epoll, TLS by OpenSSL, HTTP/2 frames by hand, prebuilt answers. Only in strict mode does it decode what
// the requests say, with libnghttp2's inflater, and counts those that are not what a push must be.
#pragma once
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options {
    const char *certificate;
    const char *key;
    uint32_t streams;
    // How long every answer waits, in nanoseconds.
    uint64_t delay;
    // Every so many answers one is a 410; 0 for never.
    uint64_t gone_every;
    // Every so many answers one is a 500 or a 503, in turn; 0 for never.
    uint64_t fail_every;
    // What strict mode expects of every body; 0 for any length but none.
    size_t body;
    bool strict;
};

struct counts {
    uint64_t requests;
    uint64_t gone;
    uint64_t failed;
    uint64_t connections;
    // Requests that strict mode found wrong, and what was wrong with the first of them.
    uint64_t bad;
    const char *fault;
};

extern struct options options;
extern struct counts counts;

struct buffer {
    uint8_t *bytes;
    size_t count;
    size_t capacity;
};

// What strict mode remembers of a stream until its body is complete.
struct request {
    uint32_t stream;
    size_t body;
    char apns_id[37];
};

struct strict {
    nghttp2_hd_inflater *inflater;
    struct buffer block;
    struct request requests[4096];
};

struct connection {
    int fd;
    SSL *ssl;
    bool is_open;
    bool is_closed;
    bool wants_write;
    bool had_preface;
    bool has_indexed_name;
    struct buffer input;
    struct buffer output;
    // Answers that wait for their time and hold this connection.
    size_t waiting;
    // What the client may still send before the window is opened again.
    int64_t window;
    struct strict *strict;
};

// buffer.c
uint8_t *buffer_room(struct buffer *buffer, size_t count);
void buffer_append(struct buffer *buffer, const void *bytes, size_t count);
void buffer_consume(struct buffer *buffer, size_t count);

// frames.c
// Queues SETTINGS and the window of the whole connection.
void frames_start(struct connection *connection);
// Takes the complete frames out of the input; false when the client breaks the protocol.
bool frames_receive(struct connection *connection);
// Queues an answer.
void frames_answer(struct connection *connection, uint32_t stream, const char *apns_id);

// strict.c
struct strict *strict_new(void);
void strict_free(struct strict *strict);
// Takes a piece of a header block; `is_last` when it is complete. False when it cannot be decoded.
bool strict_headers(struct strict *strict, uint32_t stream, const uint8_t *bytes, size_t count, bool is_last);
void strict_body(struct strict *strict, uint32_t stream, size_t count);
// The request is complete: counts its faults, and answers with the id that it asked for.
const char *strict_end(struct strict *strict, uint32_t stream);

// delay.c
// Answers now, or when the delay has passed.
void delay_answer(struct connection *connection, uint32_t stream);
// Queues the answers that are due and calls `flush` for their connections; milliseconds until the next, -1 for none.
int delay_pass(void (*flush)(struct connection *));

// connection.c
struct connection *connection_new(SSL_CTX *context, int fd);
// Reads, answers and writes what there is. The connection is freed when it is over and nothing waits for it.
void connection_exchange(struct connection *connection, int epoll);
