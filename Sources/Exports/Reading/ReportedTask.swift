package import TransferModel

/// The parts of a task that take time to decode: a reader decodes only those that it is asked for.
package struct ReportParts: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// `labels` and `captures`.
    package static let values = ReportParts(rawValue: 1)
    package static let headers = ReportParts(rawValue: 1 << 1)
    /// `body` and `parts`.
    package static let bodies = ReportParts(rawValue: 1 << 2)
    package static let waits = ReportParts(rawValue: 1 << 3)
    /// `attempts`, without their transactions.
    package static let attempts = ReportParts(rawValue: 1 << 4)
    /// `attempts` with their transactions.
    package static let transactions: ReportParts = [.attempts, ReportParts(rawValue: 1 << 5)]
    /// `redirects` and `challenges`.
    package static let detours = ReportParts(rawValue: 1 << 6)

    package static let all = ReportParts(rawValue: 1 << 7 - 1)
}

/// One task as the report tells it.
package struct ReportedTask: Sendable {
    package struct Request: Hashable, Sendable {
        package var method = ""
        package var url = ""
    }

    package struct Header: Hashable, Sendable {
        package var name: String
        package var value: String
    }

    package struct Response: Sendable {
        package var status: Int?
        package var url = ""
        package var mimeType: String?
        package var charset: String?
        package var expectedLength: Int64?
        package var suggestedFilename: String?
        package var contentEncoding: String?
        package var headers: [Header] = []
    }

    package struct File: Sendable {
        /// Relative to the job's folder where it lies inside.
        package var path = ""
        package var bytes: Int64 = 0
        package var checksum: String?
    }

    package struct Cache: Sendable {
        package var stored = false
        package var reason: String?
    }

    /// A body as the report shows it, cut past 64 KiB.
    package struct Body: Sendable {
        package var text = ""
        /// `text` is base64.
        package var isBase64 = false
        package var isTruncated = false
    }

    package struct Part: Sendable {
        package var headers: [Header] = []
        package var bytes: Int64 = 0
        package var body: Body?
        package var file: String?
    }

    package struct Wait: Hashable, Sendable {
        package var reason: WaitReason
        package var duration: TimeSpan

        package init(_ reason: WaitReason, _ duration: TimeSpan) {
            self.reason = reason
            self.duration = duration
        }
    }

    package struct Redirect: Sendable {
        package var status = 0
        package var from = ""
        package var to = ""
        /// Of the next request.
        package var method = ""
        /// `followed`, `refused` or `accepted`.
        package var action = ""
        package var stripped: [String] = []
    }

    package struct Challenge: Sendable {
        package var method = ""
        package var host = ""
        package var realm: String?
        package var level = ""
        package var disposition = ""
        package var previousFailureCount = 0
    }

    package var id = ""
    package var session: String?
    /// Where the task begins in the job file, from 1; `nil` where the report does not say.
    package var line: Int?
    package var type = TaskType.download
    package var group: String?
    package var description: String?
    package var labels: [NamedValue] = []
    package var becameDownload = false
    package var outcome = TaskOutcome.deferred
    package var tolerated = false
    package var changed: Bool?
    package var source: ResultSource?
    package var cache: Cache?
    package var original = Request()
    package var current = Request()
    package var response: Response?
    package var file: File?
    /// `verified` or `unverified`.
    package var length: String?
    package var body: Body?
    package var parts: [Part] = []
    package var captures: [NamedValue] = []
    package var createdAt: WallTime?
    package var startedAt: WallTime?
    package var finishedAt: WallTime?
    package var duration: TimeSpan?
    package var waits: [Wait] = []
    package var attempts: [ReportedAttempt] = []
    package var redirects: [Redirect] = []
    package var challenges: [Challenge] = []
    package var error: ReportedError?
    package var explanation: String?

    package init() {}
}

package struct ReportedAttempt: Sendable {
    package var number = 1
    package var url = ""
    package var outcome = TaskOutcome.failed
    package var resumedFrom: Int64 = 0
    package var startedOver: String?
    package var startedAt = WallTime(nanoseconds: 0)
    package var duration = TimeSpan.zero
    package var error: ReportedError?
    package var backoff: TimeSpan?
    package var transactions: [ReportedTransaction] = []

    package init() {}
}

/// One request sent or answered from the cache.
package struct ReportedTransaction: Sendable {
    package var request = ReportedTask.Request()
    package var status: Int?
    package var fetchStart = WallTime(nanoseconds: 0)
    package var domainLookupStart: WallTime?
    package var domainLookupEnd: WallTime?
    package var connectStart: WallTime?
    package var secureConnectionStart: WallTime?
    package var secureConnectionEnd: WallTime?
    package var connectEnd: WallTime?
    package var requestStart: WallTime?
    package var requestEnd: WallTime?
    package var responseStart: WallTime?
    package var responseEnd: WallTime?
    /// `http/1.1`, `h2`.
    package var networkProtocolName: String?
    package var isProxyConnection = false
    package var isReusedConnection = false
    /// `networkLoad`, `localCache`, `serverPush` or `unknown`.
    package var fetchType = ""
    package var requestHeaderBytes: Int64 = 0
    package var requestBodyBytes: Int64 = 0
    package var requestBodyBytesBeforeEncoding: Int64 = 0
    package var responseHeaderBytes: Int64 = 0
    package var responseBodyBytes: Int64 = 0
    package var responseBodyBytesAfterDecoding: Int64 = 0
    package var localAddress: String?
    package var localPort: Int?
    package var remoteAddress: String?
    package var remotePort: Int?
    /// 0x0303 is TLS 1.2, 0x0304 TLS 1.3.
    package var tlsVersion: Int?
    package var tlsCipherSuite: Int?
    package var tlsFingerprint: String?
    /// When that certificate ends; `nil` in reports of earlier versions, too.
    package var tlsExpiry: WallTime?

    package init() {}
}
