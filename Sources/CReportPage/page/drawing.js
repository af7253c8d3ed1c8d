// How the timeline is drawn: hosts and their connections on the axis of the clock; below it throughput and connections in use.

const timeline = {
    models: [],
    rows: [],
    height: 0,
    view: { from: 0, to: runEnd },
    width: 0,
    gutter: 0,
    chosen: -1,
    hovered: null,
    showsPath: true,
    chain: [],
    colours: {},
    cache: new Map(),
};
const axisHeight = 26,
    curvesHeight = 96;

const xOf = ms =>
    timeline.gutter +
    ((ms - timeline.view.from) / (timeline.view.to - timeline.view.from)) * (timeline.width - timeline.gutter);
const msAt = x =>
    timeline.view.from +
    ((x - timeline.gutter) / (timeline.width - timeline.gutter)) * (timeline.view.to - timeline.view.from);

/** A canvas as fine as the screen; returns its context, in CSS pixels. */
function sized(canvas, width, height) {
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        canvas.style.width = width + "px";
        canvas.style.height = height + "px";
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
}

function readColours() {
    for (const name of [
        ...phases,
        "held",
        "retry",
        "path",
        "text",
        "soft",
        "line",
        "strong-line",
        "panel",
        "raised",
        "failed",
        "accent",
        "ground",
    ])
        timeline.colours[name] = colour(name);
    timeline.hatch = { held: hatch(timeline.colours.held), retry: hatch(timeline.colours.retry) };
}

/** Slanted lines: what waits looks other than what works, without its colour too. */
function hatch(tone) {
    const tile = document.createElement("canvas"),
        ratio = devicePixelRatio || 1,
        edge = Math.round(6 * ratio);
    tile.width = tile.height = edge;
    const context = tile.getContext("2d");
    context.strokeStyle = tone;
    context.lineWidth = 1.6 * ratio;
    context.beginPath();
    for (const shift of [-edge, 0, edge]) {
        context.moveTo(shift, edge);
        context.lineTo(shift + edge, 0);
    }
    context.stroke();
    const pattern = context.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / ratio));
    return pattern;
}

const font = (px, weight = 400) =>
    weight + " " + px + "px " + (timeline.face || (timeline.face = getComputedStyle(document.body).fontFamily));

function clipped(context, text, x, y, room) {
    if (room < 18) return;
    if (context.measureText(text).width > room) {
        let low = 0,
            high = text.length;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (context.measureText(text.slice(0, middle) + "…").width <= room) low = middle;
            else high = middle - 1;
        }
        if (low < 3) return;
        text = text.slice(0, low) + "…";
    }
    context.fillText(text, x, y);
}

/** Moments for the marks of the axis, at even times of the reader's clock. */
function ticks() {
    const { from, to } = timeline.view,
        room = timeline.width - timeline.gutter,
        most = Math.max(2, Math.floor(room / (to - from < 2e3 ? 105 : 80)));
    const units = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5,
        144e5, 432e5, 864e5,
    ];
    const step = units.find(unit => (to - from) / unit <= most) || 864e5 * Math.ceil((to - from) / 864e5 / most);
    const zone = new Date(data.start).getTimezoneOffset() * 6e4,
        list = [];
    for (let at = Math.ceil((data.start + from - zone) / step) * step; at <= data.start + to - zone; at += step)
        list.push(at + zone - data.start);
    return { step, list };
}

function drawAxis() {
    const context = sized(timeline.axis, timeline.width, axisHeight),
        { step, list } = ticks();
    context.fillStyle = timeline.colours.soft;
    context.font = font(11);
    context.textBaseline = "middle";
    for (const at of list) {
        const x = xOf(at),
            text = tickText(at, step);
        if (x > timeline.width - 30) continue;
        context.fillText(text, x + 4, axisHeight / 2);
    }
    if (timeline.gutter > 120) context.fillText("your clock, " + zoneName(), 0, axisHeight / 2);
}

/** Seconds and milliseconds only where the marks are so close; a day begins with its date. */
function tickText(at, step) {
    const time = clock(at, step < 1000);
    if (time.startsWith("00:00:00") && step >= 6e4)
        return new Date(data.start + at).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
    return step < 6e4 ? time : time.slice(0, 5);
}

