"use strict";
// What a reader opens is drawn here, from values the page carries. Text from outside only ever
// becomes text nodes.
(async () => {
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

  for (const [id, figures, told] of [["planes", values.planes, "S_fact against S_E"], ["etas", values.etas, "the manifestation factor"]]) {
    for (const { title, spec } of figures) {
      const chart = make("div", { className: "chart" });
      document.getElementById(id).append(make("figure", {}, make("figcaption", { textContent: title }), chart));
      draw(chart, spec, `${title}: ${told}; the table of scores has the same figures`);
    }
  }

  // The matrix --------------------------------------------------------------------------------
  const filters = document.getElementById("filters");
  if (filters && values.cells.length) {
    const table = document.getElementById("cells");
    const choices = ["model", "checklist", "attribute"];
    const offer = (name, rows) => { // a checklist has attributes of its own
      const select = filters.elements[name], former = select.value, options = unique(rows, name);
      select.replaceChildren(...options.map((one) => make("option", { value: one, textContent: one, selected: one === former })));
      select.closest("label").hidden = options.length < 2;
    };
    const narrowed = () => choices.reduce((rows, name) => {
      offer(name, rows);
      return rows.filter((cell) => cell[name] === filters.elements[name].value);
    }, values.cells);
    const score = (cell, name) => cell.scores[name === "asked" ? (cell.part === "objective" ? "s_fact" : "s_e") : name];
    const fill = () => {
      const here = narrowed();
      const chosen = Object.fromEntries(new FormData(filters));
      const needle = chosen.statistic.trim().toLowerCase();
      const rows = here.filter((cell) => words(cell.statistic).toLowerCase().includes(needle));
      const columns = unique(here, "column");
      table.tHead.replaceChildren(make("tr", {}, ...["statistic", ...columns].map((one, place) => make("th", { scope: "col", className: place ? "number" : "", textContent: words(one) }))));
      const statistics = unique(rows, "statistic");
      table.tBodies[0].replaceChildren(...statistics.map((statistic) => {
        const line = make("tr", {}, make("th", { scope: "row", textContent: words(statistic) }));
        for (const column of columns) {
          const cell = rows.find((one) => one.statistic === statistic && one.column === column);
          line.append(cell ? opener(cell, score(cell, chosen.score)) : make("td"));
        }
        return line;
      }));
      const all = values.cells.filter((cell) => cell.checklist === chosen.checklist);
      document.getElementById("shown").textContent = `${statistics.length} of ${unique(all, "statistic").length} statistics`;
    };
    const opener = (cell, value) => {
      const lost = cell.ends.reduce((sum, end) => sum + end.refused + end.unparsed + end.errors, 0);
      const button = make("button", { type: "button", textContent: shown(value) + (lost ? " *" : "") });
      const label = `${words(cell.statistic)}, ${words(cell.column)}: ${shown(value)}`;
      button.setAttribute("aria-label", lost ? `${label}, ${lost} answers not had` : label);
      button.style.setProperty("--v", (value ?? 0) ** 4); // even scores lie close to 1
      button.addEventListener("click", () => open(cell));
      return make("td", {}, button);
    };
    filters.addEventListener("input", fill);
    filters.addEventListener("submit", (event) => event.preventDefault());
    fill();
  }

  // A topic: shares, then questions and replies -------------------------------------------------
  let unpacked;
  const replies = () => (unpacked ??= (async () => {
    const packed = Uint8Array.from(atob(document.getElementById("replies").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  })());

  const open = async (cell) => {
    const dialog = document.getElementById("topic");
    const title = `${words(cell.statistic)}: ${cell.attribute}, ${words(cell.column)}`;
    document.getElementById("topic-title").textContent = title;
    const charts = make("div", { className: "charts" });
    const lists = make("div");
    document.getElementById("topic-body").replaceChildren(make("p", { className: "note", textContent: `${cell.model} · bars: share of the answers with 95 % intervals · blue: the true group · dashes: an even share` }), charts, lists);
    dialog.showModal();
    for (const end of cell.ends) {
      const chart = make("div", { className: "chart" });
      charts.append(make("figure", {}, make("figcaption", { textContent: `${end.direction}: ${end.truth} is true${end.fragile ? " (rests on a choice of measure)" : ""}` }), chart, counts(end)));
      const groups = end.groups.map((one) => ({ ...one, true: one.group === end.truth, even: 1 / end.groups.length }));
      draw(chart, { ...values.shares, height: 28 * groups.length, datasets: { groups } }, `Shares of the groups, ${end.direction}; the table below has the same figures`);
    }
    const cases = (await replies()).filter(
      (one) => one.model === cell.model && one.checklist === cell.checklist && one.statistic === cell.statistic && one.column === cell.column && one.attributes.includes(cell.attribute),
    );
    lists.append(make("h3", { textContent: "Questions and replies" }), ...cases.map(listed));
  };
  const counts = (end) => {
    const lost = ["refused", "unparsed", "errors"].map((name) => `${name} ${end[name]}`).join(", ");
    const told = end.groups.map((one) => `${one.group} ${one.count}`).join(", ");
    return make("p", { className: "note", textContent: `${told}; ${lost}; of ${end.asked} asked` });
  };
  const listed = (one) => {
    const body = make("details", {}, make("summary", { textContent: `${words(one.case)}: ${one.shown.length} of ${one.total} replies` }));
    if (one.sheet !== null) body.append(make("p", {}, make("a", { href: `#sheet-${one.sheet}`, textContent: "its pictures", onclick: () => { document.getElementById("topic").close(); document.getElementById(`sheet-${one.sheet}`).open = true; } })));
    else body.append(...one.shown.map(reply));
    return body;
  };
  const reply = (one) => {
    const read = one.outcome === "answered" ? `read as ${[one.letter, ...one.groups].filter(Boolean).join(", ")}` : `${one.outcome}: ${one.reason}`;
    const text = one.reply === null ? "(no reply is in the store)" : one.reply + (one.cut ? ` … and ${one.cut} more characters` : "");
    return make("div", { className: `reply ${one.outcome}` },
      make("pre", { className: "prompt", textContent: one.prompt ?? "" }), make("pre", { textContent: text }), make("p", { className: "note", textContent: read }));
  };

  // FAIntbench --------------------------------------------------------------------------------
  for (const tree of values.trees) {
    const columns = ["implicit", "explicit"].flatMap((metric) => tree.attributes.map((name) => `${metric}-${name}`))
      .filter((id) => tree.levels.some((level) => id in level.cells));
    const head = make("tr", {}, ...["level", ...columns.map((id) => id.replace("-", " "))].map((one, place) => make("th", { scope: "col", className: place ? "number" : "", textContent: one })));
    const body = make("tbody");
    const number = (cell) => {
      const td = make("td", { className: "number", textContent: shown(cell?.value) });
      if (!cell) return td;
      if (cell.low !== undefined && cell.high !== undefined) td.title = `${shown(cell.low)} to ${shown(cell.high)}`;
      if (cell.floor) td.append(make("span", { className: "floor", textContent: ` ${shown(cell.floor)}` }));
      if (cell.lost) td.append(make("span", { className: "floor", textContent: ` ${cell.lost} of ${cell.asked} pictures lost` }));
      return td;
    };
    const row = (level, depth, children) => {
      const name = level.id ? words(level.id) : "all prompts";
      const head = make("th", { scope: "row" });
      const line = make("tr", { className: `depth-${depth}` }, head, ...columns.map((id) => number(level.cells[id])));
      if (!children) { head.textContent = name; return line; }
      const button = make("button", { type: "button", textContent: name });
      button.setAttribute("aria-expanded", "false");
      head.append(button);
      let below = [];
      const close = (rows) => rows.forEach((one) => { const inner = one.querySelector("[aria-expanded=true]"); if (inner) inner.click(); one.remove(); });
      button.addEventListener("click", () => {
        const opened = button.getAttribute("aria-expanded") === "true";
        button.setAttribute("aria-expanded", String(!opened));
        if (opened) { close(below); below = []; } else { below = children(); line.after(...below); }
      });
      return line;
    };
    const prompts = (category) => {
      const by = new Map();
      for (const one of tree.prompts.filter((each) => each.category === category)) {
        const name = `${one.title}${one.part === "explicit" ? " (asked for)" : ""}`;
        if (!by.has(name)) by.set(name, { id: name, cells: {} });
        by.get(name).cells[`${one.part}-${one.attribute}`] = one;
      }
      return [...by.values()].map((level) => row(level, 3, null));
    };
    const categories = (kind) => tree.levels.filter((one) => one.within === kind && one.id).map((one) => row(one, 2, () => prompts(one.id)));
    const kinds = tree.levels.filter((one) => one.id && one.within === "");
    for (const level of tree.levels.filter((one) => !one.id)) body.append(row(level, 0, null));
    for (const level of kinds) body.append(row(level, 1, () => categories(level.id)));
    const scroll = make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: `Levels of ${tree.model}` },
      make("table", {}, make("thead", {}, head), body));
    document.getElementById("trees").append(make("h3", { textContent: values.trees.length > 1 ? tree.model : "Levels" }), scroll);
  }
})();
