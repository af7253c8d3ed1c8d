import AttemptLife
import Codecs
import CurlCore
import TransferModel

extension Attempt {
    /// The time until `now` in which nothing of its own was done, by reason.
    func waits(at now: Instant) -> [TaskRecord.Wait] {
        let flush = download.flushStartedAt.map { now - $0 } ?? .zero
        let all: [(WaitReason, TimeSpan)] = [
            (.bandwidth, bandwidth.pause.elapsed(at: now)), (.credential, credentialWait.elapsed(at: now)),
            (.flush, flush),
        ]
        return all.compactMap { $1 > .zero ? TaskRecord.Wait(reason: $0, duration: $1) : nil }
    }

    func recordMetrics(_ metrics: CurlMetrics, _ networks: NetworkState) {
        recordMetrics(
            metrics, networks, start: exchange.startedAt, head: exchange.head, arrived: exchange.arrived,
            received: exchange.decoder?.written ?? exchange.received)
    }

    /// One request's cost, from libcurl's microseconds and our own counts. Further requests for parts of a file are like
    /// the last but for their range.
    func recordMetrics(
        _ metrics: CurlMetrics, _ networks: NetworkState, start: WallTime, head: ResponseHead?, arrived: Int64,
        received: Int64
    ) {
        for lost in metrics.lostRequests {
            recordMetrics(lost, networks, start: start, head: nil, arrived: 0, received: 0)
        }
        let start = start + .microseconds(metrics.beganAfter)
        var transaction = TransactionMetrics(
            method: exchange.sentMethod ?? life.request.method, url: life.request.url.text, fetchStart: start)
        func at(_ microseconds: Int64) -> WallTime? {
            microseconds > 0 ? start + .microseconds(microseconds) : nil
        }
        transaction.status = head.flatMap { $0.isHTTP ? $0.status : nil }
        if !metrics.isReused { transaction.notePhases(metrics, start) }
        transaction.requestStart = at(metrics.preTransfer)
        if head != nil {
            // By another clock than libcurl's, and at a turn's beginning.
            func between(_ microseconds: Int64) -> Int64 {
                min(max(microseconds, metrics.preTransfer), max(metrics.total, metrics.preTransfer))
            }
            transaction.requestEnd = at(metrics.sent.map(between) ?? metrics.preTransfer)
            transaction.responseStart = at(metrics.answered.map(between) ?? metrics.startTransfer)
            transaction.responseEnd = at(metrics.total)
        }
        transaction.networkProtocolName = head.map { $0.isHTTP ? ($0.version == .http2 ? "h2" : "http/1.1") : "ftp" }
        transaction.isReusedConnection = metrics.isReused
        transaction.requestHeaderBytesSent = metrics.requestBytes
        transaction.requestBodyBytesSent = metrics.uploadedBytes
        transaction.requestBodyBytesBeforeEncoding = min(metrics.uploadedBytes, sending.body?.sent ?? 0)
        transaction.responseHeaderBytesReceived = metrics.headerBytes
        // The last piece of a body that was stopped is one that libcurl does not count.
        transaction.responseBodyBytesReceived = max(metrics.downloadedBytes, arrived)
        transaction.responseBodyBytesAfterDecoding = received
        transaction.localAddress = metrics.localAddress
        transaction.localPort = metrics.localPort == 0 ? nil : metrics.localPort
        transaction.remoteAddress = metrics.remoteAddress
        transaction.remotePort = metrics.remotePort == 0 ? nil : metrics.remotePort
        transaction.tlsVersion = metrics.tlsVersion == 0 ? nil : metrics.tlsVersion
        transaction.tlsCipherSuite = metrics.tlsCipher == 0 ? nil : metrics.tlsCipher
        transaction.tlsFingerprint = metrics.tlsFingerprint
        transaction.tlsExpiry = metrics.tlsExpiry
        transaction.isProxyConnection = metrics.isProxied
        if let interface = metrics.interface {
            transaction.network = networks.network(interface).map { TransactionMetrics.NetworkKind($0) }
        }
        // In the order in which they began, whichever of several streams ends first.
        if transactions.last.map({ $0.fetchStart <= start }) ?? true { return transactions.append(transaction) }
        let place = transactions.lastIndex { $0.fetchStart <= start }.map { $0 + 1 } ?? 0
        transactions.insert(transaction, at: place)
    }

    /// What the last request's body came to once it lay on the disk.
    func noteUnpacked(_ bytes: Int64) {
        guard !life.codings.isEmpty, !transactions.isEmpty else { return }
        transactions[transactions.count - 1].responseBodyBytesAfterDecoding = bytes
    }
}

extension TransactionMetrics {
    /// The phases of a new connection. One that failed has a start and no end, and nothing comes after it.
    fileprivate mutating func notePhases(_ metrics: CurlMetrics, _ start: WallTime) {
        domainLookupStart = start
        guard metrics.nameLookup > 0 else { return }
        let lookedUp = start + .microseconds(metrics.nameLookup)
        domainLookupEnd = lookedUp
        connectStart = lookedUp
        guard metrics.connect > 0 else { return }
        let connected = start + .microseconds(metrics.connect)
        guard url.hasPrefix("https:") else {
            connectEnd = connected
            return
        }
        secureConnectionStart = connected
        guard metrics.secureConnect > 0 else { return }
        secureConnectionEnd = start + .microseconds(metrics.secureConnect)
        connectEnd = secureConnectionEnd
    }
}
