import TransferModel

/// The ids of a job's tasks, by which patterns of the command line find them.
struct JobIDs {
    private let tasks: ArraySlice<TaskSpecification>
    /// Tasks by their ids, where many are looked up: looking each of them up in all tasks would take long.
    private let places: [String: Int]?
    /// Templates, with a pattern of the ids of the tasks that each becomes.
    private let makers: [(index: Int, pattern: [UInt8])]

    /// `writtenCount`: the number of the job's first tasks that are meant; `nil` for all. `lookups`: how many ids and
    /// patterns will be looked up.
    init(_ job: Job, writtenCount: Int? = nil, lookups: Int) {
        let tasks = job.tasks.prefix(writtenCount ?? job.tasks.count)
        self.tasks = tasks
        places =
            lookups > 16
            ? Dictionary(tasks.enumerated().map { ($0.element.id, $0.offset) }) { first, _ in first } : nil
        makers = tasks.indices.filter { tasks[$0].isTemplate }.map { ($0, Self.pattern(tasks[$0].id)) }
    }

    /// The tasks that a pattern finds.
    struct Matches {
        /// Tasks with an id that matches; the id of a template stands for all of its tasks.
        var tasks: [Int] = []
        /// Templates that may become a task with an id that matches.
        var makers: [Int] = []
        var isEmpty: Bool { tasks.isEmpty && makers.isEmpty }
    }

    /// Returns the tasks that an id or a pattern of ids finds.
    func matches(of text: String) -> Matches {
        guard text.utf8.contains(UInt8(ascii: "*")) else { return matches(ofID: text) }
        let wanted = TaskPattern(text)
        let found = tasks.indices.filter { wanted.matches(tasks[$0].id) }
        return Matches(tasks: found, makers: makers(of: text).filter { !wanted.matches(tasks[$0].id) })
    }

    /// Returns the task that has an id, or else the templates that may become it.
    func matches(ofID id: String) -> Matches {
        let wanted = TaskPattern(id)
        let place = places.map { $0[id] } ?? tasks.firstIndex { wanted.matches($0.id) }
        if let place { return Matches(tasks: [place]) }
        return Matches(makers: makers(of: id))
    }

    private func makers(of text: String) -> [Int] {
        let wanted = Array(text.utf8)
        return makers.filter { Self.canBothMatch(wanted, $0.pattern) }.map(\.index)
    }

    /// Returns a pattern of the ids that a template's tasks have: `*` for each value that is filled in.
    private static func pattern(_ id: String) -> [UInt8] {
        guard let template = try? TemplateParser.parse(Array(id.utf8)) else { return Array("*".utf8) }
        return template.segments.flatMap { segment in
            switch segment {
            case .literal(let text): Array(text.utf8)
            case .reference: [UInt8(ascii: "*")]
            }
        }
    }

    /// Decides whether there is a text that both patterns match.
    private static func canBothMatch(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        let star = UInt8(ascii: "*")
        // Whether what precedes a place in `one` and one in `other` can be the same text, by place in `other`.
        var reached = [Bool](repeating: false, count: other.count + 1)
        reached[0] = true
        for place in other.indices where other[place] == star { reached[place + 1] = reached[place] }
        for byte in one {
            var next = [Bool](repeating: false, count: other.count + 1)
            next[0] = byte == star && reached[0]
            for place in other.indices {
                next[place + 1] =
                    byte == star || other[place] == star
                    ? reached[place + 1] || next[place]
                    : byte == other[place] && reached[place]
            }
            reached = next
        }
        return reached[other.count]
    }
}
