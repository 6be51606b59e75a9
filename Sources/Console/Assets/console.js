// Live parts, keys, and what the server makes after the page. Without this file, every page and form works.
"use strict";

const main = document.getElementById("main");
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
// The pause before the next try grows to this.
const longestPause = 15_000;
// The daemon sends something every 15 seconds.
const silence = 40_000;

// Its message says why the page is not live. An answer has a status.
class Failure extends Error {
  constructor(message, status) { super(message); this.status = status; }
}

async function ask(address, options) {
  const common = { credentials: "same-origin", cache: "no-store", redirect: "manual" };
  const answer = await fetch(address, { ...common, ...options });
  setClock(answer);
  if (answer.ok) return answer;
  throw new Failure(`Not live: the server answers ${answer.status}`, answer.status);
}

async function page(address) {
  try {
    const answer = await ask(address, { signal: AbortSignal.timeout(30_000) });
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch (error) {
    if (!(error instanceof Failure)) throw new Failure("Not live: the server does not answer");
    // The session has ended: the server shows the sign-in form instead. If a proxy sends elsewhere, the status is 0.
    if (error.status === 401 || error.status === 0) location.reload();
    throw error;
  }
}

// Times

// By how many milliseconds the server's clock is ahead of this one.
let ahead = 0;
function setClock(answer) {
  const date = Date.parse(answer.headers.get("Date"));
  if (Number.isNaN(date)) return;
  // A cache may have kept the answer. The header has whole seconds.
  const difference = date + Number(answer.headers.get("Age")) * 1000 + 500 - Date.now();
  ahead = Math.abs(difference) < 2000 ? 0 : difference;
}

// As Parts.distance and Parts.duration in Swift.
function distance(seconds) {
  if (seconds === 0) return "now";
  const text = duration(Math.abs(seconds));
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

function duration(seconds) {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds >= 86_400) return `${Math.floor(seconds / 86_400)} d`;
  const hours = `${Math.floor(seconds / 3600)} h`;
  return seconds < 36_000 && seconds % 3600 >= 60 ? `${hours} ${Math.floor(seconds % 3600 / 60)} min` : hours;
}

// Makes the relative times true now.
function tell(place) {
  const now = Math.floor((Date.now() + ahead) / 1000);
  for (const time of place.querySelectorAll("time[datetime]")) {
    let seconds = Math.floor(Date.parse(time.dateTime) / 1000) - now;
    if (Number.isNaN(seconds) || !/^(now|in .+|.+ ago)$/.test(time.textContent)) continue;
    // The clocks differ by a second. What is past does not come again.
    if (seconds > 0 && !time.textContent.startsWith("in ")) seconds = 0;
    // Nobody wants to hear each second.
    if (time.closest("[role=status]")) time.setAttribute("aria-live", "off");
    const text = distance(seconds);
    if (time.textContent !== text) time.textContent = text;
  }
}
if (document.querySelector("time[datetime]")) {
  // A page without live parts asks nothing else that could tell the server's time.
  ask(document.currentScript.src, { method: "HEAD" }).catch(() => {});
}
setInterval(() => { if (!document.hidden) tell(document); }, 1000);

// Live parts

// Why the page is not live: its newest renewal failed, or its stream is closed. Null before the stream was tried.
const trouble = { page: "", stream: null };
const tail = document.getElementById("tail");
const state = tail ? document.getElementById("tail-state") : document.createElement("p");
function showState() {
  const reason = trouble.page || trouble.stream;
  if (reason === null) return;
  const good = tail ? "Following. New events appear at the top" : "Live";
  const text = (reason || good) + (tail ? "." : "");
  if (state.textContent === text) return;
  state.textContent = text;
  state.classList.toggle("on", !reason);
  main.classList.toggle("late", Boolean(reason));
}

// The address of the live parts as they are now, which all get who have heard of the same event.
function renewal() {
  const address = new URL(location.href);
  address.searchParams.set("after", last);
  return address;
}

// Replaces the live parts by those of the same page as it is now.
let due = false, busy = false, last = "0-0";
async function renew() {
  due = true;
  if (busy || document.hidden) return;
  busy = true;
  // A change and the first answers of APNs come close together.
  await pause(250);
  let wait = 1000;
  while (due && !document.hidden) {
    due = false;
    try {
      const next = await page(renewal());
      for (const old of document.querySelectorAll("[data-part]")) replace(old, next.getElementById(old.id));
      trouble.page = "";
      wait = 1000;
    } catch (error) {
      trouble.page = error.message;
      due = true;
      wait = Math.min(wait * 2, longestPause);
    }
    showState();
    await pause(wait);
  }
  busy = false;
}

function replace(old, part) {
  if (!part) return;
  tell(old);
  tell(part);
  const focus = old.contains(document.activeElement) ? document.activeElement : null;
  if (part.innerHTML === old.innerHTML || (focus && isBeingFilled(focus))) return;
  const open = [...old.querySelectorAll("details")].map((d) => d.open);
  const scrolled = [...old.querySelectorAll(scrolls)].map((e) => [e.scrollLeft, e.scrollTop]);
  const places = focus ? paths(old, focus) : [];
  old.replaceWith(part);
  part.querySelectorAll("details").forEach((d, i) => { d.open = Boolean(open[i]); });
  part.querySelectorAll(scrolls).forEach((e, i) => { if (scrolled[i]) [e.scrollLeft, e.scrollTop] = scrolled[i]; });
  for (const { name, index } of places) {
    const same = [...part.querySelectorAll(focusable)].filter((e) => nameOf(e) === name);
    if (same.length === 0) continue;
    same[Math.min(index, same.length - 1)].focus({ preventScroll: true });
    break;
  }
}
const scrolls = ".wide, pre";
const focusable = "a[href], button, summary, [tabindex]";

// Whether the focus is in a form with something to fill in.
function isBeingFilled(focus) {
  const fields = "input:not([type=hidden]), textarea, select";
  return focus.matches(fields) || Boolean(focus.closest("form")?.querySelector(fields));
}

// The element with the focus and then those around it, each by its name and its place among those of the same name.
function paths(part, focus) {
  const all = [...part.querySelectorAll(focusable)];
  return all.filter((e) => e.contains(focus)).reverse().map((e) => {
    const name = nameOf(e);
    return { name, index: all.filter((other) => nameOf(other) === name).indexOf(e) };
  });
}

// A button is the same only if its form sends the same: the row of another schedule may be in its place.
function nameOf(element) {
  const words = ["id", "href", "aria-label"].map((name) => element.getAttribute(name) || "");
  const form = element.form;
  if (form) words.push(form.getAttribute("action"), new URLSearchParams(new FormData(form)));
  return [element.tagName, ...words].join("\n");
}

// The server-sent events of a stream. Unlike an EventSource, this takes events of any kind, knows the status of an
// answer, and continues behind an event after it was closed.
async function* events(address, after, stop) {
  const headers = { Accept: "text/event-stream", ...after && { "Last-Event-ID": after } };
  let watch = setTimeout(() => stop.abort(), silence);
  try {
    const answer = await ask(address, { headers, signal: stop.signal });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(watch);
      watch = setTimeout(() => stop.abort(), silence);
      const blocks = (text + value).split("\n\n");
      text = blocks.pop();
      for (const block of blocks) yield Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
    }
  } finally {
    clearTimeout(watch);
  }
}

