/** When things were seen: marks that tests and the browser's own tools read. */

/** Once the browser has painted what was drawn in this frame. */
export function afterFrame(run) {
  const channel = new MessageChannel();
  channel.port1.onmessage = () => (channel.port1.close(), run());
  channel.port2.postMessage(null);
}

/** The time from a movement of the pointer to the picture that answers it; the last one is kept. */
export function measureHover(start) {
  return () => {
    performance.clearMeasures("attnflow-hover");
    performance.measure("attnflow-hover", { start, end: performance.now() });
  };
}
