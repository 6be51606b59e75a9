"""Registers what the cases of schemathesis need, from the examples of the document itself: an app and a type.

Usage: documented_app.py docs/openapi.yaml, with TALLY_URL and TALLY_API_KEY in the environment.
"""

import json
import os
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
        put(path, content["examples"][example]["value"])


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
