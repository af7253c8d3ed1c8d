import Glibc
import TestSupport
import Testing
import TextFormats

/// The public suite, http-tests/cache-tests, against the rules: `node test-engine/export.mjs > suite.json` in its folder,
/// then `TRANSFER_RUN_CACHE_SUITE=suite.json`. It is nobody's part of this house, so it is not kept in it.
struct CacheSuiteTests {
    private static let path = getenv("TRANSFER_RUN_CACHE_SUITE").map { String(cString: $0) }

    @Test(.enabled(if: path != nil)) func thePublicSuite() throws {
        let suites = try JSONParser.parse(Self.read(try #require(Self.path)))
        let cases = PublicSuite.cases(suites)
        #expect(cases.count >= 290)
        let (line, failures) = cases.results()
        print("http-tests/cache-tests for a private cache: \(line)")
        for (one, failure) in failures { print("  \(one.kind.rawValue) \(one.name): \(failure)") }
        #expect(failures.allSatisfy { $0.0.kind != .required })
    }

    private static func read(_ path: String) throws -> [UInt8] {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
        return bytes
    }
}

/// That suite's JSON as cases of ours. Those for shared caches are left out.
private enum PublicSuite {
    static func cases(_ suites: JSONValue) -> [CacheCase] {
        list(suites).flatMap { list($0["tests"]) }.filter {
            $0["browser_skip"] != .boolean(true) && $0["cdn_only"] != .boolean(true)
        }.map { test in
            let name = text(test["id"]) ?? "?"
            return CacheCase(
                name: name, kind: CacheCase.Kind(rawValue: text(test["kind"]) ?? "") ?? .required,
                steps: steps(list(test["requests"])), guessesLifetime: name.hasPrefix("heuristic-"))
        }
    }

    /// That suite's server counts requests in a header, and dates that it expects are seconds from when the answer was made.
    private static func steps(_ requests: [JSONValue]) -> [CacheStep] {
        var elapsed = 0
        return requests.enumerated().map { place, request in
            var step = step(request, elapsed: elapsed)
            step.answer += "|Client-Request-Count: \(place + 1)"
            elapsed += Int(step.wait)
            return step
        }
    }

    private static func step(_ request: JSONValue, elapsed: Int) -> CacheStep {
        var step = CacheStep(request: lines(request["request_headers"]), answer: lines(request["response_headers"]))
        step.method = text(request["request_method"]) ?? "GET"
        step.path = "/case" + (text(request["filename"]).map { "/\($0)" } ?? "")
        step.path += text(request["query_arg"]).map { "?\($0)" } ?? ""
        step.status = list(request["response_status"]).first.flatMap { number($0) } ?? 200
        step.body = text(request["response_body"]) ?? "0123456789"
        step.breaks = request["disconnect"] == .boolean(true)
        step.wait = request["pause_after"] == .boolean(true) ? 3 : 0
        // What the Fetch standard makes of that mode.
        if text(request["cache"]) == "no-cache" { step.request += "|Cache-Control: max-age=0" }
        if request["magic_locations"] == .boolean(true) {
            step.answer = step.answer.replacing("ocation: ", with: "ocation: /case/").replacing(
                "ocation: /case/|", with: "ocation: /case|")
        }
        expect(&step, request, elapsed)
        return step
    }

    private static func expect(_ step: inout CacheStep, _ request: JSONValue, _ elapsed: Int) {
        switch text(request["expected_type"]) {
        case "cached": step.outcome = .cached
        case "not_cached": step.outcome = .network
        case "etag_validated": step.outcome = .asksByTag
        case "lm_validated": step.outcome = .asksByDate
        default: break
        }
        step.clientStatus = request["expected_status"].flatMap { number($0) }
        if step.outcome == .cached, step.clientStatus == nil { step.clientStatus = step.status }
        step.clientBody = text(request["expected_response_text"])
        step.shows = lines(request["expected_response_headers"], elapsed: step.outcome == .cached ? elapsed : 0)
        step.hides = list(request["expected_response_headers_missing"]).compactMap { text($0) ?? text(list($0).first) }
        step.sends = lines(request["expected_request_headers"])
        step.sendsMethod = text(request["expected_method"])
    }

    /// Numbers in the fields that hold dates are seconds from now; a number elsewhere is itself, and `">", n` is above `n`.
    private static func lines(_ headers: JSONValue?, elapsed: Int = 0) -> String {
        list(headers).compactMap { header in
            let parts = list(header)
            guard let name = text(parts.first), parts.count > 1 else { return nil }
            if text(parts[1]) == ">", let least = number(parts[2]) { return "\(name): >\(least)" }
            if text(parts[1]) == "=" { return nil }
            let isDate = ["date", "expires", "last-modified", "if-modified-since"].contains(name.lowercased())
            if let value = number(parts[1]) { return isDate ? "\(name): @\(value - elapsed)" : "\(name): \(value)" }
            return "\(name): \(text(parts[1]) ?? "")"
        }.joined(separator: "|")
    }

    private static func list(_ value: JSONValue?) -> [JSONValue] {
        if case .array(let elements)? = value { elements } else { [] }
    }

    private static func text(_ value: JSONValue?) -> String? {
        if case .string(let text)? = value { text } else { nil }
    }

    private static func number(_ value: JSONValue) -> Int? {
        if case .number(let text) = value { Int(text) } else { nil }
    }
}
