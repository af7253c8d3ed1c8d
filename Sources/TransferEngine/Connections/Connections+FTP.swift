import AttemptLife
import CurlCore
import HTTPRules
import TransferModel

// Files on ftp servers: one request is one file. What it asks for is said in HTTP's words and put into ftp's here.

extension Connections {
    /// How a request is said to an ftp server; `nil` for http.
    func access(_ request: OutgoingRequest, _ attempt: Attempt) throws(TransferError) -> FTPAccess? {
        guard request.url.isFTP else { return nil }
        // A file is asked for or stored: of a `HEAD` libcurl would make headers up, of a `POST` without a body a file.
        let methods = attempt.specification.type == .upload ? ["PUT", "POST"] : ["GET"]
        guard methods.contains(request.method) else {
            let means = attempt.specification.type == .upload ? "storing a file on" : "asking for a file of"
            throw TransferError(.unsupportedURL, "`\(request.method)` does not mean \(means) an ftp server")
        }
        if request.sendsBody, request.url.path.hasSuffix("/") {
            throw TransferError(.badURL, "an upload to an ftp server needs the file's name in the URL")
        }
        var access = FTPAccess()
        if request.headers.contains(where: { $0.name == "Range" }) { access.offset = attempt.life.resume?.offset ?? 0 }
        if let login = try login(request.url, attempt) { (access.user, access.password) = login }
        return access
    }

    /// The name and password of the URL, or else of the first credential that is for the host.
    private func login(
        _ url: ResourceURL, _ attempt: Attempt
    ) throws(TransferError) -> (user: String, password: String)? {
        // A checksum file may lie at another place than the file.
        let own = attempt.specification.location(mirror: attempt.mirror).url
        let isOwn = own?.hasSameOrigin(as: url) == true
        if isOwn, let typed = own?.userInformation,
            case .password(let user, let password)? = ShownSecret(userInformation: typed)
        {
            return (user.revealed, password.revealed)
        }
        for credential in attempt.specification.options.values.policies.credentials {
            guard !credential.isForProxy, credential.host?.matches(url.origin) ?? isOwn,
                case .password(let user, let password) = credential.source
            else { continue }
            for text in [user, password] {
                if let name = text.secretBarred(from: url.origin) {
                    let place = text.barredPlace(url.origin)
                    throw TransferError(.secretBarred, "the secret `\(name)` must not go to \(place)")
                }
            }
            return (user.revealed, password.revealed)
        }
        return nil
    }
}
