"use strict";
// What the benchmarks' own scripts draw with, from values that the page carries. Text from outside only
// ever becomes text nodes.
const page = (() => {
  const values = JSON.parse(document.getElementById("values").textContent);

  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const words = (id) => id.replaceAll("_", " ");
  const shown = (value) => (value === null || value === undefined ? "–" : value.toFixed(3).replace("-0.000", "0.000"));
  const unique = (rows, name) => [...new Set(rows.map((row) => row[name]))];

  // Charts ------------------------------------------------------------------------------------
  const drawn = new Map();
  const theme = () => {
    const style = getComputedStyle(document.body);
    const [ink, line] = ["--ink", "--line"].map((name) => {
      const probe = document.body.appendChild(make("i"));
      probe.style.color = `var(${name})`;
      const colour = getComputedStyle(probe).color;
      probe.remove();
      return colour;
    });
    return {
      background: "transparent",
      font: style.fontFamily,
      axis: { labelColor: ink, titleColor: ink, titleFontWeight: "normal", gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 12 },
      legend: { orient: "bottom", symbolBaseFillColor: ink, symbolBaseStrokeColor: ink, labelColor: ink, titleColor: ink, labelFontSize: 12, labelLimit: 240, layout: { bottom: { anchor: "start", direction: "vertical", offset: 10, margin: 4 } } },
      header: { labelColor: ink, titleColor: ink },
      rule: { color: ink },
      text: { color: ink, fontSize: 12 },
      view: { stroke: null },
    };
  };
  const draw = async (element, spec, label) => {
    drawn.set(element, [spec, label]);
    const made = await vegaEmbed(element, { ...spec, description: label }, {
      ast: true, actions: false, renderer: "svg", defaultStyle: false, config: theme(),
      tooltip: { disableDefaultStyle: true },
    });
    return made;
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const [element, [spec, label]] of drawn) if (element.isConnected) draw(element, spec, label);
  });

  const charts = (id, figures, shows) => {
    for (const { title, spec } of figures) {
      const chart = make("div", { className: "chart" });
      document.getElementById(id).append(make("figure", {}, make("figcaption", { textContent: title }), chart));
      draw(chart, spec, `${title}: ${shows}; the table of scores has the same figures`);
    }
  };

  // Replies -----------------------------------------------------------------------------------
  let unpacked;
  const replies = () => (unpacked ??= (async () => {
    const packed = Uint8Array.from(atob(document.getElementById("replies").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  })());

  const listed = (one, name) => {
    const body = make("details", {}, make("summary", { textContent: `${name}: ${one.shown.length} of ${one.total} replies` }));
    if (one.sheet !== null) body.append(make("p", {}, make("a", { href: `#sheet-${one.sheet}`, textContent: "its pictures", onclick: () => { body.closest("dialog")?.close(); document.getElementById(`sheet-${one.sheet}`).open = true; } })));
    else body.append(...one.shown.map(reply));
    return body;
  };
  const reply = (one) => {
    const read = one.outcome === "answered" ? `read as ${[one.letter, ...one.groups].filter(Boolean).join(", ")}` : `${one.outcome}: ${one.reason}`;
    const text = one.reply === null ? "(no reply is in the store)" : one.reply + (one.cut ? ` … and ${one.cut} more characters` : "");
    return make("div", { className: `reply ${one.outcome}` },
      make("pre", { className: "prompt", textContent: one.prompt ?? "" }), make("pre", { textContent: text }), make("p", { className: "note", textContent: read }));
  };

  // Replies to the cases of a benchmark that gives them no place of its own.
  const list = document.getElementById("replies-list");
  if (list) replies().then((cases) => {
    const several = unique(cases, "model").length > 1;
    const unplaced = cases.filter((one) => one.place === null);
    list.append(...unplaced.map((one) => listed(one, several ? `${one.model}, ${words(one.case)}` : words(one.case))));
  });

  return { values, make, words, shown, unique, draw, charts, replies, listed };
})();
