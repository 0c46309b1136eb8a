// Says when there is no connection any more, and what keys do; everything else is htmx's.
"use strict";
(() => {
  const LOST = "no connection · Sheaf";
  const lost = document.getElementById("lost");
  let last = new Date();
  const show = () => {
    lost.querySelector("time").textContent = last.toLocaleTimeString();
    lost.hidden = false;
    document.title = LOST;
  };
  const PATIENCE_MS = 5000, TITLE_MS = 10000;
  const live = document.querySelector("main[hx-sse\\:connect]");
  let isLive = !live;
  // A title stands in the head, which nothing sends again.
  const well = () => {
    last = new Date();
    lost.hidden = true;
    isLive = true;
    document.title = document.getElementById("status").dataset.title;
  };
  // A page that was never live, because too many are open, would stand still without a word.
  setInterval(() => {
    if (isLive || document.hidden) return;
    show();
    htmx.ajax("GET", live.getAttribute("hx-sse:connect"), { source: live });
  }, PATIENCE_MS);
  // The stream rests while nobody sees the page; its title is seen all the same.
  setInterval(async () => {
    if (!live || !document.hidden) return;
    try {
      const answer = await fetch("/api/status");
      if (answer.ok) document.title = (await answer.json()).title;
    } catch {
      document.title = LOST;
    }
  }, TITLE_MS);
  document.documentElement.classList.add("has-js");
  document.addEventListener("htmx:sse:after:message", well);
  document.addEventListener("htmx:sse:after:connection", well);
  document.addEventListener("htmx:sse:error", show);
  document.addEventListener("htmx:error", show);
  document.addEventListener("focusin", (event) => {  // texts that are copied whole
    if (event.target.matches("textarea.copied")) event.target.select();
  });
  document.addEventListener("keydown", (event) => {
    const search = document.getElementById("search");
    if (event.key === "/" && search && !event.target.closest("input, textarea")) {
      event.preventDefault();
      search.focus();
    }
  });
})();
