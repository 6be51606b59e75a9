"""What the scenarios are about, and ways to Tally, the simulator and the database beside the browser."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

URL, LINK, KEY, READ_KEY, APP, ACTIVITY, PHONE, MATCH, STATE, FOLDER = sys.argv[1:11]
SHOTS = pathlib.Path(FOLDER)
SIZES = {"wide": (1440, 900), "narrow": (320, 720)}
# A desk's screen, for the look of each page.
LARGE = {"large": (1920, 1080)}
TYPE = "GameAttributes"
PAGES = {
    "now": "/console",
    "activities": f"/console/activities?app={APP}&q=state:live",
    "activity": f"/console/activity?app={APP}&id={ACTIVITY}",
    "change": f"/console/activity/change?app={APP}&id={ACTIVITY}",
    "audience": f"/console/activity/audience?app={APP}&id={ACTIVITY}",
    "end": f"/console/activity/end?app={APP}&id={ACTIVITY}",
    "phones": f"/console/phones?app={APP}",
    "phone": f"/console/phone?app={APP}&id={PHONE}",
    "channels": f"/console/channels?app={APP}",
    "types": f"/console/types?app={APP}",
    "type": f"/console/type?app={APP}&name={TYPE}",
    "policy": f"/console/type/policy?app={APP}&name={TYPE}",
    "schedules": f"/console/schedules?app={APP}",
    "events": f"/console/events?app={APP}",
    "halts": f"/console/halts?app={APP}",
    "api-keys": "/console/api-keys",
    "audit": "/console/audit",
    "doctor": "/console/doctor",
}


def call(method, address, body=None, key=KEY):
    """The JSON of an answer; None if it has no body."""
    head = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode() if body is not None else None, head, method=method)
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def post(path, body):
    return call("POST", URL + path, body)


def first(kind):
    """The id of the first channel or schedule of the app."""
    return call("GET", f"{URL}/v1/apps/{APP}/{kind}")["items"][0]["id"]


PAGES |= {
    "channel": f"/console/channel?app={APP}&id={first('channels')}",
    "schedule": f"/console/schedule?app={APP}&id={first('schedules')}",
    "halt": f"/console/halt?app={APP}&environment=production",
}


def activity(name):
    return call("GET", f"{URL}/v1/apps/{APP}/activities/{name}")


def start(name, devices):
    body = {
        "type": TYPE,
        "attributes": {"homeTeam": "Argentina", "awayTeam": "France"},
        "content_state": {"homeScore": 0, "awayScore": 0, "minute": 0, "period": "live"},
        "audience": {"devices": devices},
        "alert": {"title": "Argentina – France", "body": "The final has begun"},
    }
    call("PUT", f"{URL}/v1/apps/{APP}/activities/{name}", body)


def simulator(method, path, body=None):
    return call(method, os.environ["APNS_SIM_CONTROL_URL"] + path, body)


def until(condition, seconds=60):
    """Waits until something is so; fails if it does not come to it."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.2)


def server():
    """The process id of the database server of `tallyd dev`, and the folder of its socket."""
    lines = next(pathlib.Path(STATE).glob("postgres/**/postmaster.pid")).read_text().splitlines()
    return int(lines[0]), lines[4]


def sql(statement):
    _, folder = server()
    psql = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin/psql"), default="psql")
    words = [str(psql), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "tally", "-d", "tally", "-c", statement]
    subprocess.run(words, check=True)


@contextlib.contextmanager
def no_database():
    """The server cannot be reached meanwhile: its socket has another name, and its connections are gone."""
    process, folder = server()
    socket, hidden = (pathlib.Path(folder) / name for name in (".s.PGSQL.5432", ".hidden"))
    socket.rename(hidden)
    try:
        for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                if b"postgres: tally tally" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(int(child), signal.SIGTERM)
        yield
    finally:
        hidden.rename(socket)
