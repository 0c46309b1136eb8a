// The gallery by keyboard.
"use strict";
(() => {
  const tiles = [...document.querySelectorAll(".tile")];
  const dialog = document.getElementById("large");
  if (!tiles.length || !dialog) return;
  const change = document.querySelector(".gallery-page").dataset.change;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let at = 0;

  const show = (tile) => {
    const shown = document.getElementById("large-shown");
    const { kind, name } = tile.dataset;
    const file = kind === "visual" && still.matches ? tile.dataset.file.replace("/file/", "/thumb/") : tile.dataset.file;
    const made = document.createElement(!file ? "p" : kind === "audio" ? "audio" : "img");
    if (!file) made.textContent = "The file is not on this computer.";
    else if (kind === "audio") Object.assign(made, { src: file, controls: true });
    else Object.assign(made, { src: file, alt: name });
    shown.replaceChildren(made);
    const said = document.getElementById("large-said");
    const owner = document.createElement("a");
    owner.href = tile.dataset.owner;
    owner.textContent = tile.dataset.name;
    const credit = tile.closest("li").querySelector("template").content.cloneNode(true);
    said.replaceChildren(owner, " ", credit, ` · SHA-256 ${tile.dataset.sha256}`);
    document.getElementById("large-notice").replaceChildren();
    if (!dialog.open) dialog.showModal();
    // A sound would take the keys; and what was shown before may have had the focus.
    if (made.controls || !dialog.contains(document.activeElement)) dialog.focus();
  };
  const go = (to) => {
    at = Math.max(0, Math.min(tiles.length - 1, to));
    if (dialog.open) show(tiles[at]); else tiles[at].focus();
  };
  const columns = () => {
    const second = tiles.findIndex((tile) => tile.getBoundingClientRect().top > tiles[0].getBoundingClientRect().top + 4);
    return second < 1 ? tiles.length : second;
  };
  // What lies behind an open dialog nobody sees.
  const say = (text, isWell) => {
    const notice = document.createElement("p");
    notice.className = isWell ? "notice" : "notice bad";
    notice.textContent = text;
    document.getElementById(dialog.open ? "large-notice" : "said").replaceChildren(notice);
  };
  // A refusal may come from before the action, and is a text then.
  const said = async (answer) => {
    const text = await answer.text();
    try { return JSON.parse(text).said; } catch { return text.slice(0, 300); }
  };
  const sent = async (sha256, verdict) => {
    try {
      const answer = await fetch("/act/judge", {
        method: "POST",
        headers: { "X-Sheaf-Token": change, "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ sha256, verdict }),
      });
      say(await said(answer), answer.ok);
      return answer.ok;
    } catch {
      say("The judgement is not kept, because the server does not answer: try again.", false);
      return false;
    }
  };
  const judge = async (verdict) => {
    const tile = tiles[at];
    if (!change || !await sent(tile.dataset.sha256, verdict)) return;
    for (const same of tiles.filter((each) => each.dataset.sha256 === tile.dataset.sha256)) {
      const item = same.closest("li");
      item.className = verdict === "none" ? "" : verdict;
      item.querySelector(".verdict").textContent = item.className;
    }
  };
  tiles.forEach((tile, number) => {
    tile.addEventListener("focus", () => { at = number; });
    tile.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;  // a window or a tab of its own
      event.preventDefault();
      at = number;
      show(tile);
    });
  });
  for (const button of dialog.querySelectorAll("[data-verdict]")) {
    button.addEventListener("click", () => judge(button.dataset.verdict));
  }
  document.getElementById("large-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    document.getElementById("large-shown").replaceChildren();
    tiles[at].focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("audio") && event.key.startsWith("Arrow")) return;  // louder, softer, back and on
    const act = {
      ArrowRight: () => go(at + 1), ArrowLeft: () => go(at - 1),
      ArrowDown: () => go(at + columns()), ArrowUp: () => go(at - columns()),
      g: () => judge("good"), b: () => judge("bad"), u: () => judge("none"),
      n: () => { const next = document.getElementById("next"); if (next) location.href = next.href; },
    }[event.key];
    const isChosen = dialog.open || tiles.includes(document.activeElement);
    if (!act || (event.key !== "n" && !isChosen)) return;  // else nobody could scroll
    event.preventDefault();
    act();
  });
})();
