/** Styles of the whole and of its head. */

export const FRAME_STYLE = `
:host {
  display: block;
  color-scheme: light dark;
}

[hidden] {
  display: none !important;
}

.attnflow {
  position: relative;
  box-sizing: border-box;
  max-width: 1680px;
  margin: 0 auto;
  padding: 24px;
  color: var(--ink);
  background: var(--ground);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  text-align: start;
  -webkit-text-size-adjust: 100%;
}

.attnflow * {
  box-sizing: border-box;
}

:is(h1, h2, h3),
p,
ul,
fieldset {
  margin: 0;
  padding: 0;
  border: 0;
}

.title {
  font-size: 20px;
  font-weight: 650;
  line-height: 1.3;
}

.method {
  display: flex;
  gap: 8px;
  align-items: center;
  font-size: 15px;
  font-weight: 650;
}

header {
  display: flex;
  flex-wrap: wrap;
  gap: 16px 48px;
  justify-content: space-between;
  margin-bottom: 20px;
}

.about {
  flex: 1 1 320px;
  min-width: 0;
}

.read {
  display: -webkit-box;
  max-width: 75ch;
  margin-top: 4px;
  overflow: hidden;
  color: var(--muted);
  font-size: 16px;
  overflow-wrap: anywhere;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 3;
}

/* ---- prediction */

.prediction {
  flex: 0 1 300px;
  min-width: 0;
  font-size: 13px;
}

.prediction ul {
  margin-top: 4px;
  list-style: none;
}

.prediction li {
  display: grid;
  grid-template-columns: minmax(60px, max-content) 1fr 4.5em;
  gap: 8px;
  align-items: center;
  color: var(--muted);
}

.prediction .chosen {
  color: var(--ink);
  font-weight: 600;
}

.prediction .name {
  max-width: 140px;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.bar {
  height: 8px;
  border-radius: 4px;
  background: linear-gradient(var(--accent), var(--accent)) 0 0 / var(--part) 100% no-repeat, var(--line);
}

.part {
  font-variant-numeric: tabular-nums;
  text-align: end;
}
`;
