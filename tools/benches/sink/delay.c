#include "sink.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct entry {
    uint64_t due;
    struct connection *connection;
    uint32_t stream;
    char apns_id[37];
};

// All wait equally long, so the order of arrival is the order of being due.
static struct entry *ring;
static size_t capacity, head, count;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void grow(void) {
    size_t larger = capacity ? capacity * 2 : 4096;
    struct entry *entries = malloc(larger * sizeof *entries);
    if (!entries) abort();
    for (size_t index = 0; index < count; index++) entries[index] = ring[(head + index) % capacity];
    free(ring);
    ring = entries;
    capacity = larger;
    head = 0;
}

void delay_answer(struct connection *connection, uint32_t stream) {
    const char *id = connection->strict ? strict_end(connection->strict, stream) : NULL;
    if (options.delay == 0) {
        frames_answer(connection, stream, id);
        return;
    }
    if (count == capacity) grow();
    struct entry *entry = &ring[(head + count++) % capacity];
    *entry = (struct entry){.due = now() + options.delay, .connection = connection, .stream = stream};
    if (id) memcpy(entry->apns_id, id, sizeof entry->apns_id);
    connection->waiting++;
}

int delay_pass(void (*flush)(struct connection *)) {
    if (count == 0) return -1;
    uint64_t moment = now();
    while (count > 0 && ring[head].due <= moment) {
        struct connection *connection = ring[head].connection;
        while (count > 0 && ring[head].due <= moment && ring[head].connection == connection) {
            const char *id = ring[head].apns_id;
            if (!connection->is_closed) frames_answer(connection, ring[head].stream, *id ? id : NULL);
            connection->waiting--;
            head = (head + 1) % capacity;
            count--;
        }
        flush(connection);
    }
    if (count == 0) return -1;
    return (int)((ring[head].due - moment + 999999) / 1000000);
}
