package import TransferModel

/// The cases of an enum with the numbers that represent them on the disk: their indexes in this list, which only grows
/// at its end. The order in which the enum declares them may change.
package struct CodedCases<Case: Hashable & Sendable>: Sendable {
    /// The cases by number.
    package let list: [Case]

    fileprivate init(_ list: Case...) {
        precondition(Set(list).count == list.count && list.count < 256, "a case has one number, and that is a byte")
        self.list = list
    }
}

/// The lists of all enums in records. A case that is in no list could not be written: RecordsTests compare each list
/// with all cases of its enum.
package enum Coded {
    /// Numbers of a task's outcomes.
    package static let taskOutcomes = CodedCases<TaskOutcome>(.succeeded, .failed, .cancelled, .skipped, .deferred)
    /// Numbers of a run's outcomes.
    package static let runOutcomes = CodedCases<RunOutcome>(.succeeded, .failed, .cancelled, .deferred)
    /// Numbers of the sources from which a task's result came.
    package static let sources = CodedCases<ResultSource>(
        .network, .cache, .revalidated, .unchanged, .resumed, .local)
    /// Numbers of the reasons for which a task waits.
    package static let waitReasons = CodedCases<WaitReason>(
        .dependency, .hostLimit, .sessionLimit, .runLimit, .requestRate, .backoff, .retryAfter, .hostParked, .network,
        .power, .window, .bandwidth, .earliestBegin, .suspended, .credential, .flush,
        .processLimit)
    /// Numbers of what was done with a redirect.
    package static let redirectActions = CodedCases<RedirectRecord.Action>(.followed, .refused, .accepted)
    /// Numbers of a transaction's fetch types.
    package static let fetchTypes = CodedCases<TransactionMetrics.FetchType>(
        .unknown, .networkLoad, .serverPush, .localCache)
    /// Numbers of the digest algorithms.
    package static let digests = CodedCases<DigestAlgorithm>(
        .sha256, .sha512, .sha1, .md5, .blake2b, .xxh3)
    /// Numbers of the reasons against using a network.
    package static let objections = CodedCases<NetworkObjection>(.cellular, .expensive, .constrained)
    /// Numbers of the reasons for which a number of connections changes.
    package static let connectionReasons = CodedCases<ConnectionStep.Reason>(
        .moreThroughput, .noGain, .triedAgain, .slower, .tooManyRequests, .unavailable, .noAnswer)
}

extension RecordWriter {
    /// Writes the case's number in one byte; a case that is missing in the list is a programming error.
    package mutating func put<Case>(_ value: Case, _ cases: CodedCases<Case>) {
        guard let place = cases.list.firstIndex(of: value) else {
            preconditionFailure("\(value) has no number: add it to the end of its list")
        }
        put(byte: UInt8(place))
    }
}

extension RecordReader {
    /// Reads a case from its number; `.unknown` for a number that is not in the list.
    package mutating func one<Case>(of cases: CodedCases<Case>) throws(RecordProblem) -> Case {
        let number = Int(try byte())
        guard number < cases.list.count else { throw problem(.unknown, "there is no \(Case.self) number \(number)") }
        return cases.list[number]
    }
}
