import HTTPRules
import TextFormats
import TransferModel

/// One request of a case: what the client sends, what the server would say to it, and what must come of it.
struct CacheStep {
    enum Outcome: String { case cached, network, asksByTag, asksByDate }

    var method = "GET"
    var path = "/case"
    /// `Name: value | Name: value`; a value `@-300` is a date 300 seconds ago.
    var request = ""
    var status = 200
    var answer = ""
    var body = "0123456789"
    var breaks = false
    var wait: Int64 = 3
    var outcome: Outcome?
    var clientStatus: Int?
    var clientBody: String?
    /// Headers that the client must see, as above; `Age: >2` is a number above 2.
    var shows = ""
    var hides: [String] = []
    /// Headers that the server must see.
    var sends = ""
    var sendsMethod: String?
}

struct CacheCase {
    /// As http-tests/cache-tests sorts them: what RFC 9111 demands, what a good cache does, and what is only of interest.
    enum Kind: String, CaseIterable { case required, optimal, check }
    var name: String
    var kind: Kind
    var steps: [CacheStep]
    /// `cache.guessLifetime`
    var guessesLifetime = false

    /// What went otherwise than the case wants; `nil` when nothing did.
    func failure() -> String? {
        var run = CacheCaseRun(steps: steps, guessesLifetime)
        for place in steps.indices {
            if let failure = run.perform(place) { return "request \(place + 1): \(failure)" }
        }
        return nil
    }
}

/// A case under way.
private struct CacheCaseRun {
    let steps: [CacheStep]
    private var model = CacheModel()

    init(steps: [CacheStep], _ guessesLifetime: Bool) {
        self.steps = steps
        model.configuration.guessesLifetime = guessesLifetime
    }

    mutating func perform(_ place: Int) -> String? {
        let step = steps[place]
        let answer: CacheModel.Answer?
        var seen: [(method: String, headers: HeaderBlock)] = []
        let previous = place > 0 ? lines(steps[place - 1].answer) : .empty
        let reply = CacheModel.Reply(status: step.status, headers: lines(step.answer), body: step.body)
        do throws(URLProblem) {
            let url = try ResourceURL.parse("http://origin.test\(step.path)")
            let request = CacheRequest(step.method, url, headers: lines(step.request), hasBody: step.method == "POST")
            answer = model.perform(request) { method, headers in
                seen.append((method, headers))
                if step.breaks { return nil }
                return Self.isUnchanged(step, headers, previous) ? Self.notModified(reply) : reply
            }
        } catch {
            return "the case's URL is none: \(error.message)"
        }
        defer { model.wait(step.wait) }
        return outcome(step, answer, seen) ?? sent(step, seen) ?? answer.flatMap { shown(step, $0) }
    }

    private static func notModified(_ reply: CacheModel.Reply) -> CacheModel.Reply {
        CacheModel.Reply(status: 304, headers: reply.headers, body: "")
    }

    private static func isUnchanged(_ step: CacheStep, _ headers: HeaderBlock, _ previous: HeaderBlock) -> Bool {
        func asks(_ name: StaticString, _ validator: StaticString) -> Bool {
            guard let asked = headers.first(name), let own = previous.all(validator).last else { return false }
            return asked == own
        }
        switch step.outcome {
        case .asksByTag, .asksByDate:
            return asks("if-none-match", "etag") || asks("if-modified-since", "last-modified")
        case .cached, .network, nil: return false
        }
    }

    private func outcome(
        _ step: CacheStep, _ answer: CacheModel.Answer?, _ seen: [(method: String, headers: HeaderBlock)]
    ) -> String? {
        switch step.outcome {
        case .cached:
            return answer.map { $0.isFromCache || $0.isInstead } == true ? nil : "was not answered by the cache"
        case .network: return answer?.isFromCache == true || answer?.isInstead == true ? "came from the cache" : nil
        case .asksByTag: return asked("if-none-match", seen)
        case .asksByDate: return asked("if-modified-since", seen)
        case nil: return nil
        }
    }

    private func asked(_ name: StaticString, _ seen: [(method: String, headers: HeaderBlock)]) -> String? {
        seen.contains { $0.headers.first(name) != nil } ? nil : "was sent without `\(name)`"
    }

    private func sent(_ step: CacheStep, _ seen: [(method: String, headers: HeaderBlock)]) -> String? {
        if let method = step.sendsMethod, !seen.contains(where: { $0.method == method }) { return "sent no \(method)" }
        for (name, value) in pairs(step.sends)
        where !seen.contains(where: { one in values(one.headers, name) == value }) {
            return "was sent without `\(name): \(value)`"
        }
        return nil
    }

    private func shown(_ step: CacheStep, _ answer: CacheModel.Answer) -> String? {
        if let status = step.clientStatus, status != answer.status { return "has status \(answer.status)" }
        if let body = step.clientBody, body != answer.body { return "has the body `\(answer.body)`" }
        for name in step.hides {
            if let value = values(answer.headers, name) { return "shows `\(name): \(value)`" }
        }
        for (name, wanted) in pairs(step.shows) {
            let value = values(answer.headers, name)
            let least = wanted.hasPrefix(">") ? Int(wanted.dropFirst()) : nil
            let fits = least.map { Int(value ?? "") ?? 0 > $0 } ?? (value == wanted)
            if !fits { return "shows \(name) as `\(value ?? "nothing")`, not `\(wanted)`" }
        }
        return nil
    }

    private func values(_ headers: HeaderBlock, _ name: String) -> String? {
        let values = headers.lines.filter { headers.name($0).lowercased() == name.lowercased() }.map {
            headers.value($0)
        }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    private func lines(_ text: String) -> HeaderBlock { HeaderBlock(pairs(text)) }

    private func pairs(_ text: String) -> [(String, String)] {
        text.split(separator: "|").map { line in
            let sides = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (trimmed(sides[0]), sides.count > 1 ? dated(trimmed(sides[1])) : "")
        }
    }

    private func dated(_ value: String) -> String {
        guard value.hasPrefix("@"), let seconds = Int64(value.dropFirst()) else { return value }
        return HTTPDate.format(model.now + .seconds(seconds))
    }

    private func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}

extension [CacheCase] {
    /// How many of each kind are met, in one line, and what went wrong in the others.
    func results() -> (line: String, failures: [(CacheCase, String)]) {
        let failures = compactMap { one in one.failure().map { (one, $0) } }
        let counts = CacheCase.Kind.allCases.map { kind in
            let all = count { $0.kind == kind }
            return "\(all - failures.count { $0.0.kind == kind }) of \(all) \(kind.rawValue)"
        }
        return (counts.joined(separator: ", "), failures)
    }
}
