internal import TransferModel

/// Where the time of a run went: in which part of a request, at which hosts, and for what tasks waited.
struct RunTimes {
    private enum Part: Int, CaseIterable {
        case looking, connecting, securing, sending, answering, receiving

        var words: String {
            switch self {
            case .looking: "looking up names"
            case .connecting: "connecting"
            case .securing: "TLS handshakes"
            case .sending: "sending"
            case .answering: "waiting for answers"
            case .receiving: "receiving"
            }
        }
    }

    private struct Host {
        /// Scheme and authority of its URLs, with the slash before the path.
        let start: String
        var bytes: Int64 = 0
        var seconds = 0.0

        init(start: String) { self.start = start }

        static func start(of url: String) -> String {
            var slashes = 0
            let end = url.utf8.firstIndex { byte in
                if byte == UInt8(ascii: "/") { slashes += 1 }
                return slashes == 3
            }
            return end.map { String(url[...$0]) } ?? url
        }

        /// `mirror.example.org:8080`
        var name: String { String(start.drop { $0 != "/" }.drop { $0 == "/" }.dropLast()) }
    }

    /// Shorter runs have no such lines: they would be noise.
    private static let least = TimeSpan.seconds(10)
    private var parts = [Double](repeating: 0, count: Part.allCases.count)
    private var hosts: [Host] = []
    /// Index of the host that was counted last.
    private var last: Int?
    private var waits: [WaitReason: (tasks: Int, seconds: Double)] = [:]

    mutating func count(_ attempt: AttemptRecord) {
        for transaction in attempt.transactions where transaction.fetchType == .networkLoad { count(transaction) }
    }

    private mutating func count(_ transaction: TransactionMetrics) {
        add(.looking, transaction.domainLookupStart, transaction.domainLookupEnd)
        add(.connecting, transaction.connectStart, transaction.secureConnectionStart ?? transaction.connectEnd)
        add(.securing, transaction.secureConnectionStart, transaction.secureConnectionEnd)
        add(.sending, transaction.requestStart, transaction.requestEnd)
        add(.answering, transaction.requestEnd, transaction.responseStart)
        let received = add(.receiving, transaction.responseStart, transaction.responseEnd)
        let place = place(of: transaction.url)
        hosts[place].bytes += transaction.responseBodyBytesReceived
        hosts[place].seconds += received
    }

    /// Most requests go where the one before went: then no text is taken apart.
    private mutating func place(of url: String) -> Int {
        if let last, url.hasPrefix(hosts[last].start) { return last }
        let start = Host.start(of: url)
        let place = hosts.firstIndex { $0.start == start } ?? hosts.count
        if place == hosts.count { hosts.append(Host(start: start)) }
        last = place
        return place
    }

    @discardableResult
    private mutating func add(_ part: Part, _ start: WallTime?, _ end: WallTime?) -> Double {
        guard let start, let end, end > start else { return 0 }
        let seconds = (end - start).seconds
        parts[part.rawValue] += seconds
        return seconds
    }

    mutating func count(_ record: TaskRecord) {
        for wait in record.waits where wait.duration >= .milliseconds(100) {
            waits[wait.reason, default: (0, 0)].tasks += 1
            waits[wait.reason, default: (0, 0)].seconds += wait.duration.seconds
        }
    }

    /// Nothing of a run that was short.
    func lines(_ duration: TimeSpan) -> [String] {
        guard duration >= Self.least else { return [] }
        return [shares, waited, slowest].compactMap { $0 }
    }

    /// `Time of requests: 71% receiving, 20% waiting for answers, 9% connecting`
    private var shares: String? {
        let all = parts.reduce(0, +)
        guard all > 0 else { return nil }
        let told = Part.allCases.map { (part: $0, share: Int((parts[$0.rawValue] / all * 100).rounded())) }
            .filter { $0.share > 0 }.sorted { ($1.share, $0.part.rawValue) < ($0.share, $1.part.rawValue) }
        return "Time of requests: " + told.map { "\($0.share)% \($0.part.words)" }.joined(separator: ", ")
    }

    /// `Waits: 1,203 tasks for a free connection to the host, 12.0s on average; …`
    private var waited: String? {
        let told = waits.filter { $0.key != .dependency && $0.value.seconds >= 1 }
            .sorted { ($1.value.seconds, $0.key.rawValue) < ($0.value.seconds, $1.key.rawValue) }.prefix(3)
        guard !told.isEmpty else { return nil }
        return "Waits: "
            + told.map { reason, wait in
                let mean = HumanText.duration(TimeSpan(nanoseconds: Int64(wait.seconds / Double(wait.tasks) * 1e9)))
                return
                    "\(HumanText.count(wait.tasks, "task")) for \(Explanation.words(reason)), \(mean)"
                    + (wait.tasks > 1 ? " on average" : "")
            }.joined(separator: "; ")
    }

    /// `Slowest hosts: mirror.example.org 1.2 MiB/s, …`, where there are some to compare.
    private var slowest: String? {
        let measured = hosts.filter { $0.bytes >= 1 << 20 && $0.seconds > 0 }
            .map { (name: $0.name, rate: Int64(Double($0.bytes) / $0.seconds)) }
        guard measured.count > 1 else { return nil }
        let told = measured.sorted { ($0.rate, $0.name) < ($1.rate, $1.name) }.prefix(3)
        return "Slowest hosts: "
            + told.map { "\(SafeText.line($0.name)) \(HumanText.size($0.rate))/s" }.joined(separator: ", ")
    }
}
