"""Asks a server the same twenty things that every foreign HTTP client asks, on one connection, and prints the statuses.

    http_clients.py requests|httpx|aiohttp URL KEY APP
"""

import asyncio
import sys

import aiohttp
import httpx
import requests

# Most of what a body may be.
LARGE = b'{"content_state": {"text": "%s"}}' % (b"x" * 900_000)
JSON = {"Content-Type": "application/json"}
DEVICE = b'{"environment": "production", "os_version": "18.1"}'


def conversation(app):
    """Method, path, headers and body of each request."""
    path = f"/v1/apps/{app}"
    validate = f"{path}/types/GameAttributes/validate"
    a_round = [
        ("GET", "/health/live", {}, None),
        ("HEAD", path, {}, None),
        ("GET", path, {}, None),
        ("PUT", f"{path}/devices/foreign", JSON | {"Expect": "100-continue"}, DEVICE),
        ("POST", validate, JSON, LARGE),
        # Refused by its head, and its body is there all the same.
        ("POST", validate, {"Content-Type": "text/plain"}, b"no JSON"),
    ]
    return a_round * 3 + a_round[:2]


def report(method, status, length, body):
    if method == "HEAD":
        assert not body and int(length) > 0, (length, body)
    print(method, status, flush=True)


def by_requests(url, key, app):
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {key}"
        for method, path, headers, body in conversation(app):
            answer = session.request(method, url + path, headers=headers, data=body, timeout=20)
            report(method, answer.status_code, answer.headers["Content-Length"], answer.content)


def by_httpx(url, key, app):
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=20) as client:
        for method, path, headers, body in conversation(app):
            answer = client.request(method, path, headers=headers, content=body)
            report(method, answer.status_code, answer.headers["Content-Length"], answer.content)


async def by_aiohttp(url, key, app):
    timeout = aiohttp.ClientTimeout(total=20)
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}, timeout=timeout) as session:
        for method, path, headers, body in conversation(app):
            headers = dict(headers)
            # It waits for 100 where it is told so in this way.
            waits = headers.pop("Expect", None) is not None
            async with session.request(method, url + path, headers=headers, data=body, expect100=waits) as answer:
                report(method, answer.status, answer.headers["Content-Length"], await answer.read())


if __name__ == "__main__":
    name, *rest = sys.argv[1:]
    if name == "aiohttp":
        asyncio.run(by_aiohttp(*rest))
    else:
        {"requests": by_requests, "httpx": by_httpx}[name](*rest)
