/**
 * The app: a form for text, model and edge weights, and the interactive page of the result.
 *
 * The link contains these and the view after the #, which browsers do not send: no server logs the text.
 */

/** @import { PageData } from "./types.js" */

import { displayName, edgesName, formatPercent } from "./draw/format.js";
import { replaceHash } from "./ui/dom.js";
import { mount } from "./widget.js";

const UNREACHABLE = "the server does not respond; restart it with: attnflow serve";
/** Milliseconds until progress is shown; chosen: for shorter work it would only flicker. */
const PROGRESS_DELAY = 200;

/** What is asked for; an empty model or name of edge weights is the default of the server.
 * @typedef {{ text: string, model: string, edges: string, view: string }} Request */
/** @typedef {{ state: string, done: number, total: number }} Progress */
/** @typedef {{ model: string, page: PageData, unknown: Record<string, string> }} Result */

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 */
function byId(id, type) {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new TypeError(`the page has no ${type.name} #${id}`);
  return element;
}

const form = byId("form", HTMLFormElement);
const textInput = byId("text", HTMLTextAreaElement);
const modelSelect = byId("model", HTMLSelectElement);
const edgesSelect = byId("edges", HTMLSelectElement);
const cancelButton = byId("cancel", HTMLButtonElement);
const progressRow = byId("progress", HTMLDivElement);
const progressBar = byId("bar", HTMLProgressElement);
const progressText = byId("step", HTMLSpanElement);
const statusText = byId("status", HTMLParagraphElement);
const errorText = byId("error", HTMLParagraphElement);
const aboutText = byId("about", HTMLParagraphElement);
const resultSection = byId("result", HTMLElement);

/** Name → one line about a model, and a text to begin with. @type {Map<string, { about?: string, example?: string }>} */
const models = new Map();

/** @type {AbortController | null} of the request that is running */
let current = null;
/** @type {{ text: string, model: string, edges: string, view: import("./widget.js").Mounted } | null} */
let shown = null;

/* The link */

/** @returns {Request} */
function readLink() {
  const fields = new URLSearchParams(location.hash.slice(1));
  /** @type {(name: string) => string} */
  const read = (name) => fields.get(name) ?? "";
  return { text: read("text"), model: read("model"), edges: read("edges"), view: read("view") };
}

/** @type {(request: Request) => string} */
function linkOf({ text, model, edges, view }) {
  const chosen = edges === defaultEdges() ? "" : edges;
  return `#${new URLSearchParams({ model, text, ...(chosen && { edges: chosen }), ...(view && { view }) })}`;
}

function defaultEdges() {
  return edgesSelect.options[0]?.value ?? "";
}

/* The server */

/**
 * Await a network operation; all browsers get the same error message.
 *
 * @template T
 * @param {Promise<T>} promise
 */
async function network(promise) {
  try {
    return await promise;
  } catch (error) {
    throw error instanceof Error && error.name === "AbortError" ? error : new Error(UNREACHABLE, { cause: error });
  }
}

/** Read lines of JSON. @param {Response} response */
async function* readLines(response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (reader) {
    const { value, done } = await network(reader.read());
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}

/** Return the result for a text; errors have messages for users.
 * @type {(request: Request, signal: AbortSignal) => Promise<Result>} */
async function explain({ text, model, edges }, signal) {
  const response = await network(
    fetch("/api/explain/stream", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ text, ...(model && { model }), ...(edges && { edges }), page: true }),
      signal,
    }),
  );
  if (!response.ok) throw new Error(await errorOf(response));
  for await (const line of readLines(response)) {
    if (line.progress) showProgress(line.progress);
    if (line.error) throw new Error(line.error.message);
    if (line.result) return line.result;
  }
  throw new Error("the connection closed before the result was complete; try again");
}

/** @type {(response: Response) => Promise<string>} */
async function errorOf(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `the server responded with status ${response.status}; try again`;
  }
}

/* The page */

/** Announce a sentence to screen readers; `visible` if nothing else on the page shows it.
 * @type {(sentence: string, visible?: boolean) => void} */
function announce(sentence, visible = false) {
  statusText.classList.toggle("visually-hidden", !visible);
  statusText.textContent = sentence;
}

/** @param {string} message */
function showError(message) {
  errorText.textContent = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}

/** @param {Progress} progress */
function showProgress({ state, done, total }) {
  if (state === "waiting" || total === 0) {
    progressBar.removeAttribute("value");
    progressText.textContent = state === "waiting" ? "Waiting for other requests" : "Starting";
    return;
  }
  progressBar.max = total;
  progressBar.value = done;
  progressText.textContent = `Step ${Math.min(done + 1, total)} of ${total}`;
}

/** @param {boolean} busy */
function setBusy(busy) {
  const focused = document.activeElement === cancelButton;
  progressRow.hidden = cancelButton.hidden = !busy;
  if (busy) resultSection.setAttribute("aria-busy", "true");
  else resultSection.removeAttribute("aria-busy");
  if (!busy && focused) textInput.focus();
}

function clearResult() {
  shown?.view.destroy();
  shown = null;
  resultSection.replaceChildren();
}

