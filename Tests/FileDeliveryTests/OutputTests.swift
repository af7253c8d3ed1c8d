import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

@Suite struct OutputTests {
    private func index(_ task: Int) -> TaskIndex { TaskIndex(raw: UInt32(task)) }

    /// Bodies become ready, are lost and end in any order: what is written is whole, each once, in the order of the job.
    @Test func bodiesAreWrittenInOrderWhateverHappensWhen() {
        var random = Seeded("bodiesAreWrittenInOrderWhateverHappensWhen")
        for _ in 0..<300 {
            let tasks = (0..<Int.random(in: 1...12, using: &random)).map { index($0) }
            var order = OutputOrder(tasks)
            var ready: Set<TaskIndex> = []
            var ended: Set<TaskIndex> = []
            var written: [TaskIndex] = []
            var writing: TaskIndex?
            while ended.count < tasks.count {
                guard let task = tasks.filter({ !ended.contains($0) }).randomElement(using: &random) else { break }
                switch Int.random(in: 0..<4, using: &random) {
                case 0 where writing == task:
                    // It was written.
                    order.ended(task)
                    (writing, _) = (nil, ended.insert(task))
                case 0, 1:
                    guard writing != task else { continue }
                    order.bodyReady(task)
                    ready.insert(task)
                case 2:
                    order.bodyLost(task)
                    ready.remove(task)
                    if writing == task { writing = nil }
                default:
                    order.ended(task)
                    ended.insert(task)
                    if writing == task { writing = nil }
                }
                let first = tasks.first { !ended.contains($0) }
                let next = order.next()
                #expect(next == (writing == nil && first.map(ready.contains) == true ? first : nil))
                guard let next else { continue }
                written.append(next)
                writing = next
                ready.remove(next)
                #expect(order.isWriting(next))
            }
            #expect(order.next() == nil)
            // A body that was lost may come once more; never after one of a later task.
            #expect(written == written.sorted())
        }
    }
}

/// Verified bodies that go to a descriptor, here a pipe.
@Suite(.serialized) struct OutputWriterTests {
    private let tree: TemporaryTree
    private let read: Int32
    private let write: Int32
    private let box: Mailbox<DeliveryReport>
    private let wake = WakeSignal()

    init() throws {
        tree = try TemporaryTree("output")
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        (read, write) = (ends[0], ends[1])
        let wake = wake
        box = Mailbox(wake: { wake.signal() })
    }

    private func body(_ content: [UInt8], lacksUnnamedFiles: Bool = false) throws -> StagedBody {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        var destination = Destination(path: tree.path("-"))
        destination.toStandardOutput = true
        let id = desk.staging()
        desk.submit(
            .publish(.init(TaskIndex(raw: 1), id, destination, rest: .bytes(content), lengthUnverified: false)))
        guard case .readyForOutput(_, let record, let body) = try desk.next() else { throw Desk.Silence() }
        #expect(record.path == "-" && record.bytes == Int64(content.count) && record.changed)
        return body
    }

    private func report() throws -> TransferError? {
        while true {
            if case .written(_, let error)? = box.takeAll().first { return error }
            try #require(wake.wait(nanoseconds: 30_000_000_000))
        }
    }

    @Test(arguments: [false, true]) func aBodyIsWrittenWholeAndLeavesNoFile(lacksUnnamedFiles: Bool) throws {
        defer { close(read) }
        // Longer than a pipe holds: the writer waits for its reader.
        let content = Script.patternBytes(300_000)
        let writer = try OutputWriter(OutputDescriptor(write), reports: box)
        defer { writer.leave() }
        writer.write(try body(content, lacksUnnamedFiles: lacksUnnamedFiles), of: TaskIndex(raw: 1))
        #expect(tree.list().isEmpty)
        var got: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while got.count < content.count {
            let count = Glibc.read(read, &buffer, buffer.count)
            try #require(count > 0)
            got += buffer[..<count]
        }
        #expect(got == content)
        #expect(try report() == nil)
    }

    @Test func aClosedPipeIsAnError() throws {
        close(read)
        let writer = try OutputWriter(OutputDescriptor(write), reports: box)
        defer { writer.leave() }
        writer.write(try body(bytes("one")), of: TaskIndex(raw: 1))
        let error = try report()
        #expect(error?.name == .cannotWriteOutput && error?.errno == EPIPE)
        // A body without bytes has nothing that could get lost.
        writer.write(try body([]), of: TaskIndex(raw: 2))
        #expect(try report() == nil)
    }

    @Test func afterItWasStoppedNothingIsWritten() throws {
        let writer = try OutputWriter(OutputDescriptor(write), reports: box)
        defer { writer.leave() }
        writer.stop()
        writer.write(try body(bytes("one")), of: TaskIndex(raw: 1))
        #expect(try report() == .outputStopped)
        close(write)
        var buffer = [UInt8](repeating: 0, count: 16)
        #expect(Glibc.read(read, &buffer, buffer.count) == 0)
        close(read)
    }

    @Test func aWrongChecksumHandsNothingOver() throws {
        let desk = try Desk()
        let error = try desk.failure([bytes("one")], to: tree.path("-")) {
            $0.toStandardOutput = true
            $0.checksum = Checksum(algorithm: .md5, bytes: [UInt8](repeating: 0, count: 16))
        }
        #expect(error == .checksumMismatch && tree.list().isEmpty)
    }
}
