"""The phones of a bench: each has a ticket, and reports its update token as soon as a connection is free."""

import base64
import json
import os
import struct
import urllib.parse

from measure import Failure, run
from stage import PATH, TYPE, token

TICKET = "tally_ticket_"
CONNECTIONS = 64
# A million phones at a thousand a second, twice over.
PATIENCE = 2000


def request(address, method, path, secret, body):
    """The bytes of a request with a JSON body."""
    text = json.dumps(body, separators=(",", ":"))
    head = f"{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {secret}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(text)}\r\n\r\n{text}".encode()


def write(path, requests):
    """Writes requests as bench-phones reads them."""
    with open(path, "wb") as file:
        for one in requests:
            file.write(struct.pack("<I", len(one)) + one)


def device_of(ticket):
    """The device that a ticket is for. The ticket is a text for everybody else; the bench knows its form."""
    payload = ticket.removeprefix(TICKET).split(".")[0]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["dev"]


def number_of(device):
    return int(device.rpartition("-")[2])


class Phones:
    """Devices `device-1` to `device-COUNT` of a stage."""

    def __init__(self, bin, folder, count, stage):
        self.program, self.file = os.path.join(bin, "bench-phones"), os.path.join(folder, "requests")
        self.count, self.stage = count, stage
        self.address = urllib.parse.urlsplit(stage.daemon.url).netloc

    def send(self, requests, *options):
        """Sends the requests; what the program says of them, and the answers before that."""
        write(self.file, requests)
        words = [self.program, "--port", self.address.rpartition(":")[2], "--requests", self.file]
        done = run([*words, "--connections", str(CONNECTIONS), *options], os.sched_getaffinity(0), deadline=PATIENCE)
        *answers, last = done.output.splitlines()
        return json.loads(last) | {"cpu": done.cpu}, answers

    def fetch_tickets(self):
        """A ticket for each, as a backend hands them out when people open the app."""
        wanted = ({"environment": "production", "device_id": f"device-{n}", "ttl_seconds": 86_400} for n in range(1, self.count + 1))
        path = f"{PATH}/registration-tickets"
        said, answers = self.send((request(self.address, "POST", path, self.stage.key, one) for one in wanted), "--answers")
        self.tickets = [json.loads(answer)["ticket"] for answer in answers]
        if len(set(self.tickets)) != self.count:
            raise Failure(f"{len(set(self.tickets))} tickets for {self.count} devices")
        return said

    def register(self):
        """All report their device with a new start token, as an app does when it opens."""
        requests = []
        for ticket in self.tickets:
            device = device_of(ticket)
            tokens = {TYPE: {"token": token(number_of(device), 3), "generation": 1}}
            body = {"environment": "production", "activities_enabled": True, "start_tokens": tokens}
            requests.append(request(self.address, "PUT", f"{PATH}/devices/{device}", ticket, body))
        return self.send(requests)[0]

    def prepare(self, activity):
        """Each phone's report of its update token."""
        self.reports = []
        for ticket in self.tickets:
            device = device_of(ticket)
            body = {"update_token": token(number_of(device), 2), "generation": 1, "known_revision": 1}
            path = f"{PATH}/activities/{activity}/subscriptions/{device}"
            self.reports.append(request(self.address, "PUT", path, ticket, body))

    def report(self):
        """All report; returns when the last has its answer."""
        return self.send(self.reports)[0]
