// The phones of a bench: sends HTTP/1.1 requests that a file holds, each as soon as its connection is answered.
//
// bench-phones --port PORT --requests FILE [--connections COUNT] [--answers]
//
// The file has each request behind its length: four bytes, the least first. Standard output gets one JSON object at the end;
// with --answers it gets the body of each answer in a line before that. Standard error gets the progress. Any answer but 2xx
// ends the program with 1.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_BYTES = 16384, TELL_EVERY = 5 };

struct connection {
    int fd;
    size_t filled;
    uint64_t sent_at;
    char answer[ANSWER_BYTES + 1];
};

static const uint8_t *next_request, *requests_end;
static uint32_t *waits;
static size_t total, answered;
static bool keeps_answers;

static void fail(const char *text) {
    fprintf(stderr, "bench-phones: %s%s%s\n", text, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

static uint64_t now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

static uint32_t length_at(const uint8_t *place) {
    return place[0] | (uint32_t)place[1] << 8 | (uint32_t)place[2] << 16 | (uint32_t)place[3] << 24;
}

static void load(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) != 0) fail(path);
    if (facts.st_size == 0) fail("there are no requests");
    next_request = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (next_request == MAP_FAILED) fail("mmap");
    close(fd);
    requests_end = next_request + facts.st_size;
    for (const uint8_t *place = next_request; place < requests_end; total++) {
        if (requests_end - place < 4 || (size_t)(requests_end - place - 4) < length_at(place)) fail("a request is cut off");
        place += 4 + length_at(place);
    }
    waits = calloc(total, sizeof *waits);
    if (!waits) fail("calloc");
}

static void open_connection(struct connection *connection, uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int on = 1;
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0 || connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// The next request leaves; false when there is none left.
static bool send_next(struct connection *connection) {
    if (next_request == requests_end) return false;
    size_t length = length_at(next_request);
    connection->filled = 0;
    connection->sent_at = now_us();
    // The connection is idle, so its buffer takes a request of some hundred bytes whole.
    if (send(connection->fd, next_request + 4, length, MSG_NOSIGNAL) != (ssize_t)length) fail("send");
    next_request += 4 + length;
    return true;
}

static size_t content_length(const char *head) {
    for (const char *line = head; (line = strstr(line, "\r\n")) && line[2] != '\r';) {
        line += 2;
        if (strncasecmp(line, "content-length:", 15) == 0) return strtoul(line + 15, NULL, 10);
        if (strncasecmp(line, "transfer-encoding:", 18) == 0) fail("an answer has no length");
    }
    return 0;
}

// Whether the answer is there. One that refuses ends the program.
static bool take_answer(struct connection *connection) {
    ssize_t count = recv(connection->fd, connection->answer + connection->filled, ANSWER_BYTES - connection->filled, 0);
    if (count <= 0) fail(count < 0 ? "recv" : "a connection was closed, or an answer is too long");
    connection->filled += (size_t)count;
    connection->answer[connection->filled] = 0;
    char *end = strstr(connection->answer, "\r\n\r\n");
    if (!end) return false;
    char *body = end + 4;
    size_t length = content_length(connection->answer), there = connection->filled - (size_t)(body - connection->answer);
    if (there < length) return false;
    errno = 0;
    if (there > length) fail("an answer is longer than it says");
    if (strncmp(connection->answer, "HTTP/1.1 2", 10) != 0) {
        fprintf(stderr, "%s\n", connection->answer);
        fail("a request was refused");
    }
    if (keeps_answers) printf("%s\n", body);
    waits[answered++] = (uint32_t)(now_us() - connection->sent_at);
    return true;
}

static int by_size(const void *one, const void *other) {
    uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;
    return (left > right) - (left < right);
}

static void tell(uint64_t began) {
    static uint64_t told;
    uint64_t time = now_us();
    if (time - (told ? told : began) < TELL_EVERY * 1000000) return;
    told = time;
    fprintf(stderr, "   %zu of %zu answered\n", answered, total);
}

int main(int count, char **texts) {
    static const struct option names[] = {
        {"port", required_argument, NULL, 'p'},        {"requests", required_argument, NULL, 'r'},
        {"connections", required_argument, NULL, 'c'}, {"answers", no_argument, NULL, 'a'},
        {NULL, 0, NULL, 0},
    };
    size_t port = 0, connections = 64;
    const char *path = NULL;
    for (int name; (name = getopt_long(count, texts, "", names, NULL)) != -1;) {
        switch (name) {
        case 'p': port = strtoul(optarg, NULL, 10); break;
        case 'r': path = optarg; break;
        case 'c': connections = strtoul(optarg, NULL, 10); break;
        case 'a': keeps_answers = true; break;
        default: exit(2);
        }
    }
    errno = 0;
    if (!path || port == 0 || port > UINT16_MAX || connections == 0) fail("--port and --requests are needed");
    load(path);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct connection *all = calloc(connections, sizeof *all);
    if (epoll < 0 || !all) fail("no memory");
    for (size_t index = 0; index < connections; index++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[index]};
        open_connection(&all[index], (uint16_t)port);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, all[index].fd, &event) != 0) fail("epoll_ctl");
    }
    uint64_t began = now_us();
    for (size_t index = 0; index < connections && send_next(&all[index]); index++) {}
    while (answered < total) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, -1);
        if (ready < 0 && errno != EINTR) fail("epoll_wait");
        for (int index = 0; index < ready; index++) {
            if (take_answer(events[index].data.ptr)) send_next(events[index].data.ptr);
        }
        tell(began);
    }
    double seconds = (double)(now_us() - began) / 1e6;
    qsort(waits, total, sizeof *waits, by_size);
    printf(
        "{\"requests\":%zu,\"seconds\":%f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}\n", total, seconds,
        waits[total / 2] / 1e3, waits[total * 99 / 100] / 1e3, waits[total - 1] / 1e3
    );
    if (fflush(stdout) != 0) fail("standard output");
    return 0;
}
