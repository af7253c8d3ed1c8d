import HTTPRules
import TestSupport
import TransferModel

/// A jar with a clock and URLs as text: what servers set and what they would get back.
struct CookieClient {
    var jar = CookieJar()
    var clock = ManualClock()

    static func url(_ text: String) -> ResourceURL {
        do throws(URLProblem) { return try ResourceURL.parse(text) } catch {
            preconditionFailure("`\(text)` in a test is no URL: \(error.message)")
        }
    }

    /// Time passes by a millisecond, as it does between answers.
    @discardableResult
    mutating func receive(_ lines: [String], from url: String) -> [CookieOutcome] {
        clock.advance(.milliseconds(1))
        let url = Self.url(url)
        return jar.take(
            HeaderBlock(lines.map { ("Set-Cookie", $0) }), from: url, at: clock.wall, accepting: .always(url))
    }

    @discardableResult
    mutating func receive(_ line: String, from url: String) -> CookieOutcome? { receive([line], from: url).first }

    /// The header's value; empty for none.
    mutating func sent(to url: String) -> String {
        clock.advance(.milliseconds(1))
        return jar.header(for: Self.url(url), at: clock.wall).value?.revealed ?? ""
    }

    /// Why a single line was not kept.
    mutating func refusal(_ line: String, from url: String) -> CookieRefusal? {
        if case .refused(_, let why) = receive(line, from: url) { why } else { nil }
    }
}

extension CookieConfiguration.Preset {
    init(_ name: String, _ value: SecretText, domain: String, path: String = "/", secure: Bool = false) {
        self.init(name: name, value: value, domain: domain)
        self.path = path
        self.secure = secure
    }
}
