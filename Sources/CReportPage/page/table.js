// The table of tasks: sorted, filtered, and only the rows in view are elements of the page.

const rowHeight = 38;

const columns = [
    { name: "Task", key: t => tasks.id[t] },
    { name: "Outcome", key: t => rank(t) },
    { name: "Host", key: t => hostOf(t), wide: true },
    { name: "Status", key: t => tasks.status[t], number: true, wide: true },
    { name: "Size", key: t => bytesOf(t), number: true },
    { name: "Waited", key: t => waitedBy[t], number: true, wide: true },
    { name: "Time", key: t => tasks.duration[t], number: true },
    { name: "Course", key: t => (tasks.attempts[t] ? attempts.start[firstAttempt[t]] : tasks.finished[t]), wide: true },
];

const waitedBy = new Float64Array(taskCount);
for (let t = 0; t < taskCount; t++) for (const wait of waitsOf(t)) waitedBy[t] += wait.length;

const bytesOf = t => (tasks.bytes[t] >= 0 ? tasks.bytes[t] : Math.max(receivedBy[t], sentBy[t]));
/** What did not succeed comes first. */
const rank = t => [5, 0, 4, 1, 3, 2][tasks.outcome[t]];

const table = {
    order: [],
    open: new Map(),
    sort: { column: -1, down: false },
    text: "",
    only: "all",
    host: "",
    body: null,
    heads: [],
    rows: new Map(),
    said: null,
};

const filters = [
    ["all", "All", () => true],
    ...outcomes.map((name, i) => [name, name[0].toUpperCase() + name.slice(1), t => tasks.outcome[t] === i]),
    ["retried", "Retried", t => tasks.attempts[t] > 1],
    ["redirected", "Redirected", t => detailsOf(t).redirects !== undefined],
];

/** Text of a task in which the filter looks. */
function haystack(t) {
    const error = errorOf(tasks.error[t]),
        details = detailsOf(t);
    return [
        tasks.id[t],
        urlOf(t),
        pathOf(t) || "",
        strings[tasks.final[t]],
        error ? error[0] + " " + error[3] : "",
        String(tasks.status[t] || ""),
        details.group || "",
        details.description || "",
    ]
        .join("\n")
        .toLowerCase();
}
const haystacks = [];

function refilter() {
    const words = table.text.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = filters.find(filter => filter[0] === table.only)[2];
    const list = [];
    for (let t = 0; t < taskCount; t++) {
        if (!fits(t) || (table.host && hostOf(t) !== table.host)) continue;
        if (words.length) {
            const text = haystacks[t] === undefined ? (haystacks[t] = haystack(t)) : haystacks[t];
            if (!words.every(word => text.includes(word))) continue;
        }
        list.push(t);
    }
    const { column, down } = table.sort;
    if (column >= 0) {
        const key = columns[column].key,
            keys = new Map(list.map(t => [t, key(t)])),
            sign = down ? -1 : 1;
        const collator = new Intl.Collator("en", { numeric: true });
        list.sort((a, b) => {
            const x = keys.get(a),
                y = keys.get(b);
            return sign * (typeof x === "string" ? collator.compare(x, y) : x - y) || a - b;
        });
    } else list.sort((a, b) => (rank(a) === 0 ? 0 : 1) - (rank(b) === 0 ? 0 : 1) || a - b);
    table.order = list;
    clearRows();
    render();
    const all =
        list.length === taskCount ? count(taskCount, "task") : grouped(list.length) + " of " + count(taskCount, "task");
    table.said.textContent = data.whole ? all : all + " in this page";
}

