/**
 * The app: a text and a model in, the interactive page out.
 *
 * All that is shown is in the link, behind the #, which browsers keep to themselves: the text stands
 * in no log of any server.
 */

import { putHash } from "./ui/link.js";
import { mount } from "./widget.js";

const AWAY = "the app does not answer; start it again where it was started: attnflow serve";
const SHOW_WORK_AFTER = 200; // milliseconds; chosen: what is quicker would only flicker

const part = (name) => document.getElementById(name);
let underWay = null; // the AbortController of the request that is being answered
let shown = null; // { text, model, handle } of the picture that is there

/* The link ---------------------------------------------------------------------------------- */

function fromLink() {
  const fields = new URLSearchParams(location.hash.slice(1));
  return { text: fields.get("text") ?? "", model: fields.get("model") ?? "", view: fields.get("view") ?? "" };
}

function toLink({ text, model, view }) {
  const fields = new URLSearchParams({ model, text });
  if (view) fields.set("view", view);
  return `#${fields}`;
}

/* The answer -------------------------------------------------------------------------------- */

/** What comes over the network; that it does not come is said in every browser otherwise. */
async function arrived(coming) {
  try {
    return await coming;
  } catch (reason) {
    throw reason.name === "AbortError" ? reason : new Error(AWAY, { cause: reason });
  }
}

async function* linesOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await arrived(reader.read());
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

/** The answer to a text; `onStep` is told how far it is. What goes wrong is an Error in plain words. */
async function answer({ text, model }, signal, onStep) {
  const asked = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ text, ...(model ? { model } : {}), page: true }),
    signal,
  };
  const response = await arrived(fetch("/api/explain/stream", asked));
  if (!response.ok) throw new Error(await reasonOf(response));
  for await (const line of linesOf(response)) {
    if (line.progress) onStep(line.progress);
    if (line.error) throw new Error(line.error.message);
    if (line.result) return line.result;
  }
  throw new Error("the app broke off in the middle of its answer; try again");
}

async function reasonOf(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `the app answered with the status ${response.status}; try again`;
  }
}

/* What people see --------------------------------------------------------------------------- */

/** Say something to screen readers, and to all where nothing else on the page shows it. */
function say(sentence, { seen = false } = {}) {
  part("status").classList.toggle("unseen", !seen);
  part("status").textContent = sentence;
}

function complain({ message }) {
  part("wrong").textContent = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}

function showStep({ state, done, total }) {
  const bar = part("bar");
  if (state === "waiting" || total === 0) {
    bar.removeAttribute("value");
    part("step").textContent = state === "waiting" ? "Others are before you" : "Beginning";
    return;
  }
  bar.max = total;
  bar.value = done;
  part("step").textContent = `Step ${Math.min(done + 1, total)} of ${total}`;
}

function showWork(working) {
  const focused = document.activeElement === part("cancel");
  part("work").hidden = !working;
  part("cancel").hidden = !working;
  if (working) part("result").setAttribute("aria-busy", "true");
  else part("result").removeAttribute("aria-busy");
  if (!working && focused) part("text").focus();
}

function clear() {
  shown?.handle.destroy();
  shown = null;
  part("result").replaceChildren();
}

function show({ text, model, view }, result) {
  clear();
  const place = part("result").appendChild(document.createElement("div"));
  const linkOf = (state) => toLink({ text, model, view: state });
  const handle = mount(place, result.page, { state: view, linkOf, onState: (state) => putHash(linkOf(state)) });
  shown = { text, model, handle };
  const { label, probabilities } = result.prediction;
  const unknown = [...new Set(Object.values(result.unknown))];
  const words = unknown.length ? ` The model does not know: ${unknown.join(", ")}.` : "";
  say(`The model answers ${label}, ${Math.round(100 * probabilities[label])} %.${words}`, { seen: words !== "" });
  document.title = `${text.slice(0, 60)} · attnflow`;
}

/* From a request to its picture --------------------------------------------------------------- */

async function run(wanted) {
  underWay?.abort();
  const mine = new AbortController();
  underWay = mine;
  part("wrong").textContent = "";
  showStep({ state: "working", done: 0, total: 0 });
  const soon = setTimeout(() => {
    showWork(true);
    say("Working.");
  }, SHOW_WORK_AFTER);
  try {
    const result = await answer(wanted, mine.signal, showStep);
    if (underWay === mine) show({ ...wanted, model: result.model }, result);
  } catch (reason) {
    if (underWay !== mine) return; // another request took over
    clear();
    say(mine.signal.aborted ? "Cancelled." : "", { seen: true });
    if (!mine.signal.aborted) complain(reason);
  } finally {
    clearTimeout(soon);
    if (underWay === mine) {
      underWay = null;
      showWork(false);
    }
  }
}

function submit(event) {
  event?.preventDefault();
  const wanted = { text: part("text").value, model: part("model").value, view: "" };
  if (wanted.text.trim() === "") {
    underWay?.abort();
    complain(new Error("there is no text yet; type a sentence"));
    part("text").focus();
    return;
  }
  const link = toLink(wanted);
  if (link !== location.hash) history.pushState(null, "", link);
  void run(wanted);
}

/** Show what the link says: when the app opens, and when people go back or paste another link. */
function follow() {
  const wanted = fromLink();
  part("text").value = wanted.text;
  if (wanted.model) chooseModel(wanted.model);
  if (wanted.text === "") {
    leave();
    clear();
    say("");
    part("wrong").textContent = "";
    document.title = "attnflow";
    return;
  }
  const there = shown !== null && underWay === null && shown.text === wanted.text && shown.model === part("model").value;
  if (there) shown.handle.show(wanted.view);
  else void run(wanted);
}

/** Let go of the request that runs, without a word: people went away from it. */
function leave() {
  const left = underWay;
  underWay = null;
  left?.abort();
  showWork(false);
}

function chooseModel(name) {
  const select = part("model");
  // A link may name a model that this app does not have; the answer then says so.
  if (![...select.options].some((option) => option.value === name)) select.add(new Option(name, name));
  select.value = name;
}

async function begin() {
  part("ask").addEventListener("submit", submit);
  part("cancel").addEventListener("click", () => underWay?.abort());
  part("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  });
  globalThis.addEventListener("popstate", follow);
  try {
    const response = await arrived(fetch("/api/models"));
    if (!response.ok) throw new Error(await reasonOf(response));
    for (const { name } of (await response.json()).models) part("model").add(new Option(name, name));
  } catch (reason) {
    complain(reason);
    return;
  }
  if (location.hash.length > 1) follow();
}

void begin();
