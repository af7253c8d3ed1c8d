// The rows of the timeline and the curves on its axis, as values: no drawing here.

const barHeight = 11,
    labelHeight = 13,
    lane = labelHeight + barHeight + 4,
    streamLane = 8;

/** A connection is busy from the first request's begin to the last one's end, while they touch. */
function busyTimes(list) {
    const busy = [];
    for (const r of [...list].sort((a, b) => requests.start[a] - requests.start[b])) {
        const last = busy.at(-1);
        if (last && requests.start[r] <= last[1]) last[1] = Math.max(last[1], endOfRequest[r]);
        else busy.push([requests.start[r], endOfRequest[r]]);
    }
    return busy;
}

/** Puts intervals `{ from, to }` into as few lanes as needed, at most `most`; sets `lane`, returns how many there are. */
function packed(intervals, most) {
    const ends = [];
    intervals.sort((a, b) => a.from - b.from);
    for (const interval of intervals) {
        let free = ends.findIndex(end => end <= interval.from + 0.01);
        if (free < 0) free = ends.length < most ? ends.length : most - 1;
        ends[free] = Math.max(ends[free] || 0, interval.to);
        interval.lane = free;
    }
    return Math.max(1, ends.length);
}

/** What each host has: requests by connection, tasks that wait, pauses before retries. */
function hostModels() {
    const models = data.hosts.map((host, index) => ({
        host,
        index,
        requests: [],
        connections: [],
        loose: [],
        waiting: [],
        pauses: [],
        isOpen: true,
        received: 0,
        requestCount: 0,
    }));
    for (let r = 0; r < requestCount; r++) {
        const model = models[requests.host[r]];
        model.requests.push(r);
        model.requestCount++;
        model.received += requests.received[r];
        if (connectionOf[r] < 0) model.loose.push(r);
    }
    connections.forEach((connection, c) => models[connection.host].connections.push(c));
    for (let t = 0; t < taskCount; t++) {
        const model = models[tasks.host[t]];
        const first = firstAttempt[t];
        for (const piece of piecesOf(t)) {
            if (!piece.reason || piece.reason === "between" || piece.to - piece.from < 0.5) continue;
            if (tasks.attempts[t] > 1 && piece.from >= attempts.start[first]) continue;
            model.waiting.push({ from: piece.from, to: piece.to, reason: piece.reason, task: t });
        }
        for (let a = first; a + 1 < firstAttempt[t + 1]; a++) {
            const from = endOfAttempt(a),
                to = attempts.start[a + 1];
            if (to > from)
                model.pauses.push({
                    from,
                    to,
                    task: t,
                    attempt: a,
                    pieces: piecesOf(t).filter(piece => piece.reason && piece.from >= from - 1 && piece.to <= to + 1),
                });
        }
    }
    for (const model of models) {
        model.steps = steps(model.waiting);
        model.pauseLanes = model.pauses.length ? packed(model.pauses, 8) : 0;
        model.rows = model.connections.map(c => connectionRow(requestsOfConnection[c], c));
        if (model.loose.length) model.rows.push(connectionRow(model.loose, -1));
        model.busy = model.rows.flatMap(row => row.busy);
    }
    return models.filter(model => model.requests.length || model.waiting.length);
}

function connectionRow(list, connection) {
    const items = list.map(r => ({ from: requests.start[r], to: endOfRequest[r], request: r }));
    const lanes = packed(items, 24);
    return { connection, items, lanes, busy: busyTimes(list), idle: connection < 0 ? [] : idleTimes(items) };
}

/** The times in which a connection had nothing to do, and what the task that used it next was waiting for. */
function idleTimes(items) {
    const idle = [];
    let end = items.length ? items[0].to : 0;
    for (const item of items.slice(1)) {
        if (item.from - end > 1.5) idle.push({ from: end, to: item.from, next: item.request });
        end = Math.max(end, item.to);
    }
    return idle;
}

/** What held back the task of a request just before it was sent; `null` if nothing did. */
function heldBefore(r) {
    const t = taskOfRequest(r),
        held = piecesOf(t)
            .filter(piece => piece.reason && piece.to <= requests.start[r] + sameMoment)
            .at(-1);
    return held && requests.start[r] - held.to < sameMoment * 2 ? held : null;
}

/** How many tasks wait for what, from moment to moment: `[{ at, counts: { reason: n } }]`. */
function steps(waiting) {
    const changes = [];
    for (const wait of waiting) changes.push([wait.from, wait.reason, 1], [wait.to, wait.reason, -1]);
    changes.sort((a, b) => a[0] - b[0]);
    const list = [],
        counts = {};
    for (const [at, reason, change] of changes) {
        counts[reason] = (counts[reason] || 0) + change;
        const last = list.at(-1);
        if (last && at - last.at < 0.5) last.counts = { ...counts };
        else list.push({ at, counts: { ...counts } });
    }
    return list;
}

