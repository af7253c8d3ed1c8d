package import TransferModel

/// The cases of an enum by the numbers that stand for them on the disk: their places in this list, which only grows at its
/// end. The order in which the enum names them may change.
package struct CodedCases<Case: Hashable & Sendable>: Sendable {
    package let list: [Case]

    fileprivate init(_ list: Case...) {
        precondition(Set(list).count == list.count && list.count < 256, "a case has one number, and that is a byte")
        self.list = list
    }
}

/// A case that is in no list could not be written: RecordsTests hold each list against all its enum's cases.
package enum Coded {
    package static let taskOutcomes = CodedCases<TaskOutcome>(.succeeded, .failed, .cancelled, .skipped, .deferred)
    package static let runOutcomes = CodedCases<RunOutcome>(.succeeded, .failed, .cancelled, .deferred)
    package static let sources = CodedCases<ResultSource>(
        .network, .cache, .revalidated, .unchanged, .resumed, .local)
    package static let waitReasons = CodedCases<WaitReason>(
        .dependency, .hostLimit, .sessionLimit, .runLimit, .requestRate, .backoff, .retryAfter, .hostParked, .network,
        .power, .window, .bandwidth, .earliestBegin, .suspended, .credential, .flush)
    package static let redirectActions = CodedCases<RedirectRecord.Action>(.followed, .refused, .accepted)
    package static let fetchTypes = CodedCases<TransactionMetrics.FetchType>(
        .unknown, .networkLoad, .serverPush, .localCache)
    package static let digests = CodedCases<DigestAlgorithm>(.sha256, .sha512, .sha1, .md5, .blake2b)
    package static let objections = CodedCases<NetworkObjection>(.cellular, .expensive, .constrained)
}

extension RecordWriter {
    package mutating func put<Case>(_ value: Case, _ cases: CodedCases<Case>) {
        guard let place = cases.list.firstIndex(of: value) else {
            preconditionFailure("\(value) has no number: add it to the end of its list")
        }
        put(byte: UInt8(place))
    }
}

extension RecordReader {
    package mutating func one<Case>(of cases: CodedCases<Case>) throws(RecordProblem) -> Case {
        let number = Int(try byte())
        guard number < cases.list.count else { throw problem(.unknown, "there is no \(Case.self) number \(number)") }
        return cases.list[number]
    }
}
