import CurlCore
import SystemIO
import TransferModel

// Where a session's connections lead, and what is said when they do not get there.

extension SessionPools {
    /// The host that a request goes to first: its own, the one that `connectTo` names in its place, or a proxy; `nil`
    /// for what needs no network.
    func firstHop(of url: ResourceURL) -> String? {
        guard url.needsConnection, routing.unixSocket == nil else { return nil }
        return proxy(for: url)?.host ?? routing.target(of: url)?.host ?? url.host
    }

    /// The error of a transfer that got no connection because of the session's `unixSocket` or `addressFamily`; `nil`
    /// where they are not the reason.
    func routingError(of completion: CurlCompletion, to url: ResourceURL) -> TransferError? {
        guard let error = completion.error, let words = reason(completion, url) else { return nil }
        return TransferError(error.name, words, curl: error.curl, errno: error.errno)
    }

    private func reason(_ completion: CurlCompletion, _ url: ResourceURL) -> String? {
        if let path = routing.unixSocket {
            guard completion.foundNoConnection else { return nil }
            let cause = SystemError(call: "connect", errno: completion.systemError)
            return "\(TransferError.socketWords)\(path)" + (cause.errno == 0 ? "" : ": \(cause.reason)")
        }
        guard let family = routing.addressFamily.words, let host = firstHop(of: url) else { return nil }
        if completion.hasOtherFamily, completion.foundNoConnection {
            return "\(host) has no \(family) address\(TransferError.familyWords)"
        }
        guard completion.foundNoAddress else { return nil }
        return "no \(family) address of \(host) was found\(TransferError.familyWords)"
    }
}

extension ConnectionRouting.AddressFamily {
    /// `IPv4` or `IPv6`; `nil` for both.
    fileprivate var words: String? {
        switch self {
        case .any: nil
        case .ipv4: "IPv4"
        case .ipv6: "IPv6"
        }
    }
}
