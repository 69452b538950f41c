/** Styles of the panels, and what stands in them. */

export const PANEL_STYLE = `
/* ---- panels */

.caption {
  margin: 16px 2px 8px;
  color: var(--muted);
  font-size: 13px;
}

.stage {
  display: grid;
  grid-auto-columns: minmax(0, 1fr);
  grid-auto-flow: column;
  gap: 16px;
  border-radius: 10px;
}

.stage.stacked,
[data-view="text"] .stage {
  grid-auto-flow: row;
}

.panel {
  min-width: 0;
  padding: 14px 16px 12px;
  border: 1px solid var(--line);
  border-radius: 10px;
  background: var(--paper);
}

.swatch {
  flex: none;
  display: inline-block;
  width: 11px;
  height: 11px;
  border-radius: 3px;
  background: var(--node);
}

[data-method="raw"] { --own: var(--raw); }
[data-method="rollout"] { --own: var(--rollout); }
[data-method="flow"] { --own: var(--flow); }
.importance0 { --own: var(--importance0); }
.importance1 { --own: var(--importance1); }

[data-method] .swatch,
.legend .swatch {
  background: var(--own);
}

.explained {
  margin: 2px 0 10px;
  color: var(--muted);
  font-size: 13px;
}

.scroller {
  overflow-x: auto;
  overflow-y: hidden;
  overscroll-behavior-x: contain;
  scrollbar-width: thin;
}

.inner {
  margin: 0 auto;
  cursor: pointer;
}

.inner svg,
.inner canvas {
  /* A picture drawn anew between press and release would take the click with it. */
  pointer-events: none;
  display: block;
}

.inner canvas {
  position: sticky;
  left: 0;
}

.legend span {
  display: inline-flex;
  gap: 6px;
  align-items: center;
}

.legend {
  display: flex;
  flex-wrap: wrap;
  gap: 2px 16px;
  align-items: center;
  min-height: 18px;
  margin-top: 10px;
  color: var(--muted);
  font-size: 12px;
}

.legend div {
  display: flex;
  flex-wrap: wrap;
  gap: inherit;
}

.notes {
  min-height: 20px;
  color: var(--muted);
  font-size: 13px;
}

[data-view="text"] .notes {
  min-height: 0;
}

[data-view="table"] .caption {
  display: none;
}

.help {
  margin: 12px 2px 0;
  color: var(--muted);
  font-size: 12px;
}
`;
