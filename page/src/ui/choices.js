/** The edge weights of a document: scores and pictures of each, created when they are first needed. */

/** @import { PageData } from "../types.js" */
/** @import { Scheduler } from "../compute/scheduler.js" */

import { Scores } from "../compute/scores.js";
import { Pictures } from "../draw/picture.js";

export class EdgeChoices {
  /** @param {PageData} data @param {Scheduler} scheduler */
  constructor(data, scheduler) {
    this.scheduler = scheduler;
    const documents = [data, ...data.other_edges.map((other) => ({ ...data, ...other }))];
    /** @type {Map<string, PageData>} name → document with these edge weights; the first is shown first */
    this.documents = new Map(documents.map((document) => [document.edges ?? "", document]));
    /** @type {string[]} */
    this.names = [...this.documents.keys()];
    /** @type {Map<string, Pictures>} */
    this.created = new Map();
  }

  /** @type {(name: string) => Pictures} */
  pictures(name) {
    const known = this.created.get(name);
    if (known) return known;
    const data = /** @type {PageData} */ (this.documents.get(name));
    const pictures = new Pictures(data, new Scores(data, this.scheduler));
    this.created.set(name, pictures);
    return pictures;
  }

  /** Scores of the first edge weights; of all, layers and methods are the same. */
  get first() {
    return this.pictures(this.names[0]).scores;
  }

  /** Scores of attention, whose head and residual can be chosen; null if the document has none. */
  get attention() {
    const name = this.names.find((name) => this.documents.get(name)?.attention);
    return name === undefined ? null : this.pictures(name).scores;
  }
}
