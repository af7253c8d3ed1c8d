// The timeline as people use it: what is in view, what is pointed at or chosen, keys and buttons.

let isDrawDue = false;
function redraw() {
    if (isDrawDue) return;
    isDrawDue = true;
    requestAnimationFrame(() => {
        isDrawDue = false;
        drawAxis();
        drawRows();
        drawCurves();
        const whole = runEnd,
            track = timeline.range;
        track.style.left = timeline.gutter + (timeline.view.from / whole) * (timeline.width - timeline.gutter) + "px";
        track.style.width =
            Math.max(8, ((timeline.view.to - timeline.view.from) / whole) * (timeline.width - timeline.gutter)) + "px";
    });
}

function lay() {
    timeline.width = timeline.pane.clientWidth;
    timeline.gutter = timeline.width > 760 ? 196 : 58;
    const { rows, height } = layOut(timeline.models, timeline.gutter < 120);
    timeline.rows = rows;
    timeline.spacer.style.height = height + "px";
    timeline.pane.style.height = Math.min(height, Math.max(300, Math.round(innerHeight * 0.62))) + "px";
    timeline.cache.clear();
    placePath();
    redraw();
}

function look(from, to) {
    const least = 2,
        length = Math.min(runEnd, Math.max(least, to - from));
    from = Math.max(0, Math.min(runEnd - length, from));
    timeline.view = { from, to: from + length };
    timeline.cache.clear();
    redraw();
}

function zoom(factor, around) {
    const { from, to } = timeline.view,
        centre = around === undefined ? (from + to) / 2 : around;
    look(centre - (centre - from) * factor, centre + (to - centre) * factor);
}
const pan = share =>
    look(
        timeline.view.from + (timeline.view.to - timeline.view.from) * share,
        timeline.view.to + (timeline.view.to - timeline.view.from) * share,
    );

/** What is drawn at a place of the pane: `{ row, request | pause | step }`. */
function at(x, y) {
    const ms = msAt(x),
        slack = ((timeline.view.to - timeline.view.from) / (timeline.width - timeline.gutter)) * 3;
    const row = timeline.rows.find(row => y >= row.y && y < row.y + row.height);
    if (!row || x < timeline.gutter) return { row, ms };
    if (row.kind === "pauses") {
        const laneAt = Math.floor((y - row.y) / lane);
        return {
            row,
            ms,
            pause: row.model.pauses.find(
                pause => pause.lane === laneAt && ms >= pause.from - slack && ms <= pause.to + slack,
            ),
        };
    }
    if (row.kind !== "connection") return { row, ms };
    const { items, lanes, idle } = row.row,
        laneAt = lanes === 1 ? 0 : Math.floor((y - row.y - labelHeight) / streamLane);
    let found = null,
        distance = slack;
    for (const item of items) {
        if (item.lane !== laneAt) continue;
        const away = ms < item.from ? item.from - ms : ms > item.to ? ms - item.to : 0;
        if (away <= distance) {
            found = item;
            distance = away;
            if (!away) break;
        }
    }
    return {
        row,
        ms,
        request: found ? found.request : undefined,
        idle: found ? null : idle.find(gap => ms >= gap.from && ms <= gap.to),
    };
}

/** Lines that say what a request is: for the tip, and for those who hear the page. */
function requestLines(r) {
    const a = attemptOfRequest[r],
        t = taskOfRequest(r),
        error = failedAt(r) ? errorOf(attempts.error[a]) : null;
    const took = phases
        .map((phase, i) => (requests[phase][r] > 0 ? phaseNames[i] + " " + duration(requests[phase][r]) : ""))
        .filter(Boolean)
        .join(", ");
    return [
        tasks.id[t] + (tasks.attempts[t] > 1 ? ", attempt " + numberOfAttempt(a) + " of " + tasks.attempts[t] : ""),
        methodOfRequest(r) + " " + urlOfRequest(r),
        [
            requests.status[r] || "no answer",
            duration(endOfRequest[r] - requests.start[r]),
            size(requests.received[r] || requests.sent[r]),
            strings[requests.version[r]],
        ]
            .filter(Boolean)
            .join(" · "),
        took,
        error ? error[3] : "",
        timeline.onPath.has(t) ? "on the critical path" : "",
    ].filter(Boolean);
}