/** `UTC+2`, as the reader's clock had it when the run began. */
function zoneName() {
    const minutes = -new Date(data.start).getTimezoneOffset(),
        rest = Math.abs(minutes) % 60;
    if (minutes === 0) return "UTC";
    return (
        "UTC" +
        (minutes < 0 ? "−" : "+") +
        Math.floor(Math.abs(minutes) / 60) +
        (rest ? ":" + String(rest).padStart(2, "0") : "")
    );
}

function drawGrid(context, height) {
    context.strokeStyle = timeline.colours.line;
    context.lineWidth = 1;
    context.beginPath();
    for (const at of ticks().list) {
        const x = Math.round(xOf(at)) + 0.5;
        context.moveTo(x, 0);
        context.lineTo(x, height);
    }
    context.stroke();
}

function drawRows() {
    const height = timeline.pane.clientHeight,
        top = timeline.pane.scrollTop,
        context = sized(timeline.canvas, timeline.width, height);
    drawGrid(context, height);
    for (const row of timeline.rows) {
        const y = row.y - top;
        if (y > height || y + row.height < 0) continue;
        if (row.kind === "host") drawHost(context, row, y);
        else {
            context.save();
            context.beginPath();
            context.rect(timeline.gutter, Math.max(0, y), timeline.width - timeline.gutter, row.height);
            context.clip();
            if (row.kind === "waiting") drawWaiting(context, row, y);
            else if (row.kind === "pauses") drawPauses(context, row, y);
            else drawConnection(context, row, y);
            context.restore();
            drawLabel(context, row, y);
        }
    }
    if (timeline.showsPath) drawPath(context, top);
    if (timeline.hovered) {
        context.strokeStyle = timeline.colours["strong-line"];
        context.beginPath();
        context.moveTo(timeline.hovered.x + 0.5, 0);
        context.lineTo(timeline.hovered.x + 0.5, height);
        context.stroke();
    }
}

function drawLabel(context, row, y) {
    context.fillStyle = timeline.colours.soft;
    context.font = font(11);
    context.textBaseline = "alphabetic";
    const isWide = timeline.gutter > 120,
        base = y + labelHeight + barHeight - 1;
    let text =
        row.kind === "waiting"
            ? isWide
                ? "tasks that wait"
                : "waiting"
            : row.kind === "pauses"
              ? isWide
                  ? "before a retry"
                  : "retry"
              : "";
    if (row.kind === "connection") {
        const c = row.row.connection;
        if (c < 0) text = isWide ? "without a connection" : "none";
        else
            text = isWide
                ? connections[c].name +
                  (connections[c].port ? "  port " + connections[c].port : "") +
                  (row.row.lanes > 1 ? "  " + row.row.lanes + " streams" : "")
                : connections[c].name;
    }
    clipped(context, text, isWide ? 18 : 0, base, timeline.gutter - (isWide ? 26 : 4));
}

/** The stacked areas of phases: how many requests at a time, and in which phase. */
function drawHost(context, row, y) {
    const { model } = row,
        { colours, gutter, width } = timeline,
        isWide = gutter > 120;
    const binWidth = 3,
        binCount = Math.max(1, Math.floor((width - gutter) / binWidth)),
        key = model.host + "|" + binCount;
    let bins = timeline.cache.get(key);
    if (!bins) timeline.cache.set(key, (bins = occupancy(model, timeline.view, binCount)));
    if (!model.peak) model.peak = Math.max(1, ...totals(occupancy(model, { from: 0, to: runEnd }, 400)));
    const height = row.height - (isWide ? 12 : 22),
        base = y + row.height - 4,
        peak = Math.max(model.peak, ...totals(bins));
    context.fillStyle = colours["line"];
    context.fillRect(gutter, base, width - gutter, 1);
    const under = new Float64Array(binCount);
    phases.forEach((phase, p) => {
        context.fillStyle = colours[phase];
        context.beginPath();
        for (let i = 0; i < binCount; i++) {
            const value = bins[p][i];
            if (value <= 0) continue;
            const low = (under[i] / peak) * height,
                high = ((under[i] + value) / peak) * height;
            context.rect(gutter + i * binWidth, base - high, binWidth, high - low);
            under[i] += value;
        }
        context.fill();
    });
    context.textBaseline = "alphabetic";
    context.fillStyle = colours.text;
    context.font = font(12, 600);
    const sign = model.series ? "" : model.isOpen ? "▾ " : "▸ ";
    const about = count(model.connections.length, "connection") + " · " + count(model.requestCount, "request");
    if (isWide) {
        clipped(context, sign + shortHost(model.host), 0, y + 17, gutter - 8);
        context.font = font(11);
        context.fillStyle = colours.soft;
        clipped(context, about, 18, y + 31, gutter - 26);
        if (model.series)
            clipped(
                context,
                size(model.received) + (model.series.failed ? " · " + grouped(model.series.failed) + " failed" : ""),
                18,
                y + 45,
                gutter - 26,
            );
    } else clipped(context, sign + shortHost(model.host), 0, y + 12, width);
}

