package import TransferModel

/// Makes events of every kind with random contents. Their order is random too; a simulation gives a plausible order.
package struct RandomEvents: Sendable {
    /// The generator of everything random.
    package var random: Seeded
    /// Texts that other texts contain now and then.
    private let secrets: [String]
    private var sequence: UInt64 = 0

    package init(_ random: Seeded, secrets: [String] = []) {
        self.random = random
        self.secrets = secrets
    }

    /// Number of kinds that random stories use.
    package static let kinds = 20
    /// Number of all kinds, including those that came later and are in no random story.
    package static let allKinds = 25
    /// The names of the format's first release: one more would change the story of every seed.
    private static let errorNames = ErrorName.allCases.prefix { $0 != .taskCrashedRunner }
    private static let waitReasons = WaitReason.allCases.prefix { $0 != .processLimit }

    /// Returns the next event of a run with `tasks` tasks, of a random kind.
    package mutating func next(tasks: Int = 100) -> Event { next(kind: random.below(Self.kinds), tasks: tasks) }

    /// Returns the next event, of the given kind: a number below `allKinds`.
    package mutating func next(kind: Int, tasks: Int = 100) -> Event {
        sequence += 1
        return Event(
            time: time(), sequence: sequence,
            session: random.oneIn(5) ? nil : SessionIndex(raw: UInt16(random.below(1 << 16))),
            task: random.oneIn(5) ? nil : TaskIndex(raw: UInt32(random.below(tasks))), kind: made(kind))
    }

    /// Returns one event of each kind, in which every field has a value: no zero, no empty text, nothing missing.
    package static func filled(format: Int = 9) -> [Event] {
        var full = RandomEvents(Seeded(seed: 1))
        full.isFilled = true
        full.format = format
        return (0..<(format < 4 ? kinds : format < 6 ? 21 : format < 7 ? 23 : format < 9 ? 24 : allKinds)).map { kind in
            var event = full.next(kind: kind)
            event.time = WallTime(nanoseconds: 1_795_244_400_000_000_000 + Int64(kind))
            event.session = SessionIndex(raw: 7)
            event.task = TaskIndex(raw: 70_000)
            return event
        }
    }

    // MARK: Simple values

    private var isFilled = false
    /// Version of the events' format: a sample of an older one contains nothing that came later.
    private var format = 9

    private mutating func isThere() -> Bool { isFilled || random.oneIn(2) }

    /// Returns a random text, sometimes with a secret in it.
    package mutating func text() -> String {
        let plain = [
            "", "a", "GET", "https://example.org/ä?x=1", "é€😀", "e\u{301}", "line\nbreak\u{0}", "\u{FFFD}",
            String(repeating: "long ", count: 60),
        ]
        let text = isFilled ? random.pick(plain.dropFirst()) : random.pick(plain)
        return secrets.isEmpty || random.oneIn(2) ? text : text + random.pick(secrets) + random.pick(plain)
    }

    private mutating func number() -> Int64 {
        if isFilled { return 1 + Int64(random.below(1 << 40)) }
        return switch random.below(5) {
        case 0: 0
        case 1: Int64(random.below(300)) - 150
        case 2: random.pick([.max, .min, -1, 1 << 40])
        default: Int64(bitPattern: random.next() >> UInt64(random.below(64)))
        }
    }

    private mutating func flag() -> Bool { isFilled || random.oneIn(2) }
    private mutating func time() -> WallTime {
        WallTime(nanoseconds: random.oneIn(20) ? number() : 1_795_244_400_000_000_000 + Int64(random.below(1 << 50)))
    }
    private mutating func span() -> TimeSpan { TimeSpan(nanoseconds: number()) }
    private mutating func maybe<Value>(_ make: (inout RandomEvents) -> Value) -> Value? {
        isThere() ? make(&self) : nil
    }
    private mutating func text() -> String? { maybe { $0.text() } }
    private mutating func some<Value>(_ make: (inout RandomEvents) -> Value) -> [Value] {
        (0..<(isFilled ? 2 : random.below(4))).map { _ in make(&self) }
    }
    private mutating func bytes() -> [UInt8] { random.bytes(isFilled ? 9 : random.below(200)) }

    private mutating func headers() -> HeaderBlock {
        HeaderBlock(
            raw: isFilled
                ? Array("\r\nA: 1\r\nB:\r\n folded\r\n".utf8)
                : some {
                    Array(
                        $0.random.pick([
                            "A: \($0.number())", "B:", " folded", "no colon", ": x", "", "\t\t", "C: \r \rx",
                        ]).utf8)
                }
                .flatMap { $0 + [0x0D, 0x0A] } + (random.oneIn(9) ? bytes() : []))
    }

    private mutating func error() -> TransferError {
        TransferError(
            random.pick(Self.errorNames), text(), curl: maybe { Int32(truncatingIfNeeded: $0.number()) | 1 },
            errno: maybe { Int32(truncatingIfNeeded: $0.number()) | 1 },
            reason: maybe { $0.random.pick(NetworkObjection.allCases) })
    }

    private mutating func value(_ depth: Int = 0) -> PlainValue {
        switch random.below(depth < 4 ? 6 : 4) {
        case 0: return .null
        case 1: return .boolean(flag())
        case 2: return .number("3.10")
        case 3: return .string(text())
        case 4: return .list(some { $0.value(depth + 1) })
        default: return .map(some { PlainValue.Entry(key: $0.text(), value: $0.value(depth + 1)) })
        }
    }

    // MARK: Kinds

    private mutating func made(_ kind: Int) -> Event.Kind {
        switch kind {
        case 0: .sessionStarted
        case 1: .taskCreated
        case 2: .taskResumed
        case 3: .waiting(random.pick(Self.waitReasons), lacks: text())
        case 4: .attemptStarted(AttemptStart(number: Int(number()), url: text(), bodyFiles: bodyFiles()))
        case 5: .challenge(challenge())
        case 6: .redirect(redirect())
        case 7: .resumedAtOffset(progress())
        case 8: .response(response())
        case 9: .becameDownload
        case 10: .needNewBodyStream
        case 11: .sentBodyData(progress())
        case 12: .receivedData(progress())
        case 13: .cacheStored
        case 14: .fileFinished(file())
        case 15: .attemptFinished(attempt())
        case 16: .taskFinished(task())
        case 17: .sessionFinishedEvents
        case 18: .sessionInvalidated(session())
        case 21:
            .hookFinished(
                HookRecord(
                    task: text(), command: some { $0.text() }, exitStatus: maybe { Int($0.number()) },
                    duration: span(), trouble: maybe { $0.text() }))
        case 22:
            .connectionsChanged(
                ConnectionStep(
                    origin: Origin(scheme: text(), host: text(), port: UInt16(1 + random.below(60_000))),
                    from: Int(number()), to: Int(number()), reason: random.pick(ConnectionStep.Reason.allCases)))
        case 23:
            .pageFinished(
                PageRecord(
                    number: Int(number()), url: text(), status: maybe { Int($0.number()) }, file: maybe { $0.file() },
                    body: maybe { Array($0.text().utf8) }, isCut: flag()))
        case 24:
            .groupPublished(
                GroupRecord(
                    name: text(), removed: maybe { RemovedFiles(count: Int($0.number()), named: $0.some { $0.text() }) }
                ))
        case 20: .expanded(Expansion(count: Int(number())))
        default: .runFinished(run())
        }
    }

    private mutating func progress() -> Event.Progress {
        Event.Progress(bytes: number(), expected: maybe { $0.number() })
    }

    /// Returns marks of body files. A filled sample has a fixed one, so that later random values stay as they were
    /// before the field existed.
    private mutating func bodyFiles() -> [BodyFileMark] {
        if isFilled {
            return format < 2
                ? []
                : [
                    BodyFileMark(
                        boot: 1_234_567, device: 64_513, inode: 1 << 62, size: 700, modifiedNanoseconds: 1_795_244_400,
                        changedNanoseconds: 1_795_244_401)
                ]
        }
        return some {
            BodyFileMark(
                boot: $0.number(), device: UInt64(bitPattern: $0.number()), inode: UInt64(bitPattern: $0.number()),
                size: $0.number(), modifiedNanoseconds: $0.number(), changedNanoseconds: $0.number())
        }
    }

    private mutating func challenge() -> ChallengeRecord {
        ChallengeRecord(
            method: text(), host: text(), realm: text(), level: text(), disposition: text(),
            previousFailureCount: Int(number()))
    }

    private mutating func redirect() -> RedirectRecord {
        RedirectRecord(
            status: Int(number()), from: text(), to: text(), method: text(),
            action: random.pick(RedirectRecord.Action.allCases), stripped: some { $0.text() })
    }

    private mutating func response() -> ResponseRecord {
        ResponseRecord(
            status: maybe { Int($0.number()) }, url: text(), method: text(), mimeType: text(), charset: text(),
            expectedLength: maybe { $0.number() }, suggestedFilename: text(), contentEncoding: text(),
            headers: headers())
    }

    private mutating func file() -> FileRecord {
        let record = FileRecord(
            path: text(), bytes: number(),
            checksum: maybe {
                let algorithm = $0.random.pick(DigestAlgorithm.allCases)
                return Checksum(algorithm: algorithm, bytes: $0.random.bytes(algorithm.byteCount))
            },
            changed: flag(), lengthUnverified: flag(),
            stamp: maybe { FileStamp(size: $0.number(), modifiedNanoseconds: $0.number()) })
        // The short sum of earlier versions: what follows stays as it was.
        _ = maybe { $0.number() }
        return record
    }

    private mutating func attempt() -> AttemptRecord {
        AttemptRecord(
            number: Int(number()), url: text(), outcome: random.pick(TaskOutcome.allCases), resumedFrom: number(),
            startedOver: text(), startedAt: time(), duration: span(), error: maybe { $0.error() },
            backoff: maybe { $0.span() }, transactions: some { $0.transaction() },
            retriesUntil: format < 6 ? nil : maybe { $0.time() })
    }

    private mutating func transaction() -> TransactionMetrics {
        var metrics = TransactionMetrics(method: text(), url: text(), fetchStart: time())
        metrics.status = maybe { Int($0.number()) }
        metrics.domainLookupStart = maybe { $0.time() }
        metrics.domainLookupEnd = maybe { $0.time() }
        metrics.connectStart = maybe { $0.time() }
        metrics.secureConnectionStart = maybe { $0.time() }
        metrics.secureConnectionEnd = maybe { $0.time() }
        metrics.connectEnd = maybe { $0.time() }
        metrics.requestStart = maybe { $0.time() }
        metrics.requestEnd = maybe { $0.time() }
        metrics.responseStart = maybe { $0.time() }
        metrics.responseEnd = maybe { $0.time() }
        metrics.networkProtocolName = text()
        metrics.isProxyConnection = flag()
        metrics.isReusedConnection = flag()
        metrics.fetchType = isFilled ? .localCache : random.pick(TransactionMetrics.FetchType.allCases)
        metrics.requestHeaderBytesSent = number()
        metrics.requestBodyBytesSent = number()
        metrics.requestBodyBytesBeforeEncoding = number()
        metrics.responseHeaderBytesReceived = number()
        metrics.responseBodyBytesReceived = number()
        metrics.responseBodyBytesAfterDecoding = number()
        metrics.localAddress = text()
        metrics.localPort = maybe { UInt16(truncatingIfNeeded: $0.number()) | 1 }
        metrics.remoteAddress = text()
        metrics.remotePort = maybe { UInt16(truncatingIfNeeded: $0.number()) | 1 }
        metrics.tlsVersion = maybe { _ in 0x0304 }
        metrics.tlsCipherSuite = maybe { _ in 0x1301 }
        metrics.tlsFingerprint = maybe { "sha256:\($0.random.below(1 << 30))" }
        if format >= 5 {
            metrics.tlsExpiry = maybe { WallTime(nanoseconds: Int64($0.random.below(1 << 40)) * 1_000_000) }
        }
        metrics.network = maybe {
            TransactionMetrics.NetworkKind(
                isCellular: $0.flag(), isExpensive: $0.flag(), isConstrained: $0.flag())
        }
        return metrics
    }

    private mutating func task() -> TaskRecord {
        TaskRecord(
            outcome: random.pick(TaskOutcome.allCases), tolerated: flag(), changed: maybe { $0.flag() },
            source: maybe { $0.random.pick(ResultSource.allCases) },
            waits: some { TaskRecord.Wait(reason: $0.random.pick(Self.waitReasons), duration: $0.span()) },
            error: maybe { $0.error() }, body: maybe { $0.bytes() }, lengthUnverified: flag(),
            captures: some {
                Job.Variable(name: $0.text(), value: $0.isFilled ? .list([.string($0.text())]) : $0.value())
            },
            duration: span(), explanation: text(), cache: maybe { CacheRecord(refusal: $0.text()) },
            parts: some { AnswerPart(headers: $0.headers(), body: $0.bytes(), size: $0.partSize()) })
    }

    /// Returns a part's size, fixed in a filled sample for the same reason as in `bodyFiles`.
    private mutating func partSize() -> Int64? {
        if isFilled { return format < 3 ? nil : 1_234_567 }
        return random.oneIn(3) ? number() : nil
    }

    private mutating func session() -> SessionRecord {
        SessionRecord(
            connectionsOpened: Int(number()), connectionsReused: Int(number()),
            hosts: some {
                SessionRecord.Host(
                    origin: Origin(scheme: "https", host: $0.text(), port: 443), peakConnections: Int($0.number()),
                    tasks: Int($0.number()))
            })
    }

    private mutating func run() -> RunRecord {
        RunRecord(
            outcome: random.pick(RunOutcome.allCases), exitStatus: Int(number()), duration: span(),
            groups: some { RunRecord.Group(name: $0.text(), published: $0.flag(), error: $0.maybe { $0.error() }) })
    }
}
