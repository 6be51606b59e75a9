#include "sink.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_DIGITS = 160, LEAST_JWT = 150 };

struct strict *strict_new(void) {
    struct strict *strict = calloc(1, sizeof *strict);
    if (!strict || nghttp2_hd_inflate_new(&strict->inflater) != 0) abort();
    return strict;
}

void strict_free(struct strict *strict) {
    nghttp2_hd_inflate_del(strict->inflater);
    free(strict->block.bytes);
    free(strict);
}

static void fault(const char *text) {
    counts.bad++;
    if (!counts.fault) counts.fault = text;
}

static struct request *find(struct strict *strict, uint32_t stream) {
    return &strict->requests[stream / 2 % (sizeof strict->requests / sizeof *strict->requests)];
}

static bool is_text(const nghttp2_nv *field, const char *name) {
    return field->namelen == strlen(name) && memcmp(field->name, name, field->namelen) == 0;
}

static bool has_value(const nghttp2_nv *field, const char *value) {
    return field->valuelen == strlen(value) && memcmp(field->value, value, field->valuelen) == 0;
}

static bool is_path(const nghttp2_nv *field) {
    static const char prefix[] = "/3/device/";
    const size_t start = sizeof prefix - 1;
    if (field->valuelen != start + TOKEN_DIGITS || memcmp(field->value, prefix, start) != 0) return false;
    for (size_t index = start; index < field->valuelen; index++) {
        if (!isxdigit(field->value[index])) return false;
    }
    return true;
}

static bool is_bearer(const nghttp2_nv *field) {
    static const char prefix[] = "bearer ";
    if (field->valuelen < sizeof prefix - 1 + LEAST_JWT) return false;
    if (strncasecmp((const char *)field->value, prefix, sizeof prefix - 1) != 0) return false;
    size_t dots = 0;
    for (size_t index = 0; index < field->valuelen; index++) dots += field->value[index] == '.';
    return dots == 2;
}

static bool is_topic(const nghttp2_nv *field) {
    static const char suffix[] = ".push-type.liveactivity";
    const size_t count = sizeof suffix - 1;
    return field->valuelen > count && memcmp(field->value + field->valuelen - count, suffix, count) == 0;
}

static bool is_priority(const nghttp2_nv *field) { return has_value(field, "5") || has_value(field, "10"); }
static bool is_method(const nghttp2_nv *field) { return has_value(field, "POST"); }
static bool is_scheme(const nghttp2_nv *field) { return has_value(field, "https"); }
static bool is_push_type(const nghttp2_nv *field) { return has_value(field, "liveactivity"); }

static const struct {
    const char *name;
    bool (*is_right)(const nghttp2_nv *);
} rules[] = {
    {":method", is_method},       {":scheme", is_scheme},           {":path", is_path},
    {"authorization", is_bearer}, {"apns-topic", is_topic},         {"apns-push-type", is_push_type},
    {"apns-priority", is_priority},
};

enum { RULES = sizeof rules / sizeof *rules };

// Decodes a header block; false when it is no header block. Marks in `found` which rules' fields are there and right.
static bool decode(struct strict *strict, struct request *request, unsigned *found) {
    uint8_t *next = strict->block.bytes;
    size_t left = strict->block.count;
    for (;;) {
        nghttp2_nv field;
        int flags = 0;
        ssize_t used = nghttp2_hd_inflate_hd2(strict->inflater, &field, &flags, next, left, 1);
        if (used < 0) return false;
        next += used;
        left -= (size_t)used;
        if (flags & NGHTTP2_HD_INFLATE_EMIT) {
            for (unsigned index = 0; index < RULES; index++) {
                if (is_text(&field, rules[index].name) && rules[index].is_right(&field)) *found |= 1u << index;
            }
            if (is_text(&field, "apns-id") && field.valuelen == 36) memcpy(request->apns_id, field.value, 36);
        }
        if (flags & NGHTTP2_HD_INFLATE_FINAL) return nghttp2_hd_inflate_end_headers(strict->inflater) == 0;
        if (!(flags & NGHTTP2_HD_INFLATE_EMIT) && left == 0) return false;
    }
}

bool strict_headers(struct strict *strict, uint32_t stream, const uint8_t *bytes, size_t count, bool is_last) {
    buffer_append(&strict->block, bytes, count);
    if (!is_last) return true;
    struct request *request = find(strict, stream);
    *request = (struct request){.stream = stream};
    unsigned found = 0;
    bool is_decoded = decode(strict, request, &found);
    strict->block.count = 0;
    if (!is_decoded) {
        fault("a header block that cannot be decoded");
        return false;
    }
    for (unsigned index = 0; index < RULES; index++) {
        if (found & 1u << index) continue;
        fault(rules[index].name);
        break;
    }
    return true;
}

void strict_body(struct strict *strict, uint32_t stream, size_t count) { find(strict, stream)->body += count; }

const char *strict_end(struct strict *strict, uint32_t stream) {
    struct request *request = find(strict, stream);
    if (request->stream != stream) {
        fault("a body without a header block");
        return NULL;
    }
    if (options.body ? request->body != options.body : request->body == 0) fault("the body's length");
    return request->apns_id[0] ? request->apns_id : NULL;
}
