// What an opened row of the table shows of its task.

/** The phases of one request as a bar; the numbers stand beside it. */
function phaseBar(r, scale) {
    const bar = draw("svg", {
        class: "bar",
        viewBox: "0 0 1000 10",
        preserveAspectRatio: "none",
        "aria-hidden": "true",
    });
    let x = ((requests.start[r] - scale.from) / scale.length) * 1000;
    for (const phase of phases) {
        const width = (requests[phase][r] / scale.length) * 1000;
        if (width > 0)
            bar.append(
                draw("rect", {
                    class: "p-" + phase,
                    x: x.toFixed(1),
                    width: Math.max(width, 2).toFixed(1),
                    height: 10,
                }),
            );
        x += width;
    }
    return bar;
}

/** The life of a task as one bar of waits and phases, and a list that names each with its length and share. */
function lifeOf(t) {
    const pieces = piecesOf(t);
    if (!pieces.length) return null;
    const from = tasks.created[t],
        length = Math.max(tasks.finished[t] - from, 0.5),
        sums = new Map();
    const bar = draw("svg", {
        class: "bar life",
        viewBox: "0 0 1000 14",
        preserveAspectRatio: "none",
        "aria-hidden": "true",
    });
    const add = (key, name, start, end) => {
        if (end - start <= 0) return;
        bar.append(
            draw("rect", {
                class: key,
                x: (((start - from) / length) * 1000).toFixed(1),
                width: Math.max(((end - start) / length) * 1000, 2).toFixed(1),
                height: 14,
            }),
        );
        const sum = sums.get(name) || { key, length: 0 };
        sum.length += end - start;
        sums.set(name, sum);
    };
    for (const piece of pieces) {
        if (piece.reason) {
            add("w-" + piece.reason + " held", waitNames[piece.reason], piece.from, piece.to);
            continue;
        }
        let at = piece.from;
        for (let r = firstRequest[piece.attempt]; r < firstRequest[piece.attempt + 1]; r++) {
            let x = Math.max(requests.start[r], at);
            phases.forEach((phase, i) => {
                add("p-" + phase, phaseNames[i], x, x + requests[phase][r]);
                x += requests[phase][r];
            });
            at = Math.max(at, x);
        }
        if (piece.to - at > 1.5) add("p-queued", "finishing", at, piece.to);
    }
    const list = [...sums]
        .sort((a, b) => b[1].length - a[1].length)
        .map(([name, sum]) =>
            make(
                "li",
                {},
                draw(
                    "svg",
                    { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
                    draw("rect", { class: sum.key, width: 10, height: 10 }),
                ),
                name + " ",
                make("b", {}, duration(sum.length)),
                " " + Math.round((sum.length / length) * 100) + " %",
            ),
        );
    return [make("h4", {}, "Where the time went"), bar, make("ul", { class: "legend" }, list)];
}

const types = ["data", "download", "upload"];

/** The command that sends the request again; what the report does not tell is `***`. */
function curlOf(t) {
    const words = ["curl"],
        method = strings[tasks.method[t]],
        details = detailsOf(t),
        path = pathOf(t);
    if (method === "HEAD") words.push("--head");
    else if (method !== "GET") words.push("--request", method);
    if (details.redirects) words.push("--location");
    if (data.insecure.includes(strings[tasks.session[t]])) words.push("--insecure");
    for (const challenge of details.challenges || []) {
        if (challenge[4] !== "use") continue;
        if (["basic", "digest", "ntlm", "negotiate"].includes(challenge[0]))
            words.push("--" + challenge[0], "--user", "***");
        break;
    }
    if (sentBy[t] > 0) words.push("--data-binary", "***");
    if (path && path !== "-" && types[tasks.type[t]] === "download") words.push("--output", path);
    words.push(urlOf(t));
    return words.map(word => (word === "***" ? "'***'" : shellWord(word))).join(" ");
}

function copyable(text) {
    const said = make("span", { class: "said", role: "status" });
    const code = make("code", {}, text);
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(text);
            said.textContent = "copied";
        } catch {
            getSelection().selectAllChildren(code);
            said.textContent = "selected: copy it with the keyboard";
        }
    };
    return make(
        "div",
        { class: "command" },
        code,
        make("button", { type: "button", class: "plain", onclick: copy }, "Copy"),
        said,
    );
}

