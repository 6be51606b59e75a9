#include "sink.h"
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct options options = {.streams = 500, .body = 400};
struct counts counts;

static int epoll;
static SSL_CTX *context;
// The two descriptors that are no connections, as epoll's pointers.
static int listener, signals;

static void fail(const char *what) {
    fprintf(stderr, "bench-sink: %s\n", what);
    exit(1);
}

static int choose_h2(
    SSL *ssl, const unsigned char **chosen, unsigned char *count, const unsigned char *offer, unsigned offered, void *unused
) {
    static const unsigned char h2[] = {2, 'h', '2'};
    (void)ssl, (void)unused;
    int result = SSL_select_next_proto((unsigned char **)chosen, count, h2, sizeof h2, offer, offered);
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void make_context(void) {
    context = SSL_CTX_new(TLS_server_method());
    if (!context) fail("no TLS context");
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, 65536);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
    if (SSL_CTX_use_certificate_chain_file(context, options.certificate) != 1) fail("--certificate cannot be read");
    if (SSL_CTX_use_PrivateKey_file(context, options.key, SSL_FILETYPE_PEM) != 1) fail("--key cannot be read");
}

static void watch(int fd, void *pointer) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = pointer};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
}

// Listens on a free port of loopback and prints it.
static void start_listening(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 128) != 0) fail("cannot listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    watch(listener, &listener);
}

static void catch_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    // A bench that dies must not leave its sink behind.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signals = signalfd(-1, &set, SFD_CLOEXEC);
    watch(signals, &signals);
}

// SIGUSR1 asks for the counts since the last time, SIGTERM for the end.
static void signalled(void) {
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof info) != sizeof info) return;
    if (info.ssi_signo == SIGTERM) exit(0);
    printf(
        "{\"requests\":%lu,\"gone\":%lu,\"failed\":%lu,\"connections\":%lu,\"bad\":%lu,\"fault\":\"%s\"}\n", counts.requests,
        counts.gone, counts.failed, counts.connections, counts.bad, counts.fault ? counts.fault : ""
    );
    fflush(stdout);
    counts = (struct counts){0};
}

static void accept_all(void) {
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1;
        if (fd < 0) return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(fd, connection_new(context, fd));
    }
}

static void parse(int count, char **texts) {
    static const struct option names[] = {
        {"certificate", required_argument, NULL, 'c'}, {"key", required_argument, NULL, 'k'},
        {"streams", required_argument, NULL, 's'},     {"delay-ms", required_argument, NULL, 'd'},
        {"gone-every", required_argument, NULL, 'g'},  {"body", required_argument, NULL, 'b'},
        {"fail-every", required_argument, NULL, 'f'},  {"strict", no_argument, NULL, 'x'},
        {NULL, 0, NULL, 0},
    };
    for (int name; (name = getopt_long(count, texts, "", names, NULL)) != -1;) {
        unsigned long number = optarg ? strtoul(optarg, NULL, 10) : 0;
        switch (name) {
        case 'c': options.certificate = optarg; break;
        case 'k': options.key = optarg; break;
        case 's': options.streams = (uint32_t)number; break;
        case 'd': options.delay = number * 1000000; break;
        case 'g': options.gone_every = number; break;
        case 'f': options.fail_every = number; break;
        case 'b': options.body = number; break;
        case 'x': options.strict = true; break;
        default: exit(2);
        }
    }
    if (!options.certificate || !options.key) fail("--certificate and --key are needed");
}

static void flush(struct connection *connection) { connection_exchange(connection, epoll); }

int main(int count, char **texts) {
    parse(count, texts);
    make_context();
    epoll = epoll_create1(EPOLL_CLOEXEC);
    catch_signals();
    start_listening();
    for (;;) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, delay_pass(flush));
        for (int index = 0; index < ready; index++) {
            void *pointer = events[index].data.ptr;
            if (pointer == &listener) accept_all();
            else if (pointer == &signals) signalled();
            else connection_exchange(pointer, epoll);
        }
    }
}
