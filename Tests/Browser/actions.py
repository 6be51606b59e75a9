"""Every action of the console: done, seen, and undone where it can be."""

import json
import re
import urllib.parse

from setting import ACTIVITY, APP, PAGES, SHOTS, TYPE, URL, activity, call, no_database, post, simulator, sql, start, until


def width(page):
    return page.viewport_size["width"]


def change(page):
    """A change by the form: tried first, then sent, then seen."""
    page.goto(PAGES["change"])
    minute = str(page.evaluate("100000 + Date.now() % 100000"))
    page.locator("[id='field.minute']").fill(minute)
    page.get_by_role("button", name="Try it").click()
    page.get_by_role("heading", name="Dry run").wait_for()
    page.get_by_role("region", name="Changes", exact=True).get_by_text(minute, exact=True).wait_for()
    page.screenshot(path=str(SHOTS / f"dry-run-{page.viewport_size['width']}.png"))
    page.get_by_role("button", name=re.compile("Send revision")).click()
    page.get_by_text("Accepted as revision").wait_for()
    page.locator("#room-card").get_by_text(minute, exact=True).wait_for()
    # Back does not lead to the dry run, which a browser could show only by sending the form once more.
    page.go_back()
    page.get_by_role("button", name="Try it").wait_for()


def schedule_and_cancel(page):
    """A change by the form that waits for its time."""
    page.goto(PAGES["change"])
    page.locator("[id='field.minute']").fill("120")
    page.locator("#at").fill("2030-01-01T00:00:00Z")
    page.get_by_role("button", name="Try it").click()
    page.get_by_role("button", name="Schedule it").click()
    page.get_by_role("button", name="Cancel").first.click()
    page.get_by_role("button", name="Cancel the update").click()
    page.get_by_text("The schedule was cancelled").wait_for()
    page.get_by_role("heading", name=ACTIVITY, exact=True).wait_for()


def schedule_and_run(page):
    minute = 500 + width(page)
    state = {"homeScore": 3, "awayScore": 3, "minute": minute, "period": "live"}
    post(f"/v1/apps/{APP}/activities/{ACTIVITY}/updates", {"content_state": state, "at": "2030-02-03T04:05:06Z"})
    page.goto(PAGES["schedules"] + "&state=pending")
    page.locator("tr").filter(has=page.locator("[datetime^='2030-02-03']")).get_by_role("button", name="Run now").click()
    page.get_by_role("button", name="Run it now").click()
    page.get_by_text("The schedule has run now").wait_for()
    until(lambda: activity(ACTIVITY)["content_state"]["minute"] == minute)
    page.goto(PAGES["schedules"] + "&state=done")
    page.locator("tr").filter(has=page.locator("[datetime^='2030-02-03']")).first.wait_for()


def key_and_revoke(page):
    page.goto(PAGES["api-keys"])
    page.get_by_label("Name").fill("<b>made in a browser</b>")
    page.get_by_label("read", exact=True).check()
    page.get_by_role("button", name="Make the key").click()
    page.get_by_text("This is its only appearance").wait_for()
    row = page.locator("tr").filter(has_text="<b>made in a browser</b>").filter(has_text="active").first
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("region", name="Confirm").get_by_text("<b>made in a browser</b>").wait_for()
    page.get_by_role("button", name="Revoke the key").click()
    page.get_by_text("The key is revoked").wait_for()
    assert page.locator("tr").filter(has_text="made in a browser").filter(has_text="active").count() == 0


def end(page):
    """An end is final, so it has an activity of its own."""
    name = f"to-end-{width(page)}"
    start(name, ["fan-5"])
    page.goto(f"/console/activity/end?app={APP}&id={name}")
    page.get_by_role("button", name="Try it").click()
    page.get_by_role("heading", name="Dry run").wait_for()
    assert activity(name)["state"] == "live"
    page.get_by_role("button", name="End it on every phone").click()
    page.locator("#room-head .badge").get_by_text("ended").wait_for()
    assert activity(name)["state"] == "ended"
    assert page.get_by_role("link", name="Post a change").count() == 0
    # The pages of a bookmark say so, too.
    for form in ("change", "end"):
        page.goto(f"/console/activity/{form}?app={APP}&id={name}")
        page.get_by_text("The activity has ended").wait_for()
        assert page.get_by_role("button", name="Try it").count() == 0


