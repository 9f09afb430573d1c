// The view of the metrics of the server.
export function metricsView(section) {
  section.textContent = "";
  return { show() {}, rest() {} };
}
