"""Sends pushes with aioapns and prints what it was told of each, as one JSON list of {status, reason, timestamp}.

usage: aioapns_pushes.py JOB

JOB is a JSON file: {"host", "port", "ca_file", "key_file", "key_id", "team_id", "topic", "connections",
"pushes": [{"token", "push_type", "message", "topic"?, "priority"?, "time_to_live"?}]}. The first push goes alone, as APNs
lets one through before it has seen a valid token; the others go all at once.
"""

import asyncio
import json
import logging
import ssl
import sys

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol


def request(push):
    return NotificationRequest(
        device_token=push["token"],
        message=push["message"],
        push_type=PushType(push["push_type"]),
        apns_topic=push.get("topic"),
        priority=push.get("priority"),
        time_to_live=push.get("time_to_live"),
    )


async def main(job):
    # aioapns knows Apple's hosts only.
    APNsProductionClientProtocol.APNS_SERVER = job["host"]
    APNsProductionClientProtocol.APNS_PORT = job["port"]
    # aioapns names no protocol in the handshake unless it is told to; Apple's pages ask for h2.
    context = ssl.create_default_context(cafile=job["ca_file"])
    context.set_alpn_protocols(["h2"])
    with open(job["key_file"], encoding="ascii") as file:
        key = file.read()
    client = APNs(
        key=key,
        key_id=job["key_id"],
        team_id=job["team_id"],
        topic=job["topic"],
        max_connections=job["connections"],
        ssl_context=context,
    )
    pushes = [request(push) for push in job["pushes"]]
    answers = [await client.send_notification(pushes[0])]
    answers += await asyncio.gather(*(client.send_notification(push) for push in pushes[1:]))
    client.pool.close()
    shown = [{"status": int(a.status), "reason": a.description, "timestamp": a.timestamp} for a in answers]
    print(json.dumps(shown))


if __name__ == "__main__":
    # What goes wrong is in the answers.
    logging.getLogger("aioapns").setLevel(logging.CRITICAL)
    with open(sys.argv[1], encoding="utf-8") as file:
        asyncio.run(asyncio.wait_for(main(json.load(file)), timeout=60))
