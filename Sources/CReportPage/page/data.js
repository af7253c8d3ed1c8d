// The report's tasks, attempts and requests: columns of numbers and shared strings, as the writer of the page packed them.
// Times are milliseconds from the start of the run.

const data = JSON.parse(document.getElementById("data").textContent);
const strings = data.strings;

/** A column whose values are all alike is written as one value. */
function unpacked(table, length) {
    for (const key of Object.keys(table))
        if (!Array.isArray(table[key])) table[key] = new Array(length).fill(table[key]);
    return table;
}
const tasks = unpacked(data.tasks, data.rows[0]);
const attempts = unpacked(data.attempts, data.rows[1]);
const requests = unpacked(data.requests, data.rows[2]);
const taskCount = data.rows[0];
const requestCount = data.rows[2];

const phases = ["queued", "lookup", "connect", "tls", "send", "wait", "receive"];
const phaseNames = ["queued", "DNS", "connecting", "TLS", "sending", "first byte", "receiving"];
const phaseWords = {
    queued: "queued",
    lookup: "looking up the name",
    connect: "connecting",
    tls: "TLS handshake",
    send: "sending",
    wait: "waiting for the first byte",
    receive: "receiving",
};

/** What a task waited for, in words. */
const waitWords = {
    dependency: "tasks it needs",
    hostLimit: "a free connection to the host",
    sessionLimit: "a free place in its session",
    runLimit: "a free place in the run",
    requestRate: "its turn under the request rate",
    backoff: "pause before a retry",
    retryAfter: "the time the server asked for",
    hostParked: "a host that asked for a pause",
    network: "a network",
    power: "mains power",
    window: "the hours of its window",
    bandwidth: "bandwidth",
    earliestBegin: "its time to begin",
    suspended: "being resumed",
    credential: "a credential",
    flush: "bytes to be safe on the disk",
    processLimit: "a free descriptor or thread of the process",
    unknown: "not told",
    between: "the next request of the attempt",
};
const waitNames = {
    dependency: "needs other tasks",
    hostLimit: "host limit",
    sessionLimit: "session limit",
    runLimit: "run limit",
    requestRate: "request rate",
    backoff: "back-off",
    retryAfter: "Retry-After",
    hostParked: "host parked",
    network: "no network",
    power: "power",
    window: "window",
    bandwidth: "bandwidth",
    earliestBegin: "earliest begin",
    suspended: "suspended",
    credential: "credential",
    flush: "flush",
    processLimit: "process limit",
    unknown: "waiting",
    between: "between requests",
};

// Which attempts are a task's, and which requests an attempt's: each list stands in the order of its owners.
const firstAttempt = new Uint32Array(taskCount + 1);
for (let t = 0; t < taskCount; t++) firstAttempt[t + 1] = firstAttempt[t] + tasks.attempts[t];
const attemptCount = firstAttempt[taskCount];
const firstRequest = new Uint32Array(attemptCount + 1);
const taskOfAttempt = new Uint32Array(attemptCount);
for (let a = 0; a < attemptCount; a++) firstRequest[a + 1] = firstRequest[a] + attempts.requests[a];
for (let t = 0; t < taskCount; t++) taskOfAttempt.fill(t, firstAttempt[t], firstAttempt[t + 1]);
const attemptOfRequest = new Uint32Array(requestCount);
for (let a = 0; a < attemptCount; a++) attemptOfRequest.fill(a, firstRequest[a], firstRequest[a + 1]);

const endOfRequest = new Float64Array(requestCount);
for (let r = 0; r < requestCount; r++) {
    let end = requests.start[r];
    for (const phase of phases) end += requests[phase][r];
    endOfRequest[r] = end;
}
// A socket's port may come back: a request that made a connection begins another one.
const connections = [],
    connectionOf = new Int32Array(requestCount).fill(-1),
    requestsOfConnection = [];
{
    const order = Array.from({ length: requestCount }, (_, r) => r)
        .filter(r => requests.socket[r] >= 0)
        .sort((a, b) => requests.start[a] - requests.start[b] || (requests.flags[a] & 1) - (requests.flags[b] & 1));
    const current = new Map(),
        countOfHost = new Map();
    for (const r of order) {
        const socket = requests.socket[r];
        if (!current.has(socket) || requests.flags[r] & 16) {
            const [host, port, remote, tls] = data.sockets[socket],
                number = (countOfHost.get(host) || 0) + 1;
            countOfHost.set(host, number);
            current.set(socket, connections.length);
            connections.push({ host, port, remote: strings[remote], tls, name: "#" + number });
            requestsOfConnection.push([]);
        }
        connectionOf[r] = current.get(socket);
        requestsOfConnection[connectionOf[r]].push(r);
    }
}

