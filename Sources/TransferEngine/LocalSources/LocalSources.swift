import AttemptLife
import FileDelivery
import HTTPRules
import TransferModel

/// Delivers files of this machine, and what a URL holds itself.
final class LocalSources: Participant {
    let core: EngineCore

    init(_ core: EngineCore) { self.core = core }

    /// Delivers what a `file:` or `data:` URL names.
    func beginLocal(_ attempt: Attempt, _ url: ResourceURL) {
        guard attempt.specification.type != .upload else {
            return fail(attempt, TransferError(.unsupportedURL, "nothing can be uploaded to a `\(url.scheme):` URL"))
        }
        guard attempt.rules.method == "GET" else {
            let what = "`\(attempt.rules.method)` means nothing to a `\(url.scheme):` URL"
            return fail(attempt, TransferError(.unsupportedURL, what))
        }
        switch url.scheme {
        case "file": beginFile(attempt, url)
        case "data": beginData(attempt, url)
        default: fail(attempt, TransferError(.unsupportedURL, "`\(url.scheme):` URLs are not supported"))
        }
    }

    private func beginFile(_ attempt: Attempt, _ url: ResourceURL) {
        guard let path = PercentEncoding.decode(url.path), !path.contains("\0") else {
            return fail(attempt, TransferError(.badURL, "the path of \(url.text) is not UTF-8"))
        }
        attempt.exchange.sourceHeaders = participants.publication.fileType(url).map {
            HeaderBlock([("Content-Type", $0)])
        }
        guard attempt.rules.onResponseIsEmpty else {
            attempt.phase = .measuring(path: path)
            return core.outbox.add(.readStamp(.init(attempt.task, path: path, isSource: true)))
        }
        takeFile(path, url, attempt)
    }

    /// What a rule says of a file depends on its length. That of one with a size of 0 nobody knows, as `/proc` has such
    /// files; of what is no file, or not there, tells whoever opens it.
    func measured(_ attempt: Attempt, _ url: ResourceURL, path: String, size: Int64?) {
        guard let size else { return takeFile(path, url, attempt) }
        let length = size > 0 ? size : nil
        if let error = attempt.life.obeyRules(attempt.saidHeaders ?? .empty, length: length) {
            participants.publication.announceFile(attempt, length: length)
            return engine.cancelled(attempt, error)
        }
        takeFile(path, url, attempt)
    }

    private func takeFile(_ path: String, _ url: ResourceURL, _ attempt: Attempt) {
        attempt.phase = .delivering
        guard attempt.isDownload else {
            let maximum = attempt.life.maximumSize ?? (16 << 20)
            return core.outbox.add(.read(.init(attempt.task, path: path, maximum: maximum)))
        }
        guard var destination = sourceDestination(attempt, url) else { return }
        // Any date says "take the source's own".
        if attempt.specification.options.values.preserveTime { destination.modificationTime = core.now.wall }
        guard participants.answers.examine(&destination, attempt, charset: nil) else { return }
        let (rules, headers) = (attempt.rules, attempt.saidHeaders ?? .empty)
        destination.check = { start, size in rules.miss(headers, size: size, start: start) }
        destination.decoding = localDecoding(attempt)
        core.outbox.add(.copy(.init(attempt.task, from: path, destination, maximum: attempt.life.maximumSize)))
    }

    private func beginData(_ attempt: Attempt, _ url: ResourceURL) {
        let data: DataURL
        var ending: TransferError?
        do throws(TransferError) {
            data = try DataURL(url)
            attempt.exchange.sourceHeaders = data.headers
            ending = attempt.life.obeyRules(data.headers, length: Int64(data.bytes.count))
            if ending == nil, let maximum = attempt.life.maximumSize, Int64(data.bytes.count) > maximum {
                throw TransferError(
                    .dataLengthExceedsMaximum, "the data URL holds more than `maximumSize`, \(maximum) bytes")
            }
        } catch {
            return fail(attempt, error)
        }
        core.emit(
            .response(
                ResponseRecord(
                    status: nil, url: url.text, method: "GET", mimeType: data.mimeType, charset: data.charset,
                    expectedLength: Int64(data.bytes.count), suggestedFilename: nil, contentEncoding: nil,
                    headers: .empty)), attempt)
        if let ending { return engine.cancelled(attempt, ending) }
        participants.announcements.noteBecoming(attempt)
        attempt.exchange.received = Int64(data.bytes.count)
        if let miss = attempt.rules.miss(data.headers, size: attempt.exchange.received, start: data.bytes) {
            return fail(attempt, miss)
        }
        guard attempt.isDownload else {
            attempt.exchange.body = data.bytes
            return participants.answers.examine(attempt, charset: data.charset, source: .local)
        }
        guard var destination = sourceDestination(attempt, url),
            participants.answers.examine(&destination, attempt, charset: data.charset)
        else {
            return
        }
        attempt.phase = .delivering
        if let decoding = localDecoding(attempt) {
            core.outbox.add(.decode(attempt.download.staging, attempt.task, decoding))
        }
        core.outbox.add(
            .publish(
                .init(
                    attempt.task, attempt.download.staging, destination, rest: .bytes(data.bytes),
                    lengthUnverified: false)))
    }

    /// How a source of this machine is unpacked: nothing labels how it is packed.
    private func localDecoding(_ attempt: Attempt) -> BodyDecoding? {
        attempt.rules.unpacksFile ? BodyDecoding([.file], sizes: attempt.rules.sizes) : nil
    }

    /// `nil` where it has none that it may have; the attempt has failed then.
    private func sourceDestination(_ attempt: Attempt, _ url: ResourceURL) -> Destination? {
        var destination = participants.publication.plannedDestination(attempt)
        if let target = attempt.life.target {
            do throws(TransferError) {
                try destination.becomeFile(at: target, attempt.specification.options.values)
            } catch {
                fail(attempt, error)
                return nil
            }
        }
        if destination.toStandardOutput { return destination }
        guard destination.path.hasSuffix("/") else {
            let isKnown = attempt.life.target == nil && core.job.tasks[Int(attempt.task.raw)].destination != nil
            return isKnown || participants.names.claim(destination.path, attempt) ? destination : nil
        }
        let name = url.schemeIs("file") ? url.lastPathComponent.flatMap { SuggestedFilename.safe($0) } : nil
        guard let name else {
            fail(attempt, TransferError(.cannotCreateFile, "the URL gives the file no name: write one in `to`"))
            return nil
        }
        destination.path += name
        return participants.names.claim(destination.path, attempt) ? destination : nil
    }

    /// The file was read: it is the answer.
    func read(_ bytes: [UInt8], _ attempt: Attempt) {
        if let miss = attempt.rules.miss(attempt.saidHeaders ?? .empty, size: Int64(bytes.count), start: bytes) {
            return fail(attempt, miss)
        }
        attempt.exchange.body = bytes
        attempt.exchange.received = Int64(bytes.count)
        participants.publication.announceFile(attempt, length: Int64(bytes.count))
        participants.answers.examine(attempt, charset: nil, source: .local)
    }
}
