"""Signs a ticket for one device. It needs: pip install 'pyjwt[crypto]'."""

import sys
import time

import jwt


def ticket(app, key_id, algorithm, secret, device, user=None, activities=None, days=30):
    """`activities`: check before that the user may see each. None: those of the device and the user."""
    now = int(time.time())
    claims = {
        "aud": app,
        "iat": now,
        "exp": now + days * 86_400,
        "environment": "production",
        "device_id": device,
    }
    if user is not None:
        claims["sub"] = user
    if activities is not None:
        claims["activities"] = activities
    return jwt.encode(claims, secret, algorithm=algorithm, headers={"kid": key_id})


if __name__ == "__main__":
    app, key_id, algorithm, secret_file, device, user = sys.argv[1:]
    with open(secret_file, encoding="utf-8") as file:
        print(ticket(app, key_id, algorithm, file.read().strip(), device, user))
