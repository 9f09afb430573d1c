// Whether the server is ready, told at the top of the page for as long as it is not.
import { tell } from "./dom.js";

const every = 3000; // milliseconds between two looks
const patience = 5000; // for an answer

// watch looks after the server for as long as the page is seen, and calls onBack when a server that
// was away or not ready is ready again.
export function watch(onBack) {
  let away = false;
  const look = async () => {
    if (!document.hidden) {
      const { ready, text } = await ask();
      tell(document.getElementById("server"), text);
      if (ready && away) onBack();
      away = !ready;
    }
    setTimeout(look, every);
  };
  look();
}

// ask asks whether the server is ready, and words what is to be told about it.
async function ask() {
  try {
    const response = await fetch("/readyz", {
      cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(patience),
    });
    const text = (await response.text()).trim();
    if (!response.ok) return { ready: false, text: `The server is not ready: ${text}.` };
    return { ready: true, text: text === "ok" ? "" : `The server is ${text}.` };
  } catch {
    return { ready: false, text: "The server does not answer. This page goes on when it does." };
  }
}
