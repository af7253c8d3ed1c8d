package import TransferModel

/// All that one attempt of a task needs to know, with the session's word and the task's already made one.
package struct AttemptPlan: Sendable {
    package var type: TaskType
    package var url: ResourceURL
    /// The URLs that the task itself names: typed headers go to their origins.
    package var named: [ResourceURL]
    package var method: String
    package var headers: [HeaderField]
    package var hasBody = false
    package var version = HTTPConfiguration.Version.auto
    package var redirects = RedirectPolicy()
    package var expect = Expectations()
    /// `nil`: no bound.
    package var maximumSize: Int64?
    package var requireLength = false
    /// A checksum proves a body whose end nothing else proves.
    package var hasChecksum = false

    package init(type: TaskType, url: ResourceURL, method: String, headers: [HeaderField]) {
        self.type = type
        self.url = url
        named = [url]
        self.method = method
        self.headers = headers
    }
}

/// One request of an attempt, ready to be performed.
package struct OutgoingRequest: Sendable {
    package var url: ResourceURL
    package var method: String
    package var headers: [HeaderField]
    package var sendsBody: Bool
    /// Whether TLS may choose HTTP/2 and share a connection.
    package var mayUseHTTP2: Bool
}

/// What becomes of the body whose headers were just read.
package enum HeadDecision: Hashable, Sendable {
    /// It is the result, or worth telling in the report.
    case keep
    /// Read it to its end, so that the connection can serve again, unless it is long.
    case discard
    /// End the transfer now: the outcome is clear, `ended` will say which.
    case abort
}

/// How a request ended, in the transport's view.
package struct TransportEnd: Sendable {
    /// `nil` when the transport calls the answer complete.
    package var error: TransferError?
    package var received: Int64
    package var sawCloseNotify: Bool
    package init(error: TransferError?, received: Int64, sawCloseNotify: Bool) {
        self.error = error
        self.received = received
        self.sawCloseNotify = sawCloseNotify
    }
}

/// What an attempt does after a request ended.
package enum NextStep: Sendable {
    /// Another request: a redirect that is followed, or the same again alone.
    case send(OutgoingRequest, RedirectRecord?)
    /// The body is whole and as expected: publish it. The record is there when a refused redirect is the result.
    case deliver(lengthUnverified: Bool, RedirectRecord?)
    case fail(TransferError, RedirectRecord?)
}
