extension TransferError {
    /// Returns what a user can do about this very error. Where several limits can cause an error, its message names the
    /// one that did. `tasks` is how many tasks failed so, `retry` what the task has.
    package func whatHelps(_ type: TaskType?, tasks: Int = 1, retry: RetryPolicy? = nil) -> String {
        let advice = pageAdvice { $0.advice(type, tasks) } ?? advice(type, tasks)
        guard isOfExpectedBody, let retry, retry.isWritten, !retry.statuses.contains(200) else { return advice }
        return "\(advice.dropLast()); `retry` tries it again only where `statuses` has the answer's status."
    }

    /// Whether the body of an answer was not as `expect.body` says, as `AnswerRules` words it.
    private var isOfExpectedBody: Bool {
        name == .unexpectedResponse
            && (message.hasPrefix("expected the body to ")
                || message.hasPrefix("expected `") && message.contains("` to be "))
    }

    private func advice(_ type: TaskType?, _ tasks: Int) -> String {
        if message.contains(Self.notSentAgainWords) {
            return
                "See at the server whether it arrived; `retry: { nonIdempotent: true }` sends it again where twice does "
                + "no harm."
        }
        return switch name {
        case _ where isOfProcessLimit:
            "Raise the limits of the process (`ulimit -Hn`, `ulimit -u`), or run less at once."
        case .timedOut: timeOutAdvice(tasks)
        case .dataLengthExceedsMaximum: lengthAdvice(type)
        case .userAuthenticationRequired where message.hasPrefix(Self.noTokenWords): tokenAdvice
        // Otherwise the place belongs to another task of this run.
        case .destinationExists where !message.hasSuffix("is there already"):
            "Give the task a `to` of its own, or `needs` where it is to be another's."
        case .unexpectedResponse where message.contains(" answered 407: it wants to know who asks"):
            ErrorName.proxyAuthenticationRequired.whatHelps
        case .signatureMismatch where message.contains(Self.otherKeyWords):
            "If the publisher has a new key that you trust, write that key in `signature.key`."
        case .signatureMismatch where message.contains(Self.noSignatureWords):
            "Look at what the URL gives, and name the signature's own in `signature.url`."
        case .unexpectedResponse where answeredStatus == 400 && isOfTLSPort: "This port speaks TLS: try `https://`."
        case .unexpectedResponse: statusAdvice(tasks) ?? sizeAdvice ?? name.whatHelps
        case .checksumMismatch where type == .upload:
            "Look at what the server stored: the upload was changed on its way there."
        case .secureConnectionFailed where message.contains("speaks no TLS on this port"):
            "This port may speak plain HTTP: try `http://`, or check the port."
        case .secureConnectionFailed where message.contains(Self.brokenHandshakeWords):
            "This port may speak no TLS: try `http://`, or check the port and the versions that `tls` allows."
        case .serverCertificateUntrusted where message.hasPrefix(Self.authoritiesWords):
            "Correct `tls.trust.ca`; where the job has none, install the system's `ca-certificates`."
        case .captureNotFound where message.hasSuffix(Self.withheldBodyWords):
            "Compare `capture` with what the server's documentation says: it must lead to one value, of at most 64 KiB."
        case .captureUnusable where message.contains(Self.afterHostWords):
            afterHostAdvice
        case .captureUnusable where message.contains(Self.otherPartWords):
            "Let a link be the whole URL, as in `url: ${item.href}`, or capture it with `{ url: … }`."
        case .nextPageUnusable where message.contains("`next.maximum`"):
            "Raise `next.maximum`, or write `stop: true` beside it to end there without a failure."
        case .nextPageUnusable where type == .download: "\(name.whatHelps) Pages before it are there."
        case .cannotConnectToHost where message.hasPrefix(Self.socketWords):
            "Check that the service is running, and that you may write to its socket."
        case .cannotConnectToHost where finding.hasSuffix(Self.refusalWords):
            "Check that the server is running and that the port is right."
        case .cannotConnectToHost where finding.hasSuffix(Self.familyWords),
            .cannotFindHost where finding.hasSuffix(Self.familyWords):
            "Leave `addressFamily` out, or name a host that has such an address."
        case .addressRefused where message.contains(AddressRules.Owner.confinement.words):
            "If that is where the job should connect, whoever runs it allows the address by `--allow-address`."
        case .addressRefused where message.contains(Policy.words):
            "Ask who wrote the policy, or name a place that it allows."
        case .timedOut where message.contains(Policy.words),
            .dataLengthExceedsMaximum where message.contains(Policy.words):
            "Ask who wrote the policy, or split the job: no run may take more."
        case .redirectRefused where message.contains(AddressObjection.ledWords):
            "If the server should lead there, set `redirects: { toPrivate: true }`; or name the final URL in the job."
        case .cannotCreateFile where message.contains(Self.foreignLinkWords),
            .cannotMoveFile where message.contains(Self.foreignLinkWords),
            .groupNotPublished where message.contains(Self.foreignLinkWords):
            "Remove that link, or name a place in a folder that nobody else may write."
        case .cannotCreateFile where isForbidden, .cannotMoveFile where isForbidden:
            "Make that folder writable for the user who runs the job, or choose another `to`."
        case .cannotCreateFile where errno == Self.readOnly, .cannotMoveFile where errno == Self.readOnly:
            "Choose a `to` on a file system that can be written."
        case .cannotCreateFile where errno == Self.noFolder:
            "A file stands where `to` needs a folder: move it away, or choose another `to`."
        case .cannotMoveFile where message.hasSuffix(" is a folder"),
            .cannotMoveFile where message.hasSuffix(" leads to a folder"):
            "End `to` in `/` to put the file into that folder."
        case .cannotMoveFile where message.contains("a device, pipe or socket"):
            "Write to a file, or to standard output with `to: \"-\"`."
        case .groupNotPublished where message.contains(Self.removalsWords):
            "The folder is as it was. If so many files may go, raise `maximumRemovals` of the group, or leave it out."
        case .notEnoughDiskSpace where message.contains("must stay free"):
            "Make room on that file system, or lower `limits.minimumFreeDisk`."
        case .badServerResponse where message.contains("HTTP/0.9"):
            "This port may speak TLS, or no HTTP at all: try `https://`, or check the port."
        case .proxyAuthenticationRequired where message.contains("wants a client certificate"):
            "Use a proxy that asks for none: `tls.clientCertificates` are for servers."
        case .proxyCouldNotConnect where message.contains("asks to come again later"):
            "Run it again later, or with fewer connections at once."
        case .badServerResponse where message.contains("without asking for the body"):
            "Leave out `expectContinue`, or give the credential `preemptive: true`: the server does not know what `Expect` means."
        // A rule would cancel the task again.
        case .cancelled where message.contains("a rule of `onResponse`"):
            "Change that rule if such an answer is welcome."
        case .cancelled where message.contains("a rule of `challenges`"):
            "Change that rule, or the trust that is asked for."
        default: name.whatHelps
        }
    }

