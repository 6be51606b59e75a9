"""Looks at the console as a person does: with a real browser, on a wide and on a narrow screen.

Usage: browse.py URL LINK KEY READ_KEY APP ACTIVITY PHONE MATCH STATE FOLDER

URL is Tally's address, LINK a one-time sign-in link, KEY an admin key, READ_KEY a key with the scope read. ACTIVITY is
live in APP, and PHONE follows it. MATCH is about to be played at 300 times its speed. STATE is the folder of `tallyd dev`.
Screenshots go to FOLDER. Prints one line for each scenario; exit code 1 if one fails.
"""

import contextlib
import re
import sys
import traceback

import actions
import follow
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from setting import ACTIVITY, APP, KEY, LARGE, LINK, MATCH, PAGES, READ_KEY, SHOTS, SIZES, URL, post


class Run:
    def __init__(self, browser):
        self.browser = browser
        self.failures = []
        self.count = 0

    def scenario(self, name, size, body, scheme="light", state=None, javascript=True, expected=()):
        """Runs one scenario in a context of its own; any console error or policy violation fails it."""
        width, height = (SIZES | LARGE)[size]
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            storage_state=state,
            java_script_enabled=javascript,
            base_url=URL,
        )
        context.set_default_timeout(20_000)
        page = context.new_page()
        errors = []
        page.on("console", lambda m: m.type in ("error", "warning") and errors.append(m.text))
        page.on("pageerror", lambda e: errors.append(str(e)))
        self.count += 1
        try:
            body(page)
            errors = [e for e in errors if not any(re.search(x, e) for x in expected)]
            assert not errors, f"console: {errors}"
            print(f"ok   {size:6} {scheme:5} {name}", flush=True)
        except Exception as error:  # any failure is one of this scenario
            self.failures.append(name)
            print(f"FAIL {size:6} {scheme:5} {name}: {error}", flush=True)
            traceback.print_exc(limit=3)
            try:
                page.screenshot(path=str(SHOTS / f"failure-{self.count}.png"))
            except Exception:  # the page may be gone
                pass
        finally:
            context.close()


    def page(self, name, size, scheme, state):
        """Looks at a page, and keeps a picture of it."""
        # Nothing is halted, and the page says so.
        expected = ("404",) if name == "halt" else ()
        check = check_page(name, f"{name}-{size}-{scheme}")
        self.scenario(f"{name} has no violation", size, check, scheme, state, expected=expected)


def sign_in(page, key=KEY):
    page.goto("/console/sign-in")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile(r"/console$"))


def session(browser, key):
    context = browser.new_context(base_url=URL)
    sign_in(context.new_page(), key)
    state = context.storage_state()
    context.close()
    return state


def check_page(name, shot):
    def body(page):
        page.goto(PAGES[name])
        page.wait_for_load_state("load")
        if name in ("now", "doctor"):
            page.wait_for_selector("#findings .note.good, #findings .note.warn, #findings .note.bad")
        page.wait_for_timeout(300)
        size = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert size[0] <= size[1], f"scrolls sideways: {size}"
        assert page.locator("nav").count() == 1
        assert page.locator("h1").count() == 1
        page.screenshot(path=str(SHOTS / f"{shot}.png"), full_page=False)
        results = Axe().run(page, options={"resultTypes": ["violations"]})
        found = results.response["violations"]
        text = "; ".join(f"{v['id']}: {v['nodes'][0]['html'][:120]} {v['nodes'][0]['failureSummary'][:200]}" for v in found)
        assert not found, text

    return body


def wrong_key(page):
    page.goto("/console/sign-in")
    page.get_by_label("API key").fill("tally_wrong_key_of_nobody")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("Tally does not know this key").wait_for()


def one_time_link(page):
    page.goto(LINK)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Now").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("API key").wait_for()
    page.goto(LINK)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("This link was used or has expired").wait_for()


def keyboard(page):
    page.goto("/console")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.type(ACTIVITY)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=ACTIVITY).wait_for()
    page.keyboard.press("?")
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.get_by_role("heading", name="Activities").wait_for()