/** The course of a task on the run's axis: waits and phases. */
function course(t) {
    const image = draw("svg", {
        class: "bar course",
        viewBox: "0 0 1000 10",
        preserveAspectRatio: "none",
        "aria-hidden": "true",
    });
    const add = (name, from, to, least) =>
        image.append(
            draw("rect", {
                class: name,
                x: ((from / runEnd) * 1000).toFixed(1),
                width: Math.max(((to - from) / runEnd) * 1000, least).toFixed(1),
                height: 10,
            }),
        );
    for (const piece of piecesOf(t)) {
        if (piece.reason) {
            add("held w-" + piece.reason, piece.from, piece.to, 0);
            continue;
        }
        for (let r = firstRequest[piece.attempt]; r < firstRequest[piece.attempt + 1]; r++) {
            let x = requests.start[r];
            for (const phase of phases) {
                if (requests[phase][r] > 0) add("p-" + phase, x, x + requests[phase][r], 3);
                x += requests[phase][r];
            }
        }
        if (attempts.outcome[piece.attempt] === 1) add("p-failed", piece.to - runEnd * 0.003, piece.to, 4);
    }
    return image;
}

function makeRow(index) {
    const t = table.order[index],
        outcome = outcomeOf(t),
        isOpen = table.open.has(t);
    const button = make(
        "button",
        { type: "button", class: "opener", "aria-expanded": isOpen, "data-index": index },
        draw(
            "svg",
            { class: "chevron", viewBox: "0 0 16 16", "aria-hidden": "true" },
            draw("path", { d: "M6 3.500l4.500 4.500L6 12.500" }),
        ),
        make("bdi", {}, tasks.id[t]),
    );
    const row = make(
        "tr",
        {
            class: "task" + (isOpen ? " open" : ""),
            "aria-rowindex": index + 2,
            onclick: event => {
                if (!event.target.closest("a, button") || event.target.closest(".opener")) toggle(t);
            },
        },
        make("th", { scope: "row" }, button),
        make(
            "td",
            {},
            mark(outcome),
            make("span", { class: "word" }, outcome),
            tasks.attempts[t] > 1 && make("small", { class: "tries" }, "×" + tasks.attempts[t]),
        ),
        make("td", { class: "wide", title: hostOf(t) }, shortHost(hostOf(t) || "")),
        make("td", { class: "number wide" }, tasks.status[t] || "–"),
        make("td", { class: "number" }, bytesOf(t) > 0 ? size(bytesOf(t)) : "–"),
        make("td", { class: "number wide" }, waitedBy[t] > 0.5 ? duration(waitedBy[t]) : "–"),
        make("td", { class: "number" }, tasks.duration[t] >= 0 ? duration(tasks.duration[t]) : "–"),
        make("td", { class: "wide" }, course(t)),
    );
    if (!isOpen) return [row];
    const details = make(
        "tr",
        { class: "opened" },
        make("td", { colspan: table.heads.filter(head => head.offsetWidth > 0).length }, detailsFor(t)),
    );
    return [row, details];
}

function clearRows() {
    for (const elements of table.rows.values()) elements.forEach(element => element.remove());
    table.rows.clear();
}

/** Where the row of `index` begins: opened rows above it are taller. */
function offsetOf(index) {
    let offset = index * rowHeight;
    for (const [t, height] of table.open) {
        const at = table.order.indexOf(t);
        if (at >= 0 && at < index) offset += height;
    }
    return offset;
}

