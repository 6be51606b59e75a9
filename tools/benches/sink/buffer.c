#include "sink.h"
#include <stdlib.h>
#include <string.h>

uint8_t *buffer_room(struct buffer *buffer, size_t count) {
    if (buffer->count + count > buffer->capacity) {
        buffer->capacity = (buffer->count + count) * 2;
        buffer->bytes = realloc(buffer->bytes, buffer->capacity);
        if (!buffer->bytes) abort();
    }
    return buffer->bytes + buffer->count;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t count) {
    memcpy(buffer_room(buffer, count), bytes, count);
    buffer->count += count;
}

void buffer_consume(struct buffer *buffer, size_t count) {
    buffer->count -= count;
    if (count > 0 && buffer->count > 0) memmove(buffer->bytes, buffer->bytes + count, buffer->count);
}
