import Reporting
import TransferModel

extension SweepTable {
    /// The table for people: one row for each combination, the best one marked.
    package func lines(seed: UInt64) -> [String] {
        let best = rows.map(\.summary).filter { $0.failures == least && $0.isWhole }.map(\.duration).min()
        var cells = [sweeps.map(\.key) + ["time", "rate", "failed", "further attempts", ""]]
        cells += rows.map { row in
            let summary = row.summary
            return row.values + [
                HumanText.duration(summary.duration), summary.rate.map { "\(HumanText.size($0))/s" } ?? "",
                HumanText.grouped(summary.failures), HumanText.grouped(summary.retries),
                summary.duration == best && summary.failures == least ? "shortest" : "",
            ]
        }
        let first = sweeps.count
        return TextLayout.columns(cells, right: Set(0..<(first + 4))) + ["", "  seed \(seed)"]
    }

    private var least: Int { rows.map { $0.summary.failures }.min() ?? 0 }
}

extension SweepTable {
    /// A page without scripts: the durations as lines over the values of the first setting, and the table.
    package func html(job: String, source: String, seed: UInt64) -> String {
        let title = "\(Self.escaped(job)): simulated durations"
        var page = """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
            <title>\(title)</title>
            <style>
            body { font: 16px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color-scheme: light dark }
            svg { width: 100%; height: auto } text { font-size: 12px; fill: currentColor }
            .axis { stroke: currentColor; stroke-opacity: .4 } .grid { stroke: currentColor; stroke-opacity: .12 }
            .line { fill: none; stroke-width: 2 } table { border-collapse: collapse } td, th { padding: .2rem .8rem; text-align: right }
            tr:nth-child(even) { background: color-mix(in srgb, currentColor 6%, transparent) }
            </style></head><body>
            <h1>\(title)</h1>
            <p>Simulated with \(Self.escaped(source)), seed \(seed). Nothing was sent.</p>

            """
        page += plot
        page += "<table><thead><tr>"
        for head in sweeps.map(\.key) + ["time", "rate", "failed", "further attempts"] {
            page += "<th>\(Self.escaped(head))</th>"
        }
        page += "</tr></thead><tbody>\n"
        for row in rows {
            let summary = row.summary
            let cells =
                row.values + [
                    HumanText.duration(summary.duration), summary.rate.map { "\(HumanText.size($0))/s" } ?? "",
                    HumanText.grouped(summary.failures), HumanText.grouped(summary.retries),
                ]
            page += "<tr>" + cells.map { "<td>\(Self.escaped($0))</td>" }.joined() + "</tr>\n"
        }
        return page + "</tbody></table></body></html>\n"
    }

    private static func escaped(_ text: String) -> String {
        var safe = ""
        for character in text {
            switch character {
            case "&": safe += "&amp;"
            case "<": safe += "&lt;"
            case ">": safe += "&gt;"
            case "\"": safe += "&quot;"
            default: safe.append(character)
            }
        }
        return safe
    }

    // MARK: The plot

    private static let colors = [
        "#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#65a30d",
    ]
    private static let (width, height, left, right, top, bottom) = (800.0, 360.0, 70.0, 20.0, 20.0, 60.0)

    /// A line over the values of the first setting for each combination of the others.
    private var plot: String {
        let columns = sweeps[0].values
        let most = max(rows.map { $0.summary.duration.seconds }.max() ?? 0, 1e-9)
        func x(_ column: Int) -> Double {
            let width = Self.width - Self.left - Self.right
            return Self.left + (columns.count > 1 ? width * Double(column) / Double(columns.count - 1) : width / 2)
        }
        func y(_ seconds: Double) -> Double {
            Self.height - Self.bottom - (Self.height - Self.top - Self.bottom) * seconds / most
        }
        var svg = "<svg viewBox=\"0 0 \(Int(Self.width)) \(Int(Self.height))\" role=\"img\" aria-label=\"durations\">\n"
        for part in 0...4 {
            let seconds = most * Double(part) / 4
            svg +=
                "<line class=\"\(part == 0 ? "axis" : "grid")\" x1=\"\(Self.left)\" x2=\"\(Self.width - Self.right)\" "
                + "y1=\"\(Self.short(y(seconds)))\" y2=\"\(Self.short(y(seconds)))\"/>"
            let span = TimeSpan(nanoseconds: Int64(min(seconds, 1e9) * 1e9))
            svg +=
                "<text x=\"\(Self.left - 8)\" y=\"\(Self.short(y(seconds) + 4))\" text-anchor=\"end\">"
                + "\(HumanText.duration(span))</text>\n"
        }
        for (column, value) in columns.enumerated() {
            svg +=
                "<text x=\"\(Self.short(x(column)))\" y=\"\(Self.height - Self.bottom + 18)\" text-anchor=\"middle\">"
                + "\(Self.escaped(value))</text>\n"
        }
        svg +=
            "<text x=\"\(Self.width / 2)\" y=\"\(Self.height - 20)\" text-anchor=\"middle\">\(Self.escaped(sweeps[0].key))</text>\n"
        for (number, line) in lines.enumerated() {
            let color = Self.colors[number % Self.colors.count]
            let points = line.durations.enumerated().map { "\(Self.short(x($0))),\(Self.short(y($1)))" }
            svg += "<polyline class=\"line\" stroke=\"\(color)\" points=\"\(points.joined(separator: " "))\"/>"
            for (column, seconds) in line.durations.enumerated() {
                svg +=
                    "<circle fill=\"\(color)\" r=\"4\" cx=\"\(Self.short(x(column)))\" cy=\"\(Self.short(y(seconds)))\"/>"
            }
            if !line.name.isEmpty {
                svg +=
                    "<text x=\"\(Self.width - Self.right)\" y=\"\(Self.top + 14 * Double(number))\" text-anchor=\"end\" "
                    + "style=\"fill:\(color)\">\(Self.escaped(line.name))</text>"
            }
            svg += "\n"
        }
        return svg + "</svg>\n"
    }

    /// One line for each combination of the other settings: its name, and the seconds for each value of the first
    /// setting.
    private var lines: [(name: String, durations: [Double])] {
        let count = sweeps.dropFirst().reduce(1) { $0 * $1.values.count }
        return (0..<count).map { other in
            let names = zip(sweeps, rows[other].values).dropFirst().map { "\($0.key) = \($1)" }
            let durations = sweeps[0].values.indices.map { rows[$0 * count + other].summary.duration.seconds }
            return (names.joined(separator: ", "), durations)
        }
    }

    private static func short(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
