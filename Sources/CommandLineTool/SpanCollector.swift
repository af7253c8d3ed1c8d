import CurlCore
import Exports
import Reporting
import TransferModel

/// Sends a finished run's spans to the collector that OpenTelemetry's variables name. A failure does not fail the run.
struct SpanCollector: Hashable {
    let url: String
    /// Header lines, `Name: value`.
    let headers: [String]

    /// How long a run's end waits for the collector, at most.
    private static let patience = TimeSpan.seconds(5)

    /// `nil` where the environment names no collector, or switches it off.
    init?(_ environment: [String: String]) {
        func value(_ name: String) -> String? {
            let text = environment["OTEL_\(name)"] ?? ""
            return text.isEmpty ? nil : text
        }
        if value("SDK_DISABLED")?.lowercased() == "true" || value("TRACES_EXPORTER") == "none" { return nil }
        // A gRPC collector speaks another protocol.
        if (value("EXPORTER_OTLP_TRACES_PROTOCOL") ?? value("EXPORTER_OTLP_PROTOCOL")) == "grpc" { return nil }
        if let own = value("EXPORTER_OTLP_TRACES_ENDPOINT") {
            url = own
        } else if let base = value("EXPORTER_OTLP_ENDPOINT") {
            url = (base.hasSuffix("/") ? String(base.dropLast()) : base) + "/v1/traces"
        } else {
            return nil
        }
        let listed = value("EXPORTER_OTLP_TRACES_HEADERS") ?? value("EXPORTER_OTLP_HEADERS") ?? ""
        headers = listed.split(separator: ",").compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1).map { Self.decoded(Self.trimmed($0)) }
            guard parts.count == 2, let name = parts.first, !name.isEmpty else { return nil }
            // A value that would begin another line is no header.
            let line = "\(name): \(parts[1])"
            return line.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? nil : line
        }
    }

    /// Sends the spans; returns a warning when that fails.
    func send(_ report: JSONReport, at path: String?, _ surroundings: ExportSurroundings) -> String? {
        guard let spans = ReportExports.packedSpans(of: report, at: path, surroundings) else {
            return "warning: the spans for \(place) could not be made\n"
        }
        let lines = ["Content-Type: application/json", "Content-Encoding: gzip", "User-Agent: transfer-run"] + headers
        let problem = BodyPost.send(to: url, headers: lines, size: spans.size, within: Self.patience) { count, offset in
            spans.bytes(count, from: offset)
        }
        return problem.map { "warning: the spans did not get to \(place): \(SafeText.line($0))\n" }
    }

    /// Scheme, host and port of the collector, without user and password.
    private var place: String {
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3, parts[1].isEmpty else { return "the collector" }
        let host = parts[2].split(separator: "@").last ?? ""
        return SafeText.line("\(parts[0])//\(host)")
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    /// Decodes a value, which is percent-encoded as in a URL.
    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
