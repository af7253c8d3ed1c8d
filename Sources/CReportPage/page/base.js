"use strict";
// Elements, numbers as people read them, and text. Text reaches the page as text nodes only, never as markup.

/** Makes an element: `attributes` that begin with `on` are listeners; `null` and `false` children are left out. */
function make(name, attributes, ...children) {
    return fill(document.createElement(name), attributes, children);
}

/** Makes an element of an SVG image. */
function draw(name, attributes, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) {
        if (value === null || value === undefined) continue;
        // Of these `false` says something, too.
        if (key.startsWith("aria-")) {
            element.setAttribute(key, String(value));
            continue;
        }
        if (value === false) continue;
        if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else element.setAttribute(key, value === true ? "" : String(value));
    }
    element.append(...children.flat(2).filter(child => child !== null && child !== undefined && child !== false));
    return element;
}

const outcomes = ["succeeded", "failed", "tolerated", "cancelled", "skipped", "deferred"];

/** The sign of an outcome, which the page's first lines define. */
function mark(outcome) {
    return draw(
        "svg",
        { class: "mark " + outcome, viewBox: "0 0 16 16", "aria-hidden": "true" },
        draw("use", { href: "#i-" + outcome }),
    );
}

/** Milliseconds as `0 ms`, `12 ms`, `1.24 s`, `38.1 s`, `5m 03s`, `2h 05m`. */
function duration(ms) {
    if (ms < 0.05) return "0 ms";
    if (ms < 9.95) return ms.toFixed(1).replace(".0", "") + " ms";
    if (ms < 999.5) return Math.round(ms) + " ms";
    if (ms < 9995) return (ms / 1000).toFixed(2) + " s";
    if (ms < 59950) return (ms / 1000).toFixed(1) + " s";
    const seconds = Math.round(ms / 1000),
        pad = n => String(n).padStart(2, "0");
    return seconds < 3600
        ? Math.floor(seconds / 60) + "m " + pad(seconds % 60) + "s"
        : Math.floor(seconds / 3600) + "h " + pad(Math.floor(seconds / 60) % 60) + "m";
}

/** Bytes as `512 B`, `12.3 MiB`. */
function size(bytes) {
    if (bytes < 1024) return Math.round(bytes) + " B";
    const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0,
        scaled = bytes / 1024;
    while (scaled >= 1023.95 && unit < units.length - 1) {
        scaled /= 1024;
        unit++;
    }
    return scaled.toFixed(1) + " " + units[unit];
}

const grouped = number => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const count = (number, noun) => grouped(number) + " " + noun + (number === 1 ? "" : "s");

/** A word as a POSIX shell reads it back. */
function shellWord(word) {
    return /^[A-Za-z0-9_./:-][A-Za-z0-9_./:=,@+%-]*$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";
}

/** A colour of the page's style sheet, for what is drawn. */
const colour = name =>
    getComputedStyle(document.documentElement)
        .getPropertyValue("--" + name)
        .trim();
