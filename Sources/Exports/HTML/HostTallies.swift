internal import TransferModel

/// Sums over the requests and tasks of each host. Hosts are origins: scheme, name and port.
struct HostTallies {
    private(set) var hosts: [HostTally] = []
    private var places: [ExactText: Int] = [:]
    private let window: RunWindow
    /// Whether to count each host's requests over time; only where the page cannot hold every request.
    private let countsCourse: Bool

    /// Largest number of hosts with courses of their own, each of some ten kilobytes; further hosts share one tally.
    private static let mostCourses = 48

    init(_ window: RunWindow, countsCourse: Bool) {
        self.window = window
        self.countsCourse = countsCourse
    }

    /// Returns the index in `hosts` of a URL's host, and adds the host if it is new.
    mutating func place(ofURL url: String) -> Int {
        let prefix = ExactText(Self.prefix(of: url))
        if let place = places[prefix] { return place }
        let origin = Self.origin(ofPrefix: prefix.text)
        if let place = hosts.firstIndex(where: { $0.origin.isExactly(origin) }) {
            places[prefix] = place
            return place
        }
        if countsCourse, hosts.count >= Self.mostCourses {
            if hosts.count == Self.mostCourses { hosts.append(HostTally("other hosts", HostActivity(window))) }
            places[prefix] = Self.mostCourses
            return Self.mostCourses
        }
        places[prefix] = hosts.count
        hosts.append(HostTally(origin, countsCourse ? HostActivity(window) : nil))
        return hosts.count - 1
    }

    mutating func add(_ task: ReportedTask) {
        let own = place(ofURL: task.original.url)
        hosts[own].tasks += 1
        if task.outcome == .failed, !task.tolerated { hosts[own].failed += 1 }
        hosts[own].retries += max(0, task.attempts.count - 1)
        for wait in task.waits { hosts[own].waited += Double(wait.duration.nanoseconds) / 1e9 }
        for attempt in task.attempts {
            attempt.eachRequest { request, phases in
                let place = request.url.isExactly(task.original.url) ? own : place(ofURL: request.url)
                hosts[place].add(request, phases)
            }
        }
    }

    /// Returns the origin of a URL with its port, such as `https://example.org:443`.
    static func origin(of url: String) -> String { origin(ofPrefix: prefix(of: url)) }

    /// Returns scheme and authority of a URL as they are written, such as `https://example.org:8080`.
    private static func prefix(of url: String) -> String {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return url }
        var end = bytes.index(after: colon)
        var slashes = 0
        while end < bytes.endIndex, slashes < 2, bytes[end] == UInt8(ascii: "/") {
            end = bytes.index(after: end)
            slashes += 1
        }
        guard slashes == 2 else { return String(url[...colon]) }
        while end < bytes.endIndex, !"/?#".utf8.contains(bytes[end]) { end = bytes.index(after: end) }
        return String(url[..<end])
    }

    /// Returns the origin with its port, which the report always has, and without a user name.
    private static func origin(ofPrefix prefix: String) -> String {
        guard let start = prefix.firstRange(of: "://") else { return prefix }
        let scheme = prefix[..<start.lowerBound]
        var authority = prefix[start.upperBound...]
        if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
        let ports = ["http": "80", "https": "443", "ftp": "21"]
        let afterName = authority.lastIndex(of: "]").map { authority[$0...] } ?? authority
        guard !authority.isEmpty, !afterName.contains(":"), let port = ports[String(scheme)] else {
            return "\(scheme)://\(authority)"
        }
        return "\(scheme)://\(authority):\(port)"
    }
}

/// Begin and length of the run.
struct RunWindow {
    /// Nanoseconds since 1970.
    let start: Int64
    /// Nanoseconds; at least one.
    let length: Int64

    init(_ head: ReportHead) {
        start = head.startedAt?.nanoseconds ?? 0
        let whole = head.duration?.nanoseconds ?? (head.finishedAt?.nanoseconds ?? start) - start
        length = max(whole, 1)
    }

    /// Returns a moment as tenths of milliseconds since the start.
    func tenths(_ moment: Int64) -> Int64 { Self.tenths(ofSpan: moment - start) }
    static func tenths(ofSpan span: Int64) -> Int64 { (span + (span < 0 ? -50_000 : 50_000)) / 100_000 }
}

