import TransferModel

/// Rows for kinds of values that many keys have.
extension Key where Target: Blank {
    static func boolean(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, Bool>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .boolean, default: standard, meaning, availability) { $1.boolean($0) }
    }

    static func integer(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, Int>, _ range: ClosedRange<Int64>,
        default standard: String, _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .integer(range), default: standard, meaning, availability) {
            $1.integer($0, range).map { Int($0) }
        }
    }

    static func integer(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, Int?>, _ range: ClosedRange<Int64>,
        default standard: String, _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .integer(range), default: standard, meaning, availability) {
            $1.integer($0, range).map { .some(Int($0)) }
        }
    }

    static func duration(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, TimeSpan>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built, positive: Bool = false
    ) -> Key {
        Key(name, path(), .duration, default: standard, meaning, availability) { $1.duration($0, positive: positive) }
    }

    static func size(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, Int64>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .size, default: standard, meaning, availability) { $1.size($0) }
    }

    static func size(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, Int64?>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .size, default: standard, meaning, availability) { $1.size($0).map { .some($0) } }
    }

    static func rate(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, Int64?>, _ meaning: String,
        _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .rate, default: "none", meaning, availability) { $1.rate($0).map { .some($0) } }
    }

    /// A row for one rate, or a list of rates by time of day.
    static func bandwidth(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, Bandwidth?>, _ meaning: String
    ) -> Key {
        Key(name, path(), .either([.rate, .list(.object("bandwidthHours"))]), default: "none", meaning) {
            LimitReader(reader: $1).bandwidth($0).map { .some($0) }
        }
    }

    static func choice<Value: RawRepresentable & CaseIterable & SendableMetatype>(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, Value>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key where Value.RawValue == String {
        Key(name, path(), .choice(Value.allCases.map(\.rawValue)), default: standard, meaning, availability) {
            $1.choice($0, as: Value.self)
        }
    }

    static func optionalChoice<Value: RawRepresentable & CaseIterable & SendableMetatype>(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, Value?>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key where Value.RawValue == String {
        Key(name, path(), .choice(Value.allCases.map(\.rawValue)), default: standard, meaning, availability) {
            $1.choice($0, as: Value.self).map { .some($0) }
        }
    }

    static func text(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, String?>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .text, default: standard, meaning, availability) { $1.text($0).map { .some($0) } }
    }

    static func mimeType(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, String?>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .text, default: standard, meaning, availability) { $1.mimeType($0).map { .some($0) } }
    }

    static func path(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, String?>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .path, default: standard, meaning, availability) { $1.path($0).map { .some($0) } }
    }

    static func secretText(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, SecretText?>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .text, default: standard, meaning, availability) {
            $1.warnOfPlaceholder($0, in: "\(name)" == "password" ? .password : .credential)
            return $1.secretText($0).map { .some($0) }
        }
    }

    static func statuses(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, StatusSet>, default standard: String,
        mayBeNone: Bool = false, _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .statuses, default: standard, meaning, availability) {
            $1.statuses($0, mayBeNone: mayBeNone)
        }
    }

    static func host(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, HostPattern?>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .hostPattern, default: standard, meaning, availability) {
            $1.hostPattern($0).map { .some($0) }
        }
    }

    static func hosts(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, [HostPattern]?>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .hostPatterns, default: standard, meaning, availability) {
            $1.hostPatterns($0).map { .some($0) }
        }
    }

    static func command(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, [SecretText]?>, default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built
    ) -> Key {
        Key(name, path(), .words, default: standard, meaning, availability) { $1.command($0).map { .some($0) } }
    }
}