const taskOfRequest = r => taskOfAttempt[attemptOfRequest[r]];
/** An attempt's duration is without the waits between its requests: it ends with the last of them at the earliest. */
const endOfAttempt = a => {
    let end = attempts.start[a] + attempts.duration[a];
    for (let r = firstRequest[a]; r < firstRequest[a + 1]; r++) end = Math.max(end, endOfRequest[r]);
    return end;
};
const numberOfAttempt = a => a - firstAttempt[taskOfAttempt[a]] + 1;

const urlOf = t => strings[tasks.folder[t]] + tasks.name[t];
const urlOfAttempt = a => (attempts.url[a] ? strings[attempts.url[a]] : urlOf(taskOfAttempt[a]));
const urlOfRequest = r => (requests.url[r] ? strings[requests.url[r]] : urlOfAttempt(attemptOfRequest[r]));
const methodOfRequest = r => strings[requests.method[r] || tasks.method[taskOfRequest(r)]];
const outcomeOf = t => outcomes[tasks.outcome[t]];
const pathOf = t =>
    tasks.path[t] < 0 ? null : strings[tasks.path[t]] + (tasks.pathName[t] === 0 ? tasks.name[t] : tasks.pathName[t]);
const hostOf = t => data.hosts[tasks.host[t]];
const errorOf = index => (index < 0 ? null : data.errors[index]);
const detailsOf = t => data.more[t] || {};
const shortHost = host => host.replace(/^[a-z]+:\/\//, "").replace(/:(80|443)$/, "");

const receivedBy = new Float64Array(taskCount),
    sentBy = new Float64Array(taskCount);
for (let r = 0; r < requestCount; r++) {
    receivedBy[taskOfRequest(r)] += requests.received[r];
    sentBy[taskOfRequest(r)] += requests.sent[r];
}

/** The waits of a task: pairs of reason and milliseconds, in the order in which they first came. */
function waitsOf(t) {
    const list = tasks.waits[t],
        waits = [];
    for (let i = 0; list && i < list.length; i += 2) waits.push({ reason: strings[list[i]], length: list[i + 1] });
    return waits;
}

/**
 * The life of a task as pieces without gaps: `{ from, to, reason }` where it waited, `{ from, to, attempt }` where it did not.
 * Waits between the requests of an attempt, such as before a redirect is followed, come besides, with `isInside`.
 * The report says how long a task waited for what, not when; the pieces put each wait into the first gap that it fits.
 */
function piecesOf(t) {
    const pieces = [],
        left = waitsOf(t),
        first = firstAttempt[t],
        last = firstAttempt[t + 1];
    const begin = tasks.created[t],
        end = tasks.finished[t];
    if (begin < 0 || end < 0) return pieces;
    const take = (from, to, wanted) => {
        for (const wait of left) {
            if (to - from < 0.5) break;
            if (wait.length < 0.05 || !wanted(wait.reason)) continue;
            const length = Math.min(wait.length, to - from);
            pieces.push({ from, to: from + length, reason: wait.reason });
            wait.length -= length;
            from += length;
        }
        return from;
    };
    const isPause = reason => reason === "backoff" || reason === "retryAfter";
    const gap = (from, to, ...order) => {
        for (const wanted of order) from = take(from, to, wanted);
        // Times have milliseconds: what is shorter than that is no piece of its own.
        if (to - from >= 1.5) pieces.push({ from, to, reason: "unknown" });
    };
    let at = begin;
    for (let a = first; a < last; a++) {
        const start = attempts.start[a];
        if (a === first) gap(at, start, reason => !isPause(reason) && reason !== "flush");
        else {
            const pause = attempts.backoff[a - 1];
            let from = at;
            if (pause > 0) from = take(at, Math.min(start, at + pause + 1), isPause);
            gap(from, start, reason => !isPause(reason) && reason !== "flush", isPause);
        }
        pieces.push({ from: start, to: endOfAttempt(a), attempt: a });
        let inside = start;
        const outside = pieces.length;
        for (let r = firstRequest[a]; r < firstRequest[a + 1]; r++) {
            if (requests.start[r] - inside >= 1.5)
                gap(inside, requests.start[r], reason => !isPause(reason) && reason !== "flush", isPause);
            inside = Math.max(inside, endOfRequest[r]);
        }
        for (const piece of pieces.slice(outside)) {
            piece.isInside = true;
            if (piece.reason === "unknown") piece.reason = "between";
        }
        at = Math.max(at, endOfAttempt(a));
    }
    gap(
        at,
        end,
        reason => reason === "flush",
        () => true,
    );
    return pieces;
}

const runEnd = Math.max(data.duration, 1, ...(taskCount ? [tasks.finished.reduce((a, b) => Math.max(a, b), 0)] : []));

/** A moment of the run as the clock on the wall showed it, in this reader's time zone. */
function clock(ms, withMilliseconds) {
    const date = new Date(data.start + ms),
        pad = (n, w = 2) => String(n).padStart(w, "0");
    return (
        pad(date.getHours()) +
        ":" +
        pad(date.getMinutes()) +
        ":" +
        pad(date.getSeconds()) +
        (withMilliseconds ? "." + pad(date.getMilliseconds(), 3) : "")
    );
}