/** Adds the time of an interval to the bins that it touches. */
function addTo(bins, view, from, to, weight) {
    const width = (view.to - view.from) / bins.length,
        a = (Math.max(from, view.from) - view.from) / width,
        b = (Math.min(to, view.to) - view.from) / width;
    if (b <= a) return;
    const first = Math.floor(a),
        last = Math.min(bins.length - 1, Math.floor(b));
    if (first === last) {
        bins[first] += (b - a) * weight;
        return;
    }
    bins[first] += (first + 1 - a) * weight;
    for (let i = first + 1; i < last; i++) bins[i] += weight;
    bins[last] += (b - last) * weight;
}

/** How many requests of a host are in which phase, on average in each bin of the view. */
function occupancy(model, view, binCount) {
    if (model.series) return model.series.phases.map(values => resampled(values, view, binCount, 100));
    const bins = phases.map(() => new Float64Array(binCount));
    for (const r of model.requests) {
        let at = requests.start[r];
        if (at > view.to || endOfRequest[r] < view.from) continue;
        phases.forEach((phase, i) => {
            const length = requests[phase][r];
            if (length > 0) addTo(bins[i], view, at, at + length, 1);
            at += length;
        });
    }
    return bins;
}

/** Bytes a second in each bin: what an answer brought is spread over the time in which it came. */
function throughput(models, view, binCount) {
    const bins = new Float64Array(binCount);
    for (const model of models) {
        if (model.series) {
            resampled(model.series.bytes, view, binCount, 1).forEach(
                (value, i) => (bins[i] += (value / data.series.step) * 1000),
            );
            continue;
        }
        for (const r of model.requests) {
            const end = endOfRequest[r],
                sendEnd = end - requests.receive[r] - requests.wait[r];
            if (requests.received[r] > 0) {
                const length = Math.max(requests.receive[r], 1);
                addTo(bins, view, end - length, end, (requests.received[r] / length) * 1000);
            }
            if (requests.sent[r] > 0) {
                const length = Math.max(requests.send[r], 1);
                addTo(bins, view, sendEnd - length, sendEnd, (requests.sent[r] / length) * 1000);
            }
        }
    }
    return bins;
}

/** How many connections have a request under way. */
function inUse(models, view, binCount) {
    const bins = new Float64Array(binCount);
    for (const model of models) {
        if (model.series) {
            model.series.phases
                .slice(1)
                .forEach(values => resampled(values, view, binCount, 100).forEach((value, i) => (bins[i] += value)));
            continue;
        }
        for (const [from, to] of model.busy) if (to >= view.from && from <= view.to) addTo(bins, view, from, to, 1);
    }
    return bins;
}

/** The writer's even buckets in the bins of the view. */
function resampled(values, view, binCount, divisor) {
    const bins = new Float64Array(binCount),
        step = data.series.step,
        width = (view.to - view.from) / binCount;
    for (let i = 0; i < binCount; i++)
        bins[i] = (values[Math.floor((view.from + (i + 0.5) * width) / step)] || 0) / divisor;
    return bins;
}

/** A run whose tasks are too many for this page: what the writer counted of each host. */
function countedModels() {
    return data.series.hosts.map((series, index) => ({
        host: series.host,
        index,
        series,
        requests: [],
        rows: [],
        waiting: [],
        pauses: [],
        steps: [],
        pauseLanes: 0,
        busy: [],
        isOpen: false,
        received: series.received,
        requestCount: series.requests,
        connections: { length: series.connections },
    }));
}

/** All rows from top to bottom: `{ kind, y, height, model, … }`. */
function layOut(models, isNarrow) {
    const rows = [];
    let y = 0;
    const add = row => {
        row.y = y;
        y += row.height;
        rows.push(row);
    };
    for (const model of models) {
        add({ kind: "host", height: model.series || isNarrow ? 54 : 40, model });
        if (!model.isOpen) continue;
        if (model.waiting.length) add({ kind: "waiting", height: lane, model });
        if (model.pauseLanes) add({ kind: "pauses", height: model.pauseLanes * lane, model });
        for (const row of model.rows)
            add({
                kind: "connection",
                height: row.lanes === 1 ? lane : labelHeight + row.lanes * streamLane + 4,
                model,
                row,
            });
        y += 10;
    }
    return { rows, height: y };
}