function totals(bins) {
    const sum = new Float64Array(bins[0].length);
    for (const values of bins) for (let i = 0; i < sum.length; i++) sum[i] += values[i];
    return sum;
}

function drawWaiting(context, row, y) {
    const { steps } = row.model,
        bottom = y + row.height - 4,
        { colours } = timeline;
    if (!row.model.mostWaiting)
        row.model.mostWaiting = Math.max(...steps.map(step => Object.values(step.counts).reduce((a, b) => a + b, 0)));
    context.font = font(10.5);
    context.textBaseline = "alphabetic";
    let named = 0;
    for (let i = 0; i < steps.length; i++) {
        const from = steps[i].at,
            to = i + 1 < steps.length ? steps[i + 1].at : runEnd;
        const entries = Object.entries(steps[i].counts).filter(entry => entry[1] > 0),
            sum = entries.reduce((a, b) => a + b[1], 0);
        if (!sum || to < timeline.view.from || from > timeline.view.to) continue;
        const x = xOf(from),
            width = xOf(to) - x,
            height = Math.max(2, (sum / row.model.mostWaiting) * barHeight);
        context.fillStyle = timeline.hatch.held;
        context.fillRect(x, bottom - height, Math.max(width, 1), height);
        context.fillStyle = colours.held;
        context.fillRect(x, bottom - height, Math.max(width, 1), 1);
        if (x < named) continue;
        const start = Math.max(x, timeline.gutter + 2),
            top = entries.sort((a, b) => b[1] - a[1])[0];
        const text =
            grouped(sum) + (sum === 1 ? " waits: " : " wait: ") + entries.map(entry => waitNames[entry[0]]).join(", ");
        const room = textRoom(steps, i, top[0]) - start;
        context.fillStyle = colours.soft;
        if (room > 40) {
            clipped(context, text, start, bottom - barHeight - 3, room - 6);
            named = start + Math.min(room, context.measureText(text).width + 14);
        }
    }
}

/** To where the most frequent reason stays the same, so that it need be named once only. */
function textRoom(steps, index, reason) {
    let i = index + 1;
    while (i < steps.length && steps[i].counts[reason] > 0) i++;
    return xOf(i < steps.length ? steps[i].at : runEnd);
}

function drawPauses(context, row, y) {
    const ends = [];
    context.textBaseline = "alphabetic";
    for (const pause of row.model.pauses) {
        if (pause.to < timeline.view.from || pause.from > timeline.view.to) continue;
        const top = y + pause.lane * lane + labelHeight;
        for (const piece of pause.pieces) {
            const x = xOf(piece.from),
                width = Math.max(1, xOf(piece.to) - x);
            context.fillStyle =
                piece.reason === "backoff" || piece.reason === "retryAfter"
                    ? timeline.hatch.retry
                    : timeline.hatch.held;
            context.fillRect(x, top, width, barHeight);
        }
        const x = xOf(pause.from),
            width = Math.max(2, xOf(pause.to) - x);
        context.strokeStyle = timeline.colours.retry;
        context.lineWidth = 1;
        context.strokeRect(x + 0.5, top + 0.5, width - 1, barHeight - 1);
        const start = Math.max(x, timeline.gutter + 2),
            room = x + width - start;
        if (start < (ends[pause.lane] || 0)) continue;
        context.font = font(10.5);
        context.fillStyle = timeline.colours.soft;
        clipped(context, tasks.id[pause.task] + ": " + pauseWords(pause), start, top - 3, room);
        ends[pause.lane] = start + room;
    }
}

const pauseWords = pause =>
    pause.pieces.map(piece => waitNames[piece.reason] + " " + duration(piece.to - piece.from)).join(", ");

