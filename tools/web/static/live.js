// Says when there is no connection any more; everything else is htmx's.
"use strict";
(() => {
  const lost = document.getElementById("lost");
  let last = new Date();
  const show = () => {
    lost.querySelector("time").textContent = last.toLocaleTimeString();
    lost.hidden = false;
  };
  const well = () => { last = new Date(); lost.hidden = true; };
  document.documentElement.classList.add("has-js");
  document.addEventListener("htmx:sse:after:message", well);
  document.addEventListener("htmx:sse:after:connection", well);
  document.addEventListener("htmx:sse:error", show);
  document.addEventListener("htmx:error", show);
  document.addEventListener("keydown", (event) => {
    const search = document.getElementById("search");
    if (event.key === "/" && search && !event.target.closest("input, textarea")) {
      event.preventDefault();
      search.focus();
    }
  });
})();