function errorText(index) {
    const error = errorOf(index);
    if (!error) return "";
    const [name, , code, , curl, errno, reason] = error;
    return [
        name + (code === null ? "" : " " + code),
        curl === null ? "" : "curl " + curl,
        errno === null ? "" : "errno " + errno,
        reason || "",
    ]
        .filter(Boolean)
        .join(", ");
}

function attemptsOf(t) {
    const first = firstAttempt[t],
        last = firstAttempt[t + 1];
    if (first === last) return null;
    const rows = [];
    const scale = { from: attempts.start[first], length: 1 };
    scale.length = Math.max(1, endOfAttempt(last - 1) - scale.from);
    for (let a = first; a < last; a++) {
        const outcome = outcomes[attempts.outcome[a]],
            error = errorOf(attempts.error[a]);
        const notes = [
            error && error[3],
            attempts.resumed[a] > 0 && "resumed at " + size(attempts.resumed[a]),
            attempts.over[a] && "started over: " + strings[attempts.over[a]],
            attempts.backoff[a] >= 0 && "then a pause of " + duration(attempts.backoff[a]),
        ].filter(Boolean);
        rows.push(
            make(
                "tr",
                { class: "attempt" },
                make("th", { scope: "row", class: "which" }, mark(outcome), "Attempt " + numberOfAttempt(a)),
                make("td", {}, notes.join("; ") || outcome),
                make("td", { class: "number" }, "+" + duration(attempts.start[a])),
                make("td"),
                make("td", { class: "number" }, duration(attempts.duration[a])),
            ),
        );
        for (let r = firstRequest[a]; r < firstRequest[a + 1]; r++) rows.push(requestRow(r, scale));
    }
    return [
        make("h4", {}, "Attempts"),
        make(
            "div",
            { class: "scroll" },
            make(
                "table",
                { class: "attempts" },
                make(
                    "thead",
                    {},
                    make(
                        "tr",
                        {},
                        ["Attempt", "Request", "Begin", "Phases", "Time"].map((name, i) =>
                            make("th", { scope: "col", class: i === 2 || i === 4 ? "number" : null }, name),
                        ),
                    ),
                ),
                make("tbody", {}, rows),
            ),
        ),
    ];
}

function requestRow(r, scale) {
    const connection = connectionOf[r],
        flags = requests.flags[r],
        status = requests.status[r];
    const where = [
        strings[requests.version[r]],
        flags & 2 && "through a proxy",
        flags & 4 && "from the cache",
        connection >= 0 && (flags & 1 ? "reused " : "new ") + "connection " + connections[connection].name,
        tlsName(connection),
    ].filter(Boolean);
    const took = phases
        .map((phase, i) => requests[phase][r] > 0 && phaseNames[i] + " " + duration(requests[phase][r]))
        .filter(Boolean);
    return make(
        "tr",
        {},
        make("td", { class: "status" }, status || "–"),
        make(
            "td",
            {},
            make("span", { class: "mono wrap" }, methodOfRequest(r) + " " + urlOfRequest(r)),
            make("small", {}, where.join(" · ")),
        ),
        make("td", { class: "number" }, "+" + duration(requests.start[r])),
        make("td", { class: "phases" }, phaseBar(r, scale), make("small", {}, took.join(", "))),
        make("td", { class: "number" }, duration(endOfRequest[r] - requests.start[r])),
    );
}

function tlsName(connection) {
    const version = connection < 0 ? 0 : connections[connection].tls;
    return version >= 0x301 && version <= 0x304 ? "TLS 1." + (version - 0x301) : "";
}