function drawConnection(context, row, y) {
    const { items, lanes, idle } = row.row,
        { colours, view } = timeline;
    const height = lanes === 1 ? barHeight : streamLane - 1,
        drawnTo = new Float64Array(lanes).fill(-1);
    context.textBaseline = "alphabetic";
    context.font = font(10.5);
    for (const gap of idle) {
        if (gap.to < view.from || gap.from > view.to) continue;
        const x = Math.max(xOf(gap.from), timeline.gutter),
            width = xOf(gap.to) - x,
            middle = Math.round(y + labelHeight + barHeight / 2) + 0.5;
        if (width < 3) continue;
        context.strokeStyle = colours["strong-line"];
        context.setLineDash([1, 3]);
        context.beginPath();
        context.moveTo(x + 1, middle);
        context.lineTo(x + width - 1, middle);
        context.stroke();
        context.setLineDash([]);
        if (width < 70) continue;
        const held = heldBefore(gap.next);
        context.fillStyle = colours.soft;
        clipped(context, held ? "idle: " + waitNames[held.reason] : "idle", x + 4, y + labelHeight - 3, width - 8);
    }
    for (const item of items) {
        if (item.to < view.from || item.from > view.to) continue;
        const r = item.request,
            top = y + labelHeight + (lanes === 1 ? 0 : item.lane * streamLane),
            x = xOf(item.from),
            end = Math.max(xOf(item.to), x + 1);
        const isFailed = failedAt(r),
            isChosen = timeline.chosen === r;
        if (end < drawnTo[item.lane] + 0.7 && !isFailed && !isChosen) continue;
        drawnTo[item.lane] = end;
        drawPhases(context, r, x, end, top, height);
        if (isFailed) drawFailure(context, end, top, height);
        if (isChosen) {
            context.strokeStyle = colours.text;
            context.lineWidth = 2;
            context.strokeRect(x - 1, top - 1, end - x + 2, height + 2);
        }
        context.fillStyle = colours.soft;
        const start = Math.max(x, timeline.gutter + 2);
        if (lanes === 1 && end - start > 30)
            clipped(
                context,
                tasks.id[taskOfRequest(r)] +
                    (numberOfAttempt(attemptOfRequest[r]) > 1
                        ? " · attempt " + numberOfAttempt(attemptOfRequest[r])
                        : ""),
                start,
                top - 3,
                end - start - 2,
            );
    }
}

/** Whether this is the request with which its attempt failed. */
const failedAt = r => attempts.outcome[attemptOfRequest[r]] === 1 && r === firstRequest[attemptOfRequest[r] + 1] - 1;

function drawPhases(context, r, x, end, top, height) {
    if (end - x < 2.5) {
        let longest = "receive";
        for (const phase of phases) if (requests[phase][r] > requests[longest][r]) longest = phase;
        context.fillStyle = timeline.colours[longest];
        context.fillRect(x, top, Math.max(1, end - x - 0.4), height);
        return;
    }
    const scale = (timeline.width - timeline.gutter) / (timeline.view.to - timeline.view.from);
    let at = x;
    for (const phase of phases) {
        const width = requests[phase][r] * scale;
        if (width > 0) {
            context.fillStyle = timeline.colours[phase];
            context.fillRect(at, top, width, height);
        }
        at += width;
    }
    context.fillStyle = timeline.colours.panel;
    context.fillRect(end - 0.6, top, 0.6, height);
}

function drawFailure(context, x, top, height) {
    const { colours } = timeline,
        middle = top + height / 2,
        arm = Math.min(4, height / 2 - 0.5);
    context.fillStyle = colours.panel;
    context.beginPath();
    context.arc(x, middle, arm + 2.5, 0, 7);
    context.fill();
    context.strokeStyle = colours.failed;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x - arm, middle - arm);
    context.lineTo(x + arm, middle + arm);
    context.moveTo(x + arm, middle - arm);
    context.lineTo(x - arm, middle + arm);
    context.stroke();
}