    /// Beginning of the message about an access token that was not given; the `tokenURL` follows.
    package static let noTokenWords = "no token from "
    /// Part of the message about a link on the way to a file.
    package static let foreignLinkWords = " is a link of another user, "
    /// Part of the message about a connection that the server ended before TLS was agreed on.
    package static let brokenHandshakeWords = "ended the connection in the TLS handshake"
    /// Beginning of the message about a file of CA certificates that cannot be used.
    package static let authoritiesWords = "the file of CA certificates "
    /// Beginning of the message about a Unix socket that nothing answers at.
    package static let socketWords = "cannot connect to the Unix socket "
    /// Part of the message about a signature that was made with another key than the job's.
    package static let otherKeyWords = " was made with the key "
    /// End of the message about a secret that was not found in a body.
    package static let withheldBodyWords = "; the body is not shown, for the secret may be in it"
    /// Part of the message about a group whose publication would remove too many files; the limit follows.
    package static let removalsWords = " would be removed, `maximumRemovals` is "
    /// End of the message about pages whose rows are too much for one list.
    package static let manyRowsWords = "which is too much for the lists that `forEach` reads from them"
    /// Part of the message about a file that is no signature, or a damaged one.
    package static let noSignatureWords = " is no minisign signature: "
    /// End of the message about a host without an address of the session's `addressFamily`.
    package static let familyWords = ", and the session's `addressFamily` allows no other"
    /// End of the message about a host whose port nothing listens at.
    package static let refusalWords = " refused the connection"

