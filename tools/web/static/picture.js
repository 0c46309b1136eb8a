// Concepts as a picture that grows by clicks.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("picture");
  const form = document.getElementById("choices");
  if (!place || !window.cytoscape) return;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  /* Two slashes at the beginning would name another host. */
  const pathOf = (path) => path.split("/").map(encodeURIComponent).join("/").replace(/^\/\//, "/%2F");
  const looks = () => [
    { selector: "node", style: {
      "shape": "round-rectangle", "corner-radius": 12, "width": 84, "height": 63, "background-color": colour("--well"), "border-width": 2, "border-color": colour("--line"),
      "label": "data(name)", "color": colour("--ink"), "font-family": "sans-serif", "font-size": 13, "text-valign": "bottom", "text-margin-y": 4,
      "text-max-width": 120, "text-wrap": "ellipsis", "text-background-color": colour("--card"), "text-background-opacity": 0.8 } },
    { selector: "node[picture]", style: { "background-image": "data(picture)", "background-fit": "cover" } },
    { selector: "node.centre", style: { "width": 128, "height": 96, "border-color": colour("--link"), "border-width": 4, "font-weight": "bold" } },
    { selector: "node.grown", style: { "border-color": colour("--link") } },
    { selector: "node.chosen", style: { "underlay-color": colour("--link"), "underlay-opacity": 0.35, "underlay-padding": 14, "underlay-shape": "round-rectangle" } },
    { selector: "edge", style: {
      "width": "mapData(weight, 0, 6, 1, 5)", "line-color": colour("--edge"), "target-arrow-color": colour("--soft"), "target-arrow-shape": "triangle",
      "curve-style": "bezier", "label": "data(label)", "font-family": "sans-serif", "font-size": 11, "color": colour("--soft"), "text-rotation": "autorotate",
      // Small letters are drawn wider than they were measured: without room around it a label is cut off at its ends.
      "text-background-color": colour("--card"), "text-background-opacity": 0.85, "text-background-padding": 8, "text-background-shape": "round-rectangle" } },
    { selector: "edge[?shown]", style: { "line-color": colour("--link") } },
  ];
  const cy = cytoscape({ container: place, minZoom: 0.15, maxZoom: 4, style: looks() });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => cy.style(looks()));
  const say = (text) => { document.getElementById("picture-said").textContent = text; };
  const leftOut = (around) => around.left_out
    ? `; ${around.is_exact ? "" : "at least "}${around.left_out} neighbours of ${cy.getElementById(around.centre).data("name")} are not shown` : "";
  // As wide and high as there is room, so that a narrow window shows it no smaller than it must.
  const WIDTH = 640, HEIGHT = 360, narrow = () => place.clientWidth < place.clientHeight;
  const circle = (uris, far, first = 0) => new Map(uris.map((uri, number) => {
    const turn = 2 * Math.PI * (first + number) / uris.length, [x, y] = narrow() ? [HEIGHT, WIDTH] : [WIDTH, HEIGHT];
    return [uri, [far(number) * x * Math.cos(turn), far(number) * y * Math.sin(turn)]];
  }));
  // Around the centre two rings, one between the gaps of the other; the neighbours of neighbours outside, each beyond its own.
  const rings = (around) => {
    const steps = around.edges.flatMap((edge) => [[edge.source, edge.target], [edge.target, edge.source]]);
    const near = new Set(steps.filter(([from]) => from === around.centre).map(([, to]) => to));
    near.delete(around.centre);
    const inner = around.nodes.map((node) => node.uri).filter((uri) => near.has(uri));
    const whose = new Map();
    for (const [from, to] of steps) if (near.has(from) && !whose.has(to)) whose.set(to, inner.indexOf(from));
    const outer = around.nodes.map((node) => node.uri).filter((uri) => uri !== around.centre && !near.has(uri))
      .sort((one, other) => whose.get(one) - whose.get(other));
    const size = outer.length ? 0.95 : 1;
    return new Map([[around.centre, [0, 0]], ...circle(inner, (number) => size * (number % 2 ? 0.58 : 1), 1),
      ...circle(outer, (number) => number % 2 ? 1.33 : 1.62, 1)]);
  };
  const add = (around) => {
    const old = new Set(cy.nodes().map((node) => node.id()));
    const from = cy.getElementById(around.centre);
    const middle = from.nonempty() ? from.position() : { x: 0, y: 0 };
    const fresh = around.nodes.filter((node) => !old.has(node.uri));
    const isFirst = old.size === 0;
    const places = isFirst ? rings(around) : circle(fresh.map((node) => node.uri), () => 0.7);
    cy.batch(() => {
      for (const node of fresh) {
        const [x, y] = places.get(node.uri);
        cy.add({ group: "nodes", data: { id: node.uri, name: (node.has_sound ? "♪ " : "") + node.name.slice(0, 80),
          ...(node.picture ? { picture: "/thumb/" + pathOf(node.picture.path) } : {}) },
          position: { x: middle.x + x, y: middle.y + y } });
      }
      for (const edge of around.edges) {
        if (cy.getElementById(edge.uri).empty()) {
          cy.add({ group: "edges", data: { id: edge.uri, source: edge.source, target: edge.target, type: edge.type,
            label: edge.label, weight: edge.weight, shown: edge.media.length > 0 } });
        }
      }
    });
    cy.getElementById(around.centre).addClass("grown");
    const moved = { name: "cose", animate: !still, animationDuration: 500, randomize: false, nodeRepulsion: () => 400000,
      idealEdgeLength: () => 150, nodeOverlap: 40, gravity: 0.15, initialTemp: 60 };
    const pinned = cy.nodes(".pinned");
    const layout = cy.layout({ ...(isFirst ? { name: "preset" } : moved), fit: true, padding: 40 });
    layout.one("layoutstop", () => pinned.unlock());  // else nobody could drag them again
    pinned.lock();
    layout.run();
    offer(around.types);
    say(`${cy.nodes().length} concepts, ${cy.edges().length} relations` + leftOut(around));
    place.dataset.nodes = cy.nodes().length;
  };
  const types = () => {
    const boxes = [...form.querySelectorAll("input[type=checkbox]")];
    const on = boxes.filter((box) => box.checked);
    return on.length === boxes.length ? "" : on.map((box) => box.value).join(" ") || "-";
  };
  // What comes in by growing can be chosen, too; what was not asked for is not chosen.
  const offer = (found) => {
    const boxes = [...form.querySelectorAll("input[type=checkbox]")];
    const isChosen = boxes.every((box) => box.checked);
    for (const each of found.filter((type) => !boxes.some((box) => box.value === type.type))) {
      const box = Object.assign(document.createElement("input"), { type: "checkbox", value: each.type, checked: isChosen });
      const label = document.createElement("label");
      label.append(box, ` ${each.label}`);
      document.getElementById("types").append(label, " ");
    }
  };
  const answerTo = async (asked) => {
    try {
      const answer = await fetch(`/api/graph?${asked}`);
      return answer.ok ? (await answer.json()).around : null;
    } catch {
      return null;
    }
  };
  let beginnings = 0;  // what was asked before the last one is for another choice
  const grow = async (concept) => {
    const begun = beginnings;
    const isFirst = cy.nodes().empty();
    const asked = new URLSearchParams({ concept, types: types(), weight: form.elements.weight.value || "0",
      depth: isFirst ? form.elements.depth.value : "1", nodes: isFirst ? "24" : "10", known: cy.nodes().map((node) => node.id()).join(" ").slice(0, 6000) });
    const around = await answerTo(asked);
    if (begun !== beginnings) return;
    if (!around) { say("It cannot be shown now: try again."); return; }
    add(around);
    cy.getElementById(place.dataset.concept).addClass("centre");
  };
  const begin = () => { beginnings += 1; cy.elements().remove(); grow(place.dataset.concept); };
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  // A file of its own holds its pictures: whoever opens it elsewhere cannot ask us for them.
  const held = async (address) => {
    const answer = await fetch(address);
    if (!answer.ok) return "";
    const blob = await answer.blob();
    return new Promise((done) => {
      const reader = new FileReader();
      reader.onload = () => done(reader.result);
      reader.onerror = () => done("");
      reader.readAsDataURL(blob);
    });
  };
  const svg = async () => {
    const box = cy.elements().boundingBox();
    const text = (value) => value.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);
    const lines = cy.edges().map((edge) => {
      const a = edge.sourceEndpoint(), b = edge.targetEndpoint(), turn = Math.atan2(b.y - a.y, b.x - a.x) * 180 / Math.PI;
      const x = (a.x + b.x) / 2, y = (a.y + b.y) / 2, upright = Math.abs(turn) > 90 ? turn + 180 : turn;
      return `<line x1="${a.x}" y1="${a.y}" x2="${b.x}" y2="${b.y}" stroke="#999" stroke-width="1.5" marker-end="url(#to)"/>` +
        `<text transform="translate(${x} ${y}) rotate(${upright})" font-size="10" fill="#555" text-anchor="middle" paint-order="stroke" stroke="#fff" stroke-width="4">${text(edge.data("label"))}</text>`;
    });
    const dots = await Promise.all(cy.nodes().map(async (node, number) => {
      const p = node.position(), w = node.width(), h = node.height(), picture = node.data("picture") ? await held(node.data("picture")) : "";
      const frame = `x="${p.x - w / 2}" y="${p.y - h / 2}" width="${w}" height="${h}"`, card = `<rect ${frame} rx="12" fill="#eee" stroke="#888" stroke-width="2"/>`;
      const shown = picture && `<clipPath id="n${number}">${card}</clipPath><image href="${text(picture)}" ${frame} preserveAspectRatio="xMidYMid slice" clip-path="url(#n${number})"/>`;
      return `${card}${shown}<text x="${p.x}" y="${p.y + h / 2 + 16}" font-size="13" text-anchor="middle">${text(node.data("name"))}</text>`;
    }));
    const arrow = '<marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#777"/></marker>';
    return `<svg xmlns="${document.getElementById("empty").namespaceURI}" viewBox="${box.x1 - 20} ${box.y1 - 20} ${box.w + 40} ${box.h + 60}" font-family="sans-serif"><defs>${arrow}</defs>${lines.join("")}${dots.join("")}</svg>`;
  };
  let last = null;
  cy.on("dragfree", "node", (event) => event.target.addClass("pinned"));
  cy.on("tap", "node", (event) => {
    const id = event.target.id();
    if (last && last.id === id && event.timeStamp - last.time < 400) { open(event.target); return; }
    last = { id, time: event.timeStamp };
    grow(id);
  });
  // By keys: one concept is chosen, at first the centre.
  const open = (node) => { location.href = pathOf(node.id()); };
  const chosen = () => { const one = cy.nodes(".chosen"); return one.nonempty() ? one.first() : cy.nodes(".centre").first(); };
  const choose = (node) => {
    cy.nodes(".chosen").removeClass("chosen");
    node.addClass("chosen");
    const at = node.renderedPosition();
    if (at.x < 0 || at.y < 0 || at.x > cy.width() || at.y > cy.height()) cy.center(node);
    const name = Object.assign(document.createElement("bdi"), { textContent: node.data("name") });
    document.getElementById("picture-chosen").replaceChildren(name, `, joined with ${node.openNeighborhood("node").length} here`);
    place.dataset.chosen = node.id();
  };
  // The nearest in this direction: what lies aside is farther than it is.
  const beside = (x, y) => {
    const from = chosen().position();
    const far = cy.nodes().map((node) => {
      const to = node.position(), dx = to.x - from.x, dy = to.y - from.y;
      return { node, ahead: dx * x + dy * y, aside: Math.abs(dx * y - dy * x) };
    }).filter((each) => each.ahead > 1 && each.aside <= 2 * each.ahead);
    far.sort((one, other) => one.ahead + 2 * one.aside - other.ahead - 2 * other.aside);
    return far.length ? far[0].node : chosen();
  };
  const next = (by) => {
    const nodes = cy.nodes().toArray();
    return nodes[(nodes.indexOf(chosen()) + by + nodes.length) % nodes.length];
  };
  const keys = {
    ArrowRight: () => choose(beside(1, 0)), ArrowLeft: () => choose(beside(-1, 0)),
    ArrowDown: () => choose(beside(0, 1)), ArrowUp: () => choose(beside(0, -1)),
    n: () => choose(next(1)), p: () => choose(next(-1)), o: () => open(chosen()),
    Enter: (event) => { if (event.shiftKey) open(chosen()); else grow(chosen().id()); },
  };
  place.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key] || chosen().empty()) return;
    event.preventDefault();
    keys[event.key](event);
  });
  place.addEventListener("focus", () => { if (chosen().nonempty()) choose(chosen()); });
  form.addEventListener("change", begin);
  form.addEventListener("submit", (event) => { event.preventDefault(); begin(); });
  document.getElementById("again").addEventListener("click", begin);
  document.getElementById("png").addEventListener("click", async () => save(await cy.png({ output: "blob-promise", full: true, scale: 2, bg: colour("--card") }), "graph.png"));
  document.getElementById("svg").addEventListener("click", async () => save(new Blob([await svg()], { type: "image/svg+xml" }), "graph.svg"));
  window.picture = cy;
  begin();
});