def blanks_of_an_id(page):
    """An id that begins with a blank is another one, and each page is of the one that was clicked."""
    plain, blank = f"twin  {width(page)}", f" twin  {width(page)}"
    for name in (plain, blank):
        start(urllib.parse.quote(name), ["fan-6"])
    page.goto(f"/console/activities?app={APP}&q=twin")
    page.locator(f"td a[href$='id={urllib.parse.quote(blank)}']").click()
    assert page.locator("h1").evaluate("head => getComputedStyle(head).whiteSpace").startswith("pre")
    assert page.locator("h1").evaluate("head => head.textContent") == blank
    page.get_by_role("link", name="End", exact=True).click()
    page.get_by_role("button", name="Try it").click()
    page.get_by_role("button", name="End it on every phone").click()
    page.locator("#room-head .badge").get_by_text("ended").wait_for()
    assert activity(urllib.parse.quote(blank))["state"] == "ended"
    assert activity(urllib.parse.quote(plain))["state"] == "live"
    post(f"/v1/apps/{APP}/activities/{urllib.parse.quote(plain)}/end", {})


def audience(page):
    page.goto(PAGES["audience"])
    row = page.locator("tr").filter(has_text="fan-30")
    for button, count in (("Add", 1), ("Remove", 0)):
        page.get_by_label("Phones ids").fill("fan-30")
        page.get_by_label("Alert title").fill("Argentina – France" if button == "Add" else "")
        page.get_by_label("Alert text").fill("You follow it now" if button == "Add" else "")
        page.get_by_role("button", name=button, exact=True).click()
        page.get_by_text("Added." if button == "Add" else "Removed.").wait_for()
        assert row.count() == count


def policy(page):
    before = None
    for seconds in (7200, None):
        page.goto(PAGES["policy"])
        box = page.get_by_label("Policy, JSON")
        before = before or box.input_value()
        document = json.loads(before)
        if seconds:
            document["stale_after_seconds"] = seconds
        box.fill(json.dumps(document))
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("heading", name="Preview").wait_for()
        page.get_by_role("region", name="Changes").get_by_text("stale_after_seconds").wait_for()
        page.get_by_role("button", name="Apply to running activities too").click()
        page.get_by_role("heading", name=TYPE).wait_for()
        shown = json.loads(page.get_by_role("region", name="Policy").inner_text())
        assert shown["stale_after_seconds"] == seconds


def policy_of_two(page):
    """A policy that somebody else changes after the preview is not changed back."""
    path = f"{URL}/v1/apps/{APP}/types/{TYPE}"
    call("PATCH", path, {"policy": {"stale_after_seconds": None, "wake_after_seconds": None}})
    page.goto(PAGES["policy"])
    box = page.get_by_label("Policy, JSON")
    box.fill(json.dumps(json.loads(box.input_value()) | {"wake_after_seconds": 300}))
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("region", name="Changes").get_by_text("wake_after_seconds").wait_for()
    call("PATCH", path, {"policy": {"stale_after_seconds": 222}})
    page.get_by_role("button", name="Apply to running activities too").click()
    page.get_by_text("Nothing was applied").wait_for()
    page.get_by_role("button", name="Apply to running activities too").click()
    page.get_by_role("heading", name=TYPE).wait_for()
    kept = call("GET", path)["policy"]
    assert (kept["stale_after_seconds"], kept["wake_after_seconds"]) == (222, 300), kept
    call("PATCH", path, {"policy": {"stale_after_seconds": None, "wake_after_seconds": None}})


def long_finding(page):
    """A finding with a long place in it takes several lines, and the page does not scroll sideways."""
    # Nothing is said about the innermost value, which is a finding.
    deep = {}
    for name in ("aVeryLongNameOfAProperty", "anotherLongNameOfAProperty", "goals"):
        deep = {"type": "object", "properties": {name: deep}, "required": [name]}
    attributes = {"type": "object", "properties": {}}
    call("PUT", f"{URL}/v1/apps/{APP}/types/LongFinding", {"attributes_schema": attributes, "content_state_schema": deep})
    page.goto(f"/console/type?app={APP}&name=LongFinding")
    page.locator("li code").first.wait_for()
    inner, outer = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert inner <= outer, (inner, outer)