    /// What to write where a captured link stands behind a host. Behind a `/` it is encoded, which no link with a query
    /// and no whole URL bears.
    private var afterHostAdvice: String {
        let whole = "Write `url: ${item.href}`: it is resolved against the answer that it came from"
        let isMoreThanPath = ["?", "#", "://"].contains { placedValue.contains($0) }
        return isMoreThanPath ? "\(whole)." : "\(whole). What is no link needs a `/`: `${api}/${item.id}`."
    }

    /// Whether the system did not let this user do it: EACCES, EPERM. The numbers are those of Linux.
    private var isForbidden: Bool { errno == 13 || errno == 1 }
    private static let readOnly: Int32 = 30
    private static let noFolder: Int32 = 20

    /// Whether the answer is what nginx, Apache, Go or Tomcat say to plain HTTP on a port for HTTPS.
    private var isOfTLSPort: Bool {
        [
            "plain HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server port",
            "sent an HTTP request to an HTTPS server", "combination of host and port requires TLS",
        ].contains { message.contains($0) }
    }

    /// Part of the message about a 403 with a `Retry-After`, by which some servers say that they were asked too often.
    package static let quietWords = "; it asks for quiet by `Retry-After`: "

    /// The status in the message of an answer that was not as expected.
    var answeredStatus: Int? {
        guard let scheme = message.firstRange(of: "://"),
            let colon = message[scheme.upperBound...].firstRange(of: ": ")
        else { return nil }
        let digits = message[colon.upperBound...].prefix { $0.isASCII && $0.isNumber }
        return digits.count == 3 ? Int(digits) : nil
    }

    /// Whether the URL itself is the likely fault.
    var isOfURL: Bool {
        switch name {
        case .unexpectedResponse: answeredStatus.map { [400, 404, 410, 422].contains($0) } ?? false
        case .cannotFindHost, .badURL, .unsupportedURL: true
        default: false
        }
    }

    /// End of the message about an object store that has the bucket in another region than the one signed for.
    package static let otherRegionWords = "; the bucket is in the region "

    /// What helps against the error codes of object stores, which their responses begin with.
    private static let storeAdvice = [
        ("NoSuchBucket", "Check the bucket's name in `to` or in the URL: a run makes no bucket."),
        ("InvalidAccessKeyId", "Check `accessKey`: this store does not know it, another one may."),
        ("SignatureDoesNotMatch", "Check `secretKey`, `region` and `service` of the credential."),
        ("RequestTimeTooSkewed", "Set this machine's clock: a signature holds for a quarter of an hour."),
        ("EntityTooLarge", "Put less at once: this store takes no more in one piece."),
    ]

    private func statusAdvice(_ tasks: Int) -> String? {
        if message.contains(Self.otherRegionWords) {
            return "Set the credential's `region` to that, and its `endpoint`, where there is one, to that region's."
        }
        if let known = Self.storeAdvice.first(where: { message.contains(": \"\($0.0): ") }) { return known.1 }
        return switch answeredStatus {
        case 400, 422: "Compare `method`, `headers`, `query` and `body` with what the server's documentation asks for."
        case 401:
            message.contains(Self.notRunAgainWords)
                ? "Let a data task without `next` and `stream` capture it: that is run again when a token has ended."
                : message.contains(Self.heldBackWords)
                    ? "If that server may have it, too, say so in `credentials`, with its `host`."
                    : message.contains("no credential was sent")
                        ? "Say who to be: `credentials`, or an `Authorization` header."
                        : "Check the token or the password, and whether it has expired."
        case 403 where message.contains(Self.quietWords):
            "`retry: { statuses: [403, 429, 5xx] }` waits as long as it asks and tries again; `requestsPerSecond` asks less often."
        case 403: "Check what the credential may do, and the URL: the server understood, and refuses."
        case 404, 410: tasks > 1 ? "Check the URLs: what they have in common may be wrong." : "Check the URL."
        case 405, 501: "Check `method`, and whether the URL takes it."
        case 408, 425, 429, 502, 503, 504:
            "Run it again later; `requestsPerSecond` asks less often, `retry` waits longer."
        case 409, 412, 423: "See what is at the URL now: it is in another state than the request expects."
        case 411, 413: "Send less, or another kind of `body`: the server does not take one of this length."
        case 415: "Set `contentType` to what the server takes."
        case 500?, 505?, 506?, 507?, 508?: "The fault is the server's: tell its operator, or run it again later."
        case let status? where (200..<300).contains(status): "Correct `expect.status` if this answer is as good."
        case 304: "Take it with `expect: { status: [200, 304] }`: what the condition asks about has not changed."
        case let status? where (300..<400).contains(status): "Name the URL that it leads to, or loosen `redirects`."
        default: nil
        }
    }

