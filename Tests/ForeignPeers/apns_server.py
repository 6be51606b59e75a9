"""A stand-in for APNs over python's own TLS and h2, as far as the connections go. Run by ForeignServerTests.

It listens on a free port of 127.0.0.1 and answers every request with 200 and the text of the file --answer. Into --folder
it writes the authority of its certificate, ca.pem, and then what it has seen whenever that changes, report.json.
"""

import argparse
import datetime
import hashlib
import json
import os
import select
import socket
import ssl
import threading

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Codes = h2.settings.SettingCodes


class Report:
    """What the server has seen, for the test to read."""

    def __init__(self, path, port):
        self.path = path
        self.lock = threading.Lock()
        self.seen = {
            "port": port,
            "connections": 0,
            "requests": 0,
            "most_open": 0,
            "versions": [],
            "bodies": [],
            "violations": [],
        }
        self.write()

    def write(self):
        # Renamed into place, so that nobody reads half of it.
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.seen, file)
        os.rename(self.path + ".new", self.path)

    def update(self, change):
        with self.lock:
            change(self.seen)
            self.write()


class Connection:
    """One client, served by a thread of its own."""

    def __init__(self, sock, number, options, report):
        self.sock = sock
        self.number = number
        self.options = options
        self.report = report
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.bodies = {}
        self.answers = {}
        self.requests = 0
        self.limit = options.limit
        self.has_said_goodbye = False

    def run(self):
        self.h2.local_settings = h2.settings.Settings(
            client=False,
            initial_values={
                Codes.MAX_CONCURRENT_STREAMS: self.limit,
                Codes.INITIAL_WINDOW_SIZE: self.options.window,
            },
        )
        self.h2.initiate_connection()
        self.flush()
        while True:
            # Answers wait until the client has filled its streams: it says nothing more then.
            if not self.sock.pending() and not select.select([self.sock], [], [], 0.02)[0]:
                self.answer_all()
                continue
            data = self.sock.recv(self.options.read_size)
            if not data:
                return
            try:
                events = self.h2.receive_data(data)
            except h2.exceptions.ProtocolError as error:
                name = type(error).__name__
                self.report.update(lambda seen: seen["violations"].append(name))
                self.flush()
                return
            for event in events:
                self.handle(event)
            self.flush()

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self.bodies[event.stream_id] = b""
            self.requests += 1
            most = self.h2.open_inbound_streams
            if self.options.goaway and self.number == 1 and self.requests == self.options.goaway:
                self.say_goodbye(event.stream_id)
            self.report.update(lambda seen: self.count(seen, most))
        elif isinstance(event, h2.events.DataReceived):
            self.bodies[event.stream_id] += event.data
            # The window opens by what has been read, and not before.
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            body = self.bodies.pop(event.stream_id)
            digest = hashlib.sha256(body).hexdigest()
            self.report.update(lambda seen: digest in seen["bodies"] or seen["bodies"].append(digest))
            self.answers[event.stream_id] = self.options.body
        elif isinstance(event, h2.events.StreamReset):
            self.bodies.pop(event.stream_id, None)
            self.answers.pop(event.stream_id, None)

    @staticmethod
    def count(seen, most):
        seen["requests"] += 1
        seen["most_open"] = max(seen["most_open"], most)

    def say_goodbye(self, last):
        """GOAWAY as APNs sends it; h2 would end the connection with it, so the frame is made by hand."""
        debug = json.dumps({"reason": "Shutdown"}).encode()
        payload = last.to_bytes(4, "big") + int(h2.errors.ErrorCodes.NO_ERROR).to_bytes(4, "big") + debug
        frame = len(payload).to_bytes(3, "big") + b"\x07\x00" + (0).to_bytes(4, "big") + payload
        self.flush()
        self.sock.sendall(frame)
        self.last = last
        self.has_said_goodbye = True

    def answer_all(self):
        for stream in sorted(self.answers):
            body = self.answers[stream]
            if self.has_said_goodbye and stream > self.last:
                del self.answers[stream]
                continue
            self.answer(stream, body)
        if self.limit != self.options.later_limit:
            self.limit = self.options.later_limit
            self.h2.update_settings({Codes.MAX_CONCURRENT_STREAMS: self.limit})
        self.flush()

    def answer(self, stream, body):
        """Sends as much as the client's window allows."""
        if isinstance(body, bytes):
            self.h2.send_headers(stream, [(":status", "200"), ("apns-id", "python")])
            body = memoryview(body)
        while True:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if room == 0 and body:
                self.answers[stream] = body
                return
            part, body = body[:room], body[room:]
            self.h2.send_data(stream, bytes(part), end_stream=not body)
            if not body:
                del self.answers[stream]
                return

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.sock.sendall(data)


def certify(name, folder):
    """Makes an authority (ca.pem) and a certificate of it for one host name (server.pem, with its key)."""

    def subject(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def build(holder, key, extensions):
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = x509.CertificateBuilder(
            issuer_name=subject("Test authority"),
            subject_name=subject(holder),
            public_key=key.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=now - datetime.timedelta(hours=1),
            not_valid_after=now + datetime.timedelta(days=1),
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    own = build("Test authority", authority, [x509.BasicConstraints(ca=True, path_length=0), identifier])
    signed = build(name, key, [x509.SubjectAlternativeName([x509.DNSName(name)])])
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for file, text in [("ca.pem", own), ("server.pem", signed + private)]:
        with open(os.path.join(folder, file), "wb") as out:
            out.write(text)


def serve(sock, number, context, options, report):
    try:
        with context.wrap_socket(sock, server_side=True) as tls:
            version = tls.version()
            report.update(lambda seen: seen["versions"].append(version))
            Connection(tls, number, options, report).run()
    except (OSError, ssl.SSLError):
        # A client that refuses our certificate, or has gone.
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--name", default="localhost")
    parser.add_argument("--tls", choices=["1.2", "1.3"])
    parser.add_argument("--alpn", default="h2")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--later-limit", type=int)
    parser.add_argument("--window", type=int, default=65535)
    parser.add_argument("--read-size", type=int, default=65536)
    parser.add_argument("--goaway", type=int, default=0)
    parser.add_argument("--answer", default="")
    options = parser.parse_args()
    options.later_limit = options.later_limit or options.limit
    options.body = b""
    if options.answer:
        with open(options.answer, "rb") as file:
            options.body = file.read()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certify(options.name, options.folder)
    context.load_cert_chain(os.path.join(options.folder, "server.pem"))
    if options.alpn:
        context.set_alpn_protocols(options.alpn.split(","))
    if options.tls:
        version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[options.tls]
        context.minimum_version = context.maximum_version = version

    listener = socket.create_server(("127.0.0.1", 0))
    report = Report(os.path.join(options.folder, "report.json"), listener.getsockname()[1])
    number = 0
    while True:
        sock, _ = listener.accept()
        number += 1
        report.update(lambda seen: seen.update(connections=number))
        threading.Thread(target=serve, args=(sock, number, context, options, report), daemon=True).start()


main()
