import JobRunner
import SystemIO
import TransferModel

/// One connected command, which sends a line and gets a line. Belongs to the listener's thread.
final class ControlConnection {
    /// What the listener has to do about the connection.
    enum Step {
        case nothing
        case ask(ControlMessage)
        case close
    }
    private enum Phase {
        case reading(RequestReader)
        /// The run has the request and has not answered yet.
        case waiting
        case answering(ArraySlice<UInt8>)
    }

    let number: UInt64
    private let caller: Caller
    private let patience: TimeSpan
    private var phase = Phase.reading(RequestReader())
    /// When the connection is closed unless the whole request has come, or some of the answer was taken.
    private(set) var deadline: Instant

    init(_ caller: consuming Caller, number: UInt64, patience: TimeSpan, now: Instant) {
        self.caller = caller
        self.number = number
        self.patience = patience
        deadline = now + patience
    }

    var entry: PollEntry {
        switch phase {
        case .reading: PollEntry(caller.socket.raw, .reading)
        case .waiting: PollEntry(caller.socket.raw, .leaving)
        case .answering: PollEntry(caller.socket.raw, .writing)
        }
    }

    var isAnswering: Bool { if case .answering = phase { true } else { false } }

    func ready(_ now: Instant) -> Step {
        switch phase {
        case .reading(var reader):
            let step = read(&reader, now)
            if case .reading = phase { phase = .reading(reader) }
            return step
        case .waiting: return .close
        case .answering(let rest): return write(rest, now)
        }
    }

    func timeOut(_ now: Instant) -> Step {
        guard case .reading = phase else { return .close }
        return answer(.refused("no whole request came in time: it is one line"), now)
    }

    func answer(_ reply: ControlReply, _ now: Instant) -> Step {
        deadline = now + patience
        return write(reply.line[...], now)
    }

    /// Reads once only: a connection that never stops sending must not delay the others.
    private func read(_ reader: inout RequestReader, _ now: Instant) -> Step {
        do throws(SystemError) {
            guard let bytes = try LocalSocket.receive(caller.socket) else { return .nothing }
            guard !bytes.isEmpty else { return reader.end().map { ask($0, now) } ?? .close }
            switch reader.take(bytes) {
            case .more: return .nothing
            case .line(let line): return ask(line, now)
            case .tooLong: return answer(.refused("a request has \(RequestReader.limit) bytes at most"), now)
            }
        } catch {
            return .close
        }
    }

    private func ask(_ line: [UInt8], _ now: Instant) -> Step {
        do throws(ControlMessage.Problem) {
            let message = try ControlMessage.parse(line)
            phase = .waiting
            deadline = .distantFuture
            return .ask(message)
        } catch {
            return answer(.refused(error.message), now)
        }
    }

    private func write(_ bytes: ArraySlice<UInt8>, _ now: Instant) -> Step {
        do throws(SystemError) {
            let rest = bytes.dropFirst(try LocalSocket.send(bytes, caller.socket))
            phase = .answering(rest)
            return rest.isEmpty ? .close : .nothing
        } catch {
            return .close
        }
    }
}