def version(page):
    """The first version is retired, and taken into use again."""
    path = f"{URL}/v1/apps/{APP}/types/{TYPE}"
    known = call("GET", path)
    schema = known["content_state_schema"]
    schema["properties"]["referee"] = {"type": ["string", "null"], "x-swift-type": "String"}
    call("PUT", path, {"attributes_schema": known["attributes_schema"], "content_state_schema": schema})
    page.goto(PAGES["type"])
    row = page.get_by_role("region", name="Versions").locator("tbody tr").last
    row.get_by_role("button", name="Retire").click()
    page.get_by_role("button", name="Retire version 1").click()
    row.get_by_role("button", name="Use it again").click()
    row.get_by_role("button", name="Retire").wait_for()
    row.get_by_text("in use").wait_for()


def reconcile(page):
    """A channel of Apple's list that Tally does not know is told of, and left: the app is not declared exclusive."""
    made = post(f"/v1/apps/{APP}/channels", {"environment": "production", "storage": "most_recent"})
    sql(f"DELETE FROM channels WHERE channel_id = '{made['id']}'")
    page.goto(PAGES["channels"])
    page.get_by_role("button", name=re.compile("Compare production")).click()
    page.get_by_role("heading", name="Comparison, nothing changed").wait_for()
    row = page.get_by_role("region", name="Differences").locator("tr").filter(has_text=made["apns_channel_id"])
    row.wait_for()
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("heading", name="Comparison", exact=True).wait_for()
    row.wait_for()


def halt(page):
    """Apple rejects the tokens of a hundred phones, so sending halts; a person resumes it, and all phones get the state."""
    name = f"to-halt-{width(page)}"
    path = f"/v1/apps/{APP}/activities/{name}"
    start(name, [f"seat-{n}" for n in range(1, 61)] + [f"fan-{n}" for n in range(1, 41)])
    until(lambda: activity(name)["progress"]["destinations"] >= 100, 120)
    refusal = {"kind": "answer", "status": 400, "reason": "BadDeviceToken"}
    simulator("POST", "/faults", {"name": "rejects", "match": {"api": "device"}, "effect": refusal})
    try:
        post(path + "/updates", {"content_state": {"homeScore": 1, "awayScore": 0, "minute": 1, "period": "live"}})
        until(lambda: call("GET", f"{URL}/v1/apps/{APP}/halts")["items"])
    finally:
        simulator("DELETE", "/faults/rejects")
    page.goto("/console")
    page.get_by_text("Sending is halted", exact=True).wait_for()
    page.get_by_role("link", name="See why, and resume").click()
    page.get_by_role("button", name="Resume, and try rejected tokens again").click()
    page.get_by_text("is resumed").wait_for()
    until(lambda: not call("GET", f"{URL}/v1/apps/{APP}/halts")["items"])
    until(lambda: activity(name)["progress"]["current"] >= 100)
    page.goto(PAGES["halts"])
    page.get_by_text("Nothing is halted").wait_for()
    post(path + "/end", {})


def database_away(page):
    with no_database():
        answer = page.goto("/console")
        assert answer.status == 503
        page.get_by_role("heading", name="The database is away").wait_for()
        page.get_by_text("This page tries again").wait_for()
        page.screenshot(path=str(SHOTS / f"away-{width(page)}.png"))
    page.get_by_role("heading", name="Now").wait_for(timeout=60_000)


ALL = {
    "a change is tried, sent and seen": change,
    "a schedule is made and cancelled": schedule_and_cancel,
    "a schedule is made and run": schedule_and_run,
    "a key is made and revoked": key_and_revoke,
    "an activity is ended": end,
    "an id keeps its blanks": blanks_of_an_id,
    "a phone is added to the audience and removed": audience,
    "a policy is applied and taken back": policy,
    "two people change a policy": policy_of_two,
    "a long finding takes several lines": long_finding,
    "a version is retired and used again": version,
    "channels are compared and reconciled": reconcile,
    "a halt is resumed": halt,
}
