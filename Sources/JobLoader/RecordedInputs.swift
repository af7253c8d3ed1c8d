package import Diagnostics
package import Records
import Synchronization
package import TransferModel

/// Everything that went into loading a job: its file, the command line's additions, and each answer of the machine
/// (environment, files, folders). The same job can be loaded from it again, even if files and environment have changed
/// since.
///
/// Contains the job's secrets.
package struct RecordedInputs: Sendable {
    /// The job file: its name as the user wrote it, and its bytes.
    package let source: SourceText
    /// The command line's additions.
    package let options: LoadOptions
    private let answers: RecordedAnswers

    /// Gives the recorded answers. A variable, file or folder that was not looked up then does not exist.
    package var resources: Resources {
        let answers = answers
        return Resources(
            environment: { answers.environment[$0] ?? nil },
            readFile: { answers.files[Question($0, $1)] ?? .failure(.notFound) },
            listFiles: { answers.listings[Question($0, $1)] ?? .failure(.notFound) },
            workingDirectory: answers.workingDirectory)
    }

    /// Loads the recorded job again.
    package func load() -> LoadResult { JobLoader.load(source, options: options, resources: resources) }

    /// Loads the job again with the tasks that its templates become. If that fails, the first error fails the last
    /// template.
    package func expand(_ values: TemplateValues) -> Result<ExpandedJob, TransferError> {
        let result = JobLoader.load(source, options: options, resources: resources, templates: values)
        guard let job = result.job, let added = result.added else {
            let first = result.diagnostics.sorted().first { $0.severity == .error }
            let help = first?.hint.map { " (\($0))" } ?? ""
            return .failure(TransferError(.expansionFailed, (first?.message ?? "the job cannot be read again") + help))
        }
        return .success(ExpandedJob(job: job, added: added, made: result.made ?? []))
    }

    fileprivate init(source: SourceText, options: LoadOptions, answers: RecordedAnswers) {
        self.source = source
        self.options = options
        self.answers = answers
    }
}

/// Records the answers of `Resources` while a job is loaded. A question that is repeated gets the first answer again.
package final class InputRecorder: Sendable {
    private let outside: Resources
    private let answers: Mutex<RecordedAnswers>

    package init(_ outside: Resources) {
        self.outside = outside
        answers = Mutex(RecordedAnswers(workingDirectory: outside.workingDirectory))
    }

    /// Passes each question to the machine and records the answer.
    package var resources: Resources {
        Resources(
            environment: { name throws(NotText) in
                try self.remember(\.environment, name) { () throws(NotText) in try self.outside.environment(name) }
            },
            readFile: { path, limit in
                self.remember(\.files, Question(path, limit)) { self.outside.readFile(path, limit) }
            },
            readOwnFile: { path, limit in
                self.remember(\.files, Question(path, limit)) { self.outside.readOwnFile(path, limit) }
            },
            listFiles: { root, depth in
                self.remember(\.listings, Question(root, depth)) { self.outside.listFiles(root, depth) }
            },
            workingDirectory: outside.workingDirectory)
    }

    /// Returns the recorded answers as the inputs of a load of that file with these options.
    package func recorded(_ source: SourceText, options: LoadOptions) -> RecordedInputs {
        RecordedInputs(source: source, options: options, answers: answers.withLock { $0 })
    }

    /// Returns the recorded answer, or gets and records one. Does not hold the lock meanwhile, because an answer may
    /// take long.
    private func remember<Key: Hashable & Sendable, Answer: Sendable, Problem: Error>(
        _ place: any WritableKeyPath<RecordedAnswers, [Key: Answer]> & Sendable, _ key: Key,
        _ ask: () throws(Problem) -> Answer
    ) throws(Problem) -> Answer {
        if let known = answers.withLock({ $0[keyPath: place][key] }) { return known }
        let answer = try ask()
        return answers.withLock { answers in
            let first = answers[keyPath: place][key] ?? answer
            answers[keyPath: place][key] = first
            return first
        }
    }
}

/// A path with the limit of the question: bytes of a file, or depth of a folder.
private struct Question: Hashable, Sendable {
    let path: String
    let limit: Int
    init(_ path: String, _ limit: Int) {
        self.path = path
        self.limit = limit
    }
}

private struct RecordedAnswers: Sendable {
    var workingDirectory: String
    var environment: [String: String?] = [:]
    var files: [Question: Result<[UInt8], FileProblem>] = [:]
    var listings: [Question: Result<[[UInt8]], FileProblem>] = [:]
}

// MARK: As bytes

extension RecordedInputs {
    /// Version 1 had no policy.
    private static let version: UInt8 = 2

