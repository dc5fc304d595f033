// The face of one run. The kernel sends plain data whose texts are safe and ready; everything is set as text, never as
// HTML. A Run keeps a view's rows, selection and open requests; the regions draw from it.

const ROW_HEIGHT = 22;
const PAGE = 100;
const GRACE_MS = 350;
const CHECK_MS = 150;
const BUSY_MS = 1500;
const MAX_INDENT = 8;

function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== "" && child != null)); // strings become text nodes
  return node;
}

function button(label, title, act) {
  const node = make("button", "lk-button", label);
  node.type = "button";
  node.title = title;
  node.addEventListener("click", act);
  return node;
}

function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const two = (number) => String(number).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  return (hours ? `${hours}:` : "") + `${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

class Run extends EventTarget {
  constructor(model) {
    super();
    this.model = model;
    this.prefix = Math.random().toString(36).slice(2);
    this.asked = 0;
    this.open = new Map(); // request id -> [resolve, reject, timer]
    this.rows = []; // sparse: pages are fetched when they are looked at
    this.byKey = new Map();
    this.pages = new Set();
    this.revision = -1;
    this.index = -1;
    this.key = "";
    this.follow = true;
    this.detail = null;
    this.editor = null; // {mode, call, version, text, …}: what is being typed, and about which call
    this.notice = "";
    this.decidedAt = 0;
    this.statusAt = performance.now();
    this.heard = {
      "msg:custom": (message) => this.receive(message),
      "change:status": () => { this.statusAt = performance.now(); this.tell(); },
      "change:pending": () => { this.attend(); this.tell(); },
    };
    for (const [name, act] of Object.entries(this.heard)) model.on(name, act);
    this.reload();
  }

  close() {
    for (const [name, act] of Object.entries(this.heard)) this.model.off(name, act);
    for (const [, , timer] of this.open.values()) clearTimeout(timer);
    clearTimeout(this.editor?.timer);
  }

  get status() { return this.model.get("status"); }
  get pending() { return this.model.get("pending"); }
  get live() { return this.status.mode === "live" && !this.status.ended; }
  pendingHere() { return this.pending.find((item) => item.key === this.key); }
  tell() { this.dispatchEvent(new Event("change")); }

  ask(kind, fields = {}) {
    const id = `${this.prefix}:${++this.asked}`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.say("The kernel is busy: this is done when its cell ends."), BUSY_MS);
      this.open.set(id, [resolve, reject, timer]);
      this.model.send({ ...fields, kind, id });
    });
  }

  say(words) { this.notice = words; this.tell(); }

  receive(message) {
    if (message.kind === "update") this.update(message);
    if (message.kind !== "answer" || !this.open.has(message.id)) return;
    const [resolve, reject, timer] = this.open.get(message.id);
    this.open.delete(message.id);
    clearTimeout(timer);
    if (this.notice.startsWith("The kernel is busy")) this.say("");
    if (message.ok) resolve(message);
    else reject(Object.assign(new Error(message.error), { problems: message.problems }));
  }

  // ── rows ──

  reload() {
    this.revision = -1;
    this.ask("rows", { start: 0, count: PAGE }).then((answer) => {
      this.rows = [];
      this.byKey.clear();
      this.pages.clear();
      this.pages.add(0);
      this.revision = answer.revision;
      this.put(answer);
      this.settle();
    }, (error) => this.say(error.message));
  }

  put(answer) {
    this.rows.length = answer.total;
    answer.rows.forEach((row, offset) => this.place(answer.start + offset, row));
    this.tell();
  }

  place(index, row) {
    this.rows[index] = row;
    this.byKey.set(row.key, row);
  }

  want(start, stop) {
    if (this.revision < 0) return;
    for (let page = Math.floor(start / PAGE); page * PAGE < stop; page += 1) {
      let complete = true;
      for (let at = page * PAGE; at < Math.min((page + 1) * PAGE, this.rows.length); at += 1) complete &&= at in this.rows;
      if (complete || this.pages.has(page)) continue;
      this.pages.add(page);
      this.ask("rows", { start: page * PAGE, count: PAGE })
        .then((answer) => this.put(answer), (error) => this.say(error.message))
        .finally(() => this.pages.delete(page));
    }
  }

  update(message) {
    if (this.revision < 0) return;
    if (message.reload || message.revision !== this.revision + 1) return this.reload();
    this.revision = message.revision;
    for (const [index, row] of message.inserted) {
      this.rows.splice(index, 0, row);
      this.byKey.set(row.key, row);
      if (index <= this.index) this.index += 1;
    }
    this.rows.length = message.total;
    let touched = false;
    for (const row of message.changed) {
      const known = this.byKey.get(row.key);
      if (known) Object.assign(known, row);
      touched ||= row.key === this.key;
    }
    if (touched) this.fetchDetail();
    this.attend();
    this.tell();
  }

  settle() {
    const again = this.rows.findIndex((row) => row?.key === this.key);
    if (again >= 0) this.index = again;
    else if (this.rows.length) this.select(this.live ? this.rows.length - 1 : 0);
    this.attend();
  }

  // Go where a decision is wanted, unless the person went elsewhere or is typing.
  attend() {
    if (this.editor && !this.pending.some((item) => item.call === this.editor.call)) this.editor = null;
    if (!this.follow || this.editor || this.revision < 0) return;
    const next = this.pending[0];
    if (next && !this.pendingHere()) this.goTo(next.key);
    else if (!next && this.status.mode === "live" && this.index !== this.rows.length - 1) this.select(this.rows.length - 1);
  }

  goTo(key) {
    const index = this.rows.findLastIndex((row) => row?.key === key);
    if (index >= 0) this.select(index);
    else this.ask("locate", { key }).then((answer) => this.select(answer.index, key), () => {});
  }

  select(index, key = this.rows[index]?.key) {
    this.index = index;
    if (key === undefined) { // its page is not here yet
      this.ask("rows", { start: index, count: 1 }).then((answer) => {
        this.put(answer);
        if (this.index === index) this.select(index);
      }, (error) => this.say(error.message));
      return;
    }
    if (key !== this.key) { this.key = key; this.detail = null; this.notice = ""; this.fetchDetail(); }
    this.tell();
  }

  move(index) {
    if (!this.rows.length) return;
    const to = Math.min(Math.max(index, 0), this.rows.length - 1);
    this.follow = to === this.rows.length - 1;
    this.select(to);
  }

  fetchDetail() {
    if (this.fetching) { this.stale = true; return; }
    const key = this.key;
    this.fetching = true;
    this.ask("detail", { key }).then((answer) => {
      if (key === this.key) { this.detail = answer; this.tell(); }
    }, (error) => this.say(error.message)).finally(() => {
      this.fetching = false;
      if (this.stale || key !== this.key) { this.stale = false; this.fetchDetail(); }
    });
  }

  // ── decisions ──

  decide(kind, item, fields = {}) {
    return this.ask(kind, { call: item.call, version: item.version, ...fields }).then(() => {
      this.decidedAt = performance.now();
      this.follow = true;
      this.editor = null;
      this.notice = "";
      this.attend();
      this.tell();
    }, (error) => {
      if (this.editor && error.problems) this.editor.problems = error.problems;
      this.say(error.message);
    });
  }

  edit(mode, item) {
    this.editor = { mode, call: item.call, version: item.version, name: item.name, text: "", isError: false, problems: null };
    if (mode !== "edit") return this.tell();
    const editor = this.editor;
    this.ask("draft", { call: item.call }).then((answer) => {
      Object.assign(editor, { text: answer.text, version: answer.version, ready: true });
      this.check(editor);
      this.tell();
    }, (error) => { this.editor = null; this.say(error.message); });
  }

  check(editor) {
    editor.problems = null; // until the kernel has judged this text it can't be run
    const text = editor.text;
    clearTimeout(editor.timer);
    editor.timer = setTimeout(() => {
      this.ask("check", { call: editor.call, text }).then((answer) => {
        if (editor.text === text) { editor.problems = answer.problems; this.tell(); }
      }, (error) => this.say(error.message));
    }, CHECK_MS);
  }

  drive(kind) { this.ask(kind).then(() => { this.follow = true; this.attend(); }, (error) => this.say(error.message)); }
}

// ── regions: each returns a node and a function that draws it anew ──

function statusRegion(run) {
  const words = make("div", "lk-words");
  const controls = make("div", "lk-controls");
  for (const [label, kind, title] of [
    ["Pause", "pause", "Stand still at the next gate (p)"],
    ["Step", "step", "Go to the next gate (s)"],
    ["Next", "next", "Go to the next iteration (n)"],
    ["Continue", "continue", "Go on (c)"],
    ["Stop", "stop", "End the run at once (X)"],
  ]) controls.append(button(label, title, () => run.drive(kind)));
  const draw = () => {
    const status = run.status;
    const since = run.live ? (performance.now() - run.statusAt) / 1000 : 0;
    const still = status.state === "waiting" || status.state === "paused";
    const waited = status.waited + (still ? since : 0);
    const mode = status.mode === "live" ? (status.ended ? "■" : "●live") : "◌ recorded";
    const time = clock(status.elapsed + since) + (waited >= 1 ? ` (waiting ${clock(waited)})` : "");
    words.replaceChildren(
      make("b", "", status.title),
      make("span", status.ended ? "lk-muted" : "lk-live", mode),
      make("span", `lk-${status.state}`, status.words),
      ...[status.iteration, status.agents, status.tokens, time].filter(Boolean).map((word) => make("span", "", word)),
    );
    controls.hidden = !run.live;
  };
  return { node: make("div", "lk-status", words, controls), draw };
}

function timelineRegion(run) {
  const list = make("div", "lk-slice");
  const space = make("div", "lk-space", list);
  const node = make("div", "lk-rows", space);
  node.setAttribute("role", "listbox");
  node.setAttribute("aria-label", "timeline");
  let shown = -1;
  const drawRow = (index) => {
    const row = run.rows[index];
    const selected = index === run.index;
    const line = make("div", `lk-row${selected ? " lk-selected" : ""}`);
    line.setAttribute("role", "option");
    line.setAttribute("aria-selected", String(selected));
    line.dataset.index = index;
    if (!row) return line;
    const mark = make("span", `lk-mark lk-${row.tone}`, row.mark);
    const label = make("span", "lk-label", mark, ` ${row.label}`);
    label.style.paddingLeft = `${Math.min(row.level, MAX_INDENT) * 2}ch`;
    line.append(
      make("span", "lk-number", row.number), label,
      make("span", "lk-detail", row.detail),
      make("span", `lk-rowstate lk-${row.tone}`, row.state),
      make("span", "lk-right", row.right),
    );
    return line;
  };
  const slice = () => {
    const height = node.clientHeight || ROW_HEIGHT * 12;
    const first = Math.max(0, Math.floor(node.scrollTop / ROW_HEIGHT) - 4);
    const last = Math.min(run.rows.length, Math.ceil((node.scrollTop + height) / ROW_HEIGHT) + 4);
    run.want(first, last);
    const lines = [];
    for (let index = first; index < last; index += 1) lines.push(drawRow(index));
    list.style.transform = `translateY(${first * ROW_HEIGHT}px)`;
    list.replaceChildren(...lines);
  };
  const draw = () => {
    space.style.height = `${run.rows.length * ROW_HEIGHT}px`;
    if (run.index !== shown && run.index >= 0) {
      const top = run.index * ROW_HEIGHT;
      const height = node.clientHeight || ROW_HEIGHT * 12;
      if (top < node.scrollTop) node.scrollTop = top;
      else if (top + ROW_HEIGHT > node.scrollTop + height) node.scrollTop = top + ROW_HEIGHT - height;
      shown = run.index;
    }
    slice();
  };
  node.addEventListener("scroll", slice);
  node.addEventListener("click", (event) => {
    const line = event.target.closest(".lk-row");
    if (line) run.move(Number(line.dataset.index));
  });
  return { node, draw };
}

function detailRegion(run) {
  const node = make("div", "lk-detailpane");
  let drawn = null;
  const section = (part) => {
    const text = make("pre", `lk-text${part.code ? " lk-code" : ""} lk-${part.tone}`, part.text);
    const block = make("div", "lk-section", make("div", "lk-name", part.name), text);
    const more = (hidden, start) => {
      if (!hidden) return;
      const words = `… ${hidden.toLocaleString("en")} more characters`;
      const key = run.key;
      const ask = button(words, "Show more of it", () => run.ask("piece", { key, section: part.name, start }).then((piece) => {
        text.append(piece.text);
        ask.remove();
        more(piece.hidden, piece.next);
      }, (error) => run.say(error.message)));
      block.append(ask);
    };
    more(part.hidden, part.next);
    return block;
  };
  const draw = () => {
    const seen = JSON.stringify([run.key, run.detail && { ...run.detail, id: 0, revision: 0 }]);
    if (seen === drawn) return;
    const same = drawn !== null && drawn.startsWith(JSON.stringify([run.key]).slice(0, -1));
    drawn = seen;
    const top = same ? node.scrollTop : 0;
    if (!run.detail) { if (!same && !run.key) node.replaceChildren(); return; }
    const facts = make("div", "lk-facts");
    for (const [name, value] of run.detail.facts) facts.append(make("span", "lk-fact", make("i", "", name), ` ${value}`));
    node.replaceChildren(make("div", "lk-title", run.detail.title), facts, ...run.detail.sections.map(section));
    node.scrollTop = top;
  };
  return { node, draw };
}

function editorForm(run, item, editor, close) {
  const form = make("div", "lk-editor");
  const area = make("textarea", "lk-area");
  area.value = editor.text;
  area.rows = editor.mode === "deny" ? 2 : Math.min(12, Math.max(4, editor.text.split("\n").length + 1));
  area.spellcheck = false;
  area.placeholder = { edit: "", deny: "Why? The model gets these words; empty is allowed.", answer: "The model gets these words instead of the tool's result." }[editor.mode];
  const problems = make("ul", "lk-problems");
  const submit = () => {
    if (go.disabled) return;
    if (editor.mode === "edit") run.decide("edit", editor, { text: editor.text });
    if (editor.mode === "deny") run.decide("deny", editor, { reason: editor.text });
    if (editor.mode === "answer") run.decide("respond", editor, { output: editor.text, is_error: editor.isError });
  };
  const go = button({ edit: "Run with these arguments", deny: "Deny", answer: "Give this answer" }[editor.mode], "ctrl+enter", submit);
  go.classList.add("lk-primary");
  const judge = () => {
    const found = editor.problems;
    go.disabled = editor.mode === "edit" && !(found && found.length === 0);
    problems.replaceChildren(...(found || []).map((problem) => make("li", "lk-bad", `✗ ${problem.text}`)));
    verdict.textContent = editor.mode !== "edit" ? "" : !found ? "checking …" : found.length ? `not yet: ${found.length} problem${found.length > 1 ? "s" : ""}` : "schema ✓";
  };
  const verdict = make("span", "lk-muted");
  area.addEventListener("input", () => {
    editor.text = area.value;
    if (editor.mode === "edit") run.check(editor);
    judge();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  });
  const foot = make("div", "lk-buttons", go, button("Cancel", "escape", close), verdict);
  if (editor.mode === "answer") {
    const box = make("input");
    box.type = "checkbox";
    box.addEventListener("change", () => { editor.isError = box.checked; });
    foot.append(make("label", "lk-check", box, " it is an error"));
  }
  const heading = { edit: "arguments that run instead", deny: "deny", answer: "answer for it" }[editor.mode];
  form.append(make("div", "lk-name", heading), area, problems, foot);
  judge();
  return { form, area, judge };
}

function decisionRegion(run, focusRoot) {
  const head = make("div", "lk-pendinghead");
  const body = make("div", "lk-pendingbody");
  const node = make("div", "lk-pending", head, body);
  let drawn = "";
  let form = null;
  const close = () => { run.editor = null; run.tell(); focusRoot(); };
  const choices = (item) => make("div", "lk-buttons",
    Object.assign(button("Approve", "Run it as asked (a)", () => run.decide("approve", item)), { className: "lk-button lk-primary" }),
    button("Edit …", "Change its arguments (e)", () => run.edit("edit", item)),
    button("Deny …", "Don't run it, say why (d)", () => run.edit("deny", item)),
    button("Answer …", "Give the result yourself (w)", () => run.edit("answer", item)));
  const drawHead = () => {
    const chips = run.pending.map((item) => {
      const words = `${item.agents}   ${item.name}(${item.arguments})`;
      const chip = button(`◆ ${words}`, "Show this call", () => { run.follow = true; run.goTo(item.key); });
      chip.className = `lk-chip${item.key === run.key ? " lk-selected" : ""}`;
      return chip;
    });
    head.replaceChildren(make("div", "lk-name lk-waiting", `waiting for you · ${run.pending.length} pending`), ...chips);
  };
  const drawBody = (item, editor) => {
    form = null;
    body.replaceChildren();
    if (item && editor && (editor.mode !== "edit" || editor.ready)) {
      form = { ...editorForm(run, item, editor, close), editor };
      body.append(form.form);
      form.area.focus({ preventScroll: true });
    } else if (item) {
      const problems = item.problems.map((words) => make("div", "lk-bad", `✗ ${words}`));
      const warnings = item.warnings.map((words) => make("div", "lk-warning", `⚠ ${words}`));
      body.append(...problems, ...warnings, choices(item));
    }
  };
  const draw = () => {
    const editor = run.editor;
    const item = editor ? run.pending.find((one) => one.call === editor.call) : run.pendingHere();
    const wanted = JSON.stringify([run.live, run.pending, run.key, item?.call, editor?.mode, editor?.ready]);
    if (wanted !== drawn) {
      drawn = wanted;
      const held = node.contains(document.activeElement);
      const typing = form && form.editor === editor;
      drawHead();
      if (!typing) drawBody(item, editor);
      node.hidden = run.pending.length === 0 || !run.live;
      // A focus that got lost would let the next keys act on the notebook's cells.
      if (held && !node.contains(document.activeElement)) focusRoot();
    }
    form?.judge();
  };
  return { node, draw };
}

function keyAction(run, event) {
  const item = run.pendingHere();
  const patient = performance.now() - run.decidedAt > GRACE_MS;
  const decisions = item && patient && run.live
    ? { a: () => run.decide("approve", item), e: () => run.edit("edit", item), d: () => run.edit("deny", item), w: () => run.edit("answer", item) }
    : {};
  const driving = run.live
    ? { s: () => run.drive("step"), n: () => run.drive("next"), c: () => run.drive("continue"), p: () => run.drive("pause"), X: () => run.drive("stop") }
    : {};
  const moves = {
    j: () => run.move(run.index + 1), ArrowDown: () => run.move(run.index + 1),
    k: () => run.move(run.index - 1), ArrowUp: () => run.move(run.index - 1),
    PageDown: () => run.move(run.index + 11), PageUp: () => run.move(run.index - 11),
    g: () => run.move(0), Home: () => run.move(0), G: () => run.move(Infinity), End: () => run.move(Infinity),
  };
  return { ...moves, ...driving, ...decisions }[event.key];
}

function render({ model, el }) {
  const run = new Run(model);
  const root = make("div", "loopkit-run");
  root.tabIndex = 0;
  root.dataset.lmSuppressShortcuts = "true"; // or JupyterLab would take d, d for "delete this cell"
  const hideCopy = make("style", "", `[data-loopkit-copy='${model.get("copy_id")}'] { display: none }`);
  const focusRoot = () => root.focus({ preventScroll: true });
  const regions = [statusRegion(run), timelineRegion(run), detailRegion(run), decisionRegion(run, focusRoot)];
  const notice = make("div", "lk-notice");
  const keys = make("div", "lk-keys");
  const end = make("div", "lk-end");
  const draw = () => {
    for (const region of regions) region.draw();
    const status = run.status;
    notice.textContent = [run.notice, ...status.notices].filter(Boolean).join("\n");
    notice.hidden = !notice.textContent;
    end.textContent = status.recording && (status.ended || status.mode === "recorded") ? `recording  ${status.recording}` : "";
    end.hidden = !end.textContent;
    keys.textContent = "j k move · g G ends" + (run.live ? " · a approve · e edit · d deny · w answer · s step · n next · c continue · p pause · X stop" : "");
  };
  let asked = 0;
  const later = () => { asked ||= requestAnimationFrame(() => { asked = 0; draw(); }); };
  root.append(hideCopy, ...regions.map((region) => region.node), notice, end, keys);
  root.addEventListener("keydown", (event) => {
    if (event.target.closest("textarea, input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keyAction(run, event);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  run.addEventListener("change", later);
  const ticking = setInterval(() => { if (run.live) regions[0].draw(); }, 1000);
  el.append(root);
  draw();
  return () => {
    run.close();
    run.removeEventListener("change", later);
    clearInterval(ticking);
    cancelAnimationFrame(asked);
  };
}

export default { render };
