package import TransferModel

/// Applies a session's `cookies.accept` to one request.
package struct CookieAcceptance: Sendable {
    private let accept: CookieConfiguration.Accept
    private let mainDocument: ResourceURL

    /// `mainDocument` is the task's. A task without one is a document of its own: `asked`, the URL of the task before
    /// any redirect. (`URLSession` without one accepts everything, and the policy has no effect.)
    package init(_ accept: CookieConfiguration.Accept, mainDocument: ResourceURL?, asked: ResourceURL) {
        self.accept = accept
        self.mainDocument = mainDocument ?? asked
    }

    /// Accepts the cookies of every answer.
    package static func always(_ asked: ResourceURL) -> CookieAcceptance {
        CookieAcceptance(.always, mainDocument: nil, asked: asked)
    }

    /// Whether cookies in an answer from `url` are accepted. The main document's domain is all of its site:
    /// `cdn.example.co.uk` belongs to `www.example.co.uk`, `example.github.io` does not belong to `other.github.io`.
    package func allows(_ url: ResourceURL) -> Bool {
        switch accept {
        case .always: true
        case .never: false
        case .onlyFromMainDocumentDomain: CookieHost(url).isSameSite(as: CookieHost(mainDocument))
        }
    }
}
