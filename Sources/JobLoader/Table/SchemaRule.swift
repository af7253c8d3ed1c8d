extension SectionDocument {
    /// A condition that a map must fulfil besides having the right keys.
    enum Rule: Sendable {
        /// The map has exactly one of these keys.
        case exactlyOne([String])
        case atMostOne([String])
        /// Only used by the schema: the loader checks the same with messages of its own.
        case when(Condition, Demand)
        case always(Demand)
    }

    /// A question about one map. A key whose value is `null` counts as absent.
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
        /// The value matches the pattern if it is text without interpolation.
        case matches(String, pattern: String)
        /// The values are not empty if they are lists or maps.
        case filled([String])
        /// The value has only `null` members if it is a map.
        case hollow(String)
        /// The value is empty if it is a list.
        case empty(String)
        case isNotTrue(String)
        case isNotFalse(String)
        /// The names in the maps match the pattern.
        case named([String], pattern: String)
        /// The rule holds for a map within the map.
        case inside(String, Rule)
    }
}

/// Names that the schema uses in several places. Of words in the wrong letter case it has the usual ones.
enum SchemaWords {
    static let token = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"

    /// Headers that no job can set, besides those that begin with `Proxy-`.
    static let reservedHeaders = [
        "Host", "Connection", "Content-Length", "Transfer-Encoding", "Expect", "WWW-Authenticate",
    ].flatMap { [$0, $0.lowercased()] }

    /// Methods that a task cannot have: known methods must be written in capitals.
    static let wrongMethods =
        ["CONNECT"]
        + ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"].flatMap {
            [$0.lowercased(), $0.prefix(1) + $0.dropFirst().lowercased()]
        }
}
