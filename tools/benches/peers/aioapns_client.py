"""aioapns as a load: as many pushes at once as the server allows streams, on one connection, each awaited."""

import asyncio
import json
import ssl
import sys

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol

settings = json.load(sys.stdin)


class LocalProtocol(APNsProductionClientProtocol):
    APNS_SERVER = "localhost"
    APNS_PORT = settings["port"]


def body():
    """A message of as many bytes as the others send, in the form that this client gives it."""
    message = {"aps": {"timestamp": 1763700000, "event": "update", "content-state": {"text": ""}}}
    message["aps"]["content-state"]["text"] = "x" * (settings["body_bytes"] - len(json.dumps(message)))
    return message


async def main():
    client = APNs(
        key=settings["key"],
        key_id="FGHIJ67890",
        team_id="ABCDE12345",
        topic="com.example.matchday.push-type.liveactivity",
        max_connections=1,
        ssl_context=ssl.create_default_context(cafile=settings["ca"]),
    )
    # The class with Apple's address is not a parameter.
    client.pool.protocol_class = LocalProtocol
    message = body()
    left = iter(range(settings["count"]))
    accepted = 0

    async def send():
        nonlocal accepted
        for number in left:
            request = NotificationRequest(
                device_token=f"{number:0160x}",
                message=message,
                priority=5,
                time_to_live=28800,
                push_type=PushType.LIVEACTIVITY,
            )
            result = await client.send_notification(request)
            accepted += result.is_successful

    await asyncio.gather(*(send() for _ in range(settings["streams"])))
    print(json.dumps({"accepted": accepted}))


asyncio.run(main())