    /// Returns the inputs as bytes, secrets included; `init(_:)` reads them.
    package func encoded() -> [UInt8] {
        var writer = RecordWriter(capacity: source.bytes.count + 1024)
        writer.put(byte: Self.version)
        writer.put(source.name)
        writer.put(source.bytes)
        writer.put(options.directory)
        writer.put(options.set) {
            $0.put($1.name)
            $0.put($1.value)
        }
        writer.put(options.variablesFile)
        writer.put(options.secretsFile)
        writer.put(options.policy?.source) {
            $0.put($1.name)
            $0.put($1.bytes)
        }
        writer.put(answers.workingDirectory)
        writer.put(answers.environment.sorted { $0.key < $1.key }) {
            $0.put($1.key)
            $0.put($1.value)
        }
        writer.put(answers.files.sorted { $0.key < $1.key }) {
            $0.put($1.key)
            $0.put($1.value) { $0.put($1) }
        }
        writer.put(answers.listings.sorted { $0.key < $1.key }) {
            $0.put($1.key)
            $0.put($1.value) { $0.put($1) { $0.put($1) } }
        }
        return writer.bytes
    }

    package init(_ bytes: [UInt8]) throws(RecordProblem) {
        var reader = RecordReader(bytes)
        let version = try reader.byte()
        guard (1...Self.version).contains(version) else {
            throw reader.problem(.unknown, "inputs of format \(version) are unknown, only 1 to \(Self.version) are")
        }
        source = SourceText(name: try reader.text(), bytes: try reader.blob())
        var options = LoadOptions(
            directory: try reader.optionalText(),
            set: try reader.list { (reader) throws(RecordProblem) in
                (name: try reader.text(), value: try reader.text())
            },
            variablesFile: try reader.optionalText(), secretsFile: try reader.optionalText())
        if version >= 2 { options.policy = try reader.policy() }
        self.options = options
        var answers = RecordedAnswers(workingDirectory: try reader.text())
        for _ in 0..<(try reader.count()) {
            let name = try reader.text()
            answers.environment.updateValue(try reader.optionalText(), forKey: name)
        }
        for _ in 0..<(try reader.count()) {
            let question = try reader.question()
            answers.files[question] = try reader.answer { (reader) throws(RecordProblem) in
                try reader.blob()
            }
        }
        for _ in 0..<(try reader.count()) {
            let question = try reader.question()
            answers.listings[question] = try reader.answer { (reader) throws(RecordProblem) in
                try reader.list { (reader) throws(RecordProblem) in try reader.blob() }
            }
        }
        try reader.finish()
        self.answers = answers
    }
}

extension Question: Comparable {
    static func < (left: Question, right: Question) -> Bool {
        (left.path, left.limit) < (right.path, right.limit)
    }
}

extension RecordWriter {
    fileprivate mutating func put(_ question: Question) {
        put(question.path)
        put(question.limit)
    }

    fileprivate mutating func put<Answer>(
        _ result: Result<Answer, FileProblem>, _ write: (inout RecordWriter, Answer) -> Void
    ) {
        switch result {
        case .success(let answer):
            put(byte: 0)
            write(&self, answer)
        case .failure(.notFound): put(byte: 1)
        case .failure(.notRegular): put(byte: 2)
        case .failure(.tooLarge(let limit)):
            put(byte: 3)
            put(limit)
        case .failure(.notAllowed): put(byte: 4)
        case .failure(.failed(let reason)):
            put(byte: 5)
            put(reason)
        }
    }
}

extension RecordReader {
    /// Rules that this version does not know are rules all the same: the run goes on in another version, or not at all.
    fileprivate mutating func policy() throws(RecordProblem) -> LoadedPolicy? {
        let source = try optional { (reader) throws(RecordProblem) in
            SourceText(name: try reader.text(), bytes: try reader.blob())
        }
        guard let source else { return nil }
        guard let policy = PolicyLoader.load(source).policy else {
            throw problem(.unknown, "the policy \(source.name) cannot be read by this version")
        }
        return policy
    }

    fileprivate mutating func question() throws(RecordProblem) -> Question { Question(try text(), try int()) }

    fileprivate mutating func answer<Answer>(
        _ read: (inout RecordReader) throws(RecordProblem) -> Answer
    ) throws(RecordProblem) -> Result<Answer, FileProblem> {
        switch try byte() {
        case 0: return .success(try read(&self))
        case 1: return .failure(.notFound)
        case 2: return .failure(.notRegular)
        case 3: return .failure(.tooLarge(limit: try int()))
        case 4: return .failure(.notAllowed)
        case 5: return .failure(.failed(try text()))
        default: throw problem(.unknown, "a file's answer is of no kind that is known")
        }
    }
}
