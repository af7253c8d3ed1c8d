import HTTPRules
import TestSupport
import TransferModel

/// A server that speaks one dialect of resumable uploads, or none, or lies: as a value, for random courses. It is written from
/// the drafts and shares nothing with the client's side.
struct UploadServerModel {
    enum Honesty: CaseIterable, Sendable {
        case honest
        /// Says that more arrived than was sent.
        case boasts
        /// Sometimes throws away a piece of what it had.
        case forgets
        /// Answers questions without an offset.
        case isSilent
        /// Says sometimes that it has all, and beside it how much it has, or nothing of that.
        case claims
    }
    enum Way { case whole, cut }

    /// `nil`: knows nothing of all this.
    let version: Int?
    let honesty: Honesty
    let length: Int
    var maximumAppend: Int?
    var random: Seeded
    /// By place; `nil` is one that was ended.
    private(set) var places: [String: [UInt8]] = [:]
    private(set) var finished: [[UInt8]] = []
    private var made = 0

    init(version: Int?, honesty: Honesty, length: Int, maximumAppend: Int?, random: Seeded) {
        self.version = version
        self.honesty = honesty
        self.length = length
        self.maximumAppend = maximumAppend
        self.random = random
    }

    struct Answer {
        var interim: HeaderBlock?
        /// `nil`: the connection was cut.
        var final: (status: Int, headers: HeaderBlock)?
        /// So many bytes of the body left the client.
        var sent: Int
    }

    /// One request, and what is done with its `body`; `headers` have names in lower case.
    mutating func answer(_ method: String, _ path: String, _ headers: [String: String], _ body: [UInt8]) -> Answer {
        let isCut = random.oneIn(3)
        let sent = isCut ? random.below(body.count + 1) : body.count
        let arrived = Array(body.prefix(isCut ? random.below(sent + 1) : sent))
        switch method {
        case "HEAD": return isCut ? Answer(sent: 0) : Answer(final: told(path, headers), sent: 0)
        case "PATCH": return append(path, headers, arrived, isCut: isCut, sent: sent)
        default: return create(headers, arrived, isCut: isCut, sent: sent)
        }
    }

    private func speaks(_ headers: [String: String]) -> Bool {
        guard let version else { return false }
        return headers["upload-draft-interop-version"] == (version == 0 ? nil : "\(version)")
    }

    private mutating func create(
        _ headers: [String: String], _ arrived: [UInt8], isCut: Bool, sent: Int
    ) -> Answer {
        let isMeant = headers[version == 3 ? "upload-incomplete" : "upload-complete"] == (version == 3 ? "?0" : "?1")
        guard speaks(headers), isMeant else {
            if !isCut { finished.append(arrived) }
            // A strict one says which it speaks.
            if let version, version > 0, headers["upload-draft-interop-version"] != nil, random.oneIn(3) {
                if !isCut { finished.removeLast() }
                return Answer(final: (status: 400, headers: named(HeaderBlock())), sent: sent)
            }
            return Answer(final: isCut ? nil : (status: 201, headers: HeaderBlock()), sent: sent)
        }
        made += 1
        let place = "/uploads/\(made)"
        places[place] = arrived
        var lines = [("Location", place)]
        if let maximumAppend { lines.append(("Upload-Limit", "max-append-size=\(maximumAppend)")) }
        let interim = named(HeaderBlock(lines))
        guard !isCut else { return Answer(interim: random.oneIn(5) ? nil : interim, sent: sent) }
        if let maximumAppend, arrived.count > maximumAppend {
            places[place] = Array(arrived.prefix(maximumAppend / 2))
            return Answer(interim: interim, final: (413, named(HeaderBlock())), sent: sent)
        }
        places[place] = nil
        finished.append(arrived)
        return Answer(interim: interim, final: (201, named(HeaderBlock())), sent: sent)
    }

    private mutating func told(_ path: String, _ headers: [String: String]) -> (Int, HeaderBlock) {
        guard speaks(headers), var held = places[path] else { return (404, HeaderBlock()) }
        if honesty == .forgets, random.oneIn(2), !held.isEmpty {
            held.removeLast(random.below(held.count))
            places[path] = held
        }
        if random.oneIn(12) { return (503, HeaderBlock()) }
        if honesty == .isSilent { return (204, named(HeaderBlock())) }
        if honesty == .claims, held.count < length, random.oneIn(2) {
            return (204, named(state(offset: random.oneIn(3) ? nil : held.count, isComplete: true)))
        }
        let boast = honesty == .boasts ? 1 + random.below(length) : 0
        return (204, named(state(offset: held.count + boast, isComplete: false)))
    }

    private mutating func append(
        _ path: String, _ headers: [String: String], _ arrived: [UInt8], isCut: Bool, sent: Int
    ) -> Answer {
        guard speaks(headers), var held = places[path] else { return Answer(final: (404, HeaderBlock()), sent: sent) }
        guard headers["upload-offset"] == "\(held.count)" else {
            return Answer(final: (409, named(state(offset: held.count, isComplete: false))), sent: sent)
        }
        if let version, version == 0 || version >= 6 {
            guard headers["content-type"] == "application/partial-upload" else {
                return Answer(final: (415, HeaderBlock()), sent: sent)
            }
        }
        held += arrived
        places[path] = held
        let isLast = headers[version == 3 ? "upload-incomplete" : "upload-complete"] == (version == 3 ? "?0" : "?1")
        if isCut { return Answer(sent: sent) }
        guard isLast else {
            return Answer(final: (204, named(state(offset: held.count, isComplete: false))), sent: sent)
        }
        places[path] = nil
        finished.append(held)
        return Answer(final: (201, named(state(offset: nil, isComplete: true))), sent: sent)
    }

    private func state(offset: Int?, isComplete: Bool) -> HeaderBlock {
        var lines: [(String, String)] = []
        if let offset { lines.append(("Upload-Offset", "\(offset)")) }
        lines.append(
            version == 3
                ? ("Upload-Incomplete", isComplete ? "?0" : "?1") : ("Upload-Complete", isComplete ? "?1" : "?0"))
        return HeaderBlock(lines)
    }

    private func named(_ headers: HeaderBlock) -> HeaderBlock {
        guard let version, version > 0 else { return headers }
        let pairs = headers.lines.map { (headers.name($0), headers.value($0)) }
        return HeaderBlock(pairs + [("Upload-Draft-Interop-Version", "\(version)")])
    }
}
