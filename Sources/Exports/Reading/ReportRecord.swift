internal import TransferModel

/// A value that a report's JSON is decoded into.
protocol ReportValue {
    init(_ cursor: inout JSONCursor) throws(CursorStop)
}

/// A JSON object of a report whose members are decoded one by one; one that is missing keeps its default value.
protocol ReportRecord: ReportValue {
    init()
    /// Decodes the member `name`, or skips it if it is unknown.
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop)
}

extension ReportRecord {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in try decode(name, &cursor) }
    }
}

extension JSONCursor {
    @inline(__always)
    mutating func read<Value: ReportValue>(_ value: inout Value) throws(CursorStop) { value = try Value(&self) }

    /// Decodes the member `wanted` of an object and skips the others; `nil` if the object lacks it.
    mutating func member<Value: ReportValue>(_ wanted: StaticString) throws(CursorStop) -> Value? {
        var value: Value?
        try object { (name, cursor) throws(CursorStop) in
            if wanted ~= name { value = try Value(&cursor) } else { try cursor.skip() }
        }
        return value
    }
}

extension Optional: ReportValue where Wrapped: ReportValue {
    init(_ cursor: inout JSONCursor) throws(CursorStop) { self = try cursor.takeNull() ? nil : try Wrapped(&cursor) }
}

extension Array: ReportValue where Element: ReportValue {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self = try cursor.list { (cursor) throws(CursorStop) in try Element(&cursor) }
    }
}

extension ReportValue where Self: RawRepresentable<String> {
    init(_ cursor: inout JSONCursor) throws(CursorStop) { self = try cursor.choice(Self.self) }
}

extension TaskType: ReportValue {}
extension TaskOutcome: ReportValue {}
extension RunOutcome: ReportValue {}
extension ResultSource: ReportValue {}
extension WaitReason: ReportValue {}

extension String: ReportValue {
    init(_ cursor: inout JSONCursor) throws(CursorStop) { self = try cursor.string() }
}

extension Bool: ReportValue {
    init(_ cursor: inout JSONCursor) throws(CursorStop) { self = try cursor.bool() }
}

extension ReportValue where Self: FixedWidthInteger {
    init(_ cursor: inout JSONCursor) throws(CursorStop) { self = try cursor.integer() }
}

extension Int: ReportValue {}
extension Int64: ReportValue {}
extension UInt16: ReportValue {}

extension WallTime: ReportValue {
    init(_ cursor: inout JSONCursor) throws(CursorStop) { self = try cursor.date() }
}

extension TimeSpan: ReportValue {
    init(_ cursor: inout JSONCursor) throws(CursorStop) { self = try cursor.span() }
}
