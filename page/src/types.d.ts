/** Types that several modules share. */

export type Method = "raw" | "rollout" | "flow";
export type ViewName = "graph" | "heatmap" | "text" | "table";
/** Matrices are flat, row after row. */
export type Vector = Float64Array;
export type Matrix = Float32Array;
export type Numbers = ArrayLike<number>;

/** Base64 of little-endian numbers; "u2" stands for integer / 65535 · scale. */
export interface EncodedArray {
  type: "u2" | "f4";
  shape: number[];
  scale: number;
  data: string;
}

/** Scores in the document: `values` has the axes layer, query, token. */
export interface EncodedScores {
  method: Method;
  layers: number[];
  queries: number[];
  values: EncodedArray;
  saturated: boolean[];
  flat: boolean[][];
  settings: Record<string, unknown>;
}

/** The part of the document that depends on what the edges weigh. */
export interface EdgesData {
  edges: string | null;
  attention: { mean: EncodedArray; heads: EncodedArray | null; residual: number } | null;
  graph: EncodedArray[] | null;
  scores: EncodedScores[];
}

export interface Prediction {
  label: string;
  probabilities: Record<string, number>;
  position?: number | null;
}

/** The document of `attnflow.view.page_data`; view/_data.py describes its fields. */
export interface PageData extends EdgesData {
  version: number;
  title: string;
  text: string | null;
  tokens: string[];
  sizes: number[];
  names: string[][] | null;
  words: { names: string[]; pieces: number[][] } | null;
  spans: ([number, number] | null)[] | null;
  other_edges: EdgesData[];
  importance: { method: string; values: number[] }[];
  prediction: Prediction | null;
  layer: number;
  query: number;
}

/** Which weights the graph has; head −1 is the mean of the heads. */
export interface Settings {
  head: number;
  residual: number;
}

/** What the user has chosen; links carry it. */
export interface State extends Settings {
  view: ViewName;
  /** The name of the edge weights; "" where it is not known. */
  edges: string;
  methods: Method[];
  /** The method of a narrow page, which has space for one; null for the first of `methods`. */
  alone: Method | null;
  layer: number;
  query: number;
  /** Whether rows are normalized to sum to one. */
  normal: boolean;
  words: boolean;
  pin: { layer: number; position: number } | null;
  /** The token of a pinned pair. */
  sink: number | null;
  zoom: number;
}

/** A node of the graph: a token, or with words a word, at a layer; layer 0 is the input. */
export interface NodeRef {
  layer: number;
  node: number;
}

/** All that pictures and descriptions depend on. */
export interface Focus {
  state: State;
  level: import("./compute/level.js").Level;
  hover: NodeRef | null;
  /** The node that the keyboard is at. */
  cursor: NodeRef | null;
  selected: NodeRef;
  /** The node whose edges are drawn; null for the edges of all nodes. */
  highlighted: NodeRef | null;
  /** The node whose scores are shown. */
  queryNode: NodeRef;
}

/**
 * Edges from nodes of one layer to nodes of another, as a matrix.
 *
 * `nodes` are the nodes of the rows where these are not 0, 1, …. A block that omits weak rows has the
 * `sums` of all rows, and `count` returns the number of all edges with a weight.
 */
export interface Block {
  from: number;
  to: number;
  columns: number;
  values: Matrix;
  nodes?: number[];
  firstColumn?: number;
  sums?: Vector;
  count?: (pieces?: number[][]) => number;
}

export interface Edge {
  block: Block;
  above: number;
  below: number;
  value: number;
}

/** The edges to draw, weakest first; `omitted` edges carry `omittedShare` of the total weight. */
export interface TopEdges {
  edges: Edge[];
  max: number;
  omitted: number;
  omittedShare: number;
}

/** A maximum flow; `cut` is 1 on the source's side, one array for each layer 0…d. */
export interface PairFlow {
  value: number;
  flows: Vector[];
  cut: Uint8Array[];
  cutValue: number;
}

export interface SolvedPair extends PairFlow {
  capacities: Vector[];
}

export interface Importance {
  method: string;
  values: Vector;
}

/* Drawing */

export type Palette = typeof import("./draw/theme.js").LIGHT;
export type Color = Exclude<keyof Palette, "cells">;

export interface LineMark {
  kind: "line";
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  color: Color;
  width: number;
  alpha?: number;
  dash?: number;
}

/** `hollow` is the line width of a ring; a mark without it is filled. */
export interface DotMark {
  kind: "dot";
  x: number;
  y: number;
  radius: number;
  color: Color;
  alpha?: number;
  hollow?: number;
}

/** A `cell` is the background of text. */
export interface BoxMark {
  kind: "box";
  x: number;
  y: number;
  width: number;
  height: number;
  color: Color;
  alpha?: number;
  corner?: number;
  hollow?: number;
  cell?: boolean;
}

export interface TextMark {
  kind: "text";
  x: number;
  y: number;
  text: string;
  color: Color;
  alpha?: number;
  size?: number;
  anchor?: "start" | "middle" | "end";
  angle?: number;
  bold?: boolean;
}

export interface GroupMark {
  kind: "group";
  x: number;
  y: number;
  marks: Mark[];
}

export type Shape = LineMark | DotMark | BoxMark | TextMark;
export type Mark = Shape | GroupMark;

/** A drawing. `names` are the labels of the layers, which stay visible while it scrolls. */
export interface Scene {
  width: number;
  height: number;
  marks: Mark[];
  names?: Mark[];
}

export type Layout = ReturnType<typeof import("./draw/layout.js").panelLayout>;

/** The scene of one method, its layout and the notes under it. */
export interface Picture {
  scene: Scene;
  layout: Layout;
  notes: string[];
  /** The strongest edge or cell, and how opaque edges are. */
  max: number;
  ink: number;
  /** What the numbers of the edges are. */
  unit: string;
}

/** A piece of the text view; `node` is null between tokens, `apart` a token without characters. */
export interface TextPiece {
  text: string;
  node: number | null;
  apart?: boolean;
}