/** A line under the bars of the chain, and steps from one to the next. */
function drawPath(context, top) {
    const places = timeline.pathPlaces;
    context.save();
    context.beginPath();
    context.rect(timeline.gutter, 0, timeline.width - timeline.gutter, timeline.pane.clientHeight);
    context.clip();
    context.strokeStyle = timeline.colours.path;
    context.lineWidth = 2;
    context.beginPath();
    let previous = null;
    for (const place of places) {
        const x = xOf(place.from),
            end = Math.max(xOf(place.to), x + 1),
            y = place.y - top;
        if (previous) {
            context.moveTo(previous.x, previous.y);
            context.lineTo(x, previous.y);
            context.lineTo(x, y);
        } else context.moveTo(x, y);
        context.lineTo(end, y);
        previous = { x: end, y };
    }
    context.stroke();
    context.restore();
}

/** Where the chain runs in the rows as they are laid out now. */
function placePath() {
    const spots = new Map(),
        hosts = new Map();
    for (const row of timeline.rows) {
        if (row.kind === "host") hosts.set(row.model, row.y + row.height - 3);
        if (row.kind !== "connection") continue;
        for (const item of row.row.items)
            spots.set(
                item.request,
                row.y + labelHeight + (row.row.lanes === 1 ? barHeight : (item.lane + 1) * streamLane - 1) + 1.5,
            );
    }
    const byHost = new Map(timeline.models.map(model => [model.index, model]));
    timeline.pathPlaces = [];
    for (const link of timeline.chain) {
        for (let a = firstAttempt[link.task]; a < firstAttempt[link.task + 1]; a++)
            for (let r = firstRequest[a]; r < firstRequest[a + 1]; r++) {
                const y = spots.get(r) ?? hosts.get(byHost.get(requests.host[r]));
                const from = r === firstRequest[firstAttempt[link.task]] ? link.from : requests.start[r];
                if (y !== undefined && requests.start[r] < link.to)
                    timeline.pathPlaces.push({ from, to: endOfRequest[r], y });
            }
    }
}

function drawCurves() {
    const context = sized(timeline.curves, timeline.width, curvesHeight),
        { colours, gutter, width, view, models } = timeline;
    drawGrid(context, curvesHeight);
    const binWidth = 3,
        binCount = Math.max(1, Math.floor((width - gutter) / binWidth));
    const bytes = timeline.cache.get("bytes") || throughput(models, view, binCount),
        used = timeline.cache.get("used") || inUse(models, view, binCount);
    timeline.cache.set("bytes", bytes).set("used", used);
    const half = curvesHeight / 2 - 8;
    drawCurve(context, bytes, binWidth, half + 4, half, colours.receive, "throughput", size(Math.max(...bytes)) + "/s");
    drawCurve(
        context,
        used,
        binWidth,
        curvesHeight - 4,
        half,
        colours.wait,
        timeline.gutter > 120 ? "connections in use" : "in use",
        String(Math.round(Math.max(...used) * 10) / 10),
    );
    if (timeline.hovered) {
        context.strokeStyle = colours["strong-line"];
        context.beginPath();
        context.moveTo(timeline.hovered.x + 0.5, 0);
        context.lineTo(timeline.hovered.x + 0.5, curvesHeight);
        context.stroke();
    }
}

function drawCurve(context, bins, binWidth, base, height, tone, name, most) {
    const peak = Math.max(...bins, 1e-9),
        { gutter, width, colours } = timeline;
    context.fillStyle = tone;
    context.globalAlpha = 0.3;
    context.beginPath();
    bins.forEach((value, i) => {
        if (value > 0)
            context.rect(gutter + i * binWidth, base - (value / peak) * height, binWidth, (value / peak) * height);
    });
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = tone;
    context.lineWidth = 1.5;
    context.beginPath();
    bins.forEach((value, i) => {
        const y = base - (value / peak) * height;
        if (i) context.lineTo(gutter + i * binWidth, y);
        else context.moveTo(gutter, y);
        context.lineTo(gutter + (i + 1) * binWidth, y);
    });
    context.stroke();
    context.fillStyle = colours.line;
    context.fillRect(gutter, base, width - gutter, 1);
    context.textBaseline = "alphabetic";
    context.font = font(11, 600);
    context.fillStyle = colours.text;
    if (gutter > 120) {
        context.fillText(name, 0, base - height / 2 - 1);
        context.font = font(11);
        context.fillStyle = colours.soft;
        context.fillText("up to " + most, 0, base - height / 2 + 13);
    } else {
        context.font = font(10);
        context.fillText(name, 0, base - height / 2);
        context.fillText(most, 0, base - height / 2 + 12);
    }
}