function factsOf(t) {
    const details = detailsOf(t),
        path = pathOf(t),
        facts = [];
    const add = (name, value, mono) => {
        if (value)
            facts.push(make("div", {}, make("dt", {}, name), make("dd", { class: mono ? "mono" : null }, value)));
    };
    add("Request", strings[tasks.method[t]] + " " + urlOf(t), true);
    if (tasks.final[t]) add("Answered by", strings[tasks.final[t]], true);
    add("File", path, true);
    add("Size", tasks.bytes[t] >= 0 ? size(tasks.bytes[t]) + " (" + grouped(tasks.bytes[t]) + " bytes)" : null);
    add("Checksum", strings[tasks.checksum[t]], true);
    add(
        "Source",
        [
            "",
            "network",
            "cache",
            "cache, after asking the server",
            "unchanged: the file was right already",
            "resumed",
            "local",
        ][tasks.source[t]],
    );
    add("Changed", ["", "no", "yes"][tasks.changed[t]]);
    add("Session", strings[tasks.session[t]]);
    add("Group", details.group);
    add("Description", details.description);
    for (const [name, value] of details.labels || []) add("Label " + name, value);
    for (const [name, value] of details.captures || []) add("Capture " + name, value, true);
    add("Cache", details.cache);
    add("Length", details.unverified && "nothing proved where the body ended");
    add("Parts", details.parts);
    if (tasks.created[t] >= 0 && tasks.finished[t] >= 0)
        add("From, to", clock(tasks.created[t], true) + " – " + clock(tasks.finished[t], true));
    return make("dl", { class: "facts" }, facts);
}

function detoursOf(t) {
    const { redirects, challenges } = detailsOf(t),
        parts = [];
    if (redirects)
        parts.push(
            make("h4", {}, "Redirects"),
            make(
                "ol",
                { class: "list" },
                redirects.map(([status, from, to, method, action, stripped]) =>
                    make(
                        "li",
                        {},
                        make("b", {}, status + " "),
                        make("span", { class: "mono wrap" }, from),
                        " → ",
                        make("span", { class: "mono wrap" }, method + " " + to),
                        make("small", {}, action + (stripped.length ? "; taken off: " + stripped.join(", ") : "")),
                    ),
                ),
            ),
        );
    if (challenges)
        parts.push(
            make("h4", {}, "Challenges"),
            make(
                "ol",
                { class: "list" },
                challenges.map(([method, host, realm, level, disposition, failures]) =>
                    make(
                        "li",
                        {},
                        make("b", {}, method),
                        " from ",
                        make("span", { class: "mono" }, host),
                        realm ? " for " : "",
                        realm ? make("bdi", {}, realm) : "",
                        make(
                            "small",
                            {},
                            disposition + ", " + level + (failures ? ", after " + count(failures, "failure") : ""),
                        ),
                    ),
                ),
            ),
        );
    return parts;
}

function answerOf(t) {
    const list = tasks.headers[t],
        details = detailsOf(t),
        parts = [];
    if (list) {
        const names = data.shapes[list[0]];
        parts.push(
            make(
                "details",
                {},
                make("summary", {}, count(names.length, "response header")),
                make(
                    "dl",
                    { class: "headers mono" },
                    names.map((name, i) =>
                        make("div", {}, make("dt", {}, strings[name]), make("dd", {}, strings[list[i + 1]])),
                    ),
                ),
            ),
        );
    }
    if (details.body !== undefined)
        parts.push(
            make(
                "details",
                { open: tasks.outcome[t] === 1 && details.body.length < 600 },
                make(
                    "summary",
                    {},
                    "Body" + (details.base64 ? " in base64" : "") + (details.cut ? ", its beginning" : ""),
                ),
                make("pre", {}, details.body),
            ),
        );
    return parts;
}

/** All that an opened row shows. */
function detailsFor(t) {
    const error = errorOf(tasks.error[t]),
        why = strings[tasks.why[t]];
    return make(
        "div",
        { class: "details" },
        (why || error) &&
            make(
                "div",
                { class: "why " + outcomeOf(t) },
                make("p", {}, why || error[3]),
                error && make("p", { class: "mono" }, errorText(tasks.error[t])),
            ),
        lifeOf(t),
        attemptsOf(t),
        detoursOf(t),
        make("h4", {}, "Task"),
        factsOf(t),
        answerOf(t),
        make("h4", {}, "The request again"),
        copyable(curlOf(t)),
        canShow(t) &&
            make(
                "p",
                { class: "after" },
                make(
                    "button",
                    { type: "button", class: "plain", onclick: () => showInTimeline(t) },
                    "Show in the timeline",
                ),
            ),
    );
}
