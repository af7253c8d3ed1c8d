import AttemptLife
import HTTPRules
import TransferModel

/// The access tokens of a run, in memory alone. Each is asked for by one task, for all tasks that need it.
struct AccessTokens {
    struct Key: Hashable {
        let client: OAuth2Client
        /// One server may be reached in two ways.
        let session: SessionIndex
    }
    private struct State {
        var token: GrantedToken?
        /// The task that asks for another one.
        var asker: TaskIndex?
        var waiting: [TaskIndex] = []
        /// Why the server gives this client no token, which another question would not change.
        var refusal: TransferError?
    }
    enum Answer {
        case token(ShownSecret)
        /// Whoever asked is to get it.
        case get
        /// Somebody is getting it.
        case wait
        /// The client was refused for good.
        case refused(TransferError)
    }
    private var states: [Key: State] = [:]
    /// Refresh tokens that took the place of the job's.
    private var refreshTokens: [SecretText: SecretText] = [:]
    private let run = String(UInt64.random(in: 0 ... .max), radix: 36)

    /// The token to send now; `nil` where one has to be asked for.
    func present(_ key: Key, at now: Instant) -> ShownSecret? {
        guard let state = states[key], state.asker == nil, let token = state.token, !token.isDue(at: now) else {
            return nil
        }
        return key.shown(token)
    }

    mutating func ask(_ key: Key, for task: TaskIndex, at now: Instant) -> Answer {
        if let token = present(key, at: now) { return .token(token) }
        if let refusal = states[key]?.refusal { return .refused(refusal) }
        if states[key]?.asker != nil {
            states[key]?.waiting.append(task)
            return .wait
        }
        states[key, default: State()].asker = task
        return .get
    }

    /// Returns those that waited for it.
    mutating func got(_ token: GrantedToken, _ key: Key) -> [TaskIndex] {
        states[key]?.token = token
        if let text = token.refreshToken, case .refreshToken(let own) = key.client.grant {
            refreshTokens[own] = key.secret("refresh token", text)
        }
        return takeWaiting(key)
    }

    /// The server refused the client, which is not shown to it again in this run. Assertions of a file or of GitHub change,
    /// and are tried again.
    mutating func refusedForGood(_ error: TransferError, _ key: Key) {
        switch key.client.grant {
        case .clientCredentials, .refreshToken, .assertion(.text): states[key]?.refusal = error
        case .assertion(.file), .assertion(.github): break
        }
    }

    /// There is none. Returns those that waited for it.
    mutating func takeWaiting(_ key: Key) -> [TaskIndex] {
        guard var state = states[key] else { return [] }
        let waiting = state.waiting
        (state.asker, state.waiting) = (nil, [])
        states[key] = state
        return waiting
    }

    /// The refresh token that counts in the place of the job's.
    func refreshToken(for own: SecretText) -> SecretText { refreshTokens[own] ?? own }

    /// A server refused the token; another one may have come meanwhile, which stays.
    mutating func refused(_ secret: ShownSecret, _ key: Key) {
        guard let token = states[key]?.token, case .token(let text) = secret, text.revealed.isExactly(token.text) else {
            return
        }
        states[key]?.token = nil
    }

    /// What the client's tokens have in common: with the next one, too, a file's rest is the same user's.
    func owner(_ client: OAuth2Client) -> String {
        var parts = [client.tokenURL.text, client.clientID.revealed, client.scope ?? "", client.audience ?? ""]
        switch client.grant {
        case .clientCredentials: break
        case .refreshToken(let text), .assertion(.text(let text)): parts.append(text.revealed)
        // Only the server knows whom it names; within a run it is the same.
        case .assertion(.file), .assertion(.github): parts.append(run)
        }
        return parts.joined(separator: "\n")
    }

    /// The task's attempt ended: it waits no longer.
    mutating func left(_ task: TaskIndex) {
        for key in states.keys where states[key]?.waiting.contains(task) == true {
            states[key]?.waiting.removeAll { $0 == task }
        }
    }
}

extension AccessTokens.Key {
    func shown(_ token: GrantedToken) -> ShownSecret {
        .token(SecretText(pieces: [.secret(name: ShownSecret.accessToken, value: token.text, hosts: client.hosts)]))
    }

    /// A secret that may go where the client's tokens may.
    func secret(_ name: String, _ text: String) -> SecretText {
        SecretText(pieces: [.secret(name: name, value: text, hosts: client.hosts)])
    }

    /// The token as a secret that no output shows; none where it is short, for that stands in too many texts by chance.
    func known(_ name: String, _ text: String) -> [KnownSecret] {
        text.utf8.count < 8 ? [] : [KnownSecret(name: name, value: text, hosts: client.hosts)]
    }
}

/// The token that an attempt asks for, and what waits in the attempt meanwhile.
struct TokenFetch {
    enum Step {
        /// The file of the assertion is read.
        case readingFile
        /// GitHub Actions is asked for the assertion.
        case gettingAssertion
        case gettingToken
    }
    let key: AccessTokens.Key
    /// The life of the attempt's own requests.
    let life: AttemptLife
    let sending: SendState
    let exchange: Exchange
    var step = Step.gettingToken
    /// When the server was asked, on the clock that goes on while the machine sleeps.
    var asked: Instant
}
