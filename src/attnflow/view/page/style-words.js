/** Styles of text, table and tooltip, and what changes on small screens. */

export const WORDS_STYLE = `
/* ---- text */

.text {
  max-width: 80ch;
  font-size: 17px;
  line-height: 1.9;
  overflow-wrap: anywhere;
  white-space: pre-wrap;
}

.token {
  padding: 2px 0;
  border-radius: 3px;
  background: color-mix(in srgb, var(--own) calc(var(--cells) * var(--share, 0%)), transparent);
  cursor: pointer;
}

.token.apart {
  padding: 2px 4px;
  margin: 0 2px;
  border: 1px solid var(--line);
  font-size: 14px;
}

.token.selected {
  box-shadow: 0 2px 0 var(--ink);
}

.token:hover {
  outline: 2px solid var(--accent);
}

/* ---- table */

.table {
  overflow-x: auto;
}

.attnflow:not([data-view="table"]) .table,
.unseen {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}

[data-view="table"] .table {
  margin-top: 16px;
  padding: 14px 16px;
  border: 1px solid var(--line);
  border-radius: 10px;
  background: var(--paper);
}

table {
  border-collapse: collapse;
  font-size: 14px;
}

caption {
  padding-bottom: 8px;
  color: var(--muted);
  font-size: 13px;
  text-align: start;
}

th,
td {
  padding: 4px 14px 4px 0;
  border-bottom: 1px solid var(--line);
  font-weight: 400;
  text-align: start;
  white-space: pre;
}

thead th {
  color: var(--muted);
  font-size: 12px;
}

tbody th {
  font-weight: 600;
}

.number {
  font-variant-numeric: tabular-nums;
}

/* ---- tooltip */

.tooltip {
  position: absolute;
  z-index: 1;
  max-width: min(340px, 90%);
  padding: 8px 11px;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--paper);
  box-shadow: 0 4px 16px rgb(0 0 0 / 18%);
  font-size: 13px;
  overflow-wrap: anywhere;
  pointer-events: none;
}

.tooltip div {
  color: var(--muted);
}

.tooltip b {
  color: var(--ink);
  font-weight: 500;
}

.tooltip .none {
  background: none !important;
}

.tooltip .swatch {
  margin-inline-end: 6px;
}

.wrong {
  margin: 24px;
  font-family: system-ui, sans-serif;
}

/* ---- small screens, fingers, calm */

@media (max-width: 640px) {
  .attnflow {
    padding: 14px 12px;
  }

  .toolbar {
    gap: 10px 14px;
    padding: 12px;
  }

  .panel {
    padding: 12px;
  }

  .control.layer,
  .control input[type="range"] {
    flex: 1 1 100%;
    width: 100%;
  }

  .buttons.end {
    margin-inline-start: 0;
  }
}

@media (pointer: coarse) {
  select,
  button,
  .control input,
  .check,
  .segments span {
    height: 40px;
  }
}

@media (prefers-reduced-motion: no-preference) {
  .token {
    transition: background-color 120ms;
  }
}
`;
