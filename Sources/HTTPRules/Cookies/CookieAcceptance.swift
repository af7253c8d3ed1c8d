package import TransferModel

/// Whose cookies are kept: a session's `cookies.accept`, for one request.
package struct CookieAcceptance: Sendable {
    private let accept: CookieConfiguration.Accept
    private let mainDocument: ResourceURL

    /// `mainDocument` is what the task says. A task that says nothing is a document of its own: `asked`, the URL that it
    /// asked for before any redirect. (`URLSession` without one keeps everything, and the policy does nothing at all.)
    package init(_ accept: CookieConfiguration.Accept, mainDocument: ResourceURL?, asked: ResourceURL) {
        self.accept = accept
        self.mainDocument = mainDocument ?? asked
    }

    /// Cookies of every answer.
    package static func always(_ asked: ResourceURL) -> CookieAcceptance {
        CookieAcceptance(.always, mainDocument: nil, asked: asked)
    }

    /// Whether cookies in an answer from `url` are kept. The main document's domain is all of its site:
    /// `cdn.example.co.uk` belongs to `www.example.co.uk`, `example.github.io` does not belong to `other.github.io`.
    package func allows(_ url: ResourceURL) -> Bool {
        switch accept {
        case .always: true
        case .never: false
        case .onlyFromMainDocumentDomain: CookieHost(url).isSameSite(as: CookieHost(mainDocument))
        }
    }
}
