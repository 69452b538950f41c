/** Long computations in short time slices, so that the page stays responsive. */

import { setBounded } from "./cache.js";

/** Milliseconds of a slice; chosen: half a frame, and a little more for a new request. */
const SLICE = 8;
const FIRST_SLICE = 12;
/** Milliseconds between two updates of unfinished work; chosen: progress is visible. */
const UPDATE_INTERVAL = 300;
/** Tasks that wait; chosen: the rows of a heat map, and not all that a pointer passed. Dropped ones are requested
 * again when they are next shown. */
const MAX_TASKS = 64;
/** Milliseconds that work waits after a pointer event; chosen: some frames. */
const PAUSE = 100;

/** @typedef {Generator<void, unknown>} Task yields where it may be interrupted */

export class Scheduler {
  /** @param {() => void} onUpdate called when a task is finished, and at intervals before that */
  constructor(onUpdate) {
    this.onUpdate = onUpdate;
    /** @type {Map<string, Task>} the newest request runs first */
    this.tasks = new Map();
    this.timer = 0;
    this.lastUpdate = 0;
    this.pausedUntil = 0;
    // Before the first picture is drawn, tasks only queue up.
    this.started = false;
  }

  start() {
    this.started = true;
    this.schedule();
  }

  pause() {
    this.pausedUntil = performance.now() + PAUSE;
  }

  /** Run a task: now if it is short and not `later`, else in slices. A known key moves to the front.
   * @type {(key: string, create: () => Task, later?: boolean) => void} */
  request(key, create, later = false) {
    const known = this.tasks.get(key);
    this.tasks.delete(key);
    const task = known ?? create();
    if (!known && !later && this.started && runFor(task, FIRST_SLICE)) return;
    setBounded(this.tasks, key, task, MAX_TASKS);
    this.schedule();
  }

  /** Drop all unfinished tasks. */
  clear() {
    this.tasks.clear();
    clearTimeout(this.timer);
    this.timer = 0;
  }

  schedule() {
    const wait = Math.max(0, this.pausedUntil - performance.now());
    if (this.started && !this.timer && this.tasks.size) this.timer = setTimeout(() => this.runSlice(), wait);
  }

  runSlice() {
    this.timer = 0;
    const [key, task] = [...this.tasks].at(-1) ?? [];
    if (key === undefined || !task) return;
    const paused = performance.now() < this.pausedUntil;
    const done = !paused && runFor(task, SLICE);
    if (done) this.tasks.delete(key);
    this.schedule();
    if (paused || (!done && performance.now() - this.lastUpdate < UPDATE_INTERVAL)) return;
    this.lastUpdate = performance.now();
    this.onUpdate();
  }
}

/** Run a task for some milliseconds; return whether it is done.
 * @type {(task: Task, milliseconds: number) => boolean} */
function runFor(task, milliseconds) {
  const end = performance.now() + milliseconds;
  do if (task.next().done) return true;
  while (performance.now() < end);
  return false;
}
