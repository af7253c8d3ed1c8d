import Glibc
package import JobRunner
import SystemIO
package import TransferModel

/// Why a request to a run got no answer.
package enum ControlFailure: Error, Hashable, Sendable {
    /// No run listens at the socket; the text says why.
    case noRun(String)
    /// The run was there and ended before it answered.
    case ended
    /// The run did not answer within this time.
    case silent(TimeSpan)
}

/// Sends a request to a run in another process and waits for its answer.
package struct ControlClient {
    /// The runtime folder, which holds the runs' sockets.
    package let folder: String
    /// How long an answer may take.
    package var patience = TimeSpan.seconds(15)

    package init(folder: String) { self.folder = folder }

    /// Greatest length of an answer in bytes: far more than the ids of the largest job.
    private static let maximumAnswer = 512 << 20

    /// Returns the process numbers of runs that listen, by the names of their sockets: one may have died since.
    package func runs() -> [Int32] {
        guard (try? PrivateFolder.openForSockets(folder)) != nil else { return [] }
        return Folders.names(in: folder).filter { $0.hasPrefix("run-") }.compactMap { ControlPlace.process(of: $0) }
            .sorted()
    }

    /// Sends a request to the run of that process and returns its answer.
    package func ask(_ message: ControlMessage, of process: Int32) throws(ControlFailure) -> ControlReply {
        let deadline = Clocks.instant() + patience
        let socket = try connect(ControlPlace.socketName(process), deadline)
        let answer: [UInt8]
        do throws(SystemError) {
            try send(message.line, socket, deadline)
            answer = try receive(socket, deadline)
        } catch {
            throw error.errno == ETIMEDOUT ? .silent(patience) : .ended
        }
        guard let reply = ControlReply(line: answer) else { throw .ended }
        return reply
    }

    private func connect(_ name: String, _ deadline: Instant) throws(ControlFailure) -> Descriptor {
        let place: Descriptor
        do throws(PrivacyProblem) {
            place = try PrivateFolder.openForSockets(folder)
        } catch {
            throw .noRun(error.isMissing ? "there is no \(folder)" : error.description)
        }
        while true {
            do throws(SystemError) {
                return try LocalSocket.connect(name, in: place, at: folder)
            } catch {
                switch error.errno {
                case ENOENT: throw .noRun("there is no \(folder)/\(name)")
                case ECONNREFUSED:
                    try? place.unlink(name)
                    throw .noRun("\(folder)/\(name) was left by a run that is gone")
                // The queue of waiting connections is full.
                case EAGAIN where Clocks.instant() < deadline: Polling.sleep(milliseconds: 20)
                case EAGAIN: throw .silent(patience)
                default: throw .noRun("\(folder)/\(name): \(error.reason)")
                }
            }
        }
    }

    private func send(
        _ line: [UInt8], _ socket: borrowing Descriptor, _ deadline: Instant
    ) throws(SystemError) {
        var rest = line[...]
        while true {
            rest = rest.dropFirst(try LocalSocket.send(rest, socket))
            if rest.isEmpty { return }
            try wait(PollEntry(socket.raw, .writing), deadline)
        }
    }

    /// Returns one line, or what came before the other end closed the connection.
    private func receive(_ socket: borrowing Descriptor, _ deadline: Instant) throws(SystemError) -> [UInt8] {
        var answer: [UInt8] = []
        while true {
            guard let piece = try LocalSocket.receive(socket) else {
                try wait(PollEntry(socket.raw), deadline)
                continue
            }
            answer += piece
            if piece.isEmpty || piece.last == 0x0A || answer.count > Self.maximumAnswer { return answer }
        }
    }

    private func wait(_ entry: PollEntry, _ deadline: Instant) throws(SystemError) {
        let left = (deadline - Clocks.instant()).nanoseconds / 1_000_000
        guard left > 0 else { throw SystemError(call: "poll", errno: ETIMEDOUT) }
        var entries = [entry]
        Polling.wait(&entries, milliseconds: left)
    }
}
