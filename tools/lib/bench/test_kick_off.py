"""What the bench of a kick-off reckons, on figures that can be checked in the head; and the requests of its phones."""

import base64
import json
import os
import struct
import tempfile
import unittest

import least
import phones
from phases import Phase, limiting, ratios


def phase(seconds, **cpu):
    return Phase(seconds, {"daemon": 0, "postgres": 0, "sink": 0, "phones": 0} | cpu, 0, 0)


class PhasesTests(unittest.TestCase):
    def test_all_follow_when_the_last_report_is_answered(self):
        phases = {"registered": phase(10), "accepted": phase(1), "started": phase(4), "reported": phase(5), "goal": phase(100), "end": phase(100)}
        said = ratios(1_000, phases, {"started": 2, "reported": 3, "upserts_per_second": 400})
        self.assertEqual(
            said,
            {
                "phones": 1_000,
                "seconds_until_all_follow": 10,
                "ratio_to_postgres_floor": 0.5,
                "ratio_to_pgbench_upserts": 0.5,
                "ratio_of_registrations_to_pgbench_upserts": 0.25,
            },
        )

    def test_busy_cpus_are_the_limit_and_idle_ones_are_not(self):
        self.assertEqual(limiting(phase(10, daemon=15, postgres=5), 2), "CPU, tallyd 75% of it")
        self.assertEqual(limiting(phase(10, daemon=1, postgres=3), 2), "waiting; CPU 20%, Postgres 75% of it")
        self.assertEqual(limiting(phase(10), 2), "waiting; CPU 0%, tallyd 0% of it")


class LeastTests(unittest.TestCase):
    def test_the_groups_have_every_phone(self):
        whole = least.GROUP * least.CLIENTS
        self.assertEqual([least.turns(count) for count in (1, whole, whole + 1)], [1, 1, 2])


class PhonesTests(unittest.TestCase):
    def test_a_ticket_says_its_device(self):
        for device in ("device-1", "device-12", "device-123"):
            payload = base64.urlsafe_b64encode(json.dumps({"dev": device}).encode()).decode().rstrip("=")
            self.assertEqual(phones.device_of(f"{phones.TICKET}{payload}.code"), device)
        self.assertEqual(phones.number_of("device-123"), 123)

    def test_a_request_says_the_length_of_its_body(self):
        head, body = phones.request("localhost:1", "PUT", "/v1/a", "secret", {"a": "b"}).split(b"\r\n\r\n")
        self.assertEqual(body, b'{"a":"b"}')
        self.assertTrue(head.startswith(b"PUT /v1/a HTTP/1.1\r\nHost: localhost:1\r\nAuthorization: Bearer secret\r\n"))
        self.assertIn(b"\r\nContent-Length: 9", head)

    def test_each_request_is_behind_its_length(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "requests")
            phones.write(path, [b"one", b"three"])
            with open(path, "rb") as file:
                self.assertEqual(file.read(), struct.pack("<I", 3) + b"one" + struct.pack("<I", 5) + b"three")


if __name__ == "__main__":
    unittest.main()
