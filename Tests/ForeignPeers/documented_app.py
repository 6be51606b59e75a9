"""Registers what the cases of schemathesis need, from the examples of the document itself: an app and a type.

Usage: documented_app.py docs/openapi.yaml, with TALLY_URL and TALLY_API_KEY in the environment.
"""

import json
import os
import subprocess
import sys
import urllib.request

import yaml

APP = "/v1/apps/{bundle_id}"
NAMES = {"{bundle_id}": "com.example.matchday", "{type}": "GameAttributes"}


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        paths = yaml.safe_load(file)["paths"]
    for path, example in [(APP, "production"), (APP + "/types/{type}", "schemas")]:
        content = paths[path]["put"]["requestBody"]["content"]["application/json"]
        body = content["examples"][example]["value"]
        # The document names the file of a signing key; the server wants what is in it.
        for environment in body.get("environments", {}).values():
            environment["private_key"] = signing_key()
        put(path, body)


def signing_key() -> str:
    command = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def put(path: str, body: object) -> None:
    for name, value in NAMES.items():
        path = path.replace(name, value)
    request = urllib.request.Request(
        os.environ["TALLY_URL"] + path,
        json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["TALLY_API_KEY"], "Content-Type": "application/json"},
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=60):
        pass


main()
