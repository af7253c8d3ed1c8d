import CurlCore
import TestSupport
import Testing
import TransferEngine
import TransferModel

/// A download in several streams on the rig, once its server has announced the body. The test lends slots and plays
/// each stream's server; what a stream brings are the next bytes of what it was asked for.
final class SegmentedDownload {
    static let megabyte = 1 << 20
    /// The file: 4 MiB in which no two places look alike.
    static let bytes: [UInt8] = {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(4 * megabyte)
        for number in 0..<4 * megabyte / 4 {
            for shift in [0, 6, 12, 18] { bytes.append(UInt8(0x30 + (number >> shift) & 63)) }
        }
        return bytes
    }()

    let rig: EngineRig
    /// The ordinary request.
    let first: ScriptedTransfer
    private let tag: String?
    /// How far each stream has come, by its transfer's identity.
    private var places: [ObjectIdentifier: Int] = [:]

    /// `headers` replace those of an answer that can be divided.
    convenience init(_ task: String = "to: f, segments: 4", _ headers: [(String, String)]? = nil) throws {
        let rig = try EngineRig(EngineRig.job(task))
        rig.start()
        try self.init(rig, headers)
    }

    /// Answers the one request that is under way on the rig; one for the rest of the file from that place on.
    init(_ rig: EngineRig, _ headers: [(String, String)]? = nil) throws {
        self.rig = rig
        first = try rig.request()
        var lines = headers ?? [("ETag", "\"1\"")]
        tag = lines.first { $0.0 == "ETag" }?.1
        let from = first.header("Range").flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
        places[ObjectIdentifier(first)] = from
        if from > 0 { lines.append(Self.span(from..<Self.bytes.count)) }
        lines.append(("Content-Length", "\(Self.bytes.count - from)"))
        _ = first.receiver.received(head: Self.head(from > 0 ? 206 : 200, lines))
        rig.turn()
    }

    static func head(_ status: Int, _ headers: [(String, String)]) -> ResponseHead {
        ResponseHead(status: status, version: .http1, headers: HeaderBlock(headers))
    }

    static func span(_ range: Range<Int>, of total: Int = bytes.count) -> (String, String) {
        ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)")
    }

    // MARK: The scheduler's part

    /// How many further slots the download could use, as it said last; `nil` where it has not said.
    var slots: Int? {
        let told = rig.reports.compactMap { if case .couldUse(_, _, let slots) = $0 { slots } else { nil } }
        return told.last
    }
    /// Of each slot that came back, whether its request was answered.
    var gaveBack: [Bool] {
        rig.reports.compactMap { if case .gaveBack(_, _, let wasAnswered) = $0 { wasAnswered } else { nil } }
    }

    /// Lends so many slots in one turn, and returns the requests that are made under them.
    @discardableResult func lend(_ count: Int = 1) -> [ScriptedTransfer] {
        let before = rig.loop.transfers.count
        for _ in 0..<count { rig.perform(.lend(rig.index("t"), OriginID(raw: 0))) }
        rig.turn()
        return Array(rig.loop.transfers[before...])
    }

    func recall() {
        rig.perform(.recall(rig.index("t"), OriginID(raw: 0)))
        rig.turn()
    }

    // MARK: The server's part

    /// What a further request asks for.
    func range(of transfer: ScriptedTransfer) throws -> Range<Int> {
        let ends = try #require(transfer.header("Range")).dropFirst("bytes=".count).split(separator: "-")
        return try #require(Int(ends[0]))..<(try #require(Int(ends[1])) + 1)
    }

    /// The head of the answer to a further request, with the part's length unless `headers` say how it is framed.
    /// Returns whether the body is wanted.
    func answer(_ transfer: ScriptedTransfer, _ headers: [(String, String)] = [], tag: String? = nil) throws -> Bool {
        let range = try range(of: transfer)
        var lines = headers + [Self.span(range), ("ETag", tag ?? self.tag ?? "")]
        if !headers.contains(where: { $0.0 == "Transfer-Encoding" }) {
            lines.append(("Content-Length", "\(range.count)"))
        }
        return refuse(transfer, 206, lines)
    }

    /// A head as it is written. Returns whether the body is wanted.
    func refuse(_ transfer: ScriptedTransfer, _ status: Int, _ headers: [(String, String)] = []) -> Bool {
        transfer.lastActivity = rig.time.clock.instant
        return transfer.receiver.received(head: Self.head(status, headers))
    }

    /// Brings so many of the stream's next bytes, or all that it was asked for. Returns whether more of it is wanted.
    @discardableResult func bring(_ count: Int? = nil, by transfer: ScriptedTransfer) throws -> Bool {
        let asked = transfer === first ? 0..<Self.bytes.count : try range(of: transfer)
        let place = places[ObjectIdentifier(transfer)] ?? asked.lowerBound
        let end = count.map { min(place + $0, asked.upperBound) } ?? asked.upperBound
        places[ObjectIdentifier(transfer)] = end
        return rig.send(Self.bytes[place..<end], to: transfer)
    }

    /// Ends a stream whose body was wanted to the end, or one that the engine has stopped, or that was cut.
    func end(_ transfer: ScriptedTransfer, _ code: CurlCode = .ok) {
        rig.loop.complete(transfer, code, systemError: code == .recvError ? 104 : 0)
        rig.turn()
    }

    /// A further stream's whole answer.
    func answerWhole(_ transfer: ScriptedTransfer) throws {
        #expect(try answer(transfer))
        try bring(by: transfer)
        end(transfer)
    }

    /// The ordinary request's stream comes to where the next one began, and is stopped there.
    func endFirst() throws {
        #expect(try !bring(by: first))
        end(first, .writeError)
    }

    /// Whether the attempt succeeded and the file is the server's.
    var isWhole: Bool { rig.succeeded && rig.delivery.files["/here/f"]?.bytes == Self.bytes }
}

extension SegmentedDownload: CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: []) }
}