function tipLines(hit) {
    if (hit.request !== undefined) return requestLines(hit.request);
    if (hit.pause)
        return [
            tasks.id[hit.pause.task] + ", before attempt " + (numberOfAttempt(hit.pause.attempt) + 1),
            pauseWords(hit.pause),
            errorOf(attempts.error[hit.pause.attempt]) ? errorOf(attempts.error[hit.pause.attempt])[3] : "",
        ].filter(Boolean);
    if (hit.idle) {
        const held = heldBefore(hit.idle.next);
        return [
            "connection idle for " + duration(hit.idle.to - hit.idle.from),
            "next: " +
                tasks.id[taskOfRequest(hit.idle.next)] +
                (held ? ", which waited: " + waitWords[held.reason] : ""),
        ];
    }
    if (hit.row && hit.row.kind === "waiting") {
        const step = hit.row.model.steps.findLast(step => step.at <= hit.ms);
        const entries = step ? Object.entries(step.counts).filter(entry => entry[1] > 0) : [];
        return entries.length ? entries.map(entry => count(entry[1], "task") + " for " + waitWords[entry[0]]) : null;
    }
    if (hit.row && hit.row.kind === "host") {
        const bins = occupancy(hit.row.model, { from: hit.ms - 1, to: hit.ms + 1 }, 1);
        const parts = phases
            .map((phase, i) => (bins[i][0] > 0.005 ? Math.round(bins[i][0] * 10) / 10 + " " + phaseWords[phase] : ""))
            .filter(Boolean);
        return [hit.row.model.host, parts.length ? "requests: " + parts.join(", ") : "no request under way"];
    }
    return null;
}

function showTip(hit, x, y) {
    const lines = hit && tipLines(hit),
        tip = timeline.tip;
    tip.hidden = !lines;
    if (!lines) return;
    tip.replaceChildren(
        ...lines.map((line, i) => make("div", { class: i ? null : "first" }, make("bdi", {}, line))),
        make("div", { class: "at" }, clock(hit.ms, true) + "  +" + duration(hit.ms)),
    );
    const frame = timeline.frame.getBoundingClientRect(),
        isRight = x > frame.width * 0.6;
    tip.style.left = isRight ? "auto" : x + 14 + "px";
    tip.style.right = isRight ? frame.width - x + 14 + "px" : "auto";
    tip.style.top = y + 18 + "px";
}

/** Makes a request the chosen one: outlined, in view and told. */
function choose(r, comesIntoView) {
    timeline.chosen = r;
    if (r < 0) {
        timeline.said.replaceChildren();
        redraw();
        return;
    }
    if (comesIntoView) {
        const row = timeline.rows.find(
            row => row.kind === "connection" && row.row.items.some(item => item.request === r),
        );
        if (
            row &&
            (row.y < timeline.pane.scrollTop ||
                row.y + row.height > timeline.pane.scrollTop + timeline.pane.clientHeight)
        )
            timeline.pane.scrollTop = row.y - timeline.pane.clientHeight / 2;
        const { from, to } = timeline.view,
            length = to - from;
        if (endOfRequest[r] > to || requests.start[r] < from)
            look(requests.start[r] - length * 0.3, requests.start[r] + length * 0.7);
    }
    const t = taskOfRequest(r),
        lines = requestLines(r);
    timeline.said.replaceChildren(
        make("b", {}, lines[0]),
        " " + lines.slice(1).join(" · ") + " ",
        make("button", { type: "button", class: "plain", onclick: () => show(t) }, "Open the task"),
    );
    redraw();
}

/** Whether the timeline has a request of the task. */
const canShow = t => data.whole && firstRequest[firstAttempt[t]] < firstRequest[firstAttempt[t + 1]];

/** Shows all of a task in the timeline. */
function showInTimeline(t) {
    const r = firstRequest[firstAttempt[t]],
        from = requests.start[r],
        to = tasks.finished[t],
        room = Math.max(20, (to - from) * 0.35);
    for (const model of timeline.models)
        if (model.index === requests.host[r] && !model.isOpen) {
            model.isOpen = true;
            lay();
        }
    look(from - room, to + room);
    choose(r, true);
    document.getElementById("timeline").scrollIntoView({ block: "start" });
    timeline.pane.focus({ preventScroll: true });
}

function onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const order =
        timeline.byTime ||
        (timeline.byTime = Array.from({ length: requestCount }, (_, r) => r).sort(
            (a, b) => requests.start[a] - requests.start[b],
        ));
    const next = step => {
        if (!order.length) return;
        const place =
            timeline.chosen < 0
                ? step > 0
                    ? order.findIndex(r => endOfRequest[r] >= timeline.view.from)
                    : order.length - 1
                : order.indexOf(timeline.chosen) + step;
        if (place >= 0 && place < order.length) choose(order[place], true);
    };
    const actions = {
        ArrowLeft: () => pan(-0.15),
        ArrowRight: () => pan(0.15),
        "+": () => zoom(0.6),
        "=": () => zoom(0.6),
        "-": () => zoom(1 / 0.6),
        0: () => look(0, runEnd),
        n: () => next(1),
        p: () => next(-1),
        Enter: () => timeline.chosen >= 0 && show(taskOfRequest(timeline.chosen)),
        Escape: () => choose(-1),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
}

function listen() {
    const { pane } = timeline,
        held = new Map();
    let moved = 0;
    const place = event => {
        const frame = pane.getBoundingClientRect();
        return { x: event.clientX - frame.left, y: event.clientY - frame.top };
    };
    pane.addEventListener(
        "wheel",
        event => {
            const { x } = place(event);
            if (event.ctrlKey || event.metaKey || event.altKey) {
                event.preventDefault();
                zoom(Math.exp(event.deltaY * 0.003), msAt(x));
            } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
                event.preventDefault();
                pan((event.deltaX || event.deltaY) / (timeline.width - timeline.gutter));
            }
        },
        { passive: false },
    );
    pane.addEventListener("pointerdown", event => {
        held.set(event.pointerId, place(event));
        moved = 0;
    });
    pane.addEventListener("pointermove", event => {
        const now = place(event),
            before = held.get(event.pointerId);
        if (before && held.size === 1 && event.buttons) {
            const shift = msAt(before.x) - msAt(now.x);
            moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
            if (moved > 4) {
                if (!pane.hasPointerCapture(event.pointerId)) pane.setPointerCapture(event.pointerId);
                look(timeline.view.from + shift, timeline.view.to + shift);
            }
        } else if (before && held.size === 2) {
            const other = [...held].find(([id]) => id !== event.pointerId)[1],
                apart = Math.abs(before.x - other.x),
                nowApart = Math.abs(now.x - other.x);
            moved += 9;
            if (apart > 5 && nowApart > 5) zoom(apart / nowApart, msAt((now.x + other.x) / 2));
        }
        if (before) held.set(event.pointerId, now);
        const hit = at(now.x, now.y + pane.scrollTop);
        timeline.hovered = now.x >= timeline.gutter ? now : null;
        pane.classList.toggle(
            "pointing",
            hit.request !== undefined || Boolean(hit.row && hit.row.kind === "host" && now.x < timeline.gutter),
        );
        showTip(held.size && moved > 4 ? null : hit, now.x, now.y + axisHeight);
        redraw();
    });
    const release = event => held.delete(event.pointerId);
    pane.addEventListener("pointerup", event => {
        release(event);
        if (moved > 4) return;
        const { x, y } = place(event),
            hit = at(x, y + pane.scrollTop);
        if (
            hit.row &&
            hit.row.kind === "host" &&
            (x < timeline.gutter || timeline.gutter < 120) &&
            !hit.row.model.series
        ) {
            hit.row.model.isOpen = !hit.row.model.isOpen;
            lay();
        } else
            choose(hit.request === undefined ? (hit.pause ? firstRequest[hit.pause.attempt] : -1) : hit.request, false);
    });
    pane.addEventListener("pointercancel", release);
    pane.addEventListener("pointerleave", event => {
        release(event);
        timeline.hovered = null;
        showTip(null);
        redraw();
    });
    pane.addEventListener("dblclick", event => zoom(0.4, msAt(place(event).x)));
    pane.addEventListener("scroll", redraw, { passive: true });
    pane.addEventListener("keydown", onKey);
    addEventListener("resize", lay);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
        readColours();
        redraw();
    });
}

