// Live parts, keys, and what the server makes after the page. Without this file, every page and form works.
"use strict";

const main = document.getElementById("main");
const kinds = [
  "change_accepted", "pushes_answered", "provider_halted", "provider_resumed", "clock_skew", "changes_merged", "demoted",
  "schedule_failed", "channel_lost", "channel_unknown", "channel_reclaimed", "channel_refused", "channel_quota_low",
  "incompatible_version", "alert_dropped", "token_wait_overdue", "push_sent", "push_failed", "token_died",
];

async function page(address) {
  const answer = await fetch(address, { credentials: "same-origin" });
  // The session has ended: the server shows the sign-in form instead.
  if (answer.status === 401) { location.reload(); throw new Error("signed out"); }
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// Replaces the live parts by those of the same page as it is now.
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
let due = false, busy = false, last = "0-0";
async function renew(event) {
  if (event && event.lastEventId) last = event.lastEventId;
  due = true;
  if (busy || document.hidden) return;
  busy = true;
  // A change and the first answers of APNs come close together.
  await pause(250);
  while (due && !document.hidden) {
    due = false;
    try {
      const address = new URL(location.href);
      address.searchParams.set("after", last);
      const next = await page(address);
      for (const old of document.querySelectorAll("[data-part]")) {
        const part = next.getElementById(old.id);
        if (!part || old.contains(document.activeElement) || part.innerHTML === old.innerHTML) continue;
        const open = [...old.querySelectorAll("details")].map((d) => d.open);
        old.replaceWith(part);
        part.querySelectorAll("details").forEach((d, i) => { d.open = Boolean(open[i]); });
      }
    } catch { /* The stream's own reconnection brings the next try. */ }
    await pause(1000);
  }
  busy = false;
}

function follow(address, onEvent, onState) {
  const source = new EventSource(address);
  for (const kind of kinds) source.addEventListener(kind, onEvent);
  source.onopen = () => onState(true);
  source.onerror = () => onState(false);
  addEventListener("pagehide", () => source.close());
}

if (main && main.dataset.live) {
  const state = document.createElement("p");
  state.className = "live-state";
  state.setAttribute("role", "status");
  main.prepend(state);
  let was = null;
  follow(main.dataset.live, renew, (on) => {
    if (on === was) return;
    state.textContent = on ? "Live" : "Reconnecting";
    state.classList.toggle("on", on);
    // What happened meanwhile.
    if (on && was === false) renew();
    was = on;
  });
  if (main.dataset.every) setInterval(renew, main.dataset.every * 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) renew(); });
}

const tail = document.getElementById("tail");
if (tail) {
  const state = document.getElementById("tail-state");
  const cell = (row, text) => { row.insertCell().textContent = text || ""; };
  follow(tail.dataset.tail, (event) => {
    const fact = JSON.parse(event.data);
    const row = tail.tBodies[0].insertRow(0);
    cell(row, fact.at.slice(11, 19));
    cell(row, fact.kind.replaceAll("_", " "));
    cell(row, fact.activity_id);
    cell(row, fact.device_id);
    cell(row, Object.entries(fact.detail).map(([name, value]) =>
      name.replaceAll("_", " ") + " " + (typeof value === "object" ? JSON.stringify(value) : value)).join(", "));
    row.lastChild.className = "text";
    while (tail.tBodies[0].rows.length > 200) tail.tBodies[0].deleteRow(-1);
  }, (on) => { state.textContent = on ? "Following. New events appear at the top." : "Reconnecting."; });
}

for (const place of document.querySelectorAll("[data-load]")) {
  page(place.dataset.load).then((next) => {
    const part = next.getElementById(place.id);
    if (part) place.replaceWith(part);
  }, () => {});
}

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
