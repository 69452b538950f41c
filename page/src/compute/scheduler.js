/** Long work in short slices, so that the page answers in between. */

/** Milliseconds; chosen: half of a frame, and a little more for what was just asked for. */
const SLICE = 8;
const FIRST_SLICE = 12;
/** Milliseconds between two looks at how far the work is; chosen: it is seen to move. */
const NEWS = 300;
/** Milliseconds that work waits after a person has moved; chosen: some frames, so that a movement is over. */
const PAUSE = 100;

export class Slices {
  /** @param {() => void} onNews called when some work is finished, and now and then on the way */
  constructor(onNews) {
    this.onNews = onNews;
    // Key → generator; what was asked for last goes first.
    this.waiting = new Map();
    this.timer = 0;
    this.told = 0;
    // Until the first picture is there, work only lines up.
    this.started = false;
    // The time until which nothing is done.
    this.quiet = 0;
  }

  start() {
    this.started = true;
    this.schedule();
  }

  /** Leave the time to what a person is doing. */
  pause() {
    this.quiet = performance.now() + PAUSE;
  }

  /** Whether the work is done by now: it is begun at once, and goes on later where it is long. */
  want(key, begin) {
    const known = this.waiting.get(key);
    if (known) {
      this.waiting.delete(key);
      this.waiting.set(key, known);
      return false;
    }
    const steps = begin();
    if (this.started && runs(steps, FIRST_SLICE)) return true;
    this.waiting.set(key, steps);
    this.schedule();
    return false;
  }

  /** Drop whatever is not done; it may be wanted again. */
  clear() {
    this.waiting.clear();
    clearTimeout(this.timer);
    this.timer = 0;
  }

  schedule() {
    const wait = Math.max(0, this.quiet - performance.now());
    if (this.started && !this.timer && this.waiting.size) this.timer = setTimeout(() => this.slice(), wait);
  }

  slice() {
    this.timer = 0;
    if (performance.now() < this.quiet) return this.schedule();
    const key = [...this.waiting.keys()].pop();
    if (key === undefined) return undefined;
    const done = runs(this.waiting.get(key), SLICE);
    if (done) this.waiting.delete(key);
    this.schedule();
    if (!done && performance.now() - this.told < NEWS) return undefined;
    this.told = performance.now();
    return this.onNews();
  }
}

/** Run until the time is up; whether all is done. */
function runs(steps, milliseconds) {
  const end = performance.now() + milliseconds;
  do if (steps.next().done) return true;
  while (performance.now() < end);
  return false;
}
