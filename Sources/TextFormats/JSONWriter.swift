package import TransferModel

/// Writes JSON by appending to one array: no tree, no encoder, no intermediate string.
///
/// The writer places the commas; the caller closes objects and arrays and gives their members keys.
package struct JSONWriter: Sendable {
    /// The JSON written so far.
    package var bytes: [UInt8]
    /// Whether a value was written at this level, so that the next key or value needs a comma. One bit is enough:
    /// opening clears it, and an object or array that was closed is itself a value of the level outside.
    var needsComma = false
    /// The last date written: the dates of one object mostly lie within one second.
    private var lastDate = DateText()

    package init(reserving capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    // MARK: Structure

    /// Opens an object with `{`.
    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    /// Closes the innermost object with `}`.
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    /// Opens an array with `[`.
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    /// Closes the innermost array with `]`.
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes a member's name that is known at compile time; it is copied as it stands, so it must need no escapes.
    package mutating func key(_ name: StaticString) {
        name.withUTF8Buffer { name in
            assert(name.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }, "a key that needs escapes")
            appendQuoted(name, before: needsComma ? UInt8(ascii: ",") : nil, after: UInt8(ascii: ":"))
        }
        needsComma = false
    }

    /// Writes a member's name, escaped.
    package mutating func key(_ name: String) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Values

    /// Writes a string value, escaped.
    package mutating func string(_ text: String) {
        var text = text
        text.withUTF8 { string(utf8: $0) }
    }

    /// Writes a string value from bytes that may not be UTF-8 (a header field, a file name): malformed sequences become
    /// U+FFFD.
    package mutating func string(utf8 text: UnsafeBufferPointer<UInt8>) {
        if JSONEscaping.isPlain(text) {
            appendQuoted(text, before: needsComma ? UInt8(ascii: ",") : nil, after: nil)
        } else {
            separate()
            bytes.append(UInt8(ascii: "\""))
            JSONEscaping.append(text, to: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
        needsComma = true
    }

    /// Writes an integer value.
    package mutating func integer(_ value: Int64) {
        separate()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        DecimalDigits.append(value.magnitude, to: &bytes)
        needsComma = true
    }

    /// Writes an unsigned integer value.
    package mutating func unsigned(_ value: UInt64) {
        separate()
        DecimalDigits.append(value, to: &bytes)
        needsComma = true
    }

    /// Writes `true` or `false`.
    package mutating func bool(_ value: Bool) { word(value ? "true" : "false") }
    /// Writes `null`.
    package mutating func null() { word("null") }

    /// Writes the shortest decimal that reads back as the same number; infinity and NaN, which JSON lacks, become
    /// `null`.
    package mutating func number(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        var text = value.description
        if text.hasSuffix(".0") { text.removeLast(2) }
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    /// Writes decimal seconds, rounded to microseconds, without an exponent: `0.2`, `12.345`.
    package mutating func seconds(_ span: TimeSpan) {
        separate()
        DecimalDigits.appendSeconds(span, to: &bytes)
        needsComma = true
    }

    /// Writes a date as a string: RFC 3339 in UTC with milliseconds.
    package mutating func date(_ time: WallTime) {
        separate()
        lastDate.set(time)
        let text = lastDate
        bytes.append(addingCapacity: DateText.quotedLength) { output in
            output.withUnsafeMutableBufferPointer { free, count in
                count = text.putQuoted(UnsafeMutableRawPointer(free.baseAddress!))
            }
        }
        needsComma = true
    }

    /// Writes a key and a date in one step.
    mutating func keyAndDate(_ name: StaticString, _ time: WallTime) {
        lastDate.set(time)
        let text = lastDate
        keyAndValue(name, room: DateText.quotedLength) { text.putQuoted($0) }
    }

    /// Writes a value that is JSON already, as it is.
    package mutating func raw(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    // MARK: Pieces

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    /// Appends a string in quotes in one step: half of a report is quoted text, and growing an array byte by byte costs
    /// more than the bytes.
    @inline(__always)
    private mutating func appendQuoted(_ text: UnsafeBufferPointer<UInt8>, before: UInt8?, after: UInt8?) {
        bytes.append(addingCapacity: text.count + 4) { output in
            output.withUnsafeMutableBufferPointer { free, count in
                if let before {
                    free[count] = before
                    count += 1
                }
                free[count] = UInt8(ascii: "\"")
                count += 1
                if let source = text.baseAddress {
                    (free.baseAddress! + count).update(from: source, count: text.count)
                    count += text.count
                }
                free[count] = UInt8(ascii: "\"")
                count += 1
                if let after {
                    free[count] = after
                    count += 1
                }
            }
        }
    }

    /// Writes a key and a short value in one step; `put` writes the value and returns its length.
    @inline(__always)
    mutating func keyAndValue(_ name: StaticString, room: Int, _ put: (UnsafeMutableRawPointer) -> Int) {
        let length = name.utf8CodeUnitCount
        let comma = needsComma
        needsComma = true
        bytes.append(addingCapacity: length + 4 + room) { output in
            output.withUnsafeMutableBufferPointer { free, count in
                let start = UnsafeMutableRawPointer(free.baseAddress!)
                var end = start
                if comma {
                    end.storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
                    end += 1
                }
                end.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
                (end + 1).copyMemory(from: name.utf8Start, byteCount: length)
                end += length + 1
                // `":` in one store; the machines this runs on are little-endian.
                end.storeBytes(of: UInt16(littleEndian: 0x3A22), as: UInt16.self)
                end += 2
                end += put(end)
                count = end - start
            }
        }
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func word(_ word: StaticString) {
        separate()
        word.withUTF8Buffer { bytes.append(contentsOf: $0) }
        needsComma = true
    }
}