/** Makes the rows in view, and removes those that are far from it. The row with the focus stays. */
function render() {
    const top = table.body.getBoundingClientRect().top,
        view = innerHeight,
        margin = 600;
    const opened = [...table.open]
        .map(([t, height]) => [table.order.indexOf(t), height])
        .filter(([at]) => at >= 0)
        .sort((a, b) => a[0] - b[0]);
    const indexAt = y => {
        let extra = 0;
        for (const [at, height] of opened) {
            const begin = (at + 1) * rowHeight + extra;
            if (y < begin) break;
            if (y < begin + height) return at;
            extra += height;
        }
        return Math.floor((y - extra) / rowHeight);
    };
    const from = Math.max(0, indexAt(-top - margin)),
        to = Math.min(table.order.length, indexAt(view - top + margin) + 1);
    const focused =
        document.activeElement && document.activeElement.closest
            ? document.activeElement.closest("tr[data-row]")
            : null;
    for (const [index, elements] of table.rows) {
        if ((index >= from && index < to) || elements.includes(focused)) continue;
        elements.forEach(element => element.remove());
        table.rows.delete(index);
    }
    let next = table.below;
    for (let index = to - 1; index >= from; index--) {
        let elements = table.rows.get(index);
        if (!elements) {
            elements = makeRow(index);
            elements.forEach(element => element.setAttribute("data-row", index));
            table.rows.set(index, elements);
            for (const element of [...elements].reverse()) {
                table.body.insertBefore(element, next);
                next = element;
            }
        }
        next = elements[0];
    }
    const total = offsetOf(table.order.length);
    const stay = [...table.rows.keys()].filter(index => index < from || index >= to);
    const above = offsetOf(from) - stay.filter(index => index < from).length * rowHeight;
    setHeight(table.above, Math.max(0, above));
    setHeight(
        table.below,
        Math.max(0, total - offsetOf(Math.max(from, to)) - stay.filter(index => index >= to).length * rowHeight),
    );
    measure();
}

function setHeight(row, height) {
    row.hidden = height === 0;
    row.firstChild.style.height = height + "px";
}

/** Opened rows are as tall as what they show; a changed height moves what comes after. */
function measure() {
    let isChanged = false;
    for (const elements of table.rows.values()) {
        if (elements.length < 2) continue;
        const t = table.order[Number(elements[0].dataset.row)],
            height = elements[1].offsetHeight;
        if (height && Math.abs(table.open.get(t) - height) > 1) {
            table.open.set(t, height);
            isChanged = true;
        }
    }
    if (isChanged) requestRender();
}

let isRenderDue = false;
function requestRender() {
    if (isRenderDue) return;
    isRenderDue = true;
    requestAnimationFrame(() => {
        isRenderDue = false;
        render();
    });
}

function toggle(t) {
    const index = table.order.indexOf(t);
    if (table.open.has(t)) table.open.delete(t);
    else table.open.set(t, 400);
    const elements = table.rows.get(index),
        hadFocus = elements && elements[0].contains(document.activeElement);
    if (elements) {
        elements.forEach(element => element.remove());
        table.rows.delete(index);
    }
    render();
    const row = table.rows.get(index);
    if (row && hadFocus) row[0].querySelector(".opener").focus({ preventScroll: true });
    if (row && row[1]) sizes.observe(row[1]);
    if (table.open.has(t)) history.replaceState(null, "", "#task-" + numberOf(t));
}
const sizes = new ResizeObserver(() => measure());

/** Opens a task's row and brings it into view, with all filters taken off if they hide it. */
function show(t) {
    if (!table.order.includes(t)) {
        table.text = "";
        table.only = "all";
        table.host = "";
        syncControls();
        refilter();
    }
    if (!table.open.has(t)) toggle(t);
    const index = table.order.indexOf(t);
    scrollTo(0, scrollY + table.body.getBoundingClientRect().top + offsetOf(index) - 90);
    render();
    focusRow(index);
}

function focusRow(index) {
    if (index < 0 || index >= table.order.length) return;
    const y = table.body.getBoundingClientRect().top + offsetOf(index);
    if (y < 80 || y > innerHeight - 80) {
        scrollBy(0, y < 80 ? y - 90 : y - innerHeight + 120);
        render();
    }
    const row = table.rows.get(index);
    if (row) row[0].querySelector(".opener").focus({ preventScroll: true });
}