struct HostTally {
    let origin: String
    var tasks = 0
    var failed = 0
    var retries = 0
    /// Seconds that its tasks waited, added up.
    var waited = 0.0
    private(set) var requests = 0
    private(set) var connections = 0
    private(set) var received: Int64 = 0
    private(set) var sent: Int64 = 0
    /// Seconds from each request's begin to its end.
    private var durations: [Float] = []
    private(set) var course: HostActivity?

    init(_ origin: String, _ course: HostActivity?) {
        self.origin = origin
        self.course = course
    }

    mutating func add(_ request: TransactionMetrics, _ phases: RequestPhases) {
        requests += 1
        if !request.isReusedConnection, request.connectStart != nil { connections += 1 }
        received += request.responseBodyBytesReceived
        sent += request.requestBodyBytesSent
        durations.append(Float(Double(phases.end - phases.start) / 1e9))
        course?.add(phases, bytes: request.responseBodyBytesReceived + request.requestBodyBytesSent)
    }

    /// Returns the times in seconds within which half and 95 % of the requests ended; `nil` without requests.
    func quantiles() -> (half: Double, most: Double)? {
        guard !durations.isEmpty else { return nil }
        let sorted = durations.sorted()
        return (Double(sorted[(sorted.count - 1) / 2]), Double(sorted[(sorted.count - 1) * 19 / 20]))
    }
}

/// Counts how many requests of a host were in which phase, and how many bytes moved, in even steps over the run.
struct HostActivity {
    static let steps = 300
    private let window: RunWindow
    private var phases = [StepSums](repeating: StepSums(steps), count: RequestPhases.Phase.allCases.count)
    private var bytes = StepSums(steps)

    init(_ window: RunWindow) { self.window = window }

    mutating func add(_ request: RequestPhases, bytes count: Int64) {
        let scale = Double(Self.steps) / Double(window.length)
        var at = Double(request.start - window.start) * scale
        let begin = at
        for phase in RequestPhases.Phase.allCases {
            let length = Double(request.lengths[phase]) * scale
            guard length > 0 else { continue }
            phases[phase.rawValue].add(from: at, to: at + length, weight: 1)
            at += length
        }
        guard count > 0 else { return }
        let receiving = Double(request.lengths[.receive]) * scale
        let from = max(begin, at - max(receiving, 1e-6))
        bytes.add(from: from, to: max(at, from + 1e-6), weight: Double(count) / max(at - from, 1e-6))
    }

    /// Returns the average number of requests in a phase for each step, in hundredths.
    func occupancy(_ phase: RequestPhases.Phase) -> [Int64] {
        phases[phase.rawValue].sums().map { Int64(($0 * 100).rounded()) }
    }

    /// Returns the bytes moved in each step.
    func bytesMoved() -> [Int64] { bytes.sums().map { Int64(min($0, 1e18).rounded()) } }
}

/// Sums in even steps; an interval adds to each step the share of it that the interval covers. Adding costs the same
/// however long the interval is.
package struct StepSums {
    private var partial: [Double]
    /// Change at each step of the weight that counts for whole steps.
    private var changes: [Double]

    package init(_ count: Int) {
        partial = [Double](repeating: 0, count: count)
        changes = [Double](repeating: 0, count: count + 1)
    }

    /// Adds an interval; `from` and `to` are counted in steps from the first step's begin.
    package mutating func add(from: Double, to: Double, weight: Double) {
        let (from, to) = (max(0, from), min(Double(partial.count), to))
        guard from < to else { return }
        let first = Int(from)
        let last = min(Int(to), partial.count - 1)
        if first == last {
            partial[first] += (to - from) * weight
            return
        }
        partial[first] += (Double(first + 1) - from) * weight
        partial[last] += (to - Double(last)) * weight
        changes[first + 1] += weight
        changes[last] -= weight
    }

    /// Returns the sum of each step.
    package func sums() -> [Double] {
        var running = 0.0
        return partial.indices.map { step in
            running += changes[step]
            return max(0, partial[step] + running)
        }
    }
}

extension ReportedAttempt {
    /// Calls `body` with each request and its phases, in the report's order.
    func eachRequest(_ body: (TransactionMetrics, RequestPhases) -> Void) {
        let end = startedAt + duration
        for (place, request) in transactions.enumerated() {
            let hasAnswer = request.responseStart != nil
            let next = place + 1 < transactions.count && !hasAnswer ? transactions[place + 1].fetchStart : end
            body(request, RequestPhases(request, end: next))
        }
    }
}