@contextlib.contextmanager
def standing_still(page):
    """The page is not renewed meanwhile, so that pictures of it show one moment."""
    held, is_still = [], True
    page.route("**/*after=*", lambda route: held.append(route) if is_still else route.continue_())
    # A renewal that was under way is through.
    page.wait_for_timeout(1000)
    yield
    is_still = False
    for route in held:
        route.continue_()


def picture(page, name):
    """One moment of a page in light and dark, for README and guides."""
    with standing_still(page):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=str(SHOTS / f"{name}-{scheme}.png"))


def others(context):
    """Pictures of other pages while the match goes on."""
    for name, address in {"now": "/console", "phone": f"/console/phone?app={APP}&id=seat-1"}.items():
        page = context.new_page()
        page.goto(address)
        page.locator(".live-state.on").wait_for()
        if name == "now":
            page.wait_for_selector("#findings .note.good, #findings .note.warn, #findings .note.bad")
        picture(page, name)
        page.close()


def whole_match(page):
    """The World Cup final from kick-off to the end, as the page of the activity shows it without a reload."""
    room = f"/console/activity?app={APP}&id={MATCH}"
    for _ in range(100):
        if page.goto(room).status == 200:
            break
        page.wait_for_timeout(200)
    page.evaluate("window.isSamePage = true")
    seen = []
    shown = False
    for _ in range(400):
        card = page.locator("#room-card").inner_text()
        facts = re.findall(r"\d+", page.locator("#room-card .board").inner_text())
        minute = int(re.search(r"Minute\s+(\d+)", card).group(1))
        state = (minute, int(facts[0]))
        if not seen or seen[-1] != state:
            seen.append(state)
        if minute >= 108 and not shown:
            shown = True
            picture(page, "match")
            others(page.context)
        if page.locator("#room-head .badge").first.inner_text() == "ended":
            break
        page.wait_for_timeout(150)
    assert page.locator("#room-head .badge").first.inner_text() == "ended"
    page.get_by_text("4–2").wait_for()
    assert seen == sorted(seen), f"a state came after a newer one: {seen}"
    assert len(seen) > 8, f"too few states were seen: {seen}"
    assert page.evaluate("window.isSamePage")


def follow_live(page):
    """A change that another posts appears by itself."""
    page.goto(PAGES["activity"])
    page.locator(".live-state.on").wait_for()
    minute = int(page.evaluate("Date.now() % 100000"))
    state = {"homeScore": 3, "awayScore": 3, "minute": minute, "period": "live"}
    post(f"/v1/apps/{APP}/activities/{ACTIVITY}/updates", {"content_state": state})
    page.locator("#room-card").get_by_text(str(minute), exact=True).wait_for()


def refused_change(page):
    page.goto(PAGES["change"])
    page.locator("[id='field.minute']").fill("soon")
    page.get_by_role("button", name="Try it").click()
    page.get_by_text("/content_state/minute").or_(page.get_by_text("/minute")).first.wait_for()
    assert page.locator("[id='field.minute']").input_value() == "soon"


def validate(page):
    page.goto(PAGES["type"])
    page.get_by_label("Content state, JSON").fill('{"homeScore": "x"}')
    page.get_by_role("button", name="Check").click()
    page.get_by_text("Refused.").wait_for()


def read_key(page):
    """A key that only reads sees no button that changes something."""
    page.goto(PAGES["activity"])
    assert page.get_by_role("link", name="Post a change").count() == 0
    answer = page.goto(PAGES["api-keys"])
    assert answer.status == 403
    answer = page.goto(PAGES["change"])
    assert answer.status == 403


def tail(page):
    page.goto(PAGES["events"])
    page.get_by_text("Following.").wait_for()
    state = {"homeScore": 3, "awayScore": 3, "minute": int(page.evaluate("Date.now() % 1000")), "period": "tail"}
    post(f"/v1/apps/{APP}/activities/{ACTIVITY}/updates", {"content_state": state, "force": True})
    page.locator("#tail tbody tr").first.wait_for()


def rates(page):
    page.goto(PAGES["now"])
    page.get_by_text(re.compile("a second by APNs in the last")).first.wait_for()


def newest_first(page):
    page.goto(PAGES["events"])
    times = page.locator("section:has(#past) time").evaluate_all("all => all.map(t => t.dateTime)")
    # They stand in the order of their commits, and transactions overlap.
    assert len(times) > 5 and times[0] > times[-1], times