function sortBy(column) {
    const sort = table.sort;
    if (sort.column !== column) table.sort = { column, down: Boolean(columns[column].number) };
    else if (sort.down === Boolean(columns[column].number)) table.sort = { column, down: !sort.down };
    else table.sort = { column: -1, down: false };
    table.heads.forEach((head, i) => {
        if (i === table.sort.column) head.setAttribute("aria-sort", table.sort.down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
    });
    refilter();
}

function syncControls() {
    table.search.value = table.text;
    for (const chip of table.chips) chip.setAttribute("aria-pressed", chip.dataset.only === table.only);
    if (table.hosts) table.hosts.value = table.host;
}

function controls() {
    table.search = make("input", {
        type: "search",
        placeholder: "Filter by id, URL, file or error",
        "aria-label": "Filter tasks by id, URL, file or error",
        spellcheck: "false",
        oninput: () => {
            table.text = table.search.value;
            refilter();
        },
    });
    table.chips = filters
        .map(([key, name, fits]) => {
            let number = 0;
            for (let t = 0; t < taskCount; t++) if (fits(t)) number++;
            if ((number === 0 && key !== "all") || (key !== "all" && number === taskCount)) return null;
            return make(
                "button",
                {
                    type: "button",
                    class: "chip",
                    "data-only": key,
                    "aria-pressed": key === table.only,
                    onclick: () => {
                        table.only = key;
                        syncControls();
                        refilter();
                    },
                },
                outcomes.includes(key) && mark(key),
                name + " ",
                make("span", {}, grouped(number)),
            );
        })
        .filter(Boolean);
    const names = data.hosts.filter((host, i) => tasks.host.includes(i));
    table.hosts =
        names.length > 1
            ? make(
                  "select",
                  {
                      "aria-label": "Host",
                      onchange: () => {
                          table.host = table.hosts.value;
                          refilter();
                      },
                  },
                  make("option", { value: "" }, "All hosts"),
                  names.map(host => make("option", { value: host }, shortHost(host))),
              )
            : null;
    table.said = make("p", { class: "shown", role: "status" });
    return make(
        "div",
        { class: "controls" },
        table.search,
        table.hosts,
        make("div", { class: "chips", role: "group", "aria-label": "Outcome" }, table.chips),
        table.said,
    );
}

function startTable() {
    const section = document.getElementById("tasks"),
        old = section.querySelector(".scroll");
    table.heads = columns.map((column, i) =>
        make(
            "th",
            {
                scope: "col",
                class: [column.number && "number", column.wide && "wide", "c" + i].filter(Boolean).join(" "),
            },
            make("button", { type: "button", class: "sorter", onclick: () => sortBy(i) }, column.name),
        ),
    );
    table.above = make("tr", { class: "space", "aria-hidden": "true" }, make("td"));
    table.below = make("tr", { class: "space", "aria-hidden": "true" }, make("td"));
    table.body = make("tbody", {}, table.above, table.below);
    const element = make(
        "table",
        { class: "tasks live", "aria-rowcount": taskCount + 1, "aria-labelledby": "tasks-title" },
        make("thead", {}, make("tr", {}, table.heads)),
        table.body,
    );
    element.addEventListener("keydown", event => {
        const opener = event.target.closest(".opener");
        if (!opener || event.altKey || event.ctrlKey || event.metaKey) return;
        const index = Number(opener.dataset.index),
            page = Math.max(1, Math.floor(innerHeight / rowHeight) - 3);
        const target = {
            ArrowDown: index + 1,
            ArrowUp: index - 1,
            PageDown: index + page,
            PageUp: index - page,
            Home: 0,
            End: table.order.length - 1,
        }[event.key];
        if (target === undefined) return;
        event.preventDefault();
        focusRow(Math.max(0, Math.min(table.order.length - 1, target)));
    });
    old.replaceWith(controls(), element);
    addEventListener("scroll", requestRender, { passive: true });
    addEventListener("resize", () => {
        const span = table.heads.filter(head => head.offsetWidth > 0).length;
        for (const elements of table.rows.values()) if (elements[1]) elements[1].firstChild.colSpan = span;
        requestRender();
    });
    document.addEventListener("toggle", () => requestAnimationFrame(measure), true);
    refilter();
}