// Follows a stream while the page is visible: a browser has six connections to a host over HTTP/1.1, for all its tabs.
function follow(address, resumes, { opened, happened, failed }) {
  let stop = null, place = null;
  async function run() {
    let wait = 1000, isRefused = false;
    const mine = stop = { abort() {} };
    while (stop === mine) {
      let reason = "Reconnecting", isOpen = false;
      try {
        // It says why, or leads to the sign-in form.
        if (isRefused) await page(renewal());
        if (stop !== mine) return;
        const controller = new AbortController();
        mine.abort = () => controller.abort();
        for await (const event of events(address, place, controller)) {
          if (stop !== mine) return;
          if (resumes && event.id) place = event.id;
          if (!isOpen) { isOpen = true; isRefused = false; wait = 1000; opened(event.id); }
          if (event.data) happened(event);
        }
      } catch (error) {
        if (error instanceof Failure) { isRefused = true; reason = error.message; }
        // An id that the server no longer takes.
        if (error.status === 400) place = null;
      }
      if (stop !== mine) return;
      failed(reason);
      // Not all browsers at once.
      await pause(wait * (1 + Math.random() / 4));
      wait = Math.min(wait * 2, longestPause);
    }
  }
  function close() {
    if (!stop) return;
    const old = stop;
    stop = null;
    old.abort();
    failed("Reconnecting");
  }
  const turn = () => { if (document.hidden) close(); else if (!stop) run(); };
  document.addEventListener("visibilitychange", turn);
  addEventListener("pagehide", close);
  addEventListener("pageshow", turn);
  turn();
}