function legend() {
    const swatch = name =>
        draw(
            "svg",
            { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
            draw("rect", { class: name, width: 10, height: 10 }),
        );
    return make(
        "ul",
        { class: "legend" },
        phases.map((phase, i) => make("li", { title: phaseWords[phase] }, swatch("p-" + phase), phaseNames[i])),
        data.whole && [
            make("li", {}, swatch("held"), "a task waits"),
            make("li", {}, swatch("pause"), "pause before a retry"),
            make("li", {}, mark("failed"), "failed"),
        ],
    );
}

function tools() {
    const button = (name, words, action) =>
        make("button", { type: "button", class: "tool", "aria-label": words, title: words, onclick: action }, name);
    const path = make("input", {
        type: "checkbox",
        checked: true,
        onchange: () => {
            timeline.showsPath = path.checked;
            redraw();
        },
    });
    return make(
        "div",
        { class: "tools" },
        button("−", "Zoom out", () => zoom(1 / 0.6)),
        button("+", "Zoom in", () => zoom(0.6)),
        button("‹", "Earlier", () => pan(-0.3)),
        button("›", "Later", () => pan(0.3)),
        button("All", "The whole run", () => look(0, runEnd)),
        data.whole &&
            make(
                "label",
                {},
                path,
                draw(
                    "svg",
                    { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
                    draw("rect", { class: "pathline", y: 3.5, width: 10, height: 3 }),
                ),
                "critical path",
            ),
    );
}

/** The chain as a list: what determined the end, in words. */
function pathList() {
    const lines = pathInWords(timeline.chain);
    if (!lines.length) return null;
    const link = t =>
        make("button", { type: "button", class: "link", onclick: () => show(t) }, make("bdi", {}, tasks.id[t]));
    return make(
        "details",
        { class: "path" },
        make(
            "summary",
            {},
            "What determined the end: " +
                count(timeline.chain.length, "task") +
                (timeline.chain.length > 1 ? ", one after the other" : ""),
        ),
        make(
            "ol",
            { class: "list" },
            lines.map(line =>
                make(
                    "li",
                    {},
                    line.tasks.length === 1
                        ? link(line.tasks[0])
                        : [
                              link(line.tasks[0]),
                              " … ",
                              link(line.tasks.at(-1)),
                              ", " + count(line.tasks.length, "task") + " on " + shortHost(data.hosts[line.host]),
                          ],
                    make(
                        "small",
                        {},
                        duration(line.to - line.from) +
                            ": " +
                            line.made.map(([name, length]) => name + " " + duration(length)).join(", "),
                    ),
                ),
            ),
        ),
        make(
            "p",
            { class: "note" },
            "Found from the times and waits of the report, which does not name what a task needs.",
        ),
    );
}

function startTimeline() {
    const section = document.getElementById("timeline");
    timeline.models = data.whole ? hostModels() : countedModels();
    if (!timeline.models.length) return;
    timeline.chain = data.whole ? criticalPath() : [];
    timeline.onPath = new Set(timeline.chain.map(link => link.task));
    const rowCount = timeline.models.reduce((sum, model) => sum + model.rows.length, 0);
    if (rowCount > 60) timeline.models.forEach((model, i) => (model.isOpen = i === 0));
    timeline.axis = make("canvas", { class: "axis", "aria-hidden": "true" });
    timeline.canvas = make("canvas", { "aria-hidden": "true" });
    timeline.curves = make("canvas", { class: "curves", "aria-hidden": "true" });
    timeline.spacer = make("div", { class: "spacer" });
    timeline.pane = make(
        "div",
        {
            class: "pane",
            tabindex: 0,
            role: "application",
            "aria-label": "Timeline of connections",
            "aria-describedby": "timeline-keys",
        },
        timeline.canvas,
        timeline.spacer,
    );
    timeline.tip = make("div", { class: "tip", hidden: true });
    timeline.range = make("div", { class: "range" });
    timeline.said = make("p", { class: "chosen", role: "status" });
    timeline.frame = make(
        "div",
        { class: "frame" },
        timeline.axis,
        timeline.pane,
        timeline.curves,
        make("div", { class: "track" }, timeline.range),
        timeline.tip,
    );
    section.append(
        make("div", { class: "bar-of-tools" }, legend(), tools()),
        timeline.frame,
        timeline.said,
        make(
            "p",
            { class: "note", id: "timeline-keys" },
            data.whole
                ? "Each row is one connection, each bar a request. Drag to move, Ctrl and wheel to zoom. Keys: arrows move, + and − zoom, 0 shows all, n and p go from request to request, Enter opens the task."
                : "The areas show how many requests of each host were under way, and in which phase. Drag to move, Ctrl and wheel to zoom. Keys: arrows move, + and − zoom, 0 shows all.",
        ),
        pathList() || "",
    );
    section.hidden = false;
    readColours();
    lay();
    listen();
}