def without_javascript(page):
    page.goto(PAGES["activities"])
    page.get_by_role("link", name=ACTIVITY, exact=True).click()
    page.get_by_role("heading", name=ACTIVITY).wait_for()
    page.get_by_role("link", name="Post a change").click()
    page.get_by_role("button", name="Try it").click()
    page.get_by_role("heading", name="Dry run").wait_for()


def expired_session(page):
    page.goto(PAGES["change"])
    page.locator("[id='field.minute']").fill("77")
    page.context.clear_cookies()
    page.get_by_role("button", name="Try it").click()
    page.get_by_text("Your session has ended").wait_for()
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name=f"Post a change: {ACTIVITY}").wait_for()
    page.get_by_role("definition").filter(has_text="77").wait_for()
    assert page.get_by_text("was.minute").count() == 0
    page.get_by_role("button", name="Try it").click()
    page.get_by_role("heading", name="Dry run").wait_for()
    page.get_by_role("button", name="Change it again").click()
    assert page.locator("[id='field.minute']").input_value() == "77"


def missing(page):
    page.goto(f"/console/activity?app={APP}&id=never-was")
    page.get_by_text("There is no activity with this id").wait_for()


def stacked(page):
    """On a narrow screen, a sentence stands below its row and can be read without scrolling sideways."""
    page.goto(PAGES["phone"])
    verdict = page.get_by_role("region", name="Cards").locator("td.text").first
    box = verdict.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= actions.width(page), box


def reflected(page):
    hostile = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E"
    page.on("dialog", lambda d: (_ for _ in ()).throw(AssertionError("a script ran")))
    for path in ("activities?q=", "activity?id=", "phones?q=", "events?kind=", "audit?key=", "sign-in?next=", "find?q="):
        page.goto(f"/console/{path}{hostile}")
        assert page.locator("main script, form script").count() == 0, path


def main():
    SHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        run = Run(browser)
        admin = session(browser, KEY)
        reader = session(browser, READ_KEY)
        run.scenario("the whole match is followed live", "wide", whole_match, state=admin, expected=("404",))
        run.scenario("a one-time link signs in once", "wide", one_time_link, expected=("422",))
        for size in SIZES:
            run.scenario("a wrong key gets a clear message", size, wrong_key, expected=("401",))
            for name in PAGES:
                run.page(name, size, "light", admin)
            run.scenario("a refused change names the field", size, refused_change, state=admin, expected=("422",))
            for name, action in actions.ALL.items():
                run.scenario(name, size, action, state=admin)
            run.scenario("the rates of now are shown", size, rates, state=admin)
            run.scenario("events stand the newest first", size, newest_first, state=admin)
            run.scenario("a match is followed live", size, follow_live, state=admin)
            run.scenario("content is judged", size, validate, state=admin)
            run.scenario("a key that reads changes nothing", size, read_key, state=reader, expected=("403",))
            run.scenario("events are followed", size, tail, state=admin)
            run.scenario("pages work without JavaScript", size, without_javascript, state=admin, javascript=False)
            run.scenario("an ended session keeps the form", size, expired_session, state=admin, expected=("401",))
            run.scenario("something missing is explained", size, missing, state=admin, expected=("404",))
            run.scenario("no text of an address becomes markup", size, reflected, state=admin, expected=(r"40\d|422",))
        for name, (action, expected) in follow.ALL.items():
            run.scenario(name, "wide", action, state=admin, expected=expected)
        run.scenario("long ids fit a narrow screen", "narrow", follow.long_ids, state=admin)
        run.scenario("keys move between pages", "wide", keyboard, state=admin)
        run.scenario("sentences fit a narrow screen", "narrow", stacked, state=admin)
        for name in PAGES:
            run.page(name, "large", "light", admin)
            for size in SIZES | LARGE:
                run.page(name, size, "dark", admin)
        for size in SIZES:
            # Others would see it, too.
            run.scenario("the page comes back with the database", size, actions.database_away, state=admin, expected=("503",))
        run.scenario("a page says that the database is away", "wide", follow.database_away, state=admin, expected=("503",))
        browser.close()
    print(f"{run.count - len(run.failures)} of {run.count} scenarios pass")
    return 1 if run.failures else 0


sys.exit(main())
