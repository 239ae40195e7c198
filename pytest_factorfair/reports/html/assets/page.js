"use strict";
// What the benchmarks' own scripts draw with besides charts: words, replies, and cells that a reader opens.
const page = (() => {
  const { make, values } = charting;
  const words = (id) => id.replaceAll("_", " ");
  const shown = (value) => (value === null || value === undefined ? "–" : value.toFixed(3).replace("-0.000", "0.000"));
  const unique = (rows, name) => [...new Set(rows.map((row) => row[name]))];

  // Replies -----------------------------------------------------------------------------------
  let unpacked;
  const replies = () => (unpacked ??= (async () => {
    const packed = Uint8Array.from(atob(document.getElementById("replies").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  })());

  const listed = (one, name, alone = false) => {
    const pictured = one.shown[0]?.picture !== undefined; // all were painted after one prompt
    const body = make("details", { open: pictured || alone }, make("summary", { textContent: `${name}: ${one.total === undefined ? one.shown.length : `${one.shown.length} of ${one.total}`} replies` }),
      ...(pictured ? [make("p", { className: "note", textContent: one.shown[0].prompt ?? "" })] : []), make("div", { className: "shown" }, ...one.shown.map(reply)));
    if (one.sheet !== null) body.append(make("p", {}, make("a", { href: `#sheet-${one.sheet}`, textContent: "all its pictures", onclick: () => { body.closest("dialog")?.close(); document.getElementById(`sheet-${one.sheet}`).open = true; } })));
    body.dataset.case = one.case;
    return body;
  };
  const reading = (one) => (one.outcome === "answered" ? `${one.picture === undefined ? "read" : "perceived"} as ${[one.letter, ...one.groups].filter(Boolean).join(", ")}` : one.reason.startsWith(one.outcome) ? one.reason : `${one.outcome}: ${one.reason}`);
  const reply = (one) => {
    const pictured = one.picture !== undefined;
    const text = one.reply === null ? "(no reply is in the store)" : one.reply + (one.cut ? ` … and ${one.cut} more characters` : "");
    const picture = one.picture ? make("img", { src: `data:image/jpeg;base64,${one.picture}`, alt: `Picture ${reading(one)}` }) : one.lacks;
    return make("div", { className: `reply ${one.outcome}${pictured ? " pictured" : ""}` },
      make("pre", { className: "prompt", textContent: one.prompt ?? "" }),
      ...(pictured ? [make("div", {}, picture)] : []), ...(pictured && !one.reply ? [] : [make("pre", { textContent: text })]),
      make("p", { className: "note", textContent: reading(one) }),
      ...(one.sources ? [make("p", { className: "note", textContent: `sources: ${one.sources.join(", ")}` })] : []));
  };

  // Search, and replies to the cases of a benchmark that gives them no place of its own.
  const MOST = 50;
  const located = []; // of benchmarks: from a case to the address of the cell that shows its replies
  const list = document.getElementById("replies-list");
  let titled; // the name of a case, with its model and its checklist if there are several
  const named = async () => {
    const cases = await replies();
    const several = ["model", "checklist"].filter((name) => unique(cases, name).length > 1);
    titled = (one) => [...several, "case"].map((name) => one[name]).join(", ");
    return cases;
  };
  let texts;
  const searched = async () => (texts ??= (await named()).flatMap((one) => one.shown.map((each) => [`${each.prompt ?? ""}\n${each.reply ?? ""}\n${reading(each)}`.toLowerCase(), one, each])));
  const found = ([, one, each]) => {
    const cell = located.map((locate) => locate(one)).find(Boolean);
    return make("div", {}, make("h3", {}, cell ? make("a", { href: cell, textContent: titled(one) }) : titled(one)), reply(each));
  };
  const search = document.getElementById("search");
  search?.addEventListener("input", async () => {
    const all = await searched(), needle = search.value.trim().toLowerCase();
    const hits = needle ? all.filter(([text]) => text.includes(needle)) : [];
    const count = needle ? `${hits.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} replies on this page${hits.length > MOST ? `, the first ${MOST} below` : ""}` : "";
    document.getElementById("found").textContent = count;
    document.getElementById("results").replaceChildren(...hits.slice(0, MOST).map(found));
  });

  // A cell opens in a dialog: what it shows, then its questions and replies, of one model or two side by side.
  // Its address names it, so that it can be sent, and back closes it. A benchmark adds what it lets readers
  // open: an address, by which the same of another model is found (addressOf), title and legend, the select
  // that pytest takes after -k, the subjects of failed scores it is part of (failed) and moved most (broke),
  // the cases whose replies are its own (holds) and, if only some are, which (keeps), and show(), which makes
  // elements and functions that draw in them. Its select is a text, or a function of the cases that it holds.
  const by = new Map();
  const dialog = document.getElementById("topic"), body = document.getElementById("topic-body"), beside = document.getElementById("beside");
  let opened = null, within = false;
  const address = (...names) => ["#cell", ...names.map(encodeURIComponent)].join("/");
  const broke = (model, checklist, ids, named = () => true) => values.marks
    .filter((one) => one.model === model && named(one.words) && one.cases.some(([where, id]) => where === checklist && ids.includes(id))).map((one) => one.subject);
  const marked = (link, cell) => { // says that the cell moved a failed score
    if (!cell.broke.length) return link;
    link.prepend("▲ ");
    link.dataset.tip = `Among the cells that moved ${cell.broke.join(" and ")} most, which FAILED`;
    return link;
  };
  const judged = (cell) => cell.failed.map((one) => make("p", { className: "sign failed", textContent: `▲ FAILED: ${one}${cell.broke.includes(one) ? "; this cell is among those that moved it most" : "; this cell is part of it"}` }));
  const column = (cell, packed, several) => {
    const [elements, drawings] = cell.show(), cases = packed.filter((one) => one.model === cell.model && cell.holds(one));
    const own = cell.keeps ? cases.map((one) => ({ ...one, shown: one.shown.filter(cell.keeps), total: undefined })).filter((one) => one.shown.length) : cases;
    const part = make("section", { className: "side" },
      several ? make("h3", {}, make("bdi", { textContent: cell.model })) : "",
      ...judged(cell), ...elements,
      ...(own.length ? [make("h3", { textContent: "Questions and replies" })] : []), ...own.map((one) => listed(one, one.case, own.length === 1)));
    return [part, drawings];
  };
  // Cases of two models open and close together.
  body.addEventListener("toggle", ({ target }) => {
    for (const one of body.querySelectorAll("details")) if (one !== target && one.dataset.case === target.dataset.case) one.open = target.open;
  }, true);
  const fillDialog = async () => {
    const cell = opened, packed = await replies();
    if (cell !== opened) return; // another one was opened meanwhile
    document.getElementById("select").value = `"${cell.select.call ? cell.select(packed.filter((one) => one.model === cell.model && cell.holds(one))).join(" or ") : cell.select}"`;
    const other = by.get(cell.addressOf(beside.value));
    const sides = (other ? [cell, other] : [cell]).map((one) => column(one, packed, Boolean(other)));
    body.classList.toggle("two", Boolean(other));
    body.replaceChildren(...sides.map(([part]) => part));
    for (const [, drawings] of sides) for (const drawing of drawings) drawing();
  };
  const open = (cell) => {
    opened = cell;
    document.getElementById("topic-title").textContent = cell.title;
    document.getElementById("topic-model").textContent = cell.model;
    document.getElementById("topic-legend").textContent = cell.legend ? ` · ${cell.legend}` : "";
    const models = unique([...by.values()], "model");
    const others = models.filter((model) => model !== cell.model && by.has(cell.addressOf(model)));
    const former = beside.value;
    beside.replaceChildren(make("option", { value: "", textContent: "no other model" }), ...others.map((one) => make("option", { value: one, textContent: one, selected: one === former })));
    beside.closest("label").hidden = !others.length;
    body.replaceChildren();
    if (!dialog.open) dialog.showModal();
    fillDialog();
  };
  beside.addEventListener("input", fillDialog);
  document.getElementById("copy").addEventListener("click", () => {
    document.getElementById("select").select();
    document.getElementById("copied").textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C to copy it";
  });
  // A link to a section, or to what is in it, unfolds it.
  const unfold = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const folds = target ? [target.querySelector(":scope > .fold"), target.closest(".fold")] : [];
    for (const fold of folds.filter(Boolean)) fold.open = true;
  };
  const follow = (event) => {
    const cell = by.get(location.hash);
    if (!cell) unfold();
    within = Boolean(event && cell);
    document.getElementById("copied").textContent = "";
    if (cell) open(cell);
    else dialog.close();
  };
  dialog.addEventListener("close", () => {
    const home = opened?.home;
    opened = null;
    if (!by.has(location.hash)) return;
    if (within) history.back();
    else location.replace(home);
  });
  addEventListener("hashchange", follow);
  unfold();
  // A verdict leads to the cells that moved it most.
  const lead = (cells) => {
    for (const item of document.querySelectorAll("#verdict [data-subject]")) {
      const links = cells.filter((cell) => cell.broke.includes(item.dataset.subject))
        .flatMap((cell) => [" · ", make("a", { href: cell.address, textContent: cell.short })]);
      if (links.length) item.append(make("p", { className: "note" }, "Open its replies: ", ...links.slice(1)));
    }
  };
  const offer = (cells, leading = cells) => {
    for (const cell of cells) by.set(cell.address, cell);
    lead(leading);
    if (by.has(location.hash) && !opened) follow();
  };

  // Cases of a benchmark that gives them no cell of its own are cells themselves, in a list.
  if (list) named().then((cases) => {
    const own = cases.filter((one) => one.place === null).map((one) => ({
      ...one, address: address(one.model, one.checklist, one.case), addressOf: (model) => address(model, one.checklist, one.case),
      title: one.case, short: one.case, legend: "", select: one.case, home: "#replies-of-cases", broke: broke(one.model, one.checklist, [one.case]),
      holds: (other) => other.checklist === one.checklist && other.case === one.case, show: () => [[], []],
    }));
    for (const cell of own) cell.failed = cell.broke;
    list.append(...own.map((cell) => {
      const entry = listed(cell, titled(cell));
      entry.append(make("p", {}, marked(make("a", { href: cell.address, textContent: "open by itself, with its name for pytest -k" }), cell)));
      if (cell.broke.length) entry.querySelector("summary").prepend("▲ ");
      return entry;
    }));
    offer(own);
  });

  return { ...charting, words, shown, unique, replies, listed, located, address, broke, marked, offer };
})();
