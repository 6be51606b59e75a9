#include "sink.h"
#include <string.h>

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION };
enum { END_STREAM = 0x1, ACK = 0x1, END_HEADERS = 0x4, PADDED = 0x8, HAS_PRIORITY = 0x20 };
enum { HEAD = 9, LARGEST_FRAME = 16384 };

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// What the client may send before the window is opened again.
static const int64_t window = 1 << 30;

static void write_32(uint8_t *target, uint32_t value) {
    for (int index = 0; index < 4; index++) target[index] = (uint8_t)(value >> (24 - 8 * index));
}

static uint32_t read_32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint8_t *write_head(uint8_t *target, size_t length, uint8_t type, uint8_t flags, uint32_t stream) {
    target[0] = (uint8_t)(length >> 16);
    target[1] = (uint8_t)(length >> 8);
    target[2] = (uint8_t)length;
    target[3] = type;
    target[4] = flags;
    write_32(target + 5, stream);
    return target + HEAD;
}

static void open_window(struct connection *connection, uint32_t by) {
    uint8_t frame[HEAD + 4];
    write_32(write_head(frame, 4, WINDOW_UPDATE, 0, 0), by);
    buffer_append(&connection->output, frame, sizeof frame);
    connection->window += by;
}

void frames_start(struct connection *connection) {
    uint8_t frame[HEAD + 12];
    uint8_t *next = write_head(frame, 12, SETTINGS, 0, 0);
    next[0] = 0, next[1] = 3, write_32(next + 2, options.streams);
    // INITIAL_WINDOW_SIZE: no body comes near it.
    next[6] = 0, next[7] = 4, write_32(next + 8, 1 << 20);
    buffer_append(&connection->output, frame, sizeof frame);
    connection->window = 65535;
    open_window(connection, window);
}

// `apns-id` as APNs sends it: a text of its own for every push, under a name that the table holds after the first.
static uint8_t *write_id(struct connection *connection, uint8_t *next, const char *id) {
    static const uint8_t first[] = {0x40, 7, 'a', 'p', 'n', 's', '-', 'i', 'd'};
    static const uint8_t later[] = {0x0f, 62 - 15};
    const uint8_t *name = connection->has_indexed_name ? later : first;
    size_t count = connection->has_indexed_name ? sizeof later : sizeof first;
    connection->has_indexed_name = true;
    memcpy(next, name, count);
    next += count;
    *next++ = 36;
    memcpy(next, id, 36);
    return next + 36;
}

static const char *fresh_id(void) {
    static char id[] = "7D2E0000-0000-4000-8000-000000000000";
    uint64_t number = counts.requests;
    for (int index = 35; index > 23; index--, number >>= 4) id[index] = "0123456789ABCDEF"[number & 15];
    return id;
}

// What an answer says: no reason stands for 200.
struct answer {
    // The value of `:status`, three digits.
    const char *status;
    const char *reason;
};

static struct answer next_answer(void) {
    counts.requests++;
    if (options.gone_every > 0 && counts.requests % options.gone_every == 0) {
        counts.gone++;
        return (struct answer){"410", "{\"reason\":\"Unregistered\",\"timestamp\":1763700000000}"};
    }
    if (options.fail_every > 0 && counts.requests % options.fail_every == 0) {
        return counts.failed++ % 2 == 0 ? (struct answer){"500", "{\"reason\":\"InternalServerError\"}"}
                                        : (struct answer){"503", "{\"reason\":\"ServiceUnavailable\"}"};
    }
    return (struct answer){0};
}

void frames_answer(struct connection *connection, uint32_t stream, const char *apns_id) {
    struct answer answer = next_answer();
    uint8_t *start = buffer_room(&connection->output, 256);
    uint8_t *block = start + HEAD;
    uint8_t *next = block;
    if (answer.reason) {
        // `:status` by the name of the static table's entry 8.
        memcpy(next, "\x08\x03", 2);
        memcpy(next + 2, answer.status, 3);
        next += 5;
    } else {
        *next++ = 0x88;
    }
    next = write_id(connection, next, apns_id ? apns_id : fresh_id());
    write_head(start, (size_t)(next - block), HEADERS, END_HEADERS | (answer.reason ? 0 : END_STREAM), stream);
    if (answer.reason) {
        size_t length = strlen(answer.reason);
        next = write_head(next, length, DATA, END_STREAM, stream);
        memcpy(next, answer.reason, length);
        next += length;
    }
    connection->output.count += (size_t)(next - start);
}

static void settings(struct connection *connection, uint8_t flags) {
    uint8_t frame[HEAD];
    if (flags & ACK) return;
    write_head(frame, 0, SETTINGS, ACK, 0);
    buffer_append(&connection->output, frame, sizeof frame);
}

static void ping(struct connection *connection, uint8_t flags, const uint8_t *bytes) {
    uint8_t frame[HEAD + 8];
    if (flags & ACK) return;
    memcpy(write_head(frame, 8, PING, ACK, 0), bytes, 8);
    buffer_append(&connection->output, frame, sizeof frame);
}

// Cuts padding and priority off; false when they are longer than the frame.
static bool strip(uint8_t type, uint8_t flags, const uint8_t **bytes, size_t *count) {
    size_t before = type == HEADERS && flags & HAS_PRIORITY ? 5 : 0, after = 0;
    if (type != CONTINUATION && flags & PADDED) {
        if (*count == 0) return false;
        after = **bytes;
        before++;
    }
    if (before + after > *count) return false;
    *bytes += before;
    *count -= before + after;
    return true;
}

// HEADERS, CONTINUATION and DATA: the frames that requests are made of.
static bool request(
    struct connection *connection, uint8_t type, uint8_t flags, uint32_t stream, const uint8_t *bytes, size_t count
) {
    if (type == DATA) {
        connection->window -= (int64_t)count;
        if (connection->window < window / 2) open_window(connection, (uint32_t)(window / 2));
    }
    if (connection->strict) {
        if (!strip(type, flags, &bytes, &count)) return false;
        if (type == DATA) {
            strict_body(connection->strict, stream, count);
        } else if (!strict_headers(connection->strict, stream, bytes, count, flags & END_HEADERS)) {
            return false;
        }
    }
    // A body's end may come before its header block's: every client here sends a body.
    if (type != CONTINUATION && flags & END_STREAM) delay_answer(connection, stream);
    return true;
}

static bool frame(
    struct connection *connection, uint8_t type, uint8_t flags, uint32_t stream, const uint8_t *bytes, size_t count
) {
    switch (type) {
    case DATA:
    case HEADERS:
    case CONTINUATION: return request(connection, type, flags, stream, bytes, count);
    case SETTINGS: settings(connection, flags); return true;
    case PING: if (count != 8) return false; ping(connection, flags, bytes); return true;
    // A client that ends politely closes its side afterwards; the rest changes nothing for a server without bodies.
    default: return true;
    }
}

bool frames_receive(struct connection *connection) {
    struct buffer *input = &connection->input;
    size_t start = 0;
    if (!connection->had_preface) {
        if (input->count < sizeof preface - 1) return true;
        if (memcmp(input->bytes, preface, sizeof preface - 1) != 0) return false;
        connection->had_preface = true;
        start = sizeof preface - 1;
    }
    while (input->count - start >= HEAD) {
        const uint8_t *head = input->bytes + start;
        size_t length = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        if (length > LARGEST_FRAME) return false;
        if (input->count - start < HEAD + length) break;
        if (!frame(connection, head[3], head[4], read_32(head + 5) & 0x7fffffff, head + HEAD, length)) return false;
        start += HEAD + length;
    }
    buffer_consume(input, start);
    return true;
}
