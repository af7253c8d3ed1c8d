internal import TransferModel

/// Reads a report from its file piece by piece: first its head, then one task after another.
///
/// The tasks are never in memory together. In a report that another program rewrote, members of the head may stand
/// after the tasks: then the tasks are skipped once to read the head, and read afterwards.
package final class ReportReader {
    /// Every member of the report but `tasks`, complete after `init`.
    package private(set) var head: ReportHead
    /// Members of the head as the file spells them, names included.
    private var texts: [ReportHead.Member: [UInt8]] = [:]
    private let file: ReportFile
    private let parts: ReportParts

    /// A piece of the file; `windowStart` is its offset in the file, in bytes.
    private var window: [UInt8] = []
    private var windowStart: Int64 = 0
    /// Index in the window of the first byte that is not consumed.
    private var position = 0
    private var isAtEnd = false

    /// Offset in the file of the first task, or of the end of the list if it is empty.
    private var tasksStart: Int64 = 0
    private var hasTasks = false
    private var hasEnded = false

    private static let piece = 1 << 20

    /// Reads the head. `parts` are the parts of each task that `next()` decodes.
    package init(_ file: ReportFile, reading parts: ReportParts = .all) throws(ReportProblem) {
        self.file = file
        self.parts = parts
        head = ReportHead()
        head = try readHead()
        try rewind()
    }

    /// Goes back to the first task.
    package func rewind() throws(ReportProblem) {
        window.removeAll(keepingCapacity: true)
        (windowStart, position, isAtEnd, hasEnded) = (tasksStart, 0, false, !hasTasks)
        guard hasTasks else { return }
        let isEmpty = try step { (cursor) throws(CursorStop) in try cursor.takeEnd(UInt8(ascii: "]")) }
        if isEmpty { try end() }
    }

    /// Returns the next task, or `nil` after the last one, once the rest of the file has been found to be well formed.
    package func next() throws(ReportProblem) -> ReportedTask? {
        if hasEnded { return nil }
        let parts = parts
        let (task, goesOn) = try step { (cursor) throws(CursorStop) in
            let task = try ReportedTask(&cursor, parts)
            return (task, try cursor.goesOn(UInt8(ascii: "]")))
        }
        if !goesOn { try end() }
        return task
    }

    /// Returns the next task and its text as it stands in the file, or `nil` after the last task.
    func nextWithText() throws(ReportProblem) -> (task: ReportedTask, text: [UInt8])? {
        if hasEnded { return nil }
        let parts = parts
        let (task, text, goesOn) = try step { (cursor) throws(CursorStop) in
            _ = try cursor.peek()
            let start = cursor.offset
            let task = try ReportedTask(&cursor, parts)
            let text = Array(cursor.bytes[start..<cursor.offset])
            return (task, text, try cursor.goesOn(UInt8(ascii: "]")))
        }
        if !goesOn { try end() }
        return (task, text)
    }

    /// Returns a member of the head with its name, as the file spells it; `nil` if the file lacks the member.
    func text(of member: ReportHead.Member) -> [UInt8]? { texts[member] }

    // MARK: The head

    private func readHead() throws(ReportProblem) -> ReportHead {
        var head = ReportHead()
        var isComplete: Bool { texts.count == ReportHead.Member.allCases.count }
        if [".yaml", ".yml"].contains(where: { file.name.hasSuffix($0) }), file.bytes(1, from: 0) != [UInt8(ascii: "{")]
        {
            throw ReportProblem(
                "\(file.name) is a job file; unless the job says otherwise, its report is `\(Job.stem(of: file.name)).report.json`"
            )
        }
        try step { (cursor) throws(CursorStop) in
            guard try cursor.peek() == UInt8(ascii: "{") else {
                throw .broken("this is no report: an object is needed here", at: cursor.offset)
            }
            cursor.offset += 1
        }
        var goesOn = try !step { (cursor) throws(CursorStop) in try cursor.takeEnd(UInt8(ascii: "}")) }
        while goesOn {
            if try beginTasks() {
                if isComplete { return head }
                try skipTasks()
            } else {
                let (next, member, text) = try step { [head] (cursor) throws(CursorStop) in
                    var next = head
                    _ = try cursor.peek()
                    let start = cursor.offset
                    let name = try cursor.name()
                    let member = try next.decode(name, &cursor)
                    return (next, member, Array(cursor.bytes[start..<cursor.offset]))
                }
                head = next
                if let member { texts[member] = text }
            }
            goesOn = try step { (cursor) throws(CursorStop) in try cursor.goesOn(UInt8(ascii: "}")) }
        }
        guard texts[.format] != nil, texts[.version] != nil else {
            throw problem(
                "this is no report: `format` and `version` are missing", at: windowStart + Int64(position) - 1)
        }
        guard hasTasks else {
            throw problem("the report has no `tasks`", at: windowStart + Int64(position) - 1)
        }
        return head
    }

    /// Returns whether the next member is `tasks`, and consumes its `[` if it is.
    private func beginTasks() throws(ReportProblem) -> Bool {
        let isTasks = try step { (cursor) throws(CursorStop) in
            let start = cursor.offset
            if case "tasks" = try cursor.name() {
                try cursor.expect(UInt8(ascii: "["), "the list of tasks")
                return true
            }
            cursor.offset = start
            return false
        }
        guard isTasks else { return false }
        if hasTasks { throw problem("the report has `tasks` twice", at: windowStart + Int64(position) - 1) }
        tasksStart = windowStart + Int64(position)
        hasTasks = true
        return true
    }

    private func skipTasks() throws(ReportProblem) {
        if try step({ (cursor) throws(CursorStop) in try cursor.takeEnd(UInt8(ascii: "]")) }) { return }
        while try step({ (cursor) throws(CursorStop) in
            try cursor.skip()
            return try cursor.goesOn(UInt8(ascii: "]"))
        }) {}
    }

    /// Ends the list of tasks and checks that the rest of the file is well formed.
    private func end() throws(ReportProblem) {
        hasEnded = true
        while try step({ (cursor) throws(CursorStop) in try cursor.goesOn(UInt8(ascii: "}")) }) {
            try step { (cursor) throws(CursorStop) in
                _ = try cursor.name()
                try cursor.skip()
            }
        }
        while true {
            if let stray = window[position...].first(where: { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }) {
                let place = window[position...].firstIndex(of: stray) ?? position
                throw problem("more text stands after the report", at: windowStart + Int64(place))
            }
            position = window.count
            if try !fill() { return }
        }
    }

    // MARK: The window

    /// Calls `body` to consume a whole value at the current position. If the window ends inside the value, more of the
    /// file is read and `body` is called again from the same position.
    private func step<Result>(
        _ body: (inout JSONCursor) throws(CursorStop) -> Result
    ) throws(ReportProblem) -> Result {
        while true {
            var stop = CursorStop.incomplete
            let result = window.withUnsafeBufferPointer { bytes -> Result? in
                var cursor = JSONCursor(bytes: bytes, offset: position)
                do throws(CursorStop) {
                    let result = try body(&cursor)
                    position = cursor.offset
                    return result
                } catch {
                    stop = error
                    return nil
                }
            }
            if let result { return result }
            switch stop {
            case .broken(let message, let offset): throw problem(message, at: windowStart + Int64(offset))
            case .incomplete:
                if try !fill() { throw problem("the report ends here before it is complete", at: end(of: window)) }
            }
        }
    }

    private func end(of window: [UInt8]) -> Int64 { windowStart + Int64(window.count) }

    /// Drops the consumed bytes and reads more of the file; returns `false` at its end. A value that is longer than a
    /// piece doubles the window.
    private func fill() throws(ReportProblem) -> Bool {
        if isAtEnd { return false }
        let rest = window.count - position
        if position > 0 {
            window.removeFirst(position)
            windowStart += Int64(position)
            position = 0
        }
        let count = try file.append(max(Self.piece, rest), from: windowStart + Int64(rest), to: &window)
        isAtEnd = count == 0
        return !isAtEnd
    }

    private func problem(_ message: String, at offset: Int64) -> ReportProblem {
        let place = file.place(of: offset)
        return ReportProblem("\(file.name):\(place.line):\(place.column): \(message)")
    }
}
