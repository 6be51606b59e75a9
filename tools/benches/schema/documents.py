"""The documents of the bench: a content-state of about 400 bytes, one of about 3.5 KB, and one of each that is wrong."""

import json

PLAYERS = ["Lindgren", "O'Brien", "Müller", "Sørensen", "García López", "Nakamura", "Kowalczyk", "Okafor"]


def content_state(events):
    """A match with that many events."""
    return {
        "homeScore": 2,
        "awayScore": 1,
        "minute": 67,
        "period": "secondHalf",
        "clockStartedAt": 785433600.25,
        "possession": 0.57,
        "lastEvent": "Goal! Lindgren with a header after a corner from the left.",
        "isDelayed": False,
        "venue": {"name": "Stadion am Volkspark", "city": "Nordhafen"},
        "events": [
            {
                "minute": 3 + 2 * number,
                "kind": ["goal", "yellow", "change"][number % 3],
                "team": ["home", "away"][number % 2],
                "player": PLAYERS[number % len(PLAYERS)],
            }
            for number in range(events)
        ],
    }


def text(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def write(folder, name, events):
    """Writes a valid document and one whose last event has a word for its minute; their paths, and the size."""
    document = content_state(events)
    valid = text(document)
    document["events"][-1]["minute"] = "late"
    paths = []
    for kind, content in (("valid", valid), ("invalid", text(document))):
        path = f"{folder}/{name}-{kind}.json"
        with open(path, "wb") as file:
            file.write(content)
        paths.append(path)
    return *paths, len(valid)
