/// Text from servers and commands as a message quotes it: shortened to its beginning where it is long.
///
/// A secret that is cut in two is no longer found, and the code that judges an answer does not know all secrets of the
/// run. So a long text stands whole between two marks, and ``told(_:hiding:)`` shortens it after the secrets were taken
/// out.
package enum ForeignText {
    /// Most characters shown of a name or a value, and (`longestSaid`) of a server's own message.
    private static let longest = 80
    private static let longestSaid = 200
    /// Bytes of a text that are searched for secrets: longer than any secret is taken to be.
    private static let mostSearched = 2 * CapturedValue.longest
    /// Noncharacters that stand in no real text. A match of base64 may take one byte more on either side: the `\u{1}`
    /// beside each mark is there to be taken, so that the mark stays whole.
    private static let opening = mark(0xFDD0) + "\u{1}"
    private static let closing = "\u{1}" + mark(0xFDD1)

    /// Returns a server's own message in quotation marks; it may be longer than a value before it is shortened.
    package static func said(_ text: String) -> String {
        let scalars = String(decoding: text.utf8.prefix(mostSearched), as: UTF8.self).unicodeScalars
        let clean = String(String.UnicodeScalarView(scalars.filter { !isMark($0) }))
        return "\"\(mark(0xFDD2))\u{1}\(clean)\(closing)\""
    }

    /// Returns a name or value in backticks; a long one is marked, to be shortened by `told`.
    package static func quoted(_ text: some StringProtocol) -> String {
        let scalars = String(decoding: text.utf8.prefix(mostSearched), as: UTF8.self).unicodeScalars
        let clean = String(String.UnicodeScalarView(scalars.filter { !isMark($0) }))
        return scalars.count <= longest ? "`\(clean)`" : "`\(opening)\(clean)\(closing)`"
    }

    /// Returns the message with every marked quotation shortened, after `hiding` has replaced the secrets in it.
    package static func told(_ message: String, hiding: (String) -> String) -> String {
        guard message.unicodeScalars.contains(where: isMark) else { return message }
        var told = String.UnicodeScalarView()
        var quote: String.UnicodeScalarView?
        var most = longest
        for scalar in hiding(message).unicodeScalars {
            switch scalar.value {
            case 0xFDD0, 0xFDD2:
                quote = String.UnicodeScalarView()
                most = scalar.value == 0xFDD0 ? longest : longestSaid
            case 0xFDD1:
                told += shortened(quote ?? "".unicodeScalars, to: most).unicodeScalars
                quote = nil
            default:
                if quote == nil { told.append(scalar) } else { quote?.append(scalar) }
            }
        }
        if let quote { told += shortened(quote, to: most).unicodeScalars }
        return String(told)
    }

    /// Returns the beginning of a text that holds no secrets any more, at most as long as a quoted value.
    package static func shortened(_ text: String) -> String { shortened(text.unicodeScalars, to: longest) }

    private static func shortened(_ scalars: String.UnicodeScalarView, to longest: Int) -> String {
        var scalars = scalars[...]
        if scalars.first?.value == 1 { scalars.removeFirst() }
        if scalars.last?.value == 1 { scalars.removeLast() }
        if scalars.count <= longest { return String(scalars) }
        return String(String.UnicodeScalarView(scalars.prefix(longest - 3))) + "..."
    }

    private static func mark(_ number: UInt16) -> String { Unicode.Scalar(number).map { String($0) } ?? "" }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool { (0xFDD0...0xFDD2).contains(scalar.value) }
}
