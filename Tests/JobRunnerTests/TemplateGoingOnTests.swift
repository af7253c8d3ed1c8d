import JobRunner
import Synchronization
import TestSupport
import Testing
import TransferModel

/// A run whose templates became tasks, and whose process ended at any moment after that.
@Suite struct TemplateGoingOnTests {
    private static let names = ["a", "b", "c"]

    /// `list`, a template over what it captures, and `after`, which needs whatever that becomes.
    private func stage(method: String? = nil) throws -> RunStage {
        let stage = try RunStage()
        stage.makeBackground()
        stage.server.on(
            "/list", .respond(200, headers: [("Content-Type", "application/json")], body: #"["a", "b", "c"]"#))
        for name in Self.names { stage.server.on("/f/\(name)", .respond(200, body: "file \(name)")) }
        stage.server.on("/after", .respond(200, body: "x"))
        try stage.add("list", "/list", type: .data) { values in
            values.captures = [Capture(name: "names", source: .jsonList("$[*]"))]
        }
        try stage.add("get", "/f/${n}", needs: [0]) { $0.template = TaskTemplate(number: 0, sources: ["list"]) }
        try stage.add("after", "/after", needs: [1])
        let job = stage.job
        let made = try Self.names.map { name in
            try stage.add("get-\(name)", "/f/\(name)", needs: [0]) { $0.method = method }
            return stage.job.tasks.removeLast()
        }
        stage.expand = { values in
            guard case .list(let found)? = values.captured.list("list", "names")?.value else {
                return .failure(TransferError(.expansionFailed, "no list"))
            }
            var grown = job
            grown.tasks += made.prefix(found.count)
            grown.tasks[2].needs += found.indices.map { TaskIndex(raw: UInt32(3 + $0)) }
            return .success(ExpandedJob(job: grown, added: 3..<3 + found.count))
        }
        return stage
    }

    /// As where no thread can be started to make its tasks: nothing else is left that would keep the run going.
    @Test func aTemplateThatFailsAtOnce_failsTheRun() throws {
        let stage = try stage()
        defer { stage.server.stop() }
        stage.job.tasks.removeLast()
        stage.expand = nil
        #expect(try stage.run() == .failed)
        #expect(stage.end(1)?.outcome == .failed && stage.end(1)?.error?.name == .expansionFailed)
        #expect(stage.violations() == [])
    }

    @Test func aProcessThatEndsAnywhereAfterTasksWereKept_isFollowedByOneThatKnowsThem() throws {
        let whole = try stage()
        defer { whole.server.stop() }
        #expect(try whole.run() == .succeeded)
        let expanded = try #require(whole.events.firstIndex { $0.word == "expanded" })
        // The tasks are kept just before that is told.
        for count in expanded...whole.events.count {
            let stage = try stage()
            defer { stage.server.stop() }
            #expect(try stage.run() == .succeeded)
            guard count < stage.events.count else { continue }
            stage.cut(to: count)
            #expect(try stage.run() == .succeeded, "cut to \(count)")
            #expect(stage.events.count { $0.word == "expanded" } == 1)
            #expect((3...5).allSatisfy { stage.end($0)?.outcome == .succeeded } && stage.end(1) == nil)
            #expect(stage.end(2)?.outcome == .succeeded && stage.server.requests("/list").count == 1)
            #expect(stage.violations() == [], "cut to \(count)")
            for name in Self.names { #expect(try stage.tree.text("get-\(name).bin") == "file \(name)") }
        }
    }

    /// `list`, which brings three lines, a template over them, and `after`, which needs whatever that becomes.
    private func rowStage(_ type: TaskType) throws -> (stage: RunStage, list: RowList) {
        let stage = try RunStage()
        stage.makeBackground()
        stage.server.on("/list", .respond(200, body: "a\nb\nc\n"))
        for name in Self.names { stage.server.on("/f/\(name)", .respond(200, body: "file \(name)")) }
        stage.server.on("/after", .respond(200, body: "x"))
        let list = RowList(task: "list", format: .lines)
        try stage.add("list", "/list", type: type) { $0.leavesRows = true }
        try stage.add("get", "/f/${n}", needs: [0]) {
            $0.template = TaskTemplate(number: 0, sources: [list.key], lists: [list])
        }
        try stage.add("after", "/after", needs: [1])
        let job = stage.job
        let made = try Self.names.map { name in
            try stage.add("get-\(name)", "/f/\(name)", needs: [0])
            return stage.job.tasks.removeLast()
        }
        stage.expand = { values in
            guard case .list(let found)? = values.captured.list(list.key, RowList.name)?.value,
                found == Self.names.map({ .string($0) })
            else { return .failure(TransferError(.expansionFailed, "no list")) }
            var grown = job
            grown.tasks += made
            grown.tasks[2].needs += found.indices.map { TaskIndex(raw: UInt32(3 + $0)) }
            return .success(ExpandedJob(job: grown, added: 3..<3 + found.count))
        }
        return (stage, list)
    }

    /// What a data task brought is kept with its end, as what it captured.
    private var brought: [String: [CapturedValue]] {
        ["list": RowOrigin(.text("a\nb\nc\n"), url: "http://127.0.0.1/list").captures]
    }

    @Test(arguments: [TaskType.download, .data])
    func aProcessThatEndsAnywhereAfterTheListCame_isFollowedByOneThatMakesItsTasksOnce(
        _ type: TaskType
    ) throws {
        let (whole, _) = try rowStage(type)
        defer { whole.server.stop() }
        #expect(try whole.run() == .succeeded)
        let came = try #require(
            whole.events.firstIndex { $0.task == TaskIndex(raw: 0) && $0.word == "finished succeeded" })
        let expanded = try #require(whole.events.firstIndex { $0.word == "expanded" })
        for count in came + 1...whole.events.count {
            let (stage, _) = try rowStage(type)
            defer { stage.server.stop() }
            let keepsTasks = count >= expanded
            if !keepsTasks { stage.forgetsExpansions = true }
            #expect(try stage.run() == .succeeded)
            guard count < stage.events.count else { continue }
            stage.cut(to: count)
            stage.forgetsExpansions = false
            // A file is found again where the events say that it is.
            #expect(try stage.run(captures: type == .data ? brought : [:]) == .succeeded, "cut to \(count)")
            #expect(stage.events.count { $0.word == "expanded" } == 1, "cut to \(count)")
            #expect((3...5).allSatisfy { stage.end($0)?.outcome == .succeeded } && stage.end(1) == nil)
            #expect(stage.end(2)?.outcome == .succeeded && stage.server.requests("/list").count == 1)
            #expect(stage.violations() == [], "cut to \(count)")
            for name in Self.names { #expect(try stage.tree.text("get-\(name).bin") == "file \(name)") }
        }
    }

    /// A process that goes on must know that the request may have been sent.
    @Test func aPostMadeFromAList_isSentOnlyWhenItsBeginningIsRecorded() throws {
        let stage = try stage(method: "POST")
        defer { stage.server.stop() }
        let server = stage.server
        let sentBefore = Mutex<[Int]>([])
        stage.keep = { _, isKept in
            let sent = Self.names.reduce(0) { $0 + server.requests("/f/\($1)").count }
            sentBefore.withLock { $0.append(sent) }
            isKept()
        }
        #expect(try stage.run() == .succeeded)
        #expect(sentBefore.withLock { $0.first } == 0)
        #expect(Self.names.allSatisfy { server.requests("/f/\($0)").count == 1 })
    }
}
