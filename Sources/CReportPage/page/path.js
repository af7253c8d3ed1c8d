// The critical path: the chain of tasks that determined when the run ended. The report does not say what a task needs; it
// says how long it waited for what. The step back from a task leads to the one whose end let it start.

/** Milliseconds that two moments may differ and still be one: times in the report are rounded. */
const sameMoment = 4;

/** The task that ended last before `moment` and that `fits`; -1 if there is none. */
function lastEnded(moment, fits) {
    let found = -1;
    for (let t = 0; t < taskCount; t++) {
        const end = tasks.finished[t];
        if (end < 0 || end > moment + sameMoment || !fits(t)) continue;
        if (found < 0 || end > tasks.finished[found]) found = t;
    }
    return found >= 0 && moment - tasks.finished[found] <= 250 ? found : -1;
}

/** The request before `r` on the same connection; -1 if there is none. */
function requestBefore(r) {
    const connection = connectionOf[r];
    if (connection < 0) return -1;
    let found = -1;
    for (const other of requestsOfConnection[connection]) {
        if (other === r || endOfRequest[other] > requests.start[r] + sameMoment) continue;
        if (found < 0 || endOfRequest[other] > endOfRequest[found]) found = other;
    }
    return found;
}

/** Waits that end when another task does. The others end by the clock, or by what happens outside. */
const causal = ["dependency", "hostLimit", "sessionLimit", "runLimit"];

/**
 * The links of the chain, first to last: `{ task, from, to, because }`. `because` is the wait that ended at `from`, when the
 * link before let the task go on; `null` for the first one.
 */
function criticalPath() {
    let task = -1;
    for (let t = 0; t < taskCount; t++) {
        if (tasks.attempts[t] === 0 || tasks.finished[t] < 0) continue;
        if (task < 0 || tasks.finished[t] > tasks.finished[task]) task = t;
    }
    const chain = [],
        seen = new Set();
    let until = task < 0 ? 0 : tasks.finished[task];
    while (task >= 0) {
        seen.add(task);
        const start = attempts.start[firstAttempt[task]];
        const held = piecesOf(task).filter(
            piece => piece.reason && piece.to <= start + sameMoment && piece.to - piece.from > 1.5,
        );
        const wait = held.findLast(piece => causal.includes(piece.reason));
        const from = wait ? wait.to : held.length ? held[0].from : start;
        chain.unshift({ task, from, to: until, because: wait ? wait.reason : null });
        if (!wait) break;
        [task, until] = released(task, wait, seen);
    }
    return chain;
}

/** Which task's end let `task` go on when `wait` ended, and when that was. */
function released(task, wait, seen) {
    const isOther = t => !seen.has(t);
    if (wait.reason === "hostLimit") {
        // A task that is tried again gives its connection back before: the chain leaves it there.
        const first = firstRequest[firstAttempt[task]],
            freed = requestBefore(first);
        if (freed >= 0 && Math.abs(wait.to - endOfRequest[freed]) < 50 && isOther(taskOfRequest(freed)))
            return [taskOfRequest(freed), endOfRequest[freed]];
    }
    const fits = {
        dependency: isOther,
        hostLimit: t => isOther(t) && tasks.host[t] === tasks.host[task],
        sessionLimit: t => isOther(t) && tasks.session[t] === tasks.session[task],
        runLimit: isOther,
    };
    const before = lastEnded(wait.to, fits[wait.reason]);
    return [before, before < 0 ? 0 : tasks.finished[before]];
}

/** The chain in words: tasks that only waited for one another's connection are one line. */
function pathInWords(chain) {
    const lines = [];
    for (const link of chain) {
        const previous = lines.at(-1);
        const queue = link.because !== "dependency" ? link.because : null;
        if (queue && previous && previous.queue === queue && previous.host === tasks.host[link.task]) {
            previous.tasks.push(link.task);
            previous.to = link.to;
        } else lines.push({ tasks: [link.task], from: link.from, to: link.to, queue, host: tasks.host[link.task] });
    }
    for (const line of lines) line.made = madeOf(line);
    return lines;
}

/** What the time of a line was made of, most first: pairs of name and milliseconds. */
function madeOf(line) {
    const sums = new Map();
    const add = (name, length) => {
        if (length > 0.5) sums.set(name, (sums.get(name) || 0) + length);
    };
    for (const t of line.tasks) {
        for (const piece of piecesOf(t)) {
            if (piece.reason && piece.to > line.from + sameMoment && line.tasks.length === 1)
                add(waitNames[piece.reason], piece.to - piece.from);
        }
        for (let r = firstRequest[firstAttempt[t]]; r < firstRequest[firstAttempt[t + 1]]; r++)
            if (requests.start[r] < line.to) phases.forEach((phase, i) => add(phaseNames[i], requests[phase][r]));
    }
    return [...sums].sort((a, b) => b[1] - a[1]).slice(0, 4);
}
