// Makes pages handier; without it everything but the live events still works.
"use strict";

const span = (s) => s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min`
  : s < 172800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
const iso = (s) => new Date(s * 1000).toISOString().replace(".000Z", "Z");
const plain = (s) => iso(s).replace("T", " ").replace("Z", "");

// Ages, by the server's clock.
let skew = 0;
function readSkew() {
  const stamp = document.getElementById("stamp");
  if (stamp) skew = Number(stamp.dataset.now) - Math.floor(Date.now() / 1000);
}
function showAges() {
  const now = Math.floor(Date.now() / 1000) + skew;
  for (const age of document.querySelectorAll(".age")) {
    const seconds = now - Number(age.dataset.at);
    const text = seconds < 0 ? `(in ${span(-seconds)})` : `(${span(seconds)} ago)`;
    if (age.textContent !== text) age.textContent = text;
  }
}
readSkew();
setInterval(showAges, 1000);

// One stop of the Tab key per map; arrows move on it.
function prepareGrid() {
  const grid = document.querySelector(".grid");
  if (!grid) return;
  const cells = [...grid.querySelectorAll("a")];
  cells.forEach((cell, index) => { cell.tabIndex = index === 0 ? 0 : -1; });
  grid.addEventListener("keydown", (event) => {
    const at = cells.indexOf(document.activeElement);
    const columns = getComputedStyle(grid).gridTemplateColumns.split(" ").length;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? cells.length - 1 : at + step;
    if (at < 0 || !cells[to]) return;
    event.preventDefault();
    cells[at].tabIndex = -1;
    cells[to].tabIndex = 0;
    cells[to].focus();
  });
}
prepareGrid();

// The slider redraws what is behind it; the URL follows, so that it can be pasted.
let drawing = null;
async function redraw(form, seconds) {
  const url = new URL(form.action);
  for (const field of form.querySelectorAll("[type=hidden]")) url.searchParams.set(field.name, field.value);
  url.searchParams.set("at", iso(seconds));
  if (drawing) drawing.abort();
  drawing = new AbortController();
  try {
    const answer = await fetch(url, { headers: { Accept: "text/html" }, signal: drawing.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("content");
    const old = document.getElementById("content");
    fresh.querySelector(".past")?.replaceWith(form);
    old.replaceChildren(...fresh.childNodes);
    history.replaceState(null, "", url);
    document.getElementById("at").value = iso(seconds);
    document.getElementById("slider").focus();
    prepareGrid();
    readSkew();
  } catch (error) {
    if (error.name !== "AbortError") location.assign(url);
  }
}
const slider = document.getElementById("slider");
if (slider) {
  slider.parentElement.hidden = false;
  slider.addEventListener("input", () => {
    const words = plain(Number(slider.value));
    slider.setAttribute("aria-valuetext", words);
    slider.parentElement.querySelector("output").textContent = words;
  });
  slider.addEventListener("change", () => redraw(slider.form, Number(slider.value)));
}

// Live events.
const live = document.getElementById("live");
if (live) {
  const state = document.getElementById("live-state");
  const button = document.getElementById("live-switch");
  const body = document.querySelector("[data-table=events] tbody");
  let url = live.dataset.stream, source = null, seen = 0;
  const link = (text, path, parameters) => {
    const a = document.createElement("a");
    a.href = `${path}?${new URLSearchParams(parameters)}`;
    a.textContent = text;
    return a;
  };
  const labels = [...document.querySelectorAll("[data-table=events] thead th")].map((th) => th.textContent);
  const row = (event) => {
    const payload = event.payload || {}, whose = payload.ended || payload;
    const owner = whose.owner, attachment = whose.attachment || {};
    const time = document.createElement("time");
    const seconds = Math.floor(Date.parse(event.recorded_at) / 1000);
    const age = document.createElement("span");
    age.className = "age";
    age.dataset.at = seconds;
    time.dateTime = event.recorded_at;
    time.append(`${plain(seconds)} `, age);
    const cells = [
      link(`${event.space} ${event.seq} ${event.kind}`, "/event", { space: event.space, seq: event.seq }),
      time,
      event.address ? link(event.address, "/address", { address: event.address, space: event.space }) : "",
      event.step ?? "",
      owner ? link(`${owner.namespace}/${owner.name}`, "/pod", { namespace: owner.namespace, pod: owner.name,
        cluster: attachment.cluster }) : attachment.container_id ? `sandbox ${attachment.container_id}` : "",
      owner?.node ?? "", payload.reason ?? "", payload.actor?.name ?? "",
      payload.claimed_at_us ? new Date(payload.claimed_at_us / 1000).toISOString() : "",
    ];
    const tr = document.createElement("tr");
    tr.className = "new";
    cells.forEach((cell, index) => {
      const td = document.createElement(index === 0 ? "th" : "td");
      if (index === 0) td.scope = "row"; else td.dataset.label = labels[index];
      td.append(cell);
      tr.append(td);
    });
    return tr;
  };
  const stop = (text) => { source.close(); source = null; state.textContent = text; button.textContent = "Go on"; };
  const start = () => {
    button.textContent = "Pause";
    source = new EventSource(url);
    source.addEventListener("open", () => { state.textContent = `Following; ${seen} new events.`; });
    source.addEventListener("error", () => { state.textContent = "The connection was lost; trying again."; });
    source.addEventListener("event", (message) => {
      const next = new URL(url, location.href);
      next.searchParams.set("last_event_id", message.lastEventId);
      url = next.pathname + next.search;
      seen += 1;
      body.prepend(row(JSON.parse(message.data)));
      document.querySelector(".table .none")?.remove();
      while (body.rows.length > 500) body.rows[body.rows.length - 1].remove();
      state.textContent = `Following; ${seen} new events.`;
      showAges();
    });
    source.addEventListener("problem", (message) => stop(`Stopped: ${JSON.parse(message.data).detail}`));
  };
  button.hidden = false;
  button.addEventListener("click", () => { if (source) stop(`Paused; ${seen} new events.`); else start(); });
  start();
}
