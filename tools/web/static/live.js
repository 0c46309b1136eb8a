// Says when there is no connection any more, and what keys do; everything else is htmx's.
"use strict";
(() => {
  const LOST = "no connection · Sheaf";
  const SILENT = "No connection to the server", ANEW = "The server was started anew: open the address that it printed";
  const lost = document.getElementById("lost");
  let last = new Date();
  // What is said already is not said again, for it would be read aloud again.
  const say = (element, text) => { if (element.textContent !== text) element.textContent = text; };
  const show = (why) => {
    say(lost.querySelector("span"), why);
    say(lost.querySelector("time"), last.toLocaleTimeString());
    lost.hidden = false;
    document.title = LOST;
  };
  const PATIENCE_MS = 5000, QUIET_MS = 10000;
  const live = document.querySelector("main[hx-sse\\:connect]");
  let isLive = !live;
  // A page that could not be shown lacks more than its part: its scripts, and the pages of its job.
  const isTrouble = () => document.getElementById("trouble") !== null;
  let wasTrouble = isTrouble();
  // A title stands in the head, which nothing sends again.
  const well = () => {
    if (wasTrouble && !isTrouble()) location.reload();
    wasTrouble = isTrouble();
    last = new Date();
    lost.hidden = true;
    isLive = true;
    document.title = document.getElementById("status").dataset.title;
  };
  const titleNow = async () => {
    try {
      const answer = await fetch("/api/status", { signal: AbortSignal.timeout(PATIENCE_MS) });
      if (answer.ok) return (await answer.json()).title;
      if (answer.status === 403) show(ANEW);
    } catch {
      show(SILENT);
    }
    return null;
  };
  const cut = async () => { if (await titleNow() !== null) show(SILENT); };
  // A page that was never live, because too many are open, would stand still without a word.
  const begin = () => htmx.ajax("GET", live.getAttribute("hx-sse:connect"), { source: live });
  setInterval(() => {
    if (isLive || document.hidden) return;
    show(SILENT);
    begin();
  }, PATIENCE_MS);
  // The stream rests while nobody sees the page; its title is seen all the same. And a line that was cut
  // without a word looks like one on which nothing happens: whoever hears nothing for long asks.
  setInterval(async () => {
    if (!live || (!document.hidden && new Date() - last < QUIET_MS)) return;
    const title = await titleNow();
    if (title === null) return;
    if (document.hidden) document.title = title;
    else if (title !== document.title) live._htmx?.sse?.reader?.cancel();  // it begins anew, and alone
    else well();
  }, QUIET_MS);
  document.documentElement.classList.add("has-js");
  document.addEventListener("htmx:sse:after:message", well);
  document.addEventListener("htmx:sse:after:connection", well);
  document.addEventListener("htmx:sse:error", cut);
  document.addEventListener("htmx:error", cut);
  // Who has pressed a button that another one stands for now, such as Pause, stays there.
  let focused = "";
  document.addEventListener("focusin", (event) => { focused = event.target.dataset.instead || ""; });
  document.addEventListener("pointerdown", () => { focused = ""; });
  document.addEventListener("htmx:sse:after:message", () => {
    if (document.activeElement === document.body && focused) document.getElementById(focused)?.focus();
  });
  const copied = async (button) => {
    const field = button.previousElementSibling;
    field.select();
    try { await navigator.clipboard.writeText(field.value); } catch { document.execCommand("copy"); }
    button.textContent = "Copied";
  };
  for (const field of document.querySelectorAll("textarea.copied")) {
    if (field.nextElementSibling?.matches(".copy")) continue;
    field.insertAdjacentHTML("afterend", '<button type="button" class="mini copy">Copy</button>');
  }
  document.addEventListener("click", (event) => { if (event.target.matches(".copy")) copied(event.target); });
  document.addEventListener("focusin", (event) => {  // texts that are copied whole
    if (event.target.matches("textarea.copied")) event.target.select();
  });
  const number = document.getElementById("found-number"), found = document.getElementById("found");
  document.addEventListener("htmx:after:swap", () => {  // who hears the page hears how many, not all of them
    if (number && found) say(number, found.querySelector(".results") ? `${found.querySelectorAll(".results li").length} found` : found.innerText);
  });
  document.addEventListener("keydown", (event) => {
    const search = document.getElementById("search");
    if (event.key === "/" && search && !event.target.closest("input, textarea")) {
      event.preventDefault();
      search.focus();
    }
  });
})();
