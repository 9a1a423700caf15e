"use strict";
// Shows what is chosen. All numbers and sentences were computed when the page was written: nothing is here but selection.
(async () => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, kind) => {
    const found = document.createElement(tag);
    if (text !== undefined) found.textContent = text;
    if (kind) found.className = kind;
    return found;
  };

  // commands, columns and settings are told from words, and are chosen whole by one click
  const written = (text) => text.split(/`([^`\n]+)`/).map((part, nth) => (nth % 2 ? make("code", part) : part));

  const packed = Uint8Array.from(atob(byId("data").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const page = await new Response(stream).json();
  const charts = new Map(page.charts.map((chart) => [chart.name, chart]));
  const utc = (ms, parts) => new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...parts }).format(ms);
  const minute = (ms) => utc(ms, { day: "2-digit", month: "short", hour: "2-digit", minute: "2-digit" });

  const digits = (value, many) => new Intl.NumberFormat("en-US", { maximumSignificantDigits: many }).format(value);
  const forms = {
    text: (value) => String(value),
    time: minute,
    count: (value) => new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 }).format(value),
    share: (value) => `${(100 * value).toFixed(1)} %`,
    usd: (value) => (value < 0 ? "-$" : "$") + (Math.abs(value) >= 1
      ? new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(Math.abs(value))
      : digits(Math.abs(value), 4)),
    seconds: (value) => `${digits(value, 4)} s`,
    number: (value) => digits(value, 4),
    flag: (value) => (value ? "yes" : "no"),
  };

  // What is chosen, kept in the address so that it can be sent to somebody.
  const state = { period: page.periods[0].period, slice: page.slices[0] };
  const key = () => `${state.period} ${state.slice.choice}`;
  const same = (a, b) => {
    const names = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...names].every((name) => a[name] === b[name]);
  };
  const sliceName = (named) => Object.entries(named).map(([name, value]) => `${name.replace("attributes.", "")} ${value}`).join(", ");
  function readAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const period = asked.get("period");
    if (page.periods.some((one) => one.period === period)) state.period = period;
    asked.delete("period");
    const named = Object.fromEntries(asked);
    const found = page.slices.find((one) => same(one.named, named));
    const missing = [...(found ? [] : [sliceName(named)]), ...(period && period !== state.period ? [`period ${period}`] : [])];
    byId("missing").textContent = missing.length ? `The address asks for ${missing.join(" and ")}, which this page does not have.` : "";
    state.slice = found || page.slices[0];
  }
  function writeAddress() {
    byId("missing").textContent = "";
    const written = new URLSearchParams({ period: state.period, ...state.slice.named });
    history.replaceState(null, "", `#${written}`);
  }

  const words = { latest: "latest", week: "last seven", all: "all shown" };
  function periodName(one) {
    const until = minute(one.until_at);
    return page.periods.length === 1 ? `${minute(one.from_at)} to ${until}` : `${words[one.period]}: ${minute(one.from_at)} to ${until}`;
  }

  function options(select, entries, chosen) {
    select.replaceChildren(...entries.map(([value, text]) => {
      const option = make("option", text);
      option.value = value;
      option.selected = value === chosen;
      return option;
    }));
    select.disabled = entries.length < 2;
  }
  function fillFilters() {
    options(byId("period"), page.periods.map((one) => [one.period, periodName(one)]), state.period);
    const workload = state.slice.named.workload ?? "";
    const workloads = [...new Set(page.slices.map((one) => one.named.workload ?? ""))];
    if (!page.slices.some((one) => !one.named.workload)) workloads.sort();
    options(byId("workload"), workloads.map((name) => [name, name || "all"]), workload);
    const within = page.slices.filter((one) => (one.named.workload ?? "") === workload);
    options(byId("within"), within.map((one) => {
      const { workload: _, ...rest } = one.named;
      return [String(one.choice), sliceName(rest) || "all of it"];
    }), String(state.slice.choice));
  }

  // What the rows of a chart must be for what is chosen: by column its value, or several of which it must be one.
  function wantedOf(chart) {
    const { choice, workload, route } = state.slice;
    const special = { choice, divided_by: route == null ? "pool" : "route", scope: workload == null ? "all" : route == null ? "workload" : "route" };
    return chart.chosen_by.map((column) => [column, special[column] ?? state.slice[column] ?? (column === "pool" ? state.slice.pools : null)]).filter(([, value]) => value != null);
  }

  function rowsOf(chart) {
    const { rows } = chart;
    const names = Object.keys(rows);
    const wanted = wantedOf(chart).map(([column, value]) => [rows[column], value]);
    if (rows.period) wanted.push([rows.period, state.period]);
    const found = [];
    const length = names.length ? rows[names[0]].length : 0;
    for (let i = 0; i < length; i += 1) {
      if (wanted.every(([column, value]) => [value].flat().includes(column[i]) || (chart.none_is_all && column[i] == null))) {
        found.push(Object.fromEntries(names.map((name) => [name, rows[name][i]])));
      }
    }
    return found;
  }

  // What of the choice a chart cannot follow, in a sentence.
  function undivided(chart, found) {
    if (chart.chosen_by.includes("choice")) return "";
    const named = Object.entries(state.slice.named);
    const isSetBeside = (name) => found.some((row) => row.divided_by === name);
    const left = named.filter(([name]) => !chart.chosen_by.includes(name) && !isSetBeside(name));
    if (left.length && state.slice.pools && chart.chosen_by.includes("pool")) return `Of pools that serve it, whatever else they serve: ${state.slice.pools.join(", ")}.`;
    const kept = sliceName(Object.fromEntries(named.filter(([name]) => chart.chosen_by.includes(name))));
    return left.length ? `Not divided by ${left.map(([name]) => name.replace("attributes.", "")).join(" or ")}: it shows all${kept ? ` of ${kept}` : ""}.` : "";
  }

  // What a row leads to where the page is served: requests, or an alarm.
  const { generation, askEveryS } = document.body.dataset;
  function leadsTo(chart, row) {
    if (!generation || !chart.leads_to) return null;
    if (chart.leads_to === "alarm") return row.alarm_id ? `/alarms/${encodeURIComponent(row.alarm_id)}` : null;
    const period = page.periods.find((one) => one.period === state.period);
    const isWindow = chart.leads_to === "window";
    const [from, until] = isWindow ? [row.at, row.at + 1000 * period.drawn_s] : [period.from_at, period.until_at];
    const asked = new URLSearchParams({ from: new Date(from).toISOString(), until: new Date(until).toISOString(), ...state.slice.named });
    if (!isWindow) {
      if (!row[chart.leads_to]) return null;
      asked.set(chart.leads_to, row[chart.leads_to]);
    }
    return `/requests?${asked}`;
  }

  function table(chart, found) {
    const shown = chart.columns.filter((column) => found.some((row) => row[column.name] != null));
    const made = make("table");
    const head = made.createTHead().insertRow();
    for (const column of shown) {
      const cell = make("th", column.title, column.form === "text" ? "text" : "");
      cell.scope = "col";
      head.append(cell);
    }
    const body = made.createTBody();
    for (const row of found.slice(0, 1000)) {
      const line = body.insertRow();
      for (const column of shown) {
        const value = row[column.name];
        line.append(make("td", value == null ? "" : forms[column.form](value), column.form === "text" ? "text" : ""));
      }
      const address = leadsTo(chart, row);
      if (address) {
        const link = make("a", line.cells[0].textContent);
        link.href = address;
        line.cells[0].replaceChildren(link);
      }
    }
    return made;
  }

  const literal = (value) => (value == null ? "NULL" : typeof value === "number" ? String(value) : `'${String(value).replaceAll("'", "''")}'`);
  function query(chart) {
    const period = page.periods.find((one) => one.period === state.period);
    const at = (ms) => `TIMESTAMPTZ '${new Date(ms).toISOString()}'`;
    const parts = [];
    const reads = new Set(chart.reads);
    for (const one of [...page.inner].reverse()) if (reads.has(one.name)) one.reads.forEach((name) => reads.add(name));
    const isRead = (name) => reads.has(name);
    if (isRead("shown_periods")) {
      parts.push(`shown_periods AS (SELECT ${literal(period.period)} AS period, ${at(period.from_at)} AS from_at, ${at(period.until_at)} AS until_at, ${period.whole_s} AS whole_s, ${period.drawn_s} AS drawn_s)`);
    }
    if (isRead("shown_slices")) {
      const chosen = chart.chosen_by.includes("choice") ? [state.slice] : page.slices;
      const rows = chosen.map((one) => `(${[one.choice, one.slice, one.slice_value, one.workload, one.model, one.pool, one.route].map(literal).join(", ")})`);
      parts.push(`shown_slices(choice, slice, slice_value, workload, model, pool, route) AS (VALUES ${rows.join(", ")})`);
    }
    for (const one of page.inner) if (isRead(one.name)) parts.push(`${one.name} AS (\n${one.sql.trim()}\n)`);
    const conditions = wantedOf(chart).filter(([column]) => column !== "choice").map(([column, value]) => {
      const is = Array.isArray(value) ? `${column} IN (${value.map(literal).join(", ")})` : `${column} = ${literal(value)}`;
      return chart.none_is_all ? `(${is} OR ${column} IS NULL)` : is;
    });
    const where = conditions.length ? `\nWHERE ${conditions.join(" AND ")}` : "";
    return `${parts.length ? `WITH ${parts.join(",\n")}\n` : ""}SELECT * FROM (\n${chart.sql.trim()}\n)${where}`;
  }

  const tooltip = make("div");
  tooltip.id = "vg-tooltip";
  tooltip.setAttribute("aria-hidden", "true");
  document.body.append(tooltip);
  function showTooltip(_handler, event, _item, value) {
    if (value == null || value === "") { tooltip.style.display = "none"; return; }
    const entries = typeof value === "object" ? Object.entries(value) : [["", value]];
    tooltip.replaceChildren(...entries.filter(([, text]) => text !== "" && text != null && text !== "null").map(([name, text]) => {
      const line = make("div");
      line.append(make("b", name), document.createTextNode(String(text)));
      return line;
    }));
    tooltip.style.display = "block";
    const { width, height } = tooltip.getBoundingClientRect();
    tooltip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    tooltip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 8))}px`;
  }

  const views = new Map();
  async function draw(chart, place, found) {
    const picture = place.querySelector(".picture");
    if (!picture) return;
    const isSeen = (row) => !chart.draws.length || chart.draws.some((name) => row[name] != null);
    picture.hidden = !found.some(isSeen);
    if (picture.hidden) return;
    let view = views.get(chart.name);
    if (!view) {
      const runtime = vega.parse(chart.spec, null, { ast: true });
      view = new vega.View(runtime, {
        expr: vega.expressionInterpreter, renderer: "svg", hover: true, logLevel: 1, tooltip: showTooltip,
      });
      // a facet has no width of its container
      const { width } = picture.getBoundingClientRect();
      if (chart.spec.signals?.some((signal) => signal.name === "child_width")) view.signal("child_width", Math.max(120, width - 60));
      if (generation && chart.leads_to) {
        place.dataset.leads = chart.leads_to;
        // a line or an area is of all its windows: its points, and bars, are of one row
        view.addEventListener("click", (_event, item) => {
          const address = ["symbol", "rect"].includes(item?.mark.marktype) && item.datum ? leadsTo(chart, item.datum) : null;
          if (address) location.assign(address);
        });
      }
      view.initialize(picture);
      views.set(chart.name, view);
    }
    const height = chart.spec.signals?.find((signal) => signal.name === "child_height");
    if (height) view.signal("child_height", height.value).resize();
    view.data("rows", found);
    for (const name of chart.also) view.data(name, rowsOf(charts.get(name)));
    await view.runAsync();
    picture.querySelector("svg")?.setAttribute("aria-hidden", "true");
  }

  // A tall card is as high as the cards beside it: the parts of its picture share what is left.
  async function fill() {
    for (const place of document.querySelectorAll(".tall")) {
      const parts = place.querySelectorAll(".picture:not([hidden]) .cell > g").length;
      const room = parseFloat(getComputedStyle(place).paddingBottom);
      const left = place.getBoundingClientRect().bottom - place.lastElementChild.getBoundingClientRect().bottom - room;
      const view = views.get(place.id);
      if (parts && left > parts) {
        await view.signal("child_height", Math.min(view.signal("child_height") + Math.floor(left / parts), 300)).resize().runAsync();
        place.querySelector("svg").setAttribute("aria-hidden", "true");
      }
    }
  }

  async function show() {
    fillFilters();
    const period = page.periods.find((one) => one.period === state.period);
    byId("shown").textContent = `${sliceName(state.slice.named) || "All requests"}, ${minute(period.from_at)} to ${minute(period.until_at)} UTC`;
    byId("tiles").replaceChildren(...(page.tiles[key()] ?? []).map((tile) => {
      const made = make("div", undefined, "tile");
      made.append(make("h2", tile.name), make("p", tile.value, "value"), make("p", tile.note, "more"));
      return made;
    }));
    for (const chart of page.charts) {
      const place = byId(chart.name);
      const found = rowsOf(chart);
      const answer = byId(`${chart.name}-answer`);
      answer.replaceChildren(...written(chart.answers[key()] ?? chart.empty));
      answer.classList.toggle("missing", !found.length);
      place.querySelector(".note").textContent = undivided(chart, found);
      place.querySelector(".numbers").replaceChildren(table(chart, found));
      place.querySelector("details").hidden = !found.length;
      place.querySelector("pre").textContent = query(chart);
      await draw(chart, place, found);
    }
    await fill();
    document.body.dataset.shown = key();
  }

  byId("period").addEventListener("change", (event) => { state.period = event.target.value; writeAddress(); show(); });
  byId("workload").addEventListener("change", (event) => {
    const named = event.target.value ? { workload: event.target.value } : {};
    const before = state.slice.named;
    state.slice = page.slices.find((one) => same(one.named, { ...before, workload: undefined, ...named }))
      ?? page.slices.find((one) => same(one.named, named)) ?? page.slices.find((one) => (one.named.workload ?? "") === event.target.value);
    writeAddress();
    const dropped = Object.entries(before).filter(([name, value]) => name !== "workload" && state.slice.named[name] !== value);
    if (dropped.length) {
      const left = sliceName(Object.fromEntries(dropped));
      byId("missing").textContent = `No longer chosen: ${left}, which is not published within ${event.target.value ? `workload ${event.target.value}` : "all workloads"}.`;
    }
    show();
  });
  byId("within").addEventListener("change", (event) => {
    state.slice = page.slices.find((one) => String(one.choice) === event.target.value);
    writeAddress();
    show();
  });
  byId("reset").addEventListener("click", () => { [state.slice] = page.slices; state.period = page.periods[0].period; writeAddress(); show(); });
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.nextElementSibling.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
  addEventListener("hashchange", () => { readAddress(); show(); });
  addEventListener("beforeprint", () => { for (const view of views.values()) view.resize().run(); });
  readAddress();
  await show();

  // A run that publishes is followed at once, or offered where the reader has opened something.
  if (generation) {
    const opened = document.querySelectorAll("details[open]").length;
    byId("renew").addEventListener("click", () => location.reload());
    const follow = async () => {
      try {
        const answer = await fetch("/generation", { cache: "no-store" });
        if (answer.ok && (await answer.text()) !== generation) {
          if (document.querySelectorAll("details[open]").length === opened) location.reload();
          else byId("newer").hidden = false;
        }
      } catch { /* the server is away: the page stays as it is */ }
    };
    setInterval(follow, 1000 * Number(askEveryS));
  }
})();
