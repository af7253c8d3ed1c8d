import Glibc
package import SystemIO
package import TransferModel

/// Why a command cannot talk to the background process, or no longer.
package enum ServiceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// No process listens, or one that is about to end: another may be started. The text says why.
    case absent(String)
    /// The process went away: it may or may not have read the request.
    case gone
    /// The process is there and did not answer within this time.
    case silent(TimeSpan)
    /// The two versions cannot talk, or the process serves another state folder; the text says what would help.
    case incompatible(String)
    /// The process refused the request, or its answer cannot be understood.
    case refused(String)

    /// A sentence for the user.
    package var description: String {
        switch self {
        case .absent(let why), .incompatible(let why), .refused(let why): why
        case .gone: "it went away before it answered"
        case .silent(let time): "it said nothing for \(time.nanoseconds / 1_000_000_000) seconds"
        }
    }
}

/// A command's end of a conversation with the background process. Belongs to one thread; each call waits no longer than
/// its timeout.
package final class ServiceLink {
    /// The greeting of the process.
    package let other: ServiceHello
    private let socket: Descriptor
    private var reader: FrameReader
    private var frames: ArraySlice<[UInt8]>
    /// News received while an answer was waited for.
    private var news: ArraySlice<ServiceNews> = []
    private var lastNumber: UInt32 = 0

    private init(_ socket: consuming Descriptor, _ other: ServiceHello, _ rest: Greeting) {
        self.socket = socket
        self.other = other
        reader = rest.reader
        frames = rest.frames
    }

    // MARK: Beginning

    private struct Greeting {
        var reader = FrameReader()
        var frames: ArraySlice<[UInt8]> = []
    }

    /// Connects to the process that holds the lock of `place`, at the socket that it names, exchanges greetings and checks that the two versions can talk.
    package static func connect(
        _ place: ServicePlace, version: String, patience: TimeSpan
    ) throws(ServiceFailure) -> ServiceLink {
        let place = place.ofHolder
        let deadline = Clocks.instant() + patience
        let socket = try call(place, deadline, patience)
        var greeting = Greeting()
        let other: ServiceHello
        do throws(ServiceFailure) {
            let own = ServiceHello(version: version)
            try send(own.frame, socket, deadline, patience)
            other = try hear(socket, &greeting, deadline, patience)
            try check(other, own, place)
        } catch .gone {
            throw .absent("\(place.socket): the process there was about to end")
        }
        return ServiceLink(socket, other, greeting)
    }

    private static func call(
        _ place: ServicePlace, _ deadline: Instant, _ patience: TimeSpan
    ) throws(ServiceFailure) -> Descriptor {
        let folder: Descriptor
        do throws(PrivacyProblem) {
            folder = try PrivateFolder.openForSockets(place.runtime)
        } catch {
            throw error.isMissing ? .absent("there is no \(place.runtime)") : .refused(error.description)
        }
        while true {
            do throws(SystemError) {
                return try LocalSocket.connect(place.name, in: folder, at: place.runtime)
            } catch {
                switch error.errno {
                case ENOENT, ECONNREFUSED: throw .absent("nobody listens at \(place.socket)")
                // The queue of waiting connections is full.
                case EAGAIN where Clocks.instant() < deadline: Polling.sleep(milliseconds: 10)
                case EAGAIN: throw .silent(patience)
                default: throw .refused("\(place.socket): \(error.reason)")
                }
            }
        }
    }

    private static func hear(
        _ socket: borrowing Descriptor, _ greeting: inout Greeting, _ deadline: Instant, _ patience: TimeSpan
    ) throws(ServiceFailure) -> ServiceHello {
        while greeting.frames.isEmpty {
            guard let more = try receive(socket, &greeting.reader, deadline) else { throw .silent(patience) }
            greeting.frames += more
        }
        let first = greeting.frames.removeFirst()
        if case .refused(let reason)? = try? ServiceMessage.parse(first) { throw .refused(reason) }
        do throws(ServiceProblem) {
            return try ServiceHello.parse(first)
        } catch {
            throw .refused(error.description)
        }
    }

    private static func check(_ other: ServiceHello, _ own: ServiceHello, _ place: ServicePlace) throws(ServiceFailure)
    {
        let process = "the background process (pid \(other.process), transfer-run \(other.version))"
        if let state = other.state, !isSame(state, place.state) {
            throw .incompatible(
                "\(place.socket) belongs to \(process) of another state folder, \(state): give each command for this one "
                    + "`--state-dir \(place.state)`")
        }
        switch ServiceProtocol.agree(other.protocols, own: own.protocols) {
        case .speaking: break
        case .otherIsOlder:
            throw .incompatible(
                "\(process) is older than this command (\(own.version)): end it with `kill \(other.process)`; its "
                    + "transfers go on with the next one")
        case .otherIsNewer:
            throw .incompatible(
                "\(process) is newer than this command (\(own.version)): use transfer-run \(other.version)")
        }
    }

    /// Whether two paths lead to one folder.
    private static func isSame(_ folder: String, _ other: String) -> Bool {
        if folder.isExactly(other) { return true }
        guard let facts = try? FileFacts.of(folder), let others = try? FileFacts.of(other) else { return false }
        return facts.isSameFile(as: others)
    }

    // MARK: Asking

    /// How long an answer may take by default: a run answers between two turns of its loop.
    package static let patience = TimeSpan.seconds(15)

    /// Sends a request and returns its answer; news that comes meanwhile is kept for `nextNews`.
    package func ask(
        _ wish: ServiceWish, patience: TimeSpan = ServiceLink.patience
    ) throws(ServiceFailure) -> ServiceAnswer {
        lastNumber &+= 1
        let number = lastNumber
        let deadline = Clocks.instant() + patience
        let frame = ServiceRequest(number, wish).frame
        guard frame.count - Frame.lengthBytes <= ServiceProtocol.maximumFrame else {
            throw .refused("the request is larger than \(ServiceProtocol.maximumFrame) bytes: patterns stand for many")
        }
        try Self.send(frame, socket, deadline, patience)
        var answer: ServiceAnswer?
        while let message = try next(deadline) {
            switch message {
            case .news(let one): news.append(one)
            case .refused(let reason): throw .refused(reason)
            case .part(number, let part, let isLast):
                if answer == nil { answer = part } else { answer?.append(part) }
                if isLast, let answer { return answer }
            // A further part of an answer for which an earlier call stopped waiting.
            case .part: break
            }
        }
        throw .silent(patience)
    }

    // MARK: Following

    /// Whether something has been received already, so that polling is not needed.
    package var hasNews: Bool { !news.isEmpty || !frames.isEmpty }

    /// What to poll for; `nextNews` with a time of zero then returns what has come.
    package var entry: PollEntry { PollEntry(socket.raw) }

    /// Returns the next news of a followed session, or `nil` when the time ran out.
    package func nextNews(within time: TimeSpan) throws(ServiceFailure) -> ServiceNews? {
        if let first = news.popFirst() { return first }
        let deadline = Clocks.instant() + time
        while let message = try next(deadline) {
            switch message {
            case .news(let one): return one
            case .refused(let reason): throw .refused(reason)
            case .part: break
            }
        }
        return nil
    }

    // MARK: Bytes

    /// Returns the next message, or `nil` when the time ran out.
    private func next(_ deadline: Instant) throws(ServiceFailure) -> ServiceMessage? {
        while frames.isEmpty {
            guard let more = try Self.receive(socket, &reader, deadline) else { return nil }
            frames += more
        }
        do throws(ServiceProblem) {
            return try ServiceMessage.parse(frames.removeFirst())
        } catch {
            throw .refused("the background process said what cannot be understood: \(error)")
        }
    }

    private static func receive(
        _ socket: borrowing Descriptor, _ reader: inout FrameReader, _ deadline: Instant
    ) throws(ServiceFailure) -> [[UInt8]]? {
        while true {
            let bytes: [UInt8]?
            do throws(SystemError) { bytes = try LocalSocket.receive(socket) } catch { throw .gone }
            if let bytes {
                if bytes.isEmpty { throw .gone }
                let progress = reader.receive(bytes)
                if let problem = progress.problem { throw .refused(problem.description) }
                return progress.frames
            }
            guard wait(PollEntry(socket.raw), deadline) else { return nil }
        }
    }

    private static func send(
        _ frame: [UInt8], _ socket: borrowing Descriptor, _ deadline: Instant, _ patience: TimeSpan
    ) throws(ServiceFailure) {
        var rest = frame[...]
        while true {
            let count: Int
            do throws(SystemError) { count = try LocalSocket.send(rest, socket) } catch { throw .gone }
            rest = rest.dropFirst(count)
            if rest.isEmpty { return }
            guard wait(PollEntry(socket.raw, .writing), deadline) else { throw .silent(patience) }
        }
    }

    /// Waits for the entry; returns `false` when the time had run out already.
    private static func wait(_ entry: PollEntry, _ deadline: Instant) -> Bool {
        let left = (deadline - Clocks.instant()).nanoseconds
        guard left > 0 else { return false }
        var entries = [entry]
        Polling.wait(&entries, milliseconds: left / 1_000_000 + 1)
        return true
    }
}

@available(*, unavailable)
extension ServiceLink: Sendable {}