/** @type {(request: Request, result: Result) => void} */
function showResult({ text, edges, view }, { model, page, unknown }) {
  clearResult();
  /** @type {(state: string) => string} */
  const stateLink = (state) => linkOf({ text, model, edges, view: state });
  const options = {
    state: view,
    linkOf: stateLink,
    onState: (/** @type {string} */ state) => replaceHash(stateLink(state)),
  };
  shown = { text, model, edges, view: mount(resultSection, page, options) };
  const words = [...new Set(Object.values(unknown))].join(", ");
  const note = words && ` Not in the vocabulary: ${words}.`;
  announce(`${predictionSentence(page)}${note}`, words !== "");
  document.title = `${text.slice(0, 60)} · attnflow`;
}

/** @param {PageData} page */
function predictionSentence({ prediction }) {
  if (!prediction) return "";
  const { label, probabilities } = prediction;
  return `The model predicts ${displayName(label)}, ${formatPercent(probabilities[label])}.`;
}

/* Requests */

/** @param {Request} request */
async function run(request) {
  current?.abort();
  const controller = new AbortController();
  current = controller;
  errorText.textContent = "";
  showProgress({ state: "working", done: 0, total: 0 });
  const timer = setTimeout(() => {
    setBusy(true);
    announce("Working.");
  }, PROGRESS_DELAY);
  try {
    const result = await explain(request, controller.signal);
    if (current === controller) showResult(request, result);
  } catch (error) {
    if (current !== controller) return; // a newer request runs
    const { aborted } = controller.signal;
    clearResult();
    announce(aborted ? "Cancelled." : "", true);
    if (!aborted) showError(error instanceof Error ? error.message : String(error));
  } finally {
    clearTimeout(timer);
    if (current === controller) {
      current = null;
      setBusy(false);
    }
  }
}

/** @param {Event} event */
function submit(event) {
  event.preventDefault();
  const request = { text: textInput.value, model: modelSelect.value, edges: edgesSelect.value, view: "" };
  if (request.text.trim() === "") {
    current?.abort();
    showError("the text is empty; type a sentence");
    textInput.focus();
    return;
  }
  const link = linkOf(request);
  if (link !== location.hash) history.pushState(null, "", link);
  void run(request);
}

/** Show one line about the chosen model. */
function showAbout() {
  aboutText.textContent = models.get(modelSelect.value)?.about ?? "";
}

/** Show the line about another model; an example that nobody changed is replaced by that of the model. */
function chooseModel() {
  const { example } = models.get(modelSelect.value) ?? {};
  if (example && [...models.values()].some((model) => model.example === textInput.value)) textInput.value = example;
  showAbout();
}

/** Explain the example of the chosen model; its link is that of the page without one. */
function runExample() {
  const text = models.get(modelSelect.value)?.example;
  if (!text || textInput.value) return; // someone was faster
  textInput.value = text;
  void run({ text, model: modelSelect.value, edges: edgesSelect.value, view: "" });
}

/** Show the content of the link: at the start, after going back, and when a link is pasted. */
function followLink() {
  const { edges, ...link } = readLink();
  const request = { ...link, edges: edges || defaultEdges() };
  textInput.value = request.text;
  if (request.model) select(modelSelect, request.model);
  select(edgesSelect, request.edges);
  showAbout();
  if (request.text === "") {
    // Without a message: the user left the request.
    const left = current;
    current = null;
    left?.abort();
    setBusy(false);
    clearResult();
    announce("");
    errorText.textContent = "";
    document.title = "attnflow";
    // A link with an empty text is an empty form.
    if (location.hash.length <= 1) runExample();
  } else if (shown && !current && isShown(request)) {
    shown.view.show(request.view);
  } else void run(request);
}

/** Return whether the page shows the result of a request. @type {(request: Request) => boolean} */
function isShown({ text, edges }) {
  return shown?.text === text && shown.model === modelSelect.value && shown.edges === edges;
}

/** @type {(element: HTMLSelectElement, name: string) => void} */
function select(element, name) {
  // A link may name something that the server does not have; the result is then an error that says so.
  if (![...element.options].some(({ value }) => value === name)) element.add(new Option(name, name));
  element.value = name;
}

async function start() {
  form.addEventListener("submit", submit);
  cancelButton.addEventListener("click", () => current?.abort());
  textInput.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  });
  modelSelect.addEventListener("change", chooseModel);
  addEventListener("popstate", followLink);
  try {
    const response = await network(fetch("/api/models"));
    if (!response.ok) throw new Error(await errorOf(response));
    const { models: served, edges } = await response.json();
    for (const { name, about, example } of served) {
      modelSelect.add(new Option(name, name));
      models.set(name, { about, example });
    }
    for (const name of edges) edgesSelect.add(new Option(edgesName(name), name));
  } catch (error) {
    showError(error instanceof Error ? error.message : String(error));
    return;
  }
  showAbout();
  if (location.hash.length <= 1) return runExample();
  const { text, model, edges } = readLink();
  if (text || !textInput.value) return followLink();
  // A text typed while the models were loading is kept.
  if (model) select(modelSelect, model);
  if (edges) select(edgesSelect, edges);
  showAbout();
}

void start();
