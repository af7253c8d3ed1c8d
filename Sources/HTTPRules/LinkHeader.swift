package import TransferModel

/// Reads the `Link` header (RFC 8288): `<target>; rel="next last", <other>; rel=first`, in one line or several.
package enum LinkHeader {
    /// Returns the target of the first link of this relation as the header writes it, or `nil`; letter case of a
    /// relation does not count.
    package static func target(of relation: String, in headers: HeaderBlock) -> String? {
        let wanted = relation.lowercased()
        for line in headers.lines where headers.name(line).lowercased() == "link" {
            var rest = Array(headers.value(line).utf8)[...]
            while let link = next(&rest) {
                if link.relations.contains(wanted) { return link.target }
            }
        }
        return nil
    }

    /// Removes the first link and returns it; `nil` at the end, or where the text is no link.
    private static func next(_ rest: inout ArraySlice<UInt8>) -> (target: String, relations: [String])? {
        rest = rest.drop { $0 == UInt8(ascii: ",") || $0 == 0x20 || $0 == 0x09 }
        guard rest.first == UInt8(ascii: "<"), let close = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        let target = String(decoding: rest[rest.index(after: rest.startIndex)..<close], as: UTF8.self)
        rest = rest[(close + 1)...]
        let parameters = HeaderParameters(String(decoding: takeParameters(&rest), as: UTF8.self))
        let relations = parameters["rel"]?.lowercased().split(whereSeparator: { $0 == " " || $0 == "\t" }) ?? []
        return (target, relations.map(String.init))
    }

    /// Removes and returns the text up to the comma that ends the link; a comma in quotation marks does not end it.
    private static func takeParameters(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var taken: [UInt8] = []
        var isQuoted = false
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: ","), !isQuoted { break }
            taken.append(byte)
            if byte == UInt8(ascii: "\""), taken.dropLast().last != UInt8(ascii: "\\") { isQuoted.toggle() }
        }
        return taken
    }
}
