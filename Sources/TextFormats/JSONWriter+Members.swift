package import TransferModel

/// Writes a key and its value in one call; `nil` is written as `null`, because an unknown value is never an absent key.
extension JSONWriter {
    /// Writes a member whose value is a string.
    package mutating func member(_ name: StaticString, _ value: String?) {
        guard var value else { return keyAndNull(name) }
        value.withUTF8 { member(name, utf8: $0) }
    }

    private mutating func member(_ name: StaticString, utf8 text: UnsafeBufferPointer<UInt8>) {
        guard JSONEscaping.isPlain(text) else {
            key(name)
            return string(utf8: text)
        }
        keyAndValue(name, room: text.count + 2) { place in
            place.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
            if let source = text.baseAddress { (place + 1).copyMemory(from: source, byteCount: text.count) }
            place.storeBytes(of: UInt8(ascii: "\""), toByteOffset: text.count + 1, as: UInt8.self)
            return text.count + 2
        }
    }

    /// Writes a member whose value is an integer.
    package mutating func member(_ name: StaticString, _ value: Int64?) {
        guard let value else { return keyAndNull(name) }
        guard value >= 0 else {
            key(name)
            return integer(value)
        }
        member(name, value.magnitude)
    }

    /// Writes a member whose value is an integer.
    package mutating func member(_ name: StaticString, _ value: Int?) {
        member(name, value.map { Int64($0) })
    }

    /// Writes a member whose value is an integer.
    package mutating func member(_ name: StaticString, _ value: UInt64?) {
        guard let value else { return keyAndNull(name) }
        keyAndValue(name, room: DecimalDigits.longest) { DecimalDigits.put(value, at: $0) }
    }

    /// Writes a member whose value is `true` or `false`.
    package mutating func member(_ name: StaticString, _ value: Bool?) {
        guard let value else { return keyAndNull(name) }
        keyAndWord(name, value ? "true" : "false")
    }

    /// Writes a member whose value is a number; infinity and NaN become `null`.
    package mutating func member(_ name: StaticString, _ value: Double?) {
        key(name)
        if let value { number(value) } else { null() }
    }

    /// Writes a member whose value is a duration in decimal seconds, rounded to microseconds.
    package mutating func member(_ name: StaticString, _ value: TimeSpan?) {
        key(name)
        if let value { seconds(value) } else { null() }
    }

    /// Writes a member whose value is a date: RFC 3339 in UTC with milliseconds.
    package mutating func member(_ name: StaticString, _ value: WallTime?) {
        guard let value else { return keyAndNull(name) }
        keyAndDate(name, value)
    }

    /// Writes a member whose value is JSON known at compile time, copied as it stands. The JSON may continue with
    /// further members: many nulls that always come together are one step.
    package mutating func member(_ name: StaticString, json: StaticString) { keyAndWord(name, json) }

    /// Writes a member whose value is an object: `body` writes its members.
    @inline(__always)
    package mutating func object(_ name: StaticString, _ body: (inout JSONWriter) -> Void) {
        key(name)
        beginObject()
        body(&self)
        endObject()
    }

    /// Writes a member whose value is an object, or `null` where `value` is `nil`: `body` writes its members.
    @inline(__always)
    package mutating func object<Value>(
        _ name: StaticString, _ value: Value?, _ body: (inout JSONWriter, Value) -> Void
    ) {
        key(name)
        guard let value else { return null() }
        beginObject()
        body(&self, value)
        endObject()
    }

    /// Writes a member whose value is an array: `body` writes each element.
    @inline(__always)
    package mutating func array<Elements: Sequence>(
        _ name: StaticString, _ elements: Elements, _ body: (inout JSONWriter, Elements.Element) -> Void
    ) {
        key(name)
        beginArray()
        for element in elements { body(&self, element) }
        endArray()
    }

    /// Writes a member whose value is an array of objects: `body` writes the members of each.
    @inline(__always)
    package mutating func objects<Elements: Sequence>(
        _ name: StaticString, _ elements: Elements, _ body: (inout JSONWriter, Elements.Element) -> Void
    ) {
        array(name, elements) { json, element in
            json.beginObject()
            body(&json, element)
            json.endObject()
        }
    }

    /// Writes a member whose value is an array of strings.
    package mutating func member(_ name: StaticString, texts: some Sequence<String>) {
        array(name, texts) { $0.string($1) }
    }

    /// Writes `["name","value"]`, for header fields: their names repeat and their order can matter.
    package mutating func pair(utf8 name: UnsafeBufferPointer<UInt8>, utf8 value: UnsafeBufferPointer<UInt8>) {
        guard JSONEscaping.isPlain(name), JSONEscaping.isPlain(value), let first = name.baseAddress else {
            beginArray()
            string(utf8: name)
            string(utf8: value)
            return endArray()
        }
        let comma = needsComma
        needsComma = true
        bytes.append(addingCapacity: name.count + value.count + 8) { output in
            output.withUnsafeMutableBufferPointer { free, count in
                let start = UnsafeMutableRawPointer(free.baseAddress!)
                var end = start
                end.storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
                end += comma ? 1 : 0
                end.storeBytes(of: UInt16(littleEndian: 0x225B), as: UInt16.self)
                (end + 2).copyMemory(from: first, byteCount: name.count)
                end += name.count + 2
                // `","`; the fourth byte is overwritten.
                end.storeBytes(of: UInt32(littleEndian: 0x0022_2C22), as: UInt32.self)
                if let second = value.baseAddress { (end + 3).copyMemory(from: second, byteCount: value.count) }
                end += value.count + 3
                end.storeBytes(of: UInt16(littleEndian: 0x5D22), as: UInt16.self)
                count = end + 2 - start
            }
        }
    }

    private mutating func keyAndNull(_ name: StaticString) { keyAndWord(name, "null") }

    private mutating func keyAndWord(_ name: StaticString, _ word: StaticString) {
        keyAndValue(name, room: word.utf8CodeUnitCount) { place in
            place.copyMemory(from: word.utf8Start, byteCount: word.utf8CodeUnitCount)
            return word.utf8CodeUnitCount
        }
    }
}
