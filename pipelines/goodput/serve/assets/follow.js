"use strict";
// Says when a run has published what this page does not show yet. Nothing is taken from under a reader.
(() => {
  const { generation, askEveryS } = document.body.dataset;
  const follow = async () => {
    try {
      const answer = await fetch("/generation", { cache: "no-store" });
      if (answer.ok && (await answer.text()) !== generation) document.getElementById("newer").hidden = false;
    } catch { /* the server is away: the page stays as it is */ }
  };
  document.getElementById("renew").addEventListener("click", () => location.reload());
  setInterval(follow, 1000 * Number(askEveryS));
})();