const stream = tail ? tail.dataset.tail : main && main.dataset.live;
if (stream) {
  if (!tail) {
    state.className = "live-state";
    state.setAttribute("role", "status");
    main.prepend(state);
  }
  follow(stream, Boolean(tail), {
    opened(id) {
      last = id || last;
      const wasAway = trouble.stream;
      trouble.stream = "";
      showState();
      // What happened meanwhile.
      if (wasAway) renew();
    },
    happened(event) {
      if (tail) return addRow(event);
      last = event.id || last;
      renew();
    },
    failed(reason) { trouble.stream = reason; showState(); },
  });
  // The stream alone does not tell that the database is away.
  setInterval(renew, (main.dataset.every || 30) * 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) renew(); });
}

function addRow(event) {
  const fact = JSON.parse(event.data);
  const row = tail.tBodies[0].insertRow(0);
  row.insertCell().textContent = fact.at.slice(11, 19);
  row.insertCell().textContent = fact.kind.replaceAll("_", " ");
  for (const id of [fact.activity_id, fact.device_id]) {
    const cell = row.insertCell();
    // An empty cell is left out on a narrow screen.
    if (!id) continue;
    const name = cell.appendChild(document.createElement("span"));
    name.className = "name";
    name.textContent = id;
  }
  const detail = row.insertCell();
  detail.className = "text";
  detail.textContent = Object.entries(fact.detail).map(([name, value]) =>
    name.replaceAll("_", " ") + " " + (typeof value === "object" ? JSON.stringify(value) : value)).join(", ");
  while (tail.tBodies[0].rows.length > 200) tail.tBodies[0].deleteRow(-1);
}

// What takes a moment comes after the page, and again each minute.
for (const { id, dataset } of document.querySelectorAll("[data-load]")) {
  const address = new URL(dataset.load, location.href);
  let loaded = -Infinity;
  const load = async () => {
    if (document.hidden || performance.now() - loaded < 59_000) return;
    loaded = performance.now();
    // All who look at the same time get the same.
    address.searchParams.set("after", last);
    try {
      const next = await page(address);
      const old = document.getElementById(id);
      if (old) replace(old, next.getElementById(id));
    } catch { /* The times in it say how old it is. */ }
  };
  load();
  setInterval(load, 60_000);
  document.addEventListener("visibilitychange", load);
}

// The answer to a form cannot be shown again. After the next form, Back leads to the empty one instead.
addEventListener("submit", () => {
  if (main && main.hasAttribute("data-sent")) history.replaceState(null, "", location.href);
});

// On a narrow screen, the navigation scrolls sideways.
const here = document.querySelector(".pages [aria-current]");
if (here) here.scrollIntoView({ inline: "center", block: "nearest" });

let prefix = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "/") {
    const find = document.getElementById("find");
    if (find) { event.preventDefault(); find.focus(); find.select(); }
  } else if (event.key === "?") {
    const help = document.getElementById("help");
    if (help) help.showModal();
  } else if (event.key === "g") {
    prefix = Date.now();
    return;
  } else if (Date.now() - prefix < 1500) {
    const link = document.querySelector(`a[data-go="${CSS.escape(event.key)}"]`);
    if (link) link.click();
  }
  prefix = 0;
});
