"""What a page that stays open does: how it follows events, and what it says when it cannot."""

import re

from setting import ACTIVITY, APP, PAGES, URL, call, no_database, post, start, until

STREAM = "**/console/events/stream?*"
RENEWAL = "**/*after=*"
ON = ".live-state.on"


def change(page, name=ACTIVITY):
    """Posts a change, and gives the text in the card by which it is known."""
    minute = int(page.evaluate("Date.now() % 100000"))
    state = {"homeScore": 3, "awayScore": 3, "minute": minute, "period": "live"}
    post(f"/v1/apps/{APP}/activities/{name}/updates", {"content_state": state})
    return str(minute)


def refused_stream(page):
    """A proxy answers for Tally while it starts anew."""
    refusals = []

    def refuse(route):
        refusals.append(route)
        route.fulfill(status=502, body="Bad gateway") if len(refusals) < 3 else route.fallback()

    page.route(STREAM, refuse)
    page.goto(PAGES["activity"])
    page.get_by_text("Not live: the server answers 502").wait_for()
    page.locator(ON).wait_for()
    assert len(refusals) == 3, len(refusals)
    page.locator("#room-card").get_by_text(change(page), exact=True).wait_for()


def revoked_key(page):
    """The stream ends, and the page leads to the sign-in form."""
    made = call("POST", URL + "/v1/api-keys", {"name": "to-revoke", "scopes": ["read"]})
    page.goto("/console/sign-in")
    page.get_by_label("API key").fill(made["secret"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile(r"/console$"))
    page.goto(PAGES["events"])
    page.get_by_text("Following.").wait_for()
    call("DELETE", f"{URL}/v1/api-keys/{made['id']}")
    page.get_by_label("API key").wait_for(timeout=40_000)


def turn(page, is_hidden):
    """A headless browser shows every page, so the page is told that its tab is another."""
    page.evaluate(
        """isHidden => {
            Object.defineProperty(document, "hidden", { get: () => isHidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )


def many_tabs(page):
    """A browser has six connections to a host; tabs that nobody sees need none."""
    tabs = [page] + [page.context.new_page() for _ in range(7)]
    for tab in tabs:
        tab.goto(PAGES["activity"])
        tab.locator(ON).wait_for()
        turn(tab, True)
    minute = change(page)
    page.wait_for_timeout(1500)
    assert page.locator("#room-card").get_by_text(minute, exact=True).count() == 0
    turn(page, False)
    page.locator("#room-card").get_by_text(minute, exact=True).wait_for()
    page.locator(ON).wait_for()


def missed_events(page):
    """The tail shows what happened while its tab was hidden."""
    page.goto(PAGES["events"] + f"&activity={ACTIVITY}")
    page.get_by_text("Following.").wait_for()
    turn(page, True)
    page.get_by_text("Reconnecting.").wait_for()
    change(page)
    page.wait_for_timeout(1000)
    assert page.locator("#tail tbody tr").count() == 0
    turn(page, False)
    page.locator("#tail tbody tr").get_by_text("change accepted").wait_for()


def any_kind(page):
    """An event of a kind that this version does not know is shown."""
    fact = '{"at": "2026-01-01T01:02:03Z", "kind": "webhook_gap", "detail": {"lost": 3}}'
    news = fact.replace("webhook_gap", "made_up_later")
    body = (
        "retry: 1000\n: \nid: 1-1\n\n"
        f"id: 1-2\nevent: webhook_gap\ndata: {fact}\n\n"
        f"id: 1-3\nevent: made_up_later\ndata: {news}\n\n"
    )
    page.route(STREAM, lambda route: route.fulfill(body=body, content_type="text/event-stream"))
    page.goto(PAGES["events"])
    for kind in ("webhook gap", "made up later"):
        page.locator("#tail tbody tr").filter(has_text=kind).filter(has_text="lost 3").first.wait_for()


def refused_renewal(page):
    """A page that cannot be renewed does not say that it is live, nor that all is well."""
    page.goto(PAGES["now"])
    page.locator(ON).wait_for()
    page.route(RENEWAL, lambda route: route.fulfill(status=503, body="<main>The database is away</main>"))
    page.get_by_text("Not live: the server answers 503").wait_for()
    assert page.locator("main.late").count() == 1
    page.unroute(RENEWAL)
    page.locator(ON).wait_for()
    assert page.locator("main.late").count() == 0


def findings_again(page):
    """The findings of the doctor are those of the last minute."""
    asked = []
    page.on("request", lambda request: "brief=1" in request.url and asked.append(request.url))
    page.clock.install()
    page.goto(PAGES["now"])
    page.wait_for_selector("#findings .note time")
    assert len(asked) == 1
    page.clock.fast_forward(61_000)
    until(lambda: page.wait_for_timeout(100) or len(asked) > 1, 10)


def clicked_table(page):
    """A click on a table does not stop its updates, and the keys still scroll it."""
    page.goto(PAGES["activity"])
    page.locator(ON).wait_for()
    region = page.locator("#room-timeline .wide:has(table)")
    region.locator("tbody td").first.click()
    assert page.evaluate("document.activeElement.matches('.wide')")
    region.evaluate("region => region.scrollLeft = 30")
    place = region.evaluate("region => region.scrollLeft")
    rows = region.inner_text()
    page.locator("#room-card").get_by_text(change(page), exact=True).wait_for()
    until(lambda: page.wait_for_timeout(100) or region.inner_text() != rows, 10)
    assert page.evaluate("document.activeElement.matches('#room-timeline .wide:has(table)')")
    assert region.evaluate("region => region.scrollLeft") == place
    # A link keeps the focus, too.
    link = page.locator("#room-head a").first
    link.focus()
    address = link.get_attribute("href")
    page.evaluate("document.querySelector('#room-head').append('This will be replaced')")
    page.locator("#room-card").get_by_text(change(page), exact=True).wait_for()
    page.get_by_text("This will be replaced").wait_for(state="detached")
    assert page.evaluate("document.activeElement.getAttribute('href')") == address


TIMES = {
    -1: "1 s ago", -59: "59 s ago", -60: "1 min ago", -3599: "59 min ago", -3600: "1 h ago", -3659: "1 h ago",
    -3660: "1 h 1 min ago", -35_999: "9 h 59 min ago", -36_060: "10 h ago", -86_399: "23 h ago", -86_400: "1 d ago",
    0: "now", 32: "in 32 s", 7_320: "in 2 h 2 min", 200_000: "in 2 d",
}


def times(page):
    """Relative times go on, with the words of the server."""
    page.clock.install()
    page.goto(PAGES["activity"])
    page.locator(ON).wait_for()
    # The second of the clock begins now.
    now = page.evaluate("Math.floor(Date.now() / 1000) + 10")
    page.clock.pause_at(now)
    page.evaluate(
        """([now, times]) => {
            for (const seconds of times) {
                const time = document.createElement("time");
                time.className = "tried";
                time.dateTime = new Date((now + seconds) * 1000).toISOString();
                time.textContent = seconds > 0 ? "in 5 s" : "12 s ago";
                document.querySelector("main").append(time);
            }
        }""",
        [now + 1, list(TIMES)],
    )
    page.clock.run_for(1000)
    tried = page.locator("time.tried")
    texts = tried.all_inner_texts()
    assert texts == list(TIMES.values()), texts
    page.clock.run_for(15_000)
    texts = tried.all_inner_texts()
    assert texts[11:13] == ["15 s ago", "in 17 s"], texts


def long_ids(page):
    """The longest id leaves the other columns where they can be seen."""
    name = ("x" * 110 + str(page.evaluate("Date.now()"))).ljust(128, "y")
    device = "d" * 128
    report = {"environment": "production", "os_version": "18.0", "app_version": "1"}
    call("PUT", f"{URL}/v1/apps/{APP}/devices/{device}", report)
    start(name, [device])
    later = {"content_state": {"homeScore": 0, "awayScore": 0, "minute": 1, "period": "live"}, "at": "2030-01-01T00:00:00Z"}
    post(f"/v1/apps/{APP}/activities/{name}/updates", later)
    try:
        for path, region in (
            (f"activities?app={APP}&q=state:live", "Activities"),
            (f"phones?app={APP}&q={device}", "Phones"),
            (f"events?app={APP}&activity={name}", "Events"),
            (f"schedules?app={APP}&state=pending", "Schedules"),
        ):
            page.goto(f"/console/{path}")
            ids = re.compile("^(x{110}|d{128})")
            link = page.get_by_role("region", name=region).get_by_role("link", name=ids).first
            link.wait_for()
            width = link.bounding_box()["width"]
            assert width <= min(320, page.viewport_size["width"]), (path, width)
            table = link.locator("xpath=ancestor::div[contains(@class, 'wide')]")
            inner, outer = table.evaluate("table => [table.scrollWidth, table.clientWidth]")
            assert page.viewport_size["width"] < 1000 or inner <= outer, (path, inner, outer)
    finally:
        post(f"/v1/apps/{APP}/activities/{name}/end", {})


def database_away(page):
    page.goto(PAGES["activity"])
    page.locator(ON).wait_for()
    with no_database():
        page.get_by_text(re.compile("Not live")).wait_for(timeout=40_000)
    page.locator(ON).wait_for(timeout=60_000)


ALL = {
    "a refused stream comes back": (refused_stream, ("502",)),
    "a revoked key leads to the sign-in form": (revoked_key, ("401",)),
    "eight tabs follow one host": (many_tabs, ()),
    "the tail shows what it missed": (missed_events, ()),
    "events of any kind are shown": (any_kind, ()),
    "a page that is not renewed says so": (refused_renewal, ("503",)),
    "findings are looked for again": (findings_again, ()),
    "a table with the focus is renewed": (clicked_table, ()),
    "relative times go on": (times, ()),
    "long ids leave room": (long_ids, ()),
}
