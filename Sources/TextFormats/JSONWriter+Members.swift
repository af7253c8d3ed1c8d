package import TransferModel

/// A key and its value in one call; nil is written as `null`, because an unknown is never an absent key.
extension JSONWriter {
    package mutating func member(_ name: StaticString, _ value: String?) {
        key(name)
        if let value { string(value) } else { null() }
    }

    package mutating func member(_ name: StaticString, _ value: Int64?) {
        key(name)
        if let value { integer(value) } else { null() }
    }

    package mutating func member(_ name: StaticString, _ value: Int?) {
        key(name)
        if let value { integer(Int64(value)) } else { null() }
    }

    package mutating func member(_ name: StaticString, _ value: UInt64?) {
        key(name)
        if let value { unsigned(value) } else { null() }
    }

    package mutating func member(_ name: StaticString, _ value: Bool?) {
        key(name)
        if let value { bool(value) } else { null() }
    }

    package mutating func member(_ name: StaticString, _ value: Double?) {
        key(name)
        if let value { number(value) } else { null() }
    }

    package mutating func member(_ name: StaticString, _ value: TimeSpan?) {
        key(name)
        if let value { seconds(value) } else { null() }
    }

    package mutating func member(_ name: StaticString, _ value: WallTime?) {
        key(name)
        if let value { date(value) } else { null() }
    }
}
