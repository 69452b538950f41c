/** Types that several modules share. */

export type Method = "raw" | "rollout" | "flow";
export type ViewName = "grid" | "graph" | "heatmap" | "text" | "table";
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
  /** Flow of uniform causal attention for the same rows, which the correction for the receptive field divides by. */
  uniform: EncodedArray | null;
  saturated: boolean[];
  /** By layer and query, of flow that Python computed: whether that of the query alone is saturated. */
  at_ceiling: (0 | 1)[][] | null;
  flat: (0 | 1)[][];
  settings: Record<string, unknown>;
}

/** The part of the document that depends on what the edges weigh. */
export interface EdgesData {
  edges: string | null;
  /** Positions that receive most of the attention, and a sentence about them. */
  sinks: number[];
  sinks_note: string | null;
  attention: { mean: EncodedArray; heads: EncodedArray | null; n_heads: number | null; residual: number } | null;
  graph: EncodedArray[] | null;
  /** The residual that the layers of the graph contain, (1 − r) W + r I, if that is known. */
  graph_residual: number | null;
  scores: EncodedScores[];
}

export interface Prediction {
  label: string;
  probabilities: Record<string, number>;
  position?: number | null;
}

/** Importance in the document; a text is null where it is not known. */
export interface EncodedImportance {
  method: string;
  values: number[];
  /** What takes the place of a token. */
  replaced_by: string | null;
  /** The answer that it is of, and the other one if it is of a difference. */
  target: string | null;
  against: string | null;
}

/** The document of `attnflow.view.page_data`; view/_data.py describes its fields. */
export interface PageData extends EdgesData {
  version: number;
  title: string;
  text: string | null;
  /** What the encoder and the decoder of an encoder-decoder read. */
  texts: string[] | null;
  tokens: string[];
  sizes: number[];
  names: string[][] | null;
  layer_names: string[] | null;
  causal: boolean;
  /** The number of positions at the end that the model generated. */
  generated: number;
  grid: { rows: number; columns: number; prefix: number } | null;
  keep_sinks: boolean;
  /** Whether the page opens with the correction for the receptive field. */
  receptive_field: boolean;
  words: { names: string[]; pieces: number[][] } | null;
  spans: ([number, number] | null)[] | null;
  other_edges: EdgesData[];
  importance: EncodedImportance[];
  prediction: Prediction | null;
  layer: number;
  query: number;
}

/** Which weights the graph has; head −1 is the mean of the heads. */
export interface Settings {
  head: number;
  residual: number;
  /** Whether attention sinks stay in the graph. */
  keepSinks: boolean;
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
  /** Whether scores are corrected for the receptive field. */
  field: boolean;
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
  /** Whether it leads to a node whose edges would cover others. */
  faint?: boolean;
}

/**
 * The edges to draw, weakest first; `omitted` edges carry `omittedShare` of the total weight.
 *
 * `max` is the end of the scale, which some edges may exceed.
 */
export interface TopEdges {
  edges: Edge[];
  max: number;
  exceeds: boolean;
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

/** What panels need of a layout: where a node is, and which node is at a point. */
export interface NodeLayout {
  width: number;
  height: number;
  column: number;
  cells: boolean;
  /** Whether cells have texts on them, and so lighter colors. */
  texts: boolean;
  x: (layer: number, node: number) => number;
  nodeAt: (x: number, y: number) => NodeRef | null;
}

/** The ends of a line. */
export type Ends = [x1: number, y1: number, x2: number, y2: number];

/** A color scale; `exceeds` tells whether some edges or cells are above its end. */
export interface Scale {
  max: number;
  exceeds: boolean;
}

/** The scene of one method, its layout and the notes under it. */
export interface Picture extends Scale {
  scene: Scene;
  layout: NodeLayout;
  notes: string[];
  /** How opaque edges are. */
  ink: number;
  /** The edges of the cut of a pair. */
  cutLines: Ends[];
  /** What the numbers of the edges are. */
  unit: string;
}

/** A piece of the text view; `node` is null between tokens, `apart` a token without characters. */
export interface TextPiece {
  text: string;
  node: number | null;
  apart?: boolean;
  /** Whether the model generated it. */
  generated?: boolean;
}
