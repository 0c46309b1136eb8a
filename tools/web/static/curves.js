// How fast it goes, drawn by uPlot; asked for again every two seconds while somebody looks.
"use strict";
(() => {
  const COLOURS = ["--curve-1", "--curve-2", "--curve-3", "--curve-4", "--curve-5", "--curve-6"];
  const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3], [12, 4], [3, 6]];
  const EVERY_MS = 2000, PATIENCE_MS = 5000;
  const box = document.getElementById("curves");
  if (!box) return;
  const place = box.querySelector(".plot");
  let plot = null, seconds = 0, data = null, titles = "", isAsking = false;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = () => ({ stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } });
  const written = (value) => value == null ? "-" : value >= 100 ? value.toFixed(0) : value.toFixed(1);

  // As everywhere on the page, where a date begins with its year and a day has 24 hours.
  const when = (seconds, from, to) => {
    const at = new Date((seconds - new Date(seconds * 1000).getTimezoneOffset() * 60) * 1000);
    return at.toISOString().replace("T", " ").slice(from, to);
  };
  const MINUTE = 60, HOUR = 3600, DAY = 86400;
  const STEPS = [1, 2, 5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE), ...[1, 2, 4, 8].map((each) => each * HOUR), ...[1, 2, 4, 8, 16, 32, 64, 128, 365].map((each) => each * DAY)];
  const times = (_, all, _axis, _space, step) => all.map((each) => step >= DAY ? when(each, 0, 10) : when(each, 11, step < MINUTE ? 19 : 16));

  function make() {
    if (plot) plot.destroy();
    place.replaceChildren();
    const lines = data.series.map((each, at) => ({
      label: each.title, stroke: colour(COLOURS[at % COLOURS.length]), width: 1.6,
      dash: DASHES[(at + Math.floor(at / COLOURS.length)) % DASHES.length], points: { show: (drawn) => drawn.data[0].length < 3 }, value: (_, value) => written(value),
    }));
    plot = new uPlot({
      width: place.clientWidth, height: 240, series: [{ label: "time", value: (_, at) => at == null ? "-" : when(at, 0, 19) }, ...lines],
      axes: [{ ...axis(), space: 80, incrs: STEPS, values: times }, { ...axis(), size: 56, values: (_, all) => all.map((each) => `${each}/s`) }],
      scales: { x: { range: (_, low, high) => [seconds ? high - seconds : low, high] }, y: { range: (_, low, high) => [0, Math.max(1, high * 1.1)] } },
      cursor: { drag: { x: false, y: false } },
    }, shown(), place);
  }

  // With the point before, where the first line begins: samples may lie further apart than a minute.
  function shown() {
    const first = seconds ? data.times[data.times.length - 1] - seconds : -Infinity;
    const from = Math.max(0, data.times.findIndex((each) => each >= first) - 1);
    const cut = (all) => all.slice(from);
    box.dataset.shown = data.times.length - from;
    return [cut(data.times), ...data.series.map((each) => cut(each.values))];
  }

  async function look() {
    if (document.hidden || isAsking) return;
    isAsking = true;  // a browser has few connections for a server: those that hang would leave none
    try {
      const answer = await fetch(box.dataset.source, { signal: AbortSignal.timeout(PATIENCE_MS) });
      if (!answer.ok) return;
      data = await answer.json();
    } catch { return; } finally { isAsking = false; }
    if (data.times.length < 2) return;  // a curve has two ends
    const now = data.series.map((each) => each.title).join();
    if (!plot || now !== titles) { titles = now; make(); } else plot.setData(shown());
    box.dataset.points = data.times.length;
    box.dataset.last = data.times[data.times.length - 1];
  }

  box.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-seconds]");
    if (!button) return;
    seconds = Number(button.dataset.seconds);
    for (const each of box.querySelectorAll("button[data-seconds]")) each.setAttribute("aria-pressed", String(each === button));
    if (plot) plot.setData(shown());
  });
  new ResizeObserver(() => plot && plot.setSize({ width: place.clientWidth, height: 240 })).observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => data && make());
  look();
  setInterval(look, EVERY_MS);
})();
