"""A receiver of webhooks that verifies with the library standardwebhooks. Run by ForeignReceiverTests.

It listens on a free port of 127.0.0.1. Arguments: a folder, the secret and, for TLS, a file with certificate and key. It
writes its port into FOLDER/port, and a line for each request into FOLDER/requests: the id and the number of events, or
the error of the library.
"""

import http.server
import os
import ssl
import sys

import standardwebhooks

folder, secret, *certificate = sys.argv[1:]


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            message = standardwebhooks.Webhook(secret).verify(body, dict(self.headers.items()))
            line, status = f"{self.headers['webhook-id']} {len(message['data']['events'])}", 204
        except standardwebhooks.WebhookVerificationError as error:
            line, status = f"refused {error}", 401
        with open(os.path.join(folder, "requests"), "a") as file:
            file.write(line + "\n")
        if self.path == "/redirect":
            status = 307
        self.send_response(status)
        if status == 307:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/other")
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
if certificate:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[0])
    # Not in accept(): a client that ends the handshake would end the server.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
draft = os.path.join(folder, "port.new")
with open(draft, "w") as file:
    file.write(str(server.server_port))
os.rename(draft, os.path.join(folder, "port"))
server.serve_forever()
