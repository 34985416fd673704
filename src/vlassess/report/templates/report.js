"use strict";
(() => {
  const data = JSON.parse(document.getElementById("episodes-data").textContent);
  const PAGE = 30;
  const at = (id) => document.getElementById(id);
  const text = (place) => (place < 0 ? "" : data.texts[place]);
  const rows = data.rows.map((row, number) => {
    const [policy, task, index, repeat, cell, end, steps, progress, seconds, instruction, error, id, files, tries] = row;
    return { number, policy: text(policy), task: text(task), index, repeat, cell: text(cell), end: data.ends[end], steps,
      progress, seconds, instruction: text(instruction), error: text(error), id, files, tries };
  });
  const state = { filter: "", policy: "", end: "", video: false, sort: "number", down: false, shown: PAGE };

  const make = (name, content, kind) => {
    const made = document.createElement(name);
    if (content !== undefined) made.textContent = content;
    if (kind) made.className = kind;
    return made;
  };
  const words = (row) => {
    row.words ??= [row.policy, row.task, "#" + row.index, row.cell, row.end, row.instruction, row.error, row.id]
      .join("\n").toLowerCase();
    return row.words;
  };
  const chosen = () => {
    const wanted = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row) =>
      (!state.policy || row.policy === state.policy) && (!state.end || row.end === state.end) &&
      (!state.video || row.files & 1) && wanted.every((word) => words(row).includes(word)));
    const key = state.sort;
    const order = (a, b) => (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : a.number - b.number);
    found.sort(state.down ? (a, b) => order(b, a) : order);
    return found;
  };
  const file = (row, bit, name) => {
    const link = make("a", name);
    // The id is hexadecimal and the name is one of three, so that the path cannot lead elsewhere.
    link.href = "artifacts/" + data.folders[row.number] + "/" + data.files[bit];
    return link;
  };
  const percent = (thousandths) => (thousandths < 0 ? "–" : (thousandths / 10).toFixed(0) + " %");
  const command = (row, video) => "vlassess rerun " + data.run + " " + row.id + (video ? " --video" : "");

  const details = (row) => {
    const cell = make("td");
    cell.colSpan = 8;
    if (row.files & 1) {
      const film = make("video");
      film.controls = true;
      film.preload = "metadata";
      film.playsInline = true;
      film.src = file(row, 0, "").href + "#t=0.01";  // shows a first picture before anybody plays it
      cell.append(film);
    }
    const facts = [["instruction", row.instruction], ["error", row.error], ["attempts", row.tries],
      ["run it again", command(row, true)]];
    const list = make("dl", undefined, "words");
    for (const [name, value] of facts) {
      if (value === "" || value === 0) continue;
      list.append(make("dt", name), make("dd", String(value), name === "error" || name === "run it again" ? "code" : ""));
    }
    const files = make("dd");
    ["video", "steps", "inputs"].forEach((name, bit) => {
      if (row.files & (1 << bit)) files.append(file(row, bit, name), " ");
    });
    if (files.childNodes.length) list.append(make("dt", "files"), files);
    cell.append(list);
    const line = make("tr", undefined, "more");
    line.append(cell);
    return line;
  };
  const line = (row) => {
    const made = make("tr");
    const name = make("td");
    const open = make("button", "▸", "open");
    open.type = "button";
    open.dataset.id = row.id;
    open.setAttribute("aria-expanded", "false");
    open.setAttribute("aria-label", "details of " + row.task + " start " + row.index);
    open.addEventListener("click", () => {
      const opened = open.getAttribute("aria-expanded") === "true";
      open.setAttribute("aria-expanded", String(!opened));
      open.textContent = opened ? "▸" : "▾";
      if (opened) made.nextSibling.remove();
      else made.after(details(row));
    });
    const start = row.task + " #" + row.index + (row.repeat ? ", repeat " + row.repeat : "");
    name.append(open, start, row.cell ? make("span", " " + row.cell, "muted") : "");
    made.append(name, make("td", row.policy, "label"));
    const end = make("td");
    end.append(make("span", row.end, "end " + row.end));
    made.append(end, make("td", row.end === "missing" ? "–" : String(row.steps)), make("td", percent(row.progress)),
      make("td", row.end === "missing" ? "–" : row.seconds.toFixed(1) + " s"));
    const film = make("td");
    if (row.files & 1) film.append(file(row, 0, "video"));
    made.append(film, make("td", row.error, "fault"));
    return made;
  };
  const show = () => {
    const found = chosen();
    at("episodes-body").replaceChildren(...found.slice(0, state.shown).map(line));
    at("episodes-count").textContent = found.length + " of " + rows.length + " episodes";
    at("episodes-more").hidden = found.length <= state.shown;
    at("episodes-more").textContent = "Show " + Math.min(PAGE, found.length - state.shown) + " more";
    document.querySelectorAll("#episodes th button").forEach((button) => {
      const own = button.dataset.sort === state.sort;
      button.parentElement.ariaSort = own ? (state.down ? "descending" : "ascending") : "none";
    });
  };
  const remember = () => {
    const kept = new URLSearchParams();
    for (const name of ["filter", "policy", "end"]) if (state[name]) kept.set(name, state[name]);
    if (state.video) kept.set("video", "1");
    history.replaceState(null, "", "#" + kept);
  };
  const recall = () => {
    const kept = new URLSearchParams(location.hash.slice(1));
    for (const name of ["filter", "policy", "end"]) state[name] = kept.get(name) ?? "";
    state.video = kept.has("video");
    state.shown = PAGE;
    at("filter").value = state.filter;
    at("policy").value = state.policy;
    at("end").value = state.end;
    at("video").checked = state.video;
    show();
    document.querySelectorAll("#episodes-body button.open").forEach((button) => {
      if (button.dataset.id === kept.get("open")) button.click();
    });
  };
  const changed = () => {
    Object.assign(state, { filter: at("filter").value, policy: at("policy").value, end: at("end").value,
      video: at("video").checked, shown: PAGE });
    remember();
    show();
  };

  for (const policy of new Set(rows.map((row) => row.policy))) at("policy").append(new Option(policy, policy));
  for (const end of data.ends) if (rows.some((row) => row.end === end)) at("end").append(new Option(end, end));
  at("only-video").hidden = !rows.some((row) => row.files & 1);
  ["filter", "policy", "end", "video"].forEach((id) => at(id).addEventListener("input", changed));
  at("episodes-more").addEventListener("click", () => { state.shown += PAGE; show(); });
  document.querySelectorAll("#episodes th button").forEach((button) => button.addEventListener("click", () => {
    state.down = state.sort === button.dataset.sort && !state.down;
    state.sort = button.dataset.sort;
    show();
  }));
  addEventListener("hashchange", recall);
  at("episodes").hidden = false;
  recall();
})();
