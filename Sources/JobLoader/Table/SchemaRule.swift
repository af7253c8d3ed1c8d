extension SectionDocument {
    /// What a map must fulfil beside having the right keys.
    enum Rule: Sendable {
        /// Exactly one of these keys stands in the map.
        case exactlyOne([String])
        case atMostOne([String])
        /// For the schema alone: the loader checks it in words of its own.
        case when(Condition, Demand)
        case always(Demand)
    }

    /// A question about one map. A key whose value is `null` is not there.
    indirect enum Condition: Sendable {
        case has(String)
        case lacks(String)
        case isOne(String, of: [String])
        case isTrue(String)
        case isNotTrue(String)
        case all([Condition])
    }

    indirect enum Demand: Sendable {
        case needs([String])
        case needsOne(of: [String])
        case excludes([String])
        /// The value is none of these texts.
        case differs(String, from: [String])
        /// A text that is no interpolation matches this.
        case matches(String, pattern: String)
        /// A list or map, if there is one, has something in it.
        case filled([String])
        /// A map, if there is one, has nothing in it but `null`.
        case hollow(String)
        /// A list, if there is one, has nothing in it.
        case empty(String)
        case isNotTrue(String)
        case isNotFalse(String)
        /// The names of a map match this.
        case named([String], pattern: String)
        /// Holds for a map in the map.
        case inside(String, Rule)
    }
}

/// What the schema says of names in several places. Of words in other letter case it knows the usual ones.
enum SchemaWords {
    static let token = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"

    /// Headers that are nobody's to set; those that begin with `Proxy-` are others.
    static let reservedHeaders = [
        "Host", "Connection", "Content-Length", "Transfer-Encoding", "Expect", "WWW-Authenticate",
    ].flatMap { [$0, $0.lowercased()] }

    /// Methods that are no methods of a task: those that are known are written in capitals.
    static let wrongMethods =
        ["CONNECT"]
        + ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"].flatMap {
            [$0.lowercased(), $0.prefix(1) + $0.dropFirst().lowercased()]
        }
}