    /// What helps against a message of `SizeBounds.misfit`: "expected 1000 bytes, the server announced 126".
    private var sizeAdvice: String? {
        guard message.hasPrefix("expected "), let comma = message.firstRange(of: " bytes, ") else { return nil }
        let change = message.hasPrefix("expected at least ") ? "Lower `expect.minimumSize`" : "Correct `expect.size`"
        // A place that redirects led to may follow.
        let last = message[comma.upperBound...].prefix { $0 != ";" }.split(separator: " ").last ?? ""
        return Int64(last).map { "\(change) if \($0) bytes are right." } ?? "\(change) if that length is right."
    }

    /// What helps against the errors of RFC 6749, section 5.2.
    private var tokenAdvice: String {
        let known = [
            ("invalid_client", "Check `clientID` and `clientSecret`, and try `clientAuthentication: body` or `basic`."),
            ("invalid_grant", "Get a new `refreshToken` or `assertion`: it has ended, or is not for this client."),
            ("invalid_scope", "Check `scope`: the server does not give this client all of it."),
            ("unauthorized_client", "Ask who runs the server to let this client have tokens in this way."),
            ("unsupported_grant_type", "The server gives tokens in another way: see its documentation, and `oauth2`."),
        ]
        return known.first { message.contains("it says `\($0.0)`") }?.1
            ?? "Compare `tokenURL` and the other keys of `oauth2` with what the server's documentation says."
    }

    private func timeOutAdvice(_ tasks: Int) -> String {
        if message.contains("`timeoutForRequest`") {
            return "Raise `timeoutForRequest`, or see whether the server answers at all."
        }
        if message.contains(Self.thenWords) {
            return statusAdvice(tasks) ?? "See to what its attempts failed by: more time alone may not help."
        }
        if message.contains("without a `minimumRate`") {
            return "Say in `minimumRate` how slow it may be, or use another server or network."
        }
        if message.contains("`minimumRate`") {
            return "Lower `minimumRate`, or use another server or network."
        }
        if message.contains("`timeoutForResource`") {
            return "Raise `timeoutForResource`, or see in the report what its attempts and waits took so long for."
        }
        if message.contains("`limits.timeout`") {
            return "Raise `limits.timeout`, or run the job again for what is left."
        }
        let who = message.hasPrefix("the proxy ") ? "proxy" : "host"
        return "Raise `connectTimeout`, or see whether the \(who) answers at all."
    }

    private func lengthAdvice(_ type: TaskType?) -> String {
        if message.contains("`limits.maximumBytes`") {
            return "Raise `limits.maximumBytes`: what cannot go on where it is cut must fit into one run."
        }
        if message.contains(Self.manyRowsWords) {
            return type == .download
                ? "Fetch fewer pages: lower `next.maximum`, or ask for less by the `url`."
                : "Fetch fewer pages, or make it a download: `to: \"page-${page}.json\"`."
        }
        if message.contains("unpacks to more than") { return ErrorName.cannotDecodeContentData.whatHelps }
        guard message.contains("`maximumSize`") else { return "Ask who runs the server for more, or send less." }
        return switch type {
        case .upload?: "Make it a `data` task: that sends a `body` too, and its `maximumSize` can be raised."
        case .download?: "Raise `maximumSize`."
        case .data?, nil: "Raise `maximumSize`, or make it a download."
        }
    }
}
