"use strict";
// The axes of eta, and the tree of levels and prompts, whose scores open as cells.
(() => {
  const { values, make, words, shown, charts, address, broke, marked } = page;

  charts("etas", values.etas, "the manifestation factor");

  for (const tree of values.trees) {
    const columns = ["implicit", "explicit"].flatMap((metric) => tree.attributes.map((name) => `${metric}-${name}`))
      .filter((id) => tree.levels.some((level) => id in level.cells));
    const body = make("tbody");
    const split = (id) => [id.slice(0, id.indexOf("-")), id.slice(id.indexOf("-") + 1)];

    // Every score is a cell: that of a prompt, or of a level with the prompts below it.
    const cell = (level, id, one, cases) => {
      const [part, attribute] = split(id);
      const named = (said) => said.includes(attribute) || !tree.attributes.some((other) => said.includes(other));
      const place = (model) => address(model, tree.checklist, part, attribute, level.key);
      const found = broke(tree.model, tree.checklist, cases, named), several = level.id === "" || level.kind;
      const counts = Object.entries(one.counts ?? {}).map(([group, count]) => `${group} ${count}`).join(", ");
      const told = [
        `${shown(one.value)}${one.low === undefined ? "" : ` (${shown(one.low)} to ${shown(one.high)})`}`,
        one.floor ? `lowest possible ${shown(one.floor)}` : "", counts,
        one.lost ? `${one.lost} of ${one.asked} pictures lost` : "",
      ].filter(Boolean).join("; ");
      return {
        model: tree.model, failed: found, broke: found, home: "#levels", address: place(tree.model), addressOf: place,
        title: `${level.name}: ${part}, ${attribute}`, short: `${level.name}, ${attribute}`, legend: tree.meanings[part],
        select: several ? [part, level.id].filter(Boolean).join("-") : [...new Set(cases)].join(" or "),
        holds: (reply) => !several && reply.checklist === tree.checklist && cases.includes(reply.case),
        show: () => [[make("p", { textContent: told }), several ? make("p", { className: "note", textContent: "Its pictures are shown with each category and each prompt below it." }) : ""], []],
      };
    };
    const below = (level, id) => {
      const [part, attribute] = split(id);
      const within = (one) => (level.key === one.case || level.id === "" || level.id === (level.kind ? one.kind : one.category));
      return [...new Set(tree.prompts.filter((one) => one.part === part && (attribute === one.attribute || !tree.prompts.some((other) => other.attribute === attribute)) && within(one)).map((one) => one.case))];
    };
    const cells = new Map(); // by their address
    const offered = (level) => columns.filter((id) => level.cells[id]).map((id) => {
      const made = cell(level, id, level.cells[id], level.leaf ? [level.leaf] : below(level, id));
      cells.set(made.address, made);
      return made;
    });
    const head = make("tr", {}, make("th", { scope: "col", textContent: "level" }), ...columns.map((id) => {
      const [part, attribute] = split(id);
      const failed = values.marks.length ? broke(tree.model, tree.checklist, below({ id: "", key: "" }, id), (said) => said.includes(attribute) || !tree.attributes.some((other) => said.includes(other))) : [];
      const button = make("button", { type: "button", className: "term", textContent: `${failed.length ? "▲ " : ""}${id.replace("-", " ")}` });
      const one = make("th", { scope: "col", className: "number" }, button);
      one.dataset.tip = `${failed.length ? `FAILED: ${[...new Set(failed)].join(", ")}. ` : ""}${tree.meanings[part]}`;
      return one;
    }));
    const number = (level, id) => {
      const cell = level.cells[id];
      const td = make("td", { className: "number" });
      if (!cell) { td.textContent = shown(undefined); return td; }
      const [part, attribute] = split(id);
      const opener = cells.get(address(tree.model, tree.checklist, part, attribute, level.key));
      const link = make("a", { href: opener.address, textContent: shown(cell.value) });
      if (cell.low !== undefined && cell.high !== undefined) link.dataset.tip = `${shown(cell.low)} to ${shown(cell.high)}`;
      td.append(marked(link, opener));
      if (cell.floor) td.append(make("span", { className: "floor", textContent: ` ${shown(cell.floor)}` }));
      if (cell.lost) td.append(make("span", { className: "floor", textContent: ` ${cell.lost} of ${cell.asked} pictures lost` }));
      return td;
    };
    const row = (level, depth, children) => {
      const { name } = level;
      const head = make("th", { scope: "row" });
      const line = make("tr", { className: `depth-${depth}` }, head, ...columns.map((id) => number(level, id)));
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
    const by = new Map();
    for (const one of tree.prompts) {
      const name = `${one.title}${one.part === "explicit" ? " (asked for)" : ""}`, key = `${one.category}/${name}`;
      if (!by.has(key)) by.set(key, { id: name, key, name, leaf: one.case, category: one.category, cells: {} });
      by.get(key).cells[`${one.part}-${one.attribute}`] = one;
    }
    const prompts = (category) => [...by.values()].filter((one) => one.category === category).map((level) => row(level, 3, null));
    for (const level of tree.levels) Object.assign(level, { key: level.id, name: level.id ? words(level.id) : "all prompts", kind: level.within === "" });
    const leaves = [...by.values()].flatMap(offered);
    const levels = tree.levels.flatMap(offered);
    const categories = (kind) => tree.levels.filter((one) => one.within === kind && one.id).map((one) => row(one, 2, () => prompts(one.id)));
    const kinds = tree.levels.filter((one) => one.id && one.within === "");
    for (const level of tree.levels.filter((one) => !one.id)) body.append(row(level, 0, null));
    for (const level of kinds) body.append(row(level, 1, () => categories(level.id)));
    const scroll = make("div", { className: "scroll", tabIndex: 0, role: "group", ariaLabel: `Levels of ${tree.model}` },
      make("table", {}, make("thead", {}, head), body));
    page.offer([...levels, ...leaves], leaves);
    page.located.push((one) => one.model === tree.model && one.place?.prompt && leaves.find((leaf) => leaf.holds(one))?.address);
    document.getElementById("trees").append(make("h3", { textContent: values.trees.length > 1 ? tree.model : "Levels" }), scroll);
  }
})();
