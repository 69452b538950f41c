/** Styles of the controls. */

export const TOOLBAR_STYLE = `
/* ---- toolbar */

.toolbar {
  display: flex;
  flex-wrap: wrap;
  gap: 12px 20px;
  align-items: flex-end;
  padding: 14px 16px;
  border: 1px solid var(--line);
  border-radius: 10px;
  background: var(--paper);
  font-size: 13px;
}

legend,
.control > span {
  display: block;
  padding: 0;
  margin-bottom: 3px;
  color: var(--muted);
  font-size: 12px;
  line-height: 1.3;
}

.segments {
  min-width: 0;
}

.segments label {
  display: inline-block;
  cursor: pointer;
}

.segments input {
  position: absolute;
  opacity: 0;
  pointer-events: none;
}

.segments span {
  display: inline-flex;
  gap: 6px;
  align-items: center;
  height: 32px;
  padding: 0 11px;
  margin-inline-start: -1px;
  border: 1px solid var(--muted);
  background: var(--paper);
  color: var(--muted);
}

.segments label:first-of-type span {
  border-radius: 7px 0 0 7px;
}

.segments label:last-of-type span {
  border-radius: 0 7px 7px 0;
}

.segments label:only-of-type span {
  border-radius: 7px;
}

.segments input:checked + span {
  position: relative;
  border-color: var(--ink);
  background: var(--ground);
  color: var(--ink);
  font-weight: 600;
}

.segments input:not(:checked) + span .swatch {
  opacity: 0.35;
}

.control {
  display: block;
}

.check {
  display: flex;
  gap: 6px;
  align-items: center;
  height: 32px;
  cursor: pointer;
}

.check input {
  width: 16px;
  height: 16px;
  margin: 0;
  accent-color: var(--accent);
}

select,
button,
.control input,
.link {
  height: 32px;
  padding: 0 10px;
  border: 1px solid var(--muted);
  border-radius: 7px;
  background: var(--paper);
  color: var(--ink);
  font: inherit;
}

select {
  max-width: 170px;
}

.control input[type="number"] {
  width: 96px;
}

.control input[type="range"] {
  display: block;
  width: 150px;
  padding: 0;
  margin: 0;
  border: 0;
  background: none;
  accent-color: var(--accent);
}

button {
  cursor: pointer;
}

button:hover:not(:disabled) {
  border-color: var(--ink);
  background: var(--ground);
}

button:disabled {
  color: var(--muted);
  cursor: default;
  opacity: 0.55;
}

.buttons {
  display: flex;
  flex-wrap: wrap;
  gap: 6px;
}

.buttons.end {
  margin-inline-start: auto;
}

.link {
  width: 100%;
  margin-top: 8px;
}

:focus {
  outline: none;
}

:focus-visible,
.segments input:focus-visible + span {
  position: relative;
  outline: 3px solid var(--accent);
  outline-offset: 2px;
}
`;
