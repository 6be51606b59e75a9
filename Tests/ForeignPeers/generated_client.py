"""Plays a recorded match through a client that openapi-python-client generates from the API's own document.

    generated_client.py openapi.yaml RECORDING URL KEY APP

Prints one line of JSON: the state, revision and content state of the ended activity, and the code of an update after its end.
"""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile

PACKAGE = "tally_generated"
# The generator reads no YAML out of an answer, and sends no lines of JSON: they are a text and bytes to it.
CONFIGURATION = {
    "content_type_overrides": {"application/yaml": "text/plain", "application/x-ndjson": "application/octet-stream"},
    "post_hooks": [],
}


def generate(document, folder):
    """Writes the client to a package in the folder, and imports every module of it."""
    configuration = os.path.join(folder, "configuration.json")
    with open(configuration, "w", encoding="utf-8") as file:
        json.dump(CONFIGURATION, file)
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", document]
    command += ["--output-path", os.path.join(folder, PACKAGE), "--meta", "none"]
    command += ["--config", configuration, "--fail-on-warning"]
    generation = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # It warns of every operation and schema that it leaves out.
    if generation.returncode != 0 or "warning" in generation.stdout.lower():
        sys.exit(generation.stdout)
    sys.path.insert(0, folder)
    package = importlib.import_module(PACKAGE)
    for module in pkgutil.walk_packages(package.__path__, PACKAGE + "."):
        importlib.import_module(module.name)
    return package


def signing_key():
    command = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Match:
    """One activity, by way of the generated client."""

    def __init__(self, package, url, key, app, recording):
        self.models = importlib.import_module(package.__name__ + ".models")
        self.client = package.AuthenticatedClient(base_url=url, token=key)
        self.app = app
        self.recording = recording
        self.id = recording["activities"][0]["activity_id"]

    def call(self, operation, *path, expected, **arguments):
        """Carries out an operation, such as `activities.update_activity`. Returns what its answer was read as."""
        module = importlib.import_module(f"{PACKAGE}.api.{operation}")
        answer = module.sync_detailed(self.app, *path, client=self.client, **arguments)
        if answer.status_code != expected or answer.parsed is None:
            sys.exit(f"{operation}: {answer.status_code} {answer.content.decode()}")
        return answer.parsed

    def register(self, samples):
        models = self.models
        key = models.SigningKeyRequest(key_id="KEY1234567", private_key=signing_key())
        environments = models.SigningKeyRequests(production=key)
        body = models.AppRequest(team_id="ABCDE12345", environments=environments)
        self.call("apps.put_app", expected=200, body=body)
        body = models.TypeFromSchemas(
            attributes_schema=read_json(os.path.join(samples, "game-attributes.schema.json")),
            content_state_schema=read_json(os.path.join(samples, "game-content-state.schema.json")),
            policy=models.Policy.from_dict(read_json(os.path.join(samples, "game-policy.json"))),
        )
        registration = self.call("types.put_type", self.recording["type"], expected=200, body=body)
        assert registration.version == 1 and registration.compatibility.compatible, registration

    def play(self):
        for number, post in enumerate(self.recording["posts"], 1):
            change = {"start": self.start, "update": self.update, "end": self.end}[post["kind"]](post, f"post-{number}")
            assert change.revision == number, (post, change)

    def start(self, post, _):
        models = self.models
        body = models.StartRequest(
            type_=self.recording["type"],
            attributes=models.Attributes.from_dict(self.recording["attributes"]),
            content_state=models.ContentState.from_dict(post["content_state"]),
            delivery=models.Delivery(self.recording["activities"][0]["delivery"]),
            alert=models.Alert.from_dict(post["alert"]),
        )
        return self.call("activities.start_activity", self.id, expected=202, body=body)

    def update(self, post, key):
        body = self.models.UpdateRequest(content_state=self.models.ContentState.from_dict(post["content_state"]))
        if "urgency" in post:
            body.urgency = self.models.Urgency(post["urgency"])
        if "alert" in post:
            body.alert = self.models.Alert.from_dict(post["alert"])
        return self.call("activities.update_activity", self.id, expected=202, body=body, idempotency_key=key)

    def end(self, post, key):
        body = self.models.EndRequest(
            content_state=self.models.ContentState.from_dict(post["content_state"]),
            alert=self.models.Alert.from_dict(post["alert"]),
            dismiss_after_seconds=900,
        )
        return self.call("activities.end_activity", self.id, expected=202, body=body, idempotency_key=key)

    def outcome(self):
        activity = self.call("activities.get_activity", self.id, expected=200)
        body = self.models.UpdateRequest(content_state=activity.content_state)
        problem = self.call("activities.update_activity", self.id, expected=409, body=body)
        assert isinstance(problem, self.models.Problem), problem
        return {
            "state": activity.state.value,
            "revision": activity.revision,
            "content_state": activity.content_state.to_dict(),
            "after_the_end": problem.code,
        }


def main(document, recording, url, key, app):
    with tempfile.TemporaryDirectory() as folder:
        match = Match(generate(document, folder), url, key, app, read_json(recording))
        match.register(os.path.dirname(recording))
        match.play()
        print(json.dumps(match.outcome()))


if __name__ == "__main__":
    main(*sys.argv[1:])
